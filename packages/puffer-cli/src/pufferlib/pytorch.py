"""Helpers for policies in torch; lives in puffer_cuda."""

from puffer_cuda.networks import layer_init
from puffer_cuda.sampling import sample_logits

__all__ = ["layer_init", "sample_logits"]

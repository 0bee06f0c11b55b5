"""Policies and their parts; lives in puffer_cuda."""

from puffer_cuda.networks import MLP, MinGRU
from puffer_cuda.policy import Decoder, FlatEncoder, Policy, make_policy

__all__ = ["MLP", "Decoder", "FlatEncoder", "MinGRU", "Policy", "make_policy"]

"""Policies and their parts; lives in puffer_cuda."""

from typing import Any

from puffer_cuda.cells import GRU, LSTM
from puffer_cuda.encoders import FlatEncoder, NestedEncoder
from puffer_cuda.images import Impala, Nature
from puffer_cuda.models import Default, LSTMWrapper
from puffer_cuda.networks import MLP, MinGRU
from puffer_cuda.policy import Decoder, Policy, make_policy
from pufferlib._gone import missing

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "Decoder",
    "Default",
    "FlatEncoder",
    "Impala",
    "LSTMWrapper",
    "MinGRU",
    "Nature",
    "NestedEncoder",
    "Policy",
    "make_policy",
]


def __getattr__(name: str) -> Any:
    missing(__name__, name)

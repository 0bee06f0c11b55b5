"""Vectorized environments."""

from puffer_vector import Multiprocessing, Native, PufferEnv, Serial, WorkerError, make

__all__ = ["Multiprocessing", "Native", "PufferEnv", "Serial", "WorkerError", "make"]

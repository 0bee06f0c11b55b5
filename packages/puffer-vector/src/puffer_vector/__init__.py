"""Vectorized environments behind one interface: Serial, Multiprocessing."""

from puffer_core.env import PufferEnv
from puffer_vector.base import VecEnv
from puffer_vector.errors import WorkerError
from puffer_vector.make import make
from puffer_vector.multiprocessing import Multiprocessing
from puffer_vector.native import Native
from puffer_vector.serial import Serial

__all__ = ["Multiprocessing", "Native", "PufferEnv", "Serial", "VecEnv", "WorkerError", "make"]

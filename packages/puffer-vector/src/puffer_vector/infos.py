"""Infos that know which environment they came from, for stacks that sort them by environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = {np.dtype(code): code for code in "?bBhHiIlLqQefd"}


class Info(dict[str, Any]):
    """One environment's info; a plain dict to everybody who does not ask.

    Attributes:
        env: Global index of the environment.
        began: It came from the reset inside a step, and belongs to the new episode.
    """

    __slots__ = ("began", "env")

    def __init__(self, info: dict[str, Any], env: int = -1, began: bool = False) -> None:
        super().__init__(info)
        self.env, self.began = env, began

    def __reduce__(self) -> tuple[Any, ...]:
        return Info, (dict(self), self.env, self.began)


def pack(infos: list[Info]) -> list[Any]:
    """Return infos as what pickles faster: arrays of numbers, in most steps all there is."""
    return [_pack(info) for info in infos]


def unpack(packed: list[Any]) -> list[Info]:
    """Return the infos that were packed."""
    return [info if type(info) is Info else _unpack(*info) for info in packed]


def _pack(info: Info) -> Info | tuple[int, bool, list[tuple[str, str, bytearray]]]:
    arrays = []
    for name, value in info.items():
        if not (type(value) is np.ndarray and value.ndim == 1 and value.dtype in NUMBERS):
            return info
        arrays.append((name, NUMBERS[value.dtype], bytearray(value)))
    return info.env, info.began, arrays


def _unpack(env: int, began: bool, arrays: list[tuple[str, str, bytearray]]) -> Info:
    return Info({name: np.frombuffer(data, code) for name, code, data in arrays}, env, began)


def split(infos: Iterable[dict[str, Any]]) -> tuple[list[Info], list[dict[str, NDArray[Any]]]]:
    """Part what environments said from the statistics of ended episodes.

    Args:
        infos: The list that `recv` returned.

    Returns:
        Infos of single environments, and the dicts of aligned arrays with `agent_id`.
    """
    told: list[Info] = []
    ended: list[dict[str, NDArray[Any]]] = []
    for info in infos:
        if "episode_return" in info and isinstance(info.get("agent_id"), np.ndarray):
            ended.append(info)
        elif isinstance(info, Info):
            told.append(info)
    return told, ended

"""The buffers that environments write and learners read: one description, all uses derive.

For N agents, agents along the first axis:

| name                 | shape                           | dtype               | initial |
|----------------------|---------------------------------|---------------------|---------|
| `observations`       | `(N, *obs)`                     | that of the space   | 0       |
| `rewards`            | `(N,)`                          | float32             | 0       |
| `terminals`          | `(N,)`                          | bool                | False   |
| `truncations`        | `(N,)`                          | bool                | False   |
| `masks`              | `(N,)`                          | bool                | True    |
| `actions`            | `(N,)`, `(N, K)` or `(N, *box)` | int32, or the Box's | 0       |
| `final_observations` | `(N, *obs)`                     | that of the space   | 0       |
| `action_masks`       | `(N, choices of all heads)`     | bool                | True    |

`action_masks` (True: the choice is allowed) only for environments that offer them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space

Buffers: TypeAlias = "dict[str, NDArray[Any]]"


class Field(NamedTuple):
    """Shape, dtype and first value of one buffer."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    initial: int


def layout(
    observation_space: gymnasium.spaces.Box,
    action_space: Space,
    num_agents: int,
    has_action_masks: bool = False,
) -> dict[str, Field]:
    """Describe every buffer of `num_agents` agents with these single-agent spaces.

    Raises:
        APIUsageError: Action masks without discrete actions.
    """
    n = num_agents
    observations = Field((n, *observation_space.shape), np.dtype(observation_space.dtype), 0)
    flag = Field((n,), np.dtype(np.bool_), 0)
    if isinstance(action_space, gymnasium.spaces.Box):
        actions = Field((n, *action_space.shape), np.dtype(action_space.dtype), 0)
    else:  # Discrete has shape (), MultiDiscrete (K,)
        actions = Field((n, *(action_space.shape or ())), np.dtype(np.int32), 0)
    fields = {
        "observations": observations,
        "rewards": Field((n,), np.dtype(np.float32), 0),
        "terminals": flag,
        "truncations": flag,
        "masks": flag._replace(initial=1),
        "actions": actions,
        "final_observations": observations,
    }
    if has_action_masks:
        fields["action_masks"] = Field((n, _choices(action_space)), flag.dtype, 1)
    return fields


def _choices(action_space: Space) -> int:
    """Return the number of choices of all heads of a discrete action space."""
    if isinstance(action_space, gymnasium.spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, gymnasium.spaces.MultiDiscrete):
        return int(action_space.nvec.sum())
    raise APIUsageError(f"action_masks need Discrete or MultiDiscrete actions, not {action_space}.")


def allocate(fields: Mapping[str, Field]) -> Buffers:
    """Make every buffer of a `layout` and set its first value."""
    buffers = {name: np.empty(field.shape, field.dtype) for name, field in fields.items()}
    fill(buffers, fields)
    return buffers


def fill(buffers: Buffers, fields: Mapping[str, Field]) -> None:
    """Set every buffer to its first value."""
    for name, field in fields.items():
        buffers[name].fill(field.initial)


def check(buf: Mapping[str, NDArray[Any]], fields: Mapping[str, Field]) -> None:
    """Refuse buffers that differ from a `layout`; `final_observations` may be missing.

    Raises:
        APIUsageError: Names the buffer, what was expected and what came.
    """
    for name, field in fields.items():
        if name not in buf:
            if name == "final_observations":  # programs written before it existed
                continue
            raise APIUsageError(f"buf has no {name!r}: it needs {', '.join(fields)}.")
        array = buf[name]
        if not isinstance(array, np.ndarray):
            raise APIUsageError(f"buf[{name!r}] must be a numpy array, got {type(array).__name__}.")
        if array.shape != field.shape or array.dtype != field.dtype:
            raise APIUsageError(
                f"buf[{name!r}] must have shape {field.shape} and dtype {field.dtype}, got shape "
                f"{array.shape} and dtype {array.dtype}."
            )
        if not array.flags.c_contiguous:
            raise APIUsageError(f"buf[{name!r}] must be C-contiguous, got strides {array.strides}.")
        if not array.flags.writeable:
            raise APIUsageError(f"buf[{name!r}] must be writable, got a read-only array.")


def rows(buffers: Mapping[str, NDArray[Any]], start: int, stop: int) -> Buffers:
    """Return views of rows `start` to `stop - 1` of every buffer."""
    return {name: array[start:stop] for name, array in buffers.items()}

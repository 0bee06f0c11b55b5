"""`OceanEnv`: many copies of one C environment behind the PufferEnv interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from puffer_core import APIUsageError, PufferEnv
from puffer_core.spaces import is_below
from puffer_ocean.arguments import TEXT
from puffer_ocean.library import contract, load
from puffer_ocean.pool import Pool
from puffer_ocean.renderer import load_renderer
from puffer_ocean.window import Window

Array = npt.NDArray[Any]
Info = dict[str, Any]

RENDER_MODES = (None, "rgb_array", "human")
HUMAN_FPS = 30


class OceanEnv(PufferEnv):
    """`num_envs` C environments that step in place on the rows of shared buffers.

    Episodes restart in the same step. A step in which episodes end adds one columnar info:
    `agent_id` (int64), `episode_return` (float64, raw rewards), `episode_length` (int64, agent
    steps) and the environment's own log fields (float64), one entry per finished episode.

    Results depend on `seed` and on an environment's index, not on `num_threads`.

    Attributes:
        max_steps: the harness cuts an agent's episode of this length; 0: never.
        fixed: why `set_params` cannot be, set by who steps the environments elsewhere.
    """

    logs_episodes = True

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        num_threads: int = 1,
        render_mode: str | None = "rgb_array",
        buf: Mapping[str, Array] | None = None,
        seed: int = 0,
        **arguments: Any,
    ) -> None:
        """Create the environments; `reset` begins the first episodes.

        Args:
            name: a shipped environment, with or without `puffer_`; one that a package registers
                under `puffer.envs`; or the path of a folder, with a slash.
            num_envs: copies of it; each has its own random stream by (seed, index).
            num_threads: threads that share the copies in `step`; the interpreter lock is free.
            render_mode: None, "rgb_array", or "human": `render` shows a window.
            buf: the vectorizer's buffers, as PufferEnv takes them.
            seed: non-negative integer.
            arguments: the environment's own keyword arguments, from its ARGS table.

        Raises:
            APIUsageError: unknown name or argument, value out of range.
            ImportError: the environment is not built.
        """
        library = load(name)
        values = library.check_arguments(arguments)
        spec = library.describe(values)
        if num_envs < 1 or num_threads < 1:
            raise APIUsageError(
                f"num_envs and num_threads must be at least 1, got {num_envs} and {num_threads}."
            )
        if render_mode not in RENDER_MODES:
            raise APIUsageError(
                f"render_mode must be None, 'rgb_array' or 'human', got {render_mode!r}."
            )
        self._window = Window(library.name) if render_mode == "human" else None
        self.name = library.name
        self.folder = library.folder
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.arguments = values
        self.single_observation_space = spec.observation_space
        self.single_action_space = spec.action_space
        self.has_action_masks = spec.action_masks
        self.max_steps = spec.max_steps
        self.num_agents = num_envs * spec.num_agents
        super().__init__(buf)

        self.log_fields = tuple(library.log_fields)
        self._library = library
        self._spec = spec
        self._discrete = not isinstance(spec.action_space, gymnasium.spaces.Box)
        self._choices = None if not self._discrete else _choices(spec.action_space)
        self._logs = np.zeros((self.num_agents, 2 + len(library.log_fields)))
        threads = min(num_threads, num_envs)
        self._pool = Pool(threads) if threads > 1 else None
        self._vec = self._create(values, seed)
        self._started = False
        self.fixed = ""

    def _create(self, values: dict[str, Any], seed: int) -> Any:
        ffi, library = contract(), self._library
        buffers = ffi.new("puffer_buffers *")
        self._views = {name: ffi.from_buffer(array) for name, array in self._buffers().items()}
        for name, view in self._views.items():
            field = dict(ffi.typeof("puffer_buffers").fields)[name].type
            setattr(buffers, name, ffi.cast(field, view))
        self._texts = library.texts(values)  # C keeps pointers to them
        self._text_table = ffi.new("char *[]", self._texts)
        numbers, out = library.numbers(values), ffi.new("puffer_vec **")
        create = library.functions.create
        self._raise(create(self.num_envs, numbers, self._text_table, buffers, _seed(seed), out))
        return out[0]

    def _raise(self, error: Any) -> None:
        """Raise the error message of a C function, if there is one."""
        ffi = contract()
        if error != ffi.NULL:
            raise APIUsageError(f"{self.name}: {ffi.string(error).decode()}")

    def reset(self, seed: int | None = None) -> tuple[Array, list[Info]]:
        """Begin an episode in every environment.

        Args:
            seed: starts all random streams anew; None continues them.
        """
        if seed is not None:
            self._library.functions.seed(self._open(), _seed(seed))
        self._library.functions.reset(self._open(), 0, self.num_envs)
        self._started = True
        return self.observations, []

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[Info]]:
        """Step every environment; ended ones are reset in the same step.

        Args:
            actions: `(num_agents,)` or `(num_agents, heads)` integers, or `(num_agents, dims)`
                floats; floats outside the bounds are clipped by the environment.

        Raises:
            APIUsageError: before `reset`, wrong shape, a choice that does not exist, or a float
                that is not finite.
        """
        vec = self._open()
        if not self._started:
            raise APIUsageError("step: call reset() first.")
        self._take(actions)
        step = self._library.functions.step
        if self._pool is None:
            step(vec, 0, self.num_envs)
        else:
            self._pool.step(step, vec, self.num_envs)
        return self.observations, self.rewards, self.terminals, self.truncations, self._infos()

    def _take(self, actions: Array) -> None:
        if actions is not self.actions:
            actions = np.asarray(actions)
            if actions.shape != self.actions.shape:
                raise APIUsageError(
                    f"actions must have shape {self.actions.shape}, got {actions.shape}."
                )
            if self._discrete and actions.dtype.kind not in "iu":
                raise APIUsageError(f"actions must be integers, got {actions.dtype}.")
            self._check_range(actions)
            self.actions[...] = actions
        else:
            self._check_range(actions)

    def _check_range(self, actions: Array) -> None:
        if self._choices is None:
            if not np.isfinite(actions).all():
                row = int(np.argwhere(~np.isfinite(actions))[0, 0])
                raise APIUsageError(f"actions must be finite; agent {row} got {actions[row]}.")
        elif isinstance(self._choices, int) and is_below(actions, self._choices):
            return
        elif actions.min() < 0 or (actions >= self._choices).any():
            row = int(np.argwhere((actions < 0) | (actions >= self._choices))[0, 0])
            raise APIUsageError(
                f"actions must be in 0..n-1, n = {self._choices}; agent {row} got {actions[row]}."
            )

    def _infos(self) -> list[Info]:
        if not (np.count_nonzero(self.terminals) or np.count_nonzero(self.truncations)):
            return []
        ended = np.flatnonzero(self.terminals | self.truncations)
        rows = self._logs[ended]
        info = {
            "agent_id": ended,
            "episode_return": rows[:, 0],
            "episode_length": rows[:, 1].astype(np.int64),
        }
        for column, field in enumerate(self._library.log_fields, 2):
            info[field] = rows[:, column]
        return [info]

    def get_state(self) -> dict[str, Array]:
        """Everything that the environments remember: a restored copy goes on byte for byte."""
        vec, functions = self._open(), self._library.functions
        snapshot = np.empty(functions.snapshot_bytes(vec), np.uint8)
        functions.save(vec, contract().from_buffer(snapshot))
        buffers = {name: array.copy() for name, array in self._buffers().items()}
        return {"snapshot": snapshot, **buffers}

    def set_state(self, state: Mapping[str, Array]) -> None:
        """Go on where `get_state` was called.

        Raises:
            APIUsageError: the state is of another environment, number of copies or version.
        """
        vec, buffers = self._open(), self._buffers()
        snapshot = np.ascontiguousarray(state["snapshot"], np.uint8)
        for name, array in buffers.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise APIUsageError(
                    f"{self.name}: the state's {name} is {state[name].dtype} {state[name].shape}, "
                    f"expected {array.dtype} {array.shape}."
                )
        before = {name: array.copy() for name, array in buffers.items()}
        for name, array in buffers.items():
            array[...] = state[name]
        pointer = contract().from_buffer(snapshot)
        try:
            self._raise(self._library.functions.restore(vec, pointer, snapshot.nbytes))
        except APIUsageError:
            for name, array in buffers.items():
                array[...] = before[name]
            raise
        self._started = True

    def set_params(self, index: int | Sequence[int] | None = None, /, **params: Any) -> None:
        """Change arguments of running environments; each takes them at its next reset.

        Args:
            index: of the environments, 0 to num_envs-1; None means all.
            params: arguments of the environment with their new values.

        Raises:
            APIUsageError: an unknown name, a value out of range, a text, or an argument that
                shapes observations or actions. Nothing is changed then.
        """
        if self.fixed:
            raise APIUsageError(f"{self.name}: set_params: {self.fixed}")
        which = range(self.num_envs) if index is None else np.atleast_1d(index).tolist()
        changes = self._changes(which, params)
        for i, values in zip(which, changes, strict=True):
            numbers = self._library.numbers(values)
            self._raise(self._library.functions.set_args(self._open(), i, numbers))

    def check_params(self, **params: Any) -> None:
        """Raise what `set_params(**params)` would raise, and change nothing."""
        self._changes(range(self.num_envs), params)

    def _changes(self, which: Sequence[int], params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All arguments of these environments with changes, checked."""
        known = self._library.arguments
        self._library.check_arguments(dict(params))
        checked = {name: known[name].check(value) for name, value in params.items()}
        if texts := [name for name in params if known[name].kind == TEXT]:
            raise APIUsageError(f"{self.name}: {texts[0]} is read once and cannot change.")
        changes = [self._arguments_of(i, True) | checked for i in which]
        for values in {tuple(change.values()): change for change in changes}.values():
            spec = self._library.describe(values)
            if replace(spec, max_steps=self._spec.max_steps) != self._spec:
                raise APIUsageError(
                    f"{self.name}: {', '.join(params)} would change observations or actions, and "
                    "these are fixed: make a new environment."
                )
        return changes

    def arguments_of(self, index: int) -> dict[str, Any]:
        """The argument values in force in one environment; `arguments` are those of the start."""
        return self._arguments_of(index, False)

    def _arguments_of(self, index: int, following: bool) -> dict[str, Any]:
        """Those in force, or those from the next reset on."""
        self._check_index(index)
        numbers = self._library.functions.get_args(self._open(), index, following)
        return {
            name: self.arguments[name] if argument.kind == TEXT else argument.value(numbers[k])
            for k, (name, argument) in enumerate(self._library.arguments.items())
        }

    def _check_index(self, index: int) -> None:
        if not 0 <= index < self.num_envs:
            raise APIUsageError(f"index must be in 0..{self.num_envs - 1}, got {index}.")

    def _buffers(self) -> dict[str, Array]:
        buffers = {
            "observations": self.observations,
            "final_observations": self.final_observations,
            "actions": self.actions,
            "rewards": self.rewards,
            "terminals": self.terminals,
            "truncations": self.truncations,
            "masks": self.masks,
            "logs": self._logs,
        }
        if self.action_masks is not None:
            buffers["action_masks"] = self.action_masks
        return buffers

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A picture of environment `index`: (height, width, 3) bytes.

        With render_mode "human" it is shown in a window too, at most 30 times a second.

        Raises:
            APIUsageError: no such index, or no `render.py`.
        """
        self._check_index(index)
        state = np.zeros(self._spec.render_size, np.float32)
        pointer = contract().from_buffer("float[]", state)
        self._library.functions.render(self._open(), index, pointer)
        renderer = load_renderer(self._library.folder)
        picture: npt.NDArray[np.uint8] = renderer.draw(state, self.arguments_of(index))
        if self._window is not None:
            self._window.show(picture, HUMAN_FPS)
        return picture

    def native_parts(self) -> tuple[Any, Any, dict[str, Array]]:
        """What code in C needs to step the environments: the functions, the handle, the buffers.

        Returns:
            The contract's `puffer_library` and `vec` as cffi pointers, and the shared buffers by
            the names of `puffer_buffers`. They are valid until `close`.
        """
        return self._library.functions, self._open(), self._buffers()

    def close(self) -> None:
        """Free the environments; calling it again does nothing."""
        if getattr(self, "_vec", None) is None:
            return
        if self._pool is not None:
            self._pool.close()
        self._library.functions.close(self._vec)
        self._vec = None
        if self._window is not None:
            self._window.close()

    def __del__(self) -> None:
        self.close()

    def _open(self) -> Any:
        if self._vec is None:
            raise APIUsageError(f"this {self.name} is closed; create a new one.")
        return self._vec


def _choices(space: gymnasium.Space[Any]) -> int | Array:
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(space.n)
    assert isinstance(space, gymnasium.spaces.MultiDiscrete)
    return space.nvec


def _seed(seed: int) -> int:
    if not hasattr(seed, "__index__") or not 0 <= seed < 2**64:
        raise APIUsageError(f"seed must be an integer in 0..2**64 - 1, got {seed!r}.")
    return int(seed)

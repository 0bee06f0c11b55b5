"""VecEnv: what every vectorizer promises, and the state that all of them keep."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space, joint_space
from puffer_vector import control
from puffer_vector.actions import check_actions
from puffer_vector.episodes import Episodes
from puffer_vector.recipes import Facts
from puffer_vector.restarts import LOGGER, Restarts
from puffer_vector.seeds import expand_seeds

Infos: TypeAlias = "list[dict[str, Any]]"
Flags: TypeAlias = "NDArray[np.bool_]"
Rewards: TypeAlias = "NDArray[np.float32]"
Stepped: TypeAlias = "tuple[NDArray[Any], Rewards, Flags, Flags, Infos]"
Received: TypeAlias = "tuple[NDArray[Any], Rewards, Flags, Flags, Infos, NDArray[np.int64], Flags]"


AT_WORK = "environment {} is at work: call recv() (or step_wait) first."


class Batch(NamedTuple):
    """Environments that are received and answered together."""

    workers: range | list[int]  # who steps them; environments themselves without workers
    rows: slice | NDArray[np.int64]  # where their agents stand among all
    agent_ids: NDArray[np.int64]
    data: Buffers  # views of the joint buffers, or copies of them


class Reply(NamedTuple):
    """A batch that answered."""

    batch: Batch
    infos: Infos
    counted: Flags | None  # agents that acted in this step; None after a reset


class VecEnv(ABC):
    """Many environments behind one interface, in batches of `agents_per_batch` agents.

    After `async_reset` every batch is in flight. `recv` returns the oldest batch in flight;
    `send` answers the oldest batch received and not yet answered, which puts it in flight again.
    Misuse raises `APIUsageError` and changes nothing.

    An episode that ends is followed by the next one in the same step (SAME_STEP): the row holds
    the first observation of the next episode, reward and flags of the ended one, and
    `final_observations` its last observation.

    Attributes:
        driver_env: An environment to read attributes from.
        single_observation_space: The `Box` of one agent's observation.
        single_action_space: The space of one agent's action.
        num_envs: Number of environments.
        num_agents: Number of agents in all of them.
        agents_per_batch: Number of agents that `recv` returns.
        fixed_batches: Whether batches are the same blocks of neighbouring agents in every round,
            in fixed order; else those that answer first.
        agent_ids: `(num_agents,)` int64, 0 to num_agents-1.
        emulated: False, or for wrapped environments the dtypes of their observations
            (`puffer_core.emulated`).
        metadata: The environments' metadata, with `"autoreset_mode": "SAME_STEP"`.
        final_observations: `(agents_per_batch, *obs)`, aligned with the rows of the last `recv`;
            only rows with a terminal or truncation flag have a meaning.
        action_masks: `(agents_per_batch, choices of all heads)` bool, aligned with the rows of the
            last `recv`; True: the choice is allowed in the next step. None if the environments
            offer none.
    """

    driver_env: PufferEnv
    fixed_batches = True
    final_observations: NDArray[Any]
    action_masks: Flags | None = None
    _restarts: Restarts | None = None  # of backends that can

    def __init__(self, facts: Facts, num_envs: int, envs_per_batch: int, seeds: list[int]) -> None:
        self._facts = facts
        self.single_observation_space = facts.single_observation_space
        self.single_action_space = facts.single_action_space
        self.num_envs = num_envs
        self.num_agents = num_envs * facts.num_agents
        self.agents_per_batch = envs_per_batch * facts.num_agents
        self.agent_ids: NDArray[np.int64] = np.arange(self.num_agents)
        self.emulated = facts.emulated
        self.metadata = {**facts.metadata, "autoreset_mode": "SAME_STEP"}
        self._seeds = seeds  # of make
        self._streams = seeds  # with which the random streams began
        self._params: dict[int, dict[str, Any]] = {}  # set by set_params, of each environment
        self._mode: str | None = None  # that the environments are held in (puffer_vector.modes)
        self._was_reset = False
        self._closed = ""  # the reason, once it is closed
        self._unanswered: deque[Batch] = deque()
        self._episodes = None if facts.logs_episodes else Episodes(self.num_agents)

    # Built on first use: for thousands of image observations the bounds take gigabytes.
    @cached_property
    def observation_space(self) -> Space:
        """The joint space of a batch of observations."""
        return joint_space(self.single_observation_space, self.agents_per_batch)

    @cached_property
    def action_space(self) -> Space:
        """The joint space of a batch of actions."""
        return joint_space(self.single_action_space, self.agents_per_batch)

    def async_reset(self, seed: int | Sequence[int] | None = None) -> None:
        """Begin new episodes everywhere and put all batches in flight; what was, is dropped.

        Args:
            seed: Environment i is reset with `seed + i`, or with entry i of a list of `num_envs`.
                None means the seed given to `make` the first time, and later continues the
                environments' random streams.
        """
        self._check_open()
        if seed is None:
            seeds = None if self._was_reset else self._seeds
        else:
            seeds = expand_seeds(seed, self.num_envs)
        self._streams = self._streams if seeds is None else seeds
        self._unanswered.clear()
        if self._episodes is not None:
            self._episodes.clear()
        self._launch_reset(seeds)
        self._was_reset = True

    def recv(self) -> Received:
        """Wait for the oldest batch in flight.

        Returns:
            With N = `agents_per_batch`: observations `(N, *obs)`, rewards `(N,)` float32,
            terminals, truncations `(N,)` bool, infos (a list of dicts), agent_ids `(N,)` int64,
            masks `(N,)` bool. The arrays are live: they change after the `send` that answers
            them. Episodes that ended are described by one dict at the end of infos, with aligned
            arrays `agent_id`, `episode_return` (raw rewards), `episode_length`.

        Raises:
            APIUsageError: Nothing is in flight.
        """
        self._check_open()
        reply = self._collect()
        if reply is None:
            call = "send(actions)" if self._unanswered else "reset() or async_reset()"
            raise APIUsageError(f"recv: no batch is in flight, call {call} first.")
        batch, infos, counted = reply
        data = batch.data
        if self._episodes is not None and counted is not None:
            ends = data["terminals"] | data["truncations"]
            ended = self._episodes.update(batch.rows, data["rewards"], ends, counted)
            if ended is not None:
                infos.append(ended)
        self._unanswered.append(batch)
        self.final_observations = data["final_observations"]
        self.action_masks = data.get("action_masks")
        return (
            data["observations"],
            data["rewards"],
            data["terminals"],
            data["truncations"],
            infos,
            batch.agent_ids,
            data["masks"],
        )

    def send(self, actions: object) -> None:
        """Answer the oldest batch that was received and not yet answered.

        Args:
            actions: An array, a tensor on the CPU, or a list, one row an agent of that batch.
                `Discrete`: integers `(N,)` or `(N, 1)`; `MultiDiscrete`: integers `(N, K)`;
                `Box`: numbers `(N, *box)`, clipped to the bounds.

        Raises:
            APIUsageError: Nothing to answer, or wrong actions.
        """
        self._check_open()
        if not self._unanswered:
            raise APIUsageError("send: no batch waits for actions, call recv() or reset() first.")
        checked = check_actions(actions, self.single_action_space, self.agents_per_batch)
        self._launch_step(self._unanswered.popleft(), checked)

    def reset(self, seed: int | Sequence[int] | None = None) -> tuple[NDArray[Any], Infos]:
        """Begin new episodes everywhere and return the first batch's (observations, infos)."""
        self.async_reset(seed)
        observations, _, _, _, infos, _, _ = self.recv()
        return observations, infos

    def step(self, actions: object) -> Stepped:
        """Send actions and receive: (observations, rewards, terminals, truncations, infos)."""
        self.send(actions)
        return self.recv()[:5]

    def set_params(self, env_ids: int | Sequence[int] | None = None, /, **params: Any) -> None:
        """Change parameters of environments while they run, as a curriculum does.

        Allowed between `recv` and `send`, for environments of batches that were received and are
        not yet answered. The call returns when all of them have the new values, and is logged
        by the logger `puffer_vector`.

        Args:
            env_ids: Indices of environments, 0 to num_envs-1; None means all.
            **params: Given to the environment's own `set_params(**params)`, which decides when
                they take effect.

        Raises:
            APIUsageError: An environment offers no `set_params` or does not know a parameter
                (nothing is changed then), or a batch is in flight. What an environment's own
                method raises passes through.
        """
        self._check_open()
        ids = self._check_env_ids(env_ids)
        answerable = {
            env
            for batch in self._unanswered
            for worker in batch.workers
            for env in self._envs_of(worker)
        }
        if flying := [env for env in ids if env not in answerable]:
            raise APIUsageError(
                f"set_params: environment {flying[0]} is not between recv and send. Call it "
                "after the recv (or reset) that returned its batch, before the send that answers."
            )
        if not params:
            raise APIUsageError("set_params: give at least one parameter, as name=value.")
        self._call(ids, control.check_params, params)
        self._call(ids, control.set_params, params)
        for env in ids:
            self._params[env] = {**self._params.get(env, {}), **params}
        LOGGER.info("set_params: environments %s: %s", ids, params)

    def _check_env_ids(self, env_ids: int | Sequence[int] | None) -> list[int]:
        if env_ids is None:
            return list(range(self.num_envs))
        try:
            listed = list(env_ids) if isinstance(env_ids, Iterable) else [env_ids]
            ids = [operator.index(env) for env in listed]
        except TypeError:
            ids = []
        if not ids or len({*ids}) < len(ids) or not 0 <= min(ids) <= max(ids) < self.num_envs:
            raise APIUsageError(
                f"env_ids must be different indices from 0 to {self.num_envs - 1}, one or a "
                f"sequence of them, or None for all, got {env_ids!r:.80}."
            )
        return ids

    def _call(self, env_ids: Sequence[int], function: control.Function, *arguments: Any) -> Any:
        """Run a function of `control` on environments that are not at work."""
        self._check_open()
        return self._launch_call(env_ids, (function, [arguments] * len(env_ids)))

    def _calls_again(self, envs: range) -> list[tuple[list[int], tuple[Any, ...]]]:
        """What restarted environments must be told before their reset, for `control.run`."""
        calls: list[tuple[list[int], tuple[Any, ...]]] = []
        if self._mode is not None:
            calls.append(([*envs], (control.hold, [(self._mode,)] * len(envs))))
        if changed := [env for env in envs if env in self._params]:
            calls.append((changed, (control.set_params, [(self._params[env],) for env in changed])))
        return calls

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that the environments and the statistics remember, as named arrays.

        Allowed when every batch was received and none answered. Each environment is asked by its
        own `get_state()`, which returns a dict of arrays.

        Raises:
            APIUsageError: An environment cannot say, or is at work.
        """
        parts = self._call(range(self.num_envs), control.get_state)
        state = {f"{env}/{name}": a for env, part in enumerate(parts) for name, a in part.items()}
        if self._episodes is not None:
            state["returns"] = self._episodes.returns.copy()
            state["lengths"] = self._episodes.lengths.copy()
        return state

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `get_state` was called; every batch is in flight, as after a reset.

        The number of workers may be another. Each environment's own `set_state(state)` gets what
        its `get_state` returned, and writes its rows.

        Raises:
            APIUsageError: The state does not fit.
        """
        self._check_open()
        owners = {name.partition("/")[0] for name in state} - {"returns", "lengths"}
        if owners != {str(index) for index in range(self.num_envs)}:
            raise APIUsageError(
                f"the state is of {len(owners)} environments, this vectorizer has {self.num_envs}."
            )
        parts: list[dict[str, NDArray[Any]]] = [{} for _ in range(self.num_envs)]
        for key, array in state.items():
            owner, _, name = key.partition("/")
            if name:
                parts[int(owner)][name] = array
        self._settle()
        self._unanswered.clear()
        call = (control.set_state, [(part,) for part in parts])
        shown = self._launch_call(range(self.num_envs), call)
        if self._episodes is not None:
            np.copyto(self._episodes.returns, state["returns"])
            np.copyto(self._episodes.lengths, state["lengths"])
        self._present(shown)
        self._was_reset = True

    def close(self) -> None:
        """Close all environments; a second call does nothing."""
        if not self._closed:
            self._closed = "it was closed"
            self._stop()

    def _check_open(self) -> None:
        if self._closed:
            raise APIUsageError(f"This vectorizer cannot be used any more: {self._closed}.")

    @abstractmethod
    def _launch_reset(self, seeds: list[int] | None) -> None:
        """Reset all environments and put all batches in flight."""

    @abstractmethod
    def _launch_step(self, batch: Batch, actions: NDArray[Any]) -> None:
        """Write a batch's actions and put it in flight."""

    @abstractmethod
    def _collect(self) -> Reply | None:
        """Take the oldest batch out of flight; None if there is none."""

    @abstractmethod
    def _launch_call(self, env_ids: Sequence[int], call: tuple[Any, ...]) -> list[Any]:
        """Run a call (`control.run`) on environments and return the results in order.

        Raises:
            APIUsageError: One of them is at work, or its last answer was not received yet.
        """

    @abstractmethod
    def _settle(self) -> None:
        """Wait for environments at work, and drop every answer and batch in flight."""

    @abstractmethod
    def _present(self, shown: list[Buffers]) -> None:
        """Put all batches in flight without a step; their rows are `shown`, one an environment."""

    def _envs_of(self, worker: int) -> range:
        """Environments that a worker of a batch steps; without workers, itself."""
        return range(worker, worker + 1)

    @abstractmethod
    def _stop(self) -> None:
        """Free everything."""

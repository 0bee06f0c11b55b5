"""autotune: measure an environment on this machine and find the plan that steps it fastest."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Field
from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space
from puffer_vector.make import make
from puffer_vector.memory import available_bytes, resident_bytes
from puffer_vector.plan import available_cpus, plan_workers
from puffer_vector.recipes import Facts, Recipe, make_recipes
from puffer_vector.tuning import Profile, Trial, Tuning

PROFILE_SHARE = 0.15  # of the time, for the environment alone
PROFILE_STEPS = 2000  # at most
MEMORY_SHARE = 0.8  # of the memory that is free
ENVS_PER_CPU = (4, 16, 64)  # totals that are tried unless one is given
CLOSE = 0.95  # of the fastest: as good, if it takes less memory
SHORTEST = 0.1  # seconds of a measurement
LONGEST = 3.0


def autotune(
    env_creator: Callable[..., Any],
    env_args: Sequence[Any] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    num_envs: int | None = None,
    max_envs: int = 1024,
    max_memory: int | None = None,
    seconds: float = 30.0,
    seed: int = 0,
    report: Callable[[Trial], None] | None = None,
) -> Tuning:
    """Measure plans with random actions and return them with the best one.

    Tried are, for every number of environments: Serial; worker processes that are received all
    together, in two blocks, and in halves as they come. A native environment is tried alone, with
    each number of threads if it takes `num_threads`, and in one copy a worker.

    Args:
        env_creator: As in `make`; one for all environments.
        env_args: As in `make`.
        env_kwargs: As in `make`.
        num_envs: Number of environments of every plan. None: several, up to `max_envs`.
        max_envs: The largest number of environments to try.
        max_memory: Bytes that a plan may take; None: 80 % of what is free. Plans that would take
            more are listed and not tried.
        seconds: Time for everything. Plans for which none is left are listed and not tried; a
            measurement that runs is not interrupted.
        seed: Seed of environments and actions.
        report: Called with every trial that is done.

    Raises:
        APIUsageError: Arguments that do not fit, or no plan fits the memory.
        Exception: What the environment itself raises.
    """
    for name, value in (("num_envs", num_envs), ("max_envs", max_envs), ("seconds", seconds)):
        if value is not None and not value > 0:
            raise APIUsageError(f"autotune: {name} must be above 0, got {value!r}.")
    begin = time.perf_counter()
    limit = int(MEMORY_SHARE * available_bytes()) if max_memory is None else max_memory
    recipe = make_recipes(env_creator, env_args, env_kwargs, 1)[0]
    profile = profile_environment(recipe, seconds * PROFILE_SHARE, seed)
    totals = [num_envs] if num_envs else _totals(max_envs)
    plans = native_plans(recipe) if profile.native else wrapped_plans(totals)
    trials = [_estimate(settings, kwargs, profile) for settings, kwargs in plans]
    for left, trial in zip(range(len(trials), 0, -1), trials, strict=True):
        remaining = seconds - (time.perf_counter() - begin)
        start = trial.settings["num_envs"] * profile.build_seconds
        if trial.memory_bytes > limit:
            trial.skipped = f"needs {trial.memory_bytes:,} bytes of memory, {limit:,} are allowed"
        elif remaining < start + SHORTEST and any(t.steps_per_second for t in trials):
            trial.skipped = "no time left"
        else:
            share = min(LONGEST, max(SHORTEST, (remaining - start) / left / 1.5))
            _measure(trial, recipe, share, seed)
            if report is not None:
                report(trial)
    done = [trial for trial in trials if trial.steps_per_second]
    if not done:
        raise APIUsageError(f"autotune: no plan fits: {trials[0].settings} {trials[0].skipped}.")
    trials.sort(key=lambda trial: -(trial.steps_per_second or 0))
    fastest = trials[0].steps_per_second or 0
    good = [trial for trial in done if (trial.steps_per_second or 0) >= CLOSE * fastest]
    best = min(good, key=lambda trial: trial.memory_bytes)  # of equal ones the first, the simplest
    elapsed = time.perf_counter() - begin
    return Tuning(available_cpus(), limit, elapsed, profile, trials, best)


def profile_environment(recipe: Recipe, seconds: float, seed: int) -> Profile:
    """Build two environments, and step the second alone with random actions."""
    first = recipe.build(None, seed)  # imports what the others find imported
    before, begin = resident_bytes(), time.perf_counter()
    try:
        env = recipe.build(None, seed + 1)
    finally:
        first.close()
    try:
        build_seconds = time.perf_counter() - begin
        actions = random_actions(env.single_action_space, env.num_agents, seed)
        steps: list[float] = []
        resets = 0.0
        env.reset(seed + 1)
        begin = now = time.perf_counter()
        while len(steps) < PROFILE_STEPS and (now - begin < seconds or len(steps) < 10):
            env.step(actions[len(steps) % len(actions)])
            steps.append(time.perf_counter() - now)
            if env.emulated and env.done:
                now = time.perf_counter()
                env.reset()
                resets += time.perf_counter() - now
            now = time.perf_counter()
        memory = max(resident_bytes() - before, _buffer_bytes(Facts.of(env).layout(1)))
        return Profile(
            native=not env.emulated,
            agents=env.num_agents,
            build_seconds=build_seconds,
            steps_per_second=len(steps) * env.num_agents / (sum(steps) + resets),
            spread=_spread(steps),
            reset_share=resets / (sum(steps) + resets) if env.emulated else None,
            memory_bytes=memory,
        )
    finally:
        env.close()


def wrapped_plans(totals: Sequence[int]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Plans for environments that step one after the other: `make`'s keywords and the creator's."""
    for num_envs in totals:
        yield {"backend": "Serial", "num_envs": num_envs}, {}
        workers, _ = plan_workers(num_envs, None, None, True)
        if workers == 1:
            continue
        plan = {"backend": "Multiprocessing", "num_envs": num_envs, "num_workers": workers}
        yield plan, {}
        if workers % 2 == 0:
            for zero_copy in (True, False):
                yield {**plan, "batch_size": num_envs // 2, "zero_copy": zero_copy}, {}


def native_plans(recipe: Recipe) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Plans for native environments, which hold many agents each."""
    cpus = available_cpus()
    plan = {"backend": "PufferEnv", "num_envs": 1}
    parameters = inspect.signature(recipe.creator).parameters
    if "num_threads" in parameters and "num_threads" not in recipe.kwargs:
        for threads in _doublings(cpus):
            yield plan, {"num_threads": threads}
    else:
        yield plan, {}
    for workers in _doublings(cpus)[1:]:
        yield {"backend": "Multiprocessing", "num_envs": workers, "num_workers": workers}, {}


def random_actions(space: Space, num_agents: int, seed: int) -> list[NDArray[Any]]:
    """16 batches of random actions, laid out like the action buffer."""
    rng = np.random.default_rng(seed)
    shape = (16, num_agents, *(space.shape or ()))
    if isinstance(space, gymnasium.spaces.Box):
        low = np.maximum(space.low, -1).astype(np.float64)
        high = np.maximum(np.minimum(space.high, 1), low)
        return list(rng.uniform(low, high, shape).astype(space.dtype))
    counts = space.n if isinstance(space, gymnasium.spaces.Discrete) else space.nvec  # type: ignore[attr-defined]
    return list(rng.integers(0, counts, shape, dtype=np.int32))


def _spread(seconds: Sequence[float]) -> float:
    """Half the width of the middle 68 % as a share of the median, so without the odd pause."""
    low, middle, high = np.quantile(seconds, [0.16, 0.5, 0.84])
    return float((high - low) / 2 / middle)


def _totals(max_envs: int) -> list[int]:
    return [n for k in ENVS_PER_CPU if (n := k * available_cpus()) <= max_envs] or [max_envs]


def _doublings(most: int) -> list[int]:
    """1, 2, 4, ... and `most` itself."""
    return [*(2**k for k in range(most.bit_length()) if 2**k < most), most]


def _estimate(settings: dict[str, Any], kwargs: dict[str, Any], profile: Profile) -> Trial:
    num_envs, workers = settings["num_envs"], settings.get("num_workers", 0)
    memory = num_envs * profile.memory_bytes + workers * resident_bytes()
    return Trial(settings, kwargs, memory, num_envs * profile.agents)


def _buffer_bytes(fields: Mapping[str, Field]) -> int:
    return sum(math.prod(field.shape) * field.dtype.itemsize for field in fields.values())


def _measure(trial: Trial, recipe: Recipe, seconds: float, seed: int) -> None:
    """Run a plan for some time and write down how fast it is."""
    kwargs = {**recipe.kwargs, **trial.env_kwargs}
    vecenv = make(recipe.creator, recipe.args, kwargs, seed=seed, **trial.settings)
    try:
        actions = random_actions(vecenv.single_action_space, vecenv.agents_per_batch, seed)
        vecenv.async_reset()
        batches = vecenv.num_agents // vecenv.agents_per_batch
        calls, begin = -2 * batches, time.perf_counter()
        while calls < batches or time.perf_counter() - begin < seconds:
            vecenv.recv()
            if calls == 0:  # after the first episodes began and all buffers were touched
                begin = time.perf_counter()
            vecenv.send(actions[calls % len(actions)])
            calls += 1
        steps = calls * vecenv.agents_per_batch
        trial.steps_per_second = steps / (time.perf_counter() - begin)
    finally:
        vecenv.close()

"""Checks that every C environment passes, whatever it is. Each raises AssertionError."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from ocean_samples import NO_CHANCE, variants

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv, build, load

WRITTEN = ("observations", "rewards", "terminals", "truncations", "masks")
MAX_STEPS = 20_000  # to the first end of an episode
HEAD, GOLDEN = 24, 0x9E3779B97F4A7C15  # of a snapshot, in bytes; the step of a random stream


def random_actions(env, generator):
    if env.actions.dtype == np.float32:
        return generator.uniform(-1.5, 1.5, env.actions.shape).astype(np.float32)
    sizes = getattr(env.single_action_space, "nvec", getattr(env.single_action_space, "n", None))
    return generator.integers(0, sizes, env.actions.shape)


def seen(env, infos=()):
    """Everything that a step showed, as one digest."""
    sums = hashlib.sha256()
    for name in WRITTEN:
        sums.update(getattr(env, name).tobytes())
    if env.action_masks is not None:
        sums.update(env.action_masks.tobytes())
    sums.update(env.final_observations[env.terminals | env.truncations].tobytes())
    for info in infos:
        for column in info.values():
            sums.update(column.tobytes())
    return sums.hexdigest()


def play(env, steps, seed):
    generator = np.random.default_rng(seed)
    return [seen(env, env.step(random_actions(env, generator))[-1]) for _ in range(steps)]


def check_declaration(name):
    """Names, help texts, and the fields that all environments log."""
    library = load(name)
    assert library.name == name
    assert {"score", "perf"} <= {*library.log_fields}
    assert len({*library.log_fields}) == len(library.log_fields)
    assert all(argument.help for argument in library.arguments.values())


def check_threads_and_instances(name):
    """The same seed gives the same bytes with 1, 2 and 4 threads, also interleaved."""
    envs = [OceanEnv(name, 5, num_threads=threads, seed=3) for threads in (1, 2, 4, 1)]
    generators = [np.random.default_rng(4) for _ in envs]
    first = [env.reset()[0].tobytes() for env in envs]
    assert len({*first}) == 1
    shown = set()
    for _ in range(200):
        steps = [
            seen(env, env.step(random_actions(env, generator))[-1])
            for env, generator in zip(envs, generators, strict=True)
        ]
        assert len({*steps}) == 1
        shown.add(steps[0])
    assert len(shown) > 1, "nothing ever changes"


def check_seeds(name):
    """Different seeds differ, and a seed given to reset is that given at the start."""
    episodes = []
    for seed in (0, 1, 2**64 - 1):
        env = OceanEnv(name, 4, seed=seed)
        episodes.append([env.reset()[0].tobytes(), *play(env, 300, 5)])
        other = OceanEnv(name, 4, seed=77)
        other.reset()
        play(other, 10, 6)
        assert [other.reset(seed=seed)[0].tobytes(), *play(other, 300, 5)] == episodes[-1]
    assert (len({*map(tuple, episodes)}) == 3) == (name not in NO_CHANCE)


def run_to_an_end(env, generator):
    """Step until an environment ends as a whole: (state before that step, its index), or None."""
    agents = env.num_agents // env.num_envs
    ended_once = False
    for _ in range(MAX_STEPS):
        before = env.get_state()
        env.step(random_actions(env, generator))
        ended = (env.terminals | env.truncations).reshape(env.num_envs, agents)
        ended_once |= bool(ended.any())
        there = env.masks.reshape(env.num_envs, agents)
        whole = (ended == there).all(axis=1) & ended.any(axis=1)
        if whole.any():
            return before, int(whole.argmax())
        if ended_once and restarts_agents(env.name):
            return None
    raise AssertionError(f"no episode ended within {MAX_STEPS} steps")


def restarts_agents(name):
    return "#define PUFFER_RESET_AGENT" in build.source(name).read_text()


def streams(state, num_envs):
    """The random streams in a snapshot, a view."""
    return state["snapshot"][HEAD : HEAD + 8 * num_envs].view(np.uint64)


def check_episode_end(name):
    """An episode ends, and what follows is what a new environment on the same stream would show."""
    env, twin = OceanEnv(name, 4, seed=8), OceanEnv(name, 4)
    env.reset()
    twin.reset()
    found = run_to_an_end(env, np.random.default_rng(9))
    if found is None:
        return
    state, index = found
    rows = slice(*(np.array([index, index + 1]) * (env.num_agents // env.num_envs)))
    expected = env.observations[rows].tobytes()
    begin = int(streams(state, 4)[index])
    after = int(streams(env.get_state(), 4)[index])
    draws = (after - begin) * pow(GOLDEN, -1, 2**64) % 2**64  # of the step and the reset
    state = twin.get_state()
    for used in range(min(draws, 5000) + 1):  # by the step alone
        streams(state, 4)[index] = (begin + used * GOLDEN) % 2**64
        twin.set_state(state)
        twin.reset()
        if int(streams(twin.get_state(), 4)[index]) == after:
            break
    else:
        raise AssertionError("no reset on the continued stream draws as often as that at the end")
    assert twin.observations[rows].tobytes() == expected
    generators = [np.random.default_rng(10) for _ in range(2)]
    for _ in range(60):
        for each, generator in zip((env, twin), generators, strict=True):
            each.step(random_actions(each, generator))
        for part in WRITTEN:
            assert (getattr(env, part)[rows] == getattr(twin, part)[rows]).all(), part


def check_state(name):
    """A restored copy goes on byte for byte, and so does the original."""
    env = OceanEnv(name, 3, seed=10)
    env.reset()
    play(env, 120, 11)
    state = env.get_state()
    expected = play(env, 200, 12)
    other = OceanEnv(name, 3, seed=13, num_threads=2)
    other.set_state(state)
    assert play(other, 200, 12) == expected
    env.set_state(state)
    assert play(env, 200, 12) == expected


def check_params(name):
    """A changed argument acts from the next reset on as in an environment made with it."""
    library = load(name)
    default = library.describe(library.check_arguments({}))
    for variant in variants(name):
        spec = library.describe(library.check_arguments(variant))
        env = OceanEnv(name, 2, seed=14)
        env.reset()
        play(env, 20, 15)
        if replace(spec, max_steps=default.max_steps) != default:
            with pytest.raises(APIUsageError, match="would change observations or actions"):
                env.set_params(**variant)
            continue
        env.set_params(**variant)
        fresh = OceanEnv(name, 2, **variant)
        first = env.reset(seed=16)[0].tobytes(), fresh.reset(seed=16)[0].tobytes()
        assert first[0] == first[1], f"set_params({variant}) differs from a new environment"
        assert play(env, 60, 17) == play(fresh, 60, 17), variant


def check_arguments(name):
    """Values outside the range are refused, and the message names the argument."""
    for argument in load(name).arguments.values():
        outside = {
            "int": [argument.low - 1, argument.high + 1, 0.5],
            "float": [argument.low - 1, argument.high + 1, "fast"],
            "bool": [2, "maybe"],
            "enum": ["", "no such choice", 0],
            "text": [3],
        }[argument.kind]
        for value in outside:
            with pytest.raises(APIUsageError) as refusal:
                OceanEnv(name, **{argument.name: value})
            assert argument.name in str(refusal.value)
            assert repr(value) in str(refusal.value)


def check_render(name):
    """A picture of one size, not empty, that leaves the environment as it is."""
    env = OceanEnv(name, 2, seed=18)
    env.reset()
    first = env.render(0)
    assert first.dtype == np.uint8
    height, width, depth = first.shape
    assert depth == 3
    assert 64 <= height <= 1200
    assert 64 <= width <= 1600
    play(env, 30, 19)
    before = env.get_state()
    picture = env.render(1)
    assert picture.shape == first.shape
    assert len(np.unique(picture @ np.array([1, 256, 65536]))) > 2, "the picture is empty"
    assert (env.render(1) == picture).all()
    after = env.get_state()
    assert all(before[key].tobytes() == after[key].tobytes() for key in before)
    for variant in variants(name)[1:]:
        env = OceanEnv(name, **variant)
        env.reset()
        assert env.render().ndim == 3, variant


CHECKS = [
    check_declaration,
    check_threads_and_instances,
    check_seeds,
    check_episode_end,
    check_state,
    check_params,
    check_arguments,
    check_render,
]

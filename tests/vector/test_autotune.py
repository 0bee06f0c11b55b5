"""autotune: facts of environments whose facts are known, legal plans, limits that hold."""

import json
import math
import time

import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv
from puffer_vector import autotune, make
from puffer_vector.autotune import native_plans, profile_environment, random_actions
from puffer_vector.plan import available_cpus
from puffer_vector.recipes import Recipe


def tried(tuning):
    return [trial for trial in tuning.trials if trial.steps_per_second is not None]


def test_every_plan_is_legal_and_the_best_one_runs(cartpole):
    seen = []
    tuning = autotune(cartpole, num_envs=8, seconds=4, report=seen.append)
    assert {trial.settings["backend"] for trial in tuning.trials} == (
        {"Serial", "Multiprocessing"} if available_cpus() > 1 else {"Serial"}
    )
    assert all(trial.settings["num_envs"] == trial.agents == 8 for trial in tuning.trials)
    assert {id(trial) for trial in seen} == {id(trial) for trial in tried(tuning)}
    rates = [trial.steps_per_second for trial in tried(tuning)]
    assert rates == sorted(rates, reverse=True)
    assert tuning.best.steps_per_second >= 0.95 * rates[0]
    assert tuning.best.memory_bytes == min(
        trial.memory_bytes for trial in tried(tuning) if trial.steps_per_second >= 0.95 * rates[0]
    )
    vecenv = make(cartpole, env_kwargs=tuning.best.env_kwargs, **tuning.best.settings)
    vecenv.reset(0)
    vecenv.step(np.zeros(vecenv.agents_per_batch, np.int32))
    vecenv.close()
    assert json.loads(json.dumps(tuning.as_dict()))["best"]["settings"] == tuning.best.settings


def test_an_indivisible_number_of_environments_still_has_plans(cartpole):
    tuning = autotune(cartpole, num_envs=7, seconds=1)
    assert all(trial.settings["num_envs"] == 7 for trial in tuning.trials)


class Timed(PufferEnv):
    """Three agents; every step takes 2 ms."""

    def __init__(self, buf=None, seed=0, num_threads=1):
        self.single_observation_space = spaces.Box(0, 1, (1000,), np.float64)
        self.single_action_space = spaces.MultiDiscrete([2, 3])
        self.num_agents = 3
        super().__init__(buf)
        self.num_threads = num_threads

    def reset(self, seed=None):
        return self.observations, []

    def step(self, actions):
        assert actions.shape == (3, 2)
        assert (actions < [2, 3]).all()
        time.sleep(0.002)
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_the_profile_of_a_native_environment_is_known():
    profile = profile_environment(Recipe(Timed, (), {}), 0.3, 0)
    assert profile.native
    assert profile.agents == 3
    assert profile.reset_share is None
    assert 0 < profile.steps_per_second <= 3 / 0.002  # no sleep is shorter than asked for
    # observations and final observations alone
    assert profile.memory_bytes >= 2 * 3 * 1000 * 8


class Resetting(PufferEnv):
    """Stands for a wrapper: episodes of one step, and a reset takes as long as a step."""

    emulated = True

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 1
        super().__init__(buf)

    def reset(self, seed=None):
        time.sleep(0.005)
        self.done = False
        return self.observations, []

    def step(self, actions):
        time.sleep(0.005)
        self.terminals[:] = self.done = True
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_resets_count_as_time():
    profile = profile_environment(Recipe(Resetting, (), {}), 0.3, 0)
    assert not profile.native
    assert profile.reset_share == pytest.approx(0.5, abs=0.15)
    assert profile.steps_per_second <= 1 / 0.01


def test_threads_are_tried_where_the_creator_takes_them():
    threads = [kwargs for _, kwargs in native_plans(Recipe(Timed, (), {})) if kwargs]
    assert threads[0] == {"num_threads": 1}
    assert threads[-1] == {"num_threads": available_cpus()}
    fixed = native_plans(Recipe(Timed, (), {"num_threads": 1}))
    assert all(kwargs == {} for _, kwargs in fixed)


def test_a_plan_beyond_the_memory_is_listed_and_never_built(cartpole):
    built = []

    def creator(buf=None, seed=0):
        built.append(seed)
        return cartpole(buf=buf, seed=seed)

    profile = profile_environment(Recipe(cartpole, (), {}), 0.1, 0)
    room = 40 * max(profile.memory_bytes, 2**20)
    tuning = autotune(creator, max_envs=10**6, max_memory=room, seconds=3)
    assert all(trial.memory_bytes <= room for trial in tried(tuning))
    refused = [trial for trial in tuning.trials if "memory" in trial.skipped]
    assert all(trial.memory_bytes > room for trial in refused)
    assert all(f"{room:,} are allowed" in trial.skipped for trial in refused)
    assert tuning.best in tried(tuning)
    with pytest.raises(
        APIUsageError, match=r"no plan fits: .* needs [\d,]+ bytes of memory, 1 are"
    ):
        autotune(creator, max_memory=1, seconds=0.1)


class Slow(PufferEnv):
    """Takes a quarter of a second to build."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.single_action_space = spaces.Box(-math.inf, 0.5, (2,), np.float32)
        self.num_agents = 1
        super().__init__(buf)
        time.sleep(0.25)

    emulated = True

    def reset(self, seed=None):
        return self.observations, []

    def step(self, actions):
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_what_there_is_no_time_for_is_listed():
    tuning = autotune(Slow, seconds=3, max_envs=64 * available_cpus())
    assert tried(tuning)
    assert any(trial.skipped == "no time left" for trial in tuning.trials)
    assert tuning.seconds < 60  # building all plans would take minutes


@pytest.mark.parametrize("where", ["init", "reset", "step"])
def test_errors_of_the_environment_are_shown_as_they_are(clock, where):
    key = {"init": 1, "reset": 1, "step": (1, 3)}[where]
    with pytest.raises(ValueError, match=f"^broken in {where}$"):
        autotune(clock, env_kwargs={"fault": "raise", "at": (where, key)}, seconds=1)


@pytest.mark.parametrize("name", ["num_envs", "max_envs", "seconds"])
def test_nonsense_is_refused(cartpole, name):
    with pytest.raises(APIUsageError, match=f"{name} must be above 0, got -1"):
        autotune(cartpole, **{name: -1})


def test_random_actions_lie_in_the_space():
    for space in (
        spaces.Discrete(3),
        spaces.MultiDiscrete([2, 5]),
        spaces.Box(np.float32([-np.inf, 0, 2]), np.float32([np.inf, 0.5, np.inf])),
    ):
        batches = random_actions(space, 50, 1)
        assert all(space.contains(space.dtype.type(row)) for batch in batches for row in batch)
        assert len(np.unique(np.stack(batches), axis=0)) > 1


def test_a_wrapped_environment_has_its_memory_counted(cartpole):
    def big(buf=None, seed=0):
        env = cartpole(buf=buf, seed=seed)
        env.ballast = np.ones(2**22)  # 32 MiB
        return env

    profile = profile_environment(Recipe(big, (), {}), 0.05, 0)
    assert profile.memory_bytes > 0.9 * 2**25
    assert isinstance(big(), GymnasiumPufferEnv)

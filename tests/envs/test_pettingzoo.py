"""Real PettingZoo environments: 1,000 random steps through Serial equal the unwrapped twin."""

import importlib

import numpy as np
import pytest
import random_spaces as rs
from toy_agents import Scripted

from puffer_core import APIUsageError, PettingZooPufferEnv
from puffer_core.flatten import nativize
from puffer_vector import make

pytest.importorskip("pettingzoo")
# PettingZoo 1.27 announces another way to make environments, which older versions lack.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The old environment creation API:DeprecationWarning",
    "ignore:The old API will:DeprecationWarning",
)

STEPS = 1000
# (module, function, keywords); AEC environments are converted.
ENVIRONMENTS = {
    "knights_archers_zombies": (
        "pettingzoo.butterfly.knights_archers_zombies_v11",
        "parallel_env",
        {"max_cycles": 300},
    ),
    "knights_archers_zombies, AEC": (
        "pettingzoo.butterfly.knights_archers_zombies_v11",
        "env",
        {"max_cycles": 300},
    ),
    "pistonball": ("pettingzoo.butterfly.pistonball_v6", "parallel_env", {"n_pistons": 4}),
    "simple_spread": ("mpe2.simple_spread_v3", "parallel_env", {}),
}


class Recorder:
    """A parallel environment that remembers the actions it gets."""

    def __init__(self, env):
        self.env, self.actions = env, []

    def __getattr__(self, name):
        return getattr(self.env, name)

    def step(self, actions):
        self.actions.append(actions)
        return self.env.step(actions)


def make_env(name):
    module, function, keywords = ENVIRONMENTS[name]
    pytest.importorskip(module.split(".")[0])
    return getattr(importlib.import_module(module), function)(**keywords)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_equals_the_twin(name):
    from pettingzoo.utils.conversions import aec_to_parallel

    twin = make_env(name)
    if hasattr(twin, "agent_iter"):
        twin = aec_to_parallel(twin)
    wrapped = []

    def creator(buf=None, seed=0):
        env = PettingZooPufferEnv(make_env(name), buf=buf, seed=seed)
        env.env = Recorder(env.env)
        wrapped.append(env)
        return env

    vecenv = make(creator, backend="Serial", num_envs=1)
    recorder = wrapped[-1].env
    agents = list(twin.possible_agents)
    space = twin.observation_space(agents[0])
    assert vecenv.num_agents == len(agents)
    vecenv.action_space.seed(1)

    def check(rows, expected, present):
        for row, agent in zip(rows, agents, strict=True):
            if agent in present:
                rs.assert_same(nativize(row, space), rs.declared(space, expected[agent]))
            else:
                assert not row.any()

    observations, _ = vecenv.reset(seed=3)
    expected, _ = twin.reset(seed=3)
    check(observations, expected, set(twin.agents))
    deaths = episodes = 0
    for _ in range(STEPS):
        actions = vecenv.action_space.sample()
        vecenv.send(actions)
        observations, rewards, terminals, truncations, _, _, masks = vecenv.recv()
        acted = set(twin.agents)
        for agent, action in recorder.actions[-1].items():
            assert twin.action_space(agent).contains(action)
            np.testing.assert_array_equal(action, actions[agents.index(agent)])
        assert set(recorder.actions[-1]) == acted
        expected, reward, terminated, truncated, _ = twin.step(recorder.actions[-1])
        for i, agent in enumerate(agents):
            assert masks[i] == (agent in acted)
            assert rewards[i] == (np.float32(reward[agent]) if agent in acted else 0)
            assert terminals[i] == (agent in acted and terminated[agent])
            assert truncations[i] == (agent in acted and truncated[agent])
        present = acted | set(twin.agents)
        if not twin.agents:
            check(vecenv.final_observations, expected, present)
            expected, _ = twin.reset()
            present = set(twin.agents)
            episodes += 1
        else:
            deaths += int((terminals | truncations).sum())
        check(observations, expected, present)
    vecenv.close()
    twin.close()
    assert episodes > 0
    assert deaths > 0 or not name.startswith("knights")


@pytest.mark.parametrize("game", ["tictactoe_v3", "connect_four_v3"])
def test_games_of_turns_are_refused_in_one_sentence(game):
    module = importlib.import_module(f"pettingzoo.classic.{game}")
    with pytest.raises(APIUsageError, match="agents take turns"):
        PettingZooPufferEnv(module.env())


def test_different_spaces_in_a_real_environment_are_refused():
    simple_tag = pytest.importorskip("mpe2.simple_tag_v3")
    with pytest.raises(APIUsageError, match=r"observation_space: agents \['agent_0'\] differ"):
        PettingZooPufferEnv(simple_tag.parallel_env())


def parallel_of(wrapped):
    """The rows of a wrapped environment as dicts again, for PettingZoo's own test."""
    from pettingzoo import ParallelEnv

    class Rows(ParallelEnv):
        metadata = wrapped.metadata

        def __init__(self):
            self.possible_agents = list(wrapped.possible_agents)
            self.agents = []

        def observation_space(self, agent):
            return wrapped.single_observation_space

        def action_space(self, agent):
            return wrapped.single_action_space

        def by_agent(self, rows, there):
            return {agent: rows[i] for i, agent in enumerate(self.possible_agents) if there[i]}

        def reset(self, seed=None, options=None):
            observations, infos = wrapped.reset(seed, options)
            self.agents = wrapped.agents
            there = wrapped.masks
            return self.by_agent(observations, there), self.infos(infos, there)

        def infos(self, infos, there):
            some = infos[0] if infos else {}
            return {agent: some.get(agent, {}) for agent in self.by_agent(there, there)}

        def step(self, actions):
            *arrays, infos = wrapped.step(actions)
            born = [agent in wrapped.agents for agent in self.possible_agents]
            there = wrapped.masks | born
            self.agents = wrapped.agents
            return (*(self.by_agent(array, there) for array in arrays), self.infos(infos, there))

    return Rows()


@pytest.mark.parametrize("name", [*ENVIRONMENTS, "scripted"])
def test_pettingzoos_own_test_passes_on_the_wrapped_environment(name):
    from pettingzoo.test import parallel_api_test

    lives = {"a": [(0, 4)], "b": [(0, 2)], "c": [(2, 3)], "d": [(0, 4)]}
    env = Scripted(lives) if name == "scripted" else make_env(name)
    parallel_api_test(parallel_of(PettingZooPufferEnv(env)), num_cycles=50)

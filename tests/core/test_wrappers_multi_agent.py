"""Wrappers of environments with several agents."""

import copy

import numpy as np
import pytest
from gymnasium import spaces

from puffer_core.wrappers import (
    MeanOverAgents,
    MultiagentEpisodeStats,
    PettingZooTruncatedWrapper,
    PettingZooWrapper,
)


class Race:
    """Agent k leaves after k steps; only agent 2 has infos."""

    possible_agents = ("1", "2", "3")
    metadata = {"name": "race"}  # noqa: RUF012

    def __init__(self):
        self.resets = []
        self.agents = []
        self.closed = False
        self._private = 1

    def observation_space(self, agent):
        return spaces.Discrete(9)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.resets.append((seed, options))
        self.agents = list(self.possible_agents)
        self.ticks = 0
        return dict.fromkeys(self.agents, 0), {"1": {"a": 1, "b": "text"}, "2": {"a": 2}, "3": None}

    def step(self, actions):
        self.ticks += 1
        acted = self.agents
        self.agents = [agent for agent in acted if int(agent) > self.ticks]
        terminated = {agent: agent not in self.agents for agent in acted}
        rewards = {agent: float(agent) for agent in acted}
        infos = {"2": {"speed": self.ticks, "inner": {"x": np.float32(self.ticks)}}}
        if self.ticks == 1:
            infos["3"] = {"speed": 3, "list": [1], "flag": True, "zero": np.array(0.5)}
        return dict.fromkeys(acted, 0), rewards, terminated, dict.fromkeys(acted, False), infos

    def close(self):
        self.closed = True


def test_the_plain_wrapper_passes_everything_on():
    inner, same = Race(), Race()
    env = PettingZooWrapper(inner)
    assert env.reset(seed=3) == same.reset(seed=3)
    assert env.step({}) == same.step({})
    assert env.agents == ["2", "3"]
    assert env.possible_agents == ("1", "2", "3")
    assert env.metadata == {"name": "race"}
    assert env.observation_space("1") == spaces.Discrete(9)
    assert env.action_space("1") == spaces.Discrete(2)
    assert env.unwrapped is inner
    with pytest.raises(AttributeError, match="_private"):
        _ = env._private
    with pytest.raises(AttributeError, match="nothing"):
        _ = env.nothing
    env.close()
    assert inner.closed
    assert isinstance(copy.deepcopy(env).unwrapped, Race)  # no recursion while env is unset


def test_options_go_on_only_if_there_are_any():
    class NoOptions(Race):
        def reset(self, seed=None):
            return super().reset(seed)

    PettingZooWrapper(NoOptions()).reset(seed=1)
    inner = Race()
    PettingZooWrapper(inner).reset(seed=2, options={"x": 1})
    assert inner.resets == [(2, {"x": 1})]
    with pytest.raises(TypeError, match="options"):  # not retried without them
        PettingZooWrapper(NoOptions()).reset(options={"x": 1})


def test_statistics_of_each_agent_at_its_own_end():
    env = MultiagentEpisodeStats(Race())
    for _ in range(2):
        env.reset()
        infos = [env.step({})[4] for _ in range(3)]
        assert infos[0]["1"] == {"episode_return": 1.0, "episode_length": 1}
        assert infos[1]["2"] == {
            "speed": 2,
            "inner": {"x": 2.0},
            "episode_return": 4.0,
            "episode_length": 2,
        }
        assert infos[2]["3"] == {"episode_return": 9.0, "episode_length": 3}
        assert "episode_return" not in infos[0]["2"]
    env.reset()
    env.step({})
    env.reset()  # unfinished episodes do not count
    assert env.step({})[4]["1"]["episode_return"] == 1.0


def test_an_agent_that_comes_back_begins_anew():
    class Lives(Race):
        def step(self, actions):
            self.ticks += 1
            return {"1": 0}, {"1": 1.0}, {"1": self.ticks % 2 == 0}, {"1": False}, {}

    env = MultiagentEpisodeStats(Lives())
    env.reset()
    infos = [env.step({})[4] for _ in range(4)]
    ended = {"1": {"episode_return": 2.0, "episode_length": 2}}
    assert infos == [{}, ended, {}, ended]


def test_means_over_the_agents_that_have_a_number():
    env = MeanOverAgents(Race())
    assert env.reset()[1] == {"a": 1.5}
    expected = {"speed": 2.0, "inner/x": 1.0, "flag": 1.0, "zero": 0.5}
    assert env.step({})[4] == expected
    assert env.step({})[4] == {"speed": 2.0, "inner/x": 2.0}


def test_wrappers_stack():
    env = MeanOverAgents(MultiagentEpisodeStats(Race()))
    env.reset()
    assert env.step({})[4]["episode_return"] == 1.0
    assert env.unwrapped.ticks == 1


def test_truncated_wrapper_empties_the_first_infos_only():
    env = PettingZooTruncatedWrapper(Race())
    observations, infos = env.reset(seed=4, options={"x": 1})
    assert observations == {"1": 0, "2": 0, "3": 0}
    assert infos == {"1": {}, "2": {}, "3": {}}
    assert env.unwrapped.resets == [(4, {"x": 1})]
    assert env.step({})[4]["2"]["speed"] == 1

"""The checker on environments of PettingZoo's parallel interface."""

import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import PufferEnv, check_env

AGENTS = ["left", "right"]


class Tag:
    """Two agents walk; each leaves outside of [-2, 2]. Nothing is wrong with it."""

    metadata = {"name": "tag_v0"}  # noqa: RUF012
    possible_agents = AGENTS

    def __init__(self):
        self.agents = []

    def observation_space(self, agent):
        return spaces.Box(-3, 3, (1 + (agent == "right"),), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None or not hasattr(self, "rng"):
            self.rng = np.random.default_rng(seed)
        self.agents = list(AGENTS)
        self.positions = {agent: self.rng.uniform(-0.5, 0.5) for agent in AGENTS}
        self.ticks = 0
        return self.observe(AGENTS), {agent: {} for agent in AGENTS}

    def observe(self, agents):
        return {
            agent: np.full(1 + (agent == "right"), self.positions[agent], np.float32)
            for agent in agents
        }

    def step(self, actions):
        if not self.agents:
            raise RuntimeError("call reset() first")
        assert sorted(actions) == sorted(self.agents)
        self.ticks += 1
        for agent, action in actions.items():
            self.positions[agent] += (2 * action - 1) * 0.4
        terminated = {agent: bool(abs(self.positions[agent]) > 2) for agent in actions}
        truncated = {agent: self.ticks >= 30 and not terminated[agent] for agent in actions}
        self.agents = [a for a in actions if not (terminated[a] or truncated[a])]
        rewards = {agent: -abs(self.positions[agent]) / 3 for agent in actions}
        infos = {agent: {} for agent in actions}
        return self.observe(actions), rewards, terminated, truncated, infos

    def close(self):
        pass


def loud(report):
    return {finding.code for finding in report.findings if finding.severity != "note"}


def test_a_sound_environment_has_no_findings():
    report = check_env(Tag, steps=2000)
    assert report.findings == [], str(report)
    assert (report.name, report.kind) == ("tag_v0", "PettingZoo")
    assert report.episodes > 100


class AllDead(Tag):
    def step(self, actions):
        observations, rewards, terminated, truncated, infos = super().step(actions)
        return observations, rewards, {**terminated, "__all__": False}, truncated, infos


class LosesReward(Tag):
    def step(self, actions):
        observations, rewards, *rest = super().step(actions)
        if self.ticks == 9:
            rewards.pop("right", None)
        return (observations, rewards, *rest)


class Undead(Tag):
    def step(self, actions):
        result = super().step(actions)
        if 0 < len(self.agents) < len(actions):
            self.agents = list(actions)
            self.positions = dict.fromkeys(AGENTS, 0.0)
        return result


class OneSpace(Tag):
    def observation_space(self, agent):
        return spaces.Box(-3, 3, (1,), np.float32)


class InfoList(Tag):
    def step(self, actions):
        return (*super().step(actions)[:4], [])


class Raises(Tag):
    def action_space(self, agent):
        raise KeyError(agent)


class Unseeded(Tag):
    def reset(self, seed=None, options=None):
        return super().reset(np.random.SeedSequence().entropy)


class Cycle:
    """The AEC interface."""

    possible_agents = AGENTS

    def agent_iter(self):
        return iter(AGENTS)

    def observation_space(self, agent):
        return spaces.Discrete(2)

    reset = step = last = observe = observation_space


@pytest.mark.parametrize(
    ("cls", "code", "evidence"),
    [
        (AllDead, "agents", "__all__"),
        (LosesReward, "agents", "missing ['right']"),
        (Undead, "agents", "still in agents"),
        (OneSpace, "observation-shape", "expected (1,), got (2,)"),
        (InfoList, "info-type", "got []"),
        (Raises, "exception", "KeyError"),
        (Unseeded, "seed-not-reproducible", "seed 0 twice"),
        (Cycle, "kind", "Cycle"),
    ],
)
def test_a_planted_fault_is_found(cls, code, evidence):
    report = check_env(cls, steps=1000)
    (finding,) = [finding for finding in report.findings if finding.code == code]
    assert finding.severity == "error"
    assert evidence in finding.evidence
    assert loud(report) == {code}, str(report)


def test_of_an_emulated_environment_the_wrapped_one_is_checked():
    class Emulated(PufferEnv):
        emulated = True

        def __init__(self):
            self.single_observation_space = spaces.Box(-3, 3, (2,), np.float32)
            self.single_action_space = spaces.Discrete(2)
            self.num_agents = 2
            self.env = Tag()
            super().__init__()

    report = check_env(Emulated, steps=100)
    assert report.findings == [], str(report)
    assert (report.name, report.kind) == ("tag_v0", "PettingZoo")

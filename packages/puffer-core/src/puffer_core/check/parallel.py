"""A PettingZoo parallel environment under check, known by its attributes alone."""

from __future__ import annotations

import copy
from typing import Any

from puffer_core.check.report import Findings, show
from puffer_core.check.subject import Moment, Subject, form, place, truth
from puffer_core.check.values import check_observation

NAMES = ("observations", "rewards", "terminations", "truncations", "infos")


def is_parallel(env: object) -> bool:
    """Whether an object looks like a parallel environment; AEC ones have no parallel step."""
    has = (hasattr(env, name) for name in ("possible_agents", "observation_space", "step"))
    return all(has) and not hasattr(env, "agent_iter")


class ParallelSubject(Subject):
    """A parallel environment: agents by name, which may come and go."""

    kind = "PettingZoo"

    def __init__(self, env: Any, findings: Findings, action_seed: int) -> None:
        super().__init__(findings)
        self.env = env
        self.name = str(getattr(env, "metadata", {}).get("name") or type(env).__name__)
        agents = list(env.possible_agents)
        self.spaces = {
            agent: self.call("observation_space", env.observation_space, agent) for agent in agents
        }
        self._actions = {}
        for index, agent in enumerate(agents):
            space = copy.deepcopy(self.call("action_space", env.action_space, agent))
            space.seed(action_seed + index)
            self._actions[agent] = space
        self._live: list[str] = []
        self.over = True

    def reset(self, seed: int | None) -> Moment:
        """Begin an episode, and check the form of the result."""
        arguments = {} if seed is None else {"seed": seed}
        result = self.call("reset", self.env.reset, **arguments)
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], dict)):
            raise self.unusable("reset-return", f"got {form(result)}")
        if not isinstance(result[1], dict):
            self.findings.add("info-type", f"got {show(result[1])}", "info", self.steps)
        self._live = list(self.env.agents)
        self.over = not self._live
        self._check_agents({"observations": result[0]}, self._live)
        return Moment(result[0], {}, {}, {})

    def step(self, actions: Any) -> Moment:
        """Take one step of the living agents, and check the form of the result."""
        acted = self._live
        given = {agent: actions[agent] for agent in acted}
        result = self.call("step", self.env.step, given)
        self.steps += 1
        if not (
            isinstance(result, tuple)
            and len(result) == 5
            and all(isinstance(part, dict) for part in result[:4])
        ):
            raise self.unusable("step-return", f"got {form(result)}")
        observations, rewards, terminated, truncated, infos = result
        if not isinstance(infos, dict):
            self.findings.add("info-type", f"got {show(infos)}", "info", self.steps)
        self._live = list(self.env.agents)
        self._check_agents(dict(zip(NAMES[:4], result, strict=False)), acted)
        self._check_left_over(acted, terminated, truncated)
        self.over = not self._live
        known = self.spaces.keys()
        parts = (observations, rewards, terminated, truncated)
        return Moment(*({a: v for a, v in part.items() if a in known} for part in parts))

    def sample(self) -> Any:
        """Actions of all possible agents, dead or not, so that streams stay in step."""
        return {agent: space.sample() for agent, space in self._actions.items()}

    def inspect(self, moment: Moment, path: str = "") -> None:
        """Compare every agent's observation with its space."""
        for agent, value in moment.observations.items():
            where = place(agent, "observation")
            check_observation(self.spaces[agent], value, where, self.findings, self.steps)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _check_agents(self, parts: dict[str, dict[str, Any]], acted: list[str]) -> None:
        for name, part in parts.items():
            unknown = sorted(map(str, part.keys() - self.spaces.keys()))
            missing = sorted(set(acted) - part.keys())
            if unknown:
                evidence = f"unknown {unknown}; possible are {sorted(self.spaces)}"
                self.findings.add("agents", evidence, name, self.steps)
            if missing:
                self.findings.add("agents", f"missing {missing}", name, self.steps)

    def _check_left_over(
        self, acted: list[str], terminated: dict[str, Any], truncated: dict[str, Any]
    ) -> None:
        """An agent whose flag is set must have left `agents`."""
        for agent in acted:
            flag = truth(terminated.get(agent, False)) or truth(truncated.get(agent, False))
            if flag and agent in self._live:
                evidence = f"{agent} has ended, but is still in agents"
                self.findings.add("agents", evidence, "agents", self.steps)

"""PettingZooPufferEnv: rows, births, deaths, masks, and refusals, on scripted agents."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from toy_agents import BOX, Scripted

from puffer_core import APIUsageError, InvalidAgentError, PettingZooPufferEnv, PufferEnv, buffers

LIVES = {
    "stays": [(0, 6)],
    "dies": [(0, 2)],
    "late": [(2, 5)],
    "reborn": [(0, 1), (3, 6)],
    "never": [],
}


def expected_rows(lives, step):
    """(observation, reward, terminal, truncation, mask) of every row, read from the script."""
    rows = []
    for index, spans in enumerate(lives.values()):
        acted = any(b < step <= e for b, e in spans)
        born = any(b == step for b, _ in spans)
        ends = any(e == step for _, e in spans) and acted
        seen = [index, step] if acted or born else [0, 0]
        reward = 10 * index + step if acted and step else 0
        odd = step % 2 == 1
        rows.append((seen, reward, ends and odd, ends and not odd, acted or (born and step == 0)))
    return rows


def got_rows(env):
    return list(
        zip(
            env.observations.tolist(),
            env.rewards.tolist(),
            env.terminals.tolist(),
            env.truncations.tolist(),
            env.masks.tolist(),
            strict=True,
        )
    )


def test_rows_follow_the_script_from_birth_to_death():
    script = Scripted(LIVES)
    env = PettingZooPufferEnv(script)
    for _ in range(2):
        env.reset()
        assert got_rows(env) == expected_rows(LIVES, 0)
        for step in range(1, 7):
            assert env.agents == script.listed(step - 1)
            actions = np.arange(5) + step
            _, _, terminals, truncations, infos = env.step(actions)
            assert got_rows(env) == expected_rows(LIVES, step), step
            assert script.received[-1] == {
                a: i + step + 5 for i, a in enumerate(LIVES) if a in script.listed(step - 1)
            }
            for row in np.flatnonzero(terminals | truncations):
                assert env.final_observations[row].tolist() == [row, step]
            ended = {
                a: {"last": step} for a, lives in LIVES.items() if step in dict(lives).values()
            }
            assert infos == ([ended] if ended else [])
            assert env.done == (step == 6)
    assert isinstance(env, PufferEnv)


def test_everybody_dead_at_once():
    env = PettingZooPufferEnv(Scripted({"a": [(0, 3)], "b": [(0, 3)]}))
    env.reset()
    for step in range(1, 4):
        assert not env.done
        env.step([0, 0])
        assert env.masks.tolist() == [True, True]
        assert env.terminals.tolist() == [step == 3] * 2
    assert env.done
    with pytest.raises(APIUsageError, match="episode is over"):
        env.step([0, 0])


def test_a_step_before_reset_is_refused():
    with pytest.raises(APIUsageError, match=r"reset\(\) first"):
        PettingZooPufferEnv(Scripted(LIVES)).step(np.zeros(5, int))


def test_a_dict_of_actions():
    script = Scripted({"a": [(0, 9)], "b": [(0, 1)], "c": [(0, 9)]})
    env = PettingZooPufferEnv(script)
    env.reset()
    env.step({"c": 3, "a": 1, "b": 2})
    assert script.received[-1] == {"a": 6, "b": 7, "c": 8}
    env.step({"c": 3, "a": 1, "b": None})  # a dead agent's action
    env.step({"c": 3, "a": 1, "b": 99})
    env.step({"c": 3, "a": 1})
    assert script.received[-1] == {"a": 6, "c": 8}
    with pytest.raises(InvalidAgentError, match=r"unknown agent 'd' in actions; known: \['a', 'b'"):
        env.step({"a": 0, "c": 0, "d": 0})
    for wrong in ({"a": 0}, {"a": 0, "c": None}):
        with pytest.raises(APIUsageError, match=r"no action for the living agents \['c'\]"):
            env.step(wrong)
    for wrong in (np.zeros(2, int), 3, np.zeros((2, 1), int)):
        with pytest.raises(APIUsageError, match="each of the 3 possible agents"):
            env.step(wrong)
    with pytest.raises(APIUsageError, match="action: expected 0 to"):
        env.step([0, 0, 100])
    env.step([0, 100, 0])  # the dead one's action has no effect, whatever it is


def test_both_parents_of_the_invalid_agent_error():
    assert issubclass(InvalidAgentError, (APIUsageError, ValueError))
    assert issubclass(InvalidAgentError, ValueError)
    assert InvalidAgentError("x", ["a"]).message == "unknown agent 'x'; known: ['a']."


def test_seeds_options_and_signatures():
    script = Scripted({"a": [(0, 9)]})
    env = PettingZooPufferEnv(script, seed=9)
    env.reset()
    env.reset()
    env.reset(3, options={"x": 1})
    assert script.resets == [(9, None), (None, None), (3, {"x": 1})]

    class OnlySeed(Scripted):
        def reset(self, seed=None):
            return super().reset(seed)

    PettingZooPufferEnv(OnlySeed({"a": [(0, 9)]})).reset(seed=1)


class Wrong(Scripted):
    """Changes one of the results."""

    def __init__(self, change, **kwargs):
        super().__init__({"a": [(0, 3)], "b": [(0, 3)]}, **kwargs)
        self.change = change

    def step(self, actions):
        result = [dict(part) for part in super().step(actions)]
        changed = self.change(*result)
        return tuple(result) if changed is None else changed


NAMES = ["observations", "rewards", "terminations", "truncations"]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("agent", ["__all__", "z", 7])
def test_unknown_agents_are_named(part, agent):
    env = PettingZooPufferEnv(Wrong(lambda *parts: parts[part].update({agent: True})))
    env.reset()
    words = rf"unknown agent {agent!r} in {NAMES[part]}; known: \['a', 'b'\]"
    with pytest.raises(InvalidAgentError, match=words):
        env.step([0, 0])


@pytest.mark.parametrize("part", range(4))
def test_missing_agents_are_named(part):
    env = PettingZooPufferEnv(Wrong(lambda *parts: [parts[part].pop("b")].clear()))
    env.reset()
    with pytest.raises(APIUsageError, match=f"{NAMES[part]}: no value for agent 'b'"):
        env.step([0, 0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda o, r, *_: r.update(a="much"), r"rewards\['a'\]: expected one number"),
        (lambda o, r, t, c, i: t.update(b=None), r"terminations\['b'\]: expected True or False"),
        (lambda o, r, t, c, i: c.update(b="no"), r"truncations\['b'\]: expected True or False"),
        (lambda o, *_: o.update(b=np.zeros(3)), r"agent 'b': observation: expected shape"),
        (lambda o, *_: o.update(a=[1e300, 0]), r"agent 'a': observation: expected float32"),
        (lambda *parts: parts[:4], "got a tuple of 4"),
        (lambda o, r, t, c, i: (o, r, t, c, None), "infos: expected a dict by agent, got None"),
        (lambda o, r, t, c, i: (o, [1, 2], t, c, i), "unknown agent 1 in rewards"),
        (lambda o, r, t, c, i: (o, 1.0, t, c, i), "rewards: expected a dict by agent, got 1.0"),
    ],
)
def test_wrong_results_are_named(change, words):
    env = PettingZooPufferEnv(Wrong(change))
    env.reset()
    with pytest.raises(APIUsageError, match=words):
        env.step([0, 0])


def test_infos_may_hold_anything():
    env = PettingZooPufferEnv(Wrong(lambda o, r, t, c, i: i.update(a={"x": object()}, __all__=3)))
    env.reset()
    (info,) = env.step([0, 0])[4]
    assert set(info) == {"a", "__all__"}


def test_an_unknown_agent_in_the_list_or_at_reset_is_named():
    script = Scripted({"a": [(0, 3)]})
    script.listed = lambda step: ["a", "ghost"]
    script.possible_agents = ["a"]
    script.observation = lambda agent: np.zeros(2, np.float32)
    with pytest.raises(InvalidAgentError, match=r"unknown agent 'ghost' in observations"):
        PettingZooPufferEnv(script).reset()
    script.reset = lambda seed=None: ({"a": np.zeros(2)}, {})
    script.agents = ["a", "ghost"]
    with pytest.raises(InvalidAgentError, match=r"unknown agent 'ghost' in env.agents"):
        PettingZooPufferEnv(script).reset()
    script.reset = lambda seed=None: {"a": np.zeros(2)}
    with pytest.raises(APIUsageError, match=r"reset: expected \(observations, infos\)"):
        PettingZooPufferEnv(script).reset()
    script.reset = lambda seed=None: ({}, {})
    script.agents = ["a"]
    with pytest.raises(APIUsageError, match="observations: no value for agent 'a'"):
        PettingZooPufferEnv(script).reset()
    script.agents = []
    with pytest.raises(APIUsageError, match=r"env.agents is empty"):
        PettingZooPufferEnv(script).reset()


def test_an_agent_that_leaves_without_a_flag_is_named():
    script = Wrong(lambda o, r, t, c, i: script.agents.remove("b"))
    env = PettingZooPufferEnv(script)
    env.reset()
    with pytest.raises(APIUsageError, match=r"agents \['b'\] left env.agents without"):
        env.step([0, 0])


def test_an_ended_agent_that_stays_listed_has_ended():
    """Environments that never empty `agents` would otherwise be stepped for ever."""
    listed = {"a": [(0, 2)], "b": [(0, 4)]}
    script = Scripted(listed)
    script.listed = lambda step: ["a", "b"]
    step = script.step

    def stays(actions):
        script.agents = list(actions)
        observations, rewards, terminals, truncations, infos = step(actions)
        for agent, lives in listed.items():
            truncations[agent] = script.now >= lives[0][1]
        return observations, rewards, terminals, truncations, infos

    script.step = stays
    env = PettingZooPufferEnv(script)
    env.reset()
    seen = []
    for _ in range(4):
        assert not env.done
        env.step([0, 0])
        seen.append((env.masks.tolist(), env.truncations.tolist()))
    assert seen == [
        ([True, True], [False, False]),
        ([True, True], [True, False]),
        ([False, True], [False, False]),
        ([False, True], [False, True]),
    ]
    assert env.done


def test_environments_that_reuse_their_observation_object():
    class Reuses(Scripted):
        array = np.zeros(2, np.float32)

        def observation(self, agent):
            self.array[:] = 1, self.now
            return self.array

    env = PettingZooPufferEnv(Reuses({"a": [(0, 9)]}))
    env.reset()
    kept = env.observations.copy()
    env.step([0])
    assert kept.tolist() == [[1, 0]]
    assert env.observations.tolist() == [[1, 1]]


def test_different_spaces_are_refused_with_the_agents_named():
    script = Scripted({"a": [], "b": [], "c": []})
    script.observation_space = lambda agent: spaces.Box(0, 1, (2 + (agent == "b"),))
    words = r"observation_space: agents \['b'\] differ from 'a': 'b' has Box.*3.*supersuit"
    with pytest.raises(APIUsageError, match=words):
        PettingZooPufferEnv(script)
    script = Scripted({"a": [], "b": [], "c": []})
    script.action_space = lambda agent: spaces.MultiDiscrete([2] * (2 + (agent == "b")))
    with pytest.raises(APIUsageError, match=r"action_space: agents \['b'\] differ from 'a'"):
        PettingZooPufferEnv(script)
    script.action_space = lambda agent: spaces.Discrete(2 + (agent == "c"))
    with pytest.raises(APIUsageError, match=r"action_space: agents \['c'\] differ from 'a'"):
        PettingZooPufferEnv(script)


def test_nested_spaces_of_agents():
    nested = spaces.Dict(x=spaces.Box(0, 9, (), np.float32), n=spaces.Discrete(9))
    choice = spaces.Dict(go=spaces.Discrete(3, start=1), fire=spaces.MultiBinary(2))
    script = Scripted({"a": [(0, 9)], "b": [(0, 9)]}, nested, choice)
    script.observation = lambda agent: {"n": script.possible_agents.index(agent), "x": script.now}
    env = PettingZooPufferEnv(script)
    assert env.single_observation_space == spaces.Box(0, 255, (8,), np.uint8)
    assert env.single_action_space == spaces.MultiDiscrete([2, 2, 3])
    env.reset()
    env.step(np.array([[1, 0, 2], [0, 1, 0]]))
    assert env.obs_struct["n"].tolist() == [0, 1]
    assert env.obs_struct["x"].tolist() == [1, 1]
    actions = script.received[-1]
    assert all(choice.contains(action) for action in actions.values())
    assert (actions["a"]["go"], actions["b"]["fire"].tolist()) == (3, [0, 1])
    with pytest.raises(APIUsageError, match=r'observation\["n"\]: Sequence'):
        PettingZooPufferEnv(Scripted({"a": []}, spaces.Dict(n=spaces.Sequence(BOX))))


class Turns:
    """Enough of the AEC API to be recognised."""

    metadata = {"name": "turns"}  # noqa: RUF012
    possible_agents = ("a",)
    reset = step = observation_space = action_space = agent_iter = lambda self: None

    def __str__(self):
        return "turns"


def test_an_aec_environment_that_takes_turns_is_refused_in_one_sentence():
    with pytest.raises(APIUsageError, match="turns is an AEC environment whose agents take turns"):
        PettingZooPufferEnv(Turns())


def test_construction():
    script = Scripted(LIVES)
    env = PettingZooPufferEnv(env_creator=lambda a, b: script, env_args=[1], env_kwargs={"b": 2})
    assert env.env is script
    assert (env.num_agents, env.possible_agents) == (5, tuple(LIVES))
    assert env.render() == "picture"
    assert env.render_mode is None
    assert env.metadata == script.metadata
    env.close()
    assert script.closed
    nobody = Scripted({})
    twice = Scripted({"a": []})
    twice.possible_agents = ["a", "a"]
    for wrong, words in (
        ({}, "exactly one"),
        ({"env": script, "env_creator": Scripted}, "exactly one"),
        ({"env": Scripted}, "a class"),
        ({"env": 3}, "got 3"),
        ({"env_creator": 3}, "callable"),
        ({"env": gymnasium.make("CartPole-v1")}, "GymnasiumPufferEnv"),
        ({"env": nobody}, "no possible_agents"),
        ({"env": twice}, "twice"),
    ):
        with pytest.raises(APIUsageError, match=words):
            PettingZooPufferEnv(**wrong)


def test_writes_into_given_buffers_and_leaves_the_environment_alone():
    script = Scripted(LIVES)
    before = dict(vars(script))
    probe = PettingZooPufferEnv(script)
    fields = buffers.layout(probe.single_observation_space, probe.single_action_space, 5)
    buf = buffers.allocate(fields)
    env = PettingZooPufferEnv(script, buf=buf)
    assert vars(script) == before
    env.reset()
    assert buf["observations"].tolist() == [row[0] for row in expected_rows(LIVES, 0)]
    assert buf["masks"].tolist() == [True, True, False, True, False]


def test_strict_bounds_name_the_agent():
    space = spaces.Box(0, 2, (2,), np.float32)
    env = PettingZooPufferEnv(Scripted({"a": [(0, 9)]}, space), strict=True)
    env.reset()
    env.step([0])
    env.step([0])
    with pytest.raises(APIUsageError, match=r"agent 'a': observation: .* got 3.0 at \(1,\)"):
        env.step([0])


def test_importing_does_not_import_pettingzoo():
    code = "import sys, puffer_core, puffer_core.pettingzoo; print('pettingzoo' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert result.stdout.strip() == b"False"

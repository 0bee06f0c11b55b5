"""Agents that end alone, restart alone, or come late: flags, masks, rows, statistics, on paper."""

import numpy as np
import pytest
from c_sources import BORN, DYING, REBORN

from puffer_ocean import OceanEnv

ACTIONS = np.zeros((3, 2), np.int32)


def columns(env, infos):
    (info,) = infos
    names = ("agent_id", "episode_return", "episode_length", "ticks")
    return [info[name].tolist() for name in names]


def test_an_agent_that_ended_is_dead_until_the_environment_ends(install):
    """Lives of 2, 3 and 5 steps. Observations: 100 * resets + tick, 10 * (agent + 1) + age."""
    install("lives", DYING)
    env = OceanEnv("lives")
    assert env.reset()[0].tolist() == [[100, 10], [100, 20], [100, 30]]
    assert env.masks.tolist() == [True] * 3

    env.step(ACTIONS)
    assert env.observations.tolist() == [[101, 11], [101, 21], [101, 31]]

    infos = env.step(ACTIONS)[-1]  # agent 0 ends: this step still counts
    assert env.terminals.tolist() == [True, False, False]
    assert env.masks.tolist() == [True] * 3
    assert env.rewards.tolist() == [1, 1, 1]
    assert env.observations.tolist() == [[102, 12], [102, 22], [102, 32]]
    assert env.final_observations[0].tolist() == [102, 12]
    assert columns(env, infos) == [[0], [2], [2], [2]]

    infos = env.step(ACTIONS)[-1]  # agent 0 is dead, agent 1 ends
    assert env.masks.tolist() == [False, True, True]
    assert env.rewards.tolist() == [0, 1, 1]
    assert env.terminals.tolist() == [False, True, False]
    assert env.observations.tolist() == [[0, 0], [103, 23], [103, 33]]
    assert env.action_masks[0].all()
    assert columns(env, infos) == [[1], [3], [3], [3]]

    assert env.step(ACTIONS)[-1] == []
    assert env.masks.tolist() == [False, False, True]
    assert env.observations.tolist() == [[0, 0], [0, 0], [104, 34]]

    infos = env.step(ACTIONS)[-1]  # the last one ends: all begin anew
    assert env.terminals.tolist() == [False, False, True]
    assert env.masks.tolist() == [False, False, True]  # who acted in this step
    assert env.final_observations[2].tolist() == [105, 35]
    assert env.observations.tolist() == [[200, 10], [200, 20], [200, 30]]
    assert columns(env, infos) == [[2], [5], [5], [5]]

    env.step(ACTIONS)
    assert env.masks.tolist() == [True] * 3
    assert env.rewards.tolist() == [1, 1, 1]


def test_an_agent_that_ended_restarts_alone(install):
    install("lives", REBORN)
    env = OceanEnv("lives")
    env.reset()
    env.step(ACTIONS)
    infos = env.step(ACTIONS)[-1]
    assert env.terminals.tolist() == [True, False, False]
    assert env.final_observations[0].tolist() == [102, 12]
    assert env.observations.tolist() == [[102, 10], [102, 22], [102, 32]]
    assert columns(env, infos) == [[0], [2], [2], [2]]
    env.step(ACTIONS)
    assert env.observations.tolist() == [[103, 11], [103, 20], [103, 33]]
    assert env.masks.tolist() == [True] * 3
    assert env.rewards.tolist() == [1, 1, 1]
    infos = env.step(ACTIONS)[-1]
    assert columns(env, infos) == [[0], [2], [2], [4]]  # its second episode, of its own length
    ends = []
    for t in range(5, 31):
        env.step(ACTIONS)
        assert env.masks.all()
        ends.append(env.terminals.tolist())
        if t < 30:
            assert ends[-1] == [t % 2 == 0, t % 3 == 0, t % 5 == 0]
    assert ends[-1] == [True] * 3  # step 30 ends all three: the environment begins anew
    assert env.observations.tolist() == [[200, 10], [200, 20], [200, 30]]


@pytest.mark.parametrize("source", [DYING, REBORN])
def test_truncation_counts_the_steps_of_each_agent(install, source):
    install("lives", source)
    env = OceanEnv("lives", max_steps=4)
    env.reset()
    for _ in range(3):
        env.step(ACTIONS)
    infos = env.step(ACTIONS)[-1]
    reborn = source is REBORN
    assert env.truncations.tolist() == [False, False, True]  # four steps of agent 2
    assert env.terminals.tolist() == [reborn, False, False]
    assert columns(env, infos)[2] == ([2, 4] if reborn else [4])
    expected = [[104, 10], [104, 21], [104, 30]] if reborn else [[200, 10], [200, 20], [200, 30]]
    assert env.observations.tolist() == expected


def test_a_terminal_at_the_limit_is_a_terminal(install):
    install("lives", DYING)
    env = OceanEnv("lives", max_steps=2, first=2, second=2, third=2)
    env.reset()
    env.step(ACTIONS)
    env.step(ACTIONS)
    assert env.terminals.all()
    assert not env.truncations.any()


def test_a_reset_revives_the_dead(install):
    install("lives", DYING)
    env = OceanEnv("lives", 2)
    env.reset()
    for _ in range(3):
        env.step(np.tile(ACTIONS, (2, 1)))
    assert env.masks.tolist() == [False, True, True] * 2
    env.reset()
    assert env.masks.all()
    env.step(np.tile(ACTIONS, (2, 1)))
    assert env.masks.all()
    assert env.rewards.tolist() == [1] * 6


def test_an_agent_that_comes_late(install):
    install("born", BORN)
    env = OceanEnv("born", birth=3)
    actions = np.zeros((2, 1), np.float32)
    assert env.reset()[0].tolist() == [[10], [0]]
    env.step(actions)
    assert (env.masks.tolist(), env.rewards.tolist()) == ([True, False], [1, 0])
    env.step(actions)  # its first observation; it acts from the next step on
    assert (env.masks.tolist(), env.observations.tolist()) == ([True, False], [[12], [22]])
    env.step(actions)
    assert (env.masks.tolist(), env.rewards.tolist()) == ([True, True], [1, 1])
    infos = env.step(actions)[-1]
    assert env.terminals.tolist() == [True, True]
    assert infos[0]["episode_length"].tolist() == [4, 2]
    assert infos[0]["episode_return"].tolist() == [4, 2]
    assert env.observations.tolist() == [[10], [0]]


def test_flags_of_an_agent_that_is_not_there_mean_nothing(install):
    """Agent 1 never comes; the episode ends with agent 0."""
    install("born", BORN)
    env = OceanEnv("born", birth=50)
    env.reset()
    for t in range(1, 9):
        infos = env.step(np.zeros((2, 1), np.float32))[-1]
        assert env.terminals.tolist() == [t % 4 == 0, False]
        assert env.observations[0, 0] == 10 + t % 4
    assert infos[0]["agent_id"].tolist() == [0]


@pytest.mark.parametrize("source", [DYING, REBORN])
def test_lives_are_saved_and_restored(install, source):
    install("lives", source)

    def play(env, steps):
        seen = []
        for _ in range(steps):
            env.step(np.zeros((9, 2), np.int32))
            arrays = (env.observations, env.rewards, env.terminals, env.masks, env.action_masks)
            seen += [array.tobytes() for array in arrays]
        return seen

    env = OceanEnv("lives", 3)
    env.reset()
    play(env, 3)
    state = env.get_state()
    expected = play(env, 20)
    other = OceanEnv("lives", 3, num_threads=2)
    other.set_state(state)
    assert play(other, 20) == expected

"""Connect Four: whole games beside PettingZoo's, the ends on paper, and the script's moves."""

import warnings

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

WAIT = 7


def peer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.classic import connect_four_v3
    return connect_four_v3.env()


def play(env, columns):
    """Drop stones turn by turn; the infos of the last."""
    for column in columns:
        mover = c_state(env).mover
        infos = env.step(np.where(np.arange(2) == mover, column, WAIT))[-1]
    return infos


def game(first=0):
    env = OceanEnv("connect4", 1, opponent="self")
    env.reset(seed=0)
    while c_state(env).mover != first:
        env.reset()
    return env


def test_games_beside_pettingzoo():
    generator = np.random.default_rng(0)
    results = set()
    for _ in range(150):
        env, other = game(), peer()
        other.reset()
        ended = False
        while not ended:
            mover = c_state(env).mover
            seen = other.observe(other.agent_selection)
            planes = env.observations[mover, :84].reshape(2, 6, 7).transpose(1, 2, 0)
            assert (planes == seen["observation"]).all()
            assert (env.action_masks[mover, :7] == seen["action_mask"]).all()
            assert env.observations[:, 84].tolist() == [mover == 0, mover == 1]
            assert env.action_masks[1 - mover].tolist() == [False] * 7 + [True]
            column = generator.choice(np.flatnonzero(seen["action_mask"]))
            play(env, [column])
            other.step(int(column))
            ended = bool(env.terminals[0])
            assert ended == other.terminations["player_0"]
            expected = [other.rewards["player_0"], other.rewards["player_1"]]
            assert env.rewards.tolist() == expected
        results.add(tuple(expected))
    assert {(1, -1), (-1, 1)} <= results


FULL = [0, 1] * 3 + [1, 0] * 3 + [2, 3] * 3 + [3, 2] * 3 + [4, 5] * 3 + [5, 4] * 3


@pytest.mark.parametrize(
    ("columns", "wins"),
    [
        ([0, 6, 0, 6, 0, 6, 0], True),  # upright
        ([0, 0, 1, 1, 2, 2, 3], True),  # level
        ([0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3], True),  # rising
        ([6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3], True),  # falling
        # level across the edge: columns 5, 6 of one row and 0, 1 of the next are no four
        ([5, 0, 6, 1, 3, 3, 0, 4, 1], False),
    ],
)
def test_four_in_a_row(columns, wins):
    env = game()
    assert play(env, columns[:-1]) == []
    infos = play(env, columns[-1:])
    assert env.rewards.tolist() == ([1, -1] if wins else [0, 0])
    assert env.terminals.tolist() == [wins, wins]
    if wins:
        assert infos[0]["perf"].tolist() == [1, 0]
        assert infos[0]["episode_length"].tolist() == [len(columns)] * 2
        assert not env.observations[:, :84].any()  # the next game


def test_the_last_cell_draws():
    """Both colours alternate by pairs of three rows, column by column, and column 6 fills up."""
    env = game()
    infos = play(env, [*FULL, *[6] * 6])
    assert env.rewards.tolist() == [0, 0]
    assert infos[0]["score"].tolist() == [0.5, 0.5]
    assert infos[0]["episode_length"].tolist() == [42, 42]
    assert env.final_observations[:, :84].sum() == 84


def test_a_full_column_stands_for_the_next():
    env = game()
    play(env, [6, 6, 6, 6, 6, 6])
    assert env.action_masks[0].tolist() == [True] * 6 + [False] * 2
    play(env, [6])
    assert list(c_state(env).height) == [1, 0, 0, 0, 0, 0, 6]


def scripted(stones, strength=1.0):
    """The agent's move into the last of `stones`, and the column that the script answers with."""
    env = OceanEnv("connect4", 1, strength=strength)
    env.reset(seed=4)
    while c_state(env).plies:
        env.reset()
    state = c_state(env)
    for player, column in stones[:-1]:
        state.stones[player] |= 1 << (7 * column + state.height[column])
        state.height[column] += 1
        state.plies += 1
    before = list(state.height)
    before[stones[-1][1]] += 1
    env.step(np.array([stones[-1][1]]))
    if env.terminals[0]:
        return env, None
    answer = [a - b for a, b in zip(c_state(env).height, before, strict=True)]
    return env, answer.index(1)


def test_the_script_stops_a_win():
    _, answer = scripted([(0, 0), (0, 0), (0, 0)])
    assert answer == 0


def test_the_script_wins_rather_than_stops():
    env, _ = scripted([(1, 6), (1, 6), (1, 6), (0, 0), (0, 0), (0, 0)])
    assert env.terminals[0]
    assert env.rewards[0] == -1


def test_the_script_makes_no_gift():
    """The agent's row of three lies on height 1; a stone below its open end would help it."""
    stones = [(1, 0), (0, 1), (1, 2), (0, 0), (0, 1), (0, 2), (1, 6)]
    for column in (4, 5, 6):
        _, answer = scripted([*stones, (0, column)])
        assert answer != 3


def test_strength_decides():
    """A random answer hits one column of seven, a thinking one the only stop."""
    answers = []
    for strength in (0.0, 1.0):
        env = OceanEnv("connect4", 700, strength=strength)
        env.reset(seed=1)
        for i in range(700):
            state = c_state(env, i)
            state.stones[0], state.stones[1] = 0b11, 0  # two in column 0
            for column in range(7):
                state.height[column] = 2 if column == 0 else 0
        env.step(np.zeros(700, np.int32))
        answers.append(sum(c_state(env, i).height[0] == 4 for i in range(700)))
    assert answers[1] == 700
    assert 60 <= answers[0] <= 140  # 100 on average, standard deviation 9.3


def test_both_begin_equally_often():
    env = OceanEnv("connect4", 1000)
    observations, _ = env.reset(seed=2)
    began = int((observations[:, :84].sum(1) == 0).sum())
    assert 420 <= began <= 580  # 500, standard deviation 16

"""Trash pickup: its rules on paper, and what holds in the yard at any time."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

UP, DOWN, LEFT, RIGHT = range(4)
TRASH, EMPTY, OBSTACLE = 1, 0, -1


def number(s, vision, row, column):
    return (row + vision) * s.pitch + column + vision


def world(agents, trash=(), bins=((2, 2),), pieces=9, **arguments):
    """An environment of 12 x 12 cells with what is given by (row, column); its State."""
    vision = arguments.setdefault("vision", 2)
    numbers = {"num_agents": len(agents), "num_trash": pieces, "num_bins": len(bins)}
    env = OceanEnv("trash_pickup", 1, width=12, height=12, **numbers, **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for row in range(12):
        for column in range(12):
            cell = number(s, vision, row, column)
            s.board[cell], s.trash[cell] = EMPTY, False
    for place in trash:
        cell = number(s, vision, *place)
        s.board[cell], s.trash[cell] = TRASH, True
    for k, place in enumerate(bins):
        s.bins[k] = number(s, vision, *place)
        s.board[s.bins[k]] = OBSTACLE
    for i, place in enumerate(agents):
        s.agents[i] = number(s, vision, *place)
        s.board[s.agents[i]] = OBSTACLE
    return env, s


def places(s, env, vision=2):
    cells = [s.agents[i] for i in range(env.num_agents)]
    return [(cell // s.pitch - vision, cell % s.pitch - vision) for cell in cells]


def step(env, *actions):
    return env.step(np.array(actions, np.int32))


@pytest.mark.parametrize(
    ("action", "place"), [(UP, (5, 6)), (DOWN, (7, 6)), (LEFT, (6, 5)), (RIGHT, (6, 7))]
)
def test_an_agent_moves(action, place):
    env, s = world([(6, 6)])
    step(env, action)
    assert places(s, env) == [place]


@pytest.mark.parametrize(
    ("start", "action"), [((0, 5), UP), ((11, 5), DOWN), ((5, 0), LEFT), ((5, 11), RIGHT)]
)
def test_the_edge_is_in_the_way(start, action):
    env, s = world([start])
    step(env, action)
    assert places(s, env) == [start]


def test_agents_are_in_each_others_way_in_their_order():
    env, s = world([(6, 6), (6, 7)])
    step(env, RIGHT, RIGHT)  # the first meets the second, which then goes
    assert places(s, env) == [(6, 6), (6, 8)]
    env, s = world([(6, 7), (6, 6)])
    step(env, RIGHT, RIGHT)
    assert places(s, env) == [(6, 8), (6, 7)]


def test_free_hands_pick_up_and_full_ones_do_not():
    env, s = world([(6, 6)], trash=[(6, 7), (6, 8)], reward_pickup=0.5)
    assert step(env, RIGHT)[1].tolist() == [0.5]
    assert (s.carries[0], s.trash[number(s, 2, 6, 7)]) == (True, False)
    assert step(env, RIGHT)[1].tolist() == [0]
    assert s.trash[number(s, 2, 6, 8)]
    step(env, RIGHT)
    assert s.board[number(s, 2, 6, 8)] == TRASH  # it still lies there
    assert s.board[number(s, 2, 6, 7)] == EMPTY


def test_a_bin_takes_what_an_agent_carries():
    env, s = world([(2, 3), (8, 8)], trash=[(2, 4)], reward_deliver=0.75)
    assert step(env, LEFT, UP)[1].tolist() == [0, 0]  # nothing in hand
    assert places(s, env)[0] == (2, 3)
    step(env, RIGHT, UP)
    step(env, LEFT, UP)
    assert step(env, LEFT, UP)[1].tolist() == [0.75, 0]
    assert places(s, env)[0] == (2, 3)
    assert (s.carries[0], s.delivered, list(s.scores)[:2]) == (False, 1, [1, 0])
    assert step(env, LEFT, UP)[1].tolist() == [0, 0]


def test_the_last_piece_ends_the_episode_for_all():
    env, s = world([(2, 3), (8, 8)], pieces=4, reward_pickup=0)
    s.carries[0], s.delivered, s.scores[0], s.scores[1] = True, 3, 1, 2
    _, rewards, terminals, truncations, infos = step(env, LEFT, UP)
    assert rewards.tolist() == [1, 0]
    assert terminals.tolist() == [True, True]
    assert truncations.tolist() == [False, False]
    assert infos[0]["score"].tolist() == [2, 2]
    assert infos[0]["perf"].tolist() == [1, 1]


def test_time_ends_it_with_the_share_that_was_delivered():
    env, s = world([(2, 3), (8, 8)], pieces=4, max_steps=1)
    s.carries[0] = True
    _, _, terminals, truncations, infos = step(env, LEFT, UP)
    assert terminals.tolist() == [False, False]
    assert truncations.tolist() == [True, True]
    assert infos[0]["perf"].tolist() == [0.25, 0.25]


def test_the_observation_is_the_square_round_the_agent():
    env, _ = world([(1, 5), (1, 7)], trash=[(0, 4), (3, 6), (1, 6)], bins=[(2, 4)])
    step(env, RIGHT, UP)  # onto the trash at (1, 6); the other goes to (0, 7)
    expected = [
        [-1, -1, -1, -1, -1],  # beyond the edge
        [1, 0, 0, -1, 0],
        [0, 0, -1, 0, 0],
        [-1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
    ]
    assert env.observations[0, :25].reshape(5, 5).tolist() == expected
    assert env.observations[0, 25:].tolist() == [1, 1, -1]  # carries; the bin: below, left
    assert env.observations[1, 25:].tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("place", "below", "right"),  # before a step up; bins at (2, 2) and (9, 9)
    [((6, 2), -1, 0), ((3, 5), 0, -1), ((8, 9), 1, 0), ((8, 8), 1, 1), ((5, 3), -1, -1)],
)
def test_the_nearest_bin(place, below, right):
    env, _ = world([place], bins=[(2, 2), (9, 9)])
    step(env, UP)
    assert env.observations[0, -2:].tolist() == [below, right]


@pytest.mark.parametrize("vision", [1, 5, 7])
def test_nothing_is_lost(vision):
    env = OceanEnv(
        "trash_pickup", 1, width=11, height=9, vision=vision, num_agents=6, num_trash=20, num_bins=2
    )
    env.reset(seed=4)
    s = c_state(env)
    rng = np.random.default_rng(5)
    ends = 0
    for _ in range(3000):
        step(env, *rng.integers(0, 4, 6))
        ends += int(env.terminals.any() or env.truncations.any())
        cells = (9 + 2 * vision) * s.pitch
        assert sum(s.trash[k] for k in range(cells)) + sum(s.carries) + s.delivered == 20
        assert sum(s.scores) == s.delivered
        board = np.array([s.board[k] for k in range(cells)]).reshape(-1, s.pitch)
        agents = places(s, env, vision)
        assert len({*agents}) == 6
        for i, (row, column) in enumerate(agents):
            view = board[row : row + 2 * vision + 1, column : column + 2 * vision + 1]
            assert (env.observations[i, :-3].reshape(view.shape) == view).all()
            assert env.observations[i, -3] == s.carries[i]
    assert ends >= 3000 // 256


def test_there_must_be_room():
    with pytest.raises(Exception, match="at most half of width times height"):
        OceanEnv("trash_pickup", 1, width=8, height=8, num_trash=32)

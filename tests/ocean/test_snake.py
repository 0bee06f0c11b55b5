"""Snake: its rules on paper, and what holds on the board at any time."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

UP, DOWN, LEFT, RIGHT = range(4)
FOOD, EMPTY, OBSTACLE = 1, 0, -1
EDGE, SIDE = 7, 128 + 2 * 7  # of the board in the State


def number(row, column):
    return (row + EDGE) * SIDE + column + EDGE


def world(*snakes, food=(), **arguments):
    """An environment of 32 x 32 cells with these snakes, (row, column) from the head on."""
    arguments = {"width": 32, "height": 32, "num_food": 1, **arguments}
    env = OceanEnv("snake", 1, num_snakes=len(snakes), **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for row in range(32):
        for column in range(32):
            s.board[number(row, column)] = EMPTY
    for row, column in food:
        s.board[number(row, column)] = FOOD
    s.food = 1000 + len(food)  # more than num_food: none grows
    for i, cells in enumerate(snakes):
        s.heads[i], s.lengths[i] = len(cells) - 1, len(cells)
        for k, (row, column) in enumerate(cells):
            s.bodies[i][len(cells) - 1 - k] = number(row, column)
            s.board[number(row, column)] = OBSTACLE
        s.directions[i] = -1
    return env, s


def body(s, i=0):
    """The cells of a snake, (row, column) from the head on."""
    cells = [s.bodies[i][(s.heads[i] - k) % 128] for k in range(s.lengths[i])]
    return [(cell // SIDE - EDGE, cell % SIDE - EDGE) for cell in cells]


def board(s, height=32, width=32):
    """The inner cells."""
    cells = np.array(list(s.board), np.int8).reshape(SIDE, SIDE)
    return cells[EDGE : EDGE + height, EDGE : EDGE + width]


def step(env, *actions):
    return env.step(np.array(actions, np.int32))


@pytest.mark.parametrize(
    ("action", "head"), [(UP, (9, 10)), (DOWN, (11, 10)), (LEFT, (10, 9)), (RIGHT, (10, 11))]
)
def test_a_snake_moves(action, head):
    env, s = world([(10, 10)])
    step(env, action)
    assert body(s) == [head]
    assert np.argwhere(board(s) == OBSTACLE).tolist() == [list(head)]


def test_a_body_follows_its_head():
    env, s = world([(10, 10), (10, 9), (11, 9)])
    step(env, UP)
    assert body(s) == [(9, 10), (10, 10), (10, 9)]
    step(env, RIGHT)
    assert body(s) == [(9, 11), (9, 10), (10, 10)]


@pytest.mark.parametrize(("last", "back"), [(UP, DOWN), (DOWN, UP), (LEFT, RIGHT), (RIGHT, LEFT)])
def test_no_turn_on_the_spot(last, back):
    env, s = world([(10, 10)])
    step(env, last)
    step(env, back)
    moved = {UP: (8, 10), DOWN: (12, 10), LEFT: (10, 8), RIGHT: (10, 12)}[last]
    assert body(s) == [moved]


def test_food_makes_longer():
    env, s = world([(10, 10), (10, 9)], food=[(10, 11)], reward_food=0.25)
    food = s.food
    _, rewards, terminals, _, _ = step(env, RIGHT)
    assert (rewards[0], terminals[0], s.food) == (0.25, False, food - 1)
    assert body(s) == [(10, 11), (10, 10), (10, 9)]
    _, rewards, _, _, _ = step(env, RIGHT)
    assert rewards[0] == 0
    assert body(s) == [(10, 12), (10, 11), (10, 10)]


@pytest.mark.parametrize(
    ("head", "action"), [((0, 5), UP), ((31, 5), DOWN), ((5, 0), LEFT), ((5, 31), RIGHT)]
)
def test_the_edge_kills(head, action):
    # a second snake keeps the world going
    env, s = world([head], [(20, 20)], reward_death=-0.5)
    _, rewards, terminals, _, infos = step(env, action, UP)
    assert rewards.tolist() == [-0.5, 0]
    assert terminals.tolist() == [True, False]
    assert infos[0]["score"].tolist() == [1]
    assert infos[0]["perf"].tolist() == [0]
    assert s.lengths[0] == 1
    assert body(s, 1) == [(19, 20)]


def test_a_dead_body_is_food_by_half():
    cells = [(0, 10), (1, 10), (2, 10), (3, 10), (4, 10)]
    env, s = world(cells, [(20, 20)], max_length=9)
    food = s.food
    *_, infos = step(env, UP, UP)
    grid = board(s)
    # the newborn may lie on one of them
    expected = {(1, 10), (3, 10)} - {*body(s)}
    assert {(r, c) for r, c in np.argwhere(grid == FOOD).tolist()} == expected
    assert s.food == food + len(expected)
    assert infos[0]["score"].tolist() == [5]
    assert infos[0]["perf"].tolist() == [4 / 8]


def test_a_snake_may_follow_its_own_tail_but_not_bite_itself():
    ring = [(10, 10), (10, 11), (11, 11), (11, 10)]
    env, s = world(ring, [(20, 20)])
    _, _, terminals, _, _ = step(env, DOWN, UP)  # the tail's cell is free
    assert not terminals[0]
    assert body(s) == [(11, 10), (10, 10), (10, 11), (11, 11)]
    env, s = world([*ring, (12, 10)], [(20, 20)])
    _, _, terminals, _, _ = step(env, DOWN, UP)
    assert terminals.tolist() == [True, False]


def test_who_moves_first():
    first, second = [(10, 10), (10, 9)], [(12, 10), (11, 10)]
    env, s = world(first, second)
    _, _, terminals, _, _ = step(env, DOWN, DOWN)  # the first meets a tail that is still there
    assert terminals.tolist() == [True, False]
    env, s = world(second, first)
    _, _, terminals, _, _ = step(env, DOWN, DOWN)  # the tail has gone
    assert terminals.tolist() == [False, False]
    assert body(s, 1) == [(11, 10), (10, 10)]
    env, s = world([(10, 10)], [(10, 12)])
    _, _, terminals, _, _ = step(env, RIGHT, LEFT)  # both want one cell
    assert terminals.tolist() == [False, True]


def test_the_greatest_length_wins():
    env, s = world([(10, 10), (10, 9)], [(20, 20)], food=[(10, 11)], max_length=3)
    _, rewards, terminals, _, infos = step(env, RIGHT, UP)
    assert rewards[0] == 0.5
    assert terminals.tolist() == [True, False]
    assert infos[0]["score"].tolist() == [3]
    assert infos[0]["perf"].tolist() == [1]
    assert (board(s) == OBSTACLE).sum() == 2  # the newborn and the other
    assert (board(s) == FOOD).sum() == 0


def test_a_truncated_snake_leaves_the_board():
    env, s = world([(0, 10)], [(20, 20), (20, 21), (20, 22)], max_steps=3)
    step(env, UP, LEFT)  # the first dies: its next episode is one step younger
    step(env, UP, LEFT)
    _, _, terminals, truncations, infos = step(env, UP, LEFT)
    assert (terminals[1], truncations[1]) == (False, True)
    assert infos[0]["score"].tolist()[-1] == 3
    assert s.lengths[1] == 1
    assert (board(s) == OBSTACLE).sum() == s.lengths[0] + 1


def test_the_observation_is_the_square_round_the_head():
    env, _ = world([(1, 2), (1, 1)], food=[(1, 4), (3, 3)], vision=2)
    step(env, RIGHT)
    expected = [
        [-1, -1, -1, -1, -1],  # beyond the edge
        [0, 0, 0, 0, 0],
        [0, -1, -1, 1, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
    ]
    assert env.observations[0].tolist() == expected


@pytest.mark.parametrize("vision", [1, 5, 7])
def test_the_board_is_the_snakes_and_the_food(vision):
    shape = (40, 36)
    env = OceanEnv("snake", 1, width=36, height=40, vision=vision, num_snakes=8, max_length=6)
    env.reset(seed=5)
    s = c_state(env)
    rng = np.random.default_rng(6)
    ends = wins = 0
    for _ in range(1500):
        # towards food if some is beside the head
        middle, actions = vision, rng.integers(0, 4, 8)
        for i, view in enumerate(env.observations):
            sides = [view[middle - 1, middle], view[middle + 1, middle]]
            sides += [view[middle, middle - 1], view[middle, middle + 1]]
            if max(sides) == FOOD:
                actions[i] = int(np.argmax(sides))
        *_, infos = step(env, *actions)
        cells = [cell for i in range(8) for cell in body(s, i)]
        assert len(set(cells)) == len(cells)
        grid = board(s, *shape)
        assert {*map(tuple, np.argwhere(grid == OBSTACLE).tolist())} == {*cells}
        assert (grid == FOOD).sum() == s.food
        assert s.food >= 64 - 8  # it grows again
        padded = np.pad(grid, vision, constant_values=OBSTACLE)
        born = bool(env.terminals.any())  # comes on the board after the others have looked
        for i in range(8):
            row, column = body(s, i)[0]
            view = padded[row : row + 2 * vision + 1, column : column + 2 * vision + 1]
            assert born or (env.observations[i] == view).all()
        for info in infos:
            ends += len(info["score"])
            wins += int((info["perf"] == 1).sum())
    assert ends > 50
    assert wins > 5


def test_there_must_be_room():
    with pytest.raises(Exception, match="must be less than width times height"):
        OceanEnv("snake", 1, width=32, height=32, num_snakes=64, max_length=16)

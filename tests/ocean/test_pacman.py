"""Pac-Man: its mazes and rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

UP, DOWN, LEFT, RIGHT = range(4)
STRIDE, VISION = 32, 5
WALL, EMPTY, PELLET, POWER = -1, 0, 1, 2


def cell(row, column):
    return (row + VISION) * STRIDE + column + VISION


def place(number):
    return number // STRIDE - VISION, number % STRIDE - VISION


def make(**arguments):
    """One environment whose ghosts wait in the pen, its State."""
    env = OceanEnv("pacman", 1, **{"ghost_speed": 1, "fright": 20, "chase": 1000, **arguments})
    env.reset(seed=0)
    s = c_state(env)
    for ghost in range(4):
        s.waits[ghost] = 10_000
    return env, s


def put(env, s, row, column, direction=LEFT):
    """Pac-Man is there."""
    s.cell, s.direction = cell(row, column), direction
    s.above, s.left = sum(list(s.in_row)[:row]), sum(list(s.in_column)[:column])


def send(s, ghost, row, column, direction):
    s.ghosts[ghost], s.directions[ghost], s.waits[ghost] = cell(row, column), direction, 0


def step(env, action, times=1):
    """The sum of rewards of so many steps, whether the last one ended, its infos."""
    total = 0.0
    for _ in range(times):
        _, rewards, terminals, _, infos = env.step(np.array([action], np.int32))
        total += float(rewards[0])
    return total, bool(terminals[0]), infos


def cells(s):
    """(17, 17) what lies in each cell."""
    board = np.array(list(s.board)).reshape(-1, STRIDE)
    return board[VISION : VISION + 17, VISION : VISION + 17]


def neighbours(board, row, column):
    around = [
        (row + 1, column),
        (row - 1, column),
        (row, (column + 1) % 17),
        (row, (column - 1) % 17),
    ]
    return [at for at in around if board[at] != WALL]


@pytest.mark.parametrize("maze", ["classic", "rings"])
def test_the_mazes_have_no_dead_ends_and_are_connected(maze):
    _, s = make(maze=maze)
    board = cells(s)
    assert (board == board[:, ::-1]).all()
    free = [tuple(at) for at in np.argwhere(board != WALL).tolist()]
    assert all(len(neighbours(board, *at)) >= 2 for at in free)
    reached, todo = {free[0]}, [free[0]]
    while todo:
        new = [at for at in neighbours(board, *todo.pop()) if at not in reached]
        reached.update(new)
        todo += new
    assert reached == set(free)
    assert s.all == s.pellets == (board > 0).sum()
    assert list(s.in_row) == (board > 0).sum(axis=1).tolist()
    assert list(s.in_column) == (board > 0).sum(axis=0).tolist()
    assert (board == POWER).sum() == 4
    assert place(s.start) == ((13, 8) if maze == "classic" else (11, 8))


def test_walking_and_walls():
    env, s = make()
    assert place(s.cell) == (13, 8)
    step(env, LEFT)
    assert place(s.cell) == (13, 7)
    step(env, DOWN)  # a wall is below: straight on
    assert (place(s.cell), s.direction) == ((13, 6), LEFT)
    step(env, RIGHT)
    assert (place(s.cell), s.direction) == ((13, 7), RIGHT)
    put(env, s, 13, 4, LEFT)
    step(env, LEFT, 3)  # column 3 is a wall
    assert place(s.cell) == (13, 4)


@pytest.mark.parametrize(("column", "action", "arrival"), [(0, LEFT, 16), (16, RIGHT, 0)])
def test_the_tunnel(column, action, arrival):
    env, s = make()
    put(env, s, 8, column, action)
    step(env, action)
    assert place(s.cell) == (8, arrival)
    send(s, 0, 8, column, action)
    put(env, s, 13, 8)
    step(env, LEFT)
    assert place(s.ghosts[0]) == (8, arrival)


def test_pellets_on_paper():
    env, s = make(reward_pellet=0.25)
    total, ended, _ = step(env, LEFT, 4)
    assert (total, ended, s.score, s.pellets) == (4 * 0.25, False, 40, s.all - 4)
    step(env, RIGHT, 4)
    assert s.score == 40
    put(env, s, 13, 2, LEFT)
    step(env, LEFT)
    assert (s.score, s.fright) == (40 + 50, 20 - 1)


def test_the_last_pellet_wins():
    env, s = make(reward_pellet=0.25, reward_win=0.5)
    for row, column in np.argwhere(cells(s) > 0).tolist():
        if (row, column) != (13, 7):
            s.board[cell(row, column)] = EMPTY
            s.in_row[row] -= 1
            s.in_column[column] -= 1
    s.pellets = 1
    total, ended, infos = step(env, LEFT)
    assert (total, ended) == (0.75, True)
    assert infos[0]["perf"][0] == 1


def test_perf_is_the_square_of_what_was_eaten():
    env, s = make(lives=1)
    s.pellets = s.all // 4
    put(env, s, 8, 3, LEFT)
    send(s, 0, 8, 2, RIGHT)
    total, ended, infos = step(env, LEFT)
    assert (total, ended) == (-1, True)
    assert infos[0]["perf"][0] == 0.75**2
    assert infos[0]["pellets"][0] == s.all * 3 / 4


@pytest.mark.parametrize("gap", [1, 2])
def test_a_ghost_costs_a_life_and_all_start_anew(gap):
    """Also when the two would change places."""
    env, s = make(reward_death=-0.5, release=7)
    put(env, s, 8, 3, RIGHT)
    s.board[cell(8, 3)] = s.board[cell(8, 4)] = EMPTY
    send(s, 2, 8, 3 - gap, RIGHT)
    total, ended, _ = step(env, LEFT)
    assert (total, ended, s.lives) == (-0.5, False, 2)
    assert place(s.cell) == (13, 8)
    assert list(s.waits) == [0, 7, 14, 21]
    assert {place(ghost) for ghost in s.ghosts} == {(7, 8)}


def test_ghosts_do_not_catch_from_the_pen():
    env, s = make()
    put(env, s, 7, 7, RIGHT)
    step(env, RIGHT)
    assert s.lives == 3


def test_fright_and_the_price_of_ghosts():
    env, s = make(reward_ghost=0.25, reward_pellet=0, fright=9)
    put(env, s, 15, 3, RIGHT)
    s.board[cell(15, 4)] = POWER  # in place of a pellet
    for ghost in range(3):
        send(s, ghost, 3, 2 + ghost, LEFT)
    step(env, RIGHT)
    assert list(s.afraid) == [True, True, True, False]  # the last one is in the pen
    assert (s.fright, s.score) == (8, 50)
    assert env.observations[0, 250] == 1 + 4 * 7 // 9
    score = 50
    for ghost, points in enumerate([200, 400, 800]):
        send(s, ghost, 15, 5 + ghost, LEFT)
        total, _, _ = step(env, RIGHT)
        score += points + 10
        assert (total, s.score) == (0.25, score)
        assert (s.afraid[ghost], s.waits[ghost], place(s.ghosts[ghost])) == (False, 7, (7, 8))
    step(env, RIGHT, 6)
    assert s.waits[2] == 1
    step(env, RIGHT)  # out of the pen
    assert s.waits[2] == 0
    assert place(s.ghosts[2]) != (7, 8)


def test_fright_ends():
    env, s = make(fright=3, reward_pellet=0)
    put(env, s, 13, 2, LEFT)
    send(s, 0, 1, 5, LEFT)
    step(env, LEFT)
    assert (s.fright, s.afraid[0]) == (2, True)
    step(env, RIGHT)
    step(env, LEFT)
    assert (s.fright, s.afraid[0]) == (0, False)


def test_frightened_ghosts_are_half_as_fast():
    env, s = make(fright=200)
    send(s, 0, 15, 14, LEFT)
    s.afraid[0], s.fright = True, 200
    put(env, s, 8, 8 - 6, LEFT)
    moves = 0
    for k in range(8):
        before = s.ghosts[0]
        step(env, LEFT if k % 2 else RIGHT)
        moves += s.ghosts[0] != before
    assert moves == 4


@pytest.mark.parametrize("speed", [0.25, 0.5, 1])
def test_the_speed_of_ghosts(speed):
    env, s = make(ghost_speed=speed)
    send(s, 0, 15, 14, LEFT)
    moves = 0
    for k in range(12):
        before = s.ghosts[0]
        step(env, LEFT if k % 2 else RIGHT)
        moves += s.ghosts[0] != before
    assert moves == 12 * speed


def nearest_way(s, ghost, target):
    """The neighbour of a ghost's cell, without the one behind it, that is nearest to a place."""
    row, column = place(s.ghosts[ghost])
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    back = steps[s.directions[ghost] ^ 1]
    ways = [
        (row + down, column + right)
        for down, right in steps
        if (down, right) != back and cells(s)[row + down, column + right] != WALL
    ]
    return min(ways, key=lambda at: (at[0] - target[0]) ** 2 + (at[1] - target[1]) ** 2)


@pytest.mark.parametrize("direction", range(4))
@pytest.mark.parametrize("ghost", range(4))
@pytest.mark.parametrize("first", [(11, 7), (13, 4), (9, 4), (11, 2)])
def test_where_ghosts_go_when_they_chase(ghost, direction, first):
    """From several forks, Pac-Man having gone one cell from the crossing (11, 4)."""
    down, right = [(-1, 0), (1, 0), (0, -1), (0, 1)][direction]
    row, column = 11 + down, 4 + right
    for fork in [(3, 4, LEFT), (3, 4, UP), (11, 12, RIGHT), (9, 4, UP), (9, 12, DOWN)]:
        env, s = make(scatter=0)
        put(env, s, 11, 4, direction)
        s.ghosts[0] = cell(*first)  # in the pen, but the third one looks at it
        send(s, ghost, *fork)
        where = fork[:2] if ghost == 0 else first
        near = (fork[0] - row) ** 2 + (fork[1] - column) ** 2 <= 64
        target = [
            (row, column),
            (row + 4 * down, column + 4 * right),
            (2 * (row + 2 * down) - where[0], 2 * (column + 2 * right) - where[1]),
            (16, 0) if near else (row, column),
        ][ghost]
        expected = nearest_way(s, ghost, target)
        step(env, direction)
        caught = expected == (row, column)
        assert place(s.ghosts[ghost]) == ((7, 8) if caught else expected), fork


@pytest.mark.parametrize(
    ("ghost", "corner"), [(0, (0, 16)), (1, (0, 0)), (2, (16, 16)), (3, (16, 0))]
)
def test_scatter_and_chase_take_turns(ghost, corner):
    env, s = make(scatter=2, chase=3)
    chasing = []
    for _ in range(10):
        step(env, LEFT)
        chasing.append(int(env.observations[0, -1]))
    assert chasing == [0, 1, 1, 1, 0, 0, 1, 1, 1, 0]
    s.phase = 0
    send(s, ghost, 3, 7, LEFT)
    expected = nearest_way(s, ghost, corner)
    step(env, LEFT)
    assert place(s.ghosts[ghost]) == expected


def test_the_observation_on_paper():
    env, s = make()
    send(s, 0, 13, 4, LEFT)
    send(s, 1, 15, 12, RIGHT)
    s.afraid[1], s.fright = True, 10
    step(env, LEFT)
    row = env.observations[0].astype(int)
    near, ghosts = row[:242].reshape(2, 11, 11)
    whole = np.full((27, 27), WALL)
    whole[5:22, 5:22] = cells(s)
    assert (near == whole[13 : 13 + 11, 7 : 7 + 11]).all()
    expected = np.zeros((11, 11), int)
    for ghost, value in ((0, -1), (1, 1)):
        at = place(s.ghosts[ghost])
        expected[at[0] - 13 + 5, at[1] - 7 + 5] = value
    assert (ghosts == expected).all()
    assert row[242:246].tolist() == [0, 0, 1, 0]
    assert row[246:250].tolist() == [4, 4, 4, 4]


def test_the_compass_follows_every_step():
    env = OceanEnv("pacman", 1, lives=10, ghost_speed=0.1)
    env.reset(seed=1)
    s = c_state(env)
    generator = np.random.default_rng(0)
    for _ in range(3000):
        env.step(generator.integers(0, 4, 1).astype(np.int32))
        board, (row, column) = cells(s) > 0, place(s.cell)
        counts = board[:row].sum(), board[row + 1 :].sum(), board[:, :column].sum()
        counts = [*counts, board[:, column + 1 :].sum()]
        assert env.observations[0, 246:250].tolist() == np.minimum(counts, 4).tolist()


def test_max_steps_cut_an_episode():
    env = OceanEnv("pacman", 1, max_steps=3)
    env.reset(seed=0)
    cuts = [bool(env.step(np.array([0], np.int32))[3][0]) for _ in range(6)]
    assert cuts == [False, False, True] * 2

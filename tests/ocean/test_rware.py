"""Robotic warehouse: its rules on paper, and what holds in it at any time.

The small one: 10 x 7 cells, shelves in columns 2, 3, 6, 7 of rows 2, 3, a station at row 6,
column 5.
"""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

UP, DOWN, LEFT, RIGHT, LIFT = range(5)
TAKEN, FREE, SHELF, REQUESTED = -1, 0, 1, 2
NOTHING, VISION, FAR = -1, 2, 1024
SMALL = {"columns": 2, "rows": 1, "block": 2, "aisle": 2, "num_stations": 1}


def number(s, row, column):
    return (row + VISION) * s.pitch + column + VISION


def world(robots, asked, **arguments):
    """A small warehouse with robots and shelves that are asked for by (row, column); its State."""
    arguments = {**SMALL, "num_robots": len(robots), "num_requests": len(asked), **arguments}
    env = OceanEnv("rware", 1, **arguments)
    env.reset(seed=0)
    s = c_state(env)
    shelves = [(row, column) for row in (2, 3) for column in (2, 3, 6, 7)]
    for row in range(7):
        for column in range(10):
            kind = FREE if (row, column) not in shelves else SHELF
            kind = REQUESTED if (row, column) in asked else kind
            s.board[number(s, row, column)] = s.shelves[number(s, row, column)] = kind
    for k, (row, column) in enumerate(asked):
        s.rows[k], s.columns[k] = row + VISION, column + VISION
    for i, (row, column) in enumerate(robots):
        s.robots[i].row, s.robots[i].column = row + VISION, column + VISION
        s.board[number(s, row, column)] = TAKEN
    return env, s


def step(env, *actions):
    return env.step(np.array(actions, np.int32))


def rewards(env, *actions):
    """Of one robot that does these one after the other."""
    return [float(step(env, action)[1][0]) for action in actions]


def places(s, env):
    robots = [s.robots[i] for i in range(env.num_agents)]
    return [(robot.row - VISION, robot.column - VISION) for robot in robots]


def test_the_small_warehouse():
    env = OceanEnv("rware", 1, num_robots=1, num_requests=1, **SMALL)
    env.reset(seed=0)
    s = c_state(env)
    cells = np.array([s.shelves[k] for k in range(14 * 11)]).reshape(11, 14)
    assert np.argwhere(cells[2:-2, 2:-2]).tolist() == [[r, c] for r in (2, 3) for c in (2, 3, 6, 7)]
    assert (s.height, s.stations[0] - VISION) == (7, 5)


def test_stations_are_spread():
    env = OceanEnv("rware", 1, columns=4, aisle=3, num_stations=4)  # 23 columns
    env.reset(seed=0)
    assert [c_state(env).stations[k] - VISION for k in range(4)] == [2, 8, 14, 20]


@pytest.mark.parametrize(
    ("action", "place"), [(UP, (0, 4)), (DOWN, (2, 4)), (LEFT, (1, 3)), (RIGHT, (1, 5))]
)
def test_a_robot_moves(action, place):
    env, s = world([(1, 4)], [(2, 2)])
    step(env, action)
    assert places(s, env) == [place]


@pytest.mark.parametrize(
    ("start", "action"), [((0, 5), UP), ((6, 4), DOWN), ((5, 0), LEFT), ((5, 9), RIGHT)]
)
def test_the_edge_is_in_the_way(start, action):
    env, s = world([start], [(2, 2)])
    step(env, action)
    assert places(s, env) == [start]


def test_robots_are_in_each_others_way_in_their_order():
    env, s = world([(0, 4), (0, 5)], [(2, 2)])
    step(env, RIGHT, RIGHT)
    assert places(s, env) == [(0, 4), (0, 6)]
    env, s = world([(0, 5), (0, 4)], [(2, 2)])
    step(env, RIGHT, RIGHT)
    assert places(s, env) == [(0, 6), (0, 5)]


def test_shelves_are_in_the_way_of_shelves_alone():
    env, s = world([(2, 1)], [(2, 2)])
    rewards(env, RIGHT, RIGHT)
    assert places(s, env) == [(2, 3)]  # beneath two shelves
    rewards(env, LIFT, LEFT, DOWN)
    assert places(s, env) == [(2, 3)]
    rewards(env, RIGHT, LEFT)  # out, and into the free place
    assert places(s, env) == [(2, 3)]


def test_a_whole_delivery():
    env, s = world([(3, 6)], [(3, 6)], reward_lift=0.25, reward_deliver=0.75, reward_return=0.5)
    assert rewards(env, LIFT) == [0.25]
    assert s.shelves[number(s, 3, 6)] == FREE
    assert rewards(env, DOWN, DOWN, DOWN) == [0, 0, 0]  # row 6, column 6: no station
    assert s.robots[0].score == 0
    assert rewards(env, LEFT) == [0.75]  # row 6, column 5
    assert (s.robots[0].score, s.robots[0].request) == (1, NOTHING)
    asked = [k for k in range(14 * 11) if s.shelves[k] == REQUESTED]
    assert asked == [s.rows[0] * s.pitch + s.columns[0]]  # another one
    assert asked != [number(s, 3, 6)]
    assert rewards(env, UP, LIFT, UP, UP) == [0, 0, 0, 0]  # no place for it in the aisle
    assert s.robots[0].load == number(s, 3, 6)
    assert rewards(env, RIGHT, LIFT) == [0, 0.5]
    assert s.robots[0].load == NOTHING
    assert s.shelves[number(s, 3, 6)] == SHELF


def test_a_lift_that_is_undone_pays_nothing():
    env, s = world([(3, 6)], [(3, 6)], reward_lift=0.25)
    assert rewards(env, LIFT, LIFT, LIFT) == [0.25, -0.25, 0.25]
    assert s.rows[0] == FAR
    rewards(env, LIFT)
    assert s.shelves[number(s, 3, 6)] == REQUESTED
    assert (s.rows[0] - VISION, s.columns[0] - VISION) == (3, 6)


def test_a_shelf_that_nobody_wants_pays_nothing():
    env, s = world([(3, 6)], [(2, 2)])
    assert rewards(env, LIFT, DOWN, DOWN, DOWN, LEFT, RIGHT, UP, UP, UP, LIFT) == [0] * 10
    assert (s.robots[0].score, s.robots[0].load) == (0, NOTHING)


def test_there_is_nothing_to_lift_in_an_aisle():
    env, s = world([(1, 4)], [(2, 2)])
    rewards(env, LIFT)
    assert s.robots[0].load == NOTHING


def test_the_observation_is_the_square_round_the_robot():
    env, _ = world([(1, 3), (1, 5)], [(2, 2)])
    step(env, DOWN, UP)  # to (2, 3) and (0, 5)
    expected = [
        [0, 0, 0, 0, -1],
        [0, 0, 0, 0, 0],
        [0, 2, 1, 0, 0],  # in the middle what stands above it
        [0, 1, 1, 0, 0],
        [0, 0, 0, 0, 0],
    ]
    assert env.observations[0, :25].reshape(5, 5).tolist() == expected
    assert env.observations[0, 25:].tolist() == [0, 0, 0, -1]  # unloaded; the asked one is left
    assert env.observations[1, 25:].tolist() == [0, 0, 1, -1]
    assert (env.observations[1, :10] == TAKEN).all()  # beyond the edge


def test_the_way_of_a_loaded_robot():
    env, _ = world([(3, 2)], [(3, 2)])
    step(env, LIFT)
    assert env.observations[0, 25:].tolist() == [1, 1, 1, 1]  # to the station
    rewards(env, DOWN, DOWN, DOWN, RIGHT, RIGHT)
    assert env.observations[0, 25:].tolist() == [1, 1, 0, 1]
    step(env, RIGHT)
    assert env.observations[0, 25:].tolist() == [1, 0, -1, -1]  # back
    rewards(env, UP, LEFT, LEFT, LEFT)
    assert env.observations[0, 25:].tolist() == [1, 0, -1, -1]  # (5, 2): to the aisle in column 1
    rewards(env, LEFT)
    assert env.observations[0, 25:].tolist() == [1, 0, -1, 0]
    rewards(env, UP, UP)
    assert env.observations[0, 25:].tolist() == [1, 0, 0, 1]  # beside its place
    step(env, RIGHT)
    assert env.observations[0, 25:].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("robot", "way"),  # after a step up; asked for are (2, 3) and (3, 7)
    [((1, 1), [1, 1]), ((5, 6), [-1, 1]), ((4, 3), [-1, 0]), ((4, 9), [0, -1]), ((3, 3), [0, 0])],
)
def test_the_nearest_shelf_that_is_asked_for(robot, way):
    env, _ = world([robot], [(2, 3), (3, 7)])
    step(env, UP)
    assert env.observations[0, -2:].tolist() == way


def test_no_way_where_all_are_carried():
    env, _ = world([(3, 2), (5, 5)], [(3, 2)])
    step(env, LIFT, UP)
    assert env.observations[1, -2:].tolist() == [0, 0]


def test_perf_is_the_share_of_ways():
    """From (2, c) and (3, c) it is 4 and 3 rows, 3, 2, 1, 2 columns to the station, and back."""
    env, s = world([(0, 0), (0, 1)], [(2, 2)], max_steps=88)
    s.robots[0].score, s.robots[1].score = 2, 9
    for _ in range(88):
        *_, infos = step(env, UP, UP)
    mean = 2 * (2 * (4 + 3) + (3 + 2 + 1 + 2)) / 4  # of the ways: 11
    assert mean == 11
    assert env.truncations.all()
    assert infos[0]["score"].tolist() == [2, 9]
    assert infos[0]["perf"].tolist() == pytest.approx([2 / 8, 1])


@pytest.mark.parametrize("arguments", [{}, {"aisle": 1, "columns": 4, "num_robots": 20}])
def test_what_holds_at_any_time(arguments):
    env = OceanEnv("rware", 1, max_steps=700, **arguments)
    env.reset(seed=2)
    s = c_state(env)
    rng = np.random.default_rng(3)
    count = 2 * 4 * 2 * arguments.get("columns", 3)
    deliveries = 0
    for _ in range(2000):
        actions = rng.integers(0, 5, env.num_agents)
        # unloaded robots go to what is asked for and lift it, loaded ones go down
        for i, row in enumerate(env.observations):
            if not row[-4] and rng.random() < 0.8:
                down, right = int(row[-2]), int(row[-1])
                actions[i] = (LEFT, LIFT, RIGHT)[right + 1] if not down else (UP, 0, DOWN)[down + 1]
            elif row[-3] and rng.random() < 0.5:
                actions[i] = DOWN
        _, rewarded, _, _, _ = step(env, *actions)
        deliveries += int((rewarded == 1).sum())
        robots = [s.robots[i] for i in range(env.num_agents)]
        cells = (s.height + 2 * VISION) * s.pitch
        shelves = np.array([s.shelves[k] for k in range(cells)])
        assert len({(robot.row, robot.column) for robot in robots}) == len(robots)
        loads = [robot.load for robot in robots if robot.load != NOTHING]
        assert len({*loads}) == len(loads)
        assert (shelves != FREE).sum() + len(loads) == count
        asked = (shelves == REQUESTED).sum() + sum(robot.request != NOTHING for robot in robots)
        assert asked == 8
        board = shelves.copy()
        board[[robot.row * s.pitch + robot.column for robot in robots]] = TAKEN
        inner = np.array([s.board[k] for k in range(cells)])
        inside = np.zeros((s.height + 2 * VISION, s.pitch), bool)
        inside[VISION:-VISION, VISION:-VISION] = True
        assert (inner == np.where(inside.ravel(), board, TAKEN)).all()
    assert deliveries > 10


def test_there_must_be_shelves_enough():
    with pytest.raises(Exception, match="less than the number of shelves"):
        OceanEnv("rware", 1, **SMALL, num_robots=4, num_requests=4)

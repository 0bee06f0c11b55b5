"""Squared: every rule of the walk to the target, on paper and against a Python re-statement."""

import numpy as np
import pytest

from puffer_ocean import OceanEnv

STAY, DOWN, UP, LEFT, RIGHT = range(5)
MOVES = {STAY: (0, 0), DOWN: (1, 0), UP: (-1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
AGENT, TARGET = 1, 2


def cell(grid, value):
    size = int(len(grid) ** 0.5)
    (index,) = np.flatnonzero(grid == value)
    return divmod(int(index), size)


def grid_of(size, agent, target):
    grid = np.zeros((size, size), np.uint8)
    grid[target] = TARGET
    grid[agent] = AGENT
    return grid.ravel()


def step_all(env, action):
    return env.step(np.full(env.num_agents, action, np.int32))


def away_from(grid, path):
    """The target lies on none of the cells that a test walks over."""
    return cell(grid, TARGET) not in path


@pytest.mark.parametrize("size", [2, 3, 11])
def test_an_episode_begins_in_the_centre_with_a_target_elsewhere(size):
    env = OceanEnv("squared", 500, size=size)
    observations, infos = env.reset(seed=1)
    assert infos == []
    for grid in observations:
        assert cell(grid, AGENT) == (size // 2, size // 2)
        assert np.sort(grid).tolist() == [0] * (size * size - 2) + [1, 2]


@pytest.mark.parametrize("action", list(MOVES))
def test_each_action_moves_as_stated(action):
    env = OceanEnv("squared", 200, size=11)
    env.reset(seed=2)
    before = env.observations.copy()
    step_all(env, action)
    target = (5 + MOVES[action][0], 5 + MOVES[action][1])
    seen = 0
    for i, grid in enumerate(before):
        if cell(grid, TARGET) == target:
            continue
        expected = grid_of(11, target, cell(grid, TARGET))
        assert env.observations[i].tolist() == expected.tolist()
        assert (env.rewards[i], env.terminals[i]) == (0, False)
        seen += 1
    assert seen > 150


@pytest.mark.parametrize("action", [DOWN, UP, LEFT, RIGHT])
@pytest.mark.parametrize("size", [3, 11])
def test_leaving_the_grid_ends_with_minus_one(action, size):
    env = OceanEnv("squared", 300, size=size)
    start = env.reset(seed=3)[0].copy()
    centre = size // 2
    path = [(centre + k * MOVES[action][0], centre + k * MOVES[action][1]) for k in range(size)]
    rows = [i for i in range(300) if away_from(start[i], path)]
    assert len(rows) > 100
    for _ in range(centre):
        step_all(env, action)
        assert not env.terminals[rows].any()
        assert not env.rewards[rows].any()
    last = env.observations.copy()
    infos = step_all(env, action)[-1]
    assert env.terminals[rows].all()
    assert not env.truncations.any()
    assert (env.rewards[rows] == -1).all()
    assert (env.final_observations[rows] == last[rows]).all()  # the move outside is not made
    (info,) = infos
    failed = np.isin(info["agent_id"], rows)
    assert (info["perf"][failed] == 0).all()
    assert (info["score"][failed] == -1).all()


@pytest.mark.parametrize("size", [2, 3, 11])
def test_reaching_the_target_ends_with_plus_one(size):
    env = OceanEnv("squared", 300, size=size)
    env.reset(seed=4)
    distance = np.zeros(300, int)
    for i, grid in enumerate(env.observations):
        (row, column), (to_row, to_column) = cell(grid, AGENT), cell(grid, TARGET)
        distance[i] = abs(row - to_row) + abs(column - to_column)
    for t in range(1, distance.max() + 1):
        actions = np.zeros(300, np.int32)
        for i in np.flatnonzero(distance >= t):
            grid = env.observations[i]
            (row, column), (to_row, to_column) = cell(grid, AGENT), cell(grid, TARGET)
            if row != to_row:
                actions[i] = DOWN if row < to_row else UP
            else:
                actions[i] = RIGHT if column < to_column else LEFT
        target = [cell(grid, TARGET) for grid in env.observations]
        infos = env.step(actions)[-1]
        arrived = np.flatnonzero(distance == t)
        assert np.flatnonzero(env.terminals & (distance >= t)).tolist() == arrived.tolist()
        for i in arrived:
            assert env.rewards[i] == 1
            assert cell(env.final_observations[i], AGENT) == target[i]
            assert not (env.final_observations[i] == TARGET).any()
            assert cell(env.observations[i], AGENT) == (size // 2, size // 2)
            assert (env.observations[i] == TARGET).any()
        if len(arrived):
            (info,) = infos
            here = np.isin(info["agent_id"], arrived)
            assert (info["perf"][here] == 1).all()
            assert (info["episode_length"][here] == t).all()
            assert (info["episode_return"][here] == 1).all()


@pytest.mark.parametrize("size", [2, 3, 11])
def test_step_3_size_plus_1_is_too_late(size):
    env = OceanEnv("squared", 4, size=size)
    env.reset(seed=5)
    for _ in range(3 * size):
        step_all(env, STAY)
        assert not env.terminals.any()
        assert not env.rewards.any()
    (info,) = step_all(env, STAY)[-1]
    assert env.terminals.all()
    assert (env.rewards == -1).all()
    assert info["episode_length"].tolist() == [3 * size + 1] * 4


def test_arriving_too_late_does_not_count():
    env = OceanEnv("squared", 50, size=3)
    env.reset(seed=6)
    below = [i for i in range(50) if cell(env.observations[i], TARGET) == (2, 1)]
    assert below
    for _ in range(9):
        step_all(env, STAY)
    step_all(env, DOWN)
    assert (env.rewards[below] == -1).all()


@pytest.mark.parametrize("size", [2, 3, 11])
def test_the_target_is_uniform_over_the_other_cells(size):
    env = OceanEnv("squared", 1000, size=size)
    counts = np.zeros(size * size)
    for k in range(20):
        env.reset(seed=k if k < 10 else None)  # fresh streams and continued ones
        counts += (env.observations == TARGET).sum(axis=0)
    centre = size // 2 * size + size // 2
    assert counts[centre] == 0
    counts = np.delete(counts, centre)
    expected = 20_000 / len(counts)
    freedom = len(counts) - 1
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)  # mean and deviation of chi-square


@pytest.mark.parametrize("size", [2, 3, 11])
def test_random_walks_equal_a_python_restatement(size):
    env = OceanEnv("squared", 8, size=size)
    env.reset(seed=7)
    generator = np.random.default_rng(8)
    state = [(cell(g, AGENT), cell(g, TARGET), 0) for g in env.observations]
    ends = 0
    for _ in range(600):
        actions = generator.integers(5, size=8)
        env.step(actions)
        for i, ((row, column), target, tick) in enumerate(state):
            to = (row + MOVES[actions[i]][0], column + MOVES[actions[i]][1])
            inside = 0 <= to[0] < size and 0 <= to[1] < size
            lost = not inside or tick + 1 > 3 * size
            agent = (row, column) if lost else to
            won = not lost and agent == target
            assert env.rewards[i] == (-1 if lost else 1 if won else 0)
            assert env.terminals[i] == (lost or won)
            seen = env.final_observations[i] if lost or won else env.observations[i]
            assert seen.tolist() == grid_of(size, agent, target).tolist()
            state[i] = (agent, target, tick + 1)
            if lost or won:
                ends += 1
                state[i] = (size // 2, size // 2), cell(env.observations[i], TARGET), 0
                assert cell(env.observations[i], AGENT) == state[i][0]
    assert ends > 100

"""Maze: its shape by graph theory, shortest ways by another search, moves and rewards on paper."""

from collections import deque

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

UP, DOWN, LEFT, RIGHT = range(4)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def grid(env, index=0):
    """The cells (2 size + 1 a side), the agent's place and the goal's."""
    state, arguments = c_state(env, index), env.arguments
    border, pitch = arguments["view"] - 1, state.pitch
    cells = np.array(list(state.cells)[: pitch * pitch]).reshape(pitch, pitch)
    inner = slice(border, pitch - border)
    places = [(at // pitch - border, at % pitch - border) for at in (state.agent, state.goal)]
    return cells[inner, inner], *places


def distances(cells, start):
    found, queue = {start: 0}, deque([start])
    while queue:
        row, column = queue.popleft()
        for dr, dc in MOVES:
            there = row + dr, column + dc
            if cells[there] and there not in found:
                found[there] = found[row, column] + 1
                queue.append(there)
    return found


@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("loops", [0, 0.3, 1])
def test_shape(size, loops):
    env = OceanEnv("maze", 20, size=size, loops=loops, view=3)
    env.reset(seed=5)
    extra = 0
    for i in range(20):
        cells, agent, goal = grid(env, i)
        is_open = cells > 0
        assert cells.shape == (2 * size + 1, 2 * size + 1)
        assert is_open[1::2, 1::2].all()  # rooms
        assert not is_open[::2, ::2].any()  # pillars
        assert not np.concatenate([is_open[0], is_open[-1], is_open[:, 0], is_open[:, -1]]).any()
        way = distances(cells, agent)
        assert len(way) == is_open.sum()  # all is connected
        doors = is_open.sum() - size * size
        extra += doors - (size * size - 1)  # a tree has one door less than rooms
        assert way[goal] == c_state(env, i).shortest
        assert agent != goal
        assert agent[0] % 2 == agent[1] % 2 == goal[0] % 2 == goal[1] % 2 == 1
    possible = 20 * (2 * size * (size - 1) - (size * size - 1))  # inner walls of a tree
    assert extra == pytest.approx(loops * possible, abs=4 * (loops * (1 - loops) * possible) ** 0.5)


def test_mazes_differ():
    env = OceanEnv("maze", 50)
    env.reset(seed=6)
    assert len({grid(env, i)[0].tobytes() for i in range(50)}) == 50


@pytest.mark.parametrize("view", [1, 4, 7])
def test_every_step_of_a_wanderer(view):
    """Moves, walls, the trail, the window and the signs, beside a walk on a padded copy."""
    env = OceanEnv("maze", 1, view=view, size=4)
    env.reset(seed=7)
    generator = np.random.default_rng(8)
    found = 0
    cells, agent, goal = grid(env)
    for _ in range(1500):
        padded = np.pad(cells, view)
        window = padded[agent[0] : agent[0] + 2 * view + 1, agent[1] : agent[1] + 2 * view + 1]
        signs = [goal[0] < agent[0], goal[0] > agent[0], goal[1] < agent[1], goal[1] > agent[1]]
        assert env.observations[0].tolist() == [*window.ravel().tolist(), *map(int, signs)]
        action = int(generator.integers(4))
        there = agent[0] + MOVES[action][0], agent[1] + MOVES[action][1]
        env.step(np.array([action]))
        arrived = cells[there] and there == goal
        assert bool(env.terminals[0]) == arrived
        assert env.rewards[0] == np.float32(arrived) - np.float32(0.01)
        if env.terminals[0] or env.truncations[0]:
            found += arrived
            cells, agent, goal = grid(env)
        elif cells[there]:
            agent, cells[there] = there, 1
    assert found


def test_the_shortest_way_is_perfect():
    env = OceanEnv("maze", 1, step_cost=0.0, size=2)  # every room is a corner
    env.reset(seed=9)
    for detour in (0, 2):
        cells, agent, goal = grid(env)
        to_goal = distances(cells, goal)
        length = to_goal[agent]
        walls = [a for a, (r, c) in enumerate(MOVES) if not cells[agent[0] + r, agent[1] + c]]
        for _ in range(detour):  # against a wall
            env.step(np.array([walls[0]]))
        for _ in range(length):
            action = min(
                range(4),
                key=lambda a: to_goal.get((agent[0] + MOVES[a][0], agent[1] + MOVES[a][1]), 1e9),
            )
            agent = agent[0] + MOVES[action][0], agent[1] + MOVES[action][1]
            infos = env.step(np.array([action]))[-1]
        assert infos[0]["score"].tolist() == [1]
        assert infos[0]["perf"][0] == pytest.approx(length / (length + detour))
        assert infos[0]["episode_return"].tolist() == [1]


def test_time_is_up():
    env = OceanEnv("maze", 1, max_steps=3)
    env.reset(seed=10)
    cells, agent, _ = grid(env)
    wall = next(a for a, (r, c) in enumerate(MOVES) if not cells[agent[0] + r, agent[1] + c])
    for _ in range(3):
        infos = env.step(np.array([wall]))[-1]
    assert env.truncations[0]
    assert not env.terminals[0]
    assert (infos[0]["score"][0], infos[0]["perf"][0]) == (0, 0)
    assert infos[0]["episode_return"][0] == pytest.approx(-0.03)

"""Hex: wins by another search, both views of one board, and the script's choice by brute force."""

from itertools import product

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

PITCH, FREE = 13, 2
NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))


def board(env, index=0):
    """Owners of the cells: 0, 1, or 2 for none."""
    size = env.arguments["size"]
    owners = np.array(list(c_state(env, index).owner)).reshape(PITCH, PITCH)
    assert (owners[0] == 3).all()
    assert (owners[:, size + 1 :] == 3).all()
    return owners[1 : size + 1, 1 : size + 1]


def put(env, owners, index=0):
    for row, column in np.ndindex(owners.shape):
        c_state(env, index).owner[(row + 1) * PITCH + column + 1] = int(owners[row, column])


def needed(owners, player):
    """Stones that each cell's cheapest way from side to side needs: sums to a fixed point."""
    size, big = len(owners), 10**6
    cost = np.where(owners == player, 0, np.where(owners == FREE, 1, big))
    cost = cost if player == 0 else cost.T
    ways = []
    for start in (0, size - 1):
        reach = np.full((size, size), big)
        reach[start] = cost[start]
        for _ in range(size * size):
            for r, c in product(range(size), repeat=2):
                near = [
                    reach[r + i, c + j]
                    for i, j in NEIGHBOURS
                    if 0 <= r + i < size and 0 <= c + j < size
                ]
                reach[r, c] = min(reach[r, c], min(near) + cost[r, c], big)
        ways.append(reach)
    total = ways[0] + ways[1] - cost
    return total if player == 0 else total.T


@pytest.mark.parametrize("size", [3, 5])
def test_random_games(size):
    env = OceanEnv("hex", 1, opponent="self", size=size)
    env.reset(seed=1)
    generator, cells, winners = np.random.default_rng(size), size * size, []
    while len(winners) < 12:
        owners, mover = board(env).copy(), c_state(env).mover
        views = env.observations[:, :-1].reshape(2, 2, size, size)
        for agent in (0, 1):
            seen = owners if agent == 0 else owners.T  # the second one joins left and right
            assert (views[agent] == [seen == agent, seen == 1 - agent]).all()
            free = (seen == FREE).ravel() & (agent == mover)
            assert env.action_masks[agent].tolist() == [*free.tolist(), agent != mover]
        assert env.observations[:, -1].tolist() == [mover == 0, mover == 1]
        action = int(generator.integers(cells + 1))
        expected = action % cells
        while not env.action_masks[mover, expected]:
            expected = (expected + 1) % cells
        at = divmod(expected, size) if mover == 0 else divmod(expected, size)[::-1]
        env.step(np.where(np.arange(2) == mover, action, cells))
        owners[at] = mover
        won = needed(owners, mover).min() == 0
        assert env.terminals.tolist() == [won, won]
        if won:
            assert env.rewards.tolist() == ([1, -1] if mover == 0 else [-1, 1])
            winners.append(mover)
        else:
            assert (board(env) == owners).all()
    assert {*winners} == {0, 1}


def test_a_bent_way_joins():
    """On 3 x 3 the cells (0, 2), (1, 1), (2, 0) touch; (0, 0), (1, 1), (2, 2) do not."""
    for cells, wins in (([2, 4, 6], True), ([0, 4, 8], False)):
        env = OceanEnv("hex", 1, opponent="self", size=3)
        env.reset(seed=0)
        owners = np.full((3, 3), FREE)
        owners.ravel()[cells[:2]] = 0
        put(env, owners)
        c_state(env).mover = 0
        infos = env.step(np.array([cells[2], 9]))[-1]
        assert env.terminals.tolist() == [wins, wins]
        if wins:
            assert infos[0]["perf"].tolist() == [1, 0]


def test_the_script_chooses_by_both_ways():
    env = OceanEnv("hex", 1, strength=1.0, size=5)
    env.reset(seed=2)
    generator, kinds = np.random.default_rng(3), set()
    while len(kinds) < 3 or generator.random() < 0.95:
        owners = generator.choice([0, 1, FREE], (5, 5), p=[0.25, 0.25, 0.5])
        free = np.flatnonzero(owners == FREE)
        if not free.size or min(needed(owners, 0).min(), needed(owners, 1).min()) == 0:
            continue
        action = int(generator.choice(free))
        put(env, owners)
        c_state(env).mover = 0
        owners.ravel()[action] = 0
        mine, theirs = needed(owners, 1), needed(owners, 0)
        if theirs.min() == 0:
            continue
        env.step(np.array([action]))
        if mine.min() == 1:
            kinds.add("wins")
            assert env.terminals[0]
            assert env.rewards[0] == -1
            continue
        (answer,) = np.flatnonzero((board(env) != owners).ravel())
        kind = "stops" if theirs.min() == 1 else "joins"
        kinds.add(kind)
        assert kind == "joins" or theirs.ravel()[answer] == 1
        open_ways = np.where(owners == FREE, np.minimum(mine, 239) + np.minimum(theirs, 239), 999)
        assert kind == "stops" or open_ways.ravel()[answer] == open_ways.min()


def test_strength_and_start():
    """A random script ends a game in one move by chance only: one of the free cells wins."""
    ends = []
    for strength in (0.0, 1.0):
        env = OceanEnv("hex", 400, size=3, strength=strength)
        observations, _ = env.reset(seed=5)
        assert 140 <= int((observations[:, :-1].sum(1) == 0).sum()) <= 260  # who begins: 200 +- 10
        owners = np.full((3, 3), FREE)
        owners[0, :2] = 1  # of the script: (0, 2) and, by the bend, (1, 1) touch (0, 1)
        for i in range(400):
            put(env, owners, i)
            c_state(env, i).mover = 0
        env.step(np.full(400, 6, np.int32))
        ends.append(int(env.terminals.sum()))
    assert ends[1] == 400
    assert 30 <= ends[0] <= 105  # only (0, 2) of six ends it: 67, standard deviation 7.5

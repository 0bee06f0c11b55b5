"""Minesweeper: numbers and openings by brute force, ends and rewards on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

PITCH = 18


def mines(state, size):
    board = np.array(list(state.mine)).reshape(PITCH, PITCH)
    return board[1 : size + 1, 1 : size + 1]


def around(board):
    """Mines among the eight neighbours of each cell."""
    size = len(board)
    padded = np.pad(board.astype(int), 1)
    return sum(
        padded[1 + dr : 1 + dr + size, 1 + dc : 1 + dc + size]
        for dr in (-1, 0, 1)
        for dc in (-1, 0, 1)
        if dr or dc
    )


def opened_by(board, row, column, already):
    """The set of open cells after a free one is opened."""
    numbers, open_cells, todo = around(board), set(already), [(row, column)]
    while todo:
        r, c = todo.pop()
        if (r, c) in open_cells:
            continue
        open_cells.add((r, c))
        if numbers[r, c] == 0:
            todo += [
                (i, j)
                for i in range(max(r - 1, 0), min(r + 2, len(board)))
                for j in range(max(c - 1, 0), min(c + 2, len(board)))
            ]
    return open_cells


def lay(state, size, cells):
    """Mines on these cells."""
    board = np.zeros((PITCH, PITCH), bool)
    board[tuple(np.transpose(cells) + 1)] = True
    state.mine = board.ravel().tolist()
    state.around = around(board).ravel().tolist()
    state.free_cells, state.laid = size * size - len(cells), True


@pytest.mark.parametrize(("size", "density"), [(4, 0.3), (6, 0.12), (9, 0.2), (16, 0.16)])
def test_games_beside_brute_force(size, density):
    env = OceanEnv("minesweeper", 1, size=size, density=density)
    generator = np.random.default_rng(size)
    env.reset(seed=1)
    solved = 0
    for _ in range(15):
        open_cells, first, board = set(), True, np.zeros((size, size), bool)
        while True:
            allowed = np.flatnonzero(env.action_masks[0])
            assert {(int(a) // size, int(a) % size) for a in allowed} == {
                (r, c) for r in range(size) for c in range(size)
            } - open_cells
            if not first:  # mostly free cells, so that some games are solved
                free = [a for a in allowed if not board[a // size, a % size]]
                allowed = free if generator.random() < 0.97 else allowed
            row, column = divmod(int(generator.choice(allowed)), size)
            if board[row, column]:
                env.step(np.array([row * size + column]))
                assert env.terminals[0]
                assert env.rewards[0] == -0.5
                break
            infos = env.step(np.array([row * size + column]))[-1]
            ended = bool(env.terminals[0])
            if first and ended:
                break  # all at once; the mines are those of the next game
            if first:
                board = mines(c_state(env), size)
                near = board[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
                assert not near.any()
                assert board.sum() == round(density * size * size)
            before, open_cells = open_cells, opened_by(board, row, column, open_cells)
            share = (len(open_cells) - len(before)) / (size * size - board.sum())
            assert env.rewards[0] == pytest.approx(share)
            shown = (env.final_observations if ended else env.observations)[0]
            shown = shown.reshape(size, size, 10)
            kinds = np.zeros((size, size), int)
            kinds[tuple(np.transpose([*open_cells]))] = 1
            assert (shown == np.eye(10)[kinds * (1 + around(board))]).all()
            first = False
            assert ended == (len(open_cells) == size * size - board.sum())
            if ended:
                assert infos[0]["perf"][0] == 1
                assert infos[0]["episode_return"][0] == pytest.approx(1)
                solved += 1
                break
    assert solved or size == 16


def test_a_board_on_paper():
    """Mines in two corners of 4 x 4; one opening leaves nothing but them, another a single cell.

    . . . M      0 0 1 M
    . . . .      0 0 1 1
    . . . .      1 1 0 0
    M . . .      M 1 0 0
    """
    env = OceanEnv("minesweeper", 1, size=4, mine_cost=2)
    env.reset(seed=0)
    lay(c_state(env), 4, [(0, 3), (3, 0)])
    env.step(np.array([2]))
    assert env.observations[0].reshape(16, 10)[2].argmax() == 2  # one mine
    assert env.rewards[0] == pytest.approx(1 / 14)
    infos = env.step(np.array([12]))[-1]
    assert env.rewards[0] == -2
    assert infos[0]["score"][0] == pytest.approx(1 / 14)
    assert infos[0]["perf"][0] == 0

    lay(c_state(env), 4, [(0, 3), (3, 0)])
    infos = env.step(np.array([0]))[-1]
    assert env.rewards[0] == 1  # both regions of 0 touch by a corner
    assert infos[0]["perf"][0] == 1


def test_an_open_cell_stands_for_the_next_closed_one():
    env = OceanEnv("minesweeper", 1, size=4)
    env.reset(seed=0)
    lay(c_state(env), 4, [(0, 3), (3, 0)])
    for expected in (2, 3):
        env.step(np.array([2]))
        assert bool(env.terminals[0]) == (expected == 3)  # cell 3 holds a mine


def test_every_cell_gets_mines():
    env = OceanEnv("minesweeper", 400, size=4, density=0.1)
    env.reset(seed=3)
    env.step(np.zeros(400, np.int32))
    boards = sum(mines(c_state(env, i), 4).astype(int) for i in range(400))
    assert (boards > 0).sum() == 12  # all but the corner that was opened
    assert boards[:2, :2].sum() == 0

"""Tetris: a plain model beside it, and its rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

NOTHING, LEFT, RIGHT, CLOCKWISE, BACK, DOWN, DROP = range(7)
I, O, T, S, Z, J, L = range(7)  # noqa: E741
SHAPES = ["1111", "11/11", "010/111", "011/110", "110/011", "100/111", "001/111"]  # from the top
POINTS = [0, 100, 300, 500, 800]


def shape_of(kind, rotation):
    """Booleans, the upper row first; a turn to the right is numpy's -1."""
    rows = [[cell == "1" for cell in row] for row in SHAPES[kind].split("/")]
    return np.rot90(np.array(rows), -rotation)


def make(**arguments):
    env = OceanEnv("tetris", 1, **arguments)
    env.reset(seed=0)
    return env, c_state(env)


def step(env, action):
    """One step: reward, terminal, truncation, infos."""
    _, rewards, terminals, truncations, infos = env.step(np.array([action], np.int32))
    return float(rewards[0]), bool(terminals[0]), bool(truncations[0]), infos


def fill(env, s, *lines):
    """Rows from the lowest, as texts of #."""
    env.observations[0, :200] = 0
    for row, line in enumerate(lines):
        s.rows[row] = sum(1 << column for column, cell in enumerate(line) if cell == "#")
        env.observations[0, row * 10 : row * 10 + 10] = [cell == "#" for cell in line]
    for column in range(10):
        s.heights[column] = max((r + 1 for r, x in enumerate(lines) if x[column] == "#"), default=0)
    s.filled = sum(line.count("#") for line in lines)
    s.holes = sum(s.heights) - s.filled


def well(env):
    """(20, 10) cells, the lowest row first."""
    return env.observations[0, :200].reshape(20, 10)


class Model:
    """A well of booleans, the highest row first, in which pieces fall cell by cell."""

    def __init__(self):
        self.cells = np.zeros((20, 10), bool)
        self.holes = 0

    def place(self, shape, column):
        """Rows removed and holes gained; None where the piece does not fit."""
        high, wide = shape.shape
        column = min(column, 10 - wide)
        tall = np.vstack([np.zeros((4, 10), bool), self.cells])
        top = 0
        while (
            top + high < 24
            and not (tall[top + 1 : top + 1 + high, column : column + wide] & shape).any()
        ):
            top += 1
        if top < 4:
            return None
        self.cells[top - 4 : top - 4 + high, column : column + wide] |= shape
        rest = self.cells[~self.cells.all(axis=1)]
        removed = 20 - len(rest)
        self.cells = np.vstack([np.zeros((removed, 10), bool), rest])
        holes = int((~self.cells & np.logical_or.accumulate(self.cells)).sum())
        more, self.holes = holes - self.holes, holes
        return removed, more

    def badness(self, kind, action):
        """A rough measure, so that some episodes last."""
        trial = Model()
        trial.cells = self.cells.copy()
        if trial.place(shape_of(kind, action // 10), action % 10) is None:
            return 1e9
        return 3 * trial.holes + trial.cells.any(axis=1).sum() ** 1.5


def test_random_placements_beside_the_model():
    env, s = make(pieces=10**6)
    generator = np.random.default_rng(1)
    model, ends, removals = Model(), 0, 0
    score = lines = 0
    for _ in range(2000):
        choices = generator.integers(40, size=generator.choice([1, 30]))  # careless or careful
        action = min(choices.tolist(), key=lambda choice: model.badness(s.kind, choice))
        shape = shape_of(s.kind, action // 10)
        result = model.place(shape, action % 10)
        reward, terminal, truncation, infos = step(env, action)
        assert terminal == (result is None)
        assert not truncation
        if result is None:
            assert reward == -1
            assert infos[0]["score"][0] == score
            assert infos[0]["lines"][0] == lines
            model, score, lines = Model(), 0, 0
            ends += 1
            continue
        removed, more = result
        removals += removed > 0
        score += POINTS[removed]
        lines += removed
        assert reward == pytest.approx(0.00125 * POINTS[removed] + 0.05 - 0.02 * more, abs=1e-6)
        assert (well(env)[::-1] == model.cells).all()
        heights = 20 - np.argmax(np.vstack([model.cells, np.ones((1, 10), bool)]), axis=0)
        assert env.observations[0, 200:209].tolist() == np.clip(np.diff(heights), -4, 4).tolist()
    assert ends > 5
    assert removals > 20


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_rows_at_once(rows):
    env, s = make(reward_points=0.01, reward_piece=0, reward_hole=0)
    fill(env, s, *["#########."] * rows)
    s.kind = I
    reward, *_ = step(env, 10 + 9)
    assert (s.lines, s.score) == (rows, POINTS[rows])
    assert reward == pytest.approx(0.01 * POINTS[rows])
    assert well(env).sum() == 4 - rows
    assert list(s.heights) == [0] * 9 + [4 - rows]


def test_holes_cost_and_come_back():
    env, s = make(reward_points=0, reward_piece=0, reward_hole=-0.5)
    s.kind = S
    assert step(env, 0)[0] == -0.5  # S leaves its right cell empty below
    assert s.holes == 1
    fill(env, s, "#########.")
    s.kind = Z
    assert (
        step(env, 10 + 8)[0] == -0.5 * 2
    )  # upright on the ninth column: two cells below its right
    fill(env, s, ".#########", "#########.", "..........")
    assert s.holes == 1
    s.kind = I
    assert step(env, 10 + 9)[0] == 0.5  # the lid over the first column goes with its row


def test_the_bag_holds_each_piece_once():
    env, s = make()
    kinds = []
    for _ in range(5):
        for _ in range(7):
            kinds.append(s.kind)
            row = env.observations[0]
            assert row[209:216].tolist() == [k == s.kind for k in range(7)]
            assert row[216:223].tolist() == [k == s.next for k in range(7)]
            assert step(env, 0)[1] is False
            fill(env, s)
        assert sorted(kinds[-7:]) == list(range(7))
    assert len({tuple(kinds[i : i + 7]) for i in range(0, 35, 7)}) > 1


def test_masks_leave_out_repetitions_and_the_edge():
    env, s = make()
    counts = {I: 7 + 10, O: 9, T: 8 + 9 + 8 + 9, S: 8 + 9, Z: 8 + 9, J: 34, L: 34}
    for _ in range(30):
        shapes = [shape_of(s.kind, rotation) for rotation in range(4)]
        allowed = env.action_masks[0].reshape(4, 10)
        for rotation, shape in enumerate(shapes):
            again = any(np.array_equal(shape, other) for other in shapes[:rotation])
            columns = 0 if again else 10 - shape.shape[1] + 1
            assert allowed[rotation].tolist() == [c < columns for c in range(10)]
        assert allowed.sum() == counts[s.kind]
        step(env, 0)
        fill(env, s)


def test_the_end_after_all_pieces():
    env, s = make(pieces=10)
    for piece in range(10):
        fill(env, s)
        s.pieces, s.lines = piece, 3
        _, terminal, truncation, infos = step(env, 0)
    assert (terminal, truncation) == (False, True)
    assert infos[0]["perf"][0] == 3 / 4  # ten pieces fill four rows
    assert infos[0]["pieces"][0] == 10


def moving(kind, **arguments):
    """A well for moves with this piece at its start."""
    env, s = make(control="moves", **arguments)
    while s.kind != kind:
        env.reset()
    return env, s


def falling(env):
    """(row from the lowest, column) of the falling cells."""
    return sorted(map(tuple, np.argwhere(well(env) == -1).tolist()))


def test_moves_and_gravity():
    env, s = moving(T, gravity=3)
    assert falling(env) == [(18, 3), (18, 4), (18, 5), (19, 4)]
    step(env, LEFT)
    assert falling(env) == [(18, 2), (18, 3), (18, 4), (19, 3)]
    step(env, RIGHT)
    step(env, NOTHING)  # the third step: it falls
    assert falling(env) == [(17, 3), (17, 4), (17, 5), (18, 4)]
    step(env, DOWN)
    assert (s.x, s.y) == (3, 16)
    assert env.observations[0, 223:].tolist() == [1, 0, 0, 0] + [c == 3 for c in range(10)]


@pytest.mark.parametrize("kind", range(7))
def test_rotations_keep_the_lower_left_corner(kind):
    env, s = moving(kind, gravity=100)
    for _ in range(6):
        step(env, DOWN)
    x, y = s.x, s.y
    for action in [CLOCKWISE] * 4 + [BACK] * 4:
        turned = (s.rotation + (1 if action == CLOCKWISE else 3)) % 4
        step(env, action)
        assert s.rotation == turned
        shape = shape_of(kind, s.rotation)[::-1]
        assert falling(env) == [(y + r, x + c) for r, c in np.argwhere(shape).tolist()]
        assert env.observations[0, 223:227].tolist() == [r == s.rotation for r in range(4)]


def test_walls_stop_a_piece_and_push_a_turn_inwards():
    env, s = moving(I, gravity=100)
    for action in (DOWN, DOWN, DOWN, CLOCKWISE):
        step(env, action)
    for _ in range(12):
        step(env, RIGHT)
    assert (s.x, s.rotation) == (9, 1)
    step(env, CLOCKWISE)
    assert (s.x, s.rotation) == (6, 2)
    for _ in range(12):
        step(env, LEFT)
    assert s.x == 0


def test_a_drop_locks_at_once_and_a_piece_without_room_loses():
    env, _ = moving(O, reward_piece=0.25, reward_hole=0, reward_loss=-0.5)
    reward, *_ = step(env, DROP)
    assert reward == 0.25
    assert np.argwhere(well(env) == 1).tolist() == [[0, 4], [0, 5], [1, 4], [1, 5]]
    for _ in range(60):
        reward, terminal, _, infos = step(env, DROP)
        if terminal:
            break
    assert reward == pytest.approx(0.25 - 0.5)
    assert infos[0]["perf"][0] == 0


def test_a_piece_slides_under_an_overhang():
    env, s = moving(O, gravity=100)
    fill(env, s, "..........", "..........", "######....", "####......")
    for _ in range(18):
        step(env, RIGHT if s.x < 6 else DOWN)
    while s.y > 0:
        step(env, DOWN)
    for _ in range(3):
        step(env, LEFT)
    assert (s.x, s.y) == (3, 0)
    step(env, DOWN)
    assert well(env)[:2, 3:5].tolist() == [[1, 1], [1, 1]]
    assert list(s.heights) == [4] * 4 + [3] * 2 + [0] * 4
    assert s.holes == (4 * 4 + 3 * 2) - (6 + 4 + 4)


def test_gravity_locks_a_piece():
    env, s = moving(O, gravity=1)
    for _ in range(18):
        step(env, NOTHING)
    assert (s.y, s.pieces) == (0, 0)
    step(env, NOTHING)
    assert s.pieces == 1

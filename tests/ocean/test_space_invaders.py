"""Space Invaders: its rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

NOTHING, LEFT, RIGHT, FIRE, LEFT_FIRE, RIGHT_FIRE = range(6)
FULL = (1 << 18) - 1


def make(frameskip=1, bomb_rate=0, march_speed=0.05, **arguments):
    """One environment without bombs whose grid marches right, its State."""
    env = OceanEnv(
        "space_invaders",
        1,
        frameskip=frameskip,
        bomb_rate=bomb_rate,
        march_speed=march_speed,
        **arguments,
    )
    env.reset(seed=0)
    s = c_state(env)
    s.way = 1
    return env, s


def step(env, action, times=1):
    """The sum of rewards of so many steps, whether the last one ended, its infos."""
    total = 0.0
    for _ in range(times):
        _, rewards, terminals, _, infos = env.step(np.array([action], np.int32))
        total += float(rewards[0])
    return total, bool(terminals[0]), infos


def keep(s, *cells):
    """Only the invaders in these (column, row) are left."""
    for column in range(8):
        s.columns[column] = sum(1 << row for c, row in cells if c == column)
    s.alive = len(cells)


def test_the_ship_stops_at_the_walls():
    env, s = make()
    assert s.ship == 100
    step(env, RIGHT, 10)
    assert s.ship == 120
    step(env, LEFT, 200)
    assert s.ship == 7
    assert env.observations[0, 0] == np.float32(2 * 7 / 200 - 1)


def test_a_step_is_frameskip_ticks():
    env, s = make(frameskip=4)
    step(env, RIGHT)
    assert s.ship == 108


@pytest.mark.parametrize(("alive", "factor"), [(40, 1), (20, 3), (1, 4.9)])
def test_the_march_gets_faster(alive, factor):
    env, s = make(march_speed=0.5)
    cells = [(c, row) for row in range(5) for c in range(8)]
    keep(s, *cells[:alive])
    before = s.grid_x
    step(env, NOTHING)
    assert s.grid_x - before == pytest.approx(0.5 * factor, rel=1e-5)


def test_the_grid_turns_at_the_edge_of_what_is_left_of_it():
    env, s = make(march_speed=0.5)
    keep(s, (3, 2))
    s.grid_x = 200 - 12 - 3 * 16 - 3  # the invader's right side is at 197; it marches 2.45 a tick
    bottom = s.grid_y
    step(env, NOTHING)
    assert (s.way, s.grid_y) == (1, bottom)
    step(env, NOTHING)
    assert (s.way, s.grid_y) == (-1, bottom - 8)
    s.grid_x = -3 * 16 + 3
    step(env, NOTHING, 2)
    assert (s.way, s.grid_y) == (1, bottom - 16)


@pytest.mark.parametrize(("row", "points"), [*enumerate([10, 10, 20, 20, 30])])
def test_points_of_the_rows(row, points):
    env, s = make(reward_points=0.1)
    keep(s, (0, row), (7, 4))
    s.shot_x, s.shot_y = s.grid_x + 6, s.grid_y + row * 14 - 3
    total, ended, _ = step(env, NOTHING)
    assert (s.score, s.alive, ended) == (points, 1, False)
    assert s.columns[0] == 0
    assert s.shot_y == -1
    assert total == pytest.approx(0.1 * points)


@pytest.mark.parametrize(
    ("dx", "dy", "hit"),
    [(0.5, 0, True), (11.5, 7.5, True), (12.5, 4, False), (15.9, 4, False), (6, 8.5, False)],
)
def test_gaps_between_invaders(dx, dy, hit):
    env, s = make()
    s.shot_x, s.shot_y = s.grid_x + 16 + dx, s.grid_y + 14 + dy - 4
    s.columns[1] = 0b11111
    step(env, NOTHING)
    assert (s.alive == 39) == hit


def test_one_shot_at_a_time():
    env, s = make()
    step(env, FIRE)
    assert (s.shot_x, s.shot_y) == (100, 8)
    step(env, RIGHT_FIRE)
    assert (s.shot_x, s.shot_y) == (100, 12)
    assert env.observations[0, 2:5] == pytest.approx([1, 12 / 180, -2 / 200])
    s.shot_x, s.shot_y = 1, 177
    step(env, NOTHING)
    assert s.shot_y == -1  # over the top
    assert env.observations[0, 2] == 0


def test_shots_and_bombs_eat_shields():
    env, s = make()
    s.shot_x, s.shot_y = 66 + 4 * 2 + 1, 25  # at 29: the lowest cell of the third column
    step(env, NOTHING)
    assert s.shields[1] == FULL & ~(1 << 2)
    assert s.shot_y == -1
    s.bombs[0], s.falls[0] = 66 + 1, 41  # at 39.5: the highest of the first column
    step(env, NOTHING)
    assert s.shields[1] == FULL & ~(1 << 2) & ~(1 << 12)
    assert s.falls[0] == -1
    s.bombs[0], s.falls[0] = 60, 41  # between two shields
    step(env, NOTHING, 10)
    assert s.falls[0] == 41 - 15


@pytest.mark.parametrize(("offset", "hit"), [(0, True), (6.5, True), (-6.5, True), (7.5, False)])
def test_a_bomb_costs_a_life(offset, hit):
    env, s = make(reward_hit=-0.25, lives=2)
    s.ship, s.bombs[3], s.falls[3], s.bombs[0], s.falls[0] = 50, 50 + offset, 9, 150, 100
    s.shot_y = 60
    total, ended, _ = step(env, NOTHING)
    assert not ended
    assert (s.lives, total) == ((1, -0.25) if hit else (2, 0))
    assert s.ship == (100 if hit else 50)
    assert (s.shot_y, s.falls[0]) == ((-1, -1) if hit else (64, 98.5))


def test_the_last_life_ends_it():
    env, s = make(lives=1)
    s.score, s.bombs[0], s.falls[0] = 540, 100, 9
    total, ended, infos = step(env, NOTHING)
    assert (total, ended) == (-0.5, True)
    assert infos[0]["perf"][0] == 540 / (3 * 8 * 90)


def test_bombs_fall_from_the_lowest_of_a_column():
    env, s = make(bomb_rate=1, march_speed=0.05)
    keep(s, *[(c, 3) for c in range(8)])
    step(env, NOTHING)
    assert s.falls[0] == s.grid_y + 3 * 14 - 1.5
    assert (s.bombs[0] - s.grid_x - 6) % 16 == pytest.approx(0, abs=1e-3)
    step(env, NOTHING, 8)
    assert sum(y >= 0 for y in s.falls) == 6


def test_bombs_come_at_their_rate():
    env = OceanEnv("space_invaders", 4000, frameskip=1, bomb_rate=0.3)
    env.reset(seed=0)
    env.step(np.zeros(4000, np.int32))
    share = np.mean([c_state(env, k).falls[0] >= 0 for k in range(4000)])
    assert share == pytest.approx(0.3, abs=5 * (0.21 / 4000) ** 0.5)


@pytest.mark.parametrize("rows", [2, 5])
def test_waves_and_victory(rows):
    env, s = make(rows=rows, waves=2)
    points = 8 * sum([10, 10, 20, 20, 30][:rows])
    assert s.alive == 8 * rows
    for wave in range(2):
        keep(s, (0, 0))
        s.score = points * (wave + 1) - 10
        s.shot_x, s.shot_y = s.grid_x + 6, s.grid_y - 3
        _, ended, infos = step(env, NOTHING)
        if wave == 0:
            assert (s.wave, s.alive, s.grid_y) == (1, 8 * rows, 104 - 8)
    assert ended
    assert infos[0]["perf"][0] == 1
    assert infos[0]["waves"][0] == 2


@pytest.mark.parametrize(("bottom", "lands"), [(48, False), (47, True)])
def test_the_landing_ends_it(bottom, lands):
    env, s = make(reward_landing=-0.75)
    keep(s, (7, 1))  # shields reach up to 40; at the edge it goes down by 8
    s.grid_x, s.grid_y = 200 - 12 - 7 * 16, bottom - 14
    total, ended, _ = step(env, NOTHING)
    assert ended == lands
    assert total == (-0.75 if lands else 0)


def test_the_strips_on_paper():
    env, s = make()
    keep(s, (2, 1), (2, 4))
    s.ship, s.grid_x, s.way = 100, 100 - 38, 1
    s.bombs[0], s.falls[0] = 100 + 13, 90.0  # 13 / 8 + 15.5 = 17.1: strip 17
    s.bombs[1], s.falls[1] = 100 + 13, 120.0
    for shield in range(4):
        s.shields[shield] = 0
    s.shields[0] = 1 << 7  # column 1 of the left shield: its middle is at 28
    step(env, NOTHING)
    invaders, bombs, shields = env.observations[0, 9:].reshape(3, 31)
    (strip,) = np.nonzero(invaders)[0]
    assert strip == 15  # its middle is the ship's
    assert invaders[15] == pytest.approx(1 - (104 + 14) / 180)
    assert np.nonzero(bombs)[0].tolist() == [17]
    assert bombs[17] == pytest.approx(1 - 88.5 / 180)
    assert np.nonzero(shields)[0].tolist() == [6]  # (28 - 100) / 8 + 15.5 = 6.5
    scalars = env.observations[0, :9]
    phase = ((s.grid_x - 100) / 8) % 1
    expected = [0, 1, 0, 0, 0, 1, 1 - 2 / 40, phase, (104 + 14) / 180]
    np.testing.assert_allclose(scalars, expected, atol=1e-5)

"""Asteroids: its rules on paper."""

import math

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

LEFT, RIGHT, THRUST, FIRE = 1, 2, 3, 6
SMALL, MEDIUM, LARGE = range(3)
RADII, SPEEDS, POINTS = [10, 20, 40], [1.8, 1.2, 0.8], [100, 50, 20]


def make(frameskip=1, rock_speed=1, **arguments):
    """One environment with a single rock at rest in a corner, its State."""
    env = OceanEnv("asteroids", 1, frameskip=frameskip, rock_speed=rock_speed, **arguments)
    env.reset(seed=0)
    s = c_state(env)
    rocks(s, (0, 0, LARGE))
    s.ghost = 0
    return env, s


def rocks(s, *each):
    """These rocks, at rest: x, y, size."""
    s.num_rocks = len(each)
    for k, (x, y, size) in enumerate(each):
        s.xs[k], s.ys[k], s.vxs[k], s.vys[k], s.sizes[k], s.radii[k] = x, y, 0, 0, size, RADII[size]


def shoot(s, x, y, vx=8, vy=0, ticks=36):
    """A shot in the air."""
    shot = s.shots[s.num_shots]
    shot.x, shot.y, shot.vx, shot.vy, shot.ticks = x, y, vx, vy, ticks
    s.num_shots += 1


def step(env, action=0, times=1):
    """The sum of rewards of so many steps, whether the last one ended, its infos."""
    total = 0.0
    for _ in range(times):
        _, rewards, terminals, _, infos = env.step(np.array([action], np.int32))
        total += float(rewards[0])
    return total, bool(terminals[0]), infos


@pytest.mark.parametrize("nose", range(64))
def test_thrust_along_the_nose(nose):
    env, s = make()
    s.nose = nose
    step(env, THRUST)
    angle = 2 * math.pi * nose / 64
    assert (s.vx, s.vy) == pytest.approx((0.1 * math.cos(angle), 0.1 * math.sin(angle)), abs=1e-7)
    assert (s.x, s.y) == pytest.approx((256 + s.vx, 256 + s.vy))


def test_turning():
    env, s = make()
    assert s.nose == 48
    step(env, RIGHT, 20)
    assert s.nose == 4
    step(env, LEFT, 5)
    assert s.nose == 63


def test_drag_and_a_step_of_frameskip_ticks():
    env, s = make(frameskip=3)
    s.vx = 4
    step(env)
    speeds = [4 * 0.99, 4 * 0.99**2, 4 * 0.99**3]
    assert s.vx == pytest.approx(speeds[-1])
    assert s.x == pytest.approx(256 + sum(speeds))


def test_what_leaves_the_field_comes_back():
    env, s = make()
    s.x, s.y, s.vx, s.vy = 510, 1, 4, -4
    s.xs[0], s.ys[0], s.vxs[0], s.vys[0] = 200, 511, 0, 2
    shoot(s, 100, 3, 0, -8)
    step(env)
    assert (s.x, s.y) == pytest.approx((510 + 3.96 - 512, 1 - 3.96 + 512), abs=1e-4)
    assert (s.xs[0], s.ys[0]) == (200, 1)
    assert s.shots[0].y == 507


def test_shots_on_paper():
    env, s = make()
    s.nose = 0
    step(env, FIRE)
    assert (s.num_shots, s.shots[0].x, s.shots[0].y) == (1, 264, 256)
    step(env, FIRE, 5)
    assert s.num_shots == 1
    step(env, FIRE)  # six ticks after the first
    assert s.num_shots == 2
    step(env, FIRE, 12)
    assert s.num_shots == 4
    step(env, FIRE, 16)  # the thirty-fifth tick of the first, which is at its last but one
    assert (s.num_shots, s.shots[0].ticks) == (4, 1)
    assert s.shots[0].x == 256 + 35 * 8 - 512 * (256 + 35 * 8 >= 512)
    step(env)
    assert s.num_shots == 3


@pytest.mark.parametrize("size", [SMALL, MEDIUM, LARGE])
def test_rocks_split(size):
    env, s = make(reward_points=0.001, rock_speed=2)
    rocks(s, (100, 100, size), (400, 400, LARGE))
    shoot(s, 100 - RADII[size] - 7, 100)
    total, ended, _ = step(env)
    assert not ended
    assert s.score == POINTS[size]
    assert total == pytest.approx(0.001 * POINTS[size])
    assert s.num_shots == 0
    sizes = sorted(s.sizes[k] for k in range(s.num_rocks))
    assert sizes == sorted([LARGE, *[size - 1] * 2 * (size > 0)])
    for k in range(s.num_rocks):
        if s.sizes[k] == size - 1:
            assert s.radii[k] == RADII[size - 1]
            speed = math.hypot(s.vxs[k], s.vys[k])
            assert speed == pytest.approx(2 * SPEEDS[size - 1], rel=1e-5)
            assert (s.xs[k], s.ys[k]) == (100, 100)


@pytest.mark.parametrize("size", [SMALL, MEDIUM, LARGE])
@pytest.mark.parametrize(("gap", "hit"), [(-0.5, True), (0.5, False)])
@pytest.mark.parametrize("corner", [False, True])
def test_where_a_rock_touches_the_ship(size, gap, hit, corner):
    env, s = make(reward_hit=-0.5, lives=2)
    place = 2 if corner else 200  # the way round the edge counts as well
    s.x = s.y = place
    rocks(s, ((place - RADII[size] - 8 - gap) % 512, place, size))
    total, ended, _ = step(env)
    assert (total, ended, s.lives) == ((-0.5, False, 1) if hit else (0, False, 2))
    assert (s.x, s.y) == ((256, 256) if hit else (place, place))
    assert s.ghost == (90 if hit else 0)


def test_rocks_pass_through_a_new_ship():
    env, s = make(lives=1)
    s.ghost = 3
    rocks(s, (256, 256, LARGE))
    assert step(env, 0, 2)[1] is False
    assert env.observations[0, 3] == np.float32(1 / 90)
    s.score = 520
    total, ended, infos = step(env)
    assert (total, ended) == (-1, True)
    assert infos[0]["perf"][0] == 520 / (520 * 4 * 4)


@pytest.mark.parametrize(("count", "waves"), [(1, 2), (8, 1)])
def test_waves_and_victory(count, waves):
    env, s = make(rocks=count, waves=waves)
    for wave in range(waves):
        rocks(s, (100, 100, SMALL))
        s.score = 520 * count * (wave + 1) - 100
        shoot(s, 90, 100)
        _, ended, infos = step(env)
        if wave + 1 < waves:
            assert (s.wave, s.num_rocks, ended) == (1, count, False)
    assert ended
    assert infos[0]["perf"][0] == 1
    assert infos[0]["waves"][0] == waves


def test_a_wave_begins_far_away_at_the_speed_of_its_rocks():
    env = OceanEnv("asteroids", 300, rocks=8, rock_speed=2)
    env.reset(seed=2)
    directions = set()
    for k in range(300):
        s = c_state(env, k)
        assert s.num_rocks == 8
        for x, y, vx, vy in zip(*(list(v)[:8] for v in (s.xs, s.ys, s.vxs, s.vys)), strict=True):
            assert max(abs(x - 256), abs(y - 256)) >= 128
            assert min(x, y) >= 0
            assert max(x, y) < 512
            assert math.hypot(vx, vy) == pytest.approx(1.6, rel=1e-5)
            directions.add(round(math.atan2(vy, vx) * 32 / math.pi) % 64)
    assert len(directions) == 64


def test_the_observation_on_paper():
    env, s = make()
    s.nose, s.vx, s.vy = 16, 1 / 0.99, 2 / 0.99  # downwards: ahead is y, to the right is -x
    s.x, s.y = 99, 98
    rocks(s, (100, 200, LARGE), (500, 100, SMALL), (100, 480, MEDIUM))
    shoot(s, 300, 300)
    step(env)
    row = env.observations[0]
    scalars = [2 / 8, -1 / 8, 3 / 4, 0, 1, 100 / 256 - 1, 100 / 256 - 1]
    np.testing.assert_allclose(row[:7], scalars, atol=1e-5)
    first = [100 / 256, 0, -2 / 8, 1 / 8, 1, 60 / 512, 0]
    second = [0, 112 / 256, -2 / 8, 1 / 8, 0.25, 102 / 512, 1]
    third = [-132 / 256, 0, -2 / 8, 1 / 8, 0.5, 112 / 512, 0]
    near = row[7:].reshape(6, 7)
    np.testing.assert_allclose(near[:3], [first, second, third], atol=1e-4)
    assert not near[3:].any()


def test_the_nearest_six_of_many():
    env, s = make()
    s.x, s.y = 0, 0
    places = np.random.default_rng(3).permutation(np.arange(60, 60 + 20 * 8, 8))
    rocks(s, *[(float(x), 0, SMALL) for x in places])
    s.ghost = 90
    step(env)
    edges = env.observations[0, 7:].reshape(6, 7)[:, 5]
    np.testing.assert_allclose(edges, (np.arange(60, 60 + 48, 8) - 10) / 512, atol=1e-5)


def test_max_steps_cut_an_episode():
    env = OceanEnv("asteroids", 1, max_steps=3)
    env.reset(seed=0)
    cuts = [bool(env.step(np.array([0], np.int32))[3][0]) for _ in range(6)]
    assert cuts == [False, False, True] * 2

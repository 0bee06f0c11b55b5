"""Freeway: its rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

STAY, UP, DOWN = range(3)
TOP = 10 * 32 + 16


def make(frameskip=1, **arguments):
    """One environment whose cars stand far away, its State."""
    env = OceanEnv("freeway", 1, frameskip=frameskip, **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for lane in range(10):
        s.ways[lane], s.speeds[lane] = 300, 0
    return env, s


def step(env, action, times=1):
    """The sum of rewards of so many steps, and the infos of the last."""
    total = 0.0
    for _ in range(times):
        _, rewards, _, _, infos = env.step(np.array([action], np.int32))
        total += float(rewards[0])
    return total, infos


def test_an_empty_road_is_crossed_every_168_ticks():
    env, s = make(reward_lane=0.05)
    total, _ = step(env, UP, 167)
    assert s.y == 334
    assert total == pytest.approx(10 * 0.05)
    total, _ = step(env, UP)
    assert (total, s.score, s.y) == (1, 1, 0)


@pytest.mark.parametrize("frameskip", [1, 4])
def test_crossings_without_a_stop_are_perf_1(frameskip):
    env, _ = make(frameskip)
    total, infos = step(env, UP, 512)
    crossings = 512 * frameskip // 168
    assert env.truncations[0]
    assert infos[0]["score"][0] == crossings
    assert infos[0]["perf"][0] == 1
    lanes = min(10, -(-(512 * frameskip % 168 * 2) // 32))  # of the last, unfinished one
    assert total == pytest.approx(crossings * 1.5 + lanes * 0.05)


def test_the_walker_goes_no_lower_than_the_pavement():
    env, s = make()
    step(env, DOWN, 3)
    assert s.y == 0
    step(env, UP, 5)
    step(env, DOWN, 2)
    step(env, STAY)
    assert s.y == 6


def test_a_lane_pays_once_a_crossing():
    env, _ = make(reward_lane=0.5)
    assert step(env, UP, 17)[0] == 1.0  # y = 34: its head, at 50, is in the second lane
    assert step(env, DOWN, 17)[0] == 0
    assert step(env, UP, 17)[0] == 0


def test_cars_drive_round():
    env, s = make()
    s.ways[3], s.speeds[3] = -60, 3
    step(env, STAY)
    assert s.ways[3] == -63
    step(env, STAY)
    assert s.ways[3] == -66 + 640
    step(env, STAY)
    assert s.ways[3] == -69 + 640


@pytest.mark.parametrize(
    ("lane", "y", "way", "hit"),  # lane k is 16 + 32 k to 48 + 32 k high, its car 24 in the middle
    [
        (0, 4, -1, False),  # the head at 20 touches the car's lower side
        (0, 6, -1, True),
        (0, 42, -1, True),
        (0, 44, -1, False),  # its foot is on the car's upper side
        (0, 20, 0, False),  # the front touches the walker's side
        (0, 20, -63, True),
        (4, 4 + 4 * 32, -20, False),
        (4, 6 + 4 * 32, -20, True),
        (9, 42 + 9 * 32, -20, True),
        (9, 44 + 9 * 32, -20, False),
        (5, 20, -20, False),
    ],
)
def test_what_hits_the_walker(lane, y, way, hit):
    env, s = make()
    s.y, s.ways[lane] = y, way
    step(env, STAY)
    assert (s.stun > 0) == hit
    assert s.y == (max(y - 40, 0) if hit else y)


def test_a_walker_that_was_hit_waits_16_ticks():
    env, s = make()
    s.y, s.ways[5], s.ways[4] = 200, -20, -20  # thrown back to 160, where lane 4's car is
    step(env, UP)
    assert (s.y, s.stun) == (162, 16)  # 202 - 40
    assert env.observations[0, 1] == 1
    step(env, UP, 16)
    assert (s.y, s.stun) == (162, 0)
    assert env.observations[0, 1] == 0
    step(env, UP)
    assert (s.y, s.stun) == (164 - 40, 16)  # the car of lane 4


def test_the_observation_on_paper():
    env, s = make()
    s.y = 166
    for lane in range(10):
        s.ways[lane] = 10 * lane - 50
    step(env, UP)
    row = env.observations[0]
    assert row[0] == np.float32(168 - 40) / TOP  # thrown back by lane 4, which is at -10
    assert row[1] == 1
    np.testing.assert_allclose(row[2::2], [(10 * lane - 50) / 640 for lane in range(10)], rtol=1e-6)


def test_speeds_are_those_of_the_arguments():
    env = OceanEnv("freeway", 2000, max_speed=3)
    observations, _ = env.reset(seed=1)
    speeds = 8 * observations[:, 3::2]
    assert speeds.min() >= 1
    assert speeds.max() <= 3
    assert speeds.mean() == pytest.approx(2, abs=5 * 2 / (12 * 20_000) ** 0.5)


def test_a_step_is_frameskip_ticks():
    fine, coarse = (OceanEnv("freeway", 8, frameskip=f, max_steps=4000) for f in (1, 4))
    fine.reset(seed=3)
    coarse.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(600):
        actions = rng.choice(3, 8, p=[0.1, 0.8, 0.1]).astype(np.int32)
        total = np.zeros(8)
        for _ in range(4):
            total += fine.step(actions)[1]
        rewards = coarse.step(actions)[1]
        np.testing.assert_allclose(rewards, total, atol=1e-6)
        assert coarse.observations.tobytes() == fine.observations.tobytes()

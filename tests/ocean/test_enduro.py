"""Enduro: its rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

LEFT, RIGHT, THROTTLE, BRAKE = 1, 2, 3, 6


def make(frameskip=1, curves=0, day_steps=1000, **arguments):
    """One environment on a straight road whose cars are far ahead, its State."""
    env = OceanEnv(
        "enduro", 1, frameskip=frameskip, curves=curves, day_steps=day_steps, **arguments
    )
    env.reset(seed=0)
    s = c_state(env)
    away(s)
    return env, s


def away(s, *cars):
    """One car far behind, then these from near to far (distance, x), the others far ahead."""
    s.rear = 0
    places = [(-60, -36), *cars]
    places += [(3000 + 100 * k, 36) for k in range(8 - len(places))]
    for k, (way, x) in enumerate(places):
        s.ways[k], s.xs[k], s.lanes[k] = way, x, x


def step(env, action=0, times=1):
    """The sum of rewards of so many steps, whether the last one ended, its infos."""
    total = 0.0
    for _ in range(times):
        _, rewards, terminals, _, infos = env.step(np.array([action], np.int32))
        total += float(rewards[0])
    return total, bool(terminals[0]), infos


def test_throttle_and_brake():
    env, s = make()
    step(env, THROTTLE, 100)
    assert s.speed == pytest.approx(4, rel=1e-5)
    step(env, 0, 10)
    assert s.speed == pytest.approx(4, rel=1e-5)
    step(env, BRAKE, 5)
    assert s.speed == pytest.approx(3, rel=1e-5)
    step(env, BRAKE, 20)
    assert s.speed == 0
    s.speed = 9.99
    away(s)
    step(env, THROTTLE)
    assert s.speed == 10


def test_steering_goes_with_the_speed():
    env, s = make()
    step(env, RIGHT, 5)
    assert s.x == 0
    s.speed = 10
    step(env, RIGHT, 5)
    assert s.x == 10
    s.speed = 5
    step(env, LEFT, 3)
    assert s.x == 7
    s.speed = 10
    step(env, RIGHT + THROTTLE)
    assert s.x == 9


@pytest.mark.parametrize(("side", "action"), [(1, RIGHT), (-1, LEFT)])
def test_the_edge_of_the_road_slows_down(side, action):
    env, s = make()
    s.x, s.speed = 51 * side, 10
    step(env, action)
    assert (s.x, s.speed) == (52 * side, pytest.approx(9.7, rel=1e-6))
    step(env, 0)
    assert s.speed == pytest.approx(9.7, rel=1e-6)


def test_a_curve_pushes_outwards():
    env, s = make()
    s.curve = s.next_curve = -0.5
    s.speed, s.curve_ticks = 10, 500
    step(env)
    assert s.x == 0.75
    s.speed = 4
    step(env)
    assert s.x == pytest.approx(0.75 + 0.75 * 0.4)


def test_curves_come_slowly_and_are_no_sharper_than_allowed():
    env, s = make(curves=0.5)
    s.next_curve, s.curve_ticks, s.curve = 0.5, 500, 0
    step(env, 0, 3)
    assert s.curve == pytest.approx(0.5 * (1 - 0.98**3))
    drawn = []
    for _ in range(300):
        s.curve_ticks = 0
        step(env)
        assert 100 <= s.curve_ticks <= 300
        drawn.append(s.next_curve)
    assert max(np.abs(drawn)) <= 0.5
    assert min(drawn) < -0.4
    assert max(drawn) > 0.4


def test_overtaking_and_being_overtaken():
    env, s = make(reward_pass=0.25, traffic_speed=4)
    away(s, (3, 36))
    s.speed = 6
    total, _, _ = step(env)
    assert (total, s.passed, s.ways[1]) == (0, 0, 1)
    total, _, _ = step(env)
    assert (total, s.passed, s.score, s.ways[1]) == (0.25, 1, 1, -1)
    s.speed = 3
    total, _, _ = step(env)  # it is alongside again
    assert (total, s.passed, s.score) == (-0.25, 0, 0)


@pytest.mark.parametrize("traffic", [2, 7])
def test_the_others_have_a_speed_of_their_own(traffic):
    env, s = make(traffic_speed=traffic)
    away(s, (300, 36))
    s.speed = 5
    step(env, 0, 3)
    assert s.ways[1] == 300 - 3 * (5 - traffic)


@pytest.mark.parametrize(
    ("way", "x", "crash"),  # it is 2 nearer after the step, and 24 long
    [(25, 0, True), (27, 0, False), (25, 15, True), (25, -15, True), (25, 17, False)],
)
def test_running_into_a_car(way, x, crash):
    env, s = make(reward_crash=-0.75, traffic_speed=4)
    away(s, (way, x))
    s.speed = 6
    total, _, _ = step(env)
    assert (total, s.crashes) == ((-0.75, 1) if crash else (0, 0))
    assert (s.speed, s.stun) == ((1, 16) if crash else (6, 0))


def test_after_a_crash_the_driver_waits():
    env, s = make(traffic_speed=4)
    away(s, (25, 0))
    s.speed = 6
    step(env)
    step(env, RIGHT + THROTTLE, 16)
    assert (s.speed, s.x, s.stun, s.crashes) == (1, 0, 0, 1)
    assert s.ways[1] == 23 + 16 * 3
    step(env, RIGHT + THROTTLE)
    assert s.speed == pytest.approx(1.04)
    assert s.x == pytest.approx(0.208)


def test_a_car_from_behind_changes_its_lane():
    env, s = make(traffic_speed=4)
    away(s)
    s.speed, s.xs[0], s.lanes[0], s.x = 3, 0, 0, 10
    step(env)
    assert (s.lanes[0], s.xs[0]) == (-36, -1)
    step(env, 0, 3)
    assert s.xs[0] == -4
    s.lanes[0], s.x = 36, 30
    step(env)
    assert s.lanes[0] == 0


@pytest.mark.parametrize("spacing", [60, 100])
def test_cars_circulate_in_both_directions(spacing):
    env, s = make(spacing=spacing)
    away(s, *[(40 + spacing * k, 0) for k in range(7)])
    for speed in (10, 0):
        for _ in range(400):
            s.speed, s.stun = speed, 2
            step(env)
            order = [s.ways[(s.rear + k) % 8] for k in range(8)]
            gaps = np.diff(order)
            assert order == sorted(order)
            assert order[0] < 0
        assert gaps.min() >= 0.59 * spacing
        assert gaps.max() <= 1.41 * spacing
    assert {s.lanes[k] for k in range(8)} <= {-36, 0, 36}
    assert s.score == pytest.approx(400 * (6 - 4) / spacing, abs=4)


def test_days_and_quotas():
    env, s = make(days=2, day_steps=10, quota=3, quota_growth=4, reward_day=0.25)
    step(env, 0, 9)
    s.passed, s.score = 5, 5
    away(s)
    total, ended, _ = step(env)
    assert (total, ended) == (0.25, False)
    assert (s.day, s.quota, s.passed, s.steps) == (1, 7, 0, 0)
    step(env, 0, 9)
    away(s)
    s.passed, s.score = 7, 12
    total, ended, infos = step(env)
    assert (total, ended) == (0.25, True)
    assert infos[0]["perf"][0] == 1
    assert infos[0]["days"][0] == 2
    assert infos[0]["score"][0] == 12


@pytest.mark.parametrize(("passed", "counted"), [(6, 6), (-4, 0)])
def test_a_missed_quota_ends_it(passed, counted):
    env, s = make(days=2, day_steps=10, quota=3, quota_growth=4, reward_miss=-0.5)
    s.day, s.quota, s.counted = 1, 7, 3
    step(env, 0, 9)
    away(s)
    s.passed = passed
    total, ended, infos = step(env)
    assert (total, ended) == (-0.5, True)
    assert infos[0]["perf"][0] == (3 + counted) / 10
    assert infos[0]["days"][0] == 1


def test_a_step_is_frameskip_ticks():
    env, s = make(frameskip=5)
    step(env, THROTTLE)
    assert s.speed == pytest.approx(0.2)
    assert s.steps == 1


def test_the_observation_on_paper():
    env, s = make(days=4, day_steps=200, quota=10, traffic_speed=4)
    cars = [(-20, 36), (80, -36), (170, 0), (260, 36), (350, 0), (900, 0)]
    away(s, *cars)
    s.speed, s.x, s.day, s.steps, s.passed = 4, 12, 1, 49, -5
    s.curve, s.next_curve, s.curve_ticks = 0.5, 0.5, 100
    step(env)
    x = 12 - 1.5 * 0.5 * 0.4
    row = env.observations[0]
    scalars = [x / 60, 0.4, 0.5, 0.5, 0.75, 1, 0.75]
    np.testing.assert_allclose(row[:7], scalars, rtol=1e-5)
    expected = [((at - x) / 120, np.clip(1 - way / 800, -1, 1)) for way, at in cars]
    np.testing.assert_allclose(row[7:].reshape(6, 2), expected, atol=1e-5)

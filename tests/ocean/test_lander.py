"""Lander: its mechanics on paper."""

import math

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

NOTHING, LEFT, MAIN, RIGHT = range(4)
STEP = 0.05


def make(x=0.0, y=8.0, vx=0.0, vy=0.0, angle=0.0, spin=0.0, **arguments):
    """One environment with its craft there, without wind and hills; its State."""
    env = OceanEnv("lander", 1, **{"wind": 0, "roughness": 0, "reward_shaping": 0, **arguments})
    env.reset(seed=0)
    s = c_state(env)
    s.x, s.y, s.vx, s.vy, s.spin = x, y, vx, vy, spin
    s.sine, s.cosine = math.sin(angle), math.cos(angle)
    return env, s


def step(env, action=NOTHING, times=1):
    """(sum of rewards, ended, info) of so many steps, or fewer where the episode ends."""
    total = 0.0
    for _ in range(times):
        dtype = env.actions.dtype
        _, rewards, terminals, _, infos = env.step(np.array([action], dtype))
        total += float(rewards[0])
        if terminals[0]:
            return total, True, infos[0]
    return total, False, None


@pytest.mark.parametrize("gravity", [1.0, 3.0])
def test_free_fall(gravity):
    env, s = make(gravity=gravity, vx=1)
    step(env, times=20)
    assert s.vy == pytest.approx(-gravity * 1.0, rel=1e-5)
    assert s.y == pytest.approx(8 - gravity * STEP**2 * 20 * 21 / 2, rel=1e-5)
    assert s.x == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("angle", [0.0, 0.5, -1.0])
def test_the_main_engine_pushes_along_the_axis(angle):
    env, s = make(angle=angle, gravity=2, main_thrust=10, fuel_cost=0.5)
    total, _, _ = step(env, MAIN)
    assert s.vx == pytest.approx(-10 * math.sin(angle) * STEP, abs=1e-6)
    assert s.vy == pytest.approx((10 * math.cos(angle) - 2) * STEP, abs=1e-6)
    assert s.spin == 0
    assert total == pytest.approx(-0.5 * STEP)


@pytest.mark.parametrize(("action", "sign"), [(LEFT, 1), (RIGHT, -1)])
def test_the_side_engine_pushes_and_turns(action, sign):
    env, s = make(side_thrust=2, fuel_cost=1)
    total, _, _ = step(env, action)
    assert s.vx == pytest.approx(-sign * 2 * STEP)
    assert s.spin == pytest.approx(sign * 0.6 * 2 / 0.4 * STEP)
    assert total == pytest.approx(-STEP / 4)


def test_throttles_are_the_choices_and_more():
    for choice, throttles in (
        (NOTHING, [-3, 0]),
        (MAIN, [9, 0]),
        (LEFT, [-1, -1]),
        (RIGHT, [0, 7]),
    ):
        (env, s), (other, t) = make(), make(actions="continuous")
        step(env, choice, 5)
        step(other, throttles, 5)
        assert (s.vx, s.vy, s.spin, s.fuel) == (t.vx, t.vy, t.spin, t.fuel)
    env, s = make(actions="continuous", main_thrust=8, gravity=3)
    step(env, [0.25, 0.0])
    assert s.vy == pytest.approx((2 - 3) * STEP)


def test_a_turn_keeps_its_length():
    """Each step turns by 2 atan(step x spin / 2)."""
    env, s = make(spin=1.5, gravity=0.5, y=13)
    step(env, times=60)
    angle = 60 * 2 * math.atan(STEP * 1.5 / 2)
    assert s.sine == pytest.approx(math.sin(angle), abs=1e-4)
    assert s.cosine == pytest.approx(math.cos(angle), abs=1e-4)
    assert s.sine**2 + s.cosine**2 == pytest.approx(1, abs=1e-6)


def test_wind_pushes_one_kilogram():
    env, s = make()
    s.wind = -0.6
    step(env, times=10)
    assert s.vx == pytest.approx(-0.6 * 0.5)


def test_two_springs_carry_the_weight():
    """Each foot sinks gravity / (2 x 100): the centre comes to 0.7 less that, upright."""
    env, s = make(y=0.75, gravity=2)
    for _ in range(100):
        s.rest = 0  # it goes on
        step(env)
    assert s.y == pytest.approx(0.7 - 2 / 200, abs=1e-4)
    assert (s.vx, s.vy, s.spin, s.sine) == pytest.approx((0, 0, 0, 0), abs=1e-4)
    assert env.observations[0, 7:9].tolist() == [1, 1]


def test_a_foot_in_the_ground_lifts_and_turns():
    """The right foot alone, 2 cm deep: 2 N up at 0.8 m from the centre."""
    env, s = make(y=0.68, gravity=0.5)
    s.ground[4] = -1  # the line falls to the left of x = 0
    step(env)
    assert list(s.feet) == [0, 1]
    assert s.vy == pytest.approx((100 * 0.02 - 0.5) * STEP, abs=1e-5)
    assert s.spin == pytest.approx(0.8 * 2 / 0.4 * STEP, abs=1e-5)


def test_a_slow_foot_drags_and_a_fast_one_rubs():
    """2 N for each metre a second and foot, at most 0.8 of the pressure: 1.5 N each."""
    for speed, force in ((0.25, 2 * 0.5), (3, 2 * 0.8 * 1.5)):
        env, s = make(y=0.685, vx=speed, gravity=3)
        step(env)
        assert s.vx == pytest.approx(speed - force * STEP, abs=1e-4)
        assert s.spin == pytest.approx(-0.7 * force / 0.4 * STEP, abs=1e-4)  # it trips


def test_a_foot_under_a_turning_craft_drags():
    """A foot 0.7 m below slides at 0.7 x 0.1 m/s: 0.14 N on each."""
    env, s = make(y=0.685, spin=0.1, gravity=3)
    step(env)
    assert s.vx == pytest.approx(-2 * 0.14 * STEP, abs=1e-5)


def test_friction_stops_a_sliding_craft():
    env, s = make(y=0.685, vx=1, gravity=3)
    for _ in range(300):
        s.rest = 0
        step(env)
    assert (s.vx, s.spin) == pytest.approx((0, 0), abs=1e-3)


@pytest.mark.parametrize(
    ("x", "landed"),
    [(0, True), (1.19, True), (-1.19, True), (1.21, False), (-1.21, False), (6, False)],
)
def test_rest_on_the_pad_is_a_landing(x, landed):
    """The pad reaches to 2 m, a foot stands 0.8 m beside the centre."""
    env, s = make(x=x, y=0.685, gravity=3, reward_landing=0.75)
    s.fuel = 5
    total, ended, info = step(env, times=5)
    assert ended
    assert total == pytest.approx(0.75 if landed else 0)
    assert info["perf"][0] == landed
    assert info["score"][0] == pytest.approx(1 - 5 / 20 if landed else 0)
    assert info["crashed"][0] == 0
    assert info["fuel"][0] == pytest.approx(5)
    assert info["episode_length"][0] == 5


def test_a_craft_that_moves_does_not_rest():
    env, s = make(y=0.685, gravity=3, vx=1)
    _, ended, _ = step(env, times=5)
    assert not ended
    assert s.rest < 5


@pytest.mark.parametrize(
    ("craft", "crash"),
    [
        ({"x": 9.9, "vx": 1.9}, False),
        ({"x": 9.9, "vx": 2.1}, True),
        ({"x": -9.9, "vx": -2.1}, True),
        ({"y": 13.9, "vy": 1.9}, False),
        ({"y": 13.9, "vy": 2.2}, True),
        ({"y": 0.69, "vy": -1.9}, False),  # max_impact is 2 here
        ({"y": 0.69, "vy": -2.1}, True),
        ({"y": 0.71, "vy": -2.1}, False),  # the feet come to the ground with this step
        ({"y": 0.60, "angle": math.pi}, False),  # upside down: the roof is 0.5 m above
        ({"y": 0.49, "angle": math.pi}, True),
        ({"x": 5, "y": 0.6, "angle": math.pi / 2}, False),  # on its side: the wall is 0.5 m away
        ({"x": 5, "y": 0.48, "angle": math.pi / 2}, True),
    ],
)
def test_what_is_a_crash(craft, crash):
    env, _ = make(gravity=0.5, max_impact=2, reward_crash=-0.7, **craft)
    total, ended, info = step(env)
    assert ended == crash
    assert total == pytest.approx(-0.7 if crash else 0)
    if crash:
        assert (info["score"][0], info["perf"][0], info["crashed"][0]) == (0, 0, 1)


def test_hills_stop_a_hull():
    """Between points 5 and 6 the ground is the line from 0 at x = 0 to 4 at x = 2."""
    for y, crash in ((3.52, False), (3.49, True)):  # upside down: a corner at (1.5, y - 0.5)
        env, s = make(x=1, y=y, angle=math.pi, gravity=0.5, roughness=4)
        s.ground[6] = s.ground[7] = 4
        _, ended, info = step(env)
        assert ended == crash
        if crash:
            assert info["crashed"][0] == 1


def test_shaping_pays_the_way():
    """The sum of the rewards is the fall of distance / 10 + speed / 5 + sin(|angle| / 2)."""
    env, s = make(x=3, y=4.7, vx=-1, vy=-1, angle=0.4, gravity=1, reward_shaping=2, reward_crash=0)
    s.potential = 5 / 10 + math.sqrt(2) / 5 + math.sin(0.2)
    total, _, _ = step(env, times=10)
    height, speed = s.y - 0.7, math.hypot(s.vx, s.vy)
    after = math.hypot(s.x, height) / 10 + speed / 5 + math.sin(0.2)
    assert total == pytest.approx(
        2 * (math.hypot(3, 4) / 10 + math.sqrt(2) / 5 + math.sin(0.2) - after), abs=1e-5
    )
    env, s = make(y=0.685, reward_shaping=1, gravity=3)
    s.potential = 0
    total, _, _ = step(env)
    assert total == pytest.approx(0.4, abs=0.02)  # two feet


def test_the_observation_on_paper():
    env, s = make(x=1, y=5, vx=2, vy=-3, angle=0.3, gravity=1, roughness=1)
    s.ground[6], s.wind = 2, 0.5
    step(env)
    x, y, vx, vy = 1 + 2.025 * STEP, 5 - 3.05 * STEP, 2.025, -3.05
    expected = [x, y, vx, vy, 10 * math.sin(0.3), 10 * math.cos(0.3), 0, 0, 0, y - x, 1.0]
    np.testing.assert_allclose(10 * env.observations[0], expected, atol=1e-4)


def test_starts_come_from_the_arguments():
    env = OceanEnv("lander", 2000, start_speed=3, wind=2, roughness=2.5)
    observations, _ = env.reset(seed=1)
    for column, low, high in ((2, -0.3, 0.3), (3, -0.3, 0), (10, -0.4, 0.4), (0, -0.6, 0.6)):
        values = observations[:, column]
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() <= high
    heights = np.array([list(c_state(env, i).ground) for i in range(2000)])
    assert (heights[:, 4:7] == 0).all()
    assert 2.4 < heights.max() <= 2.5


def test_long_flights_are_truncated():
    env, _ = make(max_steps=3)
    step(env, times=2)
    assert not env.truncations[0]
    step(env)
    assert env.truncations[0]

"""Boids: its rules on paper, and against a reference in float64."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

STRAIGHT, RIGHT = 2, 4
WORLD = 2**32


def world(boids, **arguments):
    """An environment of 512 pixels with these boids, (x, y, angle of the heading); its State."""
    arguments = {"company": 2, **arguments}
    env = OceanEnv("boids", 1, num_boids=len(boids), **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for i, (x, y, angle) in enumerate(boids):
        s.x[i], s.y[i] = round(x / 512 * WORLD) % WORLD, round(y / 512 * WORLD) % WORLD
        s.heading_x[i], s.heading_y[i] = np.cos(angle), np.sin(angle)
    return env, s


def step(env, *actions):
    dtype = env.actions.dtype
    return env.step(np.array(actions, dtype).reshape(env.actions.shape))


def place(s, i):
    return s.x[i] / WORLD * 512, s.y[i] / WORLD * 512


@pytest.mark.parametrize("angle", [0, 1, 2.5, -2])
@pytest.mark.parametrize("action", range(5))
def test_a_boid_turns_and_flies(angle, action):
    env, s = world([(100, 100, angle), (300, 300, 0)], speed=3, max_turn=0.6)
    step(env, action, STRAIGHT)
    heading = angle + (action - 2) / 2 * 0.6
    moved = np.cos(heading), np.sin(heading)
    assert (s.heading_x[0], s.heading_y[0]) == pytest.approx(moved, abs=1e-5)
    assert place(s, 0) == pytest.approx((100 + 3 * moved[0], 100 + 3 * moved[1]), abs=1e-3)


@pytest.mark.parametrize(("action", "turn"), [(0.5, 0.15), (-1, -0.3), (7, 0.3)])
def test_continuous_turns_are_clipped(action, turn):
    env, s = world([(100, 100, 0), (300, 300, 0)], continuous=True)
    step(env, action, 0)
    assert np.arctan2(s.heading_y[0], s.heading_x[0]) == pytest.approx(turn, abs=1e-5)


def test_headings_keep_their_length():
    env, s = world([(100, 100, 0.3), (300, 300, 0)], max_turn=0.6, max_steps=10**6)
    for _ in range(1000):
        step(env, RIGHT, 0)
    assert np.hypot(s.heading_x[0], s.heading_y[0]) == pytest.approx(1, abs=1e-4)


def test_opposite_edges_are_one():
    env, s = world([(510, 1, 0), (6, 1, 0)], radius=20)
    step(env, STRAIGHT, STRAIGHT)
    assert place(s, 0) == pytest.approx((2, 1), abs=1e-3)
    np.testing.assert_allclose(env.observations[0, :2], [8 / 20, 0], atol=1e-4)  # 8 ahead
    np.testing.assert_allclose(env.observations[1, :2], [-8 / 20, 0], atol=1e-4)


def test_the_observation_on_paper():
    # the first flies south: ahead is +y, to the right is -x; all move by 1
    south, east = np.pi / 2, 0
    env, _ = world(
        [(100, 100, south), (89, 108, east), (130, 140, south), (300, 300, 0)],
        speed=1,
        radius=100,
        separation=7,
    )
    step(env, *[STRAIGHT] * 4)
    # seen from (100, 101): (90, 108), near, and (130, 141)
    expected = [(7 + 40) / 2 / 100, (10 - 30) / 2 / 100]
    expected += [(0 + 1) / 2, (-1 + 0) / 2]  # headings: to the left, and the same
    expected += [7 / 14, 10 / 14, 2 / 4, 0]
    np.testing.assert_allclose(env.observations[0], expected, atol=1e-4)
    assert env.observations[3].tolist() == [0] * 8  # alone


@pytest.mark.parametrize(
    ("company", "quality"),
    [(1, 0.5), (2, 0.5), (4, 0.25)],  # sees 2: the same way, and across
)
def test_quality_is_alignment_times_company(company, quality):
    boids = [(100, 100, 0), (130, 100, 0), (100, 130, np.pi / 2)]
    env, _ = world(boids, company=company, reward_flock=0.5)
    rewards = step(env, *[STRAIGHT] * 3)[1]
    assert rewards[0] == pytest.approx(0.5 * quality, abs=1e-5)


def test_opposite_ways_are_worth_less_than_none():
    env, _ = world([(100, 100, 0), (130, 100, np.pi)], company=1, reward_flock=1)
    assert step(env, STRAIGHT, STRAIGHT)[1].tolist() == pytest.approx([-1, -1], abs=1e-5)


@pytest.mark.parametrize(("distance", "crowded"), [(9.9, True), (10.1, False)])
def test_a_crowd_costs(distance, crowded):
    boids = [(100, 100, 0), (100, 100 + distance, 0)]
    env, _ = world(boids, company=1, reward_crowd=-0.75)
    rewards = step(env, STRAIGHT, STRAIGHT)[1]
    assert rewards.tolist() == pytest.approx([-0.75 if crowded else 0.1] * 2, abs=1e-5)
    assert env.observations[:, 7].tolist() == [crowded] * 2


@pytest.mark.parametrize(("other", "perf"), [(0, 1), (np.pi / 3, 0.5), (np.pi, 0)])
def test_perf_is_the_mean_quality(other, perf):
    env, _ = world([(100, 100, 0), (130, 100, other)], company=1, speed=0.5, max_steps=20)
    for _ in range(20):
        *_, infos = step(env, STRAIGHT, STRAIGHT)
    assert env.truncations.all()
    assert infos[0]["score"].tolist() == pytest.approx([20 * np.cos(other)] * 2, abs=1e-3)
    assert infos[0]["perf"].tolist() == pytest.approx([perf] * 2, abs=1e-4)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"num_boids": 7}, {"num_boids": 256, "separation": 20}, {"radius": 512, "company": 3}],
)
def test_the_observation_is_that_of_the_reference(arguments):
    settings = {"num_boids": 64, "radius": 80, "separation": 10, "company": 12, **arguments}
    env = OceanEnv("boids", 1, **settings)
    env.reset(seed=3)
    s, n = c_state(env), settings["num_boids"]
    rng = np.random.default_rng(4)
    for _ in range(5):
        rewards = step(env, *rng.integers(0, 5, n))[1]
    xy = np.array([place(s, i) for i in range(n)])
    heading = np.array([complex(s.heading_x[i], s.heading_y[i]) for i in range(n)])
    for i in range(n):
        offset = (xy - xy[i] + 256) % 512 - 256
        away = np.hypot(*offset.T)
        way = (offset[:, 0] + 1j * offset[:, 1]) * heading[i].conj()
        others = np.arange(n) != i
        seen, near = (
            others & (away < settings["radius"]),
            others & (away < 2 * settings["separation"]),
        )
        mean = way[seen].mean() / settings["radius"] if seen.any() else 0j
        along = (heading[seen] * heading[i].conj()).mean() if seen.any() else 0j
        close = way[near].mean() / (2 * settings["separation"]) if near.any() else 0j
        share = seen.sum() / settings["company"]
        crowded = bool((others & (away < settings["separation"])).any())
        parts = [z for pair in (mean, along, close) for z in (pair.real, pair.imag)]
        expected = [*parts, min(1, share / 2), crowded]
        np.testing.assert_allclose(env.observations[i], expected, atol=1e-4)
        quality = 0 if crowded else along.real * min(1, share)
        assert rewards[i] == pytest.approx(0.1 * quality - 0.1 * crowded, abs=1e-5)

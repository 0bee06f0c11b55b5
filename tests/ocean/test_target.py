"""Target: its rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

BRAKE, COAST, ACCELERATE = range(3)
LEFT, STRAIGHT, RIGHT = 1, 2, 3  # by one heading
NORTH, EAST, SOUTH, WEST = 24, 0, 8, 16


def world(agents, targets, **arguments):
    """An environment of these agents, (x, y, heading, speed), and targets, (x, y); its State."""
    arguments = {"radius": 20, **arguments}
    env = OceanEnv("target", 1, num_agents=len(agents), num_targets=len(targets), **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for i, (x, y, heading, speed) in enumerate(agents):
        s.x[i] = s.x[i + len(agents)] = x
        s.y[i] = s.y[i + len(agents)] = y
        s.headings[i], s.speeds[i] = heading, speed
    for k, (x, y) in enumerate(targets):
        s.targets_x[k], s.targets_y[k] = x, y
    return env, s


def step(env, *actions):
    return env.step(np.array(actions, np.int32))


@pytest.mark.parametrize(
    ("heading", "moved"), [(EAST, (3, 0)), (SOUTH, (0, 3)), (WEST, (-3, 0)), (NORTH, (0, -3))]
)
def test_an_agent_drives_where_it_heads(heading, moved):
    env, s = world([(200, 100, heading, 3)], [(500, 500)])
    step(env, (STRAIGHT, COAST))
    assert (s.x[0] - 200, s.y[0] - 100) == moved


@pytest.mark.parametrize("turn", range(5))
def test_it_turns_before_it_drives(turn):
    env, s = world([(200, 100, 31, 4)], [(500, 500)])
    step(env, (turn, COAST))
    assert s.headings[0] == (31 + turn - 2) % 32
    angle = 2 * np.pi * (31 + turn - 2) / 32
    assert s.x[0] == pytest.approx(200 + 4 * np.cos(angle), abs=1e-4)
    assert s.y[0] == pytest.approx(100 + 4 * np.sin(angle), abs=1e-4)


def test_speeds_stay_between_0_and_max_speed():
    env, s = world([(10, 100, EAST, 0)], [(500, 500)], max_speed=2.5)
    speeds = []
    for action in [ACCELERATE] * 4 + [COAST] + [BRAKE] * 4:
        step(env, (STRAIGHT, action))
        speeds.append(s.speeds[0])
    assert speeds == [1, 2, 2.5, 2.5, 2.5, 1.5, 0.5, 0, 0]
    assert s.x[0] == 10 + sum(speeds)


@pytest.mark.parametrize(
    ("start", "heading", "end"),
    [
        ((5, 100), WEST, (0, 100)),
        ((395, 100), EAST, (400, 100)),
        ((50, 3), NORTH, (50, 0)),
        ((50, 199), SOUTH, (50, 200)),
    ],
)
def test_walls_stop(start, heading, end):
    env, s = world([(*start, heading, 8)], [(200, 100)], width=400, height=200, radius=1)
    step(env, (STRAIGHT, COAST))
    assert (s.x[0], s.y[0]) == pytest.approx(end, abs=1e-4)
    assert s.speeds[0] == 8


@pytest.mark.parametrize(("distance", "there"), [(20, True), (20.5, False)])
def test_a_target_scores_within_the_radius(distance, there):
    env, s = world([(100, 100, EAST, 4)], [(104, 100 + distance), (400, 400)], reward_target=0.25)
    _, rewards, terminals, _, _ = step(env, (STRAIGHT, COAST))
    assert rewards[0] == (0.25 if there else 0)
    assert s.scores[0] == there
    assert ((s.targets_x[0], s.targets_y[0]) != (104, 100 + distance)) == there
    assert (s.targets_x[1], s.targets_y[1]) == (400, 400)
    assert not terminals[0]


def test_who_comes_first_gets_it():
    env, s = world([(100, 100, EAST, 0), (101, 100, EAST, 0)], [(110, 100)])
    assert step(env, (STRAIGHT, COAST), (STRAIGHT, COAST))[1].tolist() == [1, 0]
    assert list(s.scores)[:2] == [1, 0]


def test_new_targets_are_uniform():
    env = OceanEnv("target", 5000, width=400, height=200)
    env.reset(seed=3)
    places = np.array(
        [
            (s.targets_x[k], s.targets_y[k])
            for s in (c_state(env, i) for i in range(1000))
            for k in range(4)
        ]
    )
    for column, size in zip(places.T, (400, 200), strict=True):
        assert 0 <= column.min() < size * 0.01
        assert size * 0.99 < column.max() < size
        assert column.mean() == pytest.approx(size / 2, abs=5 * size / (12 * 4000) ** 0.5)


def test_the_observation_on_paper():
    # heading south: ahead is +y, to the right is -x
    env, _ = world(
        [(100, 100, SOUTH, 2), (90, 50, EAST, 0), (400, 300, WEST, 8)],
        [(100, 150), (60, 92)],
        width=400,
        height=300,
        radius=1,
    )
    step(env, (STRAIGHT, COAST), (STRAIGHT, COAST), (STRAIGHT, COAST))
    far = 500 + 1
    first = [48 / far, -10 / far, 0, 40 / far]  # targets: ahead, to the right
    first += [-52 / far, 198 / far, 10 / far, -292 / far]  # the others, from (100, 102)
    first += [2 / 8, -0.5, 102 / 150 - 1, 0, 1]
    np.testing.assert_allclose(env.observations[0], first, atol=1e-6)
    # the third heads west: ahead is -x, to the right is -y; the first comes next
    third = [292 / far, 332 / far, 150 / far, 208 / far]
    third += [292 / far, 302 / far, 198 / far, 250 / far]
    third += [1, 392 / 200 - 1, 1, -1, 0]
    np.testing.assert_allclose(env.observations[2], third, atol=1e-6)


@pytest.mark.parametrize(("agents", "targets"), [(8, 4), (8, 5), (7, 4), (1, 1), (64, 16)])
def test_the_observation_in_any_numbers(agents, targets):
    env = OceanEnv("target", 1, num_agents=agents, num_targets=targets)
    env.reset(seed=1)
    s = c_state(env)
    rng = np.random.default_rng(2)
    for _ in range(40):
        step(env, *zip(rng.integers(0, 5, agents), rng.integers(0, 3, agents), strict=True))
    here = np.array([complex(s.x[i], s.y[i]) for i in range(agents)])
    goals = np.array([complex(s.targets_x[k], s.targets_y[k]) for k in range(targets)])
    for i, row in enumerate(env.observations):
        others = np.roll(here, -i)[1:]
        frame = np.exp(-2j * np.pi * s.headings[i] / 32) / (512 * 2**0.5 + 1)
        seen, company = (goals - here[i]) * frame, (others - here[i]) * frame
        parts = [seen.real, seen.imag, company.real, company.imag]
        np.testing.assert_allclose(row[:-5], np.concatenate(parts), atol=1e-5)


@pytest.mark.parametrize(
    ("agents", "targets", "par"),
    [(1, 4, 32), (2, 4, 32), (4, 1, 8)],  # 512 * 8 / 128; a fourth of 512 * 8 / 128
)
def test_perf_is_the_share_of_par(agents, targets, par):
    places = [(100, 100 + 10 * i, EAST, 0) for i in range(agents)]
    env, s = world(places, [(500, 500)] * targets, radius=1)
    for i in range(agents):
        s.scores[i] = 4 * (i + 1)
    for _ in range(512):
        *_, infos = step(env, *[(STRAIGHT, COAST)] * agents)
    assert env.truncations.all()
    assert infos[0]["score"].tolist() == [4 * (i + 1) for i in range(agents)]
    expected = [min(1, 4 * (i + 1) / par) for i in range(agents)]
    assert infos[0]["perf"].tolist() == pytest.approx(expected)

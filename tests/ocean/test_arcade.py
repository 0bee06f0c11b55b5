"""Pong, Flappy and 2048: their rules on paper."""

import math

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv


def step(env, action=0):
    """One step of a single environment: reward, whether it ended, its statistics."""
    _, rewards, terminals, truncations, infos = env.step(np.array([action], np.int32))
    return float(rewards[0]), bool(terminals[0] | truncations[0]), infos[0] if infos else None


def make(name, **arguments):
    env = OceanEnv(name, 1, **arguments)
    env.reset(seed=0)
    return env, c_state(env)


# Pong; the ball's middle is reflected at y = 6 and 474 and meets the paddles at x = 36 and 604.


def test_a_ball_flies_straight_and_is_reflected():
    env, s = make("pong", frameskip=1)
    s.x, s.y, s.vx, s.vy = 300, 10, 3, -5
    step(env)
    assert (s.x, s.y, s.vx, s.vy) == (303, 7, 3, 5)  # 10 - 5 = 5, one beyond 6, so 7
    step(env)
    assert (s.x, s.y) == (306, 12)


@pytest.mark.parametrize("offset", [0.0, 23.0, -45.0])
def test_a_paddle_sends_the_ball_back(offset):
    env, s = make("pong", frameskip=1)
    s.x, s.y, s.vx, s.vy, s.speed = 602, 240 + offset, 5, 0, 5
    reward, ended, _ = step(env)
    assert (reward, ended) == (0, False)
    angle = offset / 46 * math.pi / 4  # reach: half a paddle and half a ball
    assert s.x == 604
    assert s.speed == pytest.approx(5.25)
    assert s.vx == pytest.approx(-5.25 * math.cos(angle), rel=1e-5)
    assert s.vy == pytest.approx(5.25 * math.sin(angle), abs=1e-5)


def test_the_speed_has_a_limit():
    env, s = make("pong", frameskip=1)
    s.x, s.y, s.vx, s.vy, s.speed = 602, 240, 9.9, 0, 9.9
    step(env)
    assert s.speed == 10


def test_points_and_the_end():
    env, s = make("pong", frameskip=1, goal=2)
    s.x, s.y, s.vx, s.vy = 639, 240, 5, 0
    reward, ended, _ = step(env)
    assert (reward, ended, list(s.points)) == (-1, False, [1, 0])
    assert (s.x, s.y, s.speed) == (320, 240, 5)
    assert s.vx > 0  # served towards the loser
    for won in (1, 2):
        s.x, s.y, s.vx, s.vy = 1, 240, -5, 0
        reward, ended, info = step(env)
        assert (reward, ended) == (1, won == 2)
    assert (info["score"][0], info["perf"][0]) == (2 - 1, 1 / 2)
    assert info["episode_return"][0] == 1


def test_paddles_stay_in_the_field():
    env, s = make("pong", frameskip=16)
    for _ in range(10):
        s.x, s.y, s.vx, s.vy = 320, 240, 0.001, 0
        step(env, 1)
    assert s.paddles[1] == 40
    for _ in range(10):
        s.x, s.y, s.vx, s.vy = 320, 240, 0.001, 0
        step(env, 2)
    assert s.paddles[1] == 440


def test_the_opponent_follows_a_ball_that_comes():
    env, s = make("pong", frameskip=4, opponent_speed=2)
    s.x, s.y, s.vx, s.vy = 320, 400, -1, 0
    step(env)
    assert s.paddles[0] == 240 + 4 * 2
    s.x, s.y, s.vx, s.vy = 320, 400, 1, 0
    step(env)
    assert s.paddles[0] == 248


@pytest.mark.parametrize("y", [7.0, 473.0])
def test_a_hit_beside_the_wall_stays_in_the_field(y):
    env, s = make("pong", frameskip=1)
    s.paddles[1] = y
    s.x, s.y, s.vx, s.vy, s.speed = 600, y, 5, math.copysign(5, y - 240), 7
    step(env)  # the line after 0.8 ticks: 4 pixels up or down, 3 of them beyond the wall
    assert (s.x, s.y) == (604, pytest.approx(6 + 3 if y < 240 else 474 - 3))


POSITIONS = ("x", "y", "vx", "vy", "speed")


def test_a_step_of_eight_ticks_is_eight_steps_of_one_tick():
    """Balls that fly, are reflected, hit, missed and served, from the same states."""
    whole, s = make("pong", goal=10**3)
    ticks, t = make("pong", goal=10**3, frameskip=1, max_steps=0)
    rng = np.random.default_rng(0)
    points = hits = 0
    for _ in range(5_000):
        for name in POSITIONS:
            setattr(t, name, getattr(s, name))
        for side in (0, 1):
            t.paddles[side] = s.paddles[side]
        before = s.speed
        action = int(rng.integers(3))
        won, _, _ = step(whole, action)
        assert sum(step(ticks, action)[0] for _ in range(8)) == won
        for name in POSITIONS:
            assert getattr(s, name) == pytest.approx(getattr(t, name), abs=2e-3), name
        assert list(s.paddles) == pytest.approx(list(t.paddles), abs=2e-3)
        points += won != 0
        hits += s.speed > before
    assert points > 100
    assert hits > 100


# Flappy


def test_a_bird_falls_and_flaps():
    env, s = make("flappy", gravity=0.5)
    step(env)
    assert (s.speed, s.y) == (0.5, 200.5)
    step(env)
    assert (s.speed, s.y) == (1.0, 201.5)
    step(env, 1)
    assert (s.speed, s.y) == (-7, 194.5)
    assert s.distance == 160 - 3 * 4


def test_a_passed_pipe_pays():
    env, s = make("flappy")
    s.gaps[1], s.gaps[2], s.y, s.speed, s.distance = 200, 250, 200, -0.5, 4
    reward, ended, _ = step(env)
    assert (reward, ended, s.score) == (1, False, 1)
    assert (s.distance, s.gaps[0], s.gaps[1]) == (160, 200, 250)


@pytest.mark.parametrize(
    ("y", "distance", "crash"),
    [
        (200 + 45, 40, False),  # the gap of 110 leaves 55 - 10 on either side
        (200 + 46, 40, True),
        (200 - 46, 40, True),
        (
            200 + 46,
            80,
            False,
        ),  # 76 after the step: the pipe of 50 is still 6 ahead of the bird's 20
        (200 + 46, 73, True),
        (391, 150, True),  # the ground
        (9, 150, True),
    ],
)
def test_what_a_bird_must_not_touch(y, distance, crash):
    env, s = make("flappy")
    s.gaps[1], s.y, s.speed, s.distance = 200, y, -0.5, distance
    reward, ended, info = step(env)
    assert (reward, ended) == ((-1, True) if crash else (0, False))
    assert crash == (info is not None)


def test_a_bird_that_reaches_the_goal_is_truncated():
    env, s = make("flappy", goal=3)
    s.gaps[1], s.gaps[2], s.y, s.speed, s.distance, s.score = 200, 200, 200, -0.5, 4, 2
    _, _, terminals, truncations, infos = env.step(np.zeros(1, np.int32))
    assert (terminals[0], truncations[0]) == (False, True)
    assert infos[0]["perf"][0] == 1


# 2048

UP, DOWN, LEFT, RIGHT = range(4)


def put(env, s, rows):
    """Write a board of exponents, and the observation that belongs to it."""
    for cell, exponent in enumerate(np.ravel(rows)):
        s.board[cell] = exponent
    env.observations[0] = np.eye(16)[np.ravel(rows)]


def slid(row):
    """A row slid to the left, and its points: written anew from the rule."""
    tiles, out, points = [tile for tile in row if tile], [], 0
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tiles.pop(0)
            tile += 1
            points += 2**tile
        out.append(tile)
    return out + [0] * (4 - len(out)), points


@pytest.mark.parametrize(
    ("row", "expected", "points"),
    [
        ([1, 1, 0, 0], [2, 0, 0, 0], 4),
        ([1, 1, 1, 1], [2, 2, 0, 0], 8),  # each tile merges once
        ([2, 1, 1, 0], [2, 2, 0, 0], 4),
        ([0, 0, 3, 3], [4, 0, 0, 0], 16),
        ([1, 0, 0, 1], [2, 0, 0, 0], 4),
        ([1, 1, 1, 0], [2, 1, 0, 0], 4),  # the pair nearest the side
    ],
)
def test_a_row_on_paper(row, expected, points):
    assert slid(row) == (expected, points)
    env, s = make("g2048", reward_points=1)
    put(env, s, [row, [0] * 4, [0] * 4, [0] * 4])
    reward, _, _ = step(env, LEFT)
    assert reward == points
    changed = [(a, b) for a, b in zip(list(s.board), expected + [0] * 12, strict=True) if a != b]
    assert len(changed) == 1  # the new tile
    assert changed[0] in [(1, 0), (2, 0)]


def test_random_boards_slide_as_the_rule_says():
    env, s = make("g2048", reward_points=1)
    rng = np.random.default_rng(3)
    for _ in range(500):
        board = rng.integers(0, 5, (4, 4)) * (rng.random((4, 4)) < 0.8)
        for action, turns in ((UP, 1), (DOWN, 3), (LEFT, 0), (RIGHT, 2)):
            put(env, s, board)
            rows, points = zip(*(slid(list(row)) for row in np.rot90(board, turns)), strict=True)
            expected = np.rot90(np.array(rows), -turns)
            reward, ended, _ = step(env, action)
            if ended:
                continue
            if (expected == board).all():
                assert reward == np.float32(-0.05)
                assert list(s.board) == list(board.ravel())
                continue
            assert reward == sum(points)
            difference = np.array(list(s.board)) - expected.ravel()
            assert sorted(difference)[:15] == [0] * 15
            assert max(difference) in (1, 2)
            np.testing.assert_array_equal(env.observations[0], np.eye(16)[list(s.board)])


def test_a_full_board_without_pairs_is_the_end():
    env, s = make("g2048", reward_points=1)
    put(env, s, [[1, 1, 5, 6], [3, 4, 3, 4], [4, 3, 4, 3], [3, 4, 3, 4]])
    # Left: 2 5 6 and an empty cell at the right, whose neighbours are 6 and 4, for a 1 or a 2.
    reward, ended, info = step(env, LEFT)
    assert (reward, ended) == (4, True)
    assert info["highest_tile"][0] == 64
    assert info["score"][0] == 4
    assert info["perf"][0] == 0


@pytest.mark.parametrize(
    ("score", "perf"), [(996, 0), (20**0.5 * 1000, 0.5), (19_996, 1), (100_000, 1)]
)
def test_perf_grows_with_each_doubling(score, perf):
    """The last move makes 4 points."""
    env, s = make("g2048")
    put(env, s, [[1, 1, 5, 6], [3, 4, 3, 4], [4, 3, 4, 3], [3, 4, 3, 4]])
    s.score = round(score)
    _, ended, info = step(env, LEFT)
    assert ended
    assert info["perf"][0] == pytest.approx(perf, abs=1e-3)


def test_long_games_of_2048_are_cut():
    env, s = make("g2048", max_steps=2)
    s.score = 2000
    step(env, UP)
    *_, truncations, infos = env.step(np.array([DOWN], np.int32))
    assert truncations[0]
    assert infos[0]["score"][0] >= 2000
    assert infos[0]["perf"][0] == pytest.approx(np.log(infos[0]["score"][0] / 1000) / np.log(20))


def test_new_tiles_are_mostly_twos():
    env = OceanEnv("g2048", 4000)
    observations, _ = env.reset(seed=1)
    boards = observations.argmax(2)
    assert ((boards > 0).sum(1) == 2).all()
    fours = (boards == 2).sum() / 8000  # standard error: sqrt(0.1 x 0.9 / 8000) = 0.0034
    assert fours == pytest.approx(0.1, abs=0.017)

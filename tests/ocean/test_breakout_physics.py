"""Breakout's physics against a re-statement in float64, one tick at a time from the same state.

The re-statement sweeps the ball through expanded rectangles (slab method); breakout.c looks at the
faces of bricks one by one. Where they might differ by rounding alone, a ball moved by a thousandth
of a pixel must explain the difference, and that must be rare.
"""

import math

import numpy as np
import pytest

from puffer_ocean import OceanEnv
from puffer_ocean.library import contract

WIDTH, HEIGHT, PADDLE_Y, BALL = 576, 330, 312, 32
POINTS = [7, 7, 4, 4, 1, 1]
WOBBLE = 1e-3


def entry(low, high, position, delta):
    """When a point at `position` moving by `delta` is inside (low, high): (from, to)."""
    if delta == 0:
        return (-math.inf, math.inf) if low < position < high else (math.inf, -math.inf)
    a, b = (low - position) / delta, (high - position) / delta
    return min(a, b), max(a, b)


def sweep(rectangle, x, y, dx, dy):
    """First touch of the ball's square with a rectangle: (share of the tick, axis), or None."""
    left, top, right, bottom = rectangle
    x_in, x_out = entry(left - BALL, right, x, dx)
    y_in, y_out = entry(top - BALL, bottom, y, dy)
    time = max(x_in, y_in)
    if not 0 <= time <= 1 or time >= min(x_out, y_out):
        return None
    return time, "x" if x_in > y_in else "y"


def brick_rectangle(row, column):
    return column * 32, 50 + row * 12, column * 32 + 32, 62 + row * 12


def contacts(s, dx, dy):
    """Everything that the ball might meet in this tick: (time, what, brick)."""
    x, y = s["x"], s["y"]
    found = []
    if dx > 0 and x + dx >= WIDTH - BALL:
        found.append(((WIDTH - BALL - x) / dx, "x", None))
    if dx < 0 and x + dx <= 0:
        found.append((-x / dx, "x", None))
    if dy < 0 and y + dy <= 0:
        found.append((-y / dy, "back", None))
    if dy > 0 and y + BALL <= PADDLE_Y <= y + BALL + dy:
        time = (PADDLE_Y - BALL - y) / dy
        if s["paddle_x"] - BALL < x + time * dx < s["paddle_x"] + s["paddle_width"]:
            found.append((time, "paddle", None))
    if min(y, y + dy) < 50 + 72 + 1:
        for row, column in np.argwhere(s["wall"]).tolist():
            touch = sweep(brick_rectangle(row, column), x, y, dx, dy)
            if touch:
                found.append((*touch, (row, column)))
    return found


def tick(s, speed):
    """The state after one tick, once for each obstacle that is met first at the same time."""
    s = dict(s)
    limit = WIDTH - s["paddle_width"]
    s["paddle_x"] = min(max(s["paddle_x"] + speed * 620 / 60, 0), limit)
    dx, dy = s["vx"] / 60, s["vy"] / 60
    found = contacts(s, dx, dy)
    if not found:
        s["x"], s["y"] = s["x"] + dx, s["y"] + dy
        if s["y"] > HEIGHT:
            s |= {"x": 272, "y": 135, "vx": 0, "vy": 0, "speed": 256, "hits": 0}
            s |= {"paddle_x": 257, "paddle_width": 62, "balls": s["balls"] - 1}
        return [s]
    first = min(time for time, _, _ in found)
    s["x"], s["y"] = s["x"] + first * dx, s["y"] + first * dy
    return [bounce(s, what, brick) for time, what, brick in found if time <= first + 1e-9]


def bounce(s, what, brick):
    s = dict(s)
    if what == "paddle":
        s["hits"] += 1
        if s["hits"] % 4 == 0:
            s["speed"] = min(s["speed"] + 64, 448)
        offset = s["x"] + BALL / 2 - s["paddle_x"] - s["paddle_width"] / 2
        angle = math.pi / 4 * offset / ((s["paddle_width"] + BALL) / 2)
        s["vx"], s["vy"] = s["speed"] * math.sin(angle), -s["speed"] * math.cos(angle)
        if s["score"] == 432 and not s["rebuilt"]:
            s |= {"rebuilt": True, "wall": np.ones((6, 18), bool)}
    elif what == "x":
        s["vx"] = -s["vx"]
    else:
        s["vy"] = -s["vy"]
    if what == "back" and s["paddle_width"] == 62:
        s |= {"paddle_width": 31, "paddle_x": s["paddle_x"] + 15.5}
    if brick:
        s["wall"] = s["wall"].copy()
        s["wall"][brick] = False
        s["score"] += POINTS[brick[0]]
        if brick[0] < 3:
            s["vx"], s["vy"] = s["vx"] * 448 / s["speed"], s["vy"] * 448 / s["speed"]
            s["speed"] = 448
    return s


def agrees(expected, seen):
    close = all(
        abs(expected[name] - seen[name]) < 5 * WOBBLE
        for name in ("paddle_x", "paddle_width", "x", "y", "vx", "vy", "score", "balls")
    )
    return close and (expected["wall"] == seen["wall"]).all()


def read(env, i, observation):
    """The exact float32 numbers of the C state; velocities are stored divided by 512."""
    out = np.zeros(5 + 108, np.float32)
    env._library.functions.render(env._vec, i, contract().from_buffer("float[]", out))
    paddle_x, paddle_width, x, y, balls = out[:5].tolist()
    return {
        "paddle_x": paddle_x,
        "paddle_width": paddle_width,
        "x": x,
        "y": y,
        "vx": 512 * float(observation[5]),
        "vy": 512 * float(observation[6]),
        "balls": balls,
        "score": round(864 * float(observation[9])),
        "wall": out[5:].reshape(6, 18) == 1,
    }


def fresh(env, i):
    return read(env, i, env.observations[i]) | {"speed": 256, "hits": 0, "rebuilt": False}


@pytest.mark.parametrize(("continuous", "seed"), [(False, 1), (True, 2)])
def test_every_tick_equals_the_restatement(continuous, seed):
    n = 8
    env = OceanEnv("breakout", n, frameskip=1, continuous=continuous, max_steps=0)
    env.reset(seed=seed)
    generator = np.random.default_rng(seed)
    states = [fresh(env, i) for i in range(n)]
    aim = np.zeros(n)
    ticks = excused = 0
    broken = losses = 0
    for _ in range(3000):
        turning = generator.random(n) < 0.01
        aim[turning] = generator.uniform(-60, 60, turning.sum()) / WIDTH
        lead = env.observations[:, 4] - aim
        speeds = np.where(np.abs(lead) < 10 / WIDTH, 0.0, np.sign(lead))
        if continuous:
            speeds = speeds.astype(np.float32) * np.float32(0.75)
            env.step(speeds[:, None])
        else:
            env.step(np.array([0, 2, 1])[speeds.astype(int)])
        for i, state in enumerate(states):
            if env.terminals[i]:
                states[i] = fresh(env, i)
                continue
            seen = read(env, i, env.observations[i])
            if state["vx"] == state["vy"] == 0:  # launch
                assert seen["x"] == 272
                states[i] = state | seen
                continue
            ticks += 1
            match = [e for e in tick(state, float(speeds[i])) if agrees(e, seen)]
            if not match:
                excused += 1
                for mx, my in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    moved = state | {"x": state["x"] + WOBBLE * mx, "y": state["y"] + WOBBLE * my}
                    match += [e for e in tick(moved, float(speeds[i])) if agrees(e, seen)]
            assert match, (state, seen)
            broken += seen["score"] > state["score"]
            losses += seen["balls"] < state["balls"]
            states[i] = match[0] | seen  # re-synchronised: what is seen wins
    assert ticks > 20_000
    assert excused < ticks / 500
    assert broken > 300
    assert losses > 10

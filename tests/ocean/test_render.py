"""Pictures: what is where, without a window."""

import os
import subprocess
import sys

import numpy as np
import pytest

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv, names
from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, TEAL, Canvas
from puffer_ocean.envs.breakout import render as breakout
from puffer_ocean.envs.cartpole import render as cartpole
from puffer_ocean.envs.squared import render as squared


def where(picture, colour):
    """(y, x) centre of all pixels of exactly this colour, and their number."""
    found = np.argwhere((picture == colour).all(axis=2))
    return (found.mean(axis=0) + 0.5 if len(found) else None), len(found)


@pytest.mark.parametrize("name", names())
def test_render_is_a_picture_and_changes_nothing(name):
    env = OceanEnv(name, 3)
    env.reset(seed=1)
    for _ in range(3):
        env.step(np.ones(env.actions.shape, env.actions.dtype))
    before = env.observations.tobytes()
    pictures = [env.render(i) for i in range(3)]
    for picture in pictures:
        assert picture.dtype == np.uint8
        assert picture.ndim == 3
        assert picture.shape[2] == 3
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
    assert env.observations.tobytes() == before
    assert pictures[0].tobytes() == env.render().tobytes() == env.render(0).tobytes()
    for index in (-1, 3):
        with pytest.raises(APIUsageError, match=r"index must be in 0\.\.2"):
            env.render(index)


def test_render_opens_no_window_and_imports_no_toolkit():
    code = (
        "import sys; from puffer_ocean import OceanEnv; e = OceanEnv('breakout'); e.reset();"
        "assert e.render().shape == (330, 576, 3);"
        "assert not {'pygame', 'matplotlib', 'tkinter'} & set(sys.modules)"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_box_covers_its_area():
    canvas = Canvas(20, 30)
    canvas.box(4, 5, 10, 6, (255, 255, 255))
    picture = canvas.picture()
    assert (picture[5:11, 4:14] == 255).all()
    picture[5:11, 4:14] = BACKGROUND
    assert (picture == BACKGROUND).all()


def test_edges_are_smooth_and_shapes_may_leave_the_picture():
    canvas = Canvas(40, 40)
    canvas.box(10.5, 10, 10, 10, (255, 255, 255))  # half a pixel at either side
    row = canvas.picture()[15, :, 0].astype(int)
    assert row[11:20].tolist() == [255] * 9
    half = (BACKGROUND[0] + 255) / 2
    assert abs(row[10] - half) <= 1
    assert abs(row[20] - half) <= 1
    for shape in ((-50, -50), (100, 100), (-5, 35), (35, -5)):
        canvas.box(*shape, 20, 20, TEAL, 3)
        canvas.line(*shape, 20, 20, 5, TEAL)
    canvas.line(-30, -30, -20, -20, 4, TEAL)
    assert canvas.picture().shape == (40, 40, 3)


def test_a_disc_has_the_area_of_a_disc():
    canvas = Canvas(60, 60)
    canvas.pixels[:] = 0
    canvas.line(30, 30, 30, 30, 40, (100, 100, 100))
    assert canvas.pixels[:, :, 0].sum() / 100 == pytest.approx(np.pi * 20**2, rel=0.005)


@pytest.mark.parametrize("size", [2, 3, 11, 50, 256])
def test_squared_shows_agent_and_target_in_their_cells(size):
    state = np.zeros((size, size), np.float32)
    agent, target = (0, size - 1), (size - 1, 0)
    state[agent], state[target] = 1, 2
    picture = squared.draw(state.ravel(), {"size": float(size)})
    cell = picture.shape[0] / size
    assert cell == max(384 // size, 2)
    for place, colour in ((agent, TEAL), (target, AMBER)):
        centre, count = where(picture, colour)
        assert count
        np.testing.assert_allclose(centre / cell, np.array(place) + 0.5, atol=0.3)


@pytest.mark.parametrize("position", [-2.0, 0.0, 1.5])
@pytest.mark.parametrize("angle", [-0.2, 0.0, 0.15])
def test_cartpole_shows_the_cart_and_the_leaning_pole(position, angle):
    picture = cartpole.draw(np.array([position, angle], np.float32), {})
    x = 300 + 110 * position
    cart, count = where(picture, TEAL)
    assert count > 1000
    assert cart[1] == pytest.approx(x, abs=1)
    pole, count = where(picture, AMBER)
    assert count > 300
    hinge = 190 - 8
    lean = np.arctan2(pole[1] - x, hinge - pole[0])  # clockwise from up
    assert lean == pytest.approx(angle, abs=0.02)


def test_breakout_shows_bricks_paddle_ball_and_reserve():
    state = np.zeros(113, np.float32)
    state[:5] = 100, 31, 300, 200, 0
    standing = np.zeros((6, 18), bool)
    standing[[0, 1, 2, 3, 4, 5], [0, 3, 17, 9, 4, 12]] = True
    state[5:] = standing.ravel()
    picture = breakout.draw(state, {})
    assert picture.shape == (330, 576, 3)
    for row, colour in enumerate(breakout.ROW_COLOURS):
        centre, count = where(picture, colour)
        column = int(np.flatnonzero(standing[row])[0])
        assert 200 < count <= 300
        expected = (50 + 12 * row + 6, 32 * column + 16)
        np.testing.assert_allclose(centre, expected, atol=0.1)
    np.testing.assert_allclose(where(picture, TEAL)[0], (316, 115.5), atol=0.5)
    np.testing.assert_allclose(where(picture, LIGHT)[0], (216, 316), atol=0.1)
    assert (picture[:40] == BACKGROUND).all()
    state[4] = 3
    with_reserve = breakout.draw(state, {})[:40]
    assert not (with_reserve == BACKGROUND).all()


def test_breakout_draws_what_the_game_holds():
    env = OceanEnv("breakout", frameskip=1)
    env.reset(seed=1)
    for _ in range(20):
        env.step(np.array([2]))
    paddle = (float(env.observations[0, 0]) + 1) * 576 / 2
    ball = (float(env.observations[0, 2]) + 1) * 576 / 2
    picture = env.render()
    assert where(picture, TEAL)[0][1] == pytest.approx(paddle, abs=0.7)
    assert where(picture, LIGHT)[0][1] == pytest.approx(ball, abs=0.7)

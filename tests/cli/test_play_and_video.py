"""Films of policies, and a person at the keyboard."""

import json

import imageio.v3 as imageio
import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image, ImageSequence

from puffer_cli import play
from puffer_cli.environments import find
from puffer_cli.main import main
from puffer_cli.video import FPS
from puffer_core import APIUsageError
from puffer_ocean import OceanEnv

EVAL = ["eval", "squared", "--episodes", "2", "--frames", "50"]


def frame_count(path):
    """A gif joins equal neighbours to one longer picture, so its time is counted."""
    with Image.open(path) as film:
        times = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    return sum(times) / (1000 / FPS)


def test_a_gif_has_as_many_frames_as_asked_for(tmp_path, capsys):
    path = tmp_path / "film.gif"
    assert main([*EVAL, "--save-video", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["video"] == str(path)
    env = OceanEnv("squared")
    env.reset()
    frames = imageio.imread(path, index=None)
    assert frames.shape[1:] == env.render().shape
    assert len({frame.tobytes() for frame in frames}) > 10
    assert frame_count(path) == 50


def test_an_mp4_has_as_many_frames_as_asked_for(tmp_path):
    """The ffmpeg of imageio reads what it wrote."""
    path = tmp_path / "film.mp4"
    assert main([*EVAL, "--save-video", str(path)]) == 0
    assert imageio_ffmpeg.count_frames_and_secs(str(path)) == (50, 2.0)
    reader = imageio_ffmpeg.read_frames(str(path))
    assert next(reader)["size"] == (374, 374)
    reader.close()


def test_a_film_of_a_gymnasium_environment(tmp_path):
    pytest.importorskip("pygame")  # Gymnasium draws cart-pole with it
    path = tmp_path / "pole.gif"
    arguments = ["eval", "gymnasium/CartPole-v1", "--episodes", "1", "--frames", "5"]
    assert main([*arguments, "--save-video", str(path)]) == 0
    assert frame_count(path) == 5


@pytest.mark.parametrize(
    ("path", "message"),
    [("film.avi", ".mp4 or .gif, got 'film.avi'"), ("nowhere/film.gif", "there is no folder")],
)
def test_a_film_that_cannot_be_written_is_refused_before_anything_is_played(
    path, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main([*EVAL, "--save-video", path]) == 2
    assert message in capsys.readouterr().err


class Script:
    """In place of a window: keys that were pressed or are held in each step, then the end."""

    def __init__(self, pressed=(), held=()):
        self.script = list(pressed)
        self.down = list(held)
        self.pictures, self.pressed = [], []

    def __call__(self, title):
        return self

    def show(self, picture, fps):
        self.pictures.append(picture)
        self.pressed = self.script.pop(0) if self.script else []
        return len(self.pictures) < 12

    def held(self, names):
        return [name for name in self.down if name in names]

    def close(self):
        pass


def test_a_key_is_a_step_in_a_world_that_waits(monkeypatch):
    """Squared of size 3: one step from the centre leads to the edge, the next one out of it."""
    monkeypatch.setattr("puffer_ocean.window.Window", Script([["up"], [], ["x"], ["up"]]))
    episodes = play.play(find("squared"), {"env.size": 3}, None, 0)
    assert [episode["episode_length"] for episode in episodes] in ([1], [2], [1, 1])


def test_held_keys_act_in_a_world_that_runs(monkeypatch):
    window = Script(held=["right"])
    monkeypatch.setattr("puffer_ocean.window.Window", window)
    assert play.play(find("breakout"), {}, None, 0) == []
    assert len(window.pictures) == 12
    first, last = window.pictures[1], window.pictures[-1]
    columns = np.flatnonzero((first[316] != last[316]).any(axis=1))  # the row of the paddle
    assert columns.max() > 400  # it went to the right


def test_what_cannot_be_played_says_so(monkeypatch):
    monkeypatch.setattr("puffer_ocean.window.Window", Script())
    with pytest.raises(APIUsageError, match="plays environments in C"):
        play.play(find("gymnasium/CartPole-v1"), {}, None, 0)
    monkeypatch.setattr("puffer_ocean.renderer.load_renderer", lambda folder: object())
    with pytest.raises(APIUsageError, match="declares no KEYS"):
        play.play(find("squared"), {}, None, 0)


def test_without_a_display_the_command_says_so(monkeypatch, capsys):
    pytest.importorskip("pygame")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    assert main(["play", "squared"]) == 2
    assert "a window cannot be opened here" in capsys.readouterr().err

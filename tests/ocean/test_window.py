"""The window: pictures arrive, keys are heard, and where none can be opened it says so."""

import builtins

import numpy as np
import pytest

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv
from puffer_ocean.window import Window

pygame = pytest.importorskip("pygame")


@pytest.fixture
def display(monkeypatch):
    """SDL's display without a screen."""
    pygame.display.quit()  # another test may have left one open
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    yield
    pygame.display.quit()


def press(key, kind=pygame.KEYDOWN):
    pygame.event.post(pygame.event.Event(kind, key=key))


@pytest.mark.parametrize(("shape", "scale"), [((240, 600), 1), ((100, 160), 3)])
def test_a_picture_arrives_where_it_belongs(display, shape, scale):
    window = Window("test")
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    assert window.show(picture)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert shown.shape == (shape[0] * scale, shape[1] * scale, 3)
    assert (shown[::scale, ::scale] == picture).all()
    window.close()
    window.close()


def test_keys_are_heard_and_escape_or_the_cross_ends(display):
    window, picture = Window("test"), np.zeros((10, 10, 3), np.uint8)
    window.show(picture)
    press(pygame.K_LEFT)
    press(pygame.K_a)
    assert window.show(picture)
    assert window.pressed == ["left", "a"]
    assert window.show(picture)
    assert window.pressed == []
    assert window.held(["left", "space"]) == []
    press(pygame.K_ESCAPE)
    assert not window.show(picture)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert not window.show(picture)


def test_human_shows_what_rgb_array_draws(display):
    env = OceanEnv("squared", render_mode="human", seed=1)
    env.reset()
    picture = env.render()
    quiet = OceanEnv("squared", seed=1)
    quiet.reset()
    assert (quiet.render() == picture).all()
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert (shown == picture).all()
    env.close()
    assert not pygame.display.get_init()


def test_without_a_display_it_says_so_and_opens_nothing(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(APIUsageError, match=r"cannot be opened here.*rgb_array.*--save-video"):
        OceanEnv("squared", render_mode="human")


def test_without_pygame_it_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def no_pygame(name, *arguments, **keywords):
        if name == "pygame":
            raise ImportError("no pygame")
        return original(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", no_pygame)
    with pytest.raises(APIUsageError, match=r"pip install puffer-ocean\[render\]"):
        Window("test")
    OceanEnv("squared").close()  # which needs none

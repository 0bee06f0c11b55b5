"""A window that shows pictures and knows which keys are held; needs pygame-ce and a display."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from puffer_core import APIUsageError

SMALLEST = 480  # pixels of the longer side: smaller pictures are shown magnified


INVISIBLE = ("dummy", "offscreen")  # SDL's drivers without a display


class Window:
    """One window, as large as the first picture or a whole multiple of it.

    Attributes:
        pressed: keys that went down since the last `show`, by their names.
    """

    def __init__(self, title: str) -> None:
        """Open nothing yet; the first picture does.

        Raises:
            APIUsageError: pygame-ce is not installed, or there is no display.
        """
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as error:
            raise APIUsageError(
                "a window needs pygame-ce: `pip install puffer-ocean[render]`. Without a window "
                'there are render_mode="rgb_array" and `puffer eval --save-video`.'
            ) from error
        self._pygame = pygame
        self._title = title
        self._surface: Any = None
        self._clock = pygame.time.Clock()
        self.pressed: list[str] = []
        try:
            pygame.display.init()
            driver = pygame.display.get_driver()
            if driver in INVISIBLE and os.environ.get("SDL_VIDEODRIVER") != driver:
                raise pygame.error("no display was found")  # SDL would draw where nobody sees it
        except pygame.error as error:
            raise APIUsageError(
                f"a window cannot be opened here: {error}. Without one there are "
                'render_mode="rgb_array" and `puffer eval --save-video`.'
            ) from error

    def show(self, picture: npt.NDArray[np.uint8], fps: float = 0) -> bool:
        """Show a picture of (height, width, 3) bytes.

        Args:
            picture: of the size of the first one.
            fps: wait so that no more than so many are shown a second; 0: do not wait.

        Returns:
            False once the person has closed the window or pressed escape.
        """
        pygame = self._pygame
        scale = max(1, SMALLEST // max(picture.shape[:2]))
        large = picture.repeat(scale, 0).repeat(scale, 1).swapaxes(0, 1)  # (x, y, colour)
        if self._surface is None:
            self._surface = pygame.display.set_mode(large.shape[:2])
            pygame.display.set_caption(self._title)
        pygame.surfarray.blit_array(self._surface, large)
        pygame.display.flip()
        self._clock.tick(fps)
        events = pygame.event.get()
        self.pressed = [pygame.key.name(e.key) for e in events if e.type == pygame.KEYDOWN]
        return "escape" not in self.pressed and all(e.type != pygame.QUIT for e in events)

    def held(self, names: Iterable[str]) -> list[str]:
        """Which of these keys are down, in pygame's spelling: "left", "space", "a"."""
        down = self._pygame.key.get_pressed()
        return [name for name in names if down[self._pygame.key.key_code(name)]]

    def close(self) -> None:
        """Close it; a second call does nothing."""
        self._pygame.display.quit()

"""The renderer of an environment: `render.py` in its folder, loaded by its path."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

from puffer_core import APIUsageError


@functools.cache
def load_renderer(folder: Path) -> Any:
    """The module `render.py` of an environment.

    It has `draw(state, arguments) -> (height, width, 3) uint8`, where `state` is what the C
    function `render` wrote, and may have `KEYS`, the actions of keys by their names.

    Raises:
        APIUsageError: there is none, or it has no `draw`.
    """
    path = folder / "render.py"
    if not path.exists():
        raise APIUsageError(f"{folder.name} cannot be drawn: there is no {path}.")
    spec = importlib.util.spec_from_file_location(f"puffer_render_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "draw", None)):
        raise APIUsageError(f"{path} defines no draw(state, arguments).")
    return module

"""Show a view in a notebook: in a frame of its own, with everything in it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from puffer_cli.constellation import dataset, export
from puffer_cli.constellation.index import Index


class View:
    """What `show` gives; a notebook draws it."""

    def __init__(self, page: str, height: int) -> None:
        self._page, self._height = page, height

    def _repr_html_(self) -> str:
        # a sandbox without the origin of the notebook: the page reaches nothing around it
        return (
            f'<iframe srcdoc="{html.escape(self._page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self._height}px; border: 0; border-radius: 12px" '
            'title="Constellation"></iframe>'
        )


def show(*roots: str | Path, rows: dataset.Rows = "runs", height: int = 760) -> View:
    """A view of run folders and files of results, for the last line of a notebook's cell.

    Args:
        roots: folders or files, as `puffer constellation` takes them; none: `runs`.
        rows: "runs", or "points" for a row for each line of the logs.
        height: in CSS pixels.

    Raises:
        APIUsageError: a root does not exist.
    """
    chosen: Sequence[str | Path] = roots or ("runs",)
    index = Index(chosen)
    index.refresh()
    data = dataset.build(index, rows, curve_bytes=export.SINGLE_CURVES)
    return View(export.single_file(data), height)

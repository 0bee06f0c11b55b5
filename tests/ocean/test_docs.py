"""docs/ocean.md says what the environments declare."""

import importlib.util
from pathlib import Path

import pytest

from puffer_ocean import names

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("docs_ocean", DOCS / "ocean.py")
ocean = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ocean)

ADVICE = "run `uv run python docs/ocean.py`"


def test_the_page_is_current():
    assert (DOCS / "ocean.md").read_text() == ocean.page(), ADVICE


@pytest.mark.parametrize("name", names())
def test_there_is_a_small_picture(name):
    image = pytest.importorskip("PIL.Image")
    path = DOCS / "images" / "ocean" / f"{name}.png"
    assert path.exists(), ADVICE
    assert path.stat().st_size < 50_000
    with image.open(path) as picture:
        assert max(picture.size) <= 360
        assert len(picture.getcolors()) > 2


def test_a_comment_becomes_a_summary_and_a_layout():
    summary, details = ocean.opening("squared")
    assert summary == "Squared: walk from the centre of a grid to a target."
    assert details.startswith("Observation: size x size bytes, 0 empty")
    assert details.endswith("gives -1 and ends it.")

"""Compile C sources of a test as if they were shipped environments."""

import shutil

import pytest

from puffer_ocean import build
from puffer_ocean.library import contract, load_folder


@pytest.fixture(autouse=True)
def fresh_cache():
    contract()  # read from the true header, whatever a test does with the paths
    yield
    load_folder.cache_clear()


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Empty folders of environments, libraries and headers that a test may fill and break."""
    load_folder.cache_clear()
    shutil.copytree(build.INCLUDE, tmp_path / "include")
    (tmp_path / "envs").mkdir()
    monkeypatch.setattr(build, "ENVS", tmp_path / "envs")
    monkeypatch.setattr(build, "LIBRARIES", tmp_path / "lib")
    monkeypatch.setattr(build, "INCLUDE", tmp_path / "include")
    return tmp_path


@pytest.fixture
def add_source(shelf):
    def add(name, text):
        path = build.source(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return add


@pytest.fixture
def install(add_source):
    """Compile `text` as environment `name`; OceanEnv finds it until the test ends."""

    def compile_one(name, text):
        build.compile_library(add_source(name, text), build.library(name))

    return compile_one

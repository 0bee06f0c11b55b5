"""Which tests share a process where several run them: `pytest -n 2 --dist loadgroup`."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        # Those of the vectorizers count processes and shared memory, which must be nobody else's.
        folder = "tests/vector/" if "/tests/vector/" in item.path.as_posix() else str(item.path)
        item.add_marker(pytest.mark.xdist_group(folder))

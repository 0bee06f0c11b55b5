"""`pufferlib` offers the wrappers under its own name, without importing them early."""

import subprocess
import sys

import puffer_core.wrappers
import pufferlib


def test_wrappers_are_those_of_puffer_core():
    assert set(pufferlib.WRAPPERS) == set(puffer_core.wrappers.__all__)
    for name in pufferlib.WRAPPERS:
        assert getattr(pufferlib, name) is getattr(puffer_core.wrappers, name)


def test_importing_the_facade_imports_no_wrapper():
    code = "import pufferlib, puffer_core, sys; print([m for m in sys.modules if 'wrappers' in m])"
    code += "; print([m for m in sys.modules if 'puffer_core.check' in m])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "puffer_core.wrappers" not in result.stdout
    assert "puffer_core.check" not in result.stdout

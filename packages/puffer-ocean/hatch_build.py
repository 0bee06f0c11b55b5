"""Build hook: compile the environments when the package is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def load_builder(root: str) -> ModuleType:
    """Import `puffer_ocean/build.py` by path: its package is not installed yet."""
    path = Path(root) / "src" / "puffer_ocean" / "build.py"
    spec = importlib.util.spec_from_file_location("puffer_ocean_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BuildEnvironments(BuildHookInterface[Any]):
    """Compiles `envs/*/*.c` to `lib/*.so` before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a missing compiler stops the installation with one message."""
        builder = load_builder(self.root)
        try:
            failures = builder.build_all()
        except builder.BuildError as error:
            sys.exit(f"\n{error}\n")
        for name, message in failures.items():
            self.app.display_warning(f"{name} was not built and cannot be used:\n{message}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{self.platform_tag()}"
        build_data["artifacts"].append("src/puffer_ocean/lib/*")

    @staticmethod
    def platform_tag() -> str:
        """The wheel tag of this platform: the libraries need no particular Python."""
        from packaging.tags import platform_tags

        return next(platform_tags())

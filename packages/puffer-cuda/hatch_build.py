"""Build hook: compile the native trainer when the package is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def load_builder(root: str) -> ModuleType:
    """Import `puffer_cuda/native/build.py` by path: its package is not installed yet."""
    path = Path(root) / "src" / "puffer_cuda" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("puffer_native_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BuildNative(BuildHookInterface[Any]):
    """Compiles `native/cpp/api.cc` to `native/lib/*` before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; without a compiler the package is installed all the same, Torch alone."""
        builder = load_builder(self.root)
        try:
            for level, message in builder.build_all().items():
                self.app.display_warning(f"the native trainer lacks level {level}: {message}")
        except builder.BuildError as error:
            self.app.display_warning(f"the native trainer is not built, Torch trains: {error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{self.platform_tag()}"
        build_data["artifacts"].append("src/puffer_cuda/native/lib/*")

    @staticmethod
    def platform_tag() -> str:
        """The wheel tag of this platform: the libraries need no particular Python."""
        from packaging.tags import platform_tags

        return next(platform_tags())

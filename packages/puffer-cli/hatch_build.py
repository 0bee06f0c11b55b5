"""Build hook: compile Constellation's core when the package is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def load_builder(root: str) -> ModuleType:
    """Import `constellation/build.py` by path: its package is not installed yet."""
    path = Path(root) / "src" / "puffer_cli" / "constellation" / "build.py"
    spec = importlib.util.spec_from_file_location("constellation_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BuildCore(BuildHookInterface[Any]):
    """Compiles `core.c` to `lib/core.so` and, with clang and lld, to `lib/core.wasm`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a missing compiler stops the installation with one message."""
        builder = load_builder(self.root)
        try:
            builder.build_native()
            if not builder.build_wasm():
                self.app.display_warning(
                    "clang or wasm-ld is missing: Constellation's pages run without WebAssembly"
                )
        except builder.BuildError as error:
            sys.exit(f"\n{error}\n")
        from packaging.tags import platform_tags

        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(platform_tags())}"
        build_data["artifacts"].append("src/puffer_cli/constellation/lib/*")

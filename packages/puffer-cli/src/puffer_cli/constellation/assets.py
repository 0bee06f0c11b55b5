"""The files of the page, as they are served, and as one script for a file that stands alone."""

from __future__ import annotations

import re
from pathlib import Path

from puffer_cli.constellation import build

PAGE = build.FOLDER / "page"
MAIN = "constellation.js"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".bin": "application/octet-stream",
    ".gz": "application/octet-stream",
}

IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./([\w.]+)";\n', re.MULTILINE)
LATER = re.compile(r'await import\("\./([\w.]+)"\)')
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)


def files() -> dict[str, bytes]:
    """Content by relative path: the page, and the core in WebAssembly if it was built."""
    found = {f"page/{path.name}": path.read_bytes() for path in sorted(PAGE.iterdir())}
    found["index.html"] = found.pop("page/index.html")
    if build.WASM.exists():
        found["page/core.wasm"] = build.WASM.read_bytes()
    return found


def bundle(main: str = MAIN, folder: Path = PAGE) -> str:
    """All modules that `main` needs in one script, each in a function of its own.

    Modules keep to three forms: `import {...} from "./file.js";` (also `* as name`) and `export`
    before a declaration, each at the start of a line, and `await import("./file.js")` for what only
    some pages need; nothing else is looked at.
    """
    done: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise ValueError(f"modules import each other: {' -> '.join((*above, name))}")
        if name in done:
            return
        source = (folder / name).read_text(encoding="utf-8")
        for other in [other for _, other in IMPORT.findall(source)] + LATER.findall(source):
            add(other, (*above, name))
        exported = EXPORT.findall(source)
        source = EXPORT.sub("", IMPORT.sub(_local_import, source))
        source = LATER.sub(lambda match: _variable(match[1]), source)
        source = source.replace("import.meta.url", "document.baseURI")
        body = f"{source}\nreturn {{ {', '.join(exported)} }};"
        done[name] = f"const {_variable(name)} = (() => {{\n{body}\n}})();"

    add(main)
    return "\n".join(['"use strict";', *done.values()])


def _local_import(match: re.Match[str]) -> str:
    names, module = match.groups()
    names = names.removeprefix("* as ").replace(" as ", ": ")
    return f"const {names} = {_variable(module)};\n"


def _variable(module: str) -> str:
    return "module_" + re.sub(r"\W", "_", module.removesuffix(".js"))

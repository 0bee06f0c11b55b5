"""`puffer build`: compile an environment in C to its library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_cli.parser import at_least, whole

HELP = "compile an environment in C to its library"
EPILOG = """With --debug the environment is also compiled with sanitizers and played at random, with
the ends of the range and every choice of each argument. The exit code is 1 if the compiler or the
sanitizers find something; their words are on stderr."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="PATH", help="./FOLDER, or the name of an environment")
    parser.add_argument("--debug", action="store_true", help="play a build with sanitizers")
    parser.add_argument(
        "--steps",
        type=whole,
        default=2000,
        metavar="N",
        help="random steps of --debug with each set of arguments (default: 2,000)",
    )


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Compile, and say where the library lies."""
    from puffer_cli.report import to_json
    from puffer_core.errors import APIUsageError
    from puffer_ocean import build
    from puffer_ocean.folders import folder_of

    at_least(options, "steps", 1)
    folder = folder_of(options.env)
    source, library = build.source_in(folder), build.library_in(folder)
    if not source.exists():
        raise APIUsageError(f"there is no {source} to compile.")
    print(build.compile_library(source, library), end="", file=sys.stderr)
    document: dict[str, Any] = {"environment": folder.name, "library": str(library)}
    lines = [str(library)]
    code = 0
    if options.debug:
        played, sets = _play(folder, options.steps)
        document |= {"steps": options.steps, "sets": sets, "findings": played.findings}
        lines.append(
            f"clean: {options.steps:,} random steps with each of {sets} sets of arguments, "
            f"{sum(played.ends):,} episodes"
        )
        if played.findings:
            print(played.findings, file=sys.stderr)
            lines.pop()
            code = 1
    print(to_json(document) if options.json else "\n".join(lines))
    return code


def _play(folder: Path, steps: int) -> tuple[Any, int]:
    """Play a debug build; what it did, and how many sets of arguments there were."""
    import tempfile

    from puffer_ocean import build, debug
    from puffer_ocean.library import Library

    release = Library(folder)
    sets = [release.numbers(release.check_arguments(v)) for v in debug.variants(release)]
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / build.library_in(folder).name
        build.compile_library(build.source_in(folder), library, debug=True)
        played = debug.play(debug.compile_driver(Path(scratch)), library, steps, sets)
    return played, len(sets)

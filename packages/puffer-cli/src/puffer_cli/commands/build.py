"""`puffer build`: compile an environment in C to its library, or the native trainer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_cli.parser import at_least, whole

HELP = "compile an environment in C to its library, or the native trainer"
EPILOG = """`puffer build native` compiles the native trainer: for this CPU and, where there are a
GPU and a CUDA compiler, for the GPU, which training would do at its first use. --arch names another
GPU.

With --debug the environment is also compiled with sanitizers and played at random, with
the ends of the range and every choice of each argument. The exit code is 1 if the compiler or the
sanitizers find something; their words are on stderr."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument(
        "env", metavar="PATH", help="./FOLDER, or the name of an environment; or native"
    )
    parser.add_argument(
        "--arch", metavar="sm_NN", help="of native: the GPU to compile for (default: this one)"
    )
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
    from puffer_cli.python_environments import is_python
    from puffer_cli.report import to_json
    from puffer_core.errors import APIUsageError
    from puffer_ocean import build
    from puffer_ocean.folders import folder_of

    if options.env == "native":
        return _build_native(options)
    if options.arch is not None:
        raise APIUsageError("--arch is of `puffer build native`.")
    at_least(options, "steps", 1)
    if is_python(options.env):
        raise APIUsageError(f"{options.env} is an environment in Python; nothing is to be built.")
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
        document |= {"steps": options.steps, "sets": len(sets), "findings": played.findings}
        lines.append(
            f"clean: {options.steps:,} random steps with each of {len(sets)} sets of arguments, "
            f"{sum(played.ends):,} episodes"
        )
        if played.findings:
            document["arguments"] = broken = sets[len(played.ends)]
            shown = ", ".join(f"{key} = {value}" for key, value in broken.items())
            print(f"with {shown or 'the default arguments'}:", file=sys.stderr)
            print(played.findings, file=sys.stderr)
            lines.pop()
            code = 1
    print(to_json(document) if options.json else "\n".join(lines))
    return code


def _build_native(options: argparse.Namespace) -> int:
    """Compile the trainer for the CPU and, if there is one or --arch names one, for a GPU."""
    from puffer_cli.report import to_json
    from puffer_core.errors import APIUsageError
    from puffer_cuda.native import build, library, nvcc

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    libraries = []
    try:
        say("compiling the native trainer for the CPU (about a minute)")
        for level, message in build.build_all().items():
            say(f"level {level}: {message}")
        libraries += [build.library(level) for level in build.levels()]
        architecture = options.arch or library.gpu_architecture()
        if architecture and options.arch is None and (reason := nvcc.missing()):
            say(f"not compiled for the GPU ({architecture}): {reason}")
        elif architecture:
            libraries.append(nvcc.build_library(architecture, say))
    except build.BuildError as error:
        raise APIUsageError(f"the native trainer is not built: {error}.") from error
    names = [str(path) for path in libraries if path.exists()]
    print(to_json({"libraries": names}) if options.json else "\n".join(names))
    return 0


def _play(folder: Path, steps: int) -> tuple[Any, list[dict[str, Any]]]:
    """Play a debug build; what it did, and the sets of arguments that it was to be played with."""
    import tempfile

    from puffer_ocean import build, debug
    from puffer_ocean.library import Library

    release = Library(folder)
    sets = debug.variants(release)
    numbers = [release.numbers(release.check_arguments(each)) for each in sets]
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / build.library_in(folder).name
        build.compile_library(build.source_in(folder), library, debug=True)
        played = debug.play(debug.compile_driver(Path(scratch)), library, steps, numbers)
    return played, sets

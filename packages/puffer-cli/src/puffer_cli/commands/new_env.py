"""`puffer new-env`: write a small complete environment to begin from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HELP = "write a small complete environment to begin from"
TEMPLATES = Path(__file__).parents[1] / "templates"
TEMPLATE = "walk"  # the name that stands in the templates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("name", metavar="NAME", help="of the environment and of the new folder")
    parser.add_argument(
        "--lang", choices=("c", "python"), default="c", help="language (default: c)"
    )


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Write the folder and say what to do next."""
    from puffer_cli.report import to_json

    folder = write(Path.cwd(), options.name, options.lang)
    files = sorted(path.name for path in folder.iterdir())
    if options.json:
        print(to_json({"folder": str(folder), "files": files}))
        return 0
    print(f"{folder}: {', '.join(files)}")
    build = [f"puffer build ./{options.name}"] if options.lang == "c" else []
    for command in (*build, f"puffer check ./{options.name}", f"puffer train ./{options.name}"):
        print(f"    {command}")
    return 0


def write(parent: Path, name: str, language: str) -> Path:
    """Write an environment from its template.

    Args:
        parent: where the folder is made.
        name: of the environment.
        language: "c" or "python".

    Returns:
        The new folder.

    Raises:
        APIUsageError: a name that cannot be, or is taken, or the folder exists.
    """
    import os
    import re
    import shutil

    from puffer_core.errors import APIUsageError
    from puffer_ocean import names

    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name.startswith("puffer_"):
        raise APIUsageError(
            f"the name of an environment is lower-case letters, digits and _, got {name!r}."
        )
    if name in names():
        raise APIUsageError(f"{name} is a shipped environment; take another name.")
    folder = parent / name
    if folder.exists():
        raise APIUsageError(f"{folder} exists already.")
    scratch = parent / f".{name}.{os.getpid()}"  # nobody sees half an environment
    try:
        scratch.mkdir()
        for path in sorted((TEMPLATES / language).iterdir()):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                renamed = scratch / path.name.replace(TEMPLATE, name)
                renamed.write_text(_rename(text, name), encoding="utf-8")
        scratch.rename(folder)
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise OSError(error.errno, error.strerror, str(folder)) from error
    return folder


def _rename(text: str, name: str) -> str:
    """`text` with the new name where the template's stands for the environment."""
    title = name.replace("_", " ").title().replace(" ", "")
    for old, new in (
        (f'PUFFER_NAME "{TEMPLATE}"', f'PUFFER_NAME "{name}"'),
        (f"from {TEMPLATE} import", f"from {name} import"),
        (TEMPLATE.title(), title),
    ):
        text = text.replace(old, new)
    return text

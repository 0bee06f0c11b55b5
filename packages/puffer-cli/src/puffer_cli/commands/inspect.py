"""`puffer inspect`: hash and classify a checkpoint file before anybody loads it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HELP = "hash and classify a checkpoint file without loading it"
EPILOG = "The exit code is 1 if the file's sha256 is not the expected one."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("file", metavar="FILE", type=Path, help="safetensors, .pt, .bin, archive")
    parser.add_argument("--expected-sha256", metavar="H", help="64 hexadecimal digits")
    parser.add_argument("--root", metavar="DIR", type=Path, help="refuse files outside of DIR")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Print what the file is; the code is 1 if its bytes are not the expected ones."""
    from puffer_cli.dashboard import make_console
    from puffer_cli.inspection import inspect_file
    from puffer_cli.report import facts_table, to_json

    document = inspect_file(options.file, options.root, options.expected_sha256)
    matches = document.get("matches", True)
    if options.json:
        print(to_json(document))
    else:
        facts = dict(document)
        facts["bytes"] = f"{document['bytes']:,}"
        facts["may_run_code"] = {True: "yes", False: "no", None: "unknown"}[
            document["may_run_code"]
        ]
        make_console(False).print(facts_table(facts))
    return 0 if matches else 1

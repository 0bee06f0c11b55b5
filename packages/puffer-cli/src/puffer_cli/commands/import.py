"""`puffer import`: the weights of a PufferLib 3.0 file, as safetensors."""  # noqa: N999

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HELP = "convert a .pt file of PufferLib 3.0 to safetensors, reading nothing but tensors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a state dict, model_*.pt")
    parser.add_argument("out", metavar="OUT", type=Path, help="the file to write; must not exist")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Convert and print the names and shapes."""
    from safetensors.torch import save_file

    from puffer_cli.dashboard import make_console
    from puffer_cli.report import facts_table, to_json
    from puffer_core.errors import APIUsageError
    from puffer_cuda.legacy import read_pt

    if options.out.exists():
        raise APIUsageError(f"{options.out} exists already; name another file.")
    weights = read_pt(options.file)
    save_file(weights, options.out)
    shapes = {name: list(tensor.shape) for name, tensor in weights.items()}
    if options.json:
        print(to_json({"file": str(options.file), "out": str(options.out), "tensors": shapes}))
    else:
        make_console(False).print(facts_table(shapes))
    return 0

"""`puffer doctor`: what of this installation works, what does not, and what that costs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

HELP = "say what is installed, built and usable here"
EPILOG = "The exit code is 1 if something is broken; what is merely absent leaves it 0."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command has no arguments of its own."""


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Examine and print; the code is 1 if something is broken."""
    from rich.console import Console

    from puffer_cli.doctor import BROKEN, examine, print_findings
    from puffer_cli.report import to_json

    findings = examine()
    if options.json:
        print(to_json({"findings": [finding._asdict() for finding in findings]}))
    else:
        print_findings(Console(), findings)
    return int(any(finding.state == BROKEN for finding in findings))

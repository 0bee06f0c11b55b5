"""`puffer envs`: the environments and what they declare of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.environments import DEFAULT_COPIES


def list_environments() -> list[dict[str, Any]]:
    """Name, spaces, agents and arguments of each C environment.

    One that does not load has "error" instead, and hides no other.
    """
    from puffer_ocean import load, names

    found: list[dict[str, Any]] = []
    for name in names():
        try:
            library = load(name)
            spec = library.describe(library.check_arguments({}))
        except ImportError as error:
            found.append({"name": name, "error": str(error)})
            continue
        copies = {"type": "int", "default": DEFAULT_COPIES, "low": 1, "high": 2**31 - 1}
        arguments: dict[str, Any] = {"num_envs": {**copies, "help": "copies that step as one"}}
        for argument in library.arguments.values():
            entry: dict[str, Any] = {"type": argument.kind, "default": argument.default}
            if argument.choices:
                entry["choices"] = list(argument.choices)
            elif argument.kind in ("int", "float", "bool"):
                entry |= {"low": argument.low, "high": argument.high}
            arguments[argument.name] = {**entry, "help": argument.help}
        found.append(
            {
                "name": name,
                "observation": f"{spec.observation_space.dtype} {spec.observation_space.shape}",
                "actions": str(spec.action_space),
                "agents": spec.num_agents,
                "arguments": arguments,
                "statistics": ["episode_return", "episode_length", *library.log_fields],
            }
        )
    return found


def print_environments(console: Console, found: Sequence[dict[str, Any]]) -> None:
    """A table of what `list_environments` returned."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
    for header in ("name", "observation", "actions", "agents", "arguments and defaults"):
        table.add_column(header, overflow="fold")
    for entry in found:
        if "error" in entry:
            table.add_row(Text(entry["name"]), Text(entry["error"], style="red"), "", "", "")
            continue
        arguments = ", ".join(
            f"{key}={value['default']}" for key, value in entry["arguments"].items()
        )
        cells = (entry["observation"], entry["actions"], str(entry["agents"]), arguments)
        table.add_row(Text(entry["name"], style="bold"), *(Text(cell) for cell in cells))
    console.print(table)
    console.print(
        Text("and any environment of Gymnasium with fixed-size spaces: gymnasium/CartPole-v1"),
        style="dim",
    )

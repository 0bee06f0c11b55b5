"""`puffer envs`: the environments and what they declare of themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.environments import DEFAULT_COPIES

SHORTER = re.compile(r"Box\([^(]*\((\d+),\), float32\)")  # Box(-1.0, 1.0, (4,), float32): Box(4)


def list_environments() -> list[dict[str, Any]]:
    """Name, spaces, agents and arguments of each environment, ours and those of other packages.

    One that does not load has "error" instead, and hides no other.
    """
    from puffer_ocean import names
    from puffer_ocean.folders import registered

    found: list[dict[str, Any]] = []
    others = {name: entry.value for name, entry in registered().items()}
    for name in [*names(), *others]:
        in_python = ":" in others.get(name, "")  # a function in a module
        try:
            found.append(_python(name) if in_python else _native(name))
        except Exception as error:  # other packages may raise anything when they are imported
            found.append({"name": name, "error": str(error)})
    return found


def _native(name: str) -> dict[str, Any]:
    from puffer_ocean import load

    library = load(name)
    spec = library.describe(library.check_arguments({}))
    copies = {"type": "int", "default": DEFAULT_COPIES, "low": 1, "high": 2**31 - 1}
    arguments: dict[str, Any] = {"num_envs": {**copies, "help": "copies that step as one"}}
    for argument in library.arguments.values():
        entry: dict[str, Any] = {"type": argument.kind, "default": argument.default}
        if argument.choices:
            entry["choices"] = list(argument.choices)
        elif argument.kind in ("int", "float", "bool"):
            entry |= {"low": argument.low, "high": argument.high}
        arguments[argument.name] = {**entry, "help": argument.help}
    return {
        "name": name,
        "observation": f"{spec.observation_space.dtype} {spec.observation_space.shape}",
        "actions": str(spec.action_space),
        "agents": spec.num_agents,
        "arguments": arguments,
        "statistics": ["episode_return", "episode_length", *library.log_fields],
    }


def _python(name: str) -> dict[str, Any]:
    from puffer_cli.python_environments import PythonEnvironment

    environment = PythonEnvironment(name)
    arguments = environment.arguments({}, {})
    env = environment.creator()(**arguments)
    env.close()
    return {
        "name": name,
        "observation": f"{env.single_observation_space.dtype} {env.single_observation_space.shape}",
        "actions": str(env.single_action_space),
        "agents": env.num_agents,
        "arguments": {
            key: {"type": type(value).__name__, "default": value, "help": ""}
            for key, value in arguments.items()
        },
        "statistics": ["episode_return", "episode_length"],
    }


def print_environments(console: Console, found: Sequence[dict[str, Any]]) -> None:
    """One line an environment, then what does not load."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
    for header in ("name", "observation", "actions", "agents", "arguments"):
        table.add_column(header, overflow="fold", no_wrap=header == "name")
    for entry in found:
        if "error" not in entry:
            arguments = len(entry["arguments"])
            actions = SHORTER.sub(r"Box(\1)", entry["actions"])
            cells = (entry["observation"], actions, entry["agents"], arguments)
            table.add_row(Text(entry["name"], style="bold"), *(Text(str(cell)) for cell in cells))
    console.print(table)
    for entry in found:
        if "error" in entry:
            console.print(Text(f"{entry['name']}: {entry['error']}", style="red"), soft_wrap=True)
    console.print(Text("`puffer config NAME` explains its arguments"), style="dim")
    console.print(
        Text(
            "and any environment of Gymnasium with fixed-size spaces, gymnasium/CartPole-v1, "
            "and folders of your own, ./FOLDER"
        ),
        style="dim",
    )

"""Shell completion: the words that may follow, from the parser itself.

The scripts call the hidden `puffer complete WORDS...`, which prints the candidates for the last
word, so that environments and configuration keys are those of the installed version.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

SHELLS = {
    "bash": """_puffer() {
    local IFS=$'\\n'
    COMPREPLY=($(puffer complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -o default -F _puffer puffer
""",
    "zsh": """#compdef puffer
_puffer() {
    local -a found
    found=("${(@f)$(puffer complete -- "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
    [[ -n $found ]] && compadd -- $found || _files
}
compdef _puffer puffer
""",
    "fish": """complete -c puffer -f -a '(
    puffer complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
)'
""",
}


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """What may stand in place of the last of `words`, which may be empty or begun.

    Args:
        parser: of the command, with its subcommands.
        words: after `puffer`.
    """
    *before, word = words or [""]
    commands = _subcommands(parser)
    if not before:
        return _beginning(word, [*commands, *_options(parser)])
    command = commands.get(before[0])
    if command is None:
        return []
    options = {name: a for a in command._actions for name in a.option_strings}
    if before[-1] in options and options[before[-1]].nargs != 0:
        return _values(options[before[-1]], word)
    if word.startswith("-"):
        return _beginning(word, [*_options(command), *_keys(before[0])])
    positional = [a for a in command._actions if not a.option_strings]
    if positional and not [w for w in before[1:] if not w.startswith("-")]:
        return _values(positional[0], word)
    return []


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for a in parser._actions for name in a.option_strings if name.startswith("--")]


def _keys(command: str) -> list[str]:
    """The configuration as options, for commands that take it."""
    from puffer_cli.main import module_of

    if getattr(module_of(command), "KEYS", None) is not True:
        return []
    from puffer_cli.config import all_keys

    return [f"--{key.replace('_', '-')}" for key in all_keys() if "." in key]


def _values(action: argparse.Action, word: str) -> list[str]:
    if action.choices is not None:
        return _beginning(word, [str(choice) for choice in action.choices])
    metavar = str(action.metavar)
    found: list[str] = []
    if metavar.partition("|")[0] == "ENV":
        from puffer_cli.environments import FAMILIES
        from puffer_ocean import names
        from puffer_ocean.folders import registered

        found = [*names(), *registered(), *FAMILIES]
        if word.startswith("puffer_"):
            found = [f"puffer_{name}" for name in names()]
        found += metavar.split("|")[1:]
    elif "|" in metavar:
        found = metavar.split("|")
    elif metavar == "WHICH":
        found = ["latest", "best"]
    if word.startswith((".", "/")):
        folder = Path(word).parent if not word.endswith("/") else Path(word)
        prefix = word.rpartition("/")[0] + "/" if "/" in word else ""
        found += [f"{prefix}{p.name}/" for p in sorted(folder.glob("*")) if p.is_dir()]
    return _beginning(word, found)


def _beginning(word: str, found: list[str]) -> list[str]:
    return [each for each in found if each.startswith(word)]

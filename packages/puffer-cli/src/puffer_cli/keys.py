"""The meaning of the configuration keys, also as help text."""

from __future__ import annotations

import textwrap

from puffer_cli.config import SECTIONS, Config
from puffer_cli.environments import Environment

INDENT = " " * 30


def describe_keys() -> str:
    """Every key with its default and meaning, as options; the environment's own are apart."""
    lines = ["configuration (also in an ini file: [section] and key = value):"]
    for section, model in SECTIONS.items():
        for key, field in model.model_fields.items():
            if (section, key) == ("train", "env"):
                continue  # the command's first argument
            option = f"  --{section}.{key.replace('_', '-')}"
            text = f"{field.description} (default: {field.default})"
            wrapped = textwrap.wrap(text, 80, initial_indent=INDENT, subsequent_indent=INDENT)
            lines += _beside(option, wrapped)
    lines += _beside("  --env.KEY", [f"{INDENT}the environment's own arguments: `puffer envs`"])
    return "\n".join(lines) + "\n"


def meanings(environment: Environment) -> dict[str, str]:
    """Dotted key -> what it means, of all sections and of the environment's own arguments."""
    texts = {"run_dir": Config.model_fields["run_dir"].description or ""}
    for section, model in SECTIONS.items():
        for key, field in model.model_fields.items():
            texts[f"{section}.{key}"] = field.description or ""
    return texts | {f"env.{key}": text for key, text in environment.meanings().items()}


def _beside(option: str, wrapped: list[str]) -> list[str]:
    if len(option) > len(INDENT) - 2:
        return [option, *wrapped]
    return [option + wrapped[0][len(option) :], *wrapped[1:]]

"""Write docs/ocean.md and its pictures from what the environments declare.

    uv run python docs/ocean.py

Speeds and what training reaches come from docs/ocean.json, which `benchmarks/ocean.py` measures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import puffer_ocean
from puffer_ocean import OceanEnv, build
from puffer_ocean.arguments import BOOL, ENUM, TEXT, Argument
from puffer_ocean.library import Library, Spec

DOCS = Path(__file__).parent
PAGE, FIGURES, IMAGES = DOCS / "ocean.md", DOCS / "ocean.json", DOCS / "images" / "ocean"
STEPS = 60  # of random play before a picture
SIDE, COLOURS = 360, 64  # pixels at most, and colours, of a picture in the docs

INTRODUCTION = """# Ocean

Environments in C. Each is one file, and is trained with `puffer train NAME` in minutes on two CPU
cores. `perf` is logged by all of them: from 0 to 1, where 1 is solved.

This page is written by `uv run python docs/ocean.py`; the figures are measured by
`benchmarks/ocean.py`: agent steps per second of the C code on one core. `perf`, where it is given,
is that of random actions, and after one `puffer train NAME` for the steps that are shipped, in the
time that this took on a machine at work with other things. Machine: {machine}.
"""


def opening(name: str) -> tuple[str, str]:
    """The first comment of a source: its first sentences, and the rest as it stands."""
    comment = build.source(name).read_text(encoding="utf-8").split("*/", 1)[0]
    lines = [line.removeprefix(" *").removeprefix(" ") for line in comment[2:].splitlines()]
    first, _, rest = "\n".join(lines).strip().partition("\n\n")
    return " ".join(first.split()), rest.strip("\n")


def actions(spec: Spec) -> str:
    """The action space in words."""
    space: Any = spec.action_space
    if hasattr(space, "nvec"):
        words = "heads of " + ", ".join(map(str, space.nvec)) + " choices"
    elif hasattr(space, "n"):
        words = f"{space.n} choices"
    else:
        many = "floats" if space.shape[0] > 1 else "float"
        words = f"{space.shape[0]} {many} from {space.low.flat[0]:g} to {space.high.flat[0]:g}"
    return words + (", masked" if spec.action_masks else "")


def observation(spec: Spec) -> str:
    """The observation space in words."""
    space = spec.observation_space
    return f"{' x '.join(map(str, space.shape))} {space.dtype}"


def fits(argument: Argument) -> str:
    """What an argument may be."""
    if argument.kind == ENUM:
        return ", ".join(f"`{choice}`" for choice in argument.choices)
    if argument.kind in (BOOL, TEXT):
        return {BOOL: "true or false", TEXT: "a text"}[argument.kind]
    return f"{argument.low:,.10g} to {argument.high:,.10g}"


def section(name: str, library: Library, spec: Spec, figures: dict[str, Any]) -> str:
    """All about one environment."""
    summary, details = opening(name)
    lines = [f"## {name}", "", summary, "", f"![{name}](images/ocean/{name}.png)", ""]
    if details:
        lines += ["```text", details, "```", ""]
    lines += [
        f"Agents: {spec.num_agents}. Observation: {observation(spec)}. Actions: {actions(spec)}. "
        f"Logged: {', '.join(f'`{field}`' for field in library.log_fields)}.",
        "",
    ]
    if "perf" in figures:
        lines += [
            f"Trained for {figures['steps'] / 1e6:.1f} M steps in {figures['seconds']:.0f} s: "
            f"`perf` {figures['perf']:.2f} (random actions: {figures['random_perf']:.2f}).",
            "",
        ]
    lines += ["| argument | default | may be | |", "|---|---|---|---|"]
    for argument in library.arguments.values():
        default = f"{argument.default:,}" if argument.kind == "int" else argument.default
        lines.append(f"| `{argument.name}` | {default} | {fits(argument)} | {argument.help} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    stored = json.loads(FIGURES.read_text(encoding="utf-8"))
    names = puffer_ocean.names()
    lines = [INTRODUCTION.format(machine=stored["machine"])]
    lines += [
        "| environment | observation | actions | agents | perf: random, trained | M steps/s |",
        "|---|---|---|---|---|---|",
    ]
    sections = []
    for name in names:
        library = puffer_ocean.load(name)
        spec = library.describe(library.check_arguments({}))
        figures = stored["environments"].get(name, {})
        perf = f"{figures['random_perf']:.2f}, {figures['perf']:.2f}" if "perf" in figures else "-"
        speed = f"{figures['steps_per_second'] / 1e6:.1f}" if "steps_per_second" in figures else "-"
        lines.append(
            f"| [{name}](#{name}) | {observation(spec)} | {actions(spec)} | {spec.num_agents} | "
            f"{perf} | {speed} |"
        )
        sections.append(section(name, library, spec, figures))
    return "\n".join(lines) + "\n\n" + "\n\n".join(sections) + "\n"


def picture(name: str) -> NDArray[np.uint8]:
    """An environment in the middle of random play."""
    env = OceanEnv(name, seed=1)
    space = env.single_action_space
    space.seed(1)
    env.reset()
    shown = env.render()
    for _ in range(STEPS):
        env.step(np.array([space.sample() for _ in range(env.num_agents)], env.actions.dtype))
        if not (env.terminals | env.truncations).any():  # rather a middle than a beginning
            shown = env.render()
    return shown


def write_picture(name: str) -> None:
    """Write a small PNG."""
    from PIL import Image

    image = Image.fromarray(picture(name))
    image.thumbnail((SIDE, SIDE))
    image.quantize(COLOURS).save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    """Write everything."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in puffer_ocean.names():
        write_picture(name)
    for path in IMAGES.iterdir():
        if path.stem not in puffer_ocean.names():
            path.unlink()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

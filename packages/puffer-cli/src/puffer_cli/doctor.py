"""What of an installation works: compiler, environments, torch, GPU, display, optional packages."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.run import LIBRARIES, VERSIONS

OK, ABSENT, BROKEN = "ok", "absent", "broken"
# The module that another package's extra brings.
BRINGS = {
    "gymnasium[box2d]": "Box2D",
    "gymnasium[mujoco]": "mujoco",
    "imageio[ffmpeg,pillow]": "imageio_ffmpeg",
    "pettingzoo[butterfly]": "pymunk",
    "puffer-cuda[onnx]": "onnx",
}
STYLES = {OK: "green", ABSENT: "yellow", BROKEN: "bold red"}


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        name: the thing.
        state: "ok"; "absent": works without it, `advice` says what is lost; "broken".
        found: what is there, or what is wrong.
        advice: what to do; empty if there is nothing to do.
    """

    name: str
    state: str
    found: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at everything; nothing is started, changed or sent anywhere."""
    return [*_machine(), *_packages(), *_environments(), *_torch(), *_cuda(), *_display(), *_disk()]


def print_findings(console: Console, findings: list[Finding]) -> None:
    """One line a finding, the advice below it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), highlight=False)
    for column in ("name", "state", "found"):
        table.add_column(column, overflow="fold", no_wrap=column != "found")
    for finding in findings:
        text = Text(finding.found)
        if finding.advice:
            text.append(f"\n{finding.advice}", style="dim")
        table.add_row(Text(finding.name), Text(finding.state, style=STYLES[finding.state]), text)
    console.print(table)


def _machine() -> Iterator[Finding]:
    from puffer_vector.plan import available_cpus

    usable, present = available_cpus(), os.cpu_count()
    yield Finding("python", OK, f"{platform.python_version()} at {sys.executable}")
    yield Finding("system", OK, f"{platform.system()} {platform.release()} {platform.machine()}")
    yield Finding("CPUs", OK, f"{usable} usable by this process, {present} present")


def _packages() -> Iterator[Finding]:
    for name in (*VERSIONS, "puffer-protein", *LIBRARIES):
        try:
            yield Finding(name, OK, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, ABSENT, "not installed", f"`pip install {name}`")
    for extra, needed in _extras().items():
        missing = [name for name in needed if not _installed(name)]
        if missing:
            lack = f"{', '.join(missing)} not installed"
            yield Finding(extra, ABSENT, lack, f"`pip install '{extra}'`")
        else:
            yield Finding(extra, OK, ", ".join(needed))


def _extras() -> dict[str, list[str]]:
    """The extras of our packages, and what each wants; a name may have an extra of its own."""
    found: dict[str, list[str]] = {}
    for package in (*VERSIONS, "puffer-protein"):
        for line in metadata.requires(package) or ():
            requirement, _, marker = line.partition(";")
            if "extra ==" in marker:
                name = re.split(r"[^\w.,\[\]-]", requirement)[0]
                extra = marker.split("extra ==")[1].strip(" '\")")
                found.setdefault(f"{package}[{extra}]", []).append(name)
    return found


def _installed(name: str) -> bool:
    if name in BRINGS:
        return importlib.util.find_spec(BRINGS[name]) is not None
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def _environments() -> Iterator[Finding]:
    from puffer_ocean import build, load, names

    try:
        yield Finding("C compiler", OK, " ".join(build.compiler()))
    except build.BuildError as error:
        yield Finding("C compiler", ABSENT, "none found", str(error))
    broken = {}
    for name in names():
        try:
            load(name)
        except ImportError as error:
            broken[name] = str(error)
    yield Finding("environments", OK, f"{len(names()) - len(broken)} of {len(names())} in C load")
    for name, message in broken.items():
        yield Finding(name, BROKEN, message, f"`python -m puffer_ocean {name}` builds it again")


def _torch() -> Iterator[Finding]:
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding("torch", BROKEN, f"{error}", "training needs it: `pip install torch`")
        return
    yield Finding("torch device", OK, f"CPU, {torch.get_num_threads()} threads")
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            memory = f"{properties.total_memory / 2**30:.0f} GiB"
            yield Finding(f"cuda:{index}", OK, f"{properties.name}, {memory}")
    elif torch.version.cuda is None:
        yield Finding("GPU", ABSENT, "this torch was built without CUDA", "training uses the CPU")
    else:
        yield Finding("GPU", ABSENT, "torch finds no NVIDIA GPU", "training uses the CPU")


def _cuda() -> Iterator[Finding]:
    home = os.environ.get("CUDA_HOME")
    nvcc = shutil.which("nvcc") or (home and shutil.which("nvcc", path=f"{home}/bin"))
    if nvcc:
        yield Finding("nvcc", OK, nvcc)
    else:
        yield Finding("nvcc", ABSENT, "not on the PATH, nor below CUDA_HOME")


def _display() -> Iterator[Finding]:
    windows = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if importlib.util.find_spec("pygame") is None:
        yield Finding("display", ABSENT, "pygame-ce is not installed", "no pictures, no windows")
    elif windows:
        yield Finding("display", OK, "windows can be opened")
    else:
        yield Finding("display", ABSENT, "no DISPLAY", "pictures and videos work, windows do not")


def _disk() -> Iterator[Finding]:
    folder = Path.cwd()
    free = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK)
    state = OK if writable and free > 2**30 else BROKEN
    found = f"{free / 2**30:.1f} GiB free in {folder}" + ("" if writable else ", not writable")
    advice = "" if state == OK else "runs are written here unless --run-dir says otherwise"
    yield Finding("disk", state, found, advice)

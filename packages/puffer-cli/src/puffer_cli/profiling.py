"""`puffer profile`: which phase of training takes which share of a step's time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from puffer_cli.config import Config
from puffer_cli.dashboard import Dashboard
from puffer_cli.trainers import backends, trainer_of

if TYPE_CHECKING:
    from rich.console import Console

    from puffer_cuda.backend import Trainer

WARM_UP = 2  # epochs that are not measured
Span = tuple[str, float, float, Mapping[str, float]]


def profile(config: Config, epochs: int, trace: Path | None, dashboard: Dashboard) -> Any:
    """Train some epochs with each backend that can, and time the phases.

    Args:
        config: what to train.
        epochs: to measure, after WARM_UP others.
        trace: the file to write for a browser; None writes none.
        dashboard: entered by the caller.

    Returns:
        The JSON document of `puffer profile --json`. Phases are in nanoseconds of an agent step;
        `a/b` is a part of `a`.
    """
    measured: dict[str, Any] = {}
    spans: dict[str, list[Span]] = {}
    for name in backends(config):
        dashboard.status(f"profiling the {name} backend")
        with trainer_of(config, name) as trainer:
            spans[name], steps = _record(trainer, epochs)
            measured[name] = {
                "device": str(trainer.device),
                "steps": steps,
                "phases": _per_step(spans[name], steps),
            }
    for document in measured.values():
        whole = document["phases"]["rollout"] + document["phases"]["train"]
        document["steps_per_second"] = 1e9 / whole
    if trace is not None:
        trace.write_text(json.dumps(chrome_trace(spans)), encoding="utf-8")
    return {
        "env": config.train.env,
        "epochs": epochs,
        "trace": None if trace is None else str(trace),
        "backends": measured,
    }


def _record(trainer: Trainer, epochs: int) -> tuple[list[Span], int]:
    """What each block of the measured epochs took, and their agent steps."""
    if trainer.device.type == "cuda":
        import torch

        trainer.profile.synchronize = torch.cuda.synchronize
    for _ in range(WARM_UP):
        trainer.evaluate()
        trainer.train()
    first = trainer.global_step
    spans: list[Span] = []
    for _ in range(epochs):
        before = dict(trainer.profile.seconds)
        trainer.profile.spans = []
        trainer.evaluate()
        trainer.train()
        found = trainer.profile.spans
        # Phases without blocks of their own, those inside of the native library, are known by sum.
        known = {phase for phase, _, _ in found}
        sums = {
            phase: seconds - before.get(phase, 0.0)
            for phase, seconds in trainer.profile.seconds.items()
            if phase not in known
        }
        for phase, begin, end in found:
            inner = {name: s for name, s in sums.items() if name.startswith(f"{phase}/")}
            spans.append((phase, begin, end, inner))
    return spans, trainer.global_step - first


def _per_step(spans: Sequence[Span], steps: int) -> dict[str, float]:
    """Nanoseconds of an agent step by phase, in the order of the phases' first ends."""
    phases: dict[str, float] = {}
    for phase, begin, end, inner in spans:
        for name, seconds in ((phase, end - begin), *inner.items()):
            phases[name] = phases.get(name, 0.0) + seconds * 1e9 / steps
    return dict(sorted(phases.items(), key=lambda item: _order(item[0])))


def _order(phase: str) -> tuple[int, str]:
    return ("rollout", "train").index(phase.partition("/")[0]), phase


def chrome_trace(spans: Mapping[str, Sequence[Span]]) -> dict[str, Any]:
    """Blocks in the Trace Event Format: a process for each backend, times in microseconds."""
    events: list[dict[str, Any]] = []
    for process, (backend, blocks) in enumerate(spans.items(), 1):
        base = {"pid": process, "tid": 1}
        label = {"name": f"{backend} backend"}
        events.append({"name": "process_name", "ph": "M", **base, "args": label})
        origin = min((begin for _, begin, _, _ in blocks), default=0.0)
        for phase, begin, end, inner in blocks:
            events.append(
                {
                    "name": phase,
                    "cat": phase.partition("/")[0],
                    "ph": "X",
                    "ts": (begin - origin) * 1e6,
                    "dur": (end - begin) * 1e6,
                    **base,
                    "args": {f"{name} (s)": seconds for name, seconds in inner.items()},
                }
            )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def print_profile(console: Console, document: Mapping[str, Any]) -> None:
    """A table of phases for each backend."""
    from rich.table import Table
    from rich.text import Text

    for name, measured in document["backends"].items():
        phases = measured["phases"]
        whole = phases["rollout"] + phases["train"]
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
        table.add_column(f"{name} on {measured['device']}", min_width=24)
        for header in ("ns/step", "share", ""):
            table.add_column(header, justify="left" if not header else "right")
        for phase, nanoseconds in phases.items():
            share = nanoseconds / whole
            depth, last = phase.count("/"), phase.rpartition("/")[2]
            label = Text("  " * depth + last, style="" if depth else "bold")
            bar = Text("█" * round(30 * share), style="dim" if depth else "cyan")
            table.add_row(label, f"{nanoseconds:,.1f}", f"{share:.1%}", bar)
        console.print(table)
        console.print(Text(f"{measured['steps_per_second']:,.0f} steps/s\n", style="dim"))
    if document["trace"]:
        console.print(
            Text(f"trace: {document['trace']}; open it in chrome://tracing or ui.perfetto.dev"),
            soft_wrap=True,
        )

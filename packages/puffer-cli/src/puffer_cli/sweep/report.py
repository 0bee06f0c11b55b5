"""What a sweep found: the front, what matters, the repeats; as JSON, tables and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.report import duration
from puffer_cli.sweep.show import front_table, short
from puffer_core.errors import APIUsageError
from puffer_protein.importance import slices
from puffer_protein.protein import Protein
from puffer_protein.study import GOOD, Study
from puffer_protein.tuner import FrontPoint, Tuner

PICTURED = 6  # slices in the picture


def document(study: Study, tuner: Tuner) -> dict[str, Any]:
    """The JSON document of `puffer sweep --json` and `puffer sweep report --json`."""
    study.load(tuner)
    trials = study.trials()
    return {
        "env": study.settings.get("env"),
        "study": str(study.path),
        "metric": study.settings.get("metric"),
        "goal": study.settings.get("goal"),
        "states": study.counts(),
        "cost": sum(t.cost or 0.0 for t in trials),
        "front": [vars(point) for point in tuner.front()],
        "slices": [vars(s) for s in slices(tuner)] if isinstance(tuner, Protein) else [],
        "repeats": _repeats(study),
    }


def _repeats(study: Study) -> list[dict[str, Any]]:
    """Settings that were run again with new seeds: mean and standard error of those runs alone.

    The run that brought a setting to the front is left out: it was chosen for its luck.
    """
    groups: dict[str, list[Any]] = {}
    for trial in study.trials(*GOOD):
        if trial.kind == "repeated":
            groups.setdefault(repr(sorted(trial.values.items())), []).append(trial)
    found = []
    for group in groups.values():
        scores = np.array([t.score for t in group])
        count = len(scores)
        error = float(scores.std(ddof=1)) / math.sqrt(count) if count > 1 else None
        found.append(
            {
                "values": group[0].values,
                "runs": count,
                "score": float(scores.mean()),
                "score_se": error,
                "cost": float(np.mean([t.cost for t in group])),
            }
        )
    return found


def print_report(console: Console, result: Mapping[str, Any]) -> None:
    """Tables of what `document` returned."""
    states = ", ".join(f"{count} {state}" for state, count in sorted(result["states"].items()))
    console.print(Text(f"{result['env']}: {states}; cost {duration(result['cost'])}", style="bold"))
    console.print()
    if result["front"]:
        console.print(Text("front: expected score ± its uncertainty", style="dim"))
        console.print(front_table([FrontPoint(**point) for point in result["front"]], None))
    if result["slices"]:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
        for header in ("parameter", "importance", "best at", "expected score along its range"):
            table.add_column(header)
        for entry in result["slices"]:
            scores = entry["scores"]
            best = int(np.argmin(scores) if result["goal"] == "minimize" else np.argmax(scores))
            table.add_row(
                entry["name"],
                f"{entry['importance']:.0%}",
                short(entry["values"][best]),
                f"{scores[0]:.3g} ... {scores[best]:.3g} ... {scores[-1]:.3g}",
            )
        console.print()
        console.print(table)
    for entry in result["repeats"]:
        error = "" if entry["score_se"] is None else f" ± {entry['score_se']:.2g}"
        values = ", ".join(f"{k.rpartition('.')[2]}={short(v)}" for k, v in entry["values"].items())
        text = f"{entry['runs']} new seeds: {entry['score']:.4g}{error} in "
        console.print(Text(f"{text}{duration(entry['cost'])}   {values}"))
    console.print()
    console.print(Text(f"study: {result['study']}", style="dim"), soft_wrap=True)


def draw(study: Study, tuner: Tuner, result: Mapping[str, Any], path: str) -> None:
    """Draw the trials with the front, and the slices that matter most, as PNG or SVG.

    Raises:
        APIUsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise APIUsageError(
            "--png needs matplotlib: pip install 'puffer-cli[plot]', or open the study with "
            "Constellation."
        ) from None
    shown = result["slices"][:PICTURED]
    rows = -(-len(shown) // 3)
    figure = Figure(figsize=(9, 4.2 + 2.2 * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, 3, height_ratios=[2.0] + [1.0] * rows)
    axes = figure.add_subplot(grid[0, :])
    trials = study.trials()
    done: list[Any] = [t for t in trials if t.score is not None and t.cost]
    axes.scatter(
        [t.cost for t in done], [t.score for t in done], s=16, c="#8a94a6", lw=0, label="trials"
    )
    failed: list[Any] = [t for t in trials if t.state in ("failed", "diverged") and t.cost]
    if failed and done:
        bottom = min(t.score or 0.0 for t in done)
        cheapest = min(t.cost for t in done)  # trials that broke at once would stretch the axis
        spent = [max(t.cost, cheapest) for t in failed]
        axes.scatter(spent, [bottom] * len(failed), s=24, c="#c0392b", marker="x", label="failed")
    front = [FrontPoint(**point) for point in result["front"]]
    if front:
        costs = np.array([p.cost for p in front])
        scores = np.array([p.score for p in front])
        errors = np.nan_to_num([p.sd for p in front])
        axes.step(costs, scores, where="post", c="#1f6feb", lw=1.5, label="front, expected")
        axes.errorbar(costs, scores, errors, fmt="o", ms=4, c="#1f6feb", lw=1)
    axes.set(xscale="log", xlabel="cost in seconds", ylabel=str(result["metric"]))
    axes.set_title(f"{result['env']}: {len(trials)} trials", loc="left")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    expected = [score for entry in shown for score in entry["scores"]]
    low, high = (min(expected), max(expected)) if expected else (0.0, 1.0)
    margin = 0.05 * (high - low) or 1.0
    for index, entry in enumerate(shown):
        small = figure.add_subplot(grid[1 + index // 3, index % 3])
        parameter = study.space.parameters[entry["name"]]
        if parameter.kind == "categorical":
            small.bar([str(v) for v in entry["values"]], entry["scores"], color="#8a94a6")
        else:
            small.plot(entry["values"], entry["scores"], c="#1f6feb", lw=1.5)
            if parameter.kind in ("log_normal", "uniform_pow2"):
                small.set_xscale("log", base=2 if parameter.kind == "uniform_pow2" else 10)
                small.xaxis.set_minor_formatter("")  # labels between powers run into each other
        small.set_title(f"{entry['name']}  {entry['importance']:.0%}", loc="left", fontsize=9)
        small.tick_params(labelsize=8)
        small.set_ylim(low - margin, high + margin)  # the same for all: steep is important
    for each in figure.axes:
        each.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(path), dpi=150)

"""`puffer run`: execute a plan, exactly as it is written."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HELP = "execute a plan of `puffer plan`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the JSON file")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Validate the plan, then do it; the code is 128 + signal at the time limit."""
    from puffer_cli import bench, plans, train
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.report import finish

    plan = plans.read_plan(options.plan)
    config = plans.validate(plan)
    if plan.command == "sweep":
        with _time_limit(plan.limits.seconds):
            return _sweep(plan, config, options.json)
    console = make_console(options.json)
    try:
        with (
            _time_limit(plan.limits.seconds),
            Dashboard(console, f"puffer {plan.command} {plan.env}") as dashboard,
        ):
            if plan.command == "train":
                document = train.train(config, dashboard)
            elif plan.command == "eval":
                document = _evaluate(plan, dashboard)
            else:
                assert plan.repetition_seconds is not None  # validated
                document = bench.bench(config, plan.repetition_seconds, dashboard)
    except train.Stopped as stop:
        print(f"puffer: {stop}", file=sys.stderr)
        return 128 + stop.signal
    if plan.command == "bench" and not options.json:
        bench.print_bench(console, document)
        return 0
    return finish(console, document, options.json)


def _sweep(plan: Any, config: Any, json_output: bool) -> int:
    from puffer_cli.commands.sweep import execute
    from puffer_cli.sweep.open import create_study
    from puffer_cli.sweep.plan import allowed, sweep_of

    sweep = sweep_of(plan, config)
    return execute(create_study(sweep), allowed(sweep, plan.limits), json_output)


def _evaluate(plan: Any, dashboard: Any) -> dict[str, Any]:
    from puffer_cli import evaluate, plans
    from puffer_cli.environments import find
    from puffer_cli.inspection import inspect_file
    from puffer_core.errors import APIUsageError

    manifest = Path(plan.policy.path) / "manifest.json"
    found = inspect_file(manifest, expected=plan.policy.manifest_sha256)
    if not found["matches"]:
        raise APIUsageError(
            f"{manifest} has the sha256 {found['sha256']}, the plan expects "
            f"{plan.policy.manifest_sha256}: it is another policy."
        )
    request = evaluate.Request(
        policy=plan.policy.path,
        episodes=plan.episodes,
        seed=plan.evaluation_seed,
        max_steps=plan.max_steps,
    )
    return evaluate.evaluate(find(plan.env), request, plans.changes_of(plan), dashboard)


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Ask this process to stop, as SIGTERM from outside would, when the time is over."""

    def stop() -> None:
        print(f"puffer: the plan's {seconds} seconds are over", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGTERM)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

"""`puffer plan`: write a run down, or check what was written, without starting anything."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_cli.parser import RUN_DIR_HELP, at_least, whole

HELP = "write or validate the plan of a run; nothing is started"
EPILOG = (
    "train ENV, eval ENV and sweep ENV print a plan; repro ENV prints one evaluation plan for each "
    "of --repeats seeds, and one of a benchmark; validate FILE says why a plan must not be run; "
    "schema prints the JSON Schema. `puffer run FILE` executes a plan."
)
KEYS = True
REPETITION_SECONDS = 1.0  # of the benchmark of repro
ACTIONS = ("train", "eval", "sweep", "repro", "validate", "schema")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS))
    parser.add_argument("target", metavar="TARGET", nargs="?", help="ENV, or the FILE of a plan")
    parser.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")
    parser.add_argument("--policy", metavar="FOLDER", help="of a run or a checkpoint, to evaluate")
    parser.add_argument("--episodes", type=whole, default=128, metavar="N", help="default: 128")
    parser.add_argument("--seed", type=whole, metavar="N", help="of the evaluation")
    parser.add_argument("--repeats", type=whole, default=3, metavar="N", help="default: 3")
    parser.add_argument(
        "--max-seconds", type=whole, default=3600, metavar="N", help="of the run (default: 3,600)"
    )
    parser.add_argument("--run-dir", metavar="DIR", help=RUN_DIR_HELP)


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Print plans on stdout, as JSON, or validate one."""
    import json

    from puffer_cli import plans
    from puffer_core.errors import APIUsageError

    for name, low in (("episodes", 1), ("seed", 0), ("repeats", 1), ("max_seconds", 1)):
        at_least(options, name, low)
    if options.action == "schema":
        print(json.dumps(plans.Plan.model_json_schema(), indent=2))
        return 0
    if options.target is None:
        what = "the FILE of a plan" if options.action == "validate" else "an ENV"
        raise APIUsageError(f"puffer plan {options.action} needs {what}.")
    if options.action == "validate":
        plan = plans.read_plan(Path(options.target))
        print(json.dumps({"valid": True, "command": plan.command, "env": plan.env}))
        return 0
    if options.run_dir is not None:
        values = {**values, "run_dir": options.run_dir}
    make = {"train": _train, "sweep": _sweep}.get(options.action, _evaluations)
    found = make(options, values)
    for plan in found:
        plans.validate(plan)
    documents = [plan.model_dump(exclude_none=True) for plan in found]
    print(json.dumps({"plans": documents} if options.action == "repro" else documents[0], indent=2))
    return 0


def _train(options: argparse.Namespace, values: Mapping[str, Any]) -> list[Any]:
    from puffer_cli import plans

    return [plans.train_plan(options.target, values, options.config, options.max_seconds)]


def _sweep(options: argparse.Namespace, values: Mapping[str, Any]) -> list[Any]:
    from puffer_cli.sweep.plan import sweep_plan

    return [sweep_plan(options.target, values, options.config, options.max_seconds)]


def _evaluations(options: argparse.Namespace, values: Mapping[str, Any]) -> list[Any]:
    """One plan for `eval`; for `repro` `--repeats` and a benchmark's; seeds never overlap."""
    from puffer_cli import plans
    from puffer_cli.checkpoints import LATEST, find_checkpoint
    from puffer_cli.environments import find
    from puffer_cli.evaluate import evaluation_seed, run_config
    from puffer_cli.layers import COMMAND_LINE, Layer
    from puffer_core.errors import APIUsageError

    environment = find(options.target)
    if options.policy in (None, LATEST):
        raise APIUsageError(
            "--policy FOLDER must name the run or checkpoint: a plan that says latest would "
            "evaluate another policy tomorrow."
        )
    run_dir = str(values.get("run_dir", "runs"))
    checkpoint = find_checkpoint(run_dir, environment.name, options.policy, "--policy must be")
    config = run_config(environment, checkpoint, Layer(COMMAND_LINE, values))
    first = evaluation_seed(config) if options.seed is None else options.seed
    repeats = options.repeats if options.action == "repro" else 1
    found = [
        plans.eval_plan(
            checkpoint, config, options.episodes, first + i * options.episodes, options.max_seconds
        )
        for i in range(repeats)
    ]
    if options.action == "repro":
        found.append(plans.bench_plan(config, REPETITION_SECONDS, options.max_seconds))
    return found

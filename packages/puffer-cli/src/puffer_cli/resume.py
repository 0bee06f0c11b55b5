"""`puffer train ENV --resume RUN`: the settings with which a run goes on."""

from __future__ import annotations

from pathlib import Path

from puffer_cli.checkpoints import BEST, LATEST, find_checkpoint, run_layer
from puffer_cli.config import RUN_DIR, Config, check_names, resolve
from puffer_cli.environments import Environment
from puffer_cli.layers import Layer
from puffer_core.errors import APIUsageError

# What the saved state is made of; another value would be another run.
FIXED = (
    *("env.", "vec.", "policy.", "selfplay.enabled"),
    *("train.seed", "train.horizon", "train.optimizer"),
)


def resume_config(environment: Environment, which: str, changes: Layer) -> tuple[Config, Path]:
    """The configuration of an earlier run with changes, and the checkpoint to go on from.

    Args:
        environment: of the run.
        which: "latest", "best", or the folder of a run or checkpoint.
        changes: keys of [train] that do not shape the saved state.

    Raises:
        APIUsageError: no such run, or a change that cannot be.
    """
    check_names(changes)
    for key in changes.values:
        if key.startswith(FIXED):
            raise APIUsageError(
                f"{key} ({changes.origin}) cannot change when a run goes on; start a new one, or "
                "leave it out."
            )
    run_dir = changes.values.get("run_dir", RUN_DIR)
    expected = f"--resume must be {LATEST}, {BEST}"
    checkpoint = find_checkpoint(run_dir, environment.name, which, expected)
    return resolve(environment, [run_layer(environment, checkpoint), changes]), checkpoint


def differences(before: Layer, config: Config) -> list[str]:
    """One line for each key whose value is not that of the run so far."""
    flat = config.flat()
    return [
        f"{key}: {value} -> {flat[key]['value']}"
        for key, value in before.values.items()
        if key in flat and flat[key]["value"] != value
    ]

"""Find a checkpoint by what a person calls it, and the settings of its run."""

from __future__ import annotations

from pathlib import Path

from puffer_cli.environments import Environment, label
from puffer_cli.layers import Layer, read_run
from puffer_core.errors import APIUsageError

LATEST, BEST = "latest", "best"


def find_checkpoint(run_dir: str, env_name: str, which: str, expected: str) -> Path:
    """The checkpoint folder that `which` names.

    Args:
        run_dir: the folder of run folders.
        env_name: the environment.
        which: "latest"; "best", by the evaluations of the newest run that has any; a checkpoint
            folder; a run folder, whose last checkpoint is taken; or RUN/best.
        expected: the begin of the error message: the option, and what it may be beside a folder.

    Raises:
        APIUsageError: there is none.
    """
    from puffer_cuda import checkpoint

    if which == LATEST:
        return checkpoint.latest(Path(run_dir) / env_name)
    path = Path(which)
    if path.name == BEST:
        folders = sorted((Path(run_dir) / env_name).glob("*"), reverse=True)
        return _best([path.parent] if path != Path(BEST) else folders, which)
    if not path.is_dir():
        raise APIUsageError(
            f"{expected}, or the folder of a run or checkpoint; there is no folder {which!r}."
        )
    steps = sorted(path.glob(f"checkpoints/[0-9]*/{checkpoint.MANIFEST}"))
    if not steps and not (path / checkpoint.MANIFEST).is_file():
        raise APIUsageError(
            f"{which!r} is no folder of a run, which has config.json and checkpoints, nor that of "
            f"a checkpoint, which has {checkpoint.MANIFEST}."
        )
    return steps[-1].parent if steps else path


def _best(runs: list[Path], which: str) -> Path:
    from puffer_cuda import checkpoint

    for run in runs:
        found = checkpoint.read_best(run / "checkpoints")
        if found is not None:
            return run / "checkpoints" / f"{found['step']:016d}"
    raise APIUsageError(
        f"{which}: no run with evaluations; train with --eval.interval to have them."
    )


def run_folder(checkpoint: Path) -> Path:
    """The run that a checkpoint folder belongs to."""
    return checkpoint.absolute().parent.parent


def run_layer(environment: Environment, checkpoint: Path) -> Layer:
    """The settings of a checkpoint's run.

    Raises:
        APIUsageError: no configuration, or another environment's run.
    """
    name, layer = read_run(run_folder(checkpoint) / "config.json")
    if label(name) != environment.name:
        raise APIUsageError(
            f"{checkpoint} is a policy for {name}, not for {environment.name}; "
            f"`puffer eval {name}` evaluates it."
        )
    return layer

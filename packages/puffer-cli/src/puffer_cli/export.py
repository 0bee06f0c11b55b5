"""`puffer export`: a trained policy as a file that plays without Python, checked against it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from puffer_cli.checkpoints import BEST, LATEST, find_checkpoint
from puffer_cli.config import RUN_DIR
from puffer_cli.dashboard import Dashboard
from puffer_cli.environments import Environment
from puffer_cli.evaluate import evaluation_seed, run_config
from puffer_cli.layers import COMMAND_LINE, Layer
from puffer_cli.vectorize import evaluation_config, make_vecenv
from puffer_core.errors import APIUsageError

SUFFIXES = {"onnx": ".onnx", "c": ".c"}


def export(
    environment: Environment,
    which: str,
    kind: str,
    out: Path | None,
    values: Mapping[str, Any],
    dashboard: Dashboard,
) -> dict[str, Any]:
    """Write a policy, after it was compared with the exported one on real observations.

    Args:
        environment: of the policy.
        which: "latest", "best", or the folder of a run or a checkpoint.
        kind: "onnx" or "c".
        out: the file; None: the environment's name here. It must not exist.
        values: keys that replace those of the run: env.*, vec.*, run_dir.
        dashboard: entered by the caller.

    Returns:
        The JSON document of `puffer export --json`.

    Raises:
        APIUsageError: no such policy, one that cannot be exported, or a file that exists.
        RuntimeError: the exported policy does not act as the policy does; nothing is written.
    """
    if kind not in SUFFIXES:
        raise APIUsageError(f"--format must be {' or '.join(SUFFIXES)}, got {kind!r}.")
    path = out or Path(environment.name.replace("/", "_") + SUFFIXES[kind])
    if path.exists():
        raise APIUsageError(f"{path} exists already; name another file with --out.")
    run_dir = str(values.get("run_dir", RUN_DIR))
    expected = f"--policy must be {LATEST}, {BEST}"
    checkpoint = find_checkpoint(run_dir, environment.name, which, expected)
    config = run_config(environment, checkpoint, Layer(COMMAND_LINE, values))
    dashboard.status("loading torch")
    from puffer_cuda.checkpoint import load_weights
    from puffer_cuda.export.recording import AGENTS, record
    from puffer_cuda.policy import make_policy

    config.train.device = "cpu"
    seed = evaluation_seed(config)
    scratch = path.with_name(f".{path.stem}.{os.getpid()}{SUFFIXES[kind]}")
    with closing(make_vecenv(evaluation_config(config, AGENTS, seed))) as vecenv:
        policy = make_policy(config.policy, vecenv)
        load_weights(checkpoint, policy)
        dashboard.status(f"exporting {path}")
        recording = record(policy, vecenv, seed)
        title = f"{environment.name}, {checkpoint}"
        try:
            if kind == "c":
                from puffer_cuda.export import c

                text = c.source(policy, vecenv, recording, title)
                with c.CPolicy(text, vecenv) as played:
                    test, replayed = played.self_test(), played.replay(recording)
                scratch.write_text(text, encoding="utf-8")
            else:
                from puffer_cuda.export import onnx

                onnx.write(policy, vecenv, recording, scratch, title)
                loaded = onnx.OnnxPolicy(scratch)
                test, replayed = loaded.self_test(), loaded.replay(recording)
            difference = recording.check(f"the exported {kind} file", *replayed)
            os.replace(scratch, path)
        finally:
            scratch.unlink(missing_ok=True)
    return {
        "env": environment.name,
        "policy": str(checkpoint),
        "format": kind,
        "file": str(path),
        "bytes": path.stat().st_size,
        "observations": int(recording.values.size),
        "largest_difference": difference,
        "self_test": test,
    }

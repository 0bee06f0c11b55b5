"""Checkpoints: written whole or not at all, verified when loaded, no pickle.

`checkpoints/<step, 16 digits>/` holds weights.safetensors, optimizer.safetensors, what
trainer_state.py describes (trainer.json, trainer.safetensors, environments.safetensors),
fingerprint.safetensors (the policy's output on stored observations) and manifest.json (the sha256
of each). A folder without a valid manifest is no checkpoint. `checkpoints/best.json` names the one
whose evaluation during the run was best.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda.adapter import PolicyAdapter

FORMAT = 2
MANIFEST = "manifest.json"
BEST = "best.json"
OLD = ".old"  # end of the name of a folder that is being removed


def save(
    folder: Path,
    step: int,
    policy: nn.Module,
    observations: Tensor,
    optimizer: torch.optim.Optimizer,
    trainer: dict[str, Any],
    tensors: dict[str, Tensor],
    arrays: dict[str, np.ndarray[Any, Any]],
) -> Path:
    """Write the checkpoint of `step` below `folder`, which is made if need be.

    Everything goes to a temporary folder first, is synced, and takes its name last.

    Args:
        folder: the run's `checkpoints` folder.
        step: agent steps so far.
        policy: its state dict is the weights.
        observations: a few `(batch, *obs)`, for the fingerprint.
        optimizer: its tensors are kept.
        trainer: the trainer's numbers, as JSON.
        tensors: the trainer's tensors.
        arrays: the environments'; may be empty.

    Returns:
        The folder of the checkpoint.

    Raises:
        OSError: it could not be written; what was there before is untouched.
    """
    target = folder / f"{step:016d}"
    scratch = folder / f".{target.name}.{os.getpid()}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        save_file(_contiguous(policy.state_dict()), scratch / "weights.safetensors")
        save_file(_optimizer_tensors(optimizer), scratch / "optimizer.safetensors")
        save_file(fingerprint(policy, observations), scratch / "fingerprint.safetensors")
        save_file(_contiguous(tensors), scratch / "trainer.safetensors")
        safetensors.numpy.save_file(arrays, scratch / "environments.safetensors")
        (scratch / "trainer.json").write_text(json.dumps(trainer, indent=1))
        files = {path.name: _sha256(path) for path in sorted(scratch.iterdir())}
        manifest = {"format": FORMAT, "step": step, "sha256": files}
        (scratch / MANIFEST).write_text(json.dumps(manifest, indent=1))
        for path in (*scratch.iterdir(), scratch):
            _sync(path)
        shutil.rmtree(target, ignore_errors=True)  # the same step again, from an earlier attempt
        os.replace(scratch, target)
        _sync(folder)
    except SafetensorError as error:
        raise OSError(f"{scratch}: {error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def load_weights(folder: Path, policy: nn.Module) -> None:
    """Load a checkpoint's weights into `policy` and check that it acts as it did when saved.

    Raises:
        APIUsageError: files are missing, changed or of another policy.
    """
    verify(folder)
    weights = load_file(folder / "weights.safetensors")
    if difference := mismatch(weights, policy.state_dict()):
        raise APIUsageError(f"{folder} holds the weights of another policy: {difference}.")
    policy.load_state_dict(weights)
    device = next(policy.parameters()).device
    expected = load_file(folder / "fingerprint.safetensors")
    got = fingerprint(policy, expected["observations"].to(device))
    for name, tensor in expected.items():
        if not torch.allclose(tensor.float(), got[name].float(), rtol=1e-3, atol=1e-4):
            raise APIUsageError(
                f"{folder}: the policy's {name} on the stored observations are not those of the "
                "time of saving; the policy's code or settings have changed since."
            )


def mismatch(weights: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str:
    """The first difference of names and shapes, in the order of `expected`; empty if none."""
    for name, tensor in expected.items():
        if name not in weights:
            return f"{name} is missing"
        if weights[name].shape != tensor.shape:
            return (
                f"{name} has shape {tuple(weights[name].shape)}, expected {tuple(tensor.shape)}; "
                "the environment's spaces or the sizes in [policy] are others"
            )
    unknown = next((name for name in weights if name not in expected), None)
    return "" if unknown is None else f"the policy has no {unknown}"


class Loaded(NamedTuple):
    """The trainer's part of a checkpoint, as `save` took it."""

    trainer: dict[str, Any]
    tensors: dict[str, Tensor]
    arrays: dict[str, np.ndarray[Any, Any]]


def load(folder: Path, policy: nn.Module, optimizer: torch.optim.Optimizer) -> Loaded:
    """Load weights and optimizer in place, and return the rest.

    Raises:
        APIUsageError: as `load_weights`, or the optimizer is of another kind.
    """
    load_weights(folder, policy)
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in load_file(folder / "optimizer.safetensors").items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    return Loaded(
        json.loads((folder / "trainer.json").read_text()),
        load_file(folder / "trainer.safetensors"),
        safetensors.numpy.load_file(folder / "environments.safetensors"),
    )


def latest(runs: Path) -> Path:
    """The newest complete checkpoint below `runs/<run id>/checkpoints/`.

    By run id, then step; names decide, so that copying files does not change the answer.

    Raises:
        APIUsageError: there is none.
    """
    for run in sorted(runs.glob("*"), reverse=True):
        for folder in sorted((run / "checkpoints").glob("[0-9]*"), reverse=True):
            if (folder / MANIFEST).exists():
                return folder
    raise APIUsageError(f"there is no checkpoint below {runs}; train first.")


def prune(folder: Path, keep: int) -> None:
    """Remove the oldest checkpoints but the newest `keep`, never the best one; 0 keeps all.

    Args:
        folder: the run's `checkpoints` folder.
        keep: how many.
    """
    complete = [path.parent for path in sorted(folder.glob(f"[0-9]*/{MANIFEST}"))]
    best = read_best(folder)
    for path in complete[:-keep] if keep else ():
        if best is None or path.name != f"{best['step']:016d}":
            os.replace(path, folder / f".{path.name}{OLD}")  # half a checkpoint has no such name
    for path in folder.glob(f".*{OLD}"):
        shutil.rmtree(path, ignore_errors=True)


def read_best(folder: Path) -> dict[str, Any] | None:
    """`step`, `name` and `value` of the best checkpoint by evaluation; None before any."""
    try:
        best: dict[str, Any] = json.loads((folder / BEST).read_text())
    except OSError:
        return None
    return best


def write_best(folder: Path, step: int, name: str, value: float) -> None:
    """Call the checkpoint of `step` the best one: its evaluation gave `value` of `name`."""
    scratch = folder / f".{BEST}.{os.getpid()}"
    scratch.write_text(json.dumps({"step": step, "name": name, "value": value}))
    os.replace(scratch, folder / BEST)


def verify(folder: Path) -> None:
    """Compare every file of a checkpoint with its manifest.

    Raises:
        APIUsageError: no manifest, another format, or a file that is missing or changed.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        version, files = manifest["format"], manifest["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise APIUsageError(f"{folder} is no checkpoint: {error}") from error
    if version != FORMAT:
        raise APIUsageError(f"{folder} has format {version}; this version reads {FORMAT}.")
    for name, digest in files.items():
        path = folder / name
        if not path.is_file():
            raise APIUsageError(f"{folder} is incomplete: {name} is missing.")
        if _sha256(path) != digest:
            raise APIUsageError(f"{path} was changed or damaged since it was written.")


@torch.no_grad()
def fingerprint(policy: nn.Module, observations: Tensor) -> dict[str, Tensor]:
    """The observations and the policy's values and logits (means, if continuous) on them."""
    adapter = PolicyAdapter(policy)
    state = adapter.initial_state(len(observations), observations.device)
    logits, values, _ = adapter.act(observations, state)
    if isinstance(logits, torch.distributions.Normal):
        output = logits.loc
    else:
        output = logits if isinstance(logits, Tensor) else torch.cat(logits, -1)
    tensors = {"observations": observations, "values": values, "logits": output}
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value).contiguous()
        for index, entries in state.items()
        for name, value in entries.items()
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""What PufferLib 3.0 left behind: its weight files, and names that its programs use."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda.advantage import advantages as estimate
from puffer_cuda.checkpoint import mismatch

WRAPPERS = ("module.", "_orig_mod.")  # of DistributedDataParallel and torch.compile

# Attributes of its trainer -> where they are here.
TRAINER_NAMES = {
    "actions": "rollout.actions",
    "logprobs": "rollout.log_probs",
    "minibatch_segments": "plan.minibatch_segments",
    "minibatch_size": "plan.minibatch_size",
    "observations": "rollout.observations",
    "rewards": "rollout.rewards",
    "segments": "rollout.segments",
    "terminals": "rollout.terminals",
    "total_agents": "plan.num_agents",
    "total_minibatches": "plan.minibatches",
    "truncations": "rollout.truncations",
    "uncompiled_policy": "policy",
    "values": "rollout.values",
}


def read_pt(path: Path) -> dict[str, Tensor]:
    """The weights in a `.pt` file, under the names that they have in this version.

    Nothing but tensors is read: torch refuses everything else (`weights_only=True`).

    Raises:
        APIUsageError: no such file, or it holds anything else than a state dict.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, KeyError, pickle.UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise APIUsageError(f"{path} cannot be read as a file of weights: {reason}") from error
    if not isinstance(content, Mapping) or not content:
        raise APIUsageError(f"{path} holds no state dict, but a {type(content).__name__}.")
    for name, value in content.items():
        if not isinstance(value, Tensor):
            raise APIUsageError(
                f"{path} is no file of a policy's weights: {name} is a {type(value).__name__}. "
                "The weights are in model_*.pt, the optimizer in trainer_state.pt."
            )
    return _renamed(content)


def _renamed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Its LSTMWrapper keeps the LSTM's four tensors twice, as `lstm` and as `cell`."""
    renamed = {}
    if not any("lstm.weight_ih_l0" in name for name in weights):
        return {_unwrapped(name): tensor.contiguous() for name, tensor in weights.items()}
    for name, tensor in weights.items():
        name = _unwrapped(name)
        if name.startswith("cell."):
            continue
        if name.startswith("lstm.") and name.endswith("_l0"):
            name = f"lstm.cells.0.{name[5:-3]}"
        renamed[name] = tensor.contiguous()
    return renamed


def _unwrapped(name: str) -> str:
    for wrapper in WRAPPERS:
        name = name.removeprefix(wrapper)
    return name


def load_pt(path: Path | str, policy: nn.Module) -> None:
    """Load a file of PufferLib 3.0 into a policy of the same structure.

    The policy is the program's own module, or `models.Default`, `models.LSTMWrapper`.

    Raises:
        APIUsageError: as `read_pt`, or the policy is another one; names the first difference.
    """
    weights = read_pt(Path(path))
    if difference := mismatch(weights, policy.state_dict()):
        raise APIUsageError(f"{path} holds the weights of another policy: {difference}.")
    policy.load_state_dict(weights)


def compute_puff_advantage(
    values: Tensor,
    rewards: Tensor,
    terminals: Tensor,
    ratio: Tensor,
    advantages: Tensor,
    gamma: float,
    gae_lambda: float,
    vtrace_rho_clip: float,
    vtrace_c_clip: float,
) -> Tensor:
    """Advantages in the convention of 3.0, written to `advantages` and returned.

    All tensors are `(segments, time)`, and a reward or terminal in column t came with the
    observation of column t, so that it belongs to the action of column t - 1. The last action of a
    segment has no reward and advantage 0.
    """
    ends = terminals[:, 1:].bool()
    nothing = torch.zeros_like(ends)
    advantages[:, :-1] = estimate(
        rewards[:, 1:],
        ends,
        nothing,
        values,
        torch.zeros_like(rewards[:, 1:]),
        ratio[:, :-1],
        gamma,
        gae_lambda,
        vtrace_rho_clip,
        vtrace_c_clip,
    )
    advantages[:, -1] = 0
    return advantages


class NoLogger:
    """A logger that keeps nothing."""

    def __init__(self, args: Any = None) -> None:
        self.run_id = ""

    def log(self, logs: Mapping[str, Any], step: int) -> None:
        """Nothing."""

    def close(self, model_path: Any = None) -> None:
        """Nothing."""

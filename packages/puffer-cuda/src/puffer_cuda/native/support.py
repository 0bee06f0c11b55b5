"""What the native trainer covers. The rest trains on Torch; the reason is one line."""

from __future__ import annotations

from typing import Any

from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.native import library, nvcc

NETWORKS = ("mlp", "mingru")

# The settings that the native trainer acts on; any other must have its default.
TRAIN_KEYS = {
    *("env", "seed", "device", "threads", "total_timesteps", "horizon", "minibatch_size"),
    *("replay_ratio", "optimizer", "learning_rate", "anneal_lr", "min_lr_ratio", "beta1", "beta2"),
    *("eps", "weight_decay", "adamw_ratio", "max_grad_norm", "gamma", "gae_lambda", "rho_clip"),
    *("c_clip", "reward_scale", "reward_clip", "clip_coef", "vf_coef", "vf_clip_coef", "ent_coef"),
    *("prio_alpha", "prio_beta0", "max_skipped_updates", "checkpoint_interval"),
    *("backend", "warmup", "anneal_ent", "min_ent_ratio", "keep_checkpoints"),
    "precision",  # see unsupported_device
    "max_minibatch_size",  # a bound on memory; slices are smaller than any
}
POLICY_KEYS = {"network", "hidden_size", "num_layers"}


def unsupported(train: TrainConfig, policy: PolicyConfig, vec: VecConfig, native_env: bool) -> str:
    """Why the native trainer cannot train this; empty if it can.

    Args:
        train: the [train] section.
        policy: the [policy] section.
        vec: the [vec] section.
        native_env: the environments are in C, stepped by the native vectorizer.
    """
    if not native_env:
        return "it steps C environments with vec.backend = native"
    if vec.num_threads and train.threads not in (0, vec.num_threads):
        return (
            "its threads step environments and learn, and vec.num_threads = "
            f"{vec.num_threads} is not train.threads = {train.threads}"
        )
    if train.device == "cpu" and (reason := unsupported_device(train, gpu=False)):
        return reason
    if train.device.startswith("cuda") and (reason := unsupported_device(train, gpu=True)):
        return reason
    if not train.device.startswith(("auto", "cpu", "cuda")):
        return f"it runs on a CPU or an NVIDIA GPU, and train.device = {train.device}"
    if policy.network not in NETWORKS:
        return f"it has the networks {' and '.join(NETWORKS)}, not {policy.network}"
    for section, known in ((train, TRAIN_KEYS), (policy, POLICY_KEYS)):
        for key, field in type(section).model_fields.items():
            value = getattr(section, key)
            if key not in known and value != field.default:
                return f"it knows no {key} = {value}"
    try:
        library.load()
        library.sgemm()
    except library.NotBuiltError as error:
        return str(error)
    return ""


def unsupported_on_gpu(vec: VecConfig, chosen: str, gpu: bool) -> str:
    """Why `vec.device = gpu` cannot be; empty if it can, or was not asked for.

    Args:
        vec: the [vec] section.
        chosen: the backend.
        gpu: it learns on a GPU.
    """
    if vec.device == "cpu":
        return ""
    if chosen != "native" or not gpu:
        return (
            "vec.device = gpu steps environments where the native trainer learns, on a GPU: set "
            "train.backend = native and train.device = cuda, or vec.device = cpu"
        )
    if vec.num_buffers > 1:
        return (
            f"vec.num_buffers = {vec.num_buffers} is for environments that step on the CPU; with "
            "vec.device = gpu nothing waits: leave it 0"
        )
    return ""


def unsupported_device(train: TrainConfig, gpu: bool) -> str:
    """The same for the device, once it is known."""
    if gpu and train.backend == "auto":  # until it has been measured on one
        return "on a GPU it trains only when asked: train.backend = native"
    if gpu:
        return nvcc.missing()
    if train.precision != "float32":
        return f"on the CPU it knows no precision = {train.precision}"
    return ""


def unsupported_objects(vecenv: Any, policy: Any) -> str:
    """The same for a vectorizer and a policy that were made already."""
    from puffer_cuda.encoders import FlatEncoder
    from puffer_cuda.networks import MLP, MinGRU
    from puffer_cuda.policy import Decoder, Policy
    from puffer_ocean import OceanEnv
    from puffer_vector import Native

    if type(policy) is not Policy:
        return f"it knows the policies of puffer_cuda.policy, not {type(policy).__name__}"
    parts = (policy.encoder, policy.network, policy.decoder)
    for part, known in zip(parts, ((FlatEncoder,), (MLP, MinGRU), (Decoder,)), strict=True):
        if type(part) not in known:
            return f"it does not know {type(part).__name__}"
        if getattr(part, "activation", "relu") != "relu":
            return "it knows no activation but relu"
    if not isinstance(vecenv, Native):
        return "it steps C environments with vec.backend = native"
    if type(vecenv.driver_env) is not OceanEnv:  # a subclass may step in its own way
        return f"it steps the C code of an OceanEnv, not {type(vecenv.driver_env).__name__}"
    return ""

"""Configuration files of PufferLib 3.0 and 4.0: what their keys are called here.

The tables hold names, not values; a file may mix both versions, and ours. Where a value is spelled
differently too, or a key depends on others, `translate` does it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from puffer_cli.layers import Layer

if TYPE_CHECKING:
    from puffer_cli.environments import Environment

# The same value under another name. Keys without a section are those of [base].
RENAMED = {
    "checkpoint_dir": "run_dir",
    "checkpoint_interval": "train.checkpoint_interval",
    "eval_episodes": "eval.episodes",
    "rnn_name": "policy.network",
    "seed": "train.seed",
    "selfplay.max_size": "selfplay.pool_size",
    "sweep.max_suggestion_cost": "sweep.max_trial_cost",
    "sweep.sweep_only": "sweep.only",
    "torch.encoder": "policy.encoder",
    "torch.network": "policy.network",
    "train.adam_beta1": "train.beta1",
    "train.adam_beta2": "train.beta2",
    "train.adam_eps": "train.eps",
    "train.anneal_ent_coef": "train.anneal_ent",
    "train.bptt_horizon": "train.horizon",
    "train.data_dir": "run_dir",
    "train.eval_episodes": "eval.episodes",
    "train.min_ent_coef_ratio": "train.min_ent_ratio",
    "train.momentum": "train.beta1",
    "train.update_epochs": "train.replay_ratio",
    "train.vtrace_c_clip": "train.c_clip",
    "train.vtrace_rho_clip": "train.rho_clip",
}

# No setting here, and why or what instead.
GONE = {
    "async": "rollout and update take turns",
    "cudagraphs": "train.compile = reduce-overhead records them",
    "gpu_id": "train.device = cuda:N",
    "log_dir": "the log is in the run's folder",
    "max_suggestion_cost": "sweep.max_trial_cost",
    "nccl_id": "torchrun connects the processes",
    "package": "the name says it: ale/NAME, gymnasium/ID",
    "policy_name": "policy.encoder; a network of your own comes from Python",
    "profile": "`puffer profile` does that",
    "rank": "torchrun numbers the processes",
    "reset_every_horizon": "the state is cleared where an episode begins",
    "reset_state": "the state is cleared where an episode begins",
    "world_size": "torchrun starts the processes",
    "policy.expansion_factor": "the network is as wide as policy.hidden_size",
    "policy.input_size": "the network is as wide as policy.hidden_size",
    "rnn.hidden_size": "the network is as wide as policy.hidden_size",
    "rnn.input_size": "the network is as wide as policy.hidden_size",
    "selfplay.elo_k": "it is fixed",
    "selfplay.min_games": "opponents change where an episode ends",
    "selfplay.opp_timeout": "opponents change where an episode ends",
    "selfplay.seed": "train.seed seeds the opponents too",
    "selfplay.snapshot": "selfplay.snapshot_interval, in epochs",
    "selfplay.swap_winrate": "opponents change where an episode ends",
    "sweep.early_stop_quantile": "sweep.early_stop ends hopeless trials",
    "sweep.gpus": "sweep.workers and sweep.devices",
    "sweep.max_score": "sweep.metric and sweep.goal",
    "sweep.metric_distribution": "scores are ranked as they are",
    "sweep.prune_pareto": "the front is taken as it is",
    "sweep.use_gpu": "the models of the search run on the CPU",
    "torch.decoder": "the actions' space decides",
    "train.amp": "train.precision = bfloat16",
    "train.batch_size": "a batch is train.horizon x agents",
    "train.compile_fullgraph": "train.compile has the mode alone",
    "train.compile_mode": "train.compile has the mode",
    "train.cpu_offload": "observations lie on train.device",
    "train.gpus": "`torchrun -m puffer_cli.main train` takes several",
    "train.name": "runs are named by environment and time",
    "train.project": "log.project",
    "train.torch_deterministic": "runs on the CPU repeat exactly",
    "train.use_rnn": "policy.network",
    "train.verb_eps": "actions are drawn from the policy alone",
    "vec.seed": "train.seed seeds the environments too",
}

# Values that are spelled differently, by our key.
SPELLED = {
    "policy.encoder": {"DefaultEncoder": "auto", "NatureEncoder": "nature"}
    | {"ImpalaEncoder": "impala"},
    "policy.network": {"None": "mlp", "Recurrent": "lstm"}
    | {"MLP": "mlp", "MinGRU": "mingru", "LSTM": "lstm", "GRU": "gru"},
    "sweep.method": {"Protein": "protein", "Random": "random", "ParetoGenetic": "pareto_genetic"},
    "train.compile": {"False": "off", "True": "default"},
    "train.minibatch_size": {"auto": "0"},
    "train.optimizer": {"adam": "adamw"},
    "vec.backend": {
        "PufferEnv": "native",
        "Serial": "serial",
        "Multiprocessing": "multiprocessing",
    },
    "vec.batch_size": {"auto": "0"},
    "vec.num_workers": {"auto": "0"},
}

PROCESSES = ("vec.backend", "vec.num_workers", "vec.batch_size", "vec.zero_copy")


class OldKeys(UserWarning):
    """A file has keys of PufferLib; the message says what became of each."""


def objection(key: str) -> str | None:
    """Why a key of PufferLib is refused where files alone may have it; None: it is none."""
    if key in RENAMED:
        return f"is called {RENAMED[key]} here."
    return f"has no meaning here: {GONE[key]}." if key in GONE else None


def translate(layer: Layer, environment: Environment | None) -> Layer:
    """A user's file with its old keys under their names here; warns once, about all of them.

    Args:
        layer: of the file.
        environment: whose; None: of none.
    """
    values = dict(layer.values)
    notes = _threads_instead(values, environment) + _name(values, environment)
    translated: dict[str, Any] = {}
    for key, value in values.items():
        prefix, old, field = _parts(key)
        new = RENAMED.get(old, old)
        target = f"{prefix}{new}{field}"
        if old in GONE:
            note = f"{prefix}{old} has no meaning here: {GONE[old]}"
        elif target != key and target in {**values, **translated}:
            note = f"{key} is left out: {target} stands there too"
        else:
            note = f"{prefix}{old} is {prefix}{new} here" if new != old else ""
            translated[target] = SPELLED.get(new, {}).get(value, value)
        if note and note not in notes:
            notes.append(note)
    if notes:
        text = "\n  ".join([f"{layer.origin} has keys of PufferLib", *notes])
        warnings.warn(text, OldKeys, stacklevel=2)
    return Layer(layer.origin, translated)


def _parts(key: str) -> tuple[str, str, str]:
    """`sweep.train.gamma.min` as ("sweep.", "train.gamma", ".min"); other keys as they are."""
    parts = key.split(".")
    if parts[0] == "sweep" and len(parts) > 3:
        return "sweep.", ".".join(parts[1:-1]), f".{parts[-1]}"
    return "", key, ""


def _threads_instead(values: dict[str, Any], environment: Environment | None) -> list[str]:
    """3.0 steps environments in C in processes; here threads do it, and the trainer is native."""
    if environment is None or not environment.native:
        return []
    if values.get("vec.backend") != "Multiprocessing":
        return []
    left = [key for key in PROCESSES if values.pop(key, None) is not None]
    return [f"{', '.join(left)} left out: threads step C environments"]


def _name(values: dict[str, Any], environment: Environment | None) -> list[str]:
    """[base] env_name is 3.0's and 4.0's way to say whose file it is: one name, or several."""
    names = str(values.pop("env_name", "")).split()
    short = [name.removeprefix("puffer_") for name in names]
    if not names or environment is None or environment.name.rpartition("/")[2] in short:
        return []
    return [f"env_name: the file is for {', '.join(names)}, not for {environment.name}"]

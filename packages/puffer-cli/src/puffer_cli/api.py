"""What `puffer` does, as functions for programs; `pufferlib.pufferl` re-exports them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from puffer_cli import config, vectorize
from puffer_cli.checkpoints import LATEST, find_checkpoint
from puffer_cli.environments import find
from puffer_cli.layers import Layer, read_ini
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    from torch import nn

    from puffer_cuda.logbook import Logger
    from puffer_vector import Tuning
    from puffer_vector.base import VecEnv

ORIGIN = "args"
RNN = ("input_size", "hidden_size")


def load_config(env_name: str) -> dict[str, Any]:
    """The configuration of an environment as nested dictionaries to read and change.

    Args:
        env_name: an environment, or "default" for the defaults alone.

    Returns:
        "run_dir", and the sections "train", "policy", "vec", "env"; "rnn" is empty and there for
        programs that repeat the width of the policy in it.

    Raises:
        APIUsageError: unknown environment, or an error in its ini file.
    """
    return {**config.load_config(env_name).nested(), "rnn": {}}


def load_env(env_name: str, args: Mapping[str, Any]) -> VecEnv:
    """The vectorizer that `args` (of `load_config`) describe.

    Raises:
        APIUsageError: an unknown key, or settings that do not fit.
    """
    return vectorize.make_vecenv(typed(env_name, args))


def load_policy(args: Mapping[str, Any], vecenv: VecEnv, env_name: str = "") -> nn.Module:
    """The policy that `args` describe, for the spaces of `vecenv`, on the device of [train].

    Raises:
        APIUsageError: as `load_env`.
    """
    from puffer_cuda.device import choose_device
    from puffer_cuda.policy import make_policy

    checked = typed(env_name or args["train"]["env"], args)
    return make_policy(checked.policy, vecenv).to(choose_device(checked.train.device))


def train(
    env_name: str,
    args: Mapping[str, Any] | None = None,
    vecenv: VecEnv | None = None,
    policy: nn.Module | None = None,
    logger: Logger | None = None,
) -> dict[str, Any]:
    """Train as `puffer train` does, in a new run folder, and evaluate.

    Args:
        env_name: an environment.
        args: of `load_config`; None: as they are.
        vecenv: to train on instead of that of `args`; it is closed at the end.
        policy: to train instead of that of `args`.
        logger: gets the logs of every epoch, beside the run's own.

    Returns:
        The document that `puffer train --json` prints.
    """
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.train import train as run

    checked = typed(env_name, args or {})
    with Dashboard(make_console(False), f"train {checked.train.env}") as dashboard:
        return run(checked, dashboard, vecenv, policy, logger=logger)


def eval(
    env_name: str,
    args: Mapping[str, Any] | None = None,
    vecenv: VecEnv | None = None,
    policy: nn.Module | None = None,
) -> dict[str, Any]:
    """Evaluate a policy on fresh episodes, as [eval] of `args` says.

    Args:
        env_name: an environment.
        args: of `load_config`; None: as they are.
        vecenv: to play on instead of environments of their own; it stays open.
        policy: to evaluate; None: the latest checkpoint of the environment, as `puffer eval`.

    Returns:
        "episodes", and mean and standard error of each statistic.
    """
    from puffer_cli import evaluate
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cuda.device import choose_device

    checked = typed(env_name, args or {})
    with Dashboard(make_console(False), f"eval {checked.train.env}") as dashboard:
        if policy is None:
            environment = find(checked.train.env)
            folder = find_checkpoint(checked.run_dir, environment.name, LATEST, "a policy")
            request = evaluate.Request(str(folder))
            changes = Layer(ORIGIN, {f"eval.{k}": v for k, v in checked.eval.model_dump().items()})
            document = evaluate.evaluate(environment, request, changes, dashboard)
            return dict(document["stats"])
        evaluation = evaluate.Evaluation(checked, dashboard, vecenv)
        try:
            return evaluation(policy, choose_device(checked.train.device))
        finally:
            if vecenv is None:
                evaluation.close()


def typed(env_name: str, args: Mapping[str, Any]) -> config.Config:
    """The typed form of `args`; keys that they lack are as in `load_config(env_name)`.

    Raises:
        APIUsageError: an unknown key or a wrong value.
    """
    checked = config.load_config(env_name, _changes(env_name, args), origin=ORIGIN)
    for key, value in args.get("rnn", {}).items():
        if key not in RNN or value != checked.policy.hidden_size:
            raise APIUsageError(
                f"rnn.{key} = {value!r}: the network is as wide as the policy, "
                f"policy.hidden_size = {checked.policy.hidden_size}; set that one."
            )
    return checked


def load_config_file(file_path: Path | str, fill_in_default: bool = True) -> dict[str, Any]:
    """The configuration in an ini file, which may name its environment: [base] env_name.

    Args:
        file_path: the file.
        fill_in_default: also what the file leaves out; False: its own keys alone.

    Raises:
        APIUsageError: no such file, or an error in it.
    """
    layer = read_ini(Path(file_path))
    names = str(layer.values.get("env_name", "")).split()
    name = names[0] if names else config.DEFAULT
    loaded = config.load_config(name, file=file_path)
    if fill_in_default:
        return {**loaded.nested(), "rnn": {}}
    nested: dict[str, Any] = {}
    for key, entry in loaded.flat().items():
        if entry["origin"] == layer.origin:
            section, _, own = key.rpartition(".")
            (nested.setdefault(section, {}) if section else nested)[own] = entry["value"]
    return nested


def sweep(args: Mapping[str, Any] | None = None, env_name: str | None = None) -> dict[str, Any]:
    """Tune as `puffer sweep` does.

    Args:
        args: of `load_config`; a section "sweep" may say how to search.
        env_name: an environment.

    Returns:
        The document that `puffer sweep --json` prints.
    """
    from puffer_cli.dashboard import make_console
    from puffer_cli.sweep.driver import Driver
    from puffer_cli.sweep.open import create_study, make_tuner
    from puffer_cli.sweep.report import document
    from puffer_cli.sweep.settings import SweepConfig, read_sweep
    from puffer_cli.sweep.show import SweepPage

    name, given = _named(env_name, args)
    search = config.flatten({"sweep": given.pop("sweep", {})})
    found = read_sweep(name, {**_changes(name, given), **search}, None, ORIGIN)
    study = create_study(found)
    tuner = make_tuner(study, found.possible)
    with SweepPage(make_console(False), f"sweep {found.env}") as page:
        Driver(study, tuner, SweepConfig(**study.settings["sweep"]), page).run()
    return document(study, tuner)


def profile(
    args: Mapping[str, Any] | None = None, env_name: str | None = None, epochs: int = 10
) -> dict[str, Any]:
    """Where a step's time goes; the document that `puffer profile --json` prints."""
    from puffer_cli import profiling
    from puffer_cli.dashboard import Dashboard, make_console

    checked = typed(*_named(env_name, args))
    with Dashboard(make_console(False), f"profile {checked.train.env}") as dashboard:
        document: dict[str, Any] = profiling.profile(checked, epochs, None, dashboard)
    return document


def export(
    args: Mapping[str, Any] | None = None,
    env_name: str | None = None,
    format: str = "c",
    out: Path | str | None = None,
) -> dict[str, Any]:
    """Write the latest policy as a file; the document that `puffer export --json` prints."""
    from puffer_cli import export
    from puffer_cli.dashboard import Dashboard, make_console

    name, given = _named(env_name, args)
    values = {"run_dir": given["run_dir"]} if "run_dir" in given else {}
    path = None if out is None else Path(out)
    with Dashboard(make_console(False), f"export {name}") as dashboard:
        return export.export(find(name), LATEST, format, path, values, dashboard)


def autotune(
    args: Mapping[str, Any] | None = None, env_name: str | None = None, **options: Any
) -> Tuning:
    """Measure vectorizer settings; `options` are those of `puffer_vector.autotune`."""
    import functools

    from puffer_vector import autotune

    checked = typed(*_named(env_name, args))
    creator = functools.partial(find(checked.train.env).creator(), **checked.env)
    return autotune(creator, **options)


def _named(env_name: str | None, args: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """The environment's name, which the arguments may know, and a copy of them."""
    given = dict(args or {})
    name = env_name or given.get("train", {}).get("env")
    if not name:
        raise APIUsageError("env_name is missing: which environment?")
    return str(name), given


def _changes(env_name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted key -> value of what differs from `load_config(env_name)`."""
    known = {key: entry["value"] for key, entry in config.load_config(env_name).flat().items()}
    flat = config.flatten({key: value for key, value in args.items() if key != "rnn"})
    flat.pop("train.env", None)  # a label; `env_name` says which one it is
    return {key: value for key, value in flat.items() if known.get(key) != value}

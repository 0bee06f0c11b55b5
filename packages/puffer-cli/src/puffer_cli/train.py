"""`puffer train`: from a configuration to a trained policy in a run folder."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from puffer_cli.checkpoints import run_folder
from puffer_cli.config import Config
from puffer_cli.dashboard import Dashboard
from puffer_cli.evaluate import MAX_STEPS, evaluation_seed, run_episodes
from puffer_cli.report import summarize
from puffer_cli.run import Run
from puffer_cli.vectorize import evaluation_config, make_vecenv, plan_vec
from puffer_cuda import backend
from puffer_cuda.plan import plan

if TYPE_CHECKING:
    from torch import nn

    from puffer_cuda.backend import Trainer
    from puffer_vector.base import VecEnv


class Stopped(Exception):  # noqa: N818 - it is no error
    """The user or the system asked the run to stop, and it has left cleanly.

    Attributes:
        signal: the number of the signal.
    """

    def __init__(self, signal_number: int, checkpoint: Path) -> None:
        name = signal.Signals(signal_number).name
        super().__init__(f"stopped by {name}; the policy is saved in {checkpoint}")
        self.signal = signal_number


def train(
    config: Config,
    dashboard: Dashboard,
    vecenv: VecEnv | None = None,
    policy: nn.Module | None = None,
    resume: Path | None = None,
) -> dict[str, Any]:
    """Train a policy, save it, and evaluate it on fresh episodes.

    Args:
        config: the whole configuration.
        dashboard: entered by the caller.
        vecenv: None: as `config` says. It is closed here.
        policy: None: as `config` says.
        resume: the checkpoint folder to go on from, in its own run folder; None starts a new run.

    Returns:
        The JSON document of `puffer train --json`.

    Raises:
        APIUsageError: impossible sizes or settings; nothing is written then.
        Stopped: SIGINT or SIGTERM arrived; a checkpoint is saved.
    """
    agents = vecenv.num_agents if vecenv else plan_vec(config).num_agents
    for line in plan(config.train, agents).lines():  # before torch: what is impossible fails now
        dashboard.print(line)
    in_c = vecenv is not None or plan_vec(config).backend == "PufferEnv"
    chosen, reason = backend.choose(config.train, config.policy, in_c)
    dashboard.status("loading torch")
    import torch

    from puffer_cuda.policy import make_policy

    dashboard.status(f"creating {config.train.env}")
    vecenv = vecenv or make_vecenv(config)
    try:
        if policy is None:
            torch.manual_seed(config.train.seed)
            policy = make_policy(config.policy, vecenv)
        trainer, objection = backend.make_trainer(chosen, config.train, vecenv, policy)
        dashboard.print(f"backend: {trainer.backend}. {objection or reason}".rstrip(". "))
        run = _go_on(trainer, config, resume, dashboard) if resume else Run(config)
        try:
            seconds = _loop(trainer, run, dashboard)
        finally:
            run.close()
    finally:
        vecenv.close()
    stats: dict[str, Any] = {}
    if config.train.eval_episodes:
        seed = evaluation_seed(config)
        fresh = make_vecenv(evaluation_config(config, config.train.eval_episodes, seed))
        with closing(fresh):
            episodes = run_episodes(
                trainer.policy, fresh, trainer.device, seed, MAX_STEPS, dashboard
            )
        stats = summarize(episodes)
    return {
        "env": config.train.env,
        "run": str(run.folder),
        "backend": trainer.backend,
        "steps": trainer.global_step,
        "seconds": seconds,
        "steps_per_second": trainer.global_step / seconds,
        "stats": stats,
    }


def _go_on(trainer: Trainer, config: Config, checkpoint: Path, dashboard: Dashboard) -> Run:
    """Put the trainer where the checkpoint was written."""
    missing = trainer.load_checkpoint(checkpoint)
    folder = run_folder(checkpoint)
    dashboard.print(f"going on at step {trainer.global_step:,} of {folder}")
    if missing:
        dashboard.print(f"WARNING: the environments' episodes begin anew: {missing}")
    return Run(config, folder, trainer.global_step)


def _loop(trainer: Trainer, run: Run, dashboard: Dashboard) -> float:
    """Train to the end and return the seconds it took."""
    c = trainer.config
    dashboard.begin(
        f"{trainer.device}   {trainer.model_size:,} parameters   "
        f"{trainer.vecenv.num_agents:,} agents   {run.folder}",
        trainer.total_timesteps,
    )
    with _stop_requests(dashboard) as requests:
        try:
            while trainer.epoch < trainer.total_epochs and not requests:
                trainer.evaluate()
                logs = trainer.train()
                dashboard.update(logs)
                with _tolerated(dashboard):
                    run.log(logs)
                last = trainer.epoch == trainer.total_epochs
                if trainer.epoch % c.checkpoint_interval == 0 and not last:
                    with _tolerated(dashboard):
                        trainer.save_checkpoint(run.checkpoints)
        except Exception:  # a worker died, the loss diverged: what was learnt is worth keeping
            trainer.save_checkpoint(run.checkpoints)
            raise
        seconds = trainer.uptime
        saved = trainer.save_checkpoint(run.checkpoints)
        if trainer.epoch < trainer.total_epochs:
            raise Stopped(requests[0], saved)
    return seconds


@contextmanager
def _tolerated(dashboard: Dashboard) -> Iterator[None]:
    """A full disk does not end a run whose next write may succeed; the last write must."""
    try:
        yield
    except OSError as error:
        dashboard.print(f"WARNING: not written: {error}")


@contextmanager
def _stop_requests(dashboard: Dashboard) -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them; a second one interrupts at once."""
    requests: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # Python allows no handlers
        yield requests
        return

    def note(number: int, frame: FrameType | None) -> None:
        if requests:
            raise KeyboardInterrupt
        requests.append(number)
        dashboard.print("stopping after this epoch; again to stop at once, without saving")

    # What is ignored stays so: shells ignore SIGINT for jobs in the background.
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    previous = {number: signal.signal(number, note) for number in numbers}
    try:
        yield requests
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

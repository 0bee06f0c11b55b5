"""`puffer train`: from a configuration to a trained policy in a run folder."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from puffer_cli.checkpoints import run_folder
from puffer_cli.config import Config
from puffer_cli.dashboard import Dashboard
from puffer_cli.evaluate import Evaluation, goal
from puffer_cli.external import Copies, NoCopies, check, open_copies
from puffer_cli.run import NoRun, Run, check_writable
from puffer_cli.vectorize import make_vecenv, plan_vec
from puffer_cuda import backend
from puffer_cuda.launch import processes
from puffer_cuda.plan import plan

if TYPE_CHECKING:
    from torch import nn

    from puffer_cuda.backend import Trainer
    from puffer_cuda.logbook import Logger
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
    logger: Logger | None = None,
) -> dict[str, Any]:
    """Train a policy, save it, and evaluate it on fresh episodes.

    Args:
        config: the whole configuration.
        dashboard: entered by the caller.
        vecenv: None: as `config` says. It is closed here.
        policy: None: as `config` says.
        resume: the checkpoint folder to go on from, in its own run folder; None starts a new run.
        logger: gets the logs of every epoch, beside the run's own.

    Returns:
        The JSON document of `puffer train --json`.

    Raises:
        APIUsageError: impossible sizes or settings; nothing is written then.
        Stopped: SIGINT or SIGTERM arrived; a checkpoint is saved.
    """
    check(config.log)
    check_writable(Path(config.run_dir))
    agents = vecenv.num_agents if vecenv else plan_vec(config).num_agents
    # Before torch: what is impossible fails now.
    for line in plan(config.train, agents, processes()).lines():
        dashboard.print(line)
    in_c = vecenv is not None or plan_vec(config).backend == "PufferEnv"
    chosen, reason = backend.choose(
        config.train, config.policy, config.vec, in_c, alone=not config.selfplay.enabled
    )
    dashboard.status("loading torch")
    import torch

    from puffer_cuda.distributed import connect, disconnect
    from puffer_cuda.policy import make_policy

    world = connect()
    with ExitStack() as stack:
        stack.callback(disconnect)
        dashboard.status(f"creating {config.train.env}")
        with closing(vecenv or make_vecenv(config)) as vecenv:
            if policy is None:
                torch.manual_seed(config.train.seed)
                policy = make_policy(config.policy, vecenv)
            trainer, objection = backend.make_trainer(
                chosen, config.train, vecenv, policy, logger, config.vec
            )
            dashboard.print(f"backend: {trainer.backend}. {objection or reason}".rstrip(". "))
            run = _open_run(trainer, config, resume, dashboard)
            evaluation = Evaluation(config, dashboard)
            with closing(run), closing(evaluation):
                copies: Copies | NoCopies = NoCopies()
                if world.rank == 0:
                    step = trainer.global_step
                    copies = open_copies(config, run.folder, step, dashboard.print)
                    stack.enter_context(closing(copies))
                seconds = _loop(trainer, config, run, copies, evaluation, dashboard)
        stats: dict[str, Any] = {}
        if config.eval.episodes and world.rank == 0:
            with closing(evaluation):
                stats = evaluation(trainer.policy, trainer.device)
            copies.log(_evaluated(stats), trainer.global_step)
            if config.eval.interval:
                _judge(trainer, run, stats, dashboard)
    return {
        "env": config.train.env,
        "run": str(run.folder),
        "backend": trainer.backend,
        "steps": trainer.global_step,
        "seconds": seconds,
        "steps_per_second": trainer.global_step / seconds,
        "stats": stats,
    }


def _open_run(
    trainer: Trainer, config: Config, resume: Path | None, dashboard: Dashboard
) -> Run | NoRun:
    """The run folder, with the trainer put where `resume` was written."""
    if resume is None:
        run = Run(config) if trainer.world.rank == 0 else NoRun(config)
        _play_against_pool(trainer, config, run.folder)
        return run
    folder = run_folder(resume)
    _play_against_pool(trainer, config, folder)
    missing = trainer.load_checkpoint(resume)
    dashboard.print(f"going on at step {trainer.global_step:,} of {folder}")
    if missing:
        dashboard.print(f"WARNING: the environments' episodes begin anew: {missing}")
    if trainer.world.rank:
        return NoRun(config)
    return Run(config, folder, trainer.global_step)


def _play_against_pool(trainer: Any, config: Config, folder: Path) -> None:
    if config.selfplay.enabled:
        from puffer_cuda.selfplay import Opponents

        arguments = (config.selfplay, trainer.vecenv, trainer.policy, folder / "opponents")
        trainer.play_against(Opponents(*arguments, config.train.seed))


def _loop(
    trainer: Trainer,
    config: Config,
    run: Run | NoRun,
    copies: Copies | NoCopies,
    evaluation: Evaluation,
    dashboard: Dashboard,
) -> float:
    """Train to the end and return the seconds it took."""
    c, first = trainer.config, trainer.world.rank == 0
    dashboard.print(f"run folder: {run.folder}")
    dashboard.begin(
        f"{trainer.backend}, {trainer.device}   {trainer.model_size:,} parameters   "
        f"{trainer.vecenv.num_agents * trainer.world.size:,} agents",
        trainer.total_timesteps,
        str(trainer.device),
    )

    def due(interval: int) -> bool:
        last = trainer.epoch == trainer.total_epochs
        return first and interval > 0 and trainer.epoch % interval == 0 and not last

    with _stop_requests(dashboard) as requests:
        try:
            while trainer.epoch < trainer.total_epochs:
                if any(trainer.world.gather(bool(requests))):  # all processes stop together
                    break
                trainer.evaluate()
                logs = trainer.train()
                if config.selfplay.enabled and due(config.selfplay.snapshot_interval):
                    assert trainer.opponents is not None
                    with _tolerated(dashboard):
                        trainer.opponents.add(trainer.global_step)
                if config.eval.episodes and due(config.eval.interval):
                    stats = evaluation(trainer.policy, trainer.device)
                    logs.update(_evaluated(stats))
                    with _tolerated(dashboard):
                        _judge(trainer, run, stats, dashboard)
                dashboard.update(logs)
                copies.log(logs, trainer.global_step)
                with _tolerated(dashboard):
                    run.log(logs)
                if due(c.checkpoint_interval):
                    with _tolerated(dashboard):
                        _save(trainer, run)
        except Exception:  # a worker died, the loss diverged: what was learnt is worth keeping
            if first:
                _save(trainer, run)
            raise
        seconds = trainer.uptime
        saved = _save(trainer, run) if first else run.folder
        if trainer.epoch < trainer.total_epochs:
            number = next(n[0] for n in trainer.world.gather(list(requests)) if n)
            raise Stopped(number, saved)
    return seconds


def _evaluated(stats: Mapping[str, Any]) -> dict[str, Any]:
    return {f"evaluation/{name}": value for name, value in stats.items()}


def _save(trainer: Trainer, run: Run | NoRun) -> Path:
    """Write a checkpoint, and only then remove old ones."""
    from puffer_cuda import checkpoint

    saved = trainer.save_checkpoint(run.checkpoints)
    checkpoint.prune(run.checkpoints, trainer.config.keep_checkpoints)
    return saved


def _judge(
    trainer: Trainer, run: Run | NoRun, stats: Mapping[str, Any], dashboard: Dashboard
) -> None:
    """Keep the policy if its evaluation is the best of the run so far."""
    from puffer_cuda import checkpoint

    name = goal(stats)
    best = checkpoint.read_best(run.checkpoints)
    if name is None or (best is not None and stats[name] <= best["value"]):
        return
    saved = run.checkpoints / f"{trainer.global_step:016d}" / checkpoint.MANIFEST
    if not saved.exists():  # at the end it does, and the environments are closed
        _save(trainer, run)
    checkpoint.write_best(run.checkpoints, trainer.global_step, name, stats[name])
    dashboard.print(f"best so far: {name} {stats[name]:.4g} at step {trainer.global_step:,}")


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

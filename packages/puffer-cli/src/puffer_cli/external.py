"""Copies of a run's log in TensorBoard, Weights & Biases or Neptune.

The log in the run folder is the source of truth. Copies are made by a thread of their own behind a
bounded queue: a service that is slow, away or broken costs a warning, and never the training.
Credentials are the services' own variables; they are looked for, and not read, kept or shown here.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    from puffer_cli.config import Config
    from puffer_cuda.config import LogConfig

WAITING = 10_000  # epochs that may wait for a service
PATIENCE = 30.0  # seconds that the end of a run waits for it


class Service(NamedTuple):
    """What a service needs: a package, a variable with credentials, or one that says offline."""

    package: str
    credentials: str = ""
    offline: tuple[str, str] = ("", "")  # a variable and its value


SERVICES = {
    "tensorboard": Service("tensorboard"),
    "wandb": Service("wandb", "WANDB_API_KEY", ("WANDB_MODE", "offline")),
    "neptune": Service("neptune", "NEPTUNE_API_TOKEN", ("NEPTUNE_MODE", "offline")),
}


class Writer(Protocol):
    """A service's series of one run."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each series."""

    def close(self) -> None:
        """Hand over what is left."""


def check(config: LogConfig) -> None:
    """Refuse what cannot work, before anything starts.

    Raises:
        APIUsageError: a service that is not acknowledged, or without its package or credentials.
    """
    if config.external == "none":
        return
    service = SERVICES[config.external]
    if service.credentials and not config.acknowledge:
        raise APIUsageError(
            f"log.external = {config.external} sends the run's metrics, settings and name to a "
            "service, which may keep and share them as your account there says. Nothing is sent "
            "without --log.acknowledge."
        )
    if importlib.util.find_spec(service.package) is None:
        raise APIUsageError(
            f"log.external = {config.external} needs the package {service.package}: "
            f"`pip install 'puffer-cli[{config.external}]'`."
        )
    name, value = service.offline
    known = not service.credentials or service.credentials in os.environ
    if not known and os.environ.get(name) != value:
        raise APIUsageError(
            f"log.external = {config.external} reads its credentials from the variable "
            f"{service.credentials}, which is not set; {name}={value} works without."
        )


def open_copies(
    config: Config, folder: Path, step: int, warn: Callable[[str], None]
) -> Copies | NoCopies:
    """The copies that [log] of a run asks for.

    Args:
        config: of the run.
        folder: of the run; its name is the name of the run in the service.
        step: agent steps of the checkpoint that the run goes on from; later points of an earlier
            process are replaced or repeated, as the service does it.
        warn: shows a line.
    """
    name = config.log.external
    if name == "none":
        return NoCopies()
    return Copies(lambda: OPEN[name](config, folder, step), name, warn)


class Copies:
    """A queue to a writer, which a thread opens, feeds and closes."""

    def __init__(
        self,
        open_writer: Callable[[], Writer],
        name: str,
        warn: Callable[[str], None],
        waiting: int = WAITING,
        patience: float = PATIENCE,
    ) -> None:
        """Start the thread.

        Args:
            open_writer: may take its time, and may raise anything.
            name: of the service, for warnings.
            warn: shows a line; it is called once at most, from either thread.
            waiting: points that may wait; further ones are dropped.
            patience: seconds that `close` waits.
        """
        self._open, self._name, self._warn, self._patience = open_writer, name, warn, patience
        self._queue: queue.Queue[tuple[dict[str, float], int] | None] = queue.Queue(waiting)
        self._broken = threading.Event()
        self._lock = threading.Lock()
        # A daemon: a service that hangs must not keep the process.
        self._thread = threading.Thread(target=self._work, name=f"log to {name}", daemon=True)
        self._thread.start()

    def log(self, values: Mapping[str, Any], step: int) -> None:
        """Hand over a point of each series; returns at once. What is no number is left out."""
        if self._broken.is_set():
            return
        numbers = {
            key: float(value)
            for key, value in values.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        try:
            self._queue.put_nowait((numbers, step))
        except queue.Full:
            self._fail(f"it is {self._queue.maxsize:,} points behind")

    def close(self) -> None:
        """Wait a while for what is left."""
        if not self._broken.is_set():
            try:
                self._queue.put(None, timeout=self._patience)
            except queue.Full:
                self._fail("it takes nothing any more")
            self._thread.join(self._patience)
            if self._thread.is_alive():
                self._fail(f"it did not finish within {self._patience:g} s")

    def _work(self) -> None:
        try:
            writer = self._open()
            while (entry := self._queue.get()) is not None and not self._broken.is_set():
                writer.log(*entry)
            writer.close()
        except BaseException as error:  # whatever a service's package does, exits included
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, reason: str) -> None:
        """Stop copying, and say so once."""
        with self._lock:
            if self._broken.is_set():
                return
            self._broken.set()
        self._warn(
            f"WARNING: nothing more is copied to {self._name}: {_hidden(reason)}. The run goes on, "
            "and its own log is whole."
        )


class NoCopies:
    """Nothing is copied."""

    def log(self, values: Mapping[str, Any], step: int) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def _hidden(text: str) -> str:
    """A service's words without credentials, should it repeat them."""
    for service in SERVICES.values():
        secret = os.environ.get(service.credentials, "") if service.credentials else ""
        if secret:
            text = text.replace(secret, "***")
    return text


def settings(config: Config) -> dict[str, Any]:
    """What a service is told of a run: its settings, but for those that are named like secrets."""
    from puffer_cli.plans import SECRET

    return {key: entry["value"] for key, entry in config.flat().items() if not SECRET.search(key)}


class TensorBoard:
    """Event files in the run folder."""

    def __init__(self, config: Config, folder: Path, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # Points from `step` on come again, and the older ones of that name are hidden.
        purge = step + 1 if step else None
        self._writer: Any = SummaryWriter(str(folder / "tensorboard"), purge_step=purge)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each series."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Bring the file to the disk."""
        self._writer.close()


class Wandb:
    """A run of Weights & Biases whose id is ours, so that it goes on where it was."""

    def __init__(self, config: Config, folder: Path, step: int) -> None:
        import wandb

        # Nothing but numbers and settings: no source, no output, no facts of the machine.
        quiet = wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            save_code=False,
            silent=True,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        self._run: Any = wandb.init(
            project=config.log.project,
            id=folder.name,
            name=folder.name,
            group=config.train.env,
            dir=str(folder),
            config=settings(config),
            resume="allow",
            settings=quiet,
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each series; those of steps that it has are ignored by the service."""
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """Wait until everything is sent."""
        self._run.finish()


class Neptune:
    """A run of Neptune whose custom id is ours, so that it goes on where it was."""

    def __init__(self, config: Config, folder: Path, step: int) -> None:
        import neptune

        logging.getLogger("neptune").setLevel(logging.WARNING)  # stdout is the command's
        project = config.log.project if "/" in config.log.project else None  # else NEPTUNE_PROJECT
        self._run: Any = neptune.init_run(
            project=project,
            custom_run_id=folder.name,
            name=folder.name,
            tags=[config.train.env],
            source_files=[],
            capture_hardware_metrics=False,
            capture_stderr=False,
            capture_stdout=False,
            capture_traceback=False,
            git_ref=False,
        )
        self._run["settings"] = settings(config)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each series; those of steps that it has are refused by the service."""
        for name, value in values.items():
            group, _, rest = name.partition("/")  # a name is a series or a folder, never both
            self._run[f"{group}/{rest.replace('/', '.')}"].append(value, step=step)

    def close(self) -> None:
        """Wait until everything is sent."""
        self._run.stop()


OPEN: dict[str, Callable[[Config, Path, int], Writer]] = {
    "tensorboard": TensorBoard,
    "wandb": Wandb,
    "neptune": Neptune,
}

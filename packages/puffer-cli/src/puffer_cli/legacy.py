"""Helpers that programs written for PufferLib 3.0 import from its trainer's module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from puffer_cli import api
from puffer_cli.external import OPEN, Copies, check


def downsample(values: Sequence[float], points: int) -> list[float]:
    """At most so many points: means over equal stretches, and the last value as it is.

    Args:
        values: a series; where they do not divide, the oldest are left out.
        points: fewer values than that stay as they are; 0 and 1 keep the last one.
    """
    if len(values) <= max(points, 1):
        return list(values)
    bins = points - 1
    if bins < 1:
        return [values[-1]]
    size = (len(values) - 1) // bins
    first = len(values) - 1 - size * bins
    starts = range(first, len(values) - 1, size)
    return [*(sum(values[i : i + size]) / size for i in starts), values[-1]]


class ServiceLogger:
    """A logger for `PuffeRL` and `pufferl.train`; [log] says what it needs.

    Attributes:
        run_id: the run's name in the service.
    """

    service = ""

    def __init__(self, args: Mapping[str, Any], load_id: str | None = None, **options: Any) -> None:
        """Check that the service can be used, and open the run in the background.

        Args:
            args: of `load_config`, with args["log"]["acknowledge"] = True.
            load_id: the run to go on with; None makes a new one.
            options: `mode` and `resume` of PufferLib, which the services' variables say here.

        Raises:
            APIUsageError: not acknowledged, or package or credentials are missing.
        """
        del options
        env = args["train"].get("env") or "default"
        config = api.typed(env, args)
        config.log.external = self.service  # type: ignore[assignment]
        check(config.log)
        self.run_id = load_id or datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S-%f")
        folder = Path(config.run_dir) / self.run_id
        self._copies = Copies(lambda: OPEN[self.service](config, folder, 0), self.service, print)

    def log(self, logs: Mapping[str, Any], step: int) -> None:
        """Take the logs of an epoch."""
        self._copies.log(logs, step)

    def close(self, model_path: Any = None, early_stop: bool = False) -> None:
        """Hand over what is left; models are not uploaded."""
        self._copies.close()


class WandbLogger(ServiceLogger):
    """Weights & Biases."""

    service = "wandb"


class NeptuneLogger(ServiceLogger):
    """Neptune."""

    service = "neptune"

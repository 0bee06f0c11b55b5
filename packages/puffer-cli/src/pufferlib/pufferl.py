"""The trainer and its helpers, under the names that programs written for PufferLib use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pufferlib._gone import missing

if TYPE_CHECKING:
    from puffer_cli.api import autotune as autotune
    from puffer_cli.api import eval as eval
    from puffer_cli.api import export as export
    from puffer_cli.api import load_config as load_config
    from puffer_cli.api import load_config_file as load_config_file
    from puffer_cli.api import load_env as load_env
    from puffer_cli.api import load_policy as load_policy
    from puffer_cli.api import profile as profile
    from puffer_cli.api import sweep as sweep
    from puffer_cli.api import train as train
    from puffer_cli.legacy import NeptuneLogger as NeptuneLogger
    from puffer_cli.legacy import WandbLogger as WandbLogger
    from puffer_cli.legacy import downsample as downsample
    from puffer_cli.main import main as main
    from puffer_cli.report import duration as duration
    from puffer_cli.utilization import Utilization as Utilization
    from puffer_cuda.legacy import NoLogger as NoLogger
    from puffer_cuda.legacy import compute_puff_advantage as compute_puff_advantage
    from puffer_cuda.profile import Profile as Profile
    from puffer_cuda.pufferl import PuffeRL as PuffeRL

_HOMES = {
    "NeptuneLogger": "puffer_cli.legacy",
    "NoLogger": "puffer_cuda.legacy",
    "Profile": "puffer_cuda.profile",
    "PuffeRL": "puffer_cuda.pufferl",
    "Utilization": "puffer_cli.utilization",
    "WandbLogger": "puffer_cli.legacy",
    "autotune": "puffer_cli.api",
    "compute_puff_advantage": "puffer_cuda.legacy",
    "downsample": "puffer_cli.legacy",
    "duration": "puffer_cli.report",
    "eval": "puffer_cli.api",
    "export": "puffer_cli.api",
    "load_config": "puffer_cli.api",
    "load_config_file": "puffer_cli.api",
    "load_env": "puffer_cli.api",
    "load_policy": "puffer_cli.api",
    "main": "puffer_cli.main",
    "profile": "puffer_cli.api",
    "sweep": "puffer_cli.api",
    "train": "puffer_cli.api",
}


def __getattr__(name: str) -> Any:
    """Import on first use: only the trainer needs torch."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    missing("pufferlib.pufferl", name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


if __name__ == "__main__":
    import sys

    from puffer_cli.main import main

    sys.exit(main())

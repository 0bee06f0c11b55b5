"""Environments in C; lives in puffer_ocean."""

from typing import TYPE_CHECKING, Any

from puffer_ocean import OceanEnv, env_creator
from pufferlib._gone import missing

if TYPE_CHECKING:
    from puffer_cuda.models import Default as Policy
    from puffer_cuda.models import LSTMWrapper as Recurrent

__all__ = ["OceanEnv", "Policy", "Recurrent", "env_creator"]


def __getattr__(name: str) -> Any:
    """Policies are imported on first use: environments need no torch."""
    if name in ("Policy", "Recurrent"):
        from puffer_cuda import models

        return models.Default if name == "Policy" else models.LSTMWrapper
    if name.startswith("make_"):
        return lambda *arguments, **keywords: env_creator(name[5:])(*arguments, **keywords)
    missing(__name__, name)

"""Environments of other packages are names now: `puffer envs`, docs/environments.md."""

from typing import Any

from pufferlib._gone import missing


def __getattr__(name: str) -> Any:
    missing(__name__, name)

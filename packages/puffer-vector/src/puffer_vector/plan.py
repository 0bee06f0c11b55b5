"""How many workers, and how many environments a batch."""

from __future__ import annotations

import os

from puffer_core.errors import APIUsageError
from puffer_vector.cgroup import cpu_limit


def plan_workers(
    num_envs: int,
    num_workers: int | None,
    batch_size: int | None,
    zero_copy: bool,
    cpus: int | None = None,
) -> tuple[int, int]:
    """Complete and check the plan.

    Args:
        num_envs: Number of environments.
        num_workers: Number of processes; None: the largest number that fits the plan and `cpus`.
        batch_size: Environments per batch; None: all.
        zero_copy: Whether batches are fixed blocks, which must divide `num_envs`.
        cpus: How many workers find a CPU; None: as many as this process may use.

    Returns:
        `(num_workers, batch_size)`.

    Raises:
        APIUsageError: The numbers do not fit; the message names the nearest that do.
    """
    for name, value in (("num_workers", num_workers), ("batch_size", batch_size)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise APIUsageError(f"{name} must be an int of at least 1 or None, got {value!r}.")
    batch = num_envs if batch_size is None else batch_size
    divisors = [n for n in range(1, num_envs + 1) if num_envs % n == 0]
    if batch > num_envs or (zero_copy and batch not in divisors):
        hint = "" if batch > num_envs else ", or zero_copy=False"
        raise APIUsageError(
            f"batch_size={batch} must divide num_envs={num_envs}: use {_near(batch, divisors)}"
            f"{hint}."
        )
    legal = [n for n in divisors if batch % (num_envs // n) == 0]
    if num_workers is None:
        most = available_cpus() if cpus is None else cpus
        return max((n for n in legal if n <= most), default=legal[0]), batch
    if num_workers not in divisors:
        raise APIUsageError(
            f"num_workers={num_workers} must divide num_envs={num_envs}: use "
            f"{_near(num_workers, divisors)}."
        )
    if num_workers not in legal:
        each = num_envs // num_workers
        raise APIUsageError(
            f"batch_size={batch} must be a multiple of the {each} environments of a worker "
            f"(num_envs={num_envs}, num_workers={num_workers}): use batch_size={each}, or "
            f"num_workers={_near(num_workers, legal)}."
        )
    return num_workers, batch


def available_cpus() -> int:
    """Return the number of CPUs that this process may use: its affinity and its cgroup's limit."""
    cpus = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    limit = cpu_limit()
    return cpus if limit is None else max(1, min(cpus, int(limit)))


def _near(value: int, legal: list[int]) -> str:
    """Name the nearest legal values on both sides."""
    below = [n for n in legal if n < value][-1:]
    above = [n for n in legal if n > value][:1]
    return " or ".join(str(n) for n in below + above)

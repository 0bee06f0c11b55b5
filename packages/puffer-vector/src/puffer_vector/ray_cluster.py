"""The Ray runtime: connect once, ask for no more than there is, and give it back."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

import ray
from ray.util import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from puffer_core.errors import APIUsageError

STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
START_TIMEOUT = 30.0  # seconds, if the user gives none
KNOCK_TIMEOUT = 10.0  # seconds

_users = 0  # vectorizers on a runtime that `connect` began


def connect(address: str | None) -> bool:
    """Use the runtime that this program is connected to, or begin one.

    Args:
        address: Of a cluster; None: that of the variable `RAY_ADDRESS`, else a new local runtime.

    Returns:
        Whether it was begun here, now or for another vectorizer: `disconnect` is owed then.

    Raises:
        APIUsageError: The program is connected to another cluster, or this one does not answer.
    """
    global _users
    if ray.is_initialized():
        _check_address(address)
        if not _users:
            return False
    else:
        _users = 0  # whoever shut it down, it is gone
        address = address or os.environ.get("RAY_ADDRESS")
        try:
            if address and address != "local":
                _knock(address)
                ray.init(address=address)
            else:
                os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # unless asked for
                ray.init(address="local", include_dashboard=False)
        except (OSError, RuntimeError, ValueError) as error:  # ConnectionError is an OSError
            raise APIUsageError(f"Ray at {address or 'this machine'}: {error}") from error
    _users += 1
    return True


def disconnect() -> None:
    """Leave the runtime that `connect` began, if nobody else uses it."""
    global _users
    _users = max(0, _users - 1)
    if not _users and ray.is_initialized():
        ray.shutdown()


def _knock(address: str) -> None:
    """Fail if nobody listens at `host:port`, for which Ray itself waits many minutes."""
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "://" not in address:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_TIMEOUT).close()


def _check_address(address: str | None) -> None:
    here = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", "local", here) and "://" not in str(address):
        raise APIUsageError(
            f"address={address!r}, but this program is connected to the Ray cluster {here}: give "
            "no address, or call ray.shutdown() first."
        )


class Demand(NamedTuple):
    """What the workers of a vectorizer need.

    Attributes:
        workers: Number of actors.
        each: Resources of one of them, such as `{"CPU": 1.0, "GPU": 0.5}`.
        strategy: One of `STRATEGIES`, or an object of `ray.util.scheduling_strategies`.
        timeout: Seconds to wait for them; None: what the cluster has not at all fails at once,
            what others use is waited for `START_TIMEOUT` seconds.
    """

    workers: int
    each: Mapping[str, float]
    strategy: Any
    timeout: float | None

    @property
    def patience(self) -> float:
        """Seconds to wait."""
        return START_TIMEOUT if self.timeout is None else self.timeout

    def check(self) -> None:
        """Refuse what the cluster cannot give however long one waits.

        Raises:
            APIUsageError: Says what was asked and what there is.
        """
        counts = [_count(self.each, node["Resources"]) for node in ray.nodes() if node["Alive"]]
        strict = {"STRICT_PACK": max(counts), "STRICT_SPREAD": sum(count > 0 for count in counts)}
        room = strict.get(self.strategy) if isinstance(self.strategy, str) else None
        if self.timeout is None and self.workers > (sum(counts) if room is None else room):
            raise APIUsageError(self.shortage())

    def shortage(self) -> str:
        """Say what was asked and what there is."""
        total, free = ray.cluster_resources(), ray.available_resources()
        nodes = sum(node["Alive"] for node in ray.nodes())
        asked = ", ".join(f"{self.workers * n:g} {name}" for name, n in self.each.items())
        each = ", ".join(f"{n:g} {name}" for name, n in self.each.items())
        have = ", ".join(
            f"{total.get(name, 0):g} {name} ({free.get(name, 0):g} free)" for name in self.each
        )
        return (
            f"Ray: asked {asked} for {self.workers} workers with {each} each "
            f"(placement_strategy={self.strategy!r}), have {have} on {nodes} "
            f"node{'s' * (nodes != 1)}. Use fewer num_workers, a fraction such as num_cpus=0.5, or "
            "start_timeout=SECONDS to wait for a cluster that grows."
        )


def reserve(demand: Demand) -> tuple[Any, list[Any]]:
    """Reserve room for all workers.

    Returns:
        The placement group to `release`, None for a strategy object; and one scheduling strategy
        per worker.

    Raises:
        APIUsageError: There is no room, or not in time.
    """
    demand.check()
    if not isinstance(demand.strategy, str):
        return None, [demand.strategy] * demand.workers
    group = placement_group([dict(demand.each)] * demand.workers, strategy=demand.strategy)
    try:
        if not group.wait(demand.patience):
            raise APIUsageError(demand.shortage())
    except BaseException:
        remove_placement_group(group)
        raise
    strategies = [
        PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        for index in range(demand.workers)
    ]
    return group, strategies


def release(group: Any) -> None:
    """Give a placement group back."""
    remove_placement_group(group)


def free_workers(each: Mapping[str, float]) -> int:
    """Return how many workers fit what the cluster has free."""
    whole = sum(_count(each, node["Resources"]) for node in ray.nodes() if node["Alive"])
    return min(whole, _count(each, ray.available_resources()))


def _count(each: Mapping[str, float], have: Mapping[str, float]) -> int:
    """How often `each` fits; without any demand, as often as there are CPUs."""
    demand = each or {"CPU": 1.0}
    return min(int((have.get(name, 0) + 1e-6) / amount) for name, amount in demand.items())

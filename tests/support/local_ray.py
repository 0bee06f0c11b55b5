"""A Ray cluster of several nodes on this machine, on its loopback interface alone."""

import contextlib
import os
import time
import uuid
from pathlib import Path

# Before Ray is imported.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = uuid.uuid4().hex
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # keeps Ray on 127.0.0.1, on every system
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"  # the test's own environment
os.environ.pop("RAY_ADDRESS", None)

STORE = 80 * 2**20  # bytes of shared memory, for every node


@contextlib.contextmanager
def cluster(**more):
    """Two nodes of two CPUs, one of them with gold; this process is connected to them."""
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": STORE}
    nodes = Cluster(initialize_head=True, head_node_args={**head, **more})
    try:
        add_node(nodes, resources={"gold": 1})
        ray.init(address=nodes.address, log_to_driver=False)
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


def add_node(nodes, **more):
    return nodes.add_node(num_cpus=2, object_store_memory=STORE, **more)


def actors():
    """Processes of our actors that live, on all nodes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it may end between the two lines
            if path.read_bytes().startswith(b"ray::EnvActor"):
                found.append(int(path.parent.name))
    return found


def wait_until(condition, seconds=60):
    """Wait for what others do; whether it came true."""
    end = time.monotonic() + seconds
    while not (done := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return done

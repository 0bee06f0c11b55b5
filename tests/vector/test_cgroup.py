"""CPU limits of control groups, on samples of the kernel's files."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puffer_vector import plan
from puffer_vector.cgroup import cpu_limit, parse_max


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("max 100000\n", None),
        ("200000 100000\n", 2.0),
        ("150000 100000\n", 1.5),
        ("50000 100000", 0.5),
        ("-1 100000", None),
        ("", None),
        ("200000", None),
        ("200000 0", None),
        ("nonsense here", None),
    ],
)
def test_a_quota_and_a_period(text, cpus):
    assert parse_max(text) == cpus


V1 = "12:cpuset:/\n4:cpu,cpuacct:/docker/ab12\n3:memory:/docker/ab12\n0::/system.slice/x\n"
CPU = "sys/fs/cgroup/cpu,cpuacct"

# Files below the root, and the limit.
SAMPLES = {
    "version 2, a container": (
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "300000 100000\n"},
        3.0,
    ),
    "version 2, a slice around the service is tighter": (
        {
            "proc/self/cgroup": "0::/user.slice/train.service\n",
            "sys/fs/cgroup/user.slice/train.service/cpu.max": "400000 100000\n",
            "sys/fs/cgroup/user.slice/cpu.max": "125000 50000\n",
        },
        2.5,
    ),
    "version 2, no limit": (
        {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"},
        None,
    ),
    "version 1, on the host": (
        {
            "proc/self/cgroup": V1,
            f"{CPU}/docker/ab12/cpu.cfs_quota_us": "250000\n",
            f"{CPU}/docker/ab12/cpu.cfs_period_us": "100000\n",
            f"{CPU}/cpu.cfs_quota_us": "-1\n",
            f"{CPU}/cpu.cfs_period_us": "100000\n",
        },
        2.5,
    ),
    "version 1, in a container that sees the host's names": (
        {
            "proc/self/cgroup": V1,
            f"{CPU}/cpu.cfs_quota_us": "100000\n",
            f"{CPU}/cpu.cfs_period_us": "50000\n",
        },
        2.0,
    ),
    "version 1, mounted as cpu alone": (
        {
            "proc/self/cgroup": "1:cpu:/\n0::/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        None,
    ),
    "cpuset and cpuacct are not cpu": (
        {
            "proc/self/cgroup": "3:cpuset:/\n2:cpuacct:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        None,
    ),
    "not Linux": ({}, None),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_files_of_the_kernel(name, tmp_path):
    files, expected = SAMPLES[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert cpu_limit(tmp_path) == expected


@given(limit=st.none() | st.floats(0.01, 1000))
def test_workers_are_at_most_what_both_allow(limit):
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "cpu_limit", lambda: limit)
        cpus = plan.available_cpus()
        assert 1 <= cpus <= affinity
        if limit is not None:
            assert cpus <= max(1, limit)
            assert cpus == affinity or cpus + 1 > limit
        assert plan.plan_workers(cpus * 2, None, None, True)[0] == cpus

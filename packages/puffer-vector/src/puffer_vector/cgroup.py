"""The CPU limit that a container or a service gives to this process, by Linux control groups."""

from __future__ import annotations

from pathlib import Path, PurePosixPath


def cpu_limit(root: Path = Path("/")) -> float | None:
    """Return how many CPUs' time this process may use, or None without a limit.

    A limit of a group holds for all groups below it, so the least on the way up counts. Both
    versions are read: `cpu.max` of version 2, `cpu.cfs_quota_us` and `cpu.cfs_period_us` of 1.

    Args:
        root: Where `proc` and `sys` are.
    """
    limits = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        base = root / "sys/fs/cgroup"
        if number == "0" and not controllers:
            folders = _upwards(base, group)
            limits += [parse_max(_read(folder / "cpu.max")) for folder in folders]
        elif "cpu" in controllers.split(","):
            named = base / controllers
            folders = _upwards(named if named.is_dir() else base / "cpu", group)
            quotas = [_read(folder / "cpu.cfs_quota_us") for folder in folders]
            periods = [_read(folder / "cpu.cfs_period_us") for folder in folders]
            both = zip(quotas, periods, strict=True)
            limits += [parse_max(f"{quota} {period}") for quota, period in both]
    return min((limit for limit in limits if limit is not None), default=None)


def parse_max(text: str) -> float | None:
    """Read a quota and a period, in microseconds: "150000 100000" is 1.5 CPUs.

    No limit is "max" in version 2 and -1 in version 1.
    """
    words = text.split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def _upwards(base: Path, group: str) -> list[Path]:
    """Return the folder of a group and those of the groups around it.

    In a container the group may be named as seen from outside. Then only the outermost of these
    folders exists, and it is the container's own.
    """
    path = PurePosixPath(group.lstrip("/"))
    return [base / part for part in (path, *path.parents)]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

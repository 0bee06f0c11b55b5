"""Whether a process of this machine still lives."""

from __future__ import annotations

import os
from pathlib import Path


def birth(pid: int) -> float | None:
    """What tells a process from a later one with the same number; None if there is none.

    On Linux the clock ticks from boot to its start; elsewhere 0 for every living process. A process
    that has ended but was not waited for counts as gone.
    """
    if Path("/proc/self/stat").exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else float(fields[19])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return 0.0

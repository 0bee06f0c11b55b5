"""How busy the machine is: processors, memory, and a GPU that is in use."""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import Any


class Utilization(threading.Thread):
    """Watches the machine in the background, until `stop`.

    Attributes:
        cpu_util: percent of all CPUs, the newest last.
        cpu_mem: percent of the memory.
        gpu_util: percent of the GPU's time; 0 where there is none, or it cannot be asked.
        gpu_mem: percent of its memory.
        device: `cpu` asks no GPU, `cuda:1` that one, `auto` the current one if torch has any.
    """

    def __init__(self, delay: float = 1, maxlen: int = 20, device: str = "auto") -> None:
        """Start.

        Args:
            delay: seconds between measurements.
            maxlen: measurements that are kept.
            device: which GPU; may change later.
        """
        super().__init__(daemon=True)
        self.cpu_util, self.cpu_mem, self.gpu_util, self.gpu_mem = (
            deque[float]([0.0], maxlen) for _ in range(4)
        )
        self.delay, self.device = delay, device
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        """Measure, again and again."""
        import psutil  # most commands show no dashboard

        psutil.cpu_percent()  # the first one means nothing
        while not self._stopped.wait(self.delay):
            self.cpu_util.append(psutil.cpu_percent())
            self.cpu_mem.append(psutil.virtual_memory().percent)
            used, memory = _gpu(self.device)
            self.gpu_util.append(used)
            self.gpu_mem.append(memory)

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()


def _gpu(device: str) -> tuple[float, float]:
    torch: Any = sys.modules.get("torch")  # who uses a GPU here has imported it
    if device == "cpu" or torch is None or not torch.cuda.is_available():
        return 0.0, 0.0
    index = None if device == "auto" else torch.device(device).index
    free, total = torch.cuda.mem_get_info(index)
    try:
        used = float(torch.cuda.utilization(index))
    except (ModuleNotFoundError, RuntimeError):  # it needs NVIDIA's own package
        used = 0.0
    return used, 100 * (1 - free / total)

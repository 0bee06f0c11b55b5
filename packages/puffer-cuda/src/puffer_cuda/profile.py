"""Where the time goes: seconds by phase."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Profile:
    """Seconds spent in named phases; `a/b` is a part of `a`.

    Call it as a context manager: `with profile("rollout/env"): ...`.

    Attributes:
        seconds: by phase, since the start.
        spans: None, or the list that (phase, begin, end) of each block are added to, in seconds of
            `time.perf_counter`.
        synchronize: None, or called at the ends of each block: waits for a GPU, whose work would
            else be counted where somebody waits for it.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.spans: list[tuple[str, float, float]] | None = None
        self.synchronize: Callable[[], None] | None = None

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Add the time of the block to `phase`."""
        start = self._now()
        try:
            yield
        finally:
            end = self._now()
            self.seconds[phase] += end - start
            if self.spans is not None:
                self.spans.append((phase, start, end))

    def _now(self) -> float:
        if self.synchronize is not None:
            self.synchronize()
        return time.perf_counter()

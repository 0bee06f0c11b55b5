"""JSON lines, read as they are written: whole lines only, torn and broken ones counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from puffer_cli.constellation.columns import flatten
from puffer_cli.constellation.sources import read_bytes

CHUNK = 8 << 20  # bytes; no line may be longer


@dataclass
class Tail:
    """Where reading of a file has come to.

    Attributes:
        offset: of the first byte that is not read yet; always the start of a line.
        broken: how many lines were no JSON object.
        example: the first of them.
    """

    offset: int = 0
    broken: int = 0
    example: str = ""
    skipping: bool = field(default=False, repr=False)

    def read(self, path: str) -> Iterator[list[dict[str, Any]]]:
        """Records of the lines that are whole, some thousands at a time.

        A last line without its end is left for the next time. Nested objects become dotted names.
        """
        while chunk := read_bytes(path, self.offset, CHUNK):
            end = chunk.rfind(b"\n") + 1
            last = len(chunk) < CHUNK
            if end:
                lines = chunk[: end - 1].split(b"\n")
                self.offset += end
                if self.skipping:  # the first is the end of a line that was too long
                    lines, self.skipping = lines[1:], False
                yield [record for line in lines if (record := self._parse(line)) is not None]
            elif not last:
                if not self.skipping:
                    self._count(chunk)
                self.offset, self.skipping = self.offset + len(chunk), True
            if last:
                return

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        try:
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:  # NaN and Infinity are no JSON, but Python writes them
                record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            self._count(line)
            return None
        return flatten(record) if dict in set(map(type, record.values())) else record

    def _count(self, line: bytes) -> None:
        self.broken += 1
        self.example = self.example or line[:80].decode("utf-8", "replace")

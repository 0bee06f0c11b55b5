"""Find what can be read below some folders: run folders and files of results.

Links are not followed, so nothing outside the given folders is ever opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from puffer_core.errors import APIUsageError

KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "json",
    ".ini": "ini",
    ".log": "ini",
    ".db": "study",
    ".sqlite": "study",
    ".sqlite3": "study",
}
MAX_DEPTH = 16
MAX_FILES = 1_000_000


class Stamp(NamedTuple):
    """What tells whether a file has changed, and how."""

    inode: int
    size: int
    modified: int  # nanoseconds


@dataclass(frozen=True)
class Source:
    """A run folder or a file.

    Attributes:
        kind: "run", or one of KINDS.
        path: of the folder or file.
        stamps: of `config.json` and `log.jsonl`, or of the file; before a study's, that of its
            write-ahead log. None where there is none.
    """

    kind: str
    path: str
    stamps: tuple[Stamp | None, ...]


def scan(roots: Sequence[str | Path], skipped: dict[str, str]) -> Iterator[Source]:
    """The sources below `roots`, in the order of their paths.

    Args:
        roots: folders or files.
        skipped: receives the reason for each path that is left out.

    Raises:
        APIUsageError: a root does not exist, or is a file of no known kind.
    """
    for root in roots:
        path = os.path.realpath(root)
        if os.path.isdir(path):
            yield from _walk(path, 0, skipped)
        elif not os.path.exists(path):
            raise APIUsageError(f"there is no file or folder {str(root)!r} to look at.")
        elif kind := KINDS.get(os.path.splitext(path)[1].lower()):
            yield _file(kind, path)
        else:
            raise APIUsageError(
                f"{str(root)!r} is of no kind that can be read: expected a folder, or a file that "
                f"ends in {', '.join(KINDS)}."
            )


def _walk(folder: str, depth: int, skipped: dict[str, str]) -> Iterator[Source]:
    config, log = os.path.join(folder, "config.json"), os.path.join(folder, "log.jsonl")
    stamps = stamp(config), stamp(log)
    if any(stamps):
        yield Source("run", folder, stamps)
        return  # what lies deeper in a run folder are its checkpoints
    if depth == MAX_DEPTH:
        skipped[folder] = f"more than {MAX_DEPTH} folders deep"
        return
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        skipped[folder] = error.strerror or str(error)
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            skipped[entry.path] = "a link; links are not followed"
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, depth + 1, skipped)
        elif kind := KINDS.get(os.path.splitext(entry.name)[1].lower()):
            if entry.is_file(follow_symlinks=False):
                yield _file(kind, entry.path)
            else:
                skipped[entry.path] = "not a plain file"


def _file(kind: str, path: str) -> Source:
    own = stamp(path)
    return Source(kind, path, (stamp(path + "-wal"), own) if kind == "study" else (own,))


def stamp(path: str) -> Stamp | None:
    """The stamp of a plain file; None for anything else."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def read_bytes(path: str, start: int = 0, most: int | None = None) -> bytes:
    """Bytes of a plain file that is no link.

    Raises:
        OSError: it is a link or a device, or cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is not a plain file")
        file.seek(start)
        return file.read(-1 if most is None else most)

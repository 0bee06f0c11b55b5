"""A run on disk: `<run_dir>/<env>/<run id>/` with its configuration and its log."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from puffer_cli.config import Config
from puffer_cli.environments import label
from puffer_cli.report import to_json

VERSIONS = ("puffer-cli", "puffer-core", "puffer-cuda", "puffer-ocean", "puffer-vector")
LIBRARIES = ("torch", "numpy", "gymnasium")


class Run:
    """A run folder.

    Attributes:
        folder: the run's own; its name, the run id, sorts by time of creation (UTC).
    """

    def __init__(self, config: Config, folder: Path | None = None, step: int = 0) -> None:
        """Create a folder, or go on in one, and write `config.json`.

        Args:
            config: of the run from here on.
            folder: of the run that goes on; None makes a new one.
            step: agent steps of the checkpoint that it goes on from. What the log holds beyond
                them happens again, and is cut off.
        """
        started = datetime.now(timezone.utc)
        if folder is None:
            parent = Path(config.run_dir) / label(config.train.env)
            self.folder = parent / started.strftime("%Y%m%d-%H%M%S-%f")
            self.folder.mkdir(parents=True)  # exists already: two runs in the same microsecond
        else:
            self.folder = folder
            cut_log(folder / "log.jsonl", step)
        document = {
            "env": config.train.env,
            "run": self.folder.name,
            "started": started.isoformat(),
            "command": sys.argv,
            "config": config.flat(),
            "versions": versions(),
            "git": git_state(),
        }
        write_whole(self.folder / "config.json", json.dumps(document, indent=2) + "\n")
        path = self.folder / "log.jsonl"
        self._log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoint folders."""
        return self.folder / "checkpoints"

    def log(self, values: Mapping[str, Any]) -> None:
        """Append one line to `log.jsonl`; a reader may see the last line torn, never another.

        Raises:
            OSError: it could not be written; the log is as before.
        """
        line = (to_json(values) + "\n").encode()
        size = os.fstat(self._log).st_size
        try:
            while line:
                line = line[os.write(self._log, line) :]
        except OSError:
            os.ftruncate(self._log, size)
            raise

    def close(self) -> None:
        """Bring the log to the disk."""
        if self._log >= 0:
            handle, self._log = self._log, -1
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


class NoRun:
    """What the processes beside the first one of a distributed run have: they write nothing."""

    def __init__(self, config: Config) -> None:
        self.folder = self.checkpoints = Path(config.run_dir)

    def log(self, values: Mapping[str, Any]) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def cut_log(path: Path, step: int) -> None:
    """Keep the lines up to `step`; a torn last line is left out as well."""
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            if json.loads(line)["agent_steps"] > step:
                break
        except (ValueError, LookupError, TypeError):
            break
        kept.append(line + "\n")
    write_whole(path, "".join(kept))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that `path` holds all of it or what it held before."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with scratch.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error  # a write names no file


def check_writable(folder: Path) -> None:
    """See, before anything is started, whether a folder can be made and written.

    Raises:
        OSError: it cannot; names the part of the path that is in the way.
    """
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "runs cannot be written there", str(existing))


def versions() -> dict[str, str]:
    """Versions of Python, the packages and the libraries that decide results."""
    found = {"python": platform.python_version()}
    return found | {name: metadata.version(name) for name in (*VERSIONS, *LIBRARIES)}


def git_state() -> dict[str, Any] | None:
    """Commit of the working directory, and whether it has changes; None outside a repository."""
    try:
        commit = _git("rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(_git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    result = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=True, timeout=5
    )
    return result.stdout.strip()

"""Look at a checkpoint file without loading, importing or unpacking anything: bytes only."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from puffer_core.errors import APIUsageError

CHUNK = 1 << 20
MAX_HEADER = 100_000_000  # bytes; the limit of the safetensors format itself


class Kind(NamedTuple):
    """What a file is, by its first bytes."""

    name: str
    may_run_code: bool | None  # when it is loaded by its usual loader; None: unknown
    note: str


SAFETENSORS = Kind("safetensors", False, "numbers only; reading it runs no code")
# First bytes -> kind.
MAGIC = {
    b"PK\x03\x04": Kind(
        "zip archive", True, "torch.save writes one around a pickle; load with weights_only=True"
    ),
    b"\x80\x02": Kind("pickle", True, "a program: loading it can run anything"),
    b"\x80\x03": Kind("pickle", True, "a program: loading it can run anything"),
    b"\x80\x04": Kind("pickle", True, "a program: loading it can run anything"),
    b"\x80\x05": Kind("pickle", True, "a program: loading it can run anything"),
    b"\x93NUMPY": Kind("numpy array", None, "safe with allow_pickle=False, numpy's default"),
    b"\x89HDF\r\n\x1a\n": Kind("HDF5", None, "data; some programs keep pickles in it"),
    b"\x1f\x8b": Kind("gzip archive", None, "not unpacked; what is inside is unknown"),
    b"BZh": Kind("bzip2 archive", None, "not unpacked; what is inside is unknown"),
    b"\xfd7zXZ\x00": Kind("xz archive", None, "not unpacked; what is inside is unknown"),
    b"\x28\xb5\x2f\xfd": Kind("zstandard archive", None, "not unpacked; its content is unknown"),
}
TAR_MAGIC, TAR_OFFSET = b"ustar", 257
TAR = Kind("tar archive", None, "not unpacked; what is inside is unknown")
FLOATS = Kind(
    "raw bytes", False, "perhaps float32 weights, as PufferLib 4.0's native trainer writes"
)
UNKNOWN = Kind("unknown", None, "none of the known formats")


def inspect_file(
    path: Path, root: Path | None = None, expected: str | None = None
) -> dict[str, Any]:
    """Hash and classify one file.

    Args:
        path: a regular file.
        root: the file must lie below this folder, links resolved; None: anywhere.
        expected: the sha256 that it should have, 64 hexadecimal digits.

    Returns:
        "path", "bytes", "sha256", "kind", "may_run_code", "note"; with `expected` also
        "expected_sha256" and "matches"; of safetensors "tensors" and "parameters".

    Raises:
        APIUsageError: no such file, not a regular file, outside of `root`, no sha256.
    """
    digest = None if expected is None else _digest(expected)
    if path.name == "latest":
        raise APIUsageError(
            "inspect: 'latest' is whatever was written last; name the file whose bytes you mean."
        )
    real = path.resolve()
    if root is not None and not real.is_relative_to(root.resolve()):
        raise APIUsageError(f"{path} lies outside of {root} (it is {real}).")
    # Without blocking: opening a pipe that nobody writes to would wait forever.
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise APIUsageError(f"cannot read {path}: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise APIUsageError(f"{path} is not a regular file; inspect takes one file.")
    with open(handle, "rb") as file:
        document = _inspect(file)
    document = {"path": str(path), **document}
    if digest is not None:
        document |= {"expected_sha256": digest, "matches": document["sha256"] == digest}
    return document


def _inspect(file: BinaryIO) -> dict[str, Any]:
    size = os.fstat(file.fileno()).st_size
    head = file.read(TAR_OFFSET + len(TAR_MAGIC))
    header = _safetensors_header(file, size)
    kind = SAFETENSORS if header is not None else classify(head, size)
    document: dict[str, Any] = {
        "bytes": size,
        "sha256": _sha256(file),
        "kind": kind.name,
        "may_run_code": kind.may_run_code,
        "note": kind.note,
    }
    if header is not None:
        shapes = [entry["shape"] for name, entry in header.items() if name != "__metadata__"]
        document["tensors"] = len(shapes)
        document["parameters"] = sum(math.prod(shape) for shape in shapes)
    return document


def classify(head: bytes, size: int) -> Kind:
    """The kind of a file of `size` bytes that begins with `head` (262 bytes are enough)."""
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if head[TAR_OFFSET:].startswith(TAR_MAGIC):
        return TAR
    return FLOATS if size and size % 4 == 0 else UNKNOWN


def _safetensors_header(file: BinaryIO, size: int) -> dict[str, Any] | None:
    """The JSON header: 8 bytes of length, then the header, then the tensors' bytes to the end."""
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(MAX_HEADER, size - 8):
        return None
    try:
        header = json.loads(file.read(length))
        tensors = [entry for name, entry in header.items() if name != "__metadata__"]
        end = max((entry["data_offsets"][1] for entry in tensors), default=0)
        whole = all(isinstance(n, int) and n >= 0 for entry in tensors for n in entry["shape"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return header if whole and 8 + length + end == size else None


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _digest(text: str) -> str:
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        raise APIUsageError(f"a sha256 is 64 hexadecimal digits, got {text!r}.")
    return text.lower()

"""`puffer inspect`: classified by its bytes, never loaded."""

import hashlib
import io
import json
import os
import pickle
import sys
import tarfile
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save

from puffer_cli.main import main


def inspect(capsys, *arguments):
    code = main(["inspect", "--json", *map(str, arguments)])
    return code, json.loads(capsys.readouterr().out)


class Bomb:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return (exec, ("import os; os.environ['PUFFER_TEST_BOMB'] = '1'",))


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    return buffer.getvalue()


def tarred(content):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("../../escape")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def numpy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


TENSORS = {"a": np.zeros((3, 4), np.float32), "b": np.zeros(5, np.float32)}
FILES = {
    "weights.safetensors": (save(TENSORS), "safetensors", False),
    "model.pt": (zipped(pickle.dumps(Bomb())), "zip archive", True),
    "old.pt": (pickle.dumps(Bomb()), "pickle", True),
    "puffer.bin": (np.arange(6, dtype=np.float32).tobytes(), "raw bytes", False),
    "odd.bin": (b"12345", "unknown", None),
    "empty": (b"", "unknown", None),
    "array.npy": (numpy_bytes(np.arange(3)), "numpy array", None),
    "run.tar": (tarred(b"x"), "tar archive", None),
    "run.tar.gz": (b"\x1f\x8b\x08" + bytes(9), "gzip archive", None),
    "cut.safetensors": (save(TENSORS)[:-1], "unknown", None),  # 1 byte short
    "lies.safetensors": ((2**60).to_bytes(8, "little") + b"{}", "unknown", None),
}


@pytest.mark.parametrize("name", FILES)
def test_kind_and_hash(tmp_path, capsys, name):
    content, kind, may_run_code = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    code, document = inspect(capsys, path)
    assert code == 0
    assert document["kind"] == kind
    assert document["may_run_code"] is may_run_code
    assert document["bytes"] == len(content)
    assert document["sha256"] == hashlib.sha256(content).hexdigest()
    assert "PUFFER_TEST_BOMB" not in os.environ


def test_safetensors_are_counted(tmp_path, capsys):
    path = tmp_path / "w.safetensors"
    path.write_bytes(save(TENSORS))
    _, document = inspect(capsys, path)
    assert (document["tensors"], document["parameters"]) == (2, 3 * 4 + 5)


def test_expected_hash(tmp_path, capsys):
    path = tmp_path / "w.bin"
    path.write_bytes(b"abcd")
    right = hashlib.sha256(b"abcd").hexdigest()
    code, document = inspect(capsys, path, "--expected-sha256", right.upper())
    assert (code, document["matches"]) == (0, True)
    code, document = inspect(capsys, path, "--expected-sha256", "0" * 64)
    assert (code, document["matches"]) == (1, False)
    assert document["sha256"] == right  # what it is, also when it is not what was expected


def test_root(tmp_path, capsys):
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.bin").write_bytes(b"1234")
    (tmp_path / "out.bin").write_bytes(b"1234")
    (root / "link.bin").symlink_to(tmp_path / "out.bin")
    assert inspect(capsys, root / "in.bin", "--root", root)[0] == 0
    for path in (tmp_path / "out.bin", root / "link.bin", root / ".." / "out.bin"):
        assert main(["inspect", str(path), "--root", str(root)]) == 2
        assert "outside" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.pt", "No such file"), ("folder", "not a regular file"), ("latest", "latest")],
)
def test_what_is_no_file(tmp_path, capsys, name, message):
    (tmp_path / "folder").mkdir()
    assert main(["inspect", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_does_not_hang(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert main(["inspect", str(tmp_path / "pipe")]) == 2
    assert "not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize("digest", ["00", "g" * 64, ""])
def test_what_is_no_hash(tmp_path, capsys, digest):
    (tmp_path / "w").write_bytes(b"1")
    assert main(["inspect", str(tmp_path / "w"), "--expected-sha256", digest]) == 2
    assert "64 hexadecimal digits" in capsys.readouterr().err


def test_torch_stays_out(tmp_path):
    import subprocess

    path = tmp_path / "w.pt"
    path.write_bytes(zipped(b""))
    program = (
        "import sys; from puffer_cli.main import main; "
        f"code = main(['inspect', {str(path)!r}]); "
        "sys.exit(code or 'torch' in sys.modules or 'safetensors' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

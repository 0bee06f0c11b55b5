"""Where the command may find itself: closed pipes, odd terminals, full and read-only disks."""

import json
import os
import resource
import select
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals and limits")
pty = pytest.importorskip("pty")

COMMAND = [sys.executable, "-m", "puffer_cli.main"]
SMALL = ["--env.num-envs=32", "--env.size=3", "--train.horizon=16", "--train.minibatch-size=0"]
SMALL += ["--train.threads=1", "--policy.hidden-size=16", "--vec.num-threads=1"]
SMALL += ["--eval.episodes=4", "--train.total-timesteps=2048", "--train.backend=native"]
KIB = 1024


def start(*arguments, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *arguments], **{**streams, **options})


def test_a_reader_that_leaves_is_no_error(tmp_path):
    with start("envs") as process:
        process.stdout.close()
        errors = process.stderr.read().decode()
    assert process.returncode == 1
    assert errors == ""


def test_training_whose_reader_leaves_keeps_its_policy(tmp_path):
    """As `puffer train | head -1`."""
    line = ["train", "squared", *SMALL, "--train.total-timesteps=1e12", "--run-dir", str(tmp_path)]
    with start(*line) as process:
        assert process.stdout.readline().startswith(b"batch:")
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.wait(120)
    assert process.returncode == 1
    assert "Traceback" not in errors
    for folder in tmp_path.glob("squared/*"):  # it may have ended before it began
        assert list(folder.glob("checkpoints/*/manifest.json"))


@pytest.mark.parametrize("closed", ["stdout", "stdin"])
def test_streams_that_are_not_there(closed):
    redirect = ">&-" if closed == "stdout" else "<&-"
    line = f'"{sys.executable}" -m puffer_cli.main config squared --json {redirect}'
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr
    assert result.returncode == 0


def on_terminal(columns, rows, *arguments, timeout=120.0, term="xterm"):
    """Exit code and everything that was written to a terminal of that size."""
    parent, child = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    environment["TERM"] = term
    process = start(*arguments, stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    seen = b""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if select.select([parent], [], [], 0.1)[0]:
            try:
                seen += os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
    os.close(parent)
    process.wait(10)
    return process.returncode, seen.decode()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_page_fits_the_terminal(columns, tmp_path):
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path)]
    code, seen = on_terminal(columns, 24, *line)
    assert code == 0
    assert "\x1b[" in seen  # it was drawn, not printed
    for word in ("puffer train squared", "batch:", "score", "run folder"):
        assert word in seen
    page = seen[seen.index("puffer train squared") :]
    # Rich pads or cuts every line of the page; a longer one would break its arithmetic of rows.
    lines = [part.split("\x1b[2K")[-1] for part in page.replace("\r", "\n").split("\n")]
    bars = [text for text in lines if "━" in text]
    assert bars
    assert all(len(_plain(text)) <= columns for text in bars)


def _plain(text):
    import re

    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).rstrip()


@pytest.mark.parametrize("command", [["envs"], ["doctor"], ["config", "breakout"]])
@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_terminal(command, columns):
    _, seen = on_terminal(columns, 50, *command)
    lines = [_plain(line) for line in seen.replace("\r", "").split("\n")]
    assert len(lines) > 10
    assert max(map(len, lines)) <= columns


def test_a_dumb_terminal_gets_lines(tmp_path):
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path)]
    code, seen = on_terminal(80, 24, *line, term="dumb")
    assert code == 0
    assert "\x1b[" not in seen
    assert "score" in seen


def limited(kib):
    """For `preexec_fn`: no file of this process may be larger, as on a disk that fills up."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kib * KIB, kib * KIB))


def test_a_disk_that_fills_up_costs_checkpoints_and_no_training(tmp_path):
    """config.json and the log fit, the weights do not: attempts are warnings, the end fails."""
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path), "--policy.hidden-size=128"]
    process = start(*line, "--train.checkpoint-interval=1", text=True, preexec_fn=limited(16))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert out.count("WARNING: not written") == 3  # epochs 1 to 3 of 4
    assert err.count("puffer: error:") == 1
    (run,) = tmp_path.glob("squared/*")
    lines = (run / "log.jsonl").read_text().splitlines()
    assert [json.loads(each)["agent_steps"] for each in lines] == [512, 1024, 1536, 2048]
    assert not list((run / "checkpoints").glob("*/manifest.json"))  # no half of one


def test_a_disk_without_room_for_the_configuration(tmp_path):
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path)]
    process = start(*line, text=True, preexec_fn=limited(1))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "config.json" in err  # which file
    assert not list(tmp_path.glob("squared/*/.*"))  # nothing half-written stays


def test_a_new_environment_is_written_whole_or_not_at_all(tmp_path):
    process = start("new-env", "mine", text=True, cwd=tmp_path, preexec_fn=limited(1))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"{tmp_path}/mine" in err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def read_only(tmp_path):
    """A folder that nobody can write: mounted so for root, whom permissions do not stop."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    if os.getuid():
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this root cannot mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    "line",
    [
        ["train", "squared", *SMALL, "--run-dir", "fixed/runs"],
        ["train", "squared", *SMALL, "--run-dir", "fixed"],
        ["new-env", "mine"],
    ],
)
def test_a_read_only_place_is_said_before_anything_starts(line, read_only, tmp_path):
    folder = read_only if line[0] == "new-env" else tmp_path
    result = subprocess.run(
        [*COMMAND, *line], capture_output=True, text=True, check=False, cwd=folder
    )
    assert result.returncode == 1
    assert "fixed" in result.stderr
    assert result.stderr.count("puffer: error:") == 1
    assert "loading torch" not in result.stdout


def test_reading_commands_need_no_writable_place(read_only):
    for line in (["envs"], ["config", "squared"], ["plan", "train", "squared"]):
        result = subprocess.run([*COMMAND, *line], capture_output=True, check=False, cwd=read_only)
        assert result.returncode == 0, result.stderr


def test_a_run_folder_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path / "file" / "runs")]
    result = subprocess.run([*COMMAND, *line], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"Not a directory: '{tmp_path}/file'" in result.stderr

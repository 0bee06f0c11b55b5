"""Every command and every program of README and docs runs, in the order of its page.

Training and tuning are cut short, so that a page takes seconds: the commands are those of the page,
with fewer steps.
"""

import glob
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from puffer_cli.config import load_config
from puffer_cli.main import main
from pufferlib._gone import GONE

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": ROOT / "README.md",
    **{
        path.name: path
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name not in ("ocean.md", "c-environments.md")  # tests/cli and tests/ocean have them
    },
}
BLOCK = re.compile(r"^```(\S+)( [^\n]*)?\n(.*?)^```$", re.M | re.S)

# Added to the commands that take long; the last value of a key counts.
SHORT = {
    "train": "--train.total-timesteps 8192 --eval.episodes 4 --train.threads 1",
    "sweep": "--sweep.max-runs 4 --train.total-timesteps 8192 --eval.episodes 0 --train.threads 1",
}
COPIES = " --env.num-envs 64"  # of environments in C

# What is not run here, and which test does it.
ELSEWHERE = {
    "pip install uv": "tests/docs/test_docker.py",
    "uv run pytest": "this is it",
    "puffer train breakout --config old.ini": "tests/cli/test_old_keys.py",
    "uv run puffer constellation": "tests/cli/constellation/test_serve.py: it serves until Ctrl-C",
}


def blocks(page, language):
    """(arguments of the fence, text) of each block in that language."""
    return [
        ((rest or "").strip(), text)
        for found, rest, text in BLOCK.findall(PAGES[page].read_text())
        if found == language
    ]


def commands(page):
    """The commands of all `sh` blocks, without comments."""
    lines = "\n".join(text for rest, text in blocks(page, "sh") if not rest).splitlines()
    lines = [line.partition(" #")[0] for line in lines if line.strip()]
    return [part.strip() for line in lines for part in line.split(" && ")]


def test_what_is_not_run_here_is_still_on_a_page():
    assert set(ELSEWHERE) <= {line for page in PAGES for line in commands(page)}


def test_every_block_has_a_language_that_is_tested():
    for page, path in PAGES.items():
        languages = {language for language, _, _ in BLOCK.findall(path.read_text())}
        assert languages <= {"sh", "python", "ini", "toml", "text", "bash"}, page


def run(line, capsys):
    """One command of a page; a redirection is what the shell would write."""
    words = shlex.split(line)
    target = None
    if ">" in words:
        target = words[words.index(">") + 1]
        words = words[: words.index(">")]
    assert words[0] == "puffer", line
    words = [each for word in words for each in (glob.glob(word) if "*" in word else [word])]
    extra = SHORT.get(words[1], "")
    if words[1] == "train" or (words[1] == "sweep" and words[2] != "report"):
        in_c = "/" not in words[2] or words[2].startswith("./")
        resumes = "--resume" in words
        words += shlex.split(extra + (COPIES if in_c and not resumes else ""))
        if resumes and words[1] == "train":
            words += ["--train.total-timesteps", "16384"]
        elif resumes:
            words = words[: words.index("--train.total-timesteps") - 2]
    if words[1] in ("bench", "profile"):
        words += ["--train.threads", "1"]
    capsys.readouterr()
    code = main(words[1:])
    out = capsys.readouterr()
    assert code == 0, f"{line}\n{out.err}"
    if target:
        Path(target).write_text(out.out)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the packages about themselves
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        if line not in ELSEWHERE:
            run(line.removeprefix("uv run "), capsys)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_are_ones_that_the_parser_knows(page):
    """The quick form of the test above: names and options, without running anything."""
    from puffer_cli.command_line import split
    from puffer_cli.config import all_keys
    from puffer_cli.main import make_parser

    known = {key for key in all_keys() if "." in key}
    for line in commands(page):
        words = shlex.split(line.removeprefix("uv run ").partition(" > ")[0])
        if words[0] == "puffer":
            rest, values = split(words[1:])
            _, unknown = make_parser().parse_known_args(rest)
            assert unknown == [], line
            own = {key for key in values if key.startswith(("env.", "sweep."))}
            assert set(values) - own <= known, line


PROGRAMS = [
    pytest.param(text, id=f"{page}-{number}")
    for page in PAGES
    for number, (_, text) in enumerate(blocks(page, "python"), 1)
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, tmp_path):
    if "stable_baselines3" in program:
        pytest.importorskip("stable_baselines3")
    short = re.sub(r"(total_timesteps\"\]? ?=|total_timesteps=) ?[\d_]+", r"\1 8192", program)
    (tmp_path / "program.py").write_text(short)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, "program.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "ini")])
def test_settings(page, tmp_path):
    from puffer_cli.layers import COMMAND_LINE
    from puffer_cli.sweep.settings import read_sweep

    for _, text in blocks(page, "ini"):
        path = tmp_path / "own.ini"
        path.write_text(text)
        if "[sweep" in text:
            read_sweep("squared", {}, str(path), COMMAND_LINE)
        else:
            load_config("squared", file=path)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")])
def test_toml(page):
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    for _, text in blocks(page, "toml"):
        assert "puffer.envs" in tomllib.loads(text)["project"]["entry-points"]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")])
def test_shell_scripts_parse(page):
    for _, text in blocks(page, "bash"):
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize("page", PAGES)
def test_extras_and_links_exist(page):
    text = PAGES[page].read_text()
    for package, extras in re.findall(r"\b(puffer-\w+)\[([\w,]+)\]", text):
        known = {e.lower() for e in metadata.metadata(package).get_all("Provides-Extra")}
        assert set(extras.split(",")) <= known
    for target in re.findall(r"\]\(([^)#]+)(?:#\w*)?\)", text):
        if "://" not in target:
            assert (PAGES[page].parent / target).exists(), target


@pytest.mark.slow
def test_several_processes(tmp_path):
    ((_, line),) = [block for block in blocks("clusters.md", "sh") if block[0] == "torchrun"]
    words = shlex.split(line) + shlex.split(SHORT["train"] + COPIES)
    command = [sys.executable, "-m", "torch.distributed.run", *words[1:]]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_migrating_names_everything_that_is_gone():
    text = PAGES["migrating.md"].read_text()
    for module, names in GONE.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{module}` |"))
        assert re.findall(r"`(\w+)`", row.partition("|")[2].partition("|")[2]) == sorted(names)


def test_old_names_of_settings_are_those_that_files_may_have():
    from puffer_cli.old_keys import RENAMED

    text = PAGES["migrating.md"].read_text()
    for old in ("adam_beta1", "bptt_horizon", "update_epochs", "vtrace_rho_clip", "data_dir"):
        assert f"`{old}`" in text
        assert f"train.{old}" in RENAMED

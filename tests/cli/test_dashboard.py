"""The page of a training run, without a terminal and on one of 80 columns."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from puffer_cli.dashboard import BARS, POINTS, Dashboard, Trend

LOGS = {
    "agent_steps": 123_456_789,
    "SPS": 1_234_567.8,
    "uptime": 100.0,
    "epoch": 1234,
    "learning_rate": 0.0123456,
    "losses/policy_loss": -0.0123,
    "losses/entropy": 1.5,
    "performance/rollout/env": 1.0,
    "performance/rollout": 4.0,
    "performance/train": 12.0,
}
EPISODES = {"environment/score": 10.25, "environment/wins": 0.5, "environment/n": 123}


def page(*logs, terminal=True):
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, color_system=None)
    with Dashboard(console, "puffer train squared") as dashboard:
        dashboard.status("loading torch")
        dashboard.begin("cpu   1,000 parameters", 1_000_000_000)
        for entry in logs:
            dashboard.update(entry)
        console.print(dashboard._page())
    return out.getvalue()


def test_the_page_shows_everything_in_80_columns():
    text = page(LOGS, {**LOGS, **EPISODES}).rpartition("puffer train squared")[0]
    for part in ("loading torch", "123,456,789 / 1,000,000,000", "1,234,568 steps/s", "left"):
        assert part in text
    for part in ("policy_loss", "-0.0123", "score", "10.25", "episodes", "123", "wins"):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_phases_are_shares_of_the_whole_in_order():
    lines = [line.split()[:3] for line in page(LOGS).splitlines()]
    phases = [line for line in lines if line and line[0] in ("rollout", "env", "train")]
    assert phases[:3] == [["rollout", "4.0", "25"], ["env", "1.0", "6"], ["train", "12.0", "75"]]


def test_bars_are_the_shares():
    """4 of 16 seconds are a quarter of BAR characters: 1.5."""
    bars = {line.split()[0]: line.split()[3] for line in page(LOGS).splitlines() if "█" in line}
    assert (bars["rollout"], bars["train"]) == ("█▌", "████▌")


def test_the_machine_is_watched_on_a_terminal_alone(monkeypatch):
    monkeypatch.setattr("psutil.cpu_percent", lambda: 37.0)
    memory = type("Memory", (), {"percent": 97.0})
    monkeypatch.setattr("psutil.virtual_memory", memory)
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with Dashboard(console, "title") as dashboard:
        machine = dashboard._machine
        machine.delay = 0.01
        machine._stopped.wait(1.5)
        console.print(dashboard._page())
    shown = console.file.getvalue()
    assert "CPU 37%   memory 97%" in shown
    assert "GPU" not in shown
    assert "the machine's memory is 97% full" in shown
    machine.join(5)
    assert not machine.is_alive()
    with Dashboard(Console(file=io.StringIO()), "title") as dashboard:
        assert dashboard._machine is None


def test_a_gpu_in_use_is_shown(monkeypatch):
    monkeypatch.setattr("puffer_cli.utilization._gpu", lambda device: (81.0, 42.0))
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with Dashboard(console, "title") as dashboard:
        dashboard.begin("native, cuda:0", 100, "cuda:0")
        dashboard._machine._stopped.wait(1.5)
        console.print(dashboard._page())
    assert "GPU 81%   its memory 42%" in console.file.getvalue()


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("skipped_updates", 3, "3 updates skipped: loss or gradient is not finite"),
        ("non_finite", 12, "12 observations or rewards left out"),
        ("clipped_rewards", 0.25, "25% of the rewards are clipped"),
    ],
)
def test_what_should_not_be_is_a_warning(name, value, text):
    assert text in page({**LOGS, f"losses/{name}": value})
    assert name not in page({**LOGS, f"losses/{name}": 0})


@pytest.mark.parametrize("width", [40, 80, 200])
def test_pages_are_as_wide_as_the_terminal_at_most(width):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    dashboard = Dashboard(console, "puffer train squared")
    dashboard.begin("native, cpu   1,000 parameters", 1_000_000_000)
    dashboard.update({**LOGS, **EPISODES})
    console.print(dashboard._page())
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    columns = next(line for line in lines if "policy_loss" in line)
    assert ("rollout" in columns) == (width > 40)  # side by side, or one below the other


@pytest.mark.parametrize("missing", ["losses/", "performance/", "environment/"])
def test_missing_statistics_leave_a_page(missing):
    logs = {key: value for key, value in {**LOGS, **EPISODES}.items() if missing not in key}
    assert "steps/s" in page(logs)


def test_statistics_stay_on_the_page_when_no_episode_ends():
    assert "10.25" in page({**LOGS, **EPISODES}, LOGS)


def test_without_a_terminal_there_are_lines_and_no_control_codes(monkeypatch):
    monkeypatch.setattr("puffer_cli.dashboard.LINE_SECONDS", 0)
    out = io.StringIO()
    with Dashboard(Console(file=out, width=80), "title") as dashboard:
        dashboard.status("loading torch")
        dashboard.begin("cpu", 1_000_000_000)
        dashboard.update({**LOGS, **EPISODES})
        dashboard.tick("evaluating: [1] of 2")
    lines = out.getvalue().splitlines()
    assert lines[0] == "loading torch"
    assert lines[1].startswith("123,456,789 / 1,000,000,000 steps (12%)  1,234,568 steps/s")
    assert lines[1].endswith("score 10.25")
    assert lines[2] == "evaluating: [1] of 2"
    assert "\x1b" not in out.getvalue()


@given(st.lists(st.floats(allow_nan=True), max_size=200))
def test_a_sparkline_is_short_whatever_the_values(values):
    trend = Trend()
    for value in values:
        trend.add(value)
    line = trend.sparkline()
    assert len(line) < POINTS
    assert set(line) <= set(BARS)


def test_a_sparkline_gives_every_part_of_the_history_the_same_width():
    trend = Trend()
    for step in range(1000):
        trend.add(step >= 500)
    line = trend.sparkline()
    assert abs(line.count(BARS[0]) - line.count(BARS[-1])) <= 1


def test_a_sparkline_covers_the_whole_history():
    trend = Trend()
    for value in range(1000):
        trend.add(value)
    line = trend.sparkline()
    assert len(line) >= POINTS / 2
    assert list(line) == sorted(line, key=BARS.index)
    assert (line[0], line[-1]) == (BARS[0], BARS[-1])

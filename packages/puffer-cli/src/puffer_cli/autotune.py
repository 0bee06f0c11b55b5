"""`puffer autotune`: the result as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.report import facts_table
from puffer_vector import Trial, Tuning


def settings_text(trial: Trial) -> str:
    """A plan in a line, as arguments of `make`."""
    settings = dict(trial.settings)
    if trial.env_kwargs:
        settings["env_kwargs"] = trial.env_kwargs
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def print_tuning(console: Console, name: str, tuning: Tuning) -> None:
    """Machine and environment, every plan, and the best one."""
    profile = tuning.profile
    facts = {
        "environment": f"{name}, {profile.agents:,} agent(s)",
        "steps per second": f"{profile.steps_per_second:,.0f}, one alone in this process",
        "spread": f"{profile.spread:.0%} of the time of a step",
        "memory": f"{_mebibytes(profile.memory_bytes)} for one more",
        "machine": f"{tuning.cpus} CPU(s), {_mebibytes(tuning.memory_limit)} for a plan",
        "time": f"{tuning.seconds:.1f} s",
    }
    if profile.reset_share is not None:
        facts["resets"] = f"{profile.reset_share:.0%} of the time"
    console.print(facts_table(facts))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for header, justify in (("steps/s", "right"), ("agents", "right"), ("memory", "right")):
        table.add_column(header, justify=justify)  # type: ignore[arg-type]
    table.add_column("plan", overflow="fold")
    for trial in tuning.trials:
        rate = "" if trial.steps_per_second is None else f"{trial.steps_per_second:,.0f}"
        plan = Text(settings_text(trial), style="bold green" if trial is tuning.best else "")
        if trial.skipped:
            plan.append(f"  not tried: {trial.skipped}", style="yellow")
        table.add_row(rate, f"{trial.agents:,}", _mebibytes(trial.memory_bytes), plan)
    console.print()
    console.print(table)
    console.print(Text(f"\nbest: make(creator, {settings_text(tuning.best)})", style="bold green"))


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"

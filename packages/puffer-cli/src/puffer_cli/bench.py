"""`puffer bench`: agent steps per second of each layer, and of all together."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from puffer_cli.config import Config
from puffer_cli.dashboard import Dashboard
from puffer_cli.environments import find
from puffer_cli.trainers import backends, trainer_of
from puffer_cli.vectorize import make_vecenv, plan_vec
from puffer_vector.plan import available_cpus

if TYPE_CHECKING:
    from rich.console import Console

REPETITIONS = 3
BATCHES = 16  # of random actions, drawn beforehand


def bench(config: Config, seconds: float, dashboard: Dashboard) -> dict[str, Any]:
    """Measure every layer with the settings of a run.

    Args:
        config: the run's.
        seconds: of each repetition.
        dashboard: entered by the caller.

    Returns:
        The JSON document of `puffer bench --json`: for each layer the median, least and largest
        rate of REPETITIONS repetitions of equal work, after a warm-up.
    """
    rates: dict[str, list[float]] = {}
    dashboard.status("environment alone")
    rates["environment"] = _environment(config, seconds)
    dashboard.status("vectorizer")
    rates["vectorizer"] = _vectorizer(config, seconds)
    dashboard.status("loading torch")
    import torch

    rates["policy"] = _policy(config, seconds)
    for name in backends(config):
        dashboard.status(f"the {name} backend")
        rates.update(_training(config, name, seconds))
    return {
        "env": config.train.env,
        "agents": plan_vec(config).num_agents,
        "machine": {
            "cpus": available_cpus(),
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "platform": platform.platform(),
            "torch": torch.__version__,
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        },
        "seconds": seconds,
        "repetitions": REPETITIONS,
        "steps_per_second": {
            layer: {"median": statistics.median(found), "low": min(found), "high": max(found)}
            for layer, found in rates.items()
        },
    }


def measure(work: Callable[[], int], seconds: float) -> list[float]:
    """Rates of REPETITIONS repetitions of `work`, which returns the steps that it did.

    All repetitions do the same number of calls, as many as take about `seconds`.
    """
    work()  # warm-up
    begin = time.perf_counter()
    work()
    calls = max(1, round(seconds / max(time.perf_counter() - begin, 1e-9)))
    rates = []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        steps = sum(work() for _ in range(calls))
        rates.append(steps / (time.perf_counter() - begin))
    return rates


def _environment(config: Config, seconds: float) -> list[float]:
    """One instance in this process, on one thread."""
    arguments = plan_vec(config).env_kwargs
    if "num_threads" in arguments:
        arguments = {**arguments, "num_threads": 1}
    with closing(find(config.train.env).creator()(**arguments)) as env:
        env.reset(config.train.seed)
        env.action_space.seed(config.train.seed)
        batches = [env.action_space.sample() for _ in range(BATCHES)]

        def work() -> int:
            for actions in batches:
                if env.done:  # native environments reset themselves
                    env.reset()
                env.step(actions)
            return BATCHES * env.num_agents

        return measure(work, seconds)


def _vectorizer(config: Config, seconds: float) -> list[float]:
    with closing(make_vecenv(config)) as vecenv:
        vecenv.async_reset(config.train.seed)
        vecenv.recv()
        vecenv.action_space.seed(config.train.seed)
        batches = [vecenv.action_space.sample() for _ in range(BATCHES)]

        def work() -> int:
            steps = 0
            for actions in batches:
                vecenv.send(actions)
                steps += len(vecenv.recv()[0])
            return steps

        return measure(work, seconds)


def _policy(config: Config, seconds: float) -> list[float]:
    """Actions for a batch of observations that do not change, on Torch."""
    import torch

    from puffer_cuda.actor import Actor
    from puffer_cuda.device import choose_device, limit_threads
    from puffer_cuda.policy import make_policy

    limit_threads(config.train.threads)
    device = choose_device(config.train.device)
    with closing(make_vecenv(config)) as vecenv:
        vecenv.async_reset(config.train.seed)
        observations = torch.from_numpy(vecenv.recv()[0].copy()).to(device)
        policy = make_policy(config.policy, vecenv).to(device)
    agents = len(observations)
    actor = Actor(policy, observations[:1], agents, torch.Generator(device))
    rows = torch.ones(agents, dtype=torch.bool, device=device)
    begins = torch.zeros(agents, dtype=torch.bool, device=device)

    def work() -> int:
        actor.act(rows, observations, begins).cpu()
        return agents

    return measure(work, seconds)


def _training(config: Config, name: str, seconds: float) -> dict[str, list[float]]:
    """Rollout, learning and both, of one backend."""
    with trainer_of(config, name) as trainer:
        profile = trainer.profile
        if trainer.device.type == "cuda":
            import torch

            profile.synchronize = torch.cuda.synchronize
        counts: list[tuple[int, float, float]] = []  # steps, seconds of rollout and learning

        def work() -> int:
            steps = trainer.global_step
            before = profile.seconds["rollout"], profile.seconds["train"]
            trainer.evaluate()
            trainer.train()
            steps = trainer.global_step - steps
            after = profile.seconds["rollout"], profile.seconds["train"]
            counts.append((steps, after[0] - before[0], after[1] - before[1]))
            return steps

        whole = measure(work, seconds)
    calls = (len(counts) - 2) // REPETITIONS
    parts = [counts[2 + i * calls :][:calls] for i in range(REPETITIONS)]
    rates = {f"{name}: end to end": whole}
    for column, phase in ((1, "rollout"), (2, "learning")):
        rates[f"{name}: {phase}"] = [
            sum(count[0] for count in part) / sum(count[column] for count in part) for part in parts
        ]
    return rates


def print_bench(console: Console, document: Mapping[str, Any]) -> None:
    """One line a layer."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
    table.add_column(f"{document['env']}, {document['agents']:,} agents")
    table.add_column("steps/s", justify="right")
    table.add_column(f"of {document['repetitions']} repetitions", style="dim")
    for layer, rate in document["steps_per_second"].items():
        table.add_row(
            Text(layer), f"{rate['median']:,.0f}", f"{rate['low']:,.0f} to {rate['high']:,.0f}"
        )
    console.print(table)
    machine = document["machine"]
    where = f"{machine['cpus']} CPU(s), {machine['gpu'] or 'no GPU'}"
    load = "" if machine["load"] is None else f", load {machine['load']:.1f}"
    console.print(Text(f"{where}{load}", style="dim"))

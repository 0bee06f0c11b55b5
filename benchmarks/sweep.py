"""How much of the best possible front a tuner finds, in simulated sweeps with a budget of time.

    uv run python benchmarks/sweep.py [--methods protein,random] [--seeds N] [--workers W]

Three tasks of this project, not from any paper; each mimics what makes tuning of reinforcement
learning hard. A cell is the noise-free hypervolume of cost and score of the settings on the
method's own front, relative to the best front found by a long search with the noise-free function.
`published` is the rule of PufferLib's Protein, written anew on our Gaussian processes: the highest
predicted score, weighted by the distance to a drawn cost, among boxes around the raw front.
"""

from __future__ import annotations

import argparse
import heapq
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from puffer_protein import (
    ParetoGenetic,
    Protein,
    Random,
    Space,
    choice,
    integer,
    log,
    logit,
    uniform,
)
from puffer_protein.front import hypervolume, pareto_front
from puffer_protein.models import Models
from puffer_protein.parameters import Array
from puffer_protein.search import breed
from puffer_protein.tuner import Tuner

CHEAPEST, DEAREST = 10.0, 1800.0  # seconds: the range of the hypervolume, and the cap of a trial
BUDGET = 8 * 3600.0
POINTS = 5  # of a learning curve

COMMON = {
    "steps": log(1e5, 1e8, scale="time"),
    "rate": log(1e-5, 1e-1),
    "gamma": logit(0.8, 0.9995),
    "entropy": log(1e-5, 0.3),
    "batch": log(1e2, 1e5),
}


def bell(value: float, best: float, width: float) -> float:
    """1 at the best value, falling with the squared logarithm of the ratio."""
    return math.exp(-((math.log(value / best) / width) ** 2))


class Sparse:
    """No score at all until the agent has found the reward once; then it learns fast."""

    name = "sparse"
    space = Space({**COMMON, "explore": uniform(0, 1), "layers": integer(1, 4)})
    noise = 0.02

    def evaluate(self, v: dict[str, Any], steps: float) -> tuple[float, float, float]:
        """Expected score, seconds and probability of failure."""
        quality = bell(v["rate"], 3e-3, 2.0) * bell(1 - v["gamma"], 5e-3, 1.5)
        quality *= bell(v["entropy"], 1e-2, 2.5) * (0.2 + 0.8 * v["explore"] * (1.6 - v["explore"]))
        found = 1 / (1 + math.exp(-3 * math.log(steps * quality / 1e6)))
        return found * (1 - 0.15 / v["layers"]), 5 + steps * (1 + 0.4 * v["layers"]) / 2e5, 0.0


class Cliff:
    """The best learning rates are next to those that diverge; large batches are cheap a step."""

    name = "cliff"
    space = Space({**COMMON, "clip": uniform(0.01, 1), "decay": log(1e-6, 1e-1)})
    noise = 0.03

    def evaluate(self, v: dict[str, Any], steps: float) -> tuple[float, float, float]:
        """Expected score, seconds and probability of failure."""
        edge = 8e-3 * (v["batch"] / 4e3) ** 0.4
        speed = bell(v["rate"], edge * 0.7, 1.6) * bell(1 - v["gamma"], 1e-2, 1.2)
        speed *= math.exp(-2 * (v["clip"] - 0.3) ** 2) * bell(v["decay"], 1e-4, 4.0)
        score = 1 - (1 + speed * steps / 8e5) ** -0.6 - 0.03 * math.log10(v["batch"] / 100)
        seconds = 6 + steps / 4e5 * (1 + (2e3 / v["batch"]) ** 0.7)
        return score, seconds, 1 / (1 + math.exp(-8 * math.log(v["rate"] / edge)))


class Mixed:
    """A choice of network with a parameter of its own; scores between -200 and 900."""

    name = "mixed"
    space = Space(
        {
            **COMMON,
            "network": choice("mlp", "lstm", "conv"),
            "memory": log(1, 256, when=("network", ("lstm",))),
            "shaping": uniform(0, 1),
            "penalty": uniform(0, 1),
        }
    )
    noise = 0.03

    def evaluate(self, v: dict[str, Any], steps: float) -> tuple[float, float, float]:
        """Expected score, seconds and probability of failure."""
        kind = v["network"]
        ceiling = {"mlp": 0.6, "conv": 0.75, "lstm": 1.0}[kind]
        if kind == "lstm":
            ceiling *= 0.5 + 0.5 * bell(v["memory"], 48, 1.2)
        ceiling *= 1 - 0.8 * (v["shaping"] - 0.25) ** 2 - 0.6 * (v["penalty"] - 0.8) ** 2
        speed = bell(v["rate"], 2e-3, 1.8) * bell(1 - v["gamma"], 8e-3, 1.5)
        speed *= bell(v["entropy"], 5e-3, 2.5) * bell(v["batch"], 8e3, 3.0)
        score = ceiling * (1 - (1 + speed * steps / 1.5e6) ** -0.8)
        per_second = {"mlp": 6e5, "conv": 3e5, "lstm": 2e5}[kind]
        return 1100 * score - 200, 6 + steps / per_second, 0.0


class Published(Tuner):
    """The published rule; see the module."""

    def _choose(self, rng: np.random.Generator) -> Array:
        done = [o for o in self.outcomes if not o.failed]
        if self.suggested < 10 or len(done) < 4:
            point = self._fresh(rng)
            if self.space.time is not None:  # random exploration at the cheap end only
                point[self.space.names.index(self.space.time)] = rng.uniform(0.0, 0.2)
            return self.space.snap(point[None])[0]
        models = self.__dict__.setdefault("models", Models(self.space))
        models.update(self.outcomes, [])
        scores, costs = np.array([o.score for o in done]), np.array([o.log_cost for o in done])
        centres = np.array([done[i].point for i in pareto_front(scores, costs)])
        shape = (len(centres), 256, len(self.space))
        boxes = centres[:, None] + rng.uniform(-0.25, 0.25, shape)
        points = self.space.snap(np.clip(boxes.reshape(-1, len(self.space)), 0.0, 1.0))
        mean, cost = models.scale.inverse(models.predict_mean(points)), models.predict_cost(points)
        score = (mean - scores.min()) / (np.ptp(scores) or 1.0)
        level = (cost - costs.min()) / (np.ptp(costs) or 1.0)
        target = 1.1 * np.clip(rng.choice([0.16, 0.32, 0.48, 0.64, 0.8, 1.0]), 0.0, 1.0)
        rating = score * (cost < math.log(self._max_trial_cost)) * (1 - np.abs(target - level))
        return np.asarray(points[np.argmax(rating)])


def optuna(name: str) -> Callable[..., Tuner]:
    """A maker of tuners with that sampler of Optuna."""

    def make(space: Space, seed: int, **keywords: Any) -> Tuner:
        import optuna

        from puffer_protein.optuna_sampler import OptunaSampler

        sampler = getattr(optuna.samplers, name)(seed=seed)
        return OptunaSampler(space, seed=seed, sampler=sampler, **keywords)

    return make


TASKS = {task.name: task for task in (Sparse(), Cliff(), Mixed())}
METHODS: dict[str, Callable[..., Tuner]] = {
    "random": Random,
    "genetic": ParetoGenetic,
    "nsga2": optuna("NSGAIISampler"),
    "tpe": optuna("TPESampler"),
    "published": Published,
    "protein": Protein,
}


def volume(task: Any, settings: list[dict[str, Any]]) -> float:
    """The noise-free hypervolume of settings."""
    found = [task.evaluate(v, v["steps"]) for v in settings]
    scores = np.array([score * (1 - failure) for score, _, failure in found])
    worst = -200.0 if task.name == "mixed" else 0.0
    return hypervolume(scores, np.array([c for _, c, _ in found]), worst, CHEAPEST, DEAREST)


def best_volume(task: Any, rounds: int = 150, width: int = 400) -> float:
    """The hypervolume of a front found by a long genetic search without noise."""
    rng = np.random.default_rng(0)
    points = task.space.snap(rng.random((4000, len(task.space))))
    for _ in range(rounds):
        settings = [task.space.decode(point) for point in points]
        found = [task.evaluate(v, v["steps"]) for v in settings]
        scores = np.array([score * (1 - failure) for score, _, failure in found])
        costs = np.array([seconds for _, seconds, _ in found])
        front = points[pareto_front(np.where(costs <= DEAREST, scores, np.nan), costs)]
        points = np.concatenate([front, breed(task.space, front, width, rng)])
    return volume(task, [task.space.decode(point) for point in front])


def simulate(task: Any, method: str, seed: int, workers: int, runs: int) -> list[float]:
    """A sweep; hypervolume after 10 %, 25 % and 100 % of the budget, and seconds a suggestion."""
    centre = task.space.decode(task.space.snap(np.full((1, len(task.space)), 0.5))[0])
    tuner = METHODS[method](
        task.space, seed=seed, default=centre, max_trial_cost=DEAREST, max_cost=BUDGET
    )
    rng = np.random.default_rng([seed, 1])
    running: list[Any] = []
    spent = clock = thinking = 0.0
    started, marks, volumes = 0, [0.1, 0.25, 1.0], []
    while True:
        while len(running) < workers and started < runs and spent < BUDGET:
            begin = time.perf_counter()
            values = tuner.suggest()
            thinking += time.perf_counter() - begin
            _, seconds, failure = task.evaluate(values, values["steps"])
            seconds *= math.exp(0.05 * rng.standard_normal())
            share = min(1.0, DEAREST / seconds)
            failed = rng.random() < failure
            share *= rng.uniform(0.1, 0.6) if failed else 1.0
            unit = 1100.0 if task.name == "mixed" else 1.0
            bias = unit * task.noise * rng.standard_normal()
            curve = []
            for part in np.linspace(share / POINTS, share, POINTS):
                mean = task.evaluate(values, values["steps"] * part)[0]
                curve.append((values["steps"] * part, mean + bias, seconds * part))
            spent += seconds * share
            started += 1
            end = clock + seconds * share
            heapq.heappush(running, (end, started, values, curve, failed))
        if not running:
            break
        clock, _, values, curve, failed = heapq.heappop(running)
        tuner.observe(values, curve[-1][1], curve[-1][2], failed=failed, curve=curve[:-1])
        told = sum(math.exp(o.log_cost) for o in tuner.outcomes)
        while marks and told >= marks[0] * BUDGET:
            volumes.append(volume(task, [p.values for p in tuner.front()]))
            marks.pop(0)
    final = volume(task, [p.values for p in tuner.front()])
    return [*(volumes + [final] * 3)[:3], thinking / started]


def main() -> None:
    """Run all cells and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    tasks = [TASKS[name] for name in options.tasks.split(",")]
    best = {task.name: best_volume(task) for task in tasks}
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("method")
    for task in tasks:
        table.add_column(f"{task.name}: 10, 25, 100 % of the budget")
    table.add_column("s / suggestion", justify="right")
    for method in options.methods.split(","):
        cells, thinking = [], []
        for task in tasks:
            found = np.array(
                [
                    simulate(task, method, seed, options.workers, options.runs)
                    for seed in range(options.seeds)
                ]
            )
            means, errors = found.mean(0), found.std(0) / math.sqrt(max(1, options.seeds - 1))
            shares = means[:3] / best[task.name]
            cells.append(
                "  ".join(f"{x:.3f}" for x in shares) + f" ± {errors[2] / best[task.name]:.3f}"
            )
            thinking.append(means[3])
        table.add_row(method, *cells, f"{np.mean(thinking):.3f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()

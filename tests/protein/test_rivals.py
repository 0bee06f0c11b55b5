"""Rivals behind the same interface."""

import pytest

optuna = pytest.importorskip("optuna", reason="not installed: uv sync --group peers")

from puffer_protein import Space, choice, uniform  # noqa: E402
from puffer_protein.optuna_sampler import OptunaSampler  # noqa: E402


@pytest.mark.parametrize("name", ["TPESampler", "NSGAIISampler"])
def test_optuna_learns_from_results(name):
    space = Space({"x": uniform(0, 1), "kind": choice("a", "b")})

    def run():
        sampler = getattr(optuna.samplers, name)(seed=0)
        tuner = OptunaSampler(space, seed=0, sampler=sampler)
        for number in range(60):
            values = tuner.suggest()
            failed = number % 10 == 9
            tuner.observe(values, -abs(values["x"] - 0.3), 1.0 + number % 3, failed=failed)
        return tuner

    tuner = run()
    assert tuner.recommend().values["x"] == pytest.approx(0.3, abs=0.1)
    assert len(tuner._study.trials) == 60
    assert [o.point.tolist() for o in run().outcomes] == [o.point.tolist() for o in tuner.outcomes]

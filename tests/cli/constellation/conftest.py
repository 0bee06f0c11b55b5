"""Run folders as `puffer train` leaves them, with numbers that are known."""

import pytest
from run_folders import write_run


@pytest.fixture
def runs(tmp_path):
    """Six runs of two environments; run k scores k / 10 after 100 k seconds, the last diverged."""
    root = tmp_path / "runs"
    for k in range(6):
        score = float("nan") if k == 5 else k / 10
        points = [
            {"agent_steps": 1000 * (i + 1), "uptime": 50.0 * k * (i + 1), "environment/score": s}
            for i, s in enumerate((0.0, score))
        ]
        settings = {"train.learning_rate": 10.0**-k, "train.optimizer": "muon", "policy.size": k}
        env = "squared" if k % 2 else "breakout"
        write_run(root / env / f"run-{k}", settings, points, env)
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

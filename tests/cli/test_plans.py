"""`puffer plan` and `puffer run`: nothing starts before it is written down and checked."""

import json
import os

import pytest

from puffer_cli import plans
from puffer_cli.main import main

SMALL = ["--env.num-envs=32", "--env.size=3", "--train.horizon=16", "--train.minibatch-size=0"]
SMALL += ["--train.threads=1", "--policy.hidden-size=16", "--vec.num-threads=1"]
SMALL += ["--train.total-timesteps=2048", "--eval.episodes=8"]


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def document(capsys):
    return printed(capsys, "plan", "train", "squared", *SMALL)


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "plan.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def refused(capsys, path):
    assert main(["plan", "validate", path]) == 2
    assert main(["run", path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_a_plan_holds_every_setting_and_its_needs(document):
    from puffer_cli.config import load_config

    assert set(document["config"]) == set(load_config("squared").flat()) - {"train.env"}
    assert document["limits"] == {
        "steps": 2048,  # 4 batches of 32 x 16
        "agents": 32,
        "workers": 0,
        "threads": 1,
        "seconds": 3600,
    }
    assert document["training_seed"] == 42
    assert document["evaluation_seed"] == 42 + 2**31


def test_nothing_is_started_or_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed(capsys, "plan", "train", "breakout")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_run_as_it_is_written(capsys, tmp_path, write):
    folder = tmp_path / "runs"
    document = printed(capsys, "plan", "train", "squared", *SMALL, "--run-dir", str(folder))
    path = write(document)
    assert printed(capsys, "plan", "validate", path)["valid"] is True
    result = printed(capsys, "run", path, "--json")
    assert result["steps"] == 2048
    kept = json.loads(
        (folder / "squared" / os.path.basename(result["run"]) / "config.json").read_text()
    )
    values = {key: entry["value"] for key, entry in kept["config"].items()}
    assert values.pop("train.env") == "squared"
    assert values == document["config"]
    assert {e["origin"] for k, e in kept["config"].items() if k != "train.env"} == {"plan"}

    # and its evaluation: separate seeds, the exact policy
    wanted = ["--policy", result["run"], "--run-dir", str(folder), "--episodes", "8"]
    repro = printed(capsys, "plan", "repro", "squared", *wanted, "--repeats", "2")["plans"]
    benchmark = repro.pop()
    assert (benchmark["command"], benchmark["training_seed"]) == ("bench", 42 + 2**30)
    measured = printed(capsys, "run", write({**benchmark, "repetition_seconds": 0.01}), "--json")
    assert {"environment", "vectorizer", "policy"} <= set(measured["steps_per_second"])
    assert main(["run", write({**benchmark, "repetition_seconds": 1000})]) == 2
    assert "repetition_seconds" in capsys.readouterr().err
    seeds = [plan["evaluation_seed"] for plan in repro]
    assert seeds == [42 + 2**31, 42 + 2**31 + 8]  # 8 episodes use 8 seeds
    results = [printed(capsys, "run", write(plan), "--json") for plan in repro]
    assert [r["seed"] for r in results] == seeds
    assert all(r["stats"]["episodes"] == 8 for r in results)
    again = printed(capsys, "run", write(repro[0]), "--json")
    assert again["stats"] == results[0]["stats"]

    other = {**repro[0], "policy": {**repro[0]["policy"], "manifest_sha256": "0" * 64}}
    assert main(["run", write(other)]) == 2
    assert "another policy" in capsys.readouterr().err


def test_the_time_limit_ends_a_run(capsys, tmp_path, write):
    arguments = [*SMALL, "--train.total-timesteps=1e11", "--max-seconds=1"]
    document = printed(capsys, "plan", "train", "squared", *arguments, "--run-dir", str(tmp_path))
    assert main(["run", write(document)]) == 128 + 15
    assert "1 seconds are over" in capsys.readouterr().err
    assert list(tmp_path.glob("squared/*/checkpoints/*/manifest.json"))


def changed(document, path, value):
    *folders, last = path
    copy = json.loads(json.dumps(document))
    inner = copy
    for name in folders:
        inner = inner[name]
    inner[last] = value
    return copy


BAD = [
    (["config", "train.wandb_token"], "abc", "config.train.wandb_token: looks like a secret"),
    (["config", "env.api_key"], "abc", "config.env.api_key: looks like a secret"),
    (["env"], "mypackage.envs.MyEnv", "no name of an environment"),
    (["env"], "squred", "squared"),
    (["config", "train.minibatch_size"], 100, "multiple of train.horizon = 16"),
    (["config", "train.bptt_horizon"], 16, "train.horizon"),
    (["config", "train.lerning_rate"], 0.1, "train.learning_rate"),
    (["config", "train.learning_rate"], -1, "train.learning_rate"),
    (["config", "train.total_timesteps"], 10**9, "limits.steps: 2048 is below"),
    (["config", "env.num_envs"], 64, "limits.agents: 32 is below the 64"),
    (["limits", "steps"], 10**15, "limits.steps"),
    (["limits", "steps"], None, "limits.steps"),
    (["limits", "seconds"], 0, "limits.seconds"),
    (["limits", "seconds"], "60", "limits.seconds"),
    (["limits", "agents"], True, "limits.agents"),
    (["evaluation_seed"], 42, "overlap"),
    (["evaluation_seed"], 42 + 31, "seeds 73 to 80 overlap those of the training, 42 to 73"),
    (["training_seed"], 43, "not train.seed = 42"),
    (["format"], 2, "format"),
    (["command"], "rm", "command"),
    (["external_logging"], "wandb", "external_logging"),
    (["surprise"], 1, "surprise"),
    (["episodes"], 5, "policy, episodes, max_steps: only in plans of eval"),
    (["space"], {}, "sweep, space: only in plans of sweep"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_bad_plans_are_refused_with_the_reason(capsys, document, write, path, value, message):
    err = refused(capsys, write(changed(document, path, value)))
    assert message in err
    assert "abc" not in err  # a secret is not repeated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not strict JSON"),
        ("[]", "the document"),
        ("{'a': 1}", "not strict JSON"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": 1, "a": 2}', "'a' stands there twice"),
        ("[" * 100_000, "not strict JSON"),
        (" " * 2_000_000, "larger than"),
    ],
)
def test_what_is_no_plan(capsys, write, text, message):
    assert message in refused(capsys, write(text))


SPACE = """
[sweep]
only = train.learning_rate, env.num_envs, train.horizon, train.total_timesteps
max_runs = 2
workers = 2
[sweep.train.horizon]
distribution = uniform_pow2
min = 8
max = 32
[sweep.env.num_envs]
distribution = uniform_pow2
min = 16
max = 64
[sweep.train.total_timesteps]
distribution = log_normal
min = 1000
max = 5000
"""


@pytest.fixture
def sweep(capsys, tmp_path):
    path = tmp_path / "space.ini"
    path.write_text(SPACE)
    arguments = [*SMALL, "--config", str(path), "--sweep.seed=3", "--max-seconds=600"]
    return printed(capsys, "plan", "sweep", "squared", *arguments)


def test_the_plan_of_a_sweep_holds_the_search_and_the_largest_trial(sweep, capsys, write):
    from puffer_cli.sweep.settings import SweepConfig

    assert set(sweep["sweep"]) == set(SweepConfig.model_fields)
    assert sweep["sweep"]["max_runs"] == 2
    assert set(sweep["space"]) == {
        *("train.learning_rate", "env.num_envs", "train.horizon", "train.total_timesteps"),
    }
    assert sweep["space"]["train.horizon"]["max"] == 32
    assert sweep["limits"] == {
        "steps": 6144,  # 5000 in batches of 64 x 32
        "agents": 64,
        "workers": 2,
        "threads": 1,
        "seconds": 600,
    }
    assert (sweep["training_seed"], sweep["evaluation_seed"]) == (3, 3 + 2**31)
    assert printed(capsys, "plan", "validate", write(sweep))["command"] == "sweep"


def test_a_sweep_is_run_as_it_is_planned(sweep, capsys, write, tmp_path, monkeypatch):
    from puffer_protein.study import Study

    monkeypatch.chdir(tmp_path)
    sweep["sweep"]["workers"] = 1
    result = printed(capsys, "run", write(sweep), "--json")
    (path,) = tmp_path.glob("sweeps/squared/*/study.sqlite")
    study = Study(path)
    assert study.settings["sweep"] == sweep["sweep"]
    assert study.settings["space"] == sweep["space"]
    assert study.settings["base"] == sweep["config"]
    trials = study.trials()
    assert [trial.state for trial in trials] == ["done", "done"]
    assert all(set(trial.values) == set(sweep["space"]) for trial in trials)
    assert result["env"] == "squared"


def test_a_planned_sweep_stops_at_its_time(sweep, capsys, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep["limits"]["seconds"] = 1
    sweep["sweep"]["max_runs"] = 90_000
    assert main(["run", write(sweep)]) == 128 + 15
    assert "1 seconds are over" in capsys.readouterr().err


def test_trials_beyond_the_limits_are_never_started(sweep, write):
    from pathlib import Path

    from puffer_cli.sweep.plan import allowed, sweep_of

    plan = plans.read_plan(Path(write(sweep)))
    config = plans.validate(plan)
    check = allowed(sweep_of(plan, config), plan.limits.model_copy(update={"agents": 32}))
    values = {"train.horizon": 8, "train.total_timesteps": 1000}
    assert check({**values, "env.num_envs": 32})
    assert not check({**values, "env.num_envs": 64})
    assert not check({**values, "train.minibatch_size": 12, "env.num_envs": 32})


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["sweep", "max_runs"], 10**6, "at most 100,000 trials, got 1,000,000"),
        (["sweep", "max_runs"], 0, "sweep.max_runs"),
        (["sweep", "method"], "grid", "sweep.method"),
        (["sweep", "surprise"], 1, "sweep.surprise"),
        (["sweep", "workers"], 3, "limits.workers: 2 is below the 3"),
        (["sweep", "seed"], 4, "training_seed: 3 is not sweep.seed = 4"),
        (["space", "train.gama"], {"distribution": "uniform", "min": 0, "max": 1}, "train.gamma"),
        (["space", "train.horizon", "max"], 1024, "limits.steps: 6144 is below the 65536"),
        (["space", "env.num_envs", "max"], 128, "limits.agents: 64 is below the 128"),
        (["space", "train.horizon", "max"], "many", "sweep.train.horizon"),
        (["space", "train.horizon"], {}, "train.horizon"),
        (["space"], None, "sweep, space: needed by a plan of sweep"),
        (["command"], "train", "sweep, space: only in plans of sweep"),
        (["evaluation_seed"], 2**31, "training_seed + 2^31"),
        (["config", "log.external"], "tensorboard", "log.external"),
    ],
)
def test_bad_plans_of_sweeps_are_refused(capsys, sweep, write, path, value, message):
    assert message in refused(capsys, write(changed(sweep, path, value)))


def test_a_setting_of_a_sweep_that_is_left_out_is_missed(capsys, sweep, write):
    del sweep["sweep"]["early_stop"]
    assert "sweep: early_stop is missing" in refused(capsys, write(sweep))


def test_a_setting_that_is_left_out_is_missed(capsys, document, write):
    del document["config"]["train.gamma"]
    assert "train.gamma is missing" in refused(capsys, write(document))


@pytest.mark.parametrize("arguments", [[], ["--policy", "latest"]])
def test_an_evaluation_names_its_policy(capsys, arguments):
    assert main(["plan", "eval", "squared", *arguments]) == 2
    assert "latest" in capsys.readouterr().err


def test_the_schema_is_published(capsys, document):
    schema = printed(capsys, "plan", "schema")
    assert schema["additionalProperties"] is False
    assert set(document) <= set(schema["properties"])
    assert set(schema["properties"]) == set(plans.Plan.model_fields)

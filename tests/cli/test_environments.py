"""Names of environments, and vectorizers of them."""

import gymnasium
import numpy as np
import pytest

from puffer_cli import environments
from puffer_cli.config import load_config
from puffer_cli.environments import find
from puffer_cli.vectorize import evaluation_config, make_vecenv, plan_vec
from puffer_core import APIUsageError
from puffer_vector.plan import available_cpus


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("brekout", "'breakout'"),
        ("puffer_brekout", "'puffer_breakout'"),
        ("Breakout", "'breakout'"),
        ("gymnasium/CartPole", "'CartPole-v1'"),
        ("gymnasium/cartpole-v1", "'CartPole-v1'"),
        ("zzz", "`puffer envs` lists them"),
    ],
)
def test_unknown_names(name, nearest):
    with pytest.raises(APIUsageError, match=nearest):
        find(name)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(environments.PACKAGES, "CartPole", ("no_such_module", "no-such-extra"))
    with pytest.raises(APIUsageError, match=r"pip install 'puffer-cli\[no-such-extra\]'"):
        find("gymnasium/CartPole-v1")


def test_a_constructor_that_refuses_its_arguments_is_named():
    config = load_config("gymnasium/CartPole-v1", {"env.bogus": "3"})
    with pytest.raises(APIUsageError, match=r"CartPole-v1.*bogus"):
        make_vecenv(config)


def plan(name, **keys):
    overrides = {key.replace("__", "."): value for key, value in keys.items()}
    return plan_vec(load_config(name, overrides))


def test_c_environments_step_in_one_instance():
    got = plan("squared", env__num_envs=6, vec__num_threads=2)
    assert (got.backend, got.num_envs, got.num_agents) == ("PufferEnv", 1, 6)
    assert got.env_kwargs == {"num_envs": 6, "num_threads": 2, "size": 11}
    assert plan("squared").env_kwargs["num_threads"] == available_cpus()
    got = plan("snake", vec__total_agents=48, vec__num_buffers=3)  # 16 agents each
    assert (got.env_kwargs["num_envs"], got.num_agents) == (3, 48)
    got = plan("squared", vec__backend="serial", vec__total_agents=12, env__num_envs=4)
    assert (got.num_envs, got.num_agents) == (3, 12)


def test_copies_are_the_product_of_both_counts():
    assert plan("squared", env__num_envs=6, vec__num_envs=2).num_agents == 12
    serial = plan("squared", env__num_envs=6, vec__num_envs=2, vec__backend="serial")
    assert (serial.backend, serial.num_envs, serial.num_agents) == ("Serial", 2, 12)


def test_workers_choose_multiprocessing():
    got = plan("squared", env__num_envs=6, vec__num_workers=3)
    assert (got.backend, got.num_envs, got.num_workers) == ("Multiprocessing", 3, 3)
    got = plan("gymnasium/CartPole-v1", vec__num_workers=3)
    assert (got.backend, got.num_envs, got.num_workers) == ("Multiprocessing", 9, 3)


def test_gymnasium_is_serial():
    got = plan("gymnasium/CartPole-v1", env__max_episode_steps=5)
    assert (got.backend, got.num_envs, got.num_agents) == ("Serial", 8, 8)
    assert got.env_kwargs == {"max_episode_steps": 5}


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("gymnasium/CartPole-v1", {"vec__backend": "native"}, "serial or multiprocessing"),
        ("squared", {"vec__backend": "serial", "vec__num_workers": 2}, "num_workers = 2 needs"),
        ("squared", {"vec__num_workers": 2, "vec__num_threads": 2}, "num_threads = 2 needs"),
        ("snake", {"vec__total_agents": 40}, "40 is no multiple of the 16 .* nearest: 32 or 48"),
        ("squared", {"vec__total_agents": 8, "vec__num_envs": 2}, "both say how many"),
        ("squared", {"vec__total_agents": 4, "vec__num_buffers": 5}, "5 parts of 4 environments"),
        ("squared", {"vec__num_workers": 4, "vec__num_envs": 6}, "nearest: 4 or 8"),
        ("squared", {"vec__num_workers": 4, "vec__num_envs": 3}, "nearest: 4[.]"),
    ],
)
def test_what_cannot_be_is_refused(name, keys, message):
    with pytest.raises(APIUsageError, match=message):
        plan(name, **keys)


@pytest.mark.parametrize("name", ["squared", "gymnasium/CartPole-v1"])
def test_the_vectorizer_is_as_planned_and_seeded(name):
    observations = []
    for seed in (1, 1, 2):
        config = load_config(name, {"train.seed": seed, "vec.num_threads": 0})
        vecenv = make_vecenv(config)
        assert vecenv.num_agents == plan_vec(config).num_agents
        observations.append(vecenv.reset()[0].copy())
        vecenv.close()
    assert np.array_equal(observations[0], observations[1])
    assert not np.array_equal(observations[0], observations[2])


def test_evaluation_has_an_agent_for_each_episode():
    config = load_config("squared", {"vec.num_workers": 2, "env.size": 5})
    changed = evaluation_config(config, 10, 99)
    assert plan_vec(changed).num_agents == 10
    assert (changed.train.seed, changed.env["size"]) == (99, 5)
    assert plan_vec(config).num_agents == 2 * config.env["num_envs"]  # untouched
    config = load_config("gymnasium/CartPole-v1", {"vec.num_workers": 3})
    assert plan_vec(evaluation_config(config, 10, 99)).num_agents == 12


def test_gymnasium_registry_is_as_before():
    before = set(gymnasium.registry)
    find("gymnasium/CartPole-v1")
    assert set(gymnasium.registry) == before

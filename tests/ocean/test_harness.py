"""What the harness owns: flags, statistics, streams, buffers, threads, life and death."""

import gc
import hashlib
import subprocess

import numpy as np
import pytest

from puffer_core import APIUsageError, buffers
from puffer_ocean import OceanEnv, build

ENVS = {"squared": {"size": 5}, "cartpole": {}, "breakout": {"frameskip": 16}}
VARIANTS = [
    ("squared", {"size": 2}),
    ("squared", {}),
    ("cartpole", {}),
    ("cartpole", {"continuous": True}),
    ("breakout", {}),
    ("breakout", {"continuous": True, "frameskip": 16}),
]


def random_actions(env, generator):
    if env.actions.dtype == np.float32:
        return generator.uniform(-1, 1, env.actions.shape).astype(np.float32)
    return generator.integers(env.single_action_space.n, size=env.num_agents)


def is_first(env, observation):
    """Can `observation` be the first of an episode? Worked out from the rules of each."""
    if env.name == "squared":
        size = int(env.arguments["size"])
        return observation[size // 2 * size + size // 2] == 1 and (observation == 2).sum() == 1
    if env.name == "cartpole":
        return (np.abs(observation) <= 0.05).all()
    return (observation[[0, 2, 5, 6, 7, 9]] == 0).all() and (observation[10:] == 1).all()


def digests(env, steps, generator, seed=None):
    env.reset(seed=seed)
    result = []
    for _ in range(steps):
        env.step(random_actions(env, generator))
        sums = hashlib.sha256()
        for name in ("observations", "rewards", "terminals", "truncations", "masks", "actions"):
            sums.update(getattr(env, name).tobytes())
        sums.update(env.final_observations[env.terminals | env.truncations].tobytes())
        result.append(sums.hexdigest())
    return result


@pytest.mark.parametrize("name", ENVS)
def test_ten_thousand_random_steps(name):
    """Flags arrive, each is followed by a first observation, statistics equal the sums."""
    env = OceanEnv(name, 5, seed=1, max_steps=150, **ENVS[name]) if name == "breakout" else None
    env = env or OceanEnv(name, 5, seed=1, **ENVS[name])
    env.reset()
    assert all(is_first(env, row) for row in env.observations)
    generator = np.random.default_rng(2)
    returns, lengths = np.zeros(5), np.zeros(5, int)
    count = np.zeros(5, int)
    for _ in range(10_000):
        previous = env.observations.copy()
        infos = env.step(random_actions(env, generator))[-1]
        ended = env.terminals | env.truncations
        returns += env.rewards
        lengths += 1
        if not ended.any():
            assert infos == []
            continue
        (info,) = infos
        rows = np.flatnonzero(ended)
        assert info["agent_id"].tolist() == rows.tolist()
        assert info["episode_return"].tolist() == returns[rows].tolist()
        assert info["episode_length"].tolist() == lengths[rows].tolist()
        assert (info["episode_return"].dtype, info["episode_length"].dtype) == (float, np.int64)
        assert all(len(info[field]) == len(rows) for field in ("score", "perf"))
        assert ((info["perf"] >= 0) & (info["perf"] <= 1)).all()
        for i in rows:
            assert is_first(env, env.observations[i])
            assert not (env.final_observations[i] == previous[i]).all() or name == "squared"
        returns[rows] = lengths[rows] = 0
        count += ended
    assert count.min() > 20
    assert env.masks.all()


def test_rewards_and_flags_are_cleared_before_each_step():
    env = OceanEnv("squared", 4)
    for refresh in (lambda: env.step(np.zeros(4, np.int32)), env.reset):
        env.reset(seed=3)
        env.rewards[:] = 7
        env.terminals[:] = env.truncations[:] = True
        refresh()
        assert not env.rewards.any()
        assert not env.terminals.any()
        assert not env.truncations.any()


@pytest.mark.parametrize(("name", "arguments"), VARIANTS)
def test_results_do_not_depend_on_threads(name, arguments):
    runs = [
        digests(
            OceanEnv(name, 7, num_threads=threads, **arguments), 300, np.random.default_rng(4), 5
        )
        for threads in (1, 2, 3, 11)
    ]
    assert runs[0] == runs[1] == runs[2] == runs[3]
    assert len(set(runs[0])) > 290  # and something happened


@pytest.mark.parametrize("name", ENVS)
def test_seeds_and_indices_give_streams_of_their_own(name):
    def run(seed, n=3):
        env = OceanEnv(name, n, seed=seed)
        env.reset()
        rows = []
        for _ in range(60):
            env.step(np.zeros(n, np.int32))
            rows.append(env.observations.copy())
        return np.stack(rows, axis=1)

    assert run(1).tobytes() == run(1).tobytes()
    assert run(1, 5)[:3].tobytes() == run(1).tobytes()  # the index alone counts
    if name == "breakout":  # two ways to launch: look at many
        sides = OceanEnv(name, 200, seed=1, frameskip=1)
        sides.reset()
        sides.step(np.zeros(200, np.int32))
        assert 50 < (sides.observations[:, 5] > 0).sum() < 150
        return
    streams = [row.tobytes() for seed in (0, 1, 2, 2**63, 2**64 - 1) for row in run(seed)]
    assert len(set(streams)) == len(streams)


@pytest.mark.parametrize("name", ENVS)
def test_reset_with_a_seed_restarts_streams_and_without_continues(name):
    env = OceanEnv(name, 64, seed=6, **ENVS[name])
    generator = np.random.default_rng
    first = digests(env, 40, generator(7))
    continued = digests(env, 40, generator(7))
    again = digests(env, 40, generator(7), seed=6)
    assert first == again
    assert first != continued
    other = digests(env, 40, generator(7), seed=8)
    assert other != first
    assert digests(OceanEnv(name, 64, seed=8, **ENVS[name]), 40, generator(7)) == other


def test_a_reset_in_mid_episode_clears_statistics():
    env = OceanEnv("cartpole", 2, max_steps=4)
    env.reset(seed=9)
    for _ in range(3):
        env.step(np.ones(2, np.int32))
    env.reset()
    for t in range(1, 5):
        infos = env.step(np.array([t % 2] * 2))[-1]
        assert env.truncations.all() == (t == 4)
    assert infos[0]["episode_length"].tolist() == [4, 4]
    assert infos[0]["episode_return"].tolist() == [4, 4]
    assert infos[0]["score"].tolist() == [4, 4]


@pytest.mark.parametrize("threads", [1, 2])
def test_close_is_idempotent_and_final(threads):
    env = OceanEnv("squared", 4, num_threads=threads)
    env.reset()
    env.step(np.zeros(4, np.int32))
    env.close()
    env.close()
    uses = [(env.reset,), (env.reset, 1), (env.step, np.zeros(4, np.int32)), (env.render,)]
    for use, *arguments in uses:
        with pytest.raises(APIUsageError, match="squared is closed"):
            use(*arguments)
    del env, use, uses
    gc.collect()


@pytest.mark.parametrize(("name", "arguments"), VARIANTS)
def test_given_buffers_are_written_in_place_and_nothing_around_them(name, arguments):
    sample = OceanEnv(name, 3, **arguments)
    fields = buffers.layout(sample.single_observation_space, sample.single_action_space, 3 + 4)
    whole = buffers.allocate(fields)
    for array in whole.values():
        array.view(np.uint8)[:] = 0xA5 if array.dtype != bool else 1
    buf = buffers.rows(whole, 2, 5)
    buf["masks"][:] = False
    around = {n: (a[:2].tobytes(), a[5:].tobytes()) for n, a in whole.items()}
    env = OceanEnv(name, 3, num_threads=2, buf=buf, seed=1, **arguments)
    sample.reset(seed=1)
    env.reset()
    for part in buf:
        assert getattr(env, part) is buf[part]
    generator = np.random.default_rng(10)
    for _ in range(500):
        actions = random_actions(env, generator)
        buf["actions"][...] = actions
        env.step(env.actions)
        sample.step(actions)
        for part in ("observations", "rewards", "terminals", "truncations", "masks"):
            assert buf[part].tobytes() == getattr(sample, part).tobytes()
    for part, array in whole.items():
        assert (array[:2].tobytes(), array[5:].tobytes()) == around[part], part


def test_buffers_outlive_their_owner():
    env = OceanEnv("squared", 2)
    rows = env.reset(seed=1)[0]
    del env
    gc.collect()
    assert (rows == 1).sum() == 2


BAD_ACTIONS = [
    (np.zeros(3, np.int32), r"shape \(2,\), got \(3,\)"),
    (np.zeros((2, 1), np.int32), r"shape \(2,\), got \(2, 1\)"),
    (np.zeros(2), "integers, got float64"),
    (np.array([0, 5]), r"0\.\.n-1, n = 5; agent 1 got 5"),
    (np.array([-1, 0]), "agent 0 got -1"),
    (np.array([0, 2**32]), "agent 1 got 4294967296"),
]


@pytest.mark.parametrize(("actions", "message"), BAD_ACTIONS)
def test_actions_that_do_not_fit_are_refused(actions, message):
    env = OceanEnv("squared", 2)
    env.reset(seed=1)
    with pytest.raises(APIUsageError, match=message):
        env.step(actions)
    env.actions[:] = [0, 5]
    with pytest.raises(APIUsageError, match="agent 1 got 5"):
        env.step(env.actions)
    env.step([0, 1])


def test_misuse_at_creation_is_named():
    for count in ("num_envs", "num_threads"):
        with pytest.raises(APIUsageError, match="at least 1"):
            OceanEnv("squared", **{count: 0})
    with pytest.raises(APIUsageError, match=r"render_mode must be .*'human', got 'ansi'"):
        OceanEnv("squared", render_mode="ansi")
    for seed in (-1, 2**64, 1.5, "1"):
        with pytest.raises(APIUsageError, match=r"seed must be an integer in .* got"):
            OceanEnv("squared", seed=seed)
        with pytest.raises(APIUsageError, match=r"seed must be an integer in .* got"):
            OceanEnv("squared").reset(seed=seed)


def test_a_step_before_the_first_reset_is_refused():
    env = OceanEnv("squared")
    with pytest.raises(APIUsageError, match=r"call reset\(\) first"):
        env.step(np.zeros(1, np.int32))
    env.reset()
    env.step(np.zeros(1, np.int32))


COUNTERS = r"""
#include "squared.c"
#include <stdio.h>
int main(void) {
    double args[] = {2}, logs[4];
    uint8_t obs[4], last[4];
    int32_t action = 0;
    float reward;
    bool terminal, truncation, mask;
    puffer_buffers b = {obs, last, &action, &reward, &terminal, &truncation, &mask, NULL, logs};
    const char *texts[] = {NULL};
    puffer_vec *vec;
    puffer_create(1, args, texts, &b, 0, &vec);
    puffer_reset(vec, 0, 1);
    vec->lengths[0] = INT32_MAX;   /* as if it had run so long already */
    vec->returns[0] = 0x1p53 - 8;  /* beyond what a float can add 1 to */
    while (puffer_step(vec, 0, 1), !terminal) {}
    printf("%.0f %.0f %d %d\n", logs[0], logs[1], (int)sizeof *vec->lengths, (int)reward);
    puffer_close(vec);
    return 0;
}
"""


def test_counters_are_wide(tmp_path):
    (tmp_path / "driver.c").write_text(COUNTERS)
    program = tmp_path / "driver"
    folders = [f"-I{build.INCLUDE}", f"-I{build.source('squared').parent}"]
    command = [*build.compiler(), "-O1", str(tmp_path / "driver.c"), *folders, "-o", str(program)]
    subprocess.run([*command, "-lm"], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    # size 2: step 7 is too late and costs 1
    assert printed.split() == [str(2**53 - 9), str(2**31 - 1 + 7), "8", "-1"]

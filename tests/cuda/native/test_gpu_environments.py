"""Environments that step on the GPU: the bytes are those of the CPU's, whatever ends an episode."""

import numpy as np
import pytest
import torch
from native_trainers import (
    DEVICE,
    Mirrored,
    emulated,
    emulated_environment,
    make_vecenv,
    policy_for,
    trainer_module,
)

from puffer_core import APIUsageError
from puffer_cuda import backend
from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.native import library, nvcc
from puffer_cuda.native.build import BuildError
from puffer_cuda.native.library import NotBuiltError
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_ocean import build as ocean


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch):
    if DEVICE == "cuda":  # a real one
        return
    monkeypatch.setattr(library, "load_cuda", emulated)
    monkeypatch.setattr(library, "load_environment", emulated_environment)
    monkeypatch.setattr(trainer_module, "choose_device", torch.device)


def trainer(name, device, kind=Mirrored, horizon=16, network="mingru", seed=5, **env):
    vecenv = make_vecenv(name, **env)
    # one buffer each: a product of matrices depends on its number of rows in the last bits
    vec = VecConfig(device=device, num_buffers=device == "cpu")
    config = TrainConfig(device="cuda:0", horizon=horizon, seed=seed, threads=2)
    return kind(config, vecenv, policy_for(vecenv, network), vec=vec)


def history(trained, rollouts=3):
    """Every array of the trainer and all that the environments remember, after each rollout."""
    for _ in range(rollouts):
        trained.evaluate()
        trained.handle.to_host()
        yield {
            **{name: tensor.numpy().copy() for name, tensor in trained.handle.tensors.items()},
            **{f"env/{name}": array.copy() for name, array in trained.vecenv.get_state().items()},
        }


CASES = {
    "breakout": {"max_steps": 21},  # cut within a rollout and over two
    "breakout continuous": {"max_steps": 33, "continuous": True},
    "squared": {"size": 3},  # no limit: an MDP that ends by itself
    "cartpole": {"max_steps": 9},  # two cuts of a pole in one rollout
    "snake": {"max_steps": 40},  # several agents, some dead before the others
    "target": {"max_steps": 30},  # several heads
    "connect4": {},  # action masks
}


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_are_the_cpus(case):
    name, env = case.split()[0], CASES[case]
    ours = trainer(name, "gpu", **env)
    theirs = trainer(name, "cpu", **env)
    ended = cut = 0
    for mine, other in zip(history(ours), history(theirs), strict=True):
        assert mine.keys() == other.keys()
        for key, array in other.items():
            if key == "rollout/final_values":
                # Read where an episode was cut, and only there; of products with as many rows as
                # episodes were cut, or with all agents.
                where = other["rollout/truncations"] > 0
                np.testing.assert_allclose(mine[key][where], array[where], rtol=0, atol=1e-6)
            else:
                assert mine[key].tobytes() == array.tobytes(), key
        ended += int(other["rollout/terminals"].sum())
        cut += int(other["rollout/truncations"].sum())
    assert ended + cut > 0
    assert cut > 0 or "max_steps" not in env
    counters = ours.handle.counters
    for field in dir(counters):
        assert getattr(counters, field) == getattr(theirs.handle.counters, field), field
    episodes, sums = ours.handle.take_statistics()
    expected, expected_sums = theirs.handle.take_statistics()
    assert episodes == expected
    assert sums == pytest.approx(expected_sums, rel=1e-12)


def test_it_goes_on_where_a_checkpoint_was_written(tmp_path):
    def play(trained, epochs):
        for _ in range(epochs):
            trained.evaluate()
            trained.train()

    whole = trainer("breakout", "gpu", NativePuffeRL, max_steps=21)
    play(whole, 2)
    saved = whole.save_checkpoint(tmp_path)
    play(whole, 2)
    half = trainer("breakout", "gpu", NativePuffeRL, seed=6, max_steps=21)
    half.load_checkpoint(saved)
    half.config.seed = whole.config.seed  # the seed of draws is the configuration's
    assert half.handle.counters.steps == 2 * 24 * 16
    stepped = trainer("breakout", "cpu", NativePuffeRL, max_steps=21)  # or elsewhere
    stepped.load_checkpoint(saved)
    play(stepped, 2)
    for trained in (whole, stepped):
        trained.handle.to_host()
    one, two = whole.vecenv.get_state(), stepped.vecenv.get_state()
    assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in two.items()}
    assert torch.equal(whole.handle.tensors["weights"], stepped.handle.tensors["weights"])


def test_arguments_of_single_environments_stay_on_the_cpu():
    vecenv = make_vecenv("breakout")
    vecenv.driver_env.set_params(3, frameskip=2)
    config = TrainConfig(device="cuda:0", horizon=16)
    with pytest.raises(RuntimeError, match="single environments were given other arguments"):
        NativePuffeRL(config, vecenv, policy_for(vecenv), vec=VecConfig(device="gpu"))
    trained = trainer("breakout", "gpu")
    with pytest.raises(APIUsageError, match=r"set_params: .*step on the GPU"):
        trained.vecenv.driver_env.set_params(frameskip=2)


SOURCE = """
#include "puffer_env.h"
{before}
static const puffer_arg ARGS[] = {{PUFFER_INT("unused", 0, 0, 1, "nothing")}};
static const char *const LOG_FIELDS[] = {{"score"}};
typedef struct {{ int32_t tick; }} State;
static const char *describe(const double *args, puffer_spec *spec) {{
    (void)args;
    puffer_observation(spec, PUFFER_F32, 0, 1);
    spec->obs_shape[0] = 1;
    puffer_discrete(spec, 2);
    return NULL;
}}
PUFFER_FN void reset(puffer_env *env, State *s) {{
    s->tick = 0;
    ((float *)env->observations)[0] = 0;
}}
PUFFER_FN void step(puffer_env *env, State *s) {{
    s->tick++;
    {body}
}}
static void render(const puffer_env *env, const State *s, float *out) {{
    (void)env;
    (void)s;
    (void)out;
}}
#define PUFFER_NAME "{name}"
#include "puffer_harness.h"
"""


def environment(folder, name, body, before=""):
    home = folder / name
    home.mkdir()
    source = home / f"{name}.c"
    source.write_text(SOURCE.format(body=body, before=before, name=name))
    ocean.compile_library(source, ocean.library_in(home))
    return f"{home}/"


def test_a_reward_that_is_not_finite_is_named(tmp_path):
    body = "env->rewards[0] = s->tick == 5 ? NAN : 0;"
    name = environment(tmp_path, "wild", body, "#include <math.h>")
    trained = trainer(name, "gpu", num_envs=3)
    with pytest.raises(trainer_module.NonFiniteError, match="reward nan for agent 0 in step 4"):
        trained.evaluate()


def test_two_cuts_within_a_rollout_need_a_limit_that_says_so(tmp_path):
    name = environment(tmp_path, "cutter", "env->truncations[0] = s->tick % 9 == 0;")
    trainer(name, "gpu", num_envs=3, horizon=9).evaluate()
    with pytest.raises(RuntimeError, match=r"twice within 18 steps.*vec\.device = cpu"):
        trainer(name, "gpu", num_envs=3, horizon=18).evaluate()


def test_texts_stay_on_the_cpu(tmp_path):
    name = environment(tmp_path, "reader", "")
    source = tmp_path / "reader" / "reader.c"
    text = source.read_text()
    source.write_text(
        text.replace('PUFFER_INT("unused", 0, 0, 1, "nothing")', 'PUFFER_TEXT("file", "", "none")')
    )
    ocean.compile_library(source, ocean.library_in(source.parent))
    with pytest.raises(RuntimeError, match="it has arguments that are texts"):
        trainer(name, "gpu", num_envs=3)


def chosen(**vec):
    train = TrainConfig(device=vec.pop("on", "cuda"), backend=vec.pop("backend", "native"))
    return backend.choose(train, PolicyConfig(), VecConfig(**vec), native_env=True)


def test_the_setting_needs_the_native_trainer_on_a_gpu(monkeypatch):
    monkeypatch.setattr(nvcc, "missing", lambda: "")
    assert chosen(device="gpu") == ("native", "")
    for wrong in ({"backend": "torch"}, {"on": "cpu"}, {"backend": "auto"}):
        with pytest.raises(APIUsageError, match=r"train\.backend = native and train\.device"):
            chosen(device="gpu", **wrong)
    with pytest.raises(APIUsageError, match=r"vec\.num_buffers = 4 .*leave it 0"):
        chosen(device="gpu", num_buffers=4)


def test_what_does_not_compile_is_said(monkeypatch, tmp_path):
    def fails(folder, architecture, say):
        raise BuildError(f"{folder.name} for {architecture} does not compile:\nerror 7")

    monkeypatch.undo()
    monkeypatch.setattr(library, "gpu_architecture", lambda device=0: "sm_90")
    monkeypatch.setattr(nvcc, "build_environment", fails)
    with pytest.raises(NotBuiltError, match="odd for sm_90 does not compile:\nerror 7\nUse vec"):
        library.load_environment(41, tmp_path / "odd", (1, 2))


def test_another_state_is_refused():
    folder = ocean.ENVS / "squared"
    with pytest.raises(NotBuiltError, match="build the environment for the CPU again"):
        emulated_environment(0, folder, (2, 4))


def test_the_statistics_are_sums_over_agents():
    trained = trainer("squared", "gpu", size=3)
    trained.evaluate()
    trained.handle.to_host()
    episodes, sums = trained.handle.take_statistics()
    ends = trained.rollout.terminals.numpy()
    assert episodes == ends.sum() > 24
    assert sums[0] == trained.rollout.rewards.numpy()[ends].sum(dtype=np.float64)

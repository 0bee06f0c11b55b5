"""Exported policies act as the policy does: the reference is Torch on the same observations."""

import subprocess
from contextlib import ExitStack, closing

import gymnasium
import numpy as np
import pytest
import torch

from puffer_core import APIUsageError, PufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.evaluation import evaluate_policy
from puffer_cuda.export import c
from puffer_cuda.export.recording import Recording, record
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.networks import MLP
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_ocean.build import compiler
from puffer_vector import Serial, make

Box, Discrete = gymnasium.spaces.Box, gymnasium.spaces.Discrete
MultiDiscrete = gymnasium.spaces.MultiDiscrete
BYTES = Box(0, 9, (3, 2), np.uint8)
FLOATS = Box(-2, 2, (5,), np.float32)
LOW, HIGH = np.array([[-0.1, -1], [0.1, np.inf]], np.float32)
BOUNDED = Box(LOW, HIGH)


class Noise(PufferEnv):
    """Observations are noise; episodes of 5 steps."""

    def __init__(self, observations, actions, buf=None, seed=0):
        self.single_observation_space, self.single_action_space = observations, actions
        self.num_agents = 16
        super().__init__(buf)

    def reset(self, seed=0):
        self.observation_space.seed(seed)
        self.time = 0
        self.observations[:] = self.observation_space.sample()
        return self.observations, []

    def step(self, actions):
        self.time += 1
        self.terminals[:] = self.time % 5 == 0
        self.observations[:] = self.observation_space.sample()
        return self.observations, self.rewards, self.terminals, self.truncations, []


def noise(observations, actions):
    return make(Noise, env_args=[observations, actions], backend=Serial)


def trained_like(config, vecenv):
    """A policy whose numbers are all far from their initial zeros and tiny heads."""
    torch.manual_seed(3)
    policy = make_policy(config, vecenv)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return policy


CASES = [
    ("mlp", 0, FLOATS, Discrete(3)),
    ("mlp", 2, BYTES, MultiDiscrete([2, 3])),
    ("mingru", 1, FLOATS, BOUNDED),
    ("mingru", 3, FLOATS, MultiDiscrete([4, 2, 2])),
    ("mingru", 2, BYTES, Discrete(7)),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}-{type(case[3]).__name__}")
def case(request):
    network, layers, observations, actions = request.param
    with closing(noise(observations, actions)) as vecenv:
        config = PolicyConfig(network=network, hidden_size=24, num_layers=layers)
        policy = trained_like(config, vecenv)
        yield policy, vecenv, record(policy, vecenv, seed=1)


def test_a_recording_is_256_observations_and_knows_where_episodes_begin(case):
    _, _, recording = case
    assert recording.values.shape == (16, 16)
    assert recording.starts[:, 0].tolist() == [t % 5 == 0 for t in range(16)]


def test_c_gives_the_same_outputs_on_256_observations(case):
    policy, vecenv, recording = case
    with c.CPolicy(c.source(policy, vecenv, recording, "test"), vecenv) as played:
        assert played.self_test() < 1e-5
        assert recording.check("C", *played.replay(recording)) < 1e-4


def test_onnx_gives_the_same_outputs_on_256_observations(case, tmp_path):
    pytest.importorskip("onnxruntime")
    from puffer_cuda.export import onnx

    policy, vecenv, recording = case
    onnx.write(policy, vecenv, recording, tmp_path / "policy.onnx", "test")
    played = onnx.OnnxPolicy(tmp_path / "policy.onnx")
    assert played.self_test() < 1e-5
    assert recording.check("ONNX", *played.replay(recording)) < 1e-4
    assert len(played.states(2)) == (not isinstance(policy.network, MLP))


def test_what_is_not_the_policy_is_refused(case):
    policy, vecenv, recording = case
    text = c.source(policy, vecenv, recording, "test")
    with torch.no_grad():
        policy.decoder.critic.bias += 0.01  # the file's policy is another one now
    other = record(policy, vecenv, seed=1)
    with c.CPolicy(text, vecenv) as played:
        difference = other.difference(*played.replay(other))
        assert difference == pytest.approx(0.01 / max(1, abs(other.values).min()), rel=0.05)
        with pytest.raises(RuntimeError, match="C is not the policy: on 256 observations"):
            other.check("C", *played.replay(other))


def test_a_recording_of_no_numbers_differs_infinitely():
    zeros = np.zeros((1, 1, 1), np.float32)
    recording = Recording(zeros, zeros[0] > 0, zeros, zeros[0])
    assert recording.difference(zeros, zeros[0] * np.nan) == np.inf


@pytest.mark.parametrize("language", [["-std=c11"], ["-xc++", "-std=c++17"]])
def test_the_file_compiles_without_a_warning_and_tests_itself(case, language, tmp_path):
    policy, vecenv, recording = case
    (tmp_path / "policy.c").write_text(c.source(policy, vecenv, recording, "test"))
    flags = ["-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-DPOLICY_MAIN"]
    command = [*compiler(), *language, *flags, "policy.c", "-lm"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_self_test_sees_one_changed_weight(case):
    policy, vecenv, recording = case
    text = c.source(policy, vecenv, recording, "test")
    begin = text.index("policy_critic_bias[1] = {") + len("policy_critic_bias[1] = {")
    changed = text[:begin] + "1.0f +" + text[begin:]
    with c.CPolicy(changed, vecenv) as played:
        nearest = max(1, abs(recording.values[:8, 0]).min())
        assert played.self_test() == pytest.approx(1 / nearest, rel=1e-3)


def test_c_takes_the_likeliest_action_and_draws_the_others(case):
    policy, vecenv, recording = case
    observation, outputs = recording.observations[0, 0], recording.outputs[0, 0]
    space, random = vecenv.single_action_space, np.array([7], np.uint64)
    with c.CPolicy(c.source(policy, vecenv, recording, "test"), vecenv) as played:

        def act(allowed=None, random=None):
            return played.act(observation, played.states(1)[0], allowed, random)

        drawn = np.array([act(random=random) for _ in range(4000)])
        if isinstance(space, Box):
            assert act() == pytest.approx(np.clip(outputs, space.low, space.high), abs=1e-5)
            assert (drawn >= space.low).all()
            assert (drawn <= space.high).all()
            std = policy.decoder.log_std.detach().exp().numpy()  # of the second: bounded below only
            exceeds = drawn[:, 1] > outputs[1]
            assert exceeds.mean() == pytest.approx(0.5, abs=4 * 0.5 / 4000**0.5)
            beyond = drawn[:, 1] > outputs[1] + std[1]  # one deviation: 15.87 %
            assert beyond.mean() == pytest.approx(0.1587, abs=4 * 0.366 / 4000**0.5)
            return
        heads = np.split(outputs, np.cumsum(policy.decoder.heads)[:-1])
        assert act().tolist() == [head.argmax() for head in heads]
        for column, head in zip(drawn.T, heads, strict=True):
            chances = np.exp(head - head.max()) / np.exp(head - head.max()).sum()
            counts = np.bincount(column, minlength=len(head))
            assert counts / 4000 == pytest.approx(chances, abs=4 * 0.5 / 4000**0.5)
        allowed = np.zeros(len(outputs), bool)
        firsts = np.cumsum([0, *policy.decoder.heads[:-1]])
        allowed[firsts + 1] = True  # the second choice of each head, and nothing else
        for generator in (None, random):
            assert act(allowed, generator).tolist() == [1] * len(heads)
        assert act(allowed & False).tolist() == [0] * len(heads)


def test_what_c_does_not_know_names_the_other_format():
    with closing(noise(FLOATS, Discrete(2))) as vecenv:
        policy = make_policy(PolicyConfig(network="lstm", hidden_size=8), vecenv)
        with pytest.raises(APIUsageError, match=r"LSTM .* MLP and MinGRU; use --format onnx"):
            c.source(policy, vecenv, record(policy, vecenv), "test")


def test_weights_that_are_no_numbers_are_refused():
    with closing(noise(FLOATS, Discrete(2))) as vecenv:
        policy = make_policy(PolicyConfig(hidden_size=8), vecenv)
        recording = record(policy, vecenv)
        with torch.no_grad():
            policy.decoder.critic.bias[0] = torch.inf
        with pytest.raises(APIUsageError, match=r"critic_bias .* not finite"):
            c.source(policy, vecenv, recording, "test")


@pytest.mark.parametrize("network", ["lstm", "gru"])
def test_onnx_takes_every_network(network, tmp_path):
    pytest.importorskip("onnxruntime")
    from puffer_cuda.export import onnx

    with closing(noise(FLOATS, Discrete(2))) as vecenv:
        config = PolicyConfig(network=network, hidden_size=8, num_layers=2)
        policy = trained_like(config, vecenv)
        recording = record(policy, vecenv)
        onnx.write(policy, vecenv, recording, tmp_path / "policy.onnx", "test")
        played = onnx.OnnxPolicy(tmp_path / "policy.onnx")
        assert recording.check("ONNX", *played.replay(recording)) < 1e-4
        with pytest.raises(APIUsageError, match=r"float32 of shape \(batch, \*\(5,\)\), got uint8"):
            played.forward(np.zeros((2, 5), np.uint8), np.ones(2, bool), played.states(2))


def test_onnx_takes_images(tmp_path):
    pytest.importorskip("onnxruntime")
    from puffer_cuda.export import onnx

    with closing(noise(Box(0, 255, (40, 36, 2), np.uint8), Discrete(2))) as vecenv:
        policy = make_policy(PolicyConfig(hidden_size=8), vecenv)  # nature
        recording = record(policy, vecenv)
        onnx.write(policy, vecenv, recording, tmp_path / "policy.onnx", "test")
        played = onnx.OnnxPolicy(tmp_path / "policy.onnx")
        assert recording.check("ONNX", *played.replay(recording)) < 1e-4


class Played(torch.nn.Module):
    """An exported policy in the form that evaluations take."""

    def __init__(self, exported, like):
        super().__init__()
        self.exported, self.like = exported, like

    def initial_state(self, batch, device):
        return tuple(map(torch.from_numpy, self._states(batch)))

    def _states(self, batch):
        states = self.exported.states(batch)
        return [states] if isinstance(states, np.ndarray) else states

    def forward_eval(self, observations, state):
        observations, states = observations.numpy(), [tensor.numpy() for tensor in state]
        starts = np.zeros(len(observations), bool)  # the caller has cleared them
        if isinstance(self.exported, c.CPolicy):
            memory = states[0].copy()
            outputs, values = self.exported.forward(observations, starts, memory)
            states = [memory]
        else:
            results, states = self.exported.forward(observations, starts, states)
            outputs, values = results["logits"], results["value"]
        return (
            torch.from_numpy(outputs),
            torch.from_numpy(values),
            tuple(map(torch.from_numpy, states)),
        )

    def forward(self, observations, state):
        raise NotImplementedError


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["c", "onnx"])
def test_an_exported_policy_scores_as_the_policy(kind, tmp_path, stack):
    creator = env_creator("cartpole")
    with closing(make(creator, env_kwargs={"num_envs": 256})) as vecenv:
        policy = make_policy(PolicyConfig(hidden_size=32), vecenv)
        config = TrainConfig(
            total_timesteps=2_000_000,
            threads=1,
            horizon=128,
            learning_rate=0.03,
            reward_scale=0.1,
            gamma=0.98,
            prio_alpha=0,
        )
        trainer = NativePuffeRL(config, vecenv, policy)
        while trainer.epoch < trainer.total_epochs:
            trainer.evaluate()
            trainer.train()
        recording = record(policy, vecenv)
        if kind == "c":
            text = c.source(policy, vecenv, recording, "test")
            exported = stack.enter_context(c.CPolicy(text, vecenv))
        else:
            pytest.importorskip("onnxruntime")
            from puffer_cuda.export import onnx

            onnx.write(policy, vecenv, recording, tmp_path / "policy.onnx", "test")
            exported = onnx.OnnxPolicy(tmp_path / "policy.onnx")
    scores = []
    for number, player in enumerate((policy, Played(exported, policy))):
        with closing(make(creator, env_kwargs={"num_envs": 256})) as vecenv:
            results = evaluate_policy(player, vecenv, seed=100 + number)  # other episodes
            scores.append(results["episode_length"])
    mine, theirs = scores
    error = np.hypot(*(score.std(ddof=1) / len(score) ** 0.5 for score in scores))
    assert mine.mean() > 40  # a random policy keeps the pole up for 22 steps
    assert abs(mine.mean() - theirs.mean()) <= 2 * error

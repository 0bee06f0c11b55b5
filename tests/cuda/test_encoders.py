import functools

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.encoders import FlatEncoder, NestedEncoder, make_encoder
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_vector import Serial, make


class Signal(gymnasium.Env):
    """The right action stands in a nested field of bytes and floats; everything else is noise."""

    observation_space = spaces.Dict(
        noise=spaces.Box(-1, 1, (3,), np.float32),
        inner=spaces.Dict(flag=spaces.Discrete(2, start=1), level=spaces.Box(0, 1, (), np.float16)),
        pair=spaces.Tuple([spaces.MultiBinary(3), spaces.Box(0, 255, (2, 2), np.uint8)]),
    )
    action_space = spaces.Discrete(2)

    def observe(self):
        sample = self.observation_space.sample()
        self.answer = int(sample["inner"]["flag"]) - 1
        return sample

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observe(), {}

    def step(self, action):
        reward = float(action == self.answer)
        return self.observe(), reward, True, False, {}


def vecenv(creator=Signal, num_envs=8):
    return make(
        functools.partial(GymnasiumPufferEnv, env_creator=creator),
        backend=Serial,
        num_envs=num_envs,
    )


def test_leaves_arrive_as_values_not_as_bytes():
    env = vecenv(num_envs=4)
    observations, _ = env.reset(0)
    encoder = make_encoder(env.single_observation_space, env.emulated, 5)
    assert isinstance(encoder, NestedEncoder)
    structs = env.driver_env.layout.view(observations)
    rows = []
    for s in structs:  # fields in the layout's order: keys sorted
        bits, image = s["pair"].tolist()
        fields = (s["inner"]["flag"], s["inner"]["level"], s["noise"], bits, image / 255)
        rows.append(np.concatenate([np.ravel(field) for field in fields]).astype(np.float32))
    expected = torch.relu(encoder.linear(torch.tensor(np.array(rows))))
    torch.testing.assert_close(encoder(torch.from_numpy(observations)), expected)
    segments = torch.from_numpy(np.stack([observations] * 3))
    torch.testing.assert_close(encoder(segments), expected.expand(3, 4, 5))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
def test_leaves_by_themselves_need_no_unflattening(env_id):
    env = vecenv(functools.partial(gymnasium.make, env_id))
    assert isinstance(make_encoder(env.single_observation_space, env.emulated, 4), FlatEncoder)


def test_a_policy_learns_from_a_mixed_structure():
    env = vecenv(num_envs=16)
    torch.manual_seed(0)
    policy = make_policy(PolicyConfig(network="mlp", hidden_size=32), env)
    settings = {"horizon": 16, "gamma": 0.0, "minibatch_size": 64, "replay_ratio": 4}
    trained = PuffeRL(TrainConfig(device="cpu", **settings), env, policy)
    for _ in range(20):
        trained.evaluate()
        logs = trained.train()
    assert logs["environment/episode_return"] > 0.9  # 0.5 without looking

import functools

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.encoders import FlatEncoder, NestedEncoder, make_encoder
from puffer_cuda.images import Nature, Residual
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
    encoder = make_encoder(env, 5)
    assert isinstance(encoder, NestedEncoder)
    structs = env.driver_env.layout.view(observations)
    rows = []
    for s in structs:  # fields in the layout's order: keys sorted
        bits, image = s["pair"].tolist()
        flag = np.eye(2)[s["inner"]["flag"] - 1]  # Discrete(2, start=1) as a one-hot vector
        fields = (flag, s["inner"]["level"], s["noise"], bits, image / 255)
        rows.append(np.concatenate([np.ravel(field) for field in fields]).astype(np.float32))
    expected = torch.relu(encoder.linear(torch.tensor(np.array(rows))))
    torch.testing.assert_close(encoder(torch.from_numpy(observations)), expected)
    segments = torch.from_numpy(np.stack([observations] * 3))
    torch.testing.assert_close(encoder(segments), expected.expand(3, 4, 5))


class Choices(gymnasium.Env):
    observation_space = spaces.MultiDiscrete([3, 2], start=[5, -1])
    action_space = spaces.Discrete(2)


def test_choices_are_one_hot_from_their_start():
    env = vecenv(Choices)
    encoder = make_encoder(env, 4)
    with torch.no_grad():
        encoder.linear.weight.copy_(torch.arange(20.0).view(4, 5))
        encoder.linear.bias.zero_()
    got = encoder(torch.tensor([[5, 0], [7, -1]], dtype=torch.int32))
    expected = torch.arange(20.0).view(4, 5).T
    torch.testing.assert_close(
        got, torch.stack((expected[0] + expected[4], expected[2] + expected[3]))
    )
    dead = encoder(torch.zeros(1, 2, dtype=torch.int32))  # of an agent that is not there
    assert torch.isfinite(dead).all()


class Grid(gymnasium.Env):
    """Two by three cells of two categories."""

    observation_space = spaces.MultiDiscrete(np.broadcast_to([3, 2], (2, 3, 2)))
    action_space = spaces.Discrete(2)


def test_choices_in_a_grid_have_any_batch_before_them():
    encoder = make_encoder(vecenv(Grid), 4)
    assert encoder.linear.in_features == 6 * (3 + 2)
    cells = torch.tensor([2, 1, 0, 0, 1, 1, 2, 0, 0, 1, 1, 0], dtype=torch.int32)
    hot = torch.cat([torch.eye(3 if i % 2 == 0 else 2)[int(c)] for i, c in enumerate(cells)])
    expected = torch.relu(encoder.linear(hot))
    for batch in ((), (5,), (3, 5), (2, 3, 5)):
        got = encoder(cells.expand(*batch, 12))
        torch.testing.assert_close(got, expected.expand(*batch, 4))


@pytest.mark.parametrize(
    ("env_id", "encoder"), [("CartPole-v1", FlatEncoder), ("FrozenLake-v1", NestedEncoder)]
)
def test_leaves_by_themselves(env_id, encoder):
    env = vecenv(functools.partial(gymnasium.make, env_id))
    made = make_encoder(env, 4)
    assert isinstance(made, encoder)
    if encoder is NestedEncoder:
        assert made.linear.in_features == 16


class Images(gymnasium.Env):
    action_space = spaces.Discrete(2)

    def __init__(self, shape):
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize(
    ("shape", "channels"),
    [((4, 40, 44), 4), ((40, 44, 3), 3), ((40, 44), 1), ((36, 36, 36), 36)],
)
def test_images_are_recognised_and_scaled(shape, channels):
    encoder = make_encoder(vecenv(functools.partial(Images, shape)), 8)
    assert isinstance(encoder, Nature)
    assert encoder.trunk[0].in_channels == channels
    images = torch.randint(0, 256, (3, 2, *shape), dtype=torch.uint8)
    planes = images.flatten(0, 1).float().numpy() / 255
    if len(shape) == 2:
        planes = planes[:, None]
    elif shape[0] >= shape[2]:
        planes = planes.transpose(0, 3, 1, 2)
    hidden = torch.relu(encoder.trunk(torch.from_numpy(planes))).flatten(1)
    expected = torch.relu(encoder.linear(hidden)).view(3, 2, 8)
    torch.testing.assert_close(encoder(images), expected)


def test_small_images_are_flat_or_impala():
    env = vecenv(functools.partial(Images, (9, 11, 3)))
    assert isinstance(make_encoder(env, 8), FlatEncoder)
    impala = make_encoder(env, 8, "impala")
    assert impala(torch.zeros(2, 5, 9, 11, 3, dtype=torch.uint8)).shape == (2, 5, 8)
    with pytest.raises(APIUsageError, match="at least 36 x 36, got 9 x 11: use impala"):
        make_encoder(env, 8, "nature")


def test_a_residual_block_on_paper():
    block = Residual(1)
    with torch.no_grad():
        for layer, weight in ((block.first, 2.0), (block.second, -3.0)):
            layer.weight.zero_()
            layer.weight[0, 0, 1, 1] = weight
    x = torch.tensor([[[[1.0, -1.0]]]])
    assert block(x).flatten().tolist() == [1 - 6, -1]  # x - 3 relu(2 relu(x))


def test_encoders_that_do_not_fit():
    for creator, name, message in (
        (Signal, "flat", "would read the bytes"),
        (Signal, "impala", "reads images"),
        (functools.partial(Images, (40,)), "nature", "reads images"),
    ):
        env = vecenv(creator)
        with pytest.raises(APIUsageError, match=message):
            make_encoder(env, 4, name)


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

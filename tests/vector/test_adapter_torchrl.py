"""TorchRLEnv: TorchRL's own check, and rollouts replayed in Gymnasium's vector environment."""

import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_vector import Multiprocessing, Serial, make

pytest.importorskip("torchrl", reason="TorchRL is not installed: uv sync --group peers")
torch = pytest.importorskip("torch")

from tensordict import TensorDict
from torchrl.envs import RewardSum, TransformedEnv
from torchrl.envs.utils import check_env_specs

from puffer_vector.adapters.torchrl import TorchRLEnv

cloudpickle.register_pickle_by_value(sys.modules[__name__])

BACKENDS = [{"backend": Serial}, {"backend": Multiprocessing, "num_workers": 2, "timeout": 60}]
SPACES = [
    (spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.Discrete(3)),
    (spaces.Box(0, 255, (3, 2), np.uint8), spaces.MultiDiscrete([2, 3])),
    (spaces.Box(-1, 1, (), np.float64), spaces.Box(-1, 2, (2,), np.float32)),
    (spaces.Box(0, 1, (4,), np.bool_), spaces.MultiBinary(2)),
]


class Short(gymnasium.Env):
    """Episodes of random length that end in every way."""

    def __init__(self, index=0):
        self.observation_space, self.action_space = SPACES[index]
        self.observation_space.seed(0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.length = 0, int(self.np_random.integers(1, 7))
        return self.observe(), {}

    def step(self, action):
        self.t += 1
        over = self.t >= self.length
        terminated = over and self.length % 3 != 1
        return self.observe(), float(np.sum(action)), terminated, over and self.length % 3 != 2, {}

    def observe(self):
        space = self.observation_space
        return np.full(space.shape, self.np_random.integers(2), space.dtype)


def short(buf=None, seed=0, index=0):
    return GymnasiumPufferEnv(Short(index), buf=buf, seed=seed)


@pytest.fixture(params=BACKENDS, ids=["serial", "workers"])
def backend(request):
    return request.param


@pytest.mark.parametrize("index", range(len(SPACES)))
def test_passes_check_env_specs(index):
    env = TorchRLEnv(make(short, env_kwargs={"index": index}, num_envs=3, backend=Serial))
    check_env_specs(env, break_when_any_done="both")
    env.close()


def test_cartpole_passes_check_env_specs(backend, cartpole):
    env = TorchRLEnv(make(cartpole, num_envs=4, **backend))
    check_env_specs(env, seed=0, break_when_any_done="both")
    env.close()


def test_rollout_equals_gymnasium(backend):
    env = TorchRLEnv(make(short, num_envs=4, **backend))
    peer = gymnasium.vector.SyncVectorEnv([Short] * 4, autoreset_mode="Disabled")
    env.set_seed(5)
    rollout = env.rollout(200, break_when_any_done=False)
    observations, _ = peer.reset(seed=5)
    ends = 0
    for t in range(200):
        step = rollout[:, t]
        np.testing.assert_array_equal(step["observation"], observations)
        observations, rewards, terminated, truncated, _ = peer.step(step["action"].numpy())
        np.testing.assert_array_equal(step["next", "observation"], observations)
        np.testing.assert_array_equal(step["next", "reward"][:, 0], rewards)
        np.testing.assert_array_equal(step["next", "terminated"][:, 0], terminated)
        np.testing.assert_array_equal(step["next", "truncated"][:, 0], truncated)
        over = terminated | truncated
        np.testing.assert_array_equal(step["next", "done"][:, 0], over)
        if over.any():
            ends += over.sum()
            observations, _ = peer.reset(options={"reset_mask": over})
    assert ends > 100
    env.close()


def test_running_rows_can_be_reset(backend):
    env = TorchRLEnv(make(short, num_envs=2, **backend))
    env.set_seed(0)
    env.reset()
    chosen = TensorDict({"_reset": torch.tensor([[True], [False]])}, batch_size=[2])
    assert env.reset(chosen)["observation"].shape == (2, 2)
    assert not env.rollout(5, auto_reset=False, tensordict=env.reset())["done"].any()
    env.close()


def test_transforms_work_on_it(cartpole):
    env = TransformedEnv(TorchRLEnv(make(cartpole, num_envs=2, backend=Serial)), RewardSum())
    rollout = env.rollout(100, break_when_any_done=False)
    done = rollout["next", "done"]
    assert done.any()
    assert (rollout["next", "episode_reward"][done] > 5).all()


def test_misuse(cartpole, clock):
    env = TorchRLEnv(make(clock, num_envs=2, backend=Serial))
    assert env.batch_size == (4,)
    env.reset()
    chosen = TensorDict({"_reset": torch.tensor([[True], [False], [False], [False]])}, [4])
    with pytest.raises(APIUsageError, match="other rows share"):
        env.reset(chosen)
    with pytest.raises(APIUsageError, match="takes no options"):
        env.reset(options={})

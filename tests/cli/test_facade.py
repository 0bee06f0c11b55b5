"""Names of PufferLib 3.0 for emulation, used as its programs use them."""

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

import pufferlib
import pufferlib.emulation
import pufferlib.pytorch
import pufferlib.spaces
import pufferlib.vector

MIXED = spaces.Dict(
    foo=spaces.Box(-1, 1, (2,), np.float32),
    bar=spaces.Box(-1, 1, (2, 3), np.float32),
    baz=spaces.MultiDiscrete([2, 5]),
)


class Mixed(gymnasium.Env):
    observation_space = MIXED
    action_space = spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(5))

    def reset(self, seed=None, options=None):
        self.last = self.observation_space.sample()
        return self.last, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.last = self.observation_space.sample()
        return self.last, 0.0, False, False, {}


def test_unflattening_in_numpy():
    env = pufferlib.emulation.GymnasiumPufferEnv(Mixed())
    env.reset()
    flat = env.step(env.action_space.sample())[0]
    struct = flat.view(env.obs_dtype)
    native = pufferlib.emulation.nativize(flat[0], MIXED, env.obs_dtype)
    for key, value in env.env.last.items():
        assert (struct[key][0, 0] == value).all()
        assert (native[key] == value).all()
        assert (env.obs_struct[key][0] == value).all()
    assert (env.is_obs_emulated, env.is_atn_emulated) == (True, True)
    assert env.atn_dtype == np.int32
    space, dtype = pufferlib.emulation.emulate_observation_space(MIXED)
    assert (space, dtype) == (env.single_observation_space, env.obs_dtype)
    assert pufferlib.emulation.dtype_from_space(MIXED) == dtype
    space, dtype = pufferlib.emulation.emulate_action_space(Mixed.action_space)
    assert (space, dtype) == (spaces.MultiDiscrete([2, 5]), np.int32)
    again = np.zeros_like(flat)
    pufferlib.emulation.emulate(again.view(env.obs_dtype)[0], env.env.last)
    assert again.tobytes() == flat.tobytes()


def test_unflattening_in_torch_from_a_vectorizer():
    def creator(buf=None, seed=0):
        return pufferlib.emulation.GymnasiumPufferEnv(Mixed(), buf=buf, seed=seed)

    vecenv = pufferlib.vector.make(creator, num_envs=3, backend=pufferlib.vector.Serial)
    observations, _ = vecenv.reset()
    native = pufferlib.pytorch.nativize_dtype(vecenv.driver_env.emulated)
    tensors = pufferlib.pytorch.nativize_tensor(torch.as_tensor(observations), native)
    assert {key: tuple(tensor.shape) for key, tensor in tensors.items()} == {
        "foo": (3, 2),
        "bar": (3, 2, 3),
        "baz": (3, 2),
    }
    assert (tensors["bar"][0].numpy() == vecenv.driver_env.env.last["bar"]).all()
    assert pufferlib.pytorch.flattened_tensor_size(native) == 10
    vecenv.close()


def test_names():
    assert issubclass(pufferlib.InvalidAgentError, ValueError)
    assert pufferlib.emulation.PettingZooPufferEnv
    assert isinstance(MIXED, pufferlib.spaces.Dict)

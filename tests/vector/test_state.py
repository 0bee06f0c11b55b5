import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv
from puffer_vector import Multiprocessing, Native, Serial, make

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it by name


class Walk(PufferEnv):
    """Two random walkers; an episode ends at 3; offers its state."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.num_agents = 2
        super().__init__(buf)
        self.reset(seed)

    def reset(self, seed=None):
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.observations[:] = 0
        return self.observations, []

    def step(self, actions):
        self.observations[:, 0] += self.random.integers(-1, 3, 2) * (1 + actions)
        self.rewards[:] = self.observations[:, 0]
        self.terminals[:] = np.abs(self.observations[:, 0]) > 3
        self.final_observations[:] = self.observations
        self.observations[self.terminals] = 0
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def get_state(self):
        words = self.random.bit_generator.state["state"]
        parts = [words["state"], words["inc"]]
        halves = [part >> shift & (2**64 - 1) for part in parts for shift in (0, 64)]
        return {"random": np.array(halves, np.uint64), "observations": self.observations.copy()}

    def set_state(self, state):
        self.random = np.random.default_rng()
        low, high, low_inc, high_inc = (int(half) for half in state["random"])
        full = {**self.random.bit_generator.state, "has_uint32": 0, "uinteger": 0}
        full["state"] = {"state": low + (high << 64), "inc": low_inc + (high_inc << 64)}
        self.random.bit_generator.state = full
        self.observations[:] = state["observations"]


def play(vecenv, steps, seed):
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(steps):
        *arrays, infos = vecenv.step(rng.integers(0, 2, vecenv.num_agents))
        seen += [array.tobytes() for array in arrays]
        seen += [column.tobytes() for info in infos for column in info.values()]
    return seen


HOW = [
    (Serial, 4, {}),
    (Native, 1, {}),
    (Multiprocessing, 4, {"num_workers": 2}),
    (Multiprocessing, 4, {"num_workers": 4}),
]


@pytest.mark.parametrize(("backend", "num_envs", "kwargs"), HOW)
def test_a_restored_vectorizer_goes_on_byte_for_byte(backend, num_envs, kwargs):
    vecenv = make(Walk, backend=backend, num_envs=num_envs, seed=1, **kwargs)
    vecenv.reset()
    play(vecenv, 50, seed=0)
    state = vecenv.get_state()
    expected = play(vecenv, 100, seed=1)
    vecenv.close()
    other = make(Walk, backend=backend, num_envs=num_envs, seed=77, **kwargs)
    other.set_state(state)
    other.recv()
    assert play(other, 100, seed=1) == expected  # statistics of running episodes included
    other.set_state(state)  # also in the middle, with a batch received
    other.recv()
    other.send([0] * other.num_agents)
    other.set_state(state)  # and with one in flight
    other.recv()
    assert play(other, 100, seed=1) == expected
    other.close()


def test_the_state_of_one_backend_fits_the_others():
    serial = make(Walk, backend=Serial, num_envs=4, seed=1)
    serial.reset()
    play(serial, 50, seed=0)
    state = serial.get_state()
    rewards = [serial.step([1] * 8)[1].copy() for _ in range(20)]
    for how in ({"batch_size": 2}, {"batch_size": 2, "zero_copy": False}):
        vecenv = make(Walk, backend=Multiprocessing, num_envs=4, num_workers=2, **how)
        vecenv.set_state(state)
        for expected in (np.zeros(8), *rewards):
            for _ in range(2):
                *_, ids, _ = received = vecenv.recv()
                if expected.any():
                    np.testing.assert_array_equal(received[1], expected[ids])
            for _ in range(2):
                vecenv.send([1] * 4)
        vecenv.close()


def test_what_cannot_be_saved_says_so():
    def creator(buf=None, seed=0):
        return GymnasiumPufferEnv(gymnasium.make("CartPole-v1"), buf=buf, seed=seed)

    for backend in (Serial, Multiprocessing):
        vecenv = make(creator, backend=backend, num_envs=2)
        with pytest.raises(APIUsageError, match=r"GymnasiumPufferEnv has no get_state\(\)"):
            vecenv.get_state()
        vecenv.reset()  # still of use
        vecenv.close()


def test_environments_at_work_are_not_asked():
    for backend in (Serial, Multiprocessing):
        vecenv = make(Walk, backend=backend, num_envs=2)
        vecenv.async_reset()
        with pytest.raises(APIUsageError, match="environment 0 is at work"):
            vecenv.get_state()
        vecenv.close()


def test_another_number_of_environments_is_refused():
    state = make(Walk, backend=Serial, num_envs=2).get_state()
    with pytest.raises(APIUsageError, match="of 2 environments, this vectorizer has 3"):
        make(Walk, backend=Serial, num_envs=3).set_state(state)

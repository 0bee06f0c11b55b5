import gymnasium
import numpy as np
import pytest

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv
from puffer_vector import Multiprocessing, Native, Serial, make


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


@pytest.mark.parametrize(("backend", "num_envs"), [(Serial, 3), (Native, 1)])
def test_a_restored_vectorizer_goes_on_byte_for_byte(backend, num_envs):
    vecenv = make(Walk, backend=backend, num_envs=num_envs, seed=1)
    vecenv.reset()
    play(vecenv, 50, seed=0)
    state = vecenv.get_state()
    expected = play(vecenv, 100, seed=1)
    other = make(Walk, backend=backend, num_envs=num_envs, seed=77)
    other.set_state(state)
    other.recv()
    assert play(other, 100, seed=1) == expected  # statistics of running episodes included


def test_what_cannot_be_saved_says_so():
    def creator(buf=None, seed=0):
        return GymnasiumPufferEnv(gymnasium.make("CartPole-v1"), buf=buf, seed=seed)

    with pytest.raises(APIUsageError, match=r"GymnasiumPufferEnv has no get_state\(\)"):
        make(creator, backend=Serial).get_state()
    vecenv = make(creator, backend=Multiprocessing, num_envs=2)
    try:
        with pytest.raises(APIUsageError, match="Multiprocessing cannot save"):
            vecenv.get_state()
    finally:
        vecenv.close()


def test_another_number_of_environments_is_refused():
    state = make(Walk, backend=Serial, num_envs=2).get_state()
    with pytest.raises(APIUsageError, match="of 2 environments, this vectorizer has 3"):
        make(Walk, backend=Serial, num_envs=3).set_state(state)

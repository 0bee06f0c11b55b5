import numpy as np
import pytest

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv

VARIANTS = [("squared", {}), ("cartpole", {}), ("cartpole", {"continuous": True}), ("breakout", {})]


def play(env, steps, seed):
    rng = np.random.default_rng(seed)
    bytes_seen = []
    for _ in range(steps):
        if env.actions.dtype == np.int32:
            actions = rng.integers(0, env.single_action_space.n, env.num_agents)
        else:
            actions = rng.uniform(-1, 1, env.actions.shape).astype(np.float32)
        obs, rewards, terminals, truncations, infos = env.step(actions)
        bytes_seen += [x.tobytes() for x in (obs, rewards, terminals, truncations)]
        bytes_seen += [column.tobytes() for info in infos for column in info.values()]
    return bytes_seen


@pytest.mark.parametrize(("name", "arguments"), VARIANTS)
def test_a_restored_copy_goes_on_byte_for_byte(name, arguments):
    env = OceanEnv(name, num_envs=7, seed=1, **arguments)
    env.reset()
    play(env, 137, seed=0)
    state = env.get_state()
    expected = play(env, 400, seed=1)
    other = OceanEnv(name, num_envs=7, seed=99, num_threads=2, **arguments)
    other.set_state(state)  # without a reset before
    assert play(other, 400, seed=1) == expected
    env.set_state(state)  # and backwards in time
    assert play(env, 400, seed=1) == expected
    assert play(env, 400, seed=1) != expected


def test_states_that_do_not_fit_are_refused():
    state = OceanEnv("squared", num_envs=4).get_state()
    with pytest.raises(APIUsageError, match=r"observations is uint8 \(4, 121\), expected uint8"):
        OceanEnv("squared", num_envs=5).set_state(state)
    env = OceanEnv("squared", num_envs=4)
    for broken, message in (
        (state["snapshot"][:-1], "cut off"),
        (state["snapshot"][:3], "another version"),
        (state["snapshot"] ^ np.uint8(1), "another version"),
    ):
        with pytest.raises(APIUsageError, match=message):
            env.set_state({**state, "snapshot": broken})
    three = OceanEnv("cartpole", num_envs=4).get_state()
    with pytest.raises(APIUsageError):
        env.set_state(three)

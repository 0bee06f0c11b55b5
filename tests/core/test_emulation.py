"""GymnasiumPufferEnv against the environments it wraps."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv, buffers

BOX = spaces.Box(-1, 1, (2,), np.float32)


class Script(gymnasium.Env):
    """Returns what it is told, and remembers what it is given."""

    def __init__(self, observation_space=BOX, action_space=None, step=None, reset=None):
        self.observation_space = observation_space
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self.scripted_step, self.scripted_reset = step, reset
        self.actions, self.resets, self.closed = [], [], False

    def reset(self, **kwargs):
        self.resets.append(kwargs)
        if isinstance(self.scripted_reset, Exception):
            raise self.scripted_reset
        if self.scripted_reset is not None:
            return self.scripted_reset
        return self.observation(), {"from": "reset"}

    def step(self, action):
        self.actions.append(action)
        if self.scripted_step is not None:
            return self.scripted_step
        return self.observation(), 1.5, False, False, {"from": "step"}

    def observation(self):
        space = self.observation_space
        return space.start if isinstance(space, spaces.Discrete) else space.low

    def close(self):
        self.closed = True


def test_equals_the_wrapped_environment_over_episodes():
    wrapped = GymnasiumPufferEnv(gymnasium.make("CartPole-v1"))
    plain = gymnasium.make("CartPole-v1")
    observations, _ = wrapped.reset(seed=5)
    expected, _ = plain.reset(seed=5)
    assert observations is wrapped.observations
    episodes = 0
    rng = np.random.default_rng(0)
    for _ in range(300):
        np.testing.assert_array_equal(observations, expected[None])
        action = rng.integers(2)
        observations, rewards, terminals, truncations, _ = wrapped.step(np.array([action]))
        expected, reward, terminated, truncated, _ = plain.step(int(action))
        np.testing.assert_array_equal(observations, expected[None])
        assert (rewards.tolist(), terminals.tolist(), truncations.tolist()) == (
            [reward],
            [terminated],
            [truncated],
        )
        assert (rewards.dtype, terminals.dtype) == (np.float32, np.bool_)
        assert wrapped.done == (terminated or truncated)
        if wrapped.done:
            episodes += 1
            observations, _ = wrapped.reset()
            expected, _ = plain.reset()
            assert wrapped.rewards[0] == 0
            assert not wrapped.terminals[0]
    assert episodes > 5


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), max_size=3),
    dtype=st.sampled_from(["bool", "uint8", "int8", "int64", "float16", "float32", "float64"]),
)
def test_every_box_passes_through(shape, dtype):
    space = spaces.Box(0, 1, tuple(shape), np.dtype(dtype).type, seed=1)
    value = space.sample()
    env = GymnasiumPufferEnv(Script(space, step=(value, 0, True, False, {})))
    assert env.single_observation_space is space
    env.reset()
    observations = env.step(env.action_space.sample())[0]
    assert observations.shape == (1, *shape)
    assert observations.dtype == dtype
    np.testing.assert_array_equal(observations[0], value)


def test_discrete_observations_are_an_int32_box_of_the_value():
    env = GymnasiumPufferEnv(Script(spaces.Discrete(3, start=-1)))
    assert env.single_observation_space == spaces.Box(-1, 1, (1,), np.int32)
    assert env.reset()[0].tolist() == [[-1]]
    for right in (1, np.int64(1), np.array(1), np.uint8(1), True):
        env.env.scripted_step = (right, 0.0, False, False, {})
        assert env.step([0])[0].tolist() == [[1]]
    for wrong in (2, -2, 0.5, "0", None, np.array([1]), np.float64(1)):
        env.env.scripted_step = (wrong, 0.0, False, False, {})
        with pytest.raises(APIUsageError, match=r"observation: expected a value of Discrete"):
            env.step([0])


@pytest.mark.parametrize(
    ("space", "flat", "row", "expected"),
    [
        (spaces.Discrete(3), spaces.Discrete(3), [2], 2),
        (spaces.Discrete(3, start=-1), spaces.Discrete(3), [0], -1),
        (spaces.MultiDiscrete([2, 5]), spaces.MultiDiscrete([2, 5]), [[1, 4]], [1, 4]),
        (
            spaces.MultiDiscrete([[2, 3], [4, 5]]),
            spaces.MultiDiscrete([2, 3, 4, 5]),
            [[1, 2, 3, 4]],
            [[1, 2], [3, 4]],
        ),
        (spaces.MultiBinary(3), spaces.MultiDiscrete([2, 2, 2]), [[1, 0, 1]], [1, 0, 1]),
        (spaces.MultiBinary([1, 2]), spaces.MultiDiscrete([2, 2]), [[0, 1]], [[0, 1]]),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_discrete_actions_of_every_kind(space, flat, row, expected, dtype):
    script = Script(action_space=space)
    env = GymnasiumPufferEnv(script)
    assert env.single_action_space == flat
    env.reset()
    env.step(np.array(row, dtype))
    (action,) = script.actions
    assert space.contains(action)
    np.testing.assert_array_equal(action, expected)
    if isinstance(space, spaces.Discrete):
        assert type(action) is int
    else:
        assert action.dtype == space.dtype
    for wrong in (np.array(row) + 5, np.array(row) - 5, np.array(row, float), [0] * 9):
        with pytest.raises(APIUsageError, match="action: expected"):
            env.step(wrong)
    env.step(env.action_space.sample())


def test_multidiscrete_start_is_added():
    script = Script(action_space=spaces.MultiDiscrete([2, 3], start=[10, -1]))
    env = GymnasiumPufferEnv(script)
    env.reset()
    env.step([[1, 0]])
    assert script.actions[0].tolist() == [11, -1]


def test_box_actions_are_clipped_copies_in_the_declared_dtype():
    space = spaces.Box(np.array([-1, 0]), np.array([1, np.inf]), dtype=np.float64)
    script = Script(action_space=space)
    env = GymnasiumPufferEnv(script)
    env.reset()
    row = np.array([[-3, 1e9]], np.float32)
    env.step(row)
    assert script.actions[0].tolist() == [-1, 1e9]
    assert script.actions[0].dtype == np.float64
    row[:] = 0
    assert script.actions[0][0] == -1  # an environment may keep its action
    for wrong in ([[np.nan, 0]], [[np.inf, 0]], [[0]], [["a", "b"]], np.zeros((2, 1))):
        with pytest.raises(APIUsageError, match="action: expected"):
            env.step(wrong)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ((np.zeros(2), 0.0, False, {}), "a tuple of 4.*shimmy"),
        (np.zeros(2), "expected .observation, reward"),
        ((np.zeros(3), 0.0, False, False, {}), r"expected shape \(2,\), got \(3,\)"),
        ((np.full(2, 1e300), 0.0, False, False, {}), "cannot hold"),
        ((np.zeros(2), "high", False, False, {}), "reward: expected one number"),
        ((np.zeros(2), [1, 2], False, False, {}), "reward: expected one number"),
        ((np.zeros(2), 1e39, False, False, {}), r"reward: 1e\+39 is too large for the float32"),
        ((np.zeros(2), np.float64(-1e39), False, False, {}), "too large"),
        ((np.zeros(2), 0.0, None, False, {}), "terminated: expected True or False, got None"),
        ((np.zeros(2), 0.0, False, 2, {}), "truncated: expected True or False, got 2"),
        ((np.zeros(2), 0.0, [False, True], False, {}), "terminated: expected True or False"),
    ],
)
def test_a_wrong_step_is_refused(result, words):
    env = GymnasiumPufferEnv(Script(step=result))
    env.reset()
    with pytest.raises(APIUsageError, match=words):
        env.step([0])


def test_checks_do_not_stop_after_the_first_sample():
    script = Script(spaces.Box(0, 255, (2,), np.uint8))
    env = GymnasiumPufferEnv(script)
    env.reset()
    for _ in range(3):
        env.step([0])
    script.scripted_step = (np.array([0.5, 1]), 0.0, False, False, {})
    with pytest.raises(APIUsageError, match=r"0.5 at \(0,\)"):
        env.step([0])


def test_a_wrong_reset_is_refused_and_errors_pass_through():
    with pytest.raises(APIUsageError, match=r"reset: expected .*shimmy"):
        GymnasiumPufferEnv(Script(reset=np.zeros(2))).reset()
    script = Script(reset=TypeError("seed is wrong"))
    with pytest.raises(TypeError, match="seed is wrong"):
        GymnasiumPufferEnv(script).reset(seed=1)
    assert script.resets == [{"seed": 1}]  # once: no second try without the seed


def test_seeds_and_options_reach_the_environment():
    script = Script()
    env = GymnasiumPufferEnv(script, seed=9)
    env.reset()
    env.reset()
    env.reset(3, options={"a": 1})
    assert script.resets == [{"seed": 9}, {}, {"seed": 3, "options": {"a": 1}}]


def test_environments_that_know_only_a_seed():
    class OnlySeed(Script):
        def reset(self, seed=None):
            return super().reset(seed=seed)

    script = OnlySeed()
    env = GymnasiumPufferEnv(script)
    env.reset()
    env.reset()
    env.reset(seed=4)
    assert script.resets == [{"seed": 0}, {"seed": None}, {"seed": 4}]
    with pytest.raises(TypeError, match="options"):
        env.reset(options={})


@pytest.mark.parametrize("info", [{"a": object(), 3: [1, {"b": np.zeros(2)}], "c": None}, {}])
def test_infos_pass_as_they_are(info):
    env = GymnasiumPufferEnv(Script(step=(np.zeros(2), 0.0, False, False, info)))
    env.reset()
    assert env.step([0])[4] is info


@pytest.mark.parametrize("flags", [(np.bool_(True), 0), (1, np.array([False])), (True, False)])
def test_flags_of_every_kind(flags):
    env = GymnasiumPufferEnv(Script(step=(np.zeros(2), 0.0, *flags, {})))
    env.reset()
    _, _, terminals, truncations, _ = env.step([0])
    assert (terminals.tolist(), truncations.tolist()) == ([True], [False])
    assert env.done is True


def test_environments_that_reuse_their_observation():
    reused = {"a": np.zeros(2, np.float32), "n": 0}

    class Reuses(Script):
        def observation(self):
            reused["a"] += 1
            reused["n"] += 1
            return reused

    env = GymnasiumPufferEnv(Reuses(spaces.Dict(a=spaces.Box(0, 9, (2,)), n=spaces.Discrete(9))))
    kept = env.reset()[0].copy()
    env.step([0])
    reused["a"][:] = 7
    assert env.obs_struct["a"].tolist() == [[2, 2]]
    assert kept.view(env.obs_dtype)["n"].tolist() == [[1]]


def test_strict_is_checked_in_every_step():
    script = Script(spaces.Box(0, 1, (2,), np.float32))
    env = GymnasiumPufferEnv(script, strict=True)
    env.reset()
    env.step([0])
    script.scripted_step = (np.array([0, 2], np.float32), 0.0, False, False, {})
    with pytest.raises(APIUsageError, match=r"observation: .* got 2.0 at \(1,\)"):
        env.step([0])


def test_attributes_of_emulation():
    env = GymnasiumPufferEnv(Script(spaces.Dict(a=BOX, b=spaces.Discrete(2))))
    assert env.obs_dtype.names == ("a", "b")
    assert env.obs_struct.shape == (1,)
    assert np.shares_memory(env.obs_struct["a"], env.observations)
    assert (env.is_obs_emulated, env.is_atn_emulated) == (True, False)
    assert env.emulated == {
        "observation_dtype": np.dtype("uint8"),
        "emulated_observation_dtype": env.obs_dtype,
    }
    env = GymnasiumPufferEnv(Script(BOX, spaces.Dict(x=spaces.Discrete(2))))
    assert (env.is_obs_emulated, env.is_atn_emulated) == (False, True)
    assert env.obs_dtype == np.float32
    assert env.obs_struct.shape == (1, 2)
    assert env.emulated
    assert env.atn_dtype == np.int32
    env = GymnasiumPufferEnv(Script(spaces.MultiBinary([2, 3])))
    assert env.obs_struct.shape == (1, 2, 3)


def test_order_of_calls():
    env = GymnasiumPufferEnv(Script(step=(np.zeros(2), 2, False, True, {"a": 1})))
    with pytest.raises(APIUsageError, match=r"reset\(\) first"):
        env.step([0])
    env.reset()
    _, rewards, terminals, truncations, info = env.step([0])
    assert (rewards[0], terminals[0], truncations[0], info) == (2, False, True, {"a": 1})
    with pytest.raises(APIUsageError, match="episode is over"):
        env.step([0])
    env.reset()
    env.step(np.array(1))


def test_construction():
    script = Script()
    env = GymnasiumPufferEnv(env_creator=lambda a, b: script, env_args=[1], env_kwargs={"b": 2})
    assert env.env is script
    assert isinstance(env, PufferEnv)
    assert env.emulated
    env.close()
    assert script.closed
    for wrong in (
        {},
        {"env": script, "env_creator": Script},
        {"env": Script},
        {"env": 3},
        {"env_creator": 3},
        {"env_creator": lambda: 3},
    ):
        with pytest.raises(APIUsageError):
            GymnasiumPufferEnv(**wrong)


def test_writes_into_given_buffers_and_leaves_the_environment_alone():
    script = Script()
    before = dict(vars(script))
    probe = GymnasiumPufferEnv(script)
    fields = buffers.layout(probe.single_observation_space, probe.single_action_space, 1)
    buf = buffers.allocate(fields)
    env = GymnasiumPufferEnv(script, buf=buf)
    env.reset()
    env.step([1])
    assert buf["observations"].tolist() == [[-1, -1]]
    assert buf["rewards"].tolist() == [1.5]
    assert vars(script) == before

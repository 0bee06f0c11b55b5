"""Cart-pole: dynamics against Gymnasium's, limits, clipping, truncation."""

import gymnasium
import numpy as np
import pytest

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv


@pytest.fixture
def reference():
    """Gymnasium's CartPole: one step in float64 from any state with any force in newtons."""
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)

    def step(state, force):
        env.state = tuple(float(value) for value in state)
        env.steps_beyond_terminated = None
        env.force_mag = abs(force)
        _, _, terminated, _, _ = env.step(int(force > 0))
        return np.array(env.state), terminated

    yield step
    env.close()


def compare(env, reference, policy, force, steps):
    """Step with the reference from each observation; return the final states of all ends."""
    ends = []
    env.reset(seed=1)
    for t in range(steps):
        before = env.observations.copy()
        actions = policy(t, before)
        env.step(actions)
        for i in range(env.num_agents):
            expected, terminated = reference(before[i], force(actions[i]))
            ended = env.terminals[i] or env.truncations[i]
            seen = env.final_observations[i] if ended else env.observations[i]
            np.testing.assert_allclose(seen, expected, atol=1e-5, rtol=0)
            margin = min(abs(abs(expected[0]) - 2.4), abs(abs(expected[2]) - np.pi / 15))
            assert env.terminals[i] == terminated or margin < 1e-5
            assert env.rewards[i] == 1
            if env.terminals[i]:
                ends.append(seen.copy())
    return np.array(ends)


def test_discrete_steps_equal_gymnasium(reference):
    generator = np.random.default_rng(2)
    ends = compare(
        OceanEnv("cartpole", 8),
        reference,
        lambda t, obs: generator.integers(2, size=8),
        lambda action: 10 if action == 1 else -10,
        500,
    )
    assert len(ends) > 50
    assert (ends[:, 2] > 0).any()
    assert (ends[:, 2] < 0).any()


def test_continuous_steps_equal_gymnasium(reference):
    generator = np.random.default_rng(3)
    ends = compare(
        OceanEnv("cartpole", 8, continuous=True),
        reference,
        lambda t, obs: generator.uniform(-1, 1, (8, 1)).astype(np.float32),
        lambda action: 10 * float(action[0]),
        500,
    )
    assert len(ends) > 20


@pytest.mark.parametrize("side", [-1, 1])
def test_leaving_the_track_on_either_side_is_terminal(reference, side):
    """A balancing controller with a goal beyond the limit drives the cart out, pole upright."""

    def drive(t, obs):
        lean = obs @ [0.05, 0.12, 1.6, 0.4] - side * 0.05 * 4
        return (lean > 0).astype(np.int32)

    ends = compare(
        OceanEnv("cartpole", 4, max_steps=1000),
        reference,
        drive,
        lambda action: 10 if action == 1 else -10,
        600,
    )
    out = ends[np.abs(ends[:, 0]) > 2.4]
    assert len(out)
    assert (np.sign(out[:, 0]) == side).all()
    assert (np.abs(out[:, 2]) < np.pi / 15).all()


@pytest.mark.parametrize(("given", "used"), [(1.5, 1), (-7, -1), (1e30, 1), (-1e30, -1)])
def test_continuous_actions_beyond_the_bounds_are_clipped(given, used):
    outside, bound = (OceanEnv("cartpole", 3, continuous=True) for _ in range(2))
    outside.reset(seed=4)
    bound.reset(seed=4)
    outside.step(np.full((3, 1), given, np.float32))
    bound.step(np.full((3, 1), used, np.float32))
    assert outside.observations.tobytes() == bound.observations.tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("in_place", [False, True])
def test_actions_that_are_no_numbers_are_refused(value, in_place):
    env = OceanEnv("cartpole", 3, continuous=True)
    before = env.reset(seed=5)[0].copy()
    actions = env.actions if in_place else np.zeros((3, 1), np.float32)
    actions[1] = value
    with pytest.raises(APIUsageError, match="finite; agent 1"):
        env.step(actions)
    assert env.observations.tobytes() == before.tobytes()  # nothing moved
    env.step(np.zeros((3, 1), np.float32))


@pytest.mark.parametrize("continuous", [False, True])
def test_truncation_comes_exactly_at_max_steps(continuous):
    env = OceanEnv("cartpole", 5, continuous=continuous, max_steps=6)
    env.reset(seed=6)
    for episode in range(3):
        for t in range(1, 7):
            push = t % 2  # to and fro: six steps cannot upset the pole
            actions = np.full(env.actions.shape, 2 * push - 1 if continuous else push)
            infos = env.step(actions)[-1]
            assert env.truncations.tolist() == [t == 6] * 5, episode
            assert not env.terminals.any()
        (info,) = infos
        assert info["episode_length"].tolist() == [6] * 5
        assert info["episode_return"].tolist() == [6] * 5
        assert info["score"].tolist() == [6] * 5
        assert info["perf"].tolist() == [1] * 5
        assert (np.abs(env.observations) <= 0.05).all()


def steps_to_end(max_steps):
    env = OceanEnv("cartpole", max_steps=max_steps)
    env.reset(seed=7)
    for t in range(1, 100):
        env.step(np.ones(1, np.int32))
        if env.terminals[0] or env.truncations[0]:
            return t, bool(env.terminals[0]), bool(env.truncations[0])
    raise AssertionError("the pole stands after 100 pushes to one side")


def test_falling_in_the_last_step_is_terminal_not_truncated():
    fall, terminal, truncated = steps_to_end(200)
    assert (terminal, truncated) == (True, False)
    assert steps_to_end(fall) == (fall, True, False)
    assert steps_to_end(fall - 1) == (fall - 1, False, True)


def test_episodes_begin_uniformly_within_0_05():
    env = OceanEnv("cartpole", 10_000)
    first = env.reset(seed=8)[0]
    assert (np.abs(first) <= 0.05).all()
    deviation = 0.1 / np.sqrt(12) / 100  # of the mean of 10,000
    assert (np.abs(first.mean(axis=0)) < 5 * deviation).all()
    correlation = np.corrcoef(first.T) - np.eye(4)
    assert (np.abs(correlation) < 0.05).all()
    quarters = np.stack([np.histogram(column, 4, (-0.05, 0.05))[0] for column in first.T])
    assert (np.abs(quarters - 2500) < 5 * np.sqrt(1875)).all()

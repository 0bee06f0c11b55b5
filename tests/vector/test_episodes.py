"""Episode statistics against sums taken by hand."""

import numpy as np
import pytest

from puffer_core import PufferEnv
from puffer_vector import Serial, make
from puffer_vector.episodes import Episodes


def statistics(infos):
    return [info for info in infos if "episode_return" in info]


def test_against_sums_by_hand(clock):
    vecenv = make(clock, num_envs=3, backend=Serial)
    vecenv.reset()
    rng = np.random.default_rng(0)
    returns, lengths = np.zeros(6), np.zeros(6, int)
    seen = 0
    for t in range(60):
        if t == 31:  # in the middle of episodes: they are forgotten
            assert lengths.any()
            vecenv.reset()
            returns[:], lengths[:] = 0, 0
        _, rewards, terminals, truncations, infos = vecenv.step(rng.integers(5, size=6))
        returns += rewards
        lengths += 1
        ended = np.flatnonzero(terminals | truncations)
        found = statistics(infos)
        assert len(found) == (1 if ended.size else 0)
        if ended.size:
            assert found[0] is infos[-1]
            for name, values, dtype in (
                ("agent_id", ended, np.int64),
                ("episode_return", returns[ended], np.float64),
                ("episode_length", lengths[ended], np.int64),
            ):
                np.testing.assert_array_equal(found[0][name], values)
                assert found[0][name].dtype == dtype
            seen += ended.size
        returns[ended], lengths[ended] = 0, 0
    assert seen > 60


def test_masked_steps_do_not_count():
    episodes = Episodes(2)
    on, off = np.array([True, True]), np.array([True, False])
    ends, none = np.array([True, True]), np.array([False, False])
    ones = np.ones(2, np.float32)
    rows = slice(0, 2)
    assert episodes.update(rows, ones, none, on) is None
    assert episodes.update(rows, ones, none, off) is None
    info = episodes.update(rows, ones, ends, off)  # agent 1 is absent: its flag says nothing
    assert {name: values.tolist() for name, values in info.items()} == {
        "agent_id": [0],
        "episode_return": [3.0],
        "episode_length": [3],
    }
    assert episodes.lengths.tolist() == [0, 1]


@pytest.mark.parametrize("rows", [slice(2, 4), np.array([3, 1])])
def test_batches_are_rows_of_all(rows):
    episodes = Episodes(4)
    ids = np.arange(4)[rows]
    ends = np.array([False, True])
    info = episodes.update(rows, np.array([1, 2], np.float32), ends, np.array([True, True]))
    assert info["agent_id"].tolist() == [ids[1]]
    assert info["episode_return"].tolist() == [2]
    assert episodes.returns[ids[0]] == 1
    assert episodes.returns.sum() == 1


def test_sums_are_float64():
    episodes = Episodes(1)
    on, off = np.array([True]), np.array([False])
    episodes.update(slice(0, 1), np.array([2.0**24], np.float32), off, on)
    info = episodes.update(slice(0, 1), np.array([1], np.float32), on, on)
    assert info["episode_return"][0] == 2**24 + 1  # float32 would say 2**24


def test_environments_that_log_themselves_are_not_counted_again():
    class Logs(PufferEnv):
        logs_episodes = True

        def __init__(self, buf=None, seed=0):
            import gymnasium

            self.single_observation_space = gymnasium.spaces.Box(0, 1, (1,))
            self.single_action_space = gymnasium.spaces.Discrete(2)
            self.num_agents = 3
            super().__init__(buf)

        def reset(self, seed=None):
            return self.observations, []

        def step(self, actions):
            self.terminals[:] = True
            infos = [{"agent_id": np.array([0, 2]), "score": np.array([1.0, 2.0])}, {"other": 1}]
            return self.observations, self.rewards, self.terminals, self.truncations, infos

    vecenv = make(Logs, num_envs=2, backend=Serial)
    vecenv.reset()
    infos = vecenv.step([0] * 6)[4]
    assert [info["agent_id"].tolist() for info in infos if "agent_id" in info] == [[0, 2], [3, 5]]
    assert len(infos) == 4

"""Batches of those that answer first: rollouts whose rows are not all full."""

import numpy as np
import pytest
import torch

from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.cursors import FirstCome
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import Multiprocessing, Serial, make


class Uneven:
    """A vectorizer whose workers answer at different rates: wraps a Serial one.

    Worker w has its own environment; each batch is the pair of waiting workers that a fixed random
    stream picks, so that some run far ahead of others.
    """

    fixed_batches = False

    def __init__(self, workers, seed=0, **kwargs):
        self.workers = [
            make(env_creator("squared"), env_kwargs={"num_envs": 2, **kwargs}, seed=10 * w)
            for w in range(workers)
        ]
        first = self.workers[0]
        for name in ("single_observation_space", "single_action_space", "emulated", "driver_env"):
            setattr(self, name, getattr(first, name))
        self.num_envs, self.num_agents, self.agents_per_batch = workers, 2 * workers, 4
        self.random = np.random.default_rng(seed)

    def async_reset(self, seed):
        for w, worker in enumerate(self.workers):
            worker.async_reset(seed + w)
        self.flying, self.taken = list(range(len(self.workers))), []

    def recv(self):
        assert len(self.flying) >= 2
        # The first worker is rarely chosen while others wait.
        chances = np.array([1.0 if w else 0.05 for w in self.flying])
        chosen = self.random.choice(self.flying, 2, replace=False, p=chances / chances.sum())
        parts = [self.workers[w].recv() for w in chosen]
        for w in chosen:
            self.flying.remove(w)
        self.taken.append(chosen)
        ids = np.concatenate([np.arange(2 * w, 2 * w + 2) for w in chosen])
        self.final_observations = np.concatenate(
            [self.workers[w].final_observations for w in chosen]
        )
        joined = [np.concatenate([part[i] for part in parts]) for i in range(4)]
        infos = [info for part in parts for info in part[4]]
        return (*joined, infos, ids, np.concatenate([part[6] for part in parts]))

    def send(self, actions):
        for w, own in zip(self.taken.pop(0), np.split(np.asarray(actions), 2), strict=True):
            self.workers[w].send(own)
            self.flying.append(w)


def trainer(vecenv, network="mingru", horizon=16, **settings):
    torch.manual_seed(0)
    policy = make_policy(PolicyConfig(network=network, hidden_size=16, num_layers=1), vecenv)
    settings = {"device": "cpu", "prio_alpha": 0, **settings}
    return PuffeRL(TrainConfig(horizon=horizon, **settings), vecenv, policy)


@pytest.mark.parametrize("horizon", [1, 16])
@pytest.mark.parametrize("network", ["mlp", "mingru", "lstm", "gru"])
def test_unchanged_weights_give_the_rollouts_probabilities(network, horizon):
    trained = trainer(Uneven(6, size=3), network, horizon)
    batch = 12 * horizon
    for epoch in range(3):
        trained.evaluate()
        rollout = trained.rollout
        assert trained.global_step == batch * (epoch + 1)
        lengths = rollout.masks.sum(1)
        assert int(lengths.sum()) == batch
        assert rollout.segments > 12 or horizon == 1
        assert lengths[rollout.segments :].sum() == 0
        # As many minibatches as rows need; the first one of them has unchanged weights.
        trained.optimizer.step = lambda: None
        logs = trained.train()
        assert abs(logs["losses/approx_kl"]) < 1e-9
        assert logs["losses/clipfrac"] == 0


def test_every_transition_is_kept_once_and_short_rows_are_cut():
    class Steps(Uneven):
        """Observations count the steps of their agent; rewards are the count after the step."""

        def recv(self):
            obs, _, terminals, _, infos, ids, masks = super().recv()
            if not hasattr(self, "count"):
                self.count = np.full(self.num_agents, -1)
            self.count[ids] += 1
            obs = np.zeros_like(obs)
            obs[:, 0] = ids
            obs[:, 1:3] = np.stack((self.count[ids] // 100, self.count[ids] % 100), 1)
            nothing = np.zeros_like(terminals)
            return obs, self.count[ids].astype(np.float32), nothing, nothing, infos, ids, masks

    vecenv = Steps(6)
    trained = trainer(vecenv, "mlp", 8, reward_clip=0)
    seen = {agent: [] for agent in range(12)}
    for _ in range(4):
        trained.evaluate()
        r = trained.rollout
        for row in range(r.segments):
            length = int(r.masks[row].sum())
            assert r.masks[row, :length].all()
            if not length:
                continue
            agent = int(r.observations[row, 0, 0])
            assert (r.observations[row, :length, 0] == agent).all()
            counts = r.observations[row, :length, 1] * 100.0 + r.observations[row, :length, 2]
            assert r.rewards[row, :length].tolist() == (counts + 1).tolist()
            seen[agent] += counts.tolist()
            # What follows the last transition of a short row is V of the next observation.
            assert bool(r.truncations[row, length - 1]) == (length < 8)
            if length < 8:
                assert r.final_values[row, length - 1] == r.values[row, length]
            assert not r.truncations[row, : length - 1].any()
        trained.train()
    for counts in seen.values():
        assert sorted(counts) == list(range(len(counts)))  # none lost, none twice
    assert sum(map(len, seen.values())) == 4 * 12 * 8


def test_an_agent_has_at_most_two_rows_more_than_full_ones():
    cursor, random = FirstCome(5, 4), np.random.default_rng(0)
    for _ in range(50):
        cursor.begin()
        for _ in range(5 * 4):
            agent = torch.tensor([0 if random.random() < 0.8 else int(random.integers(5))])
            cursor.fresh(agent)
            cursor.place(agent)
        assert cursor.used <= cursor.rows


def test_workers_that_answer_first():
    vecenv = make(
        env_creator("squared"), env_kwargs={"num_envs": 4, "size": 3}, backend=Multiprocessing,
        num_envs=4, num_workers=4, batch_size=2, zero_copy=False,
    )  # fmt: skip
    trained = trainer(vecenv)
    try:
        assert trained.rollout.num_batches == 2
        for epoch in range(2):
            trained.evaluate()
            assert trained.global_step == 4 * 4 * 16 * (epoch + 1)
            logs = trained.train()
            assert np.isfinite(logs["losses/policy_loss"])
            assert logs["losses/clipfrac"] == 0
    finally:
        trained.close()


def test_whole_batches_are_fixed_whatever_zero_copy_says():
    vecenv = make(env_creator("squared"), backend=Serial, num_envs=2)
    assert vecenv.fixed_batches

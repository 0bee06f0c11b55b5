"""Self-play: who plays where, what is learnt from it, ratings, and matches."""

import functools

import numpy as np
import pytest
import torch
from torch import nn
from toy_envs import HigherNumber, Masked

from puffer_core import APIUsageError
from puffer_cuda import elo
from puffer_cuda.config import PolicyConfig, SelfplayConfig, TrainConfig
from puffer_cuda.evaluation import play_match
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_cuda.selfplay import NOBODY, Opponents
from puffer_cuda.teams import away_team, num_environments, scores
from puffer_ocean import env_creator
from puffer_vector import Serial, make


class Always(nn.Module):
    """Plays one number, whatever it sees."""

    def __init__(self, number):
        super().__init__()
        self.logits = nn.Parameter(torch.full((4,), -50.0))
        with torch.no_grad():
            self.logits[number] = 50.0

    def forward(self, observations, state=None):
        return self.logits.expand(len(observations), 4), observations[:, 0]


def vecenv(num_envs=8, length=3):
    return make(functools.partial(HigherNumber, length=length), backend=Serial, num_envs=num_envs)


def test_teams_change_sides_from_one_environment_to_the_next():
    env = vecenv(3)
    assert away_team(env).tolist() == [False, True, True, False, False, True]
    # +1 for agent 0 (home) of environment 0, +1 for agent 2 (away) of environment 1
    ids, returns = np.array([0, 1, 2, 3]), np.array([1.0, -1.0, 1.0, -1.0])
    assert scores(ids, returns, env) == {0: 2.0, 1: -2.0}
    with pytest.raises(APIUsageError, match="even number of agents, got 1"):
        away_team(make(env_creator("squared"), env_kwargs={"num_envs": 4}))
    assert num_environments(make(env_creator("squared"), env_kwargs={"num_envs": 4})) == 4


def test_elo_on_paper():
    assert elo.expected(1200, 1000) == pytest.approx(1 / (1 + 10**-0.5))
    assert elo.update(1000, 1000, 1) == (1008, 992)
    assert elo.update(1000, 1000, 0.5) == (1000, 1000)
    better, worse = elo.update(1400, 1000, 0)
    assert better == pytest.approx(1400 - 16 * 10 / 11)
    assert better + worse == 2400


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(3, 1, "wins"), (0, 2, "losses"), (2, 2, "draws")]
)
def test_a_match_between_two_that_are_known(first, second, expected):
    result = play_match(Always(first), Always(second), vecenv(4), episodes=24)
    assert result == {"wins": 0, "draws": 0, "losses": 0, expected: 12}  # 3 games of 4 pairs


def trainer(tmp_path, num_envs=8, network="mlp", seed=0, **selfplay):
    env = vecenv(num_envs)
    torch.manual_seed(seed)
    policy = make_policy(PolicyConfig(network=network, hidden_size=8, num_layers=1), env)
    settings = {"horizon": 12, "device": "cpu", "prio_alpha": 0, "seed": seed, "optimizer": "adamw"}
    trained = PuffeRL(TrainConfig(**settings, eps=1e-8, ent_coef=0.01), env, policy)
    config = SelfplayConfig(enabled=True, **{"share": 0.5, **selfplay})
    trained.play_against(Opponents(config, env, policy, tmp_path / "pool", seed))
    return trained


def test_a_share_of_environments_plays_against_the_pool(tmp_path):
    trained = trainer(tmp_path)
    opponents = trained.opponents
    trained.evaluate()
    assert trained.rollout.masks.all()  # nobody in the pool yet: all agents learn
    assert trained.global_step == 16 * 12
    trained.train()
    opponents.add(trained.global_step)
    assert (opponents.playing == NOBODY).all()  # games go on as they began
    trained.evaluate()
    # Episodes are 3 steps long and 12 steps end one: from the first end on, four of the eight
    # environments have an opponent, which plays the away team there.
    assert (opponents.playing[:4] == 192).all()
    assert (opponents.playing[4:] == NOBODY).all()
    masks = trained.rollout.masks.numpy()
    away = away_team(trained.vecenv)
    against = np.repeat(np.arange(8) < 4, 2)
    assert masks[:, :3].all()
    assert not masks[against & away, 3:].any()
    assert masks[~(against & away)].all()
    assert trained.global_step == 16 * 12 * 2 - 4 * 9
    logs = trained.train()
    assert abs(logs["losses/approx_kl"]) < 1e-9
    record = opponents.records[192]
    assert record.games == 4 * 3  # three games each since the opponents came
    assert logs["selfplay/opponents"] == 1
    assert logs["selfplay/rating/192"] + logs["selfplay/rating"] == pytest.approx(2 * elo.START)
    points = record.wins + record.draws / 2
    assert logs["selfplay/win_rate/192"] == pytest.approx(points / 12)


def test_the_opponent_is_who_it_was(tmp_path):
    trained = trainer(tmp_path)
    policy = trained.policy
    with torch.no_grad():  # plays 3 for certain, and is taken into the pool like that
        for parameter in policy.decoder.actor.parameters():
            parameter.zero_()
        policy.decoder.actor.bias[3] = 50
    trained.opponents.add(1)
    with torch.no_grad():  # now it plays 0
        policy.decoder.actor.bias.copy_(torch.tensor([50.0, 0, 0, 0]))
    for _ in range(2):
        trained.evaluate()
        trained.rollout.statistics.means()
    record = trained.opponents.records[1]
    assert (record.wins, record.draws) == (0, 0)
    assert record.losses == 4 * 7
    assert trained.opponents.rating < elo.START < record.rating


def test_the_weakest_makes_room_and_the_pool_is_found_again(tmp_path):
    trained = trainer(tmp_path, pool_size=2)
    opponents = trained.opponents
    for step, rating in ((1, 1000.0), (2, 900.0), (3, 1100.0)):
        opponents.rating = rating
        opponents.add(step)
    assert set(opponents.records) == {1, 3}
    files = {path.name for path in (tmp_path / "pool").iterdir()}
    assert files == {"pool.json", f"{1:016d}.safetensors", f"{3:016d}.safetensors"}
    again = trainer(tmp_path, pool_size=2).opponents
    assert {step: record.rating for step, record in again.records.items()} == {1: 1000, 3: 1100}
    assert again.rating == 1100
    assert set(again.playing[:4]) <= {1, 3}
    assert (again.playing[4:] == NOBODY).all()


@pytest.mark.parametrize("network", ["mlp", "mingru"])
def test_resume_is_exact(tmp_path, network):
    def logs(trained, epochs):
        result = []
        for _ in range(epochs):
            trained.evaluate()
            entries = trained.train()
            clocks = ("SPS", "uptime", "performance/")
            result.append({k: v for k, v in entries.items() if not k.startswith(clocks)})
            trained.opponents.add(trained.global_step)
        return result

    class Kept(HigherNumber):
        def get_state(self):
            now = np.array([self.time, self.difference])
            return {"now": now, "observations": self.observations.copy()}

        def set_state(self, state):
            self.time, self.difference = map(int, state["now"])
            self.observations[:] = state["observations"]

    def new(folder, seed=0):
        env = make(functools.partial(Kept, length=5), backend=Serial, num_envs=4)
        torch.manual_seed(seed)
        policy = make_policy(PolicyConfig(network=network, hidden_size=8, num_layers=1), env)
        config = TrainConfig(horizon=7, device="cpu", seed=seed, prio_alpha=0)
        trained = PuffeRL(config, env, policy)
        own = SelfplayConfig(enabled=True, share=0.5)
        trained.play_against(Opponents(own, env, policy, folder, seed))
        return trained

    whole = new(tmp_path / "whole")
    expected = logs(whole, 6)
    first = new(tmp_path / "halves")
    assert logs(first, 3) == expected[:3]
    folder = first.save_checkpoint(tmp_path / "checkpoints")
    second = new(tmp_path / "halves", seed=9)
    assert second.load_checkpoint(folder) == ""
    assert logs(second, 3) == expected[3:]


def test_it_learns_the_best_play(tmp_path):
    trained = trainer(tmp_path, num_envs=32, share=0.25)
    for epoch in range(50):
        trained.evaluate()
        trained.train()
        if epoch % 10 == 0:
            trained.opponents.add(trained.global_step)
    result = play_match(trained.policy, Always(2), vecenv(32), episodes=64)
    assert result["wins"] >= 30  # of 32
    assert trained.opponents.rating > elo.START


def test_masks_reach_the_opponents(tmp_path):
    env = make(functools.partial(Masked, num_agents=2), backend=Serial, num_envs=2)
    policy = make_policy(PolicyConfig(network="mlp", hidden_size=8, num_layers=1), env)
    trained = PuffeRL(TrainConfig(horizon=20, device="cpu"), env, policy)
    opponents = Opponents(SelfplayConfig(share=1), env, policy, tmp_path, 0)
    trained.play_against(opponents)
    opponents.add(1)
    trained.evaluate()
    trained.evaluate()  # Masked asserts that only allowed choices are taken
    assert (opponents.playing == 1).all()

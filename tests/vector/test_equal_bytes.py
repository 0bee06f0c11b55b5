"""Every backend, plan and way to synchronise gives the bytes that Serial gives."""

import functools
import importlib.util
import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv, PettingZooPufferEnv
from puffer_vector import make

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it by name

STEPS = 500


class Nested(gymnasium.Env):
    """Observes noise in a nested space, and ends at random, in both ways."""

    observation_space = spaces.Dict(
        image=spaces.Box(0, 255, (2, 3), np.uint8),
        rest=spaces.Tuple((spaces.Discrete(5, start=2), spaces.Box(-9, 9, (), np.float64))),
        bits=spaces.MultiBinary(3),
    )
    action_space = spaces.Dict(go=spaces.Discrete(3), aim=spaces.MultiDiscrete([2, 4]))

    def observe(self):
        return {
            "image": self.np_random.integers(256, size=(2, 3)).astype(np.uint8),
            "rest": (int(self.np_random.integers(2, 7)), self.np_random.uniform(-9, 9)),
            "bits": self.np_random.integers(2, size=3).astype(np.int8),
        }

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.observe(), {"first": float(self.np_random.random())}

    def step(self, action):
        reward = action["go"] + 0.1 * action["aim"][1] + self.np_random.random()
        ends = self.np_random.random(2) < 0.04
        return self.observe(), reward, bool(ends[0]), bool(ends[1]), {}


class Mortal:
    """A parallel environment of four agents that die at random, each in its own step."""

    metadata = {"name": "mortal"}  # noqa: RUF012
    possible_agents = ["a", "b", "c", "d"]  # noqa: RUF012

    def observation_space(self, agent):
        return spaces.Box(-np.inf, np.inf, (3,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(4)

    def observe(self, agents):
        return {agent: self.random.normal(size=3).astype(np.float32) for agent in agents}

    def reset(self, seed=None, options=None):
        if seed is not None or not hasattr(self, "random"):
            self.random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        return self.observe(self.agents), {}

    def step(self, actions):
        acted = self.agents
        chances = {agent: self.random.random() for agent in acted}
        dead = {agent: chance < 0.05 for agent, chance in chances.items()}
        cut = {agent: chance > 0.97 for agent, chance in chances.items()}
        self.agents = [agent for agent in acted if not (dead[agent] or cut[agent])]
        return self.observe(acted), {a: float(actions[a]) for a in acted}, dead, cut, {}

    def close(self):
        pass


def cartpole(buf=None, seed=0):
    return GymnasiumPufferEnv(gymnasium.make("CartPole-v1"), buf=buf, seed=seed)


def nested(buf=None, seed=0):
    return GymnasiumPufferEnv(Nested(), buf=buf, seed=seed)


def mortal(buf=None, seed=0):
    return PettingZooPufferEnv(Mortal(), buf=buf, seed=seed)


def ocean(name, buf=None, seed=0):
    from puffer_ocean import OceanEnv

    return OceanEnv(name, num_envs=3, buf=buf, seed=seed)


ENVIRONMENTS = {"cartpole": cartpole, "nested": nested, "mortal": mortal}
if importlib.util.find_spec("puffer_ocean"):
    names = ("squared", "cartpole", "breakout")
    ENVIRONMENTS |= {f"ocean {name}": functools.partial(ocean, name) for name in names}

# Backend, workers, environments per worker, workers per batch, zero_copy.
ROWS = [
    ("Multiprocessing", 1, 1, 1, True),
    ("Multiprocessing", 1, 4, 1, True),
    *(
        ("Multiprocessing", workers, each, *how)
        for workers in (2, 4)
        for each in (1, 4)
        for how in ((workers, True), (workers // 2, True), (workers // 2, False))
    ),
]
FAST = [ROWS[1], ROWS[3], ROWS[7], ROWS[8]]  # each number of workers, each way to synchronise
CASES = [pytest.param(*row, marks=() if row in FAST else pytest.mark.slow) for row in ROWS]


def actions_for(vecenv, ids, t):
    """Actions that depend on the agent and the step alone, not on the batch."""
    space = vecenv.single_action_space
    if isinstance(space, spaces.Discrete):
        return (ids * 7 + t * 3 + t // 5) % space.n
    return (ids[:, None] * 7 + t * 3 + np.arange(space.nvec.size)) % space.nvec


def infos_by_agent(infos, agents_per_env):
    """Infos as a sorted list: the order of asynchronous batches is nobody's."""
    listed = []
    for info in infos:
        if isinstance(info.get("agent_id"), np.ndarray):
            columns = {name: column.tolist() for name, column in info.items()}
            listed += [
                (agent, [(name, column[k]) for name, column in columns.items()])
                for k, agent in enumerate(columns["agent_id"])
            ]
        else:
            listed.append((info.env * agents_per_env, [*info.items(), ("began", info.began)]))
    return sorted(listed)


def play(vecenv):
    """Drive a vectorizer through all kinds of reset; what every agent saw in every step."""
    batches = range(vecenv.num_agents // vecenv.agents_per_batch)
    resets = {
        0: {},
        200: {"seed": [3 * k % 7 for k in range(vecenv.num_envs)]},  # equal seeds among them
        350: {},  # goes on
        450: {"seed": 5},
    }
    history, ended = [], 0
    for t in range(STEPS):
        if t in resets:  # what is in flight is dropped
            vecenv.async_reset(**resets[t])
        rows, infos = {}, []
        for _ in batches:
            *arrays, batch_infos, ids, masks = vecenv.recv()
            ends = arrays[2] | arrays[3]
            final = vecenv.final_observations * ends.reshape(-1, *[1] * (arrays[0].ndim - 1))
            for k, agent in enumerate(ids.tolist()):
                rows[agent] = b"".join(a[k].tobytes() for a in (*arrays, masks, final))
            infos += batch_infos
            ended += ends.sum()
        assert sorted(rows) == vecenv.agent_ids.tolist()
        agents_per_env = vecenv.num_agents // vecenv.num_envs
        history.append((sorted(rows.items()), infos_by_agent(infos, agents_per_env)))
        for batch in vecenv._unanswered.copy():
            vecenv.send(actions_for(vecenv, batch.agent_ids, t))
    vecenv.close()
    assert ended > 3
    return history


@functools.cache
def expected(name, num_envs):
    return play(make(ENVIRONMENTS[name], num_envs=num_envs, backend="Serial", seed=11))


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize(("backend", "workers", "each", "per_batch", "zero_copy"), CASES)
def test_equal_bytes(name, backend, workers, each, per_batch, zero_copy):
    vecenv = make(
        ENVIRONMENTS[name], backend=backend, num_envs=workers * each, num_workers=workers,
        batch_size=per_batch * each, zero_copy=zero_copy, seed=11,
    )  # fmt: skip
    got = play(vecenv)
    for t, (mine, serial) in enumerate(zip(got, expected(name, workers * each), strict=True)):
        assert mine == serial, f"step {t}"


def test_another_seed_gives_other_bytes():
    for creator in ENVIRONMENTS.values():
        one, two = (make(creator, backend="Serial", num_envs=2, seed=seed) for seed in (11, 12))
        assert play(one)[:200] != play(two)[:200]

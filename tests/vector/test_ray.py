"""Ray keeps the contract of Multiprocessing, on a cluster of several nodes."""

import sys
import textwrap

import cloudpickle
import gymnasium
import numpy as np
import pytest
import toy_agents
import toy_masks
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv, PettingZooPufferEnv, PufferEnv
from puffer_vector import Serial, make

SLOW = pytest.mark.slow
pytestmark = pytest.mark.usefixtures("cluster", "no_actor_is_left")


class Nested(gymnasium.Env):
    """Random episodes; all observations in one reused dict."""

    observation_space = spaces.Dict(
        seen=spaces.Dict(go=spaces.Discrete(3, start=-1), fire=spaces.MultiBinary([2, 1])),
        clock=spaces.Box(0, np.inf, (), np.float64),
    )
    action_space = observation_space["seen"]

    def __init__(self):
        self.reused = {"clock": 0.0, "seen": {}}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.reused["clock"] = 100 * self.np_random.random()
        self.reused["seen"] = {"go": -1, "fire": np.zeros((2, 1), np.int8)}
        return self.reused, {"began": self.reused["clock"]}

    def step(self, action):
        assert self.action_space.contains(action)
        self.reused["clock"] += self.np_random.random()
        self.reused["seen"] = action
        return self.reused, float(action["go"]), self.np_random.random() < 0.1, False, {}


def nested(buf=None, seed=0):
    return GymnasiumPufferEnv(Nested(), buf=buf, seed=seed)


def dying(buf=None, seed=0):
    lives = {"stays": [(0, 4)], "dies": [(0, 2)], "late": [(2, 4)], "reborn": [(0, 1), (2, 4)]}
    return PettingZooPufferEnv(toy_agents.Scripted(lives), buf=buf, seed=seed)


def gate(buf=None, seed=0):
    return toy_masks.Gate(buf, seed)


def cartpole(buf=None, seed=0):
    return GymnasiumPufferEnv(gymnasium.make("CartPole-v1"), buf=buf, seed=seed)


def ocean(name, buf=None, seed=0):
    from puffer_ocean import OceanEnv

    return OceanEnv(name, num_envs=2, buf=buf, seed=seed)


CREATORS = {
    "cartpole": (cartpole, {}),
    "nested": (nested, {}),
    "dying agents": (dying, {}),
    **{f"ocean {name}": (ocean, {"name": name}) for name in ("squared", "cartpole", "breakout")},
}
HOW = {
    "all": {"num_workers": 2},
    "blocks": {"num_workers": 4, "batch_size": 2},
    "first come": {"num_workers": 4, "batch_size": 2, "zero_copy": False},
}


def history(name, steps, third_seed, **how):
    """What every agent saw in every step, whatever the batches; with resets in the middle."""
    creator, kwargs = CREATORS[name]
    vecenv = make(creator, env_kwargs=kwargs, num_envs=4, seed=3, **how)
    space = vecenv.single_action_space
    high = np.broadcast_to(getattr(space, "nvec", getattr(space, "n", 0)), space.shape)
    batches = vecenv.num_agents // vecenv.agents_per_batch
    seen = {agent: [] for agent in range(vecenv.num_agents)}
    counts = np.zeros(vecenv.num_agents, int)
    ends, infos = 0, []
    for seed in (None, [40, 30, 20, 10], third_seed, 7):
        vecenv.async_reset(seed)
        counts[:] = 0
        # First come, first served: until everybody had enough steps.
        while (counts < steps).any():
            for _ in range(batches):
                *arrays, told, ids, masks = vecenv.recv()
                over = arrays[2] | arrays[3]
                ends += over.sum()
                final = np.where(over[:, None], vecenv.final_observations.reshape(len(ids), -1), 0)
                for k, agent in enumerate(ids):
                    if counts[agent] < steps:
                        row = b"".join(a[k].tobytes() for a in (*arrays, masks, final))
                        seen[agent].append(row)
                each = (ids * 7 + counts[ids] * 3 + counts[ids] // 5).reshape(-1, *[1] * high.ndim)
                counts[ids] += 1
                infos += told
                vecenv.send(each % high)
    assert ends > 10
    vecenv.close()
    plain = [{k: np.asarray(v).tolist() for k, v in info.items()} for info in infos]
    return seen, plain


CASES = [
    pytest.param(name, how, marks=[] if "cartpole" in (name, how) or how == "all" else SLOW)
    for name in CREATORS
    for how in HOW
]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_same_bytes_as_serial(name, how):
    if name.startswith("ocean"):
        pytest.importorskip("puffer_ocean")
    # Who comes first has made more steps, after which only a seed gives the same episodes.
    third_seed = 11 if how == "first come" else None
    expected = history(name, 125, third_seed, backend="Serial")  # four times
    got = history(name, 125, third_seed, backend="Ray", num_cpus=0.5, **HOW[how])
    assert got[0] == expected[0]
    if how == "all":
        assert got[1] == expected[1]


def test_rows_are_writable_contiguous_and_ours(clock):
    vecenv = make(clock, num_envs=4, backend="Ray", num_workers=2)
    assert vecenv.metadata == {"name": "clock", "autoreset_mode": "SAME_STEP"}
    vecenv.reset()
    for array in vecenv.step([0] * 8)[:4]:
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert array.dtype.names is None
    vecenv.close()


class Wide(PufferEnv):
    """Observations that do not fit into an answer and go through the object store."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 255, (400_000,), np.uint8)
        self.single_action_space = spaces.Box(-1, 1, (50_000,), np.float32)
        self.num_agents = 1
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = seed
        return self.observations, []

    def step(self, actions):
        self.observations += 1
        self.rewards[:] = actions.sum()
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_large_observations_and_actions():
    vecenv = make(Wide, num_envs=2, backend="Ray", num_workers=2)
    observations, _ = vecenv.reset(seed=5)
    for step in range(1, 4):
        actions = np.zeros((2, 50_000), np.float32)
        actions[:, 7] = step / 4, -step / 4
        observations, rewards, *_ = vecenv.step(actions)
        assert (observations == [[5 + step], [6 + step]]).all()
        assert rewards.tolist() == [step / 4, -step / 4]
    vecenv.close()


class Paid(Wide):
    def __init__(self, buf=None, seed=0):
        self.pay = 1
        super().__init__(buf)

    def set_params(self, pay):
        if pay > 100:
            raise ValueError(f"{pay} is too much")
        self.pay = pay

    def step(self, actions):
        self.rewards[:] = self.pay
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_set_params():
    vecenv = make(Paid, num_envs=4, backend="Ray", num_workers=2, num_cpus=0.5)
    actions = np.zeros((4, 50_000), np.float32)
    vecenv.reset(seed=0)
    vecenv.set_params([1, 2], pay=5)
    assert vecenv.step(actions)[1].tolist() == [1, 5, 5, 1]
    with pytest.raises(ValueError, match="101 is too much"):
        vecenv.set_params(3, pay=101)
    with pytest.raises(APIUsageError, match=r"environment 3 \(Paid\) has no parameter 'x'"):
        vecenv.set_params(3, x=1)
    vecenv.send(actions)
    with pytest.raises(APIUsageError, match="not between recv and send"):
        vecenv.set_params(3, pay=1)
    assert vecenv.recv()[1].tolist() == [1, 5, 5, 1]
    vecenv.close()


def test_the_state_of_serial_goes_on_in_ray_and_back():
    pytest.importorskip("puffer_ocean")
    chosen = np.random.default_rng(0).integers(0, 2, (40, 8))

    def played(vecenv, steps):
        return [array.tobytes() for actions in steps for array in vecenv.step(actions)[:4]]

    kwargs = {"env_kwargs": {"name": "cartpole"}, "num_envs": 4}
    serial = make(ocean, backend="Serial", seed=1, **kwargs)
    serial.reset()
    played(serial, chosen[:20])
    state = serial.get_state()
    expected = played(serial, chosen[20:])
    vecenv = make(ocean, backend="Ray", seed=2, num_workers=2, num_cpus=0.5, **kwargs)
    vecenv.set_state(state)
    vecenv.recv()
    assert played(vecenv, chosen[20:]) == expected
    serial.set_state(vecenv.get_state())
    serial.recv()
    assert played(serial, chosen) == played(vecenv, chosen)
    vecenv.close()


def test_local_modules_reach_the_actors(tmp_path, monkeypatch):
    (tmp_path / "my_rewards.py").write_text("def reward():\n    return 7.0\n")
    (tmp_path / "my_envs").mkdir()
    (tmp_path / "my_envs" / "__init__.py").write_text("from my_envs.made import Made\n")
    source = """
        import numpy as np
        import my_rewards
        from gymnasium import spaces
        from puffer_core import PufferEnv

        class Made(PufferEnv):
            def __init__(self, buf=None, seed=0):
                self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
                self.single_action_space = spaces.Discrete(2)
                self.num_agents = 1
                super().__init__(buf)

            def reset(self, seed=None):
                return self.observations, []

            def step(self, actions):
                self.rewards[:] = my_rewards.reward()
                return self.observations, self.rewards, self.terminals, self.truncations, []
    """
    (tmp_path / "my_envs" / "made.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_envs

    before = cloudpickle.list_registry_pickle_by_value()
    try:
        vecenv = make(my_envs.Made, num_envs=2, backend="Ray", num_workers=2)
        vecenv.reset()
        assert vecenv.step([0, 0])[1].tolist() == [7.0, 7.0]
        vecenv.close()
        assert cloudpickle.list_registry_pickle_by_value() == before
    finally:
        for name in ("my_envs", "my_envs.made", "my_rewards"):
            del sys.modules[name]


def test_what_cannot_be_pickled_is_an_error_that_says_so(cartpole):
    import threading

    lock = threading.Lock()
    with pytest.raises(APIUsageError, match=r"must be picklable.*lock"):
        make(lambda buf=None, seed=0: (lock, cartpole(buf, seed))[1], backend="Ray")


def test_the_adapter_of_gymnasium(cartpole):
    from puffer_vector.adapters.gymnasium import GymnasiumVectorEnv

    def episodes(backend):
        vecenv = make(cartpole, num_envs=2, backend=backend, seed=1)
        envs = GymnasiumVectorEnv(vecenv, autoreset_mode="DISABLED")
        seen, (observations, _) = [], envs.reset()
        for _ in range(40):
            observations, _, terminations, truncations, _ = envs.step(np.array([1, 1]))
            seen.append(observations.tolist())
            if (over := terminations | truncations).any():
                observations, _ = envs.reset(options={"reset_mask": over})
                seen.append(observations.tolist())
        envs.close()
        return seen

    assert episodes("Ray") == episodes(Serial)


@pytest.mark.parametrize("how", HOW)
def test_action_masks_travel_with_their_rows(how):
    """In step t agent k may not take choice (t + k) % 5; it observes t."""
    vecenv = make(gate, backend="Ray", num_envs=4, num_cpus=0.5, **HOW[how])
    vecenv.async_reset(0)
    for _ in range(12):
        observations, *_, agent_ids, _ = vecenv.recv()
        for row, agent in enumerate(agent_ids):
            t = int(observations[row, 0])
            forbidden = [(t + agent % 2) % 5] if t else []
            assert np.flatnonzero(~vecenv.action_masks[row]).tolist() == forbidden
        vecenv.send(np.zeros((len(agent_ids), 2), int))
    vecenv.close()

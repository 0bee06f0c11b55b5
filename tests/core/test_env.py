"""PufferEnv: what a subclass declares, and which buffers it gets."""

import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, PufferEnv, buffers

GOOD = {
    "single_observation_space": spaces.Box(0, 1, (2,)),
    "single_action_space": spaces.MultiDiscrete([2, 3]),
    "num_agents": 3,
}


class Declared(PufferEnv):
    def __init__(self, buf=None, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)
        super().__init__(buf)


def test_attributes_of_a_good_one():
    env = Declared(**GOOD)
    assert env.observation_space.shape == (3, 2)
    assert env.action_space.shape == (3, 2)
    assert env.agent_ids.tolist() == [0, 1, 2]
    assert env.agent_ids.dtype == np.int64
    assert env.driver_env is env
    assert (env.emulated, env.done, env.logs_episodes) == (False, False, False)
    assert env.actions.dtype == np.int32
    assert env.masks.all()
    env.close()


@pytest.mark.parametrize("name", list(GOOD))
def test_a_missing_attribute_is_named_with_a_hint(name):
    rest = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(APIUsageError, match=rf"{name}.*before super\(\).__init__"):
        Declared(**rest)


@pytest.mark.parametrize("count", [0, -1, 2.0, "2", None])
def test_num_agents_must_be_a_positive_int(count):
    with pytest.raises(APIUsageError, match="num_agents"):
        Declared(**{**GOOD, "num_agents": count})


def test_num_agents_may_be_a_numpy_int():
    env = Declared(**{**GOOD, "num_agents": np.int32(2)})
    assert type(env.num_agents) is int


@pytest.mark.parametrize("name", ["observation_space", "action_space"])
def test_joint_spaces_are_not_the_subclass_to_define(name):
    with pytest.raises(APIUsageError, match=f"single_{name}"):
        Declared(**GOOD, **{name: spaces.Discrete(2)})
    attribute = type("Attribute", (Declared,), {name: spaces.Discrete(2)})
    with pytest.raises(APIUsageError, match=f"single_{name}"):
        attribute(**GOOD)
    prop = type("Property", (Declared,), {name: property(lambda self: None)})
    with pytest.raises(APIUsageError, match=f"single_{name}"):
        prop(**GOOD)


def test_given_buffers_are_adopted_themselves():
    fields = buffers.layout(GOOD["single_observation_space"], GOOD["single_action_space"], 3)
    buf = buffers.allocate(fields)
    env = Declared(buf, **GOOD)
    assert all(getattr(env, name) is buf[name] for name in fields)
    del buf["final_observations"]
    env = Declared(buf, **GOOD)
    assert env.final_observations.shape == (3, 2)
    assert "final_observations" not in buf
    buf["rewards"] = np.zeros(3)
    with pytest.raises(APIUsageError, match="rewards"):
        Declared(buf, **GOOD)


def test_what_is_not_written_says_so():
    env = Declared(**GOOD)
    for call in (env.reset, lambda: env.step(None), env.render):
        with pytest.raises(NotImplementedError, match="Declared"):
            call()

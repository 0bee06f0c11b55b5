"""Seeds, creators, and the plan of workers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puffer_core import PufferEnv
from puffer_vector import Multiprocessing, Native, Serial, make
from puffer_vector.plan import available_cpus, plan_workers


def seeds_of(vecenv):
    return [env.log for env in vecenv._group.envs]


def test_one_seed_gives_every_environment_its_own(clock):
    vecenv = make(clock, num_envs=3, backend=Serial, seed=10)
    assert [env.seed for env in vecenv._group.envs] == [10, 11, 12]
    vecenv.reset()  # that of make
    vecenv.reset()  # goes on
    vecenv.reset(seed=5)
    vecenv.reset(seed=(3, 1, 2))
    assert seeds_of(vecenv) == [[10, None, 5, 3], [11, None, 6, 1], [12, None, 7, 2]]


def test_seeds_do_not_depend_on_workers(clock):
    for workers in (1, 2, 4):
        vecenv = make(clock, num_envs=4, backend=Multiprocessing, num_workers=workers, seed=30)
        obs, _ = vecenv.reset()
        assert obs[::2, 0].tolist() == [30, 31, 32, 33]
        vecenv.close()


def test_the_auto_reset_goes_on_with_the_stream(cartpole):
    vecenv = make(cartpole, num_envs=1, backend=Serial)
    firsts = [vecenv.reset(seed=1)[0].tobytes()]
    for _ in range(100):  # episodes of this action last about 10 steps
        obs, _, terminals, _, _ = vecenv.step([0])
        if terminals[0]:
            firsts.append(obs.tobytes())
    assert len(firsts) == len(set(firsts)) > 5
    again = make(cartpole, num_envs=1, backend=Serial)
    assert again.reset(seed=1)[0].tobytes() == firsts[0]


def test_creators_and_arguments(clock):
    def creator(a, b, buf=None, seed=0):
        env = clock(buf=buf, seed=seed)
        env.told = (a, b)
        return env

    def told(vecenv):
        return [env.told for env in vecenv._group.envs]

    assert told(make(creator, [1], {"b": 2}, num_envs=2, backend="Serial")) == [(1, 2), (1, 2)]
    each = make(
        [creator] * 2, [[1], [2]], [{"b": 3}, {"b": 4}], num_envs=2, backend="Serial", seed=[9, 4]
    )
    assert told(each) == [(1, 3), (2, 4)]
    assert [env.seed for env in each._group.envs] == [9, 4]


@pytest.mark.parametrize("backend", [PufferEnv, Native, "PufferEnv", "Native", "native"])
def test_the_native_backend_builds_once(clock, backend):
    built = []

    def creator(buf=None, seed=0):
        built.append(seed)
        return clock(buf=buf, seed=seed)

    vecenv = make(creator, backend=backend, seed=4)
    obs, infos = vecenv.reset()
    assert built == [4]
    assert infos == [{"reset": 4}]
    assert obs is vecenv.driver_env.observations
    assert vecenv.num_envs == 1
    assert vecenv.agents_per_batch == vecenv.num_agents == 2


@given(num_envs=st.integers(1, 48), data=st.data())
def test_the_plan_always_divides(num_envs, data):
    divisors = [n for n in range(1, num_envs + 1) if num_envs % n == 0]
    batch_size = data.draw(st.sampled_from([None, *divisors]))
    workers, batch = plan_workers(num_envs, None, batch_size, True)
    assert batch == (batch_size or num_envs)
    each, rest = divmod(num_envs, workers)
    assert rest == 0
    assert batch % each == 0
    assert num_envs % batch == 0
    # As many as there are CPUs for, unless batches of whole workers need more.
    more = [n for n in divisors if workers < n <= available_cpus() and batch % (num_envs // n) == 0]
    assert not more
    assert plan_workers(num_envs, workers, batch_size, True) == (workers, batch)

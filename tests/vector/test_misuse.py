"""Misuse is an error that says what to do, and leaves the vectorizer usable."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv
from puffer_vector import Multiprocessing, Native, Serial, make


def native(observation=None, action=None, agents=2, **attributes):
    class Env(PufferEnv):
        def __init__(self, buf=None, seed=0):
            self.single_observation_space = observation or spaces.Box(0, 1, (1,))
            self.single_action_space = action or spaces.Discrete(3)
            self.num_agents = agents
            super().__init__(buf)
            self.seen = []

        def reset(self, seed=None):
            return self.observations, []

        def step(self, actions):
            self.seen.append(actions.copy())
            return self.observations, self.rewards, self.terminals, self.truncations, []

    for name, value in attributes.items():
        setattr(Env, name, value)
    return Env


@pytest.mark.parametrize("backend", [Serial, Multiprocessing, Native])
def test_order_of_calls(backend, clock):
    vecenv = make(clock, num_envs=1, backend=backend)
    for call, words in (
        (vecenv.recv, r"recv: .*reset\(\) or async_reset\(\) first"),
        (lambda: vecenv.send([0, 0]), r"send: .*recv\(\) or reset\(\) first"),
        (lambda: vecenv.step([0, 0]), r"send: .*recv\(\) or reset\(\) first"),
    ):
        with pytest.raises(APIUsageError, match=words):
            call()
    vecenv.async_reset()
    with pytest.raises(APIUsageError, match="send: no batch waits"):
        vecenv.send([0, 0])
    vecenv.recv()
    with pytest.raises(APIUsageError, match=r"recv: .*send\(actions\) first"):
        vecenv.recv()
    vecenv.send([1, 1])
    assert vecenv.recv()[1].tolist() == [1, 2]
    vecenv.close()


@pytest.mark.parametrize(
    ("space", "good", "received", "bad"),
    [
        (
            spaces.Discrete(3),
            [[0, 2], np.array([0, 2]), np.array([[0], [2]], np.uint8), (0, 2)],
            ([0, 2], np.int32),
            [
                ([0.0, 1.0], r"integers of shape \(2,\), got dtype float64 and shape \(2,\)"),
                ([0], r"got dtype int64 and shape \(1,\)"),
                ([[0, 1]], r"shape \(1, 2\)"),
                ([0, 3], "row 1 of the batch is 3, expected 0 to 2"),
                ([-1, 0], "row 0 of the batch is -1, expected 0 to 2"),
                ([0, 2**32], "row 1"),
                ([[0], [1, 2]], "cannot be read as an array"),
                (None, "dtype object"),
            ],
        ),
        (
            spaces.MultiDiscrete([2, 4]),
            [[[0, 3], [1, 0]]],
            ([[0, 3], [1, 0]], np.int32),
            [
                ([0, 3], r"shape \(2, 2\)"),
                ([[0, 3], [2, 0]], r"row 1 of the batch is \[2 0\], expected 0 to \[1 3\]"),
                ([[0, 3], [0, -1]], "row 1"),
            ],
        ),
        (
            spaces.Box(-1, 1, (1,), np.float32),
            [[[-7.0], [0.5]], np.array([[-1], [0.5]], np.float32)],
            ([[-1], [0.5]], np.float32),
            [
                ([-1, 0.5], r"numbers of shape \(2, 1\)"),
                ([[0.0], [np.nan]], r"row 1 of the batch is \[nan\], expected a finite number"),
                ([[np.inf], [0]], r"row 0 .*finite"),
                ([["a"], ["b"]], "dtype <U1"),
            ],
        ),
        (
            spaces.Box(-5, 5, (1,), np.int8),
            [[[300], [2]]],
            ([[5], [2]], np.int8),
            [([[1.0], [2.0]], "integers")],
        ),
    ],
)
def test_actions_of_every_kind(space, good, received, bad):
    vecenv = make(native(action=space))
    vecenv.reset()
    for actions, words in bad:
        with pytest.raises(APIUsageError, match=words):
            vecenv.send(actions)
    for actions in good:
        vecenv.step(actions)
    assert len(vecenv.driver_env.seen) == len(good)  # the bad ones never arrived
    for seen in vecenv.driver_env.seen:
        assert seen.tolist() == received[0]
        assert seen.dtype == received[1]


class Tensor:
    """What the vectorizer knows of a torch tensor."""

    def __init__(self, values, works=True):
        self.values, self.works = values, works

    def __array__(self, dtype=None, copy=None):
        if not self.works:
            raise TypeError("can't convert cuda tensor: use Tensor.cpu()")
        return np.asarray(self.values, dtype)


def test_tensors_are_read_through_array():
    vecenv = make(native())
    vecenv.reset()
    vecenv.step(Tensor([2, 1]))
    assert vecenv.driver_env.seen[0].tolist() == [2, 1]
    with pytest.raises(APIUsageError, match=r"use Tensor.cpu"):
        vecenv.send(Tensor([2, 1], works=False))


def test_raw_gymnasium_environments_are_refused_with_the_way_to_wrap_them():
    raw = [
        lambda: gymnasium.make("CartPole-v1"),
        lambda buf=None, seed=0: gymnasium.make("CartPole-v1"),
        lambda **kwargs: gymnasium.make("CartPole-v1", **kwargs),
    ]
    for creator in raw:
        for backend in (Native, Serial, Multiprocessing):
            with pytest.raises(APIUsageError, match=r"GymnasiumPufferEnv\(env_creator="):
                make(creator, backend=backend)


@pytest.mark.parametrize(
    ("creator", "words"),
    [
        (lambda buf=None: None, r"creator\(\*args, buf=None, seed=0"),
        (lambda seed=0: None, r"creator\(\*args, buf=None, seed=0"),
        (lambda a, buf=None, seed=0: None, "missing a required argument: 'a'"),
        (lambda buf=None, seed=0: 3, "must return a PufferEnv, got 3"),
        (3, "must be callable"),
        ([lambda: 0], "creators must be a list of num_envs = 2"),
    ],
)
def test_creators_that_do_not_fit(creator, words):
    with pytest.raises(APIUsageError, match=words):
        make(creator, backend=Serial, num_envs=2)


def test_errors_inside_a_constructor_pass_through():
    def creator(buf=None, seed=0):
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        make(creator, backend=Serial)


def test_an_environment_off_its_buffers_is_found():
    def ignores(buf=None, seed=0):
        return native()(None)

    with pytest.raises(APIUsageError, match="observations is not the buffer"):
        make(ignores, backend=Serial)
    for name in ("observations", "rewards", "terminals", "truncations", "masks"):

        def rebinds(self, actions, name=name):
            setattr(self, name, getattr(self, name).copy())
            return self.observations, self.rewards, self.terminals, self.truncations, []

        vecenv = make(native(step=rebinds), backend=Serial)
        vecenv.reset()
        with pytest.raises(APIUsageError, match=f"{name} is not the buffer.*in place"):
            vecenv.step([0, 0])


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (native(agents=3), "num_agents"),
        (native(observation=spaces.Box(0, 2, (1,))), "single_observation_space"),
        (native(action=spaces.Discrete(4)), "single_action_space"),
        (native(logs_episodes=True), "logs_episodes"),
    ],
)
def test_environments_must_agree(other, name):
    with pytest.raises(APIUsageError):
        make([native(), other], backend=Serial, num_envs=2)


def test_environments_return_what_they_must():
    bad = [
        ({"reset": lambda self, seed=None: self.observations}, "reset must return"),
        ({"reset": lambda self, seed=None: (self.observations, 3)}, "infos must be a list"),
    ]
    for attributes, words in bad:
        with pytest.raises(APIUsageError, match=words):
            make(native(**attributes)).reset()
    vecenv = make(native(step=lambda self, actions: (1, 2, 3, 4)))
    vecenv.reset()
    with pytest.raises(APIUsageError, match="step must return"):
        vecenv.step([0, 0])


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"num_envs": 0}, "num_envs must be at least 1"),
        ({"num_envs": 1.0}, "num_envs must be an int"),
        ({"num_envs": 2}, "native backend runs one environment"),
        ({"backend": "Multiprocesing"}, "did you mean 'Multiprocessing'"),
        ({"backend": "serial"}, "did you mean 'Serial'"),
        ({"backend": "np"}, "no backend 'np'"),
        ({"backend": int}, "backend must be"),
        ({"backend": Serial, "num_workers": 2}, "Serial takes no num_workers"),
        ({"backend": Serial, "batch_size": 2}, "Serial takes no batch_size"),
        ({"num_workers": 2}, "Native takes no num_workers"),
        ({"backend": Multiprocessing, "num_worker": 2}, "did you mean num_workers"),
        ({"numenvs": 2}, "did you mean num_envs"),
        ({"sync_traj": True}, "no keyword sync_traj"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "0"}, "seed must be"),
        ({"seed": None}, "seed must be"),
        ({"seed": [1, 2]}, "num_envs = 1"),
        ({"env_args": 3}, "env_args must be a list"),
        ({"env_kwargs": [1]}, "env_kwargs must be a dict"),
        ({"env_kwargs": {"nope": 1}}, "unexpected keyword argument 'nope'"),
        ({"backend": Multiprocessing, "context": "thread"}, "context must be one of"),
        ({"backend": Multiprocessing, "timeout": 0}, "timeout must be"),
        ({"backend": Multiprocessing, "num_workers": "auto"}, "num_workers must be an int"),
        ({"backend": Multiprocessing, "num_envs": 6, "num_workers": 4}, "use 3 or 6"),
        ({"backend": Multiprocessing, "num_envs": 6, "num_workers": 9}, "use 6"),
        ({"backend": Multiprocessing, "num_envs": 6, "batch_size": 4}, "use 3 or 6, or zero_copy"),
        ({"backend": Multiprocessing, "num_envs": 6, "batch_size": 8}, r"use 6\."),
        (
            {"backend": Multiprocessing, "num_envs": 6, "batch_size": 2, "num_workers": 2},
            "multiple of the 3 environments of a worker.*batch_size=3, or num_workers=3",
        ),
        (
            {"backend": Multiprocessing, "num_envs": 4, "num_workers": 2, "batch_size": 3,
             "zero_copy": False},
            "multiple of the 2",
        ),
    ],
)  # fmt: skip
def test_arguments_of_make(kwargs, words, clock):
    with pytest.raises(APIUsageError, match=words):
        make(clock, **kwargs)


def test_the_native_backend_refuses_wrappers(cartpole):
    with pytest.raises(APIUsageError, match=r"GymnasiumPufferEnv: use backend=Serial"):
        make(cartpole)


def test_creators_that_cannot_travel_are_refused(cartpole):
    import threading

    lock = threading.Lock()

    def creator(buf=None, seed=0):
        lock.acquire(blocking=False)
        return cartpole(buf=buf, seed=seed)

    with pytest.raises(APIUsageError, match="picklable"):
        make(creator, backend=Multiprocessing)


def test_spaces_of_a_wrapper_reach_the_vectorizer(cartpole):
    vecenv = make(cartpole, num_envs=2, backend=Serial)
    env = vecenv.driver_env
    assert isinstance(env, GymnasiumPufferEnv)
    assert vecenv.emulated
    assert vecenv.single_observation_space == env.single_observation_space
    assert vecenv.single_action_space == spaces.Discrete(2)
    assert vecenv.action_space == spaces.MultiDiscrete([2, 2])
    assert vecenv.metadata["render_fps"] == 50
    assert vecenv.metadata["autoreset_mode"] == "SAME_STEP"
    assert "autoreset_mode" not in env.env.metadata or gymnasium.__version__ >= "1"

"""Every public name of PufferLib 3.0 is there, or says what is instead."""

import importlib
import time

import pytest

import pufferlib
from puffer_core import APIUsageError
from pufferlib import pufferl
from pufferlib._gone import GONE

# Section by section, as its users import them.
NAMES = {
    "pufferlib": """PufferEnv set_buffers ResizeObservation ClipAction EpisodeStats
        PettingZooWrapper MeanOverAgents MultiagentEpisodeStats GymToGymnasium
        PettingZooTruncatedWrapper APIUsageError InvalidAgentError EnvironmentSetupError
        unroll_nested_dict silence_warnings Suppress ENV_ERROR __version__ environments""",
    "pufferlib.spaces": "Box Dict Discrete MultiBinary MultiDiscrete Tuple joint_space",
    "pufferlib.emulation": """GymnasiumPufferEnv PettingZooPufferEnv GymnaxPufferEnv emulate
        nativize make_buffer get_dtype_bounds dtype_from_space flatten_space
        emulate_observation_space emulate_action_space pad_agent_data make_object check_space""",
    "pufferlib.vector": """make Serial Multiprocessing PufferEnv reset step recv_precheck
        send_precheck make_seeds check_envs autotune RESET STEP SEND RECV CLOSE MAIN INFO""",
    "pufferlib.pytorch": """numpy_to_torch_dtype_dict NativeDType nativize_dtype nativize_tensor
        nativize_observation flattened_tensor_size compilable_cast round_to layer_init log_prob
        entropy entropy_probs sample_logits""",
    "pufferlib.models": """Default LSTMWrapper Convolutional ProcgenResnet ResidualBlock
        ConvSequence""",
    "pufferlib.pufferl": """PuffeRL train eval sweep profile export autotune load_env load_policy
        load_config main compute_puff_advantage Profile Utilization NoLogger NeptuneLogger
        WandbLogger downsample abbreviate duration fmt_perf dist_sum dist_mean ADVANTAGE_CUDA
        load_config_file make_parser process_config stop_if_loss_nan""",
    "pufferlib.sweep": """Space Linear Pow2 Log Logit Hyperparameters pareto_points Random
        ParetoGenetic Protein Carbs create_gp""",
    "pufferlib.ocean": """env_creator MAKE_FUNCTIONS lazy_import make_squared make_bandit Policy
        Recurrent torch sanity""",
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module in NAMES for name in NAMES[module].split()]
)
def test_a_name_is_there_or_says_what_is_instead(module, name):
    holder = importlib.import_module(module)
    if name in GONE.get(module, {}):
        with pytest.raises(APIUsageError, match=f"{module}.{name} .* instead: .*migrating.md"):
            getattr(holder, name)
    else:
        assert getattr(holder, name) is not None


def test_a_name_that_never_was_is_an_attribute_error():
    for module in NAMES:
        assert not hasattr(importlib.import_module(module), "no_such_name")
    with pytest.raises(ImportError):
        exec("from pufferlib import no_such_name")


@pytest.mark.parametrize(
    ("count", "expected"),
    [(3, [0, 1, 2]), (4, [0, 1, 2, 3]), (5, [1, 2, 3, 4]), (6, [2, 3, 4, 5]), (10, [1, 4, 7, 9])],
)
def test_downsampling_in_four_points(count, expected):
    assert pufferl.downsample(list(range(count)), 4) == expected


def test_downsampling_to_nothing_keeps_the_last():
    assert pufferl.downsample([], 4) == []
    assert pufferl.downsample([3, 5], 0) == [5]
    assert pufferl.downsample([3, 5], 1) == [5]


def test_utilization_measures_until_it_is_stopped():
    watch = pufferl.Utilization(delay=0.01, maxlen=3)
    deadline = time.monotonic() + 10
    while len(watch.cpu_mem) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    watch.stop()
    watch.join(5)
    assert not watch.is_alive()
    assert 0 < watch.cpu_mem[-1] <= 100
    assert 0 <= watch.cpu_util[-1] <= 100
    assert len(watch.gpu_mem) == 3


def test_loggers_ask_for_acknowledgement():
    args = pufferl.load_config("squared")
    for logger in (pufferl.WandbLogger, pufferl.NeptuneLogger):
        with pytest.raises(APIUsageError, match="Nothing is sent without"):
            logger(args)


def test_a_file_of_settings(tmp_path):
    path = tmp_path / "own.ini"
    path.write_text("[base]\nenv_name = squared\n[train]\nlearning_rate = 0.5\n[env]\nsize = 3\n")
    args = pufferl.load_config_file(path)
    assert args["train"]["learning_rate"] == 0.5
    assert (args["env"]["size"], args["train"]["gamma"]) == (3, 0.995)
    alone = pufferl.load_config_file(path, fill_in_default=False)
    assert alone == {"train": {"learning_rate": 0.5}, "env": {"size": 3}}
    with pytest.raises(APIUsageError, match="cannot read"):
        pufferl.load_config_file(tmp_path / "none.ini")


def test_the_commands_are_functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = pufferl.load_config("squared")
    args["env"]["num_envs"], args["policy"]["hidden_size"] = 32, 8
    args["train"]["total_timesteps"], args["train"]["threads"] = 4096, 1
    assert set(pufferl.profile(args, "squared", epochs=1)["backends"]) == {"native", "torch"}
    pufferl.train("squared", args)
    assert pufferl.export(args, "squared")["file"] == "squared.c"
    tuning = pufferl.autotune(args, "squared", seconds=1, num_envs=2)
    assert tuning.best.steps_per_second > 0
    with pytest.raises(APIUsageError, match="env_name is missing"):
        pufferl.profile()


def test_a_sweep_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = pufferl.load_config("squared")
    args["env"]["num_envs"], args["policy"]["hidden_size"] = 32, 8
    args["train"]["total_timesteps"], args["train"]["threads"] = 4096, 1
    args["sweep"] = {"max_runs": 2, "only": "train.learning_rate"}
    document = pufferl.sweep(args, "squared")
    assert document["states"] == {"done": 2}


def test_version():
    assert pufferlib.__version__.count(".") == 2

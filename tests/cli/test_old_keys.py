"""Configuration files of PufferLib: whole ones of 3.0 and 4.0, and what must not pass."""

import subprocess
import sys
import warnings

import pytest

from puffer_cli.config import COMMAND_LINE, SECTIONS, all_keys, load_config
from puffer_cli.main import main
from puffer_cli.old_keys import GONE, RENAMED, SPELLED, OldKeys
from puffer_cli.sweep.settings import SweepConfig, read_sweep
from puffer_cli.vectorize import plan_vec
from puffer_core import APIUsageError

OLD_3 = """
[base]
package = ocean
env_name = puffer_squared puffer_pysquared
policy_name = Policy
rnn_name = Recurrent
[vec]
backend = Multiprocessing
num_envs = 2
num_workers = auto
batch_size = auto
zero_copy = True
seed = 42
[env]
num_envs = 64
[rnn]
input_size = 128
hidden_size = 128
[train]
name = pufferai
project = ablations
seed = 7
torch_deterministic = True
cpu_offload = False
device = cpu
optimizer = adam
anneal_lr = True
precision = float32
total_timesteps = 90_000_000
learning_rate = 0.015
gamma = 0.995
gae_lambda = 0.90
update_epochs = 2
clip_coef = 0.2
vf_coef = 2.0
vf_clip_coef = 0.2
max_grad_norm = 1.5
ent_coef = 0.001
adam_beta1 = 0.9
adam_beta2 = 0.99
adam_eps = 1e-8
data_dir = experiments
checkpoint_interval = 100
batch_size = auto
minibatch_size = auto
max_minibatch_size = 32768
bptt_horizon = 16
compile = False
compile_mode = max-autotune-no-cudagraphs
compile_fullgraph = True
vtrace_rho_clip = 0.5
vtrace_c_clip = 3
prio_alpha = 0.8
prio_beta0 = 0.2
[sweep]
method = Protein
metric = score
goal = maximize
downsample = 10
[sweep.train.adam_eps]
distribution = log_normal
min = 1e-14
mean = 1e-8
max = 1e-4
scale = auto
[sweep.train.batch_size]
distribution = uniform_pow2
min = 65536
mean = 131072
max = 262144
scale = auto
"""
EXPECTED_3 = {
    "policy.network": "lstm",
    "vec.backend": "auto",  # threads
    "vec.num_envs": 2,
    "env.num_envs": 64,
    "train.seed": 7,
    "train.optimizer": "adamw",
    "train.total_timesteps": 90_000_000,
    "train.replay_ratio": 2,
    "train.beta1": 0.9,
    "train.beta2": 0.99,
    "train.eps": 1e-8,
    "run_dir": "experiments",
    "train.checkpoint_interval": 100,
    "train.minibatch_size": 0,
    "train.max_minibatch_size": 32768,
    "train.horizon": 16,
    "train.compile": "off",
    "train.rho_clip": 0.5,
    "train.c_clip": 3,
}

OLD_4 = """
[base]
env_name = squared
rank = 0
world_size = 1
gpu_id = 0
profile = False
checkpoint_dir = checkpoints
log_dir = logs
checkpoint_interval = 200
eval_episodes = 10000
cudagraphs = 10
seed = 73
reset_state = True
[vec]
total_agents = 4096
num_buffers = 2
num_threads = 16
[policy]
hidden_size = 64
num_layers = 4
expansion_factor = 1
[torch]
network = MinGRU
encoder = DefaultEncoder
decoder = DefaultDecoder
[train]
gpus = 1
min_lr_ratio = 0.5
beta1 = 0.9
eps = 1e-12
horizon = 32
anneal_ent_coef = 1
min_ent_coef_ratio = 0.2
[selfplay]
enabled = 0
max_size = 8
opp_timeout = 5e8
[sweep]
max_suggestion_cost = 60
max_runs = 9
gpus = 2
sweep_only = train.gamma, vec.total_agents
[sweep.vec.total_agents]
distribution = uniform_pow2
min = 1024
max = 8192
scale = auto
"""
EXPECTED_4 = {
    "run_dir": "checkpoints",
    "train.checkpoint_interval": 200,
    "eval.episodes": 10_000,
    "train.seed": 73,
    "vec.total_agents": 4096,
    "vec.num_buffers": 2,
    "vec.num_threads": 16,
    "policy.hidden_size": 64,
    "policy.num_layers": 4,
    "policy.network": "mingru",
    "policy.encoder": "auto",
    "train.min_lr_ratio": 0.5,
    "train.beta1": 0.9,
    "train.anneal_ent": True,
    "train.min_ent_ratio": 0.2,
    "selfplay.enabled": False,
    "selfplay.pool_size": 8,
}


def write(tmp_path, text):
    path = tmp_path / "old.ini"
    path.write_text(text)
    return path


def load(path, env="squared"):
    """The configuration, and what the warning said of each key."""
    with pytest.warns(OldKeys) as caught:
        config = load_config(env, file=path)
    (warning,) = caught
    first, *notes = str(warning.message).splitlines()
    assert first == f"{path} has keys of PufferLib"
    return config, [note.strip() for note in notes]


@pytest.mark.parametrize(("text", "expected"), [(OLD_3, EXPECTED_3), (OLD_4, EXPECTED_4)])
def test_whole_files_are_read(tmp_path, text, expected):
    path = write(tmp_path, text)
    config, _ = load(path)
    flat = config.flat()
    assert {key: flat[key]["value"] for key in expected} == expected
    given = {key for key, entry in flat.items() if entry["origin"] == str(path)}
    assert given >= set(expected) - {"vec.backend"}
    assert config.origins["vec.backend"] == "default"


def test_every_key_that_changed_is_named(tmp_path):
    _, notes = load(write(tmp_path, OLD_3))
    renamed = {note for note in notes if note.endswith(" here")}
    assert renamed == {
        "rnn_name is policy.network here",
        "train.update_epochs is train.replay_ratio here",
        "train.adam_beta1 is train.beta1 here",
        "train.adam_beta2 is train.beta2 here",
        "train.adam_eps is train.eps here",
        "train.data_dir is run_dir here",
        "train.bptt_horizon is train.horizon here",
        "train.vtrace_rho_clip is train.rho_clip here",
        "train.vtrace_c_clip is train.c_clip here",
        "sweep.train.adam_eps is sweep.train.eps here",
    }
    gone = {note.partition(" has no meaning here: ")[0] for note in notes} - renamed
    assert gone == {
        *("package", "policy_name", "vec.seed", "rnn.input_size", "rnn.hidden_size"),
        *("train.name", "train.project", "train.torch_deterministic", "train.cpu_offload"),
        *("train.batch_size", "train.compile_mode", "train.compile_fullgraph"),
        "sweep.train.batch_size",
        "vec.backend, vec.num_workers, vec.batch_size, vec.zero_copy left out: threads step C "
        "environments",
    }


def test_the_search_of_an_old_file(tmp_path):
    with pytest.warns(OldKeys):
        sweep = read_sweep("squared", {}, write(tmp_path, OLD_4), COMMAND_LINE)
    assert sweep.settings.max_runs == 9
    assert sweep.settings.max_trial_cost == 60
    assert list(sweep.space.names) == ["train.gamma", "vec.total_agents"]
    assert sweep.space.decode([0, 0])["vec.total_agents"] == 1024
    assert sweep.space.decode([1, 1])["vec.total_agents"] == 8192


def test_parameters_of_an_old_search(tmp_path):
    with pytest.warns(OldKeys):
        sweep = read_sweep("squared", {}, write(tmp_path, OLD_3), COMMAND_LINE)
    assert "train.eps" in sweep.space.names
    assert not {"train.adam_eps", "train.batch_size"} & set(sweep.space.names)
    low, high = (sweep.space.decode([end] * len(sweep.space.names)) for end in (0, 1))
    assert low["train.eps"] == pytest.approx(1e-14)
    assert high["train.eps"] == pytest.approx(1e-4)


def test_total_agents_count_the_agents_of_an_environment(tmp_path):
    text = "[vec]\ntotal_agents = 4096\n[env]\nnum_agents = 8\n"
    plan = plan_vec(load_config("target", file=write(tmp_path, text)))
    assert plan.env_kwargs["num_envs"] == 512
    assert plan.num_agents == 4096


def test_processes_stay_for_environments_in_python(tmp_path):
    text = "[vec]\nbackend = Multiprocessing\nnum_envs = 4\nnum_workers = 2\nseed = 1\n"
    config, _ = load(write(tmp_path, text), "gymnasium/CartPole-v1")
    assert config.vec.backend == "multiprocessing"
    assert config.vec.num_workers == 2


def test_our_own_name_wins_over_the_old_one(tmp_path):
    text = "[train]\nbptt_horizon = 8\nhorizon = 32\n"
    config, notes = load(write(tmp_path, text))
    assert config.train.horizon == 32
    assert notes == ["train.bptt_horizon is left out: train.horizon stands there too"]


def test_a_file_of_another_environment_is_said(tmp_path):
    _, notes = load(write(tmp_path, "[base]\nenv_name = puffer_breakout\n"))
    assert notes == ["env_name: the file is for puffer_breakout, not for squared"]


def test_files_without_old_keys_say_nothing(tmp_path):
    path = write(tmp_path, "[base]\nenv_name = squared\n[train]\nhorizon = 8\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_config("squared", file=path).train.horizon == 8


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[torch]\nencoder = MyEncoder", "policy.encoder: expected"),
        ("[base]\nrnn_name = MOBA", "policy.network: expected"),
        ("[train]\nadam_beta1 = 2", "train.beta1: expected"),
        ("[train]\nvtrace_rho_clp = 2", "did you mean 'train.rho_clip'?"),
        ("[vec]\nbackend = Ray", "vec.backend: expected"),
    ],
)
def test_what_cannot_be_translated_is_refused(tmp_path, line, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldKeys)
        with pytest.raises(APIUsageError, match=message) as error:
            load_config("squared", file=write(tmp_path, line + "\n"))
    assert "old.ini" in str(error.value)


@pytest.mark.parametrize("key", ["train.bptt_horizon", "train.data_dir", "train.compile_mode"])
def test_the_command_line_has_our_names_alone(capsys, key):
    assert main(["config", "squared", f"--{key}=64"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"puffer: error: {key} (command line) " in err
    assert RENAMED.get(key, GONE.get(key)) in err


def test_the_tables_are_right():
    ours = {*all_keys(), "env.num_envs", *(f"sweep.{key}" for key in SweepConfig.model_fields)}
    assert set(RENAMED.values()) <= ours
    assert not (set(RENAMED) | set(GONE)) & ours
    assert not set(RENAMED) & set(GONE)
    for key, spellings in SPELLED.items():
        section, _, name = key.partition(".")
        model = SweepConfig if section == "sweep" else SECTIONS[section]
        for value in spellings.values():
            model(**{name: value})


def test_the_command_says_it_on_stderr(tmp_path):
    path = write(tmp_path, OLD_4)
    line = [sys.executable, "-m", "puffer_cli.main", "config", "squared", "--config", str(path)]
    result = subprocess.run([*line, "--json"], capture_output=True, text=True, check=True)
    first, *notes = result.stderr.splitlines()
    assert first == f"puffer: {path} has keys of PufferLib"
    assert "  gpu_id has no meaning here: train.device = cuda:N" in notes
    assert all(note.startswith("  ") for note in notes)
    assert result.stdout.startswith("{")

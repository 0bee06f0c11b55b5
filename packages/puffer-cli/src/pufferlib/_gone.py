"""Names of PufferLib 3.0 that are no more, and what to use instead."""

from __future__ import annotations

from typing import NoReturn

from puffer_core.errors import APIUsageError

NOTHING = "nothing: it was internal"
OWN_PREPROCESSING = "wrap the environment in Gymnasium's own wrappers first"

GONE: dict[str, dict[str, str]] = {
    "pufferlib": {
        "ENV_ERROR": "the messages of APIUsageError",
        "EnvironmentSetupError": "APIUsageError, which names the missing extra",
        "Suppress": "contextlib.redirect_stdout and redirect_stderr",
        "set_buffers": "PufferEnv.__init__(buf), which adopts and checks buffers",
        "silence_warnings": "warnings.catch_warnings",
        "unroll_nested_dict": "puffer_cli.config.flatten",
    },
    "pufferlib.emulation": {
        "GymnaxPufferEnv": "a PufferEnv of your own that calls the JAX environment",
        "check_space": "space.contains; values are checked when they are copied",
        "flatten_space": "puffer_core.layout.Layout(space).leaves()",
        "get_dtype_bounds": "numpy.iinfo and numpy.finfo",
        "make_buffer": "numpy.zeros with the dtype of dtype_from_space",
        "make_object": "functools.partial",
        "pad_agent_data": "PettingZooPufferEnv, whose rows are fixed",
    },
    "pufferlib.vector": {
        "check_envs": "make, which compares the spaces of all environments",
        "make_seeds": "make(seed=N): environment i gets N + i",
        "recv_precheck": "recv, which checks the order of calls",
        "send_precheck": "send, which checks order, shape and dtype",
        **dict.fromkeys(("RESET", "STEP", "SEND", "RECV", "CLOSE", "MAIN", "INFO"), NOTHING),
    },
    "pufferlib.pytorch": {
        "compilable_cast": "nativize_tensor, which torch.compile takes",
        "entropy": "sample_logits, whose third result it is",
        "entropy_probs": "sample_logits, whose third result it is",
        "log_prob": "sample_logits(logits, action), whose second result it is",
        "nativize_observation": "nativize_tensor(observation, nativize_dtype(env.emulated))",
        "round_to": "-(-x // base) * base",
    },
    "pufferlib.models": {
        "ConvSequence": "models.Impala",
        "Convolutional": "models.Nature, or [policy] encoder = nature",
        "ProcgenResnet": "models.Impala, or [policy] encoder = impala",
        "ResidualBlock": "models.Impala",
    },
    "pufferlib.ocean": {
        "MAKE_FUNCTIONS": "puffer_ocean.names() and env_creator(name)",
        "lazy_import": "importlib.import_module",
        "sanity": "env_creator of bandit, memory, password, squared, stochastic",
        "torch": "pufferlib.models and [policy]",
    },
    "pufferlib.pufferl": {
        "ADVANTAGE_CUDA": "compute_puff_advantage, on any device",
        "abbreviate": "f'{number:,}'",
        "dist_mean": "puffer_cuda.distributed.World",
        "dist_sum": "puffer_cuda.distributed.World",
        "fmt_perf": "`puffer profile`",
        "make_parser": "load_config, which reads no command line",
        "process_config": "load_config, which reads no command line",
        "stop_if_loss_nan": "[train] max_skipped_updates",
    },
    "pufferlib.sweep": {
        **dict.fromkeys(("Linear", "Log", "Logit", "Pow2"), "puffer_protein's Space and [sweep]"),
        "Carbs": "Protein, or [sweep] method",
        "Hyperparameters": "puffer_protein.Space",
        "create_gp": "puffer_protein.gaussian_process",
        "pareto_points": "puffer_protein.front",
    },
    "pufferlib.environments": {
        "atari": "the environment ale/NAME",
        "box2d": "the environment gymnasium/LunarLander-v3",
        "butterfly": "the environment pettingzoo/butterfly.NAME",
        "classic_control": "the environment gymnasium/CartPole-v1",
        "minigrid": "the environment minigrid/ID",
        "mujoco": "the environment gymnasium/Ant-v5",
        "try_import": "the extras of puffer-cli",
    },
}


def missing(module: str, name: str) -> NoReturn:
    """What a module's `__getattr__` does about a name that it does not have.

    Raises:
        APIUsageError: the name is no more; says what is instead.
        AttributeError: there never was such a name.
    """
    if name in GONE.get(module, {}):
        raise APIUsageError(
            f"{module}.{name} of PufferLib 3.0 is no more; instead: {GONE[module][name]}. "
            "docs/migrating.md has all of them."
        )
    raise AttributeError(f"module {module!r} has no attribute {name!r}")

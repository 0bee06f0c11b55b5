"""The commands, one module each; `puffer new-env` is `new_env.py`.

A module has `HELP` (one line), `add_arguments(parser)` and `run(options, values) -> exit code`.
`values` are those of `--section.key` options; `KEYS = True` says that the command takes them all,
`KEYS = "env"` those of the environment, without `KEYS` it takes none. Every parser is made for
`puffer --help`: heavy modules are imported in `run`.
"""

NAMES = (
    "train",
    "eval",
    "play",
    "match",
    "export",
    "sweep",
    "constellation",
    "envs",
    "check",
    "new-env",
    "build",
    "config",
    "autotune",
    "profile",
    "bench",
    "plan",
    "run",
    "import",
    "inspect",
    "doctor",
    "completion",
)

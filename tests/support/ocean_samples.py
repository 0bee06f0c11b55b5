"""Argument values that the tests of all environments try, and what the tests must know of some."""

from puffer_ocean import debug, load

# Values in place of the ends of a range, where these cost too much time: environment -> argument.
SAMPLES = {
    "benchmark": {"compute": [0, 50], "bytes": [1, 4096], "steps": [1, 300]},
}

# Environments without chance: every seed gives the same episodes.
NO_CHANCE = {"chain_mdp", "password", "stochastic"}


def variants(name):
    """The defaults, and each value of each argument beside defaults."""
    return debug.variants(load(name), SAMPLES.get(name))

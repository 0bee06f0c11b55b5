"""Argument values that the tests of all environments try, and what the tests must know of some."""

from puffer_ocean import load

# Values in place of the ends of a range, where these cost too much time: environment -> argument.
SAMPLES = {
    "benchmark": {"compute": [0, 50], "bytes": [1, 4096], "steps": [1, 300]},
}

# Environments without chance: every seed gives the same episodes.
NO_CHANCE = {"chain_mdp", "password", "stochastic"}


def values(name, argument):
    """The values of one argument to try."""
    if argument.name in SAMPLES.get(name, {}):
        return SAMPLES[name][argument.name]
    if argument.kind == "bool":
        return [False, True]
    if argument.kind == "enum":
        return list(argument.choices)
    return (
        []
        if argument.kind == "text"
        else [argument.type(argument.low), argument.type(argument.high)]
    )


def variants(name):
    """The defaults, and each value of each argument beside defaults."""
    library = load(name)
    found = [{}]
    for argument in library.arguments.values():
        found += [{argument.name: v} for v in values(name, argument) if v != argument.default]
    return found

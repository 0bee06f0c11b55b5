"""The State of a running C environment, as the struct that its source declares.

    state = c_state(env, 0)
    state.score = 3            # writes into the environment
    list(state.board)

The struct is read from the preprocessed source, so that constants and enums have their values.
"""

import functools
import re
import subprocess

import cffi

from puffer_ocean import build
from puffer_ocean.library import contract


@functools.cache
def declarations(name, text):
    """A cffi with the types that the source declares, up to its State."""
    source = build.source(name)
    command = [*build.compiler(), "-E", f"-I{build.INCLUDE}", str(source)]
    lines, own = [], False
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split(
        "\n"
    ):
        if marker := re.match(r'# \d+ "(.*?)"', line):
            own = marker[1] == str(source)
        elif own:
            lines.append(line)
    types = re.findall(r"(?:typedef (?:struct|enum)|enum)[ \w]*\{[^{}]*\}[ \w]*;", "\n".join(lines))
    last = next(k for k, each in enumerate(types) if re.search(r"\}\s*State\s*;", each))
    ffi = cffi.FFI()
    ffi.cdef("\n".join(types[: last + 1]))
    return ffi


def c_state(env, index=0):
    """A pointer to the State of one environment of an `OceanEnv`; reads and writes it in place."""
    ffi = declarations(env.name, build.source(env.name).read_text())
    functions = env._library.functions
    assert ffi.sizeof("State") == functions.state_size, "the struct was not understood"
    address = int(contract().cast("uintptr_t", functions.state(env._vec, index)))
    return ffi.cast("State *", address)

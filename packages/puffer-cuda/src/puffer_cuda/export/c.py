"""A policy as one C file that plays without any dependency: its weights, and `player.c`."""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import cffi
import gymnasium
import numpy as np
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda.encoders import FlatEncoder
from puffer_cuda.export.recording import Array, Recording, same_kind
from puffer_cuda.networks import MLP, MinGRU
from puffer_cuda.policy import LOG_STD_BOUNDS, Decoder, Policy
from puffer_ocean.build import compiler

PLAYER = Path(__file__).with_name("player.c")
TEST_STEPS = 8
BOTH = ("weights", "biases")

# C's names of the numbers in observations and actions.
C_TYPES = {
    "bool": "unsigned char",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
}
REFUSED = "{} is not exported to C: {}; use --format onnx."


def source(policy: nn.Module, env: Any, recording: Recording, title: str) -> str:
    """The C file.

    Args:
        policy: a `Policy` of a FlatEncoder, an MLP or MinGRU, and a Decoder.
        env: whose single spaces it was made for.
        recording: of the policy; its first steps become the self-test.
        title: what it is, for the first line.

    Raises:
        APIUsageError: another kind of policy, or weights that are not finite.
    """
    if type(policy) is not Policy:
        raise APIUsageError(REFUSED.format(type(policy).__name__, "it is no Policy"))
    encoder, network, decoder = policy.encoder, policy.network, policy.decoder
    for part, known in ((encoder, (FlatEncoder,)), (network, (MLP, MinGRU)), (decoder, (Decoder,))):
        if type(part) not in known:
            names = " and ".join(kind.__name__ for kind in known)
            raise APIUsageError(REFUSED.format(type(part).__name__, f"C has {names}"))
        if getattr(part, "activation", "relu") != "relu":
            raise APIUsageError(REFUSED.format("policy.activation = tanh", "C has relu"))
    assert isinstance(network, (MLP, MinGRU))
    assert isinstance(encoder, FlatEncoder)
    assert isinstance(decoder, Decoder)
    space, actions = env.single_observation_space, env.single_action_space
    recurrent, outputs = isinstance(network, MinGRU) and network.num_layers, sum(decoder.heads)
    continuous = decoder.log_std is not None
    test = recording.first(TEST_STEPS)
    linear = encoder.linear
    lines = [
        f"/* {title}. Written by puffer; the functions are at the end. */",
        "#include <math.h>",
        "#include <stdint.h>",
        f"#define POLICY_OBSERVATIONS {linear.in_features}",
        f"#define POLICY_HIDDEN {linear.out_features}",
        f"#define POLICY_LAYERS {len(network.layers)}",
        f"#define POLICY_RECURRENT {int(recurrent > 0)}",
        f"#define POLICY_OUTPUTS {outputs} /* logits of all heads, or means */",
        f"#define POLICY_HEADS {0 if continuous else len(decoder.heads)} /* 0: continuous */",
        f"#define POLICY_TEST_STEPS {len(test.values)}",
        f"typedef {C_TYPES[str(np.dtype(space.dtype))]} policy_observation;",
        f"typedef {C_TYPES[str(np.dtype(actions.dtype))] if continuous else 'int'} policy_action;",
        _array("encoder_weight", linear.weight),
        _array("encoder_bias", linear.bias),
    ]
    if len(network.layers):
        layers: list[Any] = list(network.layers)
        if recurrent:
            lines.append(_array("layer_weights", [layer.linear.weight for layer in layers]))
        else:
            lines.append(_array("layer_weights", [layer.weight for layer in layers]))
            lines.append(_array("layer_biases", [layer.bias for layer in layers]))
    else:
        lines += [f"static const float policy_layer_{x}[1][1] = {{{{0}}}};" for x in BOTH]
    for name, layer in (("actor", decoder.actor), ("critic", decoder.critic)):
        lines.append(_array(f"{name}_weight", layer.weight))
        lines.append(_array(f"{name}_bias", layer.bias))
    if decoder.log_std is not None:
        assert isinstance(actions, gymnasium.spaces.Box)
        lines.append(_array("std", decoder.log_std.clamp(*LOG_STD_BOUNDS).exp()))
        for name, bound in (("low", actions.low), ("high", actions.high)):
            lines.append(_array(name, bound.reshape(-1), "double", infinite=True))
    else:
        lines.append(_array("choices", decoder.heads, "int"))
    lines += [
        _array("test_starts", test.starts[:, 0], "unsigned char"),
        _array(
            "test_observations",
            test.observations[:, 0].reshape(len(test.values), -1),
            C_TYPES[str(np.dtype(space.dtype))],
        ),
        _array("test_outputs", test.outputs[:, 0]),
        _array("test_values", test.values[:, 0]),
    ]
    return "\n".join(lines) + "\n\n" + PLAYER.read_text(encoding="utf-8")


def _array(name: str, values: Any, kind: str = "float", infinite: bool = False) -> str:
    """A constant array of one or two axes, or of several flattened matrices."""
    if isinstance(values, list) and isinstance(values[0], Tensor):
        array = np.stack([value.detach().cpu().numpy().reshape(-1) for value in values])
    else:
        array = np.asarray(values.detach().cpu().numpy() if isinstance(values, Tensor) else values)
        if array.ndim == 2 and isinstance(values, Tensor):
            array = array.reshape(-1)  # a matrix, row by row
    if not infinite and not np.isfinite(array).all():
        raise APIUsageError(f"the policy's {name} holds numbers that are not finite.")
    shape = "".join(f"[{n}]" for n in array.shape)
    return f"static const {kind} policy_{name}{shape} = {_literal(array.tolist(), kind)};"


def _literal(value: Any, kind: str) -> str:
    if isinstance(value, list):
        return "{" + ",".join(_literal(item, kind) for item in value) + "}"
    if not isinstance(value, float):
        return str(int(value))
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    if kind != "float":
        return repr(value)
    digits = f"{value:.9g}"  # nine digits tell any two floats apart
    return (digits if "." in digits or "e" in digits else digits + ".0") + "f"


class CPolicy:
    """A C file, compiled; `forward` plays it from Python."""

    def __init__(self, text: str, env: Any, flags: Iterable[str] = ("-O3",)) -> None:
        """Compile.

        Args:
            text: of `source`.
            env: as there.
            flags: of the compiler.

        Raises:
            BuildError: there is no C compiler.
            RuntimeError: the file does not compile.
        """
        self._scratch = tempfile.TemporaryDirectory()
        file, library = (Path(self._scratch.name) / name for name in ("policy.c", "policy.so"))
        file.write_text(text, encoding="utf-8")
        command = [*compiler(), "-std=c11", *flags, "-shared", "-fPIC"]
        command += [str(file), "-o", str(library), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(f"the exported C file does not compile:\n{result.stderr}")
        sizes = {name: int(n) for name, n in re.findall(r"#define POLICY_(\w+) (\d+)", text)}
        self.memory = max(sizes["RECURRENT"] * sizes["LAYERS"] * sizes["HIDDEN"], 1)
        self.outputs = sizes["OUTPUTS"]
        self.actions = sizes["HEADS"] or self.outputs
        self.space = env.single_observation_space
        kind = np.int32 if sizes["HEADS"] else env.single_action_space.dtype
        self.action_dtype: np.dtype[Any] = np.dtype(kind)
        self._ffi: Any = cffi.FFI()
        self._ffi.cdef(
            "void policy_begin(void *); float policy_self_test(void);"
            "void policy_forward(void *, const void *, float *, float *);"
            "void policy_act(void *, const void *, const void *, uint64_t *, void *);"
        )
        self._library = self._ffi.dlopen(str(library))

    def __enter__(self) -> CPolicy:
        """Use it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what was compiled."""
        self._ffi.dlclose(self._library)
        self._scratch.cleanup()

    def self_test(self) -> float:
        """The largest difference on the stored steps."""
        return float(self._library.policy_self_test())

    def states(self, agents: int) -> Array:
        """The memory of so many agents at the beginning of their episodes."""
        return np.zeros((agents, self.memory), np.float32)

    def forward(self, observations: Array, starts: Array, states: Array) -> tuple[Array, Array]:
        """One step of a batch.

        Args:
            observations: `(batch, *obs)`.
            starts: `(batch,)` bool, where an episode begins.
            states: `(batch, memory)` float32, of `states`; it becomes the next one.

        Returns:
            outputs `(batch, outputs)` and values `(batch,)`.
        """
        same_kind(observations, self.space.dtype, self.space.shape)
        outputs = np.empty((len(observations), self.outputs), np.float32)
        values = np.empty(len(observations), np.float32)
        states[starts] = 0
        for i in range(len(observations)):
            self._library.policy_forward(
                self._pointer(states[i]),
                self._pointer(np.ascontiguousarray(observations[i])),
                self._ffi.cast("float *", outputs[i].ctypes.data),
                self._ffi.cast("float *", values[i:].ctypes.data),
            )
        return outputs, values

    def act(
        self, observation: Array, state: Array, allowed: Array | None, random: Array | None
    ) -> Array:
        """Actions of one agent.

        Args:
            observation: `(*obs,)`.
            state: `(memory,)` float32.
            allowed: bool for each choice; None allows all.
            random: one uint64, the generator's state; None takes the likeliest.
        """
        actions = np.empty(self.actions, self.action_dtype)
        null = self._ffi.NULL
        self._library.policy_act(
            self._pointer(state),
            self._pointer(np.ascontiguousarray(observation)),
            null if allowed is None else self._pointer(np.ascontiguousarray(allowed)),
            null if random is None else self._ffi.cast("uint64_t *", random.ctypes.data),
            self._pointer(actions),
        )
        return actions

    def replay(self, recording: Recording) -> tuple[Array, Array]:
        """Outputs and values on a recording's observations."""
        states = self.states(recording.values.shape[1])
        steps = [
            self.forward(observations, starts, states)
            for observations, starts in zip(recording.observations, recording.starts, strict=True)
        ]
        return tuple(np.stack(arrays) for arrays in zip(*steps, strict=True))  # type: ignore[return-value]

    def _pointer(self, array: Array) -> Any:
        return self._ffi.cast("void *", array.ctypes.data)

"""A policy as ONNX, its recurrent state an input and an output, and a session that plays it."""

from __future__ import annotations

import base64
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Normal

from puffer_core import APIUsageError
from puffer_cuda.adapter import PolicyAdapter, cleared
from puffer_cuda.encoders import NestedEncoder
from puffer_cuda.export.recording import Array, Recording, flat, same_kind

TEST_STEPS = 8
METADATA = "puffer"  # the key of what is stored beside the graph
INSTALL = "--format onnx needs onnx, onnxruntime and onnxscript: `pip install 'puffer-cuda[onnx]'`."


class Exported(nn.Module):
    """A policy with tensors only: (observations, starts, *state) -> (outputs, value, *state).

    `starts` clears the state where an episode begins, so that whoever plays cannot forget to; a
    policy without state has no such input. Continuous: outputs are the means and the deviations.
    """

    def __init__(self, policy: nn.Module, observations: Tensor) -> None:
        super().__init__()
        self.policy = policy
        self.adapter = PolicyAdapter(policy, observations)

    def forward(self, observations: Tensor, *memory: Tensor) -> tuple[Tensor, ...]:
        """`memory` is empty, or starts `(batch,)` bool and the tensors of the state."""
        state = cleared(memory[1:], memory[0]) if memory else ()
        logits, values, state = self.adapter.act(observations, state)
        outputs = (logits.loc, logits.scale) if isinstance(logits, Normal) else (flat(logits),)
        return (*outputs, values, *state)


def write(policy: nn.Module, env: Any, recording: Recording, path: Path, title: str) -> None:
    """Write the file.

    Args:
        policy: on the CPU; any module that PuffeRL trains, but for nested observations.
        env: whose single spaces it was made for.
        recording: of the policy; its first steps become the self-test.
        path: to write.
        title: what it is.

    Raises:
        APIUsageError: a package is missing, or the observations are nested.
    """
    onnx = _import("onnx")
    _import("onnxscript")
    if any(isinstance(part, NestedEncoder) for part in policy.modules()):
        raise APIUsageError(
            "nested observations (Dict, Tuple) are bytes that ONNX cannot take apart; export a "
            "policy that reads a Box."
        )
    observations = torch.from_numpy(recording.observations[0][:2].copy())
    if len(observations) < 2:  # torch.export takes a batch of 1 for a constant
        observations = observations.repeat(2, *(1,) * (observations.dim() - 1))
    module = Exported(policy, observations[:1]).eval()
    state = module.adapter.initial_state(len(observations), torch.device("cpu"))
    starts = torch.zeros(len(observations), dtype=torch.bool)
    arguments = (observations, *((starts, *state) if state else ()))
    batch = {0: torch.export.Dim("batch")}
    shapes = (batch, *(((batch,) * (1 + len(state)),) if state else ()))
    continuous = isinstance(module.adapter.act(observations, state)[0], Normal)
    states = [f"state_{i}" for i in range(len(state))]
    with _quiet():
        program: Any = torch.onnx.export(
            module,
            arguments,
            input_names=["observations", *(["starts", *states] if state else [])],
            output_names=[
                *(["mean", "std"] if continuous else ["logits"]),
                "value",
                *(f"new_{name}" for name in states),
            ],
            dynamic_shapes=shapes,
            dynamo=True,
            verbose=False,
        )
    model = program.model_proto
    entry = model.metadata_props.add()
    entry.key = METADATA
    test = recording.first(TEST_STEPS)
    entry.value = json.dumps(
        {
            "title": title,
            "actions": str(env.single_action_space),
            "heads": [] if continuous else _heads(env.single_action_space),
            "test": {name: _packed(array) for name, array in test._asdict().items()},
        }
    )
    onnx.checker.check_model(model)
    onnx.save(model, path)


class OnnxPolicy:
    """A file of `write`, played by onnxruntime."""

    def __init__(self, path: Path) -> None:
        """Load.

        Raises:
            APIUsageError: onnxruntime is missing, or the file was not written here.
        """
        runtime = _import("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = runtime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        stored = self._session.get_modelmeta().custom_metadata_map
        if METADATA not in stored:
            raise APIUsageError(f"{path} was not written by `puffer export`.")
        self.metadata: dict[str, Any] = json.loads(stored[METADATA])
        self.outputs = [entry.name for entry in self._session.get_outputs()]
        inputs = self._session.get_inputs()
        self._states = {e.name: e.shape[1:] for e in inputs if e.name.startswith("state_")}
        self._dtype = np.dtype(_numpy_name(inputs[0].type))
        self._shape = tuple(inputs[0].shape[1:])

    def states(self, agents: int) -> list[Array]:
        """The memory of so many agents at the beginning of their episodes."""
        return [np.zeros((agents, *shape), np.float32) for shape in self._states.values()]

    def forward(
        self, observations: Array, starts: Array, states: list[Array]
    ) -> tuple[dict[str, Array], list[Array]]:
        """One step of a batch.

        Args:
            observations: `(batch, *obs)`.
            starts: `(batch,)` bool, where an episode begins.
            states: of `states`, or of the last step.

        Returns:
            the outputs by name, `logits` or `mean` and `std`, and `value`; the next states.
        """
        same_kind(observations, self._dtype, self._shape)
        given = {"observations": observations}
        if states:
            given |= {"starts": starts, **dict(zip(self._states, states, strict=True))}
        results = dict(zip(self.outputs, self._session.run(None, given), strict=True))
        return results, [results.pop(f"new_{name}") for name in self._states]

    def replay(self, recording: Recording) -> tuple[Array, Array]:
        """Outputs and values on a recording's observations."""
        states = self.states(recording.values.shape[1])
        outputs, values = [], []
        for observations, starts in zip(recording.observations, recording.starts, strict=True):
            results, states = self.forward(observations, starts, states)
            outputs.append(results["mean"] if "mean" in results else results["logits"])
            values.append(results["value"])
        return np.stack(outputs), np.stack(values)

    def self_test(self) -> float:
        """The largest difference on the stored steps."""
        test = {name: _unpacked(packed) for name, packed in self.metadata["test"].items()}
        recording = Recording(**test)
        return recording.difference(*self.replay(recording))


def _heads(space: Any) -> list[int]:
    """Choices of each head; the logits of the heads stand side by side."""
    return [int(n) for n in space.nvec.reshape(-1)] if hasattr(space, "nvec") else [int(space.n)]


def _packed(array: Array) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": str(array.dtype), "shape": array.shape, "base64": data}


def _unpacked(packed: dict[str, Any]) -> Array:
    data = base64.b64decode(packed["base64"])
    array: Array = np.frombuffer(data, packed["dtype"]).reshape(packed["shape"])
    return array


def _numpy_name(kind: str) -> str:
    """`tensor(uint8)` as numpy says it."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)


def _import(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise APIUsageError(f"{INSTALL} ({error})") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporter speaks of packages that nobody needs."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)

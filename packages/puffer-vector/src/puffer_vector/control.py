"""Calls that reach single environments, in this process or in a worker.

A call is a function of this module, run as `function(group, index, *arguments)` beside the
environments, where `index` counts within the group. It may raise; the error reaches the caller.
"""

from __future__ import annotations

import inspect
import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
from numpy.typing import NDArray

from puffer_core.buffers import Buffers
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError
from puffer_vector.autoreset import Held
from puffer_vector.group import EnvGroup, written

Function = Callable[..., Any]


def run(group: EnvGroup, first_env: int, env_ids: Sequence[int], call: tuple[Any, ...]) -> Any:
    """Run a call on environments of a group.

    Args:
        group: Where they are.
        first_env: Global index of the group's first environment.
        env_ids: Global indices.
        call: The function, and one tuple of arguments per environment.

    Returns:
        The results, in order of `env_ids`.
    """
    function, arguments = call
    results = []
    for env_id, own in zip(env_ids, arguments, strict=True):
        group.current = env_id
        results.append(function(group, env_id - first_env, *own))
    return results


def run_pickled(group: EnvGroup, first_env: int, payload: bytes) -> bytes:
    """Run a call that came through a pipe; an error of the call is part of the answer.

    Returns:
        Pickled `(results, None, "")` or `(None, error, traceback)`.
    """
    try:
        return _travels((run(group, first_env, *pickle.loads(payload)), None, ""))
    except Exception as error:
        text = traceback.format_exc()
        try:
            return _travels((None, error, text))
        except Exception:  # neither the results nor this error: its text always does
            return _travels((None, APIUsageError(f"{type(error).__name__}: {error}"), text))


def _travels(answer: tuple[Any, Exception | None, str]) -> bytes:
    data = bytes(cloudpickle.dumps(answer))
    pickle.loads(data)  # many exceptions can be written and not read
    return data


def unwrap(env: PufferEnv) -> Any:
    """Return what the user wrote: the environment that a wrapper wraps, or the native one."""
    if isinstance(env, Held):
        env = env.env
    inner = getattr(env, "env", None) if env.emulated else None
    return env if inner is None else inner


def find(env: PufferEnv, name: str) -> Any:
    """Return an attribute of an environment, also one that a wrapper hides.

    Raises:
        AttributeError: There is none.
    """
    inner = unwrap(env)
    try:
        if isinstance(inner, gymnasium.Env):
            return inner.get_wrapper_attr(name)
        return getattr(inner, name)
    except AttributeError:
        if name == "set_params" and hasattr(env, name):  # a subclass of a wrapper
            return getattr(env, name)
        raise


def check_params(group: EnvGroup, index: int, params: dict[str, Any]) -> None:
    """Refuse parameters that an environment does not know, before any is changed."""
    inner = unwrap(group.envs[index])
    name = type(getattr(inner, "unwrapped", inner)).__name__
    try:
        signature = inspect.signature(find(group.envs[index], "set_params"))
    except AttributeError:
        raise APIUsageError(
            f"set_params: environment {group.current} ({name}) offers none. A Python environment "
            "offers it by a method set_params(**params)."
        ) from None
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    unknown = [name for name in params if name not in signature.parameters]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise APIUsageError(
            f"set_params: environment {group.current} ({name}) has no parameter "
            f"{', '.join(map(repr, unknown))}: its signature is set_params{signature}."
        )
    try:
        signature.bind(**params)
    except TypeError as error:
        raise APIUsageError(
            f"set_params: environment {group.current} ({name}): {error}; its signature is "
            f"set_params{signature}."
        ) from None
    if hasattr(inner, "check_params"):  # values that the environment itself can judge
        inner.check_params(**params)


def set_params(group: EnvGroup, index: int, params: dict[str, Any]) -> None:
    """Give parameters to an environment; what it raises itself passes through."""
    find(group.envs[index], "set_params")(**params)


def get_state(group: EnvGroup, index: int) -> dict[str, NDArray[Any]]:
    """Return what an environment remembers."""
    env: Any = group.envs[index]
    if not hasattr(env, "get_state"):
        raise APIUsageError(
            f"{type(env).__name__} has no get_state() and set_state(state), so what it remembers "
            "cannot be saved."
        )
    state: dict[str, NDArray[Any]] = env.get_state()
    return state


def set_state(group: EnvGroup, index: int, state: dict[str, NDArray[Any]]) -> Buffers:
    """Let an environment go on from a state, and return its rows."""
    env: Any = group.envs[index]
    env.set_state(state)
    return {name: getattr(env, name).copy() for name in written(env.has_action_masks)}


def hold(group: EnvGroup, index: int, mode: str) -> None:
    """Let an environment follow an autoreset mode from its next reset on."""
    env = group.envs[index]
    group.replace(index, Held(env.env if isinstance(env, Held) else env, mode))


def set_options(group: EnvGroup, index: int, options: dict[str, Any] | None) -> None:
    """Set the options of a held environment's next reset."""
    held = group.envs[index]
    assert isinstance(held, Held)
    held.options = options


def begin(group: EnvGroup, index: int, seed: int | None, options: dict[str, Any] | None) -> Any:
    """Begin an episode of a held environment between two steps, and return its info."""
    held = group.envs[index]
    assert isinstance(held, Held)
    return held.begin(seed, options)


def get_attribute(group: EnvGroup, index: int, name: str) -> Any:
    """Read an attribute of an environment."""
    return find(group.envs[index], name)


def set_attribute(group: EnvGroup, index: int, name: str, value: Any) -> None:
    """Write an attribute on the outermost layer that has it, else on the outermost of all."""
    layers = list(_layers(group.envs[index]))
    owners = [layer for layer in layers if name in vars(layer) or hasattr(type(layer), name)]
    setattr((owners or layers)[0], name, value)


def call_method(
    group: EnvGroup, index: int, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a method of an environment."""
    return find(group.envs[index], name)(*arguments, **keywords)


def is_wrapped(group: EnvGroup, index: int, wrapper: type) -> bool:
    """Tell whether a Gymnasium environment is wrapped in this class."""
    return any(isinstance(layer, wrapper) for layer in _layers(group.envs[index]))


def _layers(env: PufferEnv) -> Iterator[Any]:
    """Go through what the user wrote, from the outermost wrapper to the environment itself."""
    layer = unwrap(env)
    yield layer
    while isinstance(layer, gymnasium.Wrapper):
        layer = layer.env
        yield layer


def call_or_get(
    group: EnvGroup, index: int, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a method of an environment, or read what is not callable."""
    value = find(group.envs[index], name)
    return value(*arguments, **keywords) if callable(value) else value

"""What adapters ask of a vectorizer beyond reset and step: autoreset modes, options, single resets.

A vectorizer whose environments are held keeps its contract, but for the mode, which its metadata
names: in a step that only begins an episode (NEXT_STEP) the environment's mask is off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from puffer_core.errors import APIUsageError
from puffer_vector import control
from puffer_vector.autoreset import MODES
from puffer_vector.base import VecEnv
from puffer_vector.infos import Info

Options = Mapping[str, Any]


def check_whole(vecenv: object, adapter: str) -> VecEnv:
    """Return the vectorizer if one `recv` returns all its environments.

    Raises:
        APIUsageError: It is none, or it returns them in smaller batches.
    """
    if not isinstance(vecenv, VecEnv):
        raise APIUsageError(f"{adapter}: expected what make(...) returns, got {vecenv!r:.80}.")
    if vecenv.agents_per_batch != vecenv.num_agents:
        raise APIUsageError(
            f"{adapter} steps all environments together: use batch_size=num_envs, got batches of "
            f"{vecenv.agents_per_batch} of {vecenv.num_agents} agents."
        )
    return vecenv


def hold(vecenv: VecEnv, mode: str) -> None:
    """Let all environments follow an autoreset mode, and take options, from the next reset on.

    Raises:
        APIUsageError: No such mode, or environments of several agents in another mode than
            SAME_STEP: their agents' episodes end at different times.
    """
    if mode not in MODES:
        raise APIUsageError(f"autoreset_mode must be one of {', '.join(MODES)}, got {mode!r}.")
    if mode != "SAME_STEP" and vecenv.num_agents != vecenv.num_envs:
        raise APIUsageError(
            f"{mode} needs environments of one agent, got {vecenv.num_agents} agents in "
            f"{vecenv.num_envs} environments: use SAME_STEP."
        )
    if mode != "SAME_STEP" and vecenv._restarts is not None and vecenv._restarts.limit:
        raise APIUsageError(f"{mode} cannot be combined with on_error='restart': use SAME_STEP.")
    vecenv._call(range(vecenv.num_envs), control.hold, mode)
    vecenv._mode = mode
    vecenv.metadata["autoreset_mode"] = mode


def set_options(vecenv: VecEnv, options: Sequence[Options | None]) -> None:
    """Give every held environment the options of its next reset, None for none.

    Raises:
        APIUsageError: Native environments, whose reset takes no options.
    """
    _check_options(vecenv, options)
    ids = [env for env, own in enumerate(options) if own is not None]
    vecenv._launch_call(ids, (control.set_options, [(options[env],) for env in ids]))


def begin(
    vecenv: VecEnv, env_ids: Sequence[int], seeds: Sequence[int | None], options: Options | None
) -> list[Info]:
    """Begin episodes in some held environments between two steps.

    Args:
        vecenv: The vectorizer, with no batch in flight.
        env_ids: Which environments.
        seeds: One for each of them; None continues its random stream.
        options: Given to their resets.

    Returns:
        The infos of those resets; the observations stand in the rows.
    """
    _check_options(vecenv, [options])
    call = (control.begin, [(seed, options) for seed in seeds])
    results = vecenv._launch_call(env_ids, call)
    if vecenv._episodes is not None:
        vecenv._episodes.returns[env_ids] = 0
        vecenv._episodes.lengths[env_ids] = 0
    infos = []
    for env, result in zip(env_ids, results, strict=True):
        listed = [result] if isinstance(result, dict) else result
        infos += [Info(info, env, True) for info in listed if info]
    return infos


def _check_options(vecenv: VecEnv, options: Sequence[Options | None]) -> None:
    if not vecenv.emulated and any(own is not None for own in options):
        raise APIUsageError(
            "reset: options are for wrapped Gymnasium environments, native ones take none."
        )

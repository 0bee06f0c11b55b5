"""Recipes: how to build each environment, and what every one of them must look like."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium

from puffer_core.buffers import Buffers, Field, layout
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space, equal

SIGNATURE = "creator(*args, buf=None, seed=0, **kwargs)"
WRAP = (
    "Wrap it with GymnasiumPufferEnv: lambda buf=None, seed=0: "
    "GymnasiumPufferEnv(env_creator=make_your_env, buf=buf, seed=seed)"
)


class Facts(NamedTuple):
    """What all environments of a vectorizer have in common."""

    single_observation_space: gymnasium.spaces.Box
    single_action_space: Space
    num_agents: int
    emulated: bool | Mapping[str, Any]
    logs_episodes: bool
    has_action_masks: bool
    metadata: dict[str, Any]

    @classmethod
    def of(cls, env: PufferEnv) -> Facts:
        """Read the facts from an environment."""
        return cls(
            env.single_observation_space,
            env.single_action_space,
            env.num_agents,
            env.emulated,
            env.logs_episodes,
            env.has_action_masks,
            dict(getattr(env, "metadata", None) or {}),
        )

    def layout(self, num_envs: int) -> dict[str, Field]:
        """Describe the joint buffers of `num_envs` environments."""
        return layout(
            self.single_observation_space,
            self.single_action_space,
            num_envs * self.num_agents,
            self.has_action_masks,
        )

    def check(self, env: PufferEnv) -> None:
        """Refuse an environment that differs in anything but its metadata.

        Raises:
            APIUsageError: Names what differs.
        """
        for name, expected, got in zip(self._fields[:-1], self, Facts.of(env), strict=False):
            if not equal(expected, got):
                raise APIUsageError(
                    f"All environments of a vectorizer must agree in {name}: the first has "
                    f"{expected}, another one {got}."
                )


class Recipe(NamedTuple):
    """A creator and its arguments."""

    creator: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    def build(self, buf: Buffers | None, seed: int) -> PufferEnv:
        """Call the creator.

        Args:
            buf: Rows for the environment to adopt; None lets it allocate its own.
            seed: The environment's own seed.

        Raises:
            APIUsageError: The creator does not take these keywords, or returns no PufferEnv.
        """
        try:
            env = self.creator(*self.args, buf=buf, seed=seed, **self.kwargs)
        except TypeError as error:
            # A creator with **kwargs passes buf on, as gymnasium.make does.
            if "'buf'" in str(error) or "'seed'" in str(error):
                raise APIUsageError(
                    f"{self.creator!r} must be callable as {SIGNATURE}: {error}. If it makes a "
                    f"Gymnasium environment: {WRAP}."
                ) from error
            raise
        if isinstance(env, PufferEnv):
            return env
        advice = f". {WRAP}." if isinstance(env, gymnasium.Env) else "."
        raise APIUsageError(f"{self.creator!r} must return a PufferEnv, got {env!r:.80}{advice}")

    def probe(self, seed: int) -> PufferEnv:
        """Build an environment to read from what all others must look like, and close it.

        Environments adopt their buffers while they are built, so the size of the buffers has to
        be known before the first one that stays.
        """
        env = self.build(None, seed)
        env.close()
        return env


def make_recipes(
    env_creators: object, env_args: object, env_kwargs: object, num_envs: int
) -> list[Recipe]:
    """Bring the arguments of `make` into one form.

    Args:
        env_creators: A callable for all environments, or a list of `num_envs` callables.
        env_args: Positional arguments for all, or, with a list of creators, a list of
            `num_envs` lists. None means none.
        env_kwargs: Keyword arguments for all, or, with a list of creators, a list of `num_envs`
            dicts. None means none.
        num_envs: Number of environments, at least 1.

    Returns:
        One recipe per environment.

    Raises:
        APIUsageError: A wrong count or kind.
    """
    try:
        num_envs = operator.index(num_envs)  # type: ignore[call-overload, unused-ignore]
    except TypeError:
        raise APIUsageError(f"num_envs must be an int, got {num_envs!r}.") from None
    if num_envs < 1:
        raise APIUsageError(f"num_envs must be at least 1, got {num_envs}.")
    if isinstance(env_creators, (list, tuple)):
        creators = list(env_creators)
        args: Any = [()] * num_envs if env_args is None else env_args
        kwargs: Any = [{}] * num_envs if env_kwargs is None else env_kwargs
    else:
        creators = [env_creators] * num_envs
        args = [() if env_args is None else env_args] * num_envs
        kwargs = [{} if env_kwargs is None else env_kwargs] * num_envs
    for name, values in (("creators", creators), ("env_args", args), ("env_kwargs", kwargs)):
        if not isinstance(values, (list, tuple)) or len(values) != num_envs:
            raise APIUsageError(
                f"With a list of creators, {name} must be a list of num_envs = {num_envs} entries, "
                f"got {values!r:.80}."
            )
    recipes = [Recipe(creators[i], args[i], kwargs[i]) for i in range(num_envs)]
    for recipe in recipes if isinstance(env_creators, (list, tuple)) else recipes[:1]:
        _check(recipe)
    return recipes


def _check(recipe: Recipe) -> None:
    if not callable(recipe.creator):
        raise APIUsageError(f"A creator must be callable, got {recipe.creator!r:.80}.")
    if not isinstance(recipe.args, (list, tuple)):
        raise APIUsageError(f"env_args must be a list or tuple, got {recipe.args!r:.80}.")
    if not isinstance(recipe.kwargs, Mapping):
        raise APIUsageError(f"env_kwargs must be a dict, got {recipe.kwargs!r:.80}.")
    try:
        signature = inspect.signature(recipe.creator)
    except (TypeError, ValueError):  # some builtins have none: the call itself will tell
        return
    try:
        signature.bind(*recipe.args, buf=None, seed=0, **recipe.kwargs)
    except TypeError as error:
        raise APIUsageError(
            f"{recipe.creator!r} must be callable as {SIGNATURE}, but its signature is "
            f"{signature}: {error}. If it makes a Gymnasium environment: {WRAP}."
        ) from None

"""Native: one PufferEnv of many agents, without a layer in between."""

from __future__ import annotations

from puffer_core.errors import APIUsageError
from puffer_vector.base import VecEnv
from puffer_vector.group import EnvGroup
from puffer_vector.recipes import Facts, make_recipes
from puffer_vector.seeds import expand_seeds
from puffer_vector.serial import Serial


class Native(Serial):
    """Exactly one native environment behind the common interface, on its own buffers.

    It is built once: nobody else has to know the size of its buffers.
    """

    def __init__(
        self,
        env_creators: object,
        env_args: object = None,
        env_kwargs: object = None,
        num_envs: int = 1,
        seed: object = 0,
    ) -> None:
        """Build the environment; the arguments are those of `make`, with `num_envs=1`."""
        recipes = make_recipes(env_creators, env_args, env_kwargs, num_envs)
        if len(recipes) != 1:
            raise APIUsageError(
                f"The native backend runs one environment, got num_envs={num_envs}: use "
                "backend=Serial or Multiprocessing."
            )
        seeds = expand_seeds(seed, 1)
        env = recipes[0].build(None, seeds[0])
        if env.emulated:
            env.close()
            raise APIUsageError(
                f"The native backend runs a native PufferEnv, got the wrapper "
                f"{type(env).__name__}: use backend=Serial."
            )
        facts = Facts.of(env)
        VecEnv.__init__(self, facts, 1, 1, seeds)
        buffers = {name: getattr(env, name) for name in facts.layout(1)}
        self._start(EnvGroup(facts, buffers), buffers)
        self._group.adopt(env, buffers)
        self.driver_env = env

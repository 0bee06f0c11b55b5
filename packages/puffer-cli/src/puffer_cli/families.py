"""Environments of well-known packages by short names, wrapped as their users usually do.

`ale/Pong-v5` in pictures of 84 x 84, four of them stacked; `minigrid/MiniGrid-Empty-5x5-v0` with
the picture of its cells; `pettingzoo/FAMILY.NAME`, several agents.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from puffer_cli.environments import (
    ALE,
    CONFIG,
    MINIGRID,
    PETTINGZOO,
    GymnasiumEnvironment,
    create_gymnasium,
    import_package,
    literal,
)
from puffer_cli.nearest import did_you_mean
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    from pathlib import Path

    from puffer_core import PufferEnv

# Keywords of ale/NAME beside those of gymnasium.make, with their defaults.
ATARI = {
    "frame_skip": 4,
    "frame_stack": 4,
    "screen_size": 84,
    "noop_max": 30,
    "life_loss": True,
}

CATEGORIES = (11, 6, 4)  # of a cell of MiniGrid: objects, colours, states or directions

# Family -> the package that holds its modules, and our extra that brings it.
PARALLEL = {
    "butterfly": ("pettingzoo.butterfly", "butterfly"),
    "mpe": ("mpe2", "mpe"),
}


class LifeLoss(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A lost life ends the episode, and the next one goes on in the same game.

    As in Mnih et al. 2015; scores of episodes are then scores of lives.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._lives, self._over = 0, True

    def reset(self, **keywords: Any) -> tuple[Any, dict[str, Any]]:
        """A new game where the last one is over; else one step of it without an action."""
        if not self._over:
            observation, _, terminated, truncated, info = self.env.step(0)
            self._over = terminated or truncated
        if self._over:
            observation, info = self.env.reset(**keywords)
            self._over = False
        self._lives = info["lives"]
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step; terminated where a life is lost."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._over = terminated or truncated
        lost = info["lives"] < self._lives
        self._lives = info["lives"]
        return observation, reward, terminated or lost, truncated, info


def make_ale(
    env_id: str, buf: Mapping[str, Any] | None = None, seed: int = 0, **arguments: Any
) -> PufferEnv:
    """An Atari game: skipped, greyed, shrunk and stacked frames, an end at each lost life.

    Args:
        env_id: of Gymnasium, `ALE/Pong-v5`.
        buf: as all creators.
        seed: as all creators.
        arguments: those of ATARI; others go to `gymnasium.make`.

    Raises:
        APIUsageError: the package is missing, or it does not take these arguments.
    """
    from puffer_core import GymnasiumPufferEnv

    own = {name: arguments.pop(name, default) for name, default in ATARI.items()}
    try:
        from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

        # The wrapper skips frames itself, so that it sees the two that it takes the maximum of.
        env = create_gymnasium(env_id, {"frameskip": 1, **arguments})
        env = AtariPreprocessing(
            env,
            noop_max=own["noop_max"],
            frame_skip=own["frame_skip"],
            screen_size=own["screen_size"],
        )
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        raise APIUsageError(
            f"{ALE}NAME needs Gymnasium 1 and `pip install 'puffer-cli[atari]'` ({error})."
        ) from error
    if own["life_loss"]:
        env = LifeLoss(env)
    return GymnasiumPufferEnv(FrameStackObservation(env, own["frame_stack"]), buf=buf, seed=seed)


def make_minigrid(
    env_id: str, buf: Mapping[str, Any] | None = None, seed: int = 0, **arguments: Any
) -> PufferEnv:
    """A MiniGrid environment that shows its cells alone; the mission is a text.

    A cell is three categories: object, colour, state. They are no brightness, so that they are a
    MultiDiscrete here, which policies see as one input for each category.
    """
    from puffer_core import GymnasiumPufferEnv

    env = create_gymnasium(env_id, arguments)
    from gymnasium.wrappers import TransformObservation
    from minigrid.wrappers import ImgObsWrapper

    wrapper: Any = ImgObsWrapper  # without types
    env = wrapper(env)
    shape = env.observation_space.shape
    assert shape is not None
    cells = gymnasium.spaces.MultiDiscrete(np.broadcast_to(CATEGORIES, shape), dtype=np.uint8)
    return GymnasiumPufferEnv(TransformObservation(env, _same, cells), buf=buf, seed=seed)


def _same(observation: Any) -> Any:
    return observation


class AleEnvironment(GymnasiumEnvironment):
    """`ale/NAME`: `ale/Pong` is `ALE/Pong-v5`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"ALE/{name}" if "-v" in name else f"ALE/{name}-v5")
        self.name = self.reference = ALE + self.env_id.removeprefix("ALE/")

    @property
    def ini_files(self) -> list[Path]:
        """Settings for all games."""
        return [CONFIG / "gymnasium.ini", CONFIG / "ale.ini"]

    def arguments(self, raw: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
        """Those of ATARI with their values, and others for `gymnasium.make`."""
        return {**ATARI, **super().arguments(raw, origins)}

    def creator(self) -> Callable[..., PufferEnv]:
        """`make_ale` of this game."""
        return functools.partial(make_ale, self.env_id)


class MinigridEnvironment(GymnasiumEnvironment):
    """`minigrid/ID`: the environment of that id in Gymnasium, without its text."""

    def __init__(self, name: str) -> None:
        super().__init__(name if name.startswith(("MiniGrid-", "BabyAI-")) else f"MiniGrid-{name}")
        self.name = self.reference = MINIGRID + self.env_id

    @property
    def ini_files(self) -> list[Path]:
        """Settings for all of them."""
        return [CONFIG / "gymnasium.ini", CONFIG / "minigrid.ini"]

    def creator(self) -> Callable[..., PufferEnv]:
        """`make_minigrid` of this id."""
        return functools.partial(make_minigrid, self.env_id)


class PettingZooEnvironment:
    """`pettingzoo/FAMILY.NAME`, by its parallel API; arguments are those of the constructor."""

    native = False

    def __init__(self, name: str) -> None:
        self.family, _, self.module = name.partition(".")
        if self.family not in PARALLEL or not self.module:
            raise APIUsageError(
                f"{PETTINGZOO}{name}: expected {PETTINGZOO}FAMILY.NAME with a family of "
                f"{', '.join(PARALLEL)}, as in {PETTINGZOO}mpe.simple_spread_v3."
            )
        self.name = self.reference = PETTINGZOO + name
        _parallel(self.family, self.module)

    @property
    def ini_files(self) -> list[Path]:
        """Settings for all of PettingZoo, then those of the family."""
        return [CONFIG / "pettingzoo.ini", CONFIG / f"{self.family}.ini"]

    def arguments(self, raw: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
        """Values as Python literals, or texts; the constructor judges them."""
        del origins
        return {key: literal(value) for key, value in raw.items()}

    def meanings(self) -> dict[str, str]:
        """None: constructors do not say."""
        return {}

    def creator(self) -> Callable[..., PufferEnv]:
        """`make_pettingzoo` of this environment."""
        return functools.partial(make_pettingzoo, self.family, self.module)

    def agents(self, arguments: Mapping[str, Any]) -> int:
        """Agents of one environment, which is made and closed to ask it."""
        env = make_pettingzoo(self.family, self.module, **arguments)
        env.close()
        return env.num_agents


def make_pettingzoo(
    family: str,
    module: str,
    buf: Mapping[str, Any] | None = None,
    seed: int = 0,
    **arguments: Any,
) -> PufferEnv:
    """A PettingZoo environment as a PufferEnv.

    Raises:
        APIUsageError: its package is missing, or it does not take these arguments.
    """
    from puffer_core import PettingZooPufferEnv

    try:
        env = _parallel(family, module).parallel_env(**arguments)
    except TypeError as error:
        raise APIUsageError(
            f"{PETTINGZOO}{family}.{module} with {arguments}: TypeError: {error}"
        ) from error
    return PettingZooPufferEnv(env, buf=buf, seed=seed)


def _parallel(family: str, module: str) -> Any:
    """The module of an environment; only those of the families' packages can be named."""
    import pkgutil

    package, extra = PARALLEL[family]
    holder = import_package(package, extra, f"{PETTINGZOO}{family}")
    known = [m.name for m in pkgutil.iter_modules(holder.__path__) if "_v" in m.name]
    if module not in known:
        raise APIUsageError(f"{package} has no {module!r}; {did_you_mean(module, known)}")
    try:
        with warnings.catch_warnings():  # PettingZoo 1.26 wants its registry, which 1.24 lacks
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(f"{package}.{module}")
    except ImportError as error:
        raise APIUsageError(
            f"{PETTINGZOO}{family}.{module} needs `pip install 'puffer-cli[{extra}]'` ({error})."
        ) from error

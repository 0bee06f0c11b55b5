"""A sound Gymnasium environment, and one that is wrong in one way for each code of the checker."""

import itertools
import time
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

LIMIT = 60


class Walk(gymnasium.Env):
    """A walk on a line that ends outside of [-5, 5]; nothing is wrong with it."""

    observation_space = spaces.Box(-10, 10, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.position = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-0.5, 0.5)
        self.speed = 0.0
        self.ticks = 0
        self.over = False
        return self.observation(), {}

    def step(self, action):
        if self.position is None or self.over:
            raise RuntimeError("call reset() first")
        self.speed = (2 * action - 1) * 0.5 + self.np_random.normal(0, 0.1)
        self.position += self.speed
        self.ticks += 1
        terminated, truncated = self.ends()
        self.over = terminated or truncated
        return self.observation(), self.reward(), terminated, truncated, {}

    def ends(self):
        terminated = bool(abs(self.position) > 5)
        return terminated, self.ticks >= LIMIT and not terminated

    def observation(self):
        return np.array([self.position, self.speed], np.float32)

    def reward(self):
        return max(-1.0, -abs(self.position) / 5)


FAULTS = []  # (code, severity, class)


def fault(code, severity="error"):
    def register(cls):
        FAULTS.append((code, severity, cls))
        return cls

    return register


@fault("reset-return")
class ObservationOnly(Walk):
    def reset(self, **kwargs):
        return super().reset(**kwargs)[0]


@fault("step-return")
class FourValues(Walk):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


@fault("reset-seed")
class NoSeed(Walk):
    def reset(self):
        return super().reset(seed=0)


@fault("info-type")
class NoInfo(Walk):
    def step(self, action):
        return (*super().step(action)[:4], None)


@fault("flag-type", "warning")
class FlagIsOne(Walk):
    def ends(self):
        terminated, truncated = super().ends()
        return int(terminated), truncated


@fault("flag-type")
class FlagIsText(Walk):
    def step(self, action):
        observation, reward, *_ = super().step(action)
        return observation, reward, "no" if self.ticks < LIMIT else "", False, {}


@fault("space")
class NoSpace(Walk):
    observation_space = None


@fault("space")
class TextSpace(Walk):
    observation_space = spaces.Dict({"walk": Walk.observation_space, "tail": spaces.Text(5)})

    def observation(self):
        return {"walk": super().observation(), "tail": "ab"}


@fault("action-modified", "warning")
class ChangesAction(Walk):
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def step(self, action):
        result = super().step(float(action[0] > 0))
        action *= 2
        return result


@fault("observation-structure")
class MissingKey(Walk):
    observation_space = spaces.Dict({"walk": Walk.observation_space, "time": spaces.Discrete(99)})

    def observation(self):
        full = {"walk": super().observation(), "time": self.ticks}
        return full if self.ticks < 7 else {"walk": full["walk"]}


@fault("observation-structure")
class ShortTuple(Walk):
    observation_space = spaces.Tuple([Walk.observation_space, spaces.Discrete(99)])

    def observation(self):
        return (super().observation(),) if self.ticks == 9 else (super().observation(), self.ticks)


@fault("observation-shape")
class ExtraAxis(Walk):
    def observation(self):
        return super().observation()[None]


@fault("observation-dtype", "warning")
class DoublePrecision(Walk):
    def observation(self):
        return super().observation().astype(np.float64)


@fault("observation-dtype")
class FractionInIntegers(Walk):
    observation_space = spaces.Box(-10, 10, (2,), np.int16)


@fault("observation-dtype")
class WrapsAround(Walk):
    observation_space = spaces.Box(0, 255, (1,), np.uint8)

    def observation(self):
        return np.array([250 + int(abs(self.position))], np.int64) + (self.ticks > 20) * 9


@fault("observation-dtype")
class WordsForNumbers(Walk):
    def observation(self):
        return np.array(["left", "right"])


@fault("observation-nan")
class NotANumber(Walk):
    def observation(self):
        with np.errstate(all="ignore"):
            part = np.float32(0) / np.float32(self.ticks != 11)
        return np.array([self.position, part], np.float32)


@fault("observation-nan")
class InfiniteInside(Walk):
    observation_space = spaces.Dict({"a": spaces.Tuple([spaces.Box(-np.inf, np.inf, (2,))])})

    def observation(self):
        scale = np.inf if self.ticks == 20 else 1
        return {"a": (super().observation() * np.float32(scale),)}


@fault("observation-outside", "warning")
class TooLarge(Walk):
    observation_space = spaces.Box(-1, 1, (2,), np.float32)


@fault("observation-outside", "warning")
class TooLow(Walk):
    observation_space = spaces.Box(-1, 10, (2,), np.float32)


@fault("observation-outside", "warning")
class TooHigh(Walk):
    observation_space = spaces.Box(-10, 1, (2,), np.float32)


@fault("observation-outside")
class NoSuchChoice(Walk):
    observation_space = spaces.Dict(
        {"walk": Walk.observation_space, "time": spaces.Discrete(9, start=1)}
    )

    def observation(self):
        return {"walk": super().observation(), "time": self.ticks % 10}


@fault("observation-constant", "warning")
class Blind(Walk):
    def observation(self):
        return np.zeros(2, np.float32)


@fault("observation-reused", "note")
class SameArray(Walk):
    def observation(self):
        if self.position is None or not hasattr(self, "array"):
            self.array = np.zeros(2, np.float32)
        self.array[:] = super().observation()
        return self.array


@fault("observation-reused", "note")
class SameArrayInEpisode(SameArray):
    def reset(self, **kwargs):
        self.array = np.zeros(2, np.float32)
        return super().reset(**kwargs)


@fault("observation-alias", "note")
class StateItself(Walk):
    def reset(self, **kwargs):
        super().reset(**kwargs)
        self.state = super().observation()
        return self.state, {}

    def step(self, action):
        self.position = float(self.state[0])
        result = super().step(action)
        self.state = result[0]
        return result


@fault("reward-type")
class NoReward(Walk):
    def reward(self):
        return None


@fault("reward-type")
class RewardForEach(Walk):
    def reward(self):
        return np.zeros(2)


@fault("reward-nan")
class InfiniteReward(Walk):
    def reward(self):
        return -np.inf if self.ticks == 30 else 0.5 * self.ticks / LIMIT


@fault("reward-constant", "note")
class SameReward(Walk):
    def reward(self):
        return 1.0


@fault("reward-scale", "note")
class LargeReward(Walk):
    def reward(self):
        return 100 * super().reward()


@fault("episode-never-ends", "warning")
class Endless(Walk):
    def ends(self):
        self.position = float(np.clip(self.position, -5, 5))
        return False, False


@fault("reward-constant", "warning")
class NothingToLearn(Endless):
    def reward(self):
        return 1.0


@fault("silent-reset")
class ResetsItself(Walk):
    def ends(self):
        if abs(self.position) > 5:
            self.reset()
        return False, False


@fault("silent-reset", "warning")
class ForgetsTerminated(Walk):
    def ends(self):
        if abs(self.position) > 4.5:
            self.position = self.np_random.uniform(-0.5, 0.5)
            self.speed = 0.0
        return False, self.ticks >= LIMIT


@fault("silent-reset", "warning")
class BricksComeBack(Walk):
    """Not a number moves far, but many change at once."""

    observation_space = spaces.MultiBinary(40)

    def reset(self, **kwargs):
        self.bricks = np.ones(40, np.int8)
        return super().reset(**kwargs)

    def observation(self):
        standing = np.flatnonzero(self.bricks)
        if self.ticks and standing.size > 15:
            self.bricks[self.np_random.choice(standing)] = 0
        elif self.ticks:
            self.bricks[:] = 1
        return self.bricks.copy()


@fault("time-limit", "warning")
class LimitTerminates(Walk):
    def ends(self):
        self.position = float(np.clip(self.position, -5, 5))
        return self.ticks >= LIMIT, False


@fault("time-limit", "warning")
class SpecTerminates(Walk):
    spec = gymnasium.envs.registration.EnvSpec("Walk-v0", max_episode_steps=LIMIT)

    def ends(self):
        return bool(abs(self.position) > 5) or self.ticks >= LIMIT, False


@fault("time-limit", "note")
class LimitPiles(Walk):
    def ends(self):
        return bool(abs(self.position) > 5) or self.ticks >= 30, False


@fault("both-flags", "note")
class BothFlags(Walk):
    def ends(self):
        return bool(abs(self.position) > 5), bool(abs(self.position) > 5) or self.ticks >= LIMIT


@fault("seed-not-reproducible")
class Clockwork(Walk):
    def step(self, action):
        self.position += time.perf_counter_ns() % 97 * 1e-3
        return super().step(action)


@fault("seed-not-reproducible")
class GlobalNumpy(Walk):
    def step(self, action):
        self.position += np.random.random() * 0.1
        return super().step(action)


@fault("global-random", "warning")
class GlobalSeeded(Walk):
    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed)
        np.random.seed(self.np_random.integers(2**31))
        return result

    def step(self, action):
        self.position += np.random.random() * 0.1
        return super().step(action)


@fault("seed-first-episode")
class SeedOnce(Walk):
    def reset(self, *, seed=None, options=None):
        if seed is None:
            self.np_random = np.random.default_rng()
        return super().reset(seed=seed)


@fault("seed-ignored", "warning")
class SeedIgnored(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None if seed is None else 5)


@fault("seed-no-effect", "note")
class NoRandomness(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=0)


@fault("episodes-identical", "warning")
class SameEpisode(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=77 if seed is None else seed)


@fault("shared-state")
class ClassAttribute(Walk):
    bias: ClassVar = [0.0]

    def reset(self, **kwargs):
        self.bias[0] = 0.0
        return super().reset(**kwargs)

    def step(self, action):
        self.bias[0] = (self.bias[0] + 0.01) % 1
        self.position += self.bias[0]
        return super().step(action)


@fault("shared-state")
class ConstructorResets(Walk):
    """The creation of another instance disturbs this one."""

    drift = 0.0

    def __init__(self):
        super().__init__()
        type(self).drift = 0.0

    def reset(self, **kwargs):
        type(self).drift = 0.1
        return super().reset(**kwargs)

    def step(self, action):
        self.position += self.drift
        return super().step(action)


@fault("reset-leaks", "warning")
class KeepsDrift(Walk):
    drift = 0.0

    def step(self, action):
        self.drift += 1e-3
        self.position += self.drift % 0.2
        return super().step(action)


@fault("step-before-reset", "note")
class StartsAnyhow(Walk):
    def step(self, action):
        if self.position is None:
            self.reset()
        return super().step(action)


@fault("step-after-end", "note")
class GoesOn(Walk):
    def step(self, action):
        if getattr(self, "over", False):
            self.reset()
        return super().step(action)


@fault("close")
class CloseFails(Walk):
    def close(self):
        raise OSError("no window")


@fault("close-twice", "warning")
class ClosesOnce(Walk):
    def close(self):
        del self.position


@fault("exception")
class RaisesLate(Walk):
    steps = itertools.count()

    def step(self, action):
        if self.ticks == 20:
            raise ZeroDivisionError("speed is 0")
        return super().step(action)


@fault("exception")
class RaisesAtOnce(Walk):
    def __init__(self):
        raise FileNotFoundError("no maps")


@fault("kind")
class NoEnvironment:
    pass

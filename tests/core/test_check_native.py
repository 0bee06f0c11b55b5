"""The checker on PufferEnvs: every fault of buffers is found, sound ones have no findings."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import PufferEnv, check_env
from puffer_core.check import main_run, native_checks, twins

N = 3


class Walks(PufferEnv):
    """Three walks on a line; each ends outside of [-3, 3]. Nothing is wrong with it."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(-5, 5, (2,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = N
        super().__init__(buf)
        self.rng = np.random.default_rng(seed)
        self.started = False

    def reset(self, seed=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.started = True
        self.ticks = np.zeros(N, int)
        self.positions = np.zeros(N)
        for row in range(N):
            self.begin(row)
        return self.observations, []

    def begin(self, row):
        self.positions[row] = self.rng.uniform(-0.5, 0.5)
        self.ticks[row] = 0
        self.observations[row] = self.positions[row], 0

    def step(self, actions):
        if not self.started:
            raise RuntimeError("call reset() first")
        self.clear()
        moves = (2 * actions - 1) * 0.5
        self.positions += moves
        self.ticks += 1
        self.observations[:, 0] = self.positions
        self.observations[:, 1] = moves
        self.pay()
        self.terminals |= abs(self.positions) > 3
        self.truncations |= (self.ticks >= 30) & ~self.terminals
        for row in np.flatnonzero(self.terminals | self.truncations):
            self.end(row)
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def clear(self):
        self.terminals[:] = False
        self.truncations[:] = False

    def pay(self):
        self.rewards[:] = -abs(self.positions) / 5

    def end(self, row):
        self.final_observations[row] = self.observations[row]
        self.begin(row)


FAULTS = []


def fault(code, severity="error"):
    def register(cls):
        FAULTS.append((code, severity, cls))
        return cls

    return register


@fault("creator")
class NoKeywords(Walks):
    def __init__(self):
        super().__init__()


@fault("buffer-ignored")
class OwnBuffers(Walks):
    def __init__(self, buf=None, seed=0):
        super().__init__(None, seed)


@fault("buffer-rebound")
class Rebinds(Walks):
    def pay(self):
        self.rewards = (-abs(self.positions) / 5).astype(np.float32)


@fault("buffer-rebound")
class RebindsAtReset(Walks):
    def reset(self, seed=None):
        super().reset(seed)
        self.observations = self.observations.copy()
        return self.observations, []


@fault("buffer-outside")
class OneRowTooFar(Walks):
    def pay(self):
        super().pay()
        reach = np.lib.stride_tricks.as_strided(self.rewards, (N + 1,))
        reach[N] = 1


@fault("buffer-outside")
class OneRowBefore(Walks):
    def end(self, row):
        super().end(row)
        base = self.observations.base
        base[1] = 0


@fault("buffer-leftovers")
class RewardOnlyAtEnds(Walks):
    def pay(self):
        pass

    def end(self, row):
        super().end(row)
        self.rewards[row] = 1


@fault("buffer-leftovers")
class AddsToReward(Walks):
    def pay(self):
        self.rewards += 0.1


@fault("buffer-leftovers")
class LeavesObservations(Walks):
    def begin(self, row):
        super().begin(row)
        self.observations[row, 1] *= 1

    def reset(self, seed=None):
        kept = self.observations[:, 1].copy()
        result = super().reset(seed)
        self.observations[:, 1] = np.clip(kept, -5, 5)
        return result


@fault("flags-not-cleared")
class TerminalStays(Walks):
    def clear(self):
        self.truncations[:] = False


@fault("flags-not-cleared")
class NeverTruncates(Walks):
    """Leaves truncations alone, as if nobody had used the buffer before."""

    def clear(self):
        self.terminals[:] = False

    def step(self, actions):
        self.ticks[:] = 0
        return super().step(actions)


@fault("final-observation")
class NoFinal(Walks):
    def end(self, row):
        self.begin(row)


@fault("final-observation", "warning")
class NoFinalAtTerminals(NoFinal):
    def step(self, actions):
        self.ticks[:] = 0
        return super().step(actions)


@fault("final-observation-late")
class FinalAfterReset(Walks):
    def end(self, row):
        self.begin(row)
        self.final_observations[row] = self.observations[row]


@fault("info-type")
class InfoIsNone(Walks):
    def reset(self, seed=None):
        return super().reset(seed)[0], None


@fault("step-return")
class FourValues(Walks):
    def step(self, actions):
        return super().step(actions)[:4]


@fault("reset-return")
class NoInfos(Walks):
    def reset(self, seed=None):
        return super().reset(seed)[0]


@fault("observation-nan")
class NotANumber(Walks):
    def pay(self):
        super().pay()
        if self.ticks[N - 1] == 12:
            self.observations[N - 1, 1] = np.nan


@fault("reward-nan")
class RewardNaN(Walks):
    def pay(self):
        super().pay()
        if self.ticks[N - 1] == 12:
            self.rewards[N - 1] = np.nan


@fault("seed-first-episode")
class SeedsFirstEpisode(Walks):
    def end(self, row):
        self.rng = np.random.default_rng()
        super().end(row)


@fault("episodes-identical", "warning")
class SeedsEveryEpisode(Walks):
    def reset(self, seed=None):
        if seed is not None:
            self.seed = seed
        return super().reset(seed)

    def begin(self, row):
        self.rng = np.random.default_rng([self.seed, row])
        super().begin(row)


@fault("seed-ignored", "warning")
class SeedIgnored(Walks):
    def reset(self, seed=None):
        return super().reset(None if seed is None else 5)


@fault("shared-state")
class SharedGenerator(Walks):
    def reset(self, seed=None):
        if seed is not None:
            type(self).rng = np.random.default_rng(seed)
        vars(self).pop("rng", None)
        return super().reset()


@fault("silent-reset")
class NoFlags(Walks):
    def pay(self):
        super().pay()
        for row in np.flatnonzero(abs(self.positions) > 4.5):
            self.begin(row)

    def step(self, actions):
        self.ticks[:] = 0
        result = super().step(actions)
        self.terminals[:] = False
        return result

    def end(self, row):
        pass


@fault("time-limit", "warning")
class LimitTerminates(Walks):
    def pay(self):
        self.positions.clip(-2.5, 2.5, out=self.positions)
        super().pay()
        self.terminals |= self.ticks >= 30


@fault("step-before-reset", "note")
class StartsAnyhow(Walks):
    def step(self, actions):
        if not self.started:
            self.reset()
        return super().step(actions)


CONSEQUENCES = {
    "silent-reset": {"episode-never-ends"},
    "buffer-leftovers": {"reset-leaks"},
}


@pytest.mark.parametrize(
    ("code", "severity", "cls"), FAULTS, ids=[f"{code}-{cls.__name__}" for code, _, cls in FAULTS]
)
def test_a_planted_fault_is_found(code, severity, cls, monkeypatch):
    monkeypatch.setattr(main_run, "SEARCH", 3000)  # for speed, as the next lines
    monkeypatch.setattr(twins, "STEPS", 300)
    monkeypatch.setattr(native_checks, "STEPS", 300)
    report = check_env(cls, steps=1200)
    found = [finding for finding in report.findings if finding.code == code]
    assert {finding.severity for finding in found} == {severity}, str(report)
    loud = {finding.code for finding in report.findings if finding.severity != "note"}
    assert loud <= {code} | CONSEQUENCES.get(code, set()), str(report)


def test_a_sound_environment_has_no_findings():
    report = check_env(Walks, steps=2000)
    assert report.findings == [], str(report)
    assert (report.kind, report.name, report.steps) == ("PufferEnv", "Walks", 2000)
    assert report.episodes > 100


def test_last_and_first_observations_may_agree_by_chance():
    class Coin(Walks):
        def begin(self, row):
            super().begin(row)
            self.observations[row] = self.rng.integers(2), 0

        def pay(self):
            super().pay()
            self.observations[:] = 0
            self.observations[:, 0] = self.rng.integers(2, size=N)

    assert check_env(Coin, steps=500).findings == []


def test_a_constant_observation_has_equal_last_and_first_ones():
    class Bandit(Walks):
        def begin(self, row):
            super().begin(row)
            self.observations[row] = 1

        def pay(self):
            super().pay()
            self.observations[:] = 1

    assert "final-observation-late" not in {f.code for f in check_env(Bandit, steps=500).findings}


@pytest.mark.parametrize(
    "space",
    [spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2,), np.float32), spaces.Discrete(2)],
)
def test_every_kind_of_action(space):
    seen = []

    class Choices(Walks):
        def __init__(self, buf=None, seed=0):
            super().__init__(None, seed)
            self.single_action_space = space
            PufferEnv.__init__(self, buf)

        def step(self, actions):
            seen.append(actions.copy())
            return super().step(actions.reshape(N, -1)[:, 0] > 0)

    assert check_env(Choices, steps=100).findings == []
    actions = np.array(seen)
    assert actions.shape[1:] == (N, *(space.shape or ()))
    if isinstance(space, gymnasium.spaces.Box):
        assert actions.min() < -0.9
        assert actions.max() > 0.9
    else:
        counts = space.n if isinstance(space, spaces.Discrete) else space.nvec
        np.testing.assert_array_equal(
            actions.reshape(-1, *(space.shape or (1,))).max(0), counts - 1
        )

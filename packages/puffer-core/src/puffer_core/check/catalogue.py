"""Every kind of finding: its stable code, how bad it is, what it means, and the remedy."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


class Kind(NamedTuple):
    """What all findings of one code have in common."""

    severity: Severity
    what: str
    remedy: str


CATALOGUE = {
    # How the environment is called and what it returns.
    "exception": Kind(
        "error",
        "The environment raised an exception",
        "Fix the exception; the checks that come after it could not run.",
    ),
    "timeout": Kind(
        "error",
        "A call into the environment did not return in time",
        "Look for a loop without end; give slow environments more --seconds.",
    ),
    "kind": Kind(
        "error",
        "The creator returned no environment that can be checked",
        "Return a gymnasium.Env, a PettingZoo ParallelEnv (pettingzoo.utils.aec_to_parallel makes "
        "one of most AEC environments) or a PufferEnv.",
    ),
    "creator": Kind(
        "error",
        "The creator does not take the keywords of a vectorizer",
        "Take buf=None and seed=0 in the constructor and pass buf to super().__init__(buf).",
    ),
    "space": Kind(
        "error",
        "A space is missing or has no fixed size",
        "Set observation_space and action_space to Gymnasium spaces; replace Sequence, Graph, Text "
        "and OneOf by arrays padded to a greatest length.",
    ),
    "reset-return": Kind(
        "error",
        "reset() returns another form than (observation, info)",
        "Return (observation, info); shimmy converts environments of the old gym API.",
    ),
    "reset-seed": Kind(
        "error",
        "reset() does not take a seed",
        "Declare reset(self, *, seed=None, options=None) and call super().reset(seed=seed).",
    ),
    "step-return": Kind(
        "error",
        "step() returns another form than five values",
        "Return (observation, reward, terminated, truncated, info); shimmy converts environments "
        "of the old gym API.",
    ),
    "info-type": Kind(
        "error",
        "The info has the wrong type",
        "Return a dict (a PufferEnv: a list of dicts), empty if there is nothing to say.",
    ),
    "flag-type": Kind(
        "warning",
        "terminated or truncated is no bool",
        "Return bool(...) of it: other values are read as true or false by chance.",
    ),
    "agents": Kind(
        "error",
        "The agents in the returned dicts are not those that acted",
        "Return one entry for every agent that was given an action, and none for names that are "
        "not in possible_agents.",
    ),
    "action-modified": Kind(
        "warning",
        "step() changes the action array that it is given",
        "Copy the action before changing it: the array belongs to the caller.",
    ),
    # Observations.
    "observation-structure": Kind(
        "error",
        "The observation has another structure than its space",
        "Return exactly the keys and positions that the space declares.",
    ),
    "observation-shape": Kind(
        "error",
        "The observation has another shape than its space",
        "Make the space and the returned array agree.",
    ),
    "observation-dtype": Kind(
        "warning",
        "The observation has another dtype than its space",
        "Return arrays of the declared dtype, or declare the dtype that is returned.",
    ),
    "observation-nan": Kind(
        "error",
        "The observation holds NaN or infinity",
        "Find the division or logarithm that makes it: one such number ruins the policy.",
    ),
    "observation-outside": Kind(
        "warning",
        "The observation lies outside the declared bounds",
        "Clip it, or declare the true bounds (-inf and inf where there are none).",
    ),
    "observation-constant": Kind(
        "warning",
        "The observation never changes",
        "Write the new observation in step(); a policy cannot act on a constant.",
    ),
    "observation-reused": Kind(
        "note",
        "An observation that was returned earlier changes later",
        "Return a new array each time. Emulation copies at once, other programs may keep the "
        "object: a kept last observation would turn into the next first one.",
    ),
    "observation-alias": Kind(
        "note",
        "Writing into a returned observation changes the environment",
        "Return a copy of internal state, not the state itself. Emulation copies at once; a "
        "program that normalises in place would steer the environment.",
    ),
    # Rewards.
    "reward-type": Kind(
        "error", "The reward is no single number", "Return a float, such as float(reward)."
    ),
    "reward-nan": Kind(
        "error",
        "The reward is NaN or infinite",
        "Find the division or logarithm that makes it: one such number ruins the policy.",
    ),
    "reward-constant": Kind(
        "note",
        "The reward never changed",
        "If that is no sparse reward that random actions cannot find, compute it in step().",
    ),
    "reward-scale": Kind(
        "note",
        "Rewards lie outside [-1, 1]",
        "The trainer clips them to [-1, 1] by default: scale them in the environment, or change "
        "train.reward_clip.",
    ),
    # Episodes.
    "episode-never-ends": Kind(
        "warning",
        "Neither terminated nor truncated was ever set",
        "Set them when an episode ends, or add a time limit (gymnasium.wrappers.TimeLimit): "
        "without ends there are no episode statistics and values have no anchor.",
    ),
    "silent-reset": Kind(
        "warning",
        "The environment jumps back to a first observation without setting a flag",
        "Set terminated or truncated in the step that ends the episode, and leave the reset to "
        "the caller (a PufferEnv: reset in the same step, with the flag set).",
    ),
    "time-limit": Kind(
        "warning",
        "A time limit is reported as terminated",
        "Report it as truncated: after terminated the future counts as worth 0, although it was "
        "only cut. If the limit is part of the game, put the time left into the observation.",
    ),
    "both-flags": Kind(
        "note",
        "terminated and truncated are set together",
        "Terminal wins; set one if the other is not meant.",
    ),
    # Randomness.
    "seed-not-reproducible": Kind(
        "error",
        "The same seed and the same actions give different results",
        "Draw all randomness from self.np_random (a PufferEnv: a generator of its own) and seed "
        "it in reset(seed); no clock, no global generator, no order of a set.",
    ),
    "seed-first-episode": Kind(
        "error",
        "The seed determines the first episode only",
        "Draw what reset() needs from the seeded generator in every episode.",
    ),
    "seed-ignored": Kind(
        "warning",
        "Different seeds give the same results although episodes differ",
        "Seed the generator in reset(seed): all copies of the environment would play the same.",
    ),
    "seed-no-effect": Kind(
        "note",
        "Different seeds give the same results",
        "Right for a deterministic environment; otherwise use the seed in reset(seed).",
    ),
    "episodes-identical": Kind(
        "warning",
        "Every episode begins with the same observation although seeds give different ones",
        "Seed the generator only when reset() is given a seed; without one, continue its stream.",
    ),
    "global-random": Kind(
        "warning",
        "The environment uses the global generator of numpy or Python",
        "Use self.np_random: a global generator is shared by all instances in a process.",
    ),
    "shared-state": Kind(
        "error",
        "Two instances influence each other",
        "Keep state in self, set in __init__ or reset(); no class attributes, globals, default "
        "arguments that change, or files of a fixed name.",
    ),
    "reset-leaks": Kind(
        "warning",
        "State of an earlier episode survives reset(seed)",
        "Set everything that step() changes in reset().",
    ),
    # Life of an instance.
    "step-before-reset": Kind(
        "note",
        "step() before the first reset() is accepted",
        "Raise an exception that says so: the results mean nothing.",
    ),
    "step-after-end": Kind(
        "note",
        "step() after the end of an episode goes on as if nothing had happened",
        "Raise an exception that says so, or keep the flag set.",
    ),
    "close": Kind("error", "close() raised an exception", "Let close() free what there is."),
    "close-twice": Kind(
        "warning",
        "A second close() raised an exception",
        "Remember what is freed: programs close in finally blocks and again at exit.",
    ),
    # Buffers of a PufferEnv.
    "buffer-ignored": Kind(
        "error",
        "The environment does not use the buffers that it is given",
        "Pass buf to super().__init__(buf): a vectorizer would read zeros for ever.",
    ),
    "buffer-rebound": Kind(
        "error",
        "The environment replaces a buffer by another array",
        "Write in place, self.observations[:] = ..., and never assign the attribute.",
    ),
    "buffer-outside": Kind(
        "error",
        "The environment writes outside its own rows",
        "Check the indices: these rows belong to other environments.",
    ),
    "buffer-leftovers": Kind(
        "error",
        "Results depend on what the buffers held before",
        "Write every observation in reset(), and every reward in every step.",
    ),
    "flags-not-cleared": Kind(
        "error",
        "terminals or truncations keep old values",
        "Write both in every step, False where no episode ended: self.terminals[:] = False.",
    ),
    "final-observation": Kind(
        "warning",
        "final_observations is not written when an episode ends",
        "Copy the last observation there before writing the first one of the next episode: "
        "the value of a truncated episode is computed from it.",
    ),
    "final-observation-late": Kind(
        "error",
        "final_observations holds the first observation of the next episode",
        "Copy the last observation before resetting.",
    ),
    # About the check itself.
    "stopped-early": Kind(
        "note",
        "The time ran out before all steps were taken",
        "Allow more --seconds for a complete check.",
    ),
}

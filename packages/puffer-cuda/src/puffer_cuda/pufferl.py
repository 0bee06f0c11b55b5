"""PuffeRL: recurrent PPO on segments. The trainer, from top to bottom."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda import checkpoint, trainer_state
from puffer_cuda.adapter import PolicyAdapter
from puffer_cuda.advantage import advantages
from puffer_cuda.config import TrainConfig
from puffer_cuda.device import choose_device, limit_threads
from puffer_cuda.distributed import World
from puffer_cuda.errors import DivergedError, NonFiniteError
from puffer_cuda.legacy import TRAINER_NAMES
from puffer_cuda.logbook import Logbook, Logger, Logs
from puffer_cuda.loss import moments, ppo_loss
from puffer_cuda.optimizer import make_optimizer
from puffer_cuda.plan import plan
from puffer_cuda.profile import Profile
from puffer_cuda.rollout import Rollout
from puffer_cuda.sampling import sample_logits
from puffer_cuda.schedule import Coefficients, coefficients
from puffer_cuda.segments import importance_weights, priorities, shuffled_passes
from puffer_cuda.selfplay import Opponents

__all__ = ["DivergedError", "Logger", "Logs", "NonFiniteError", "PuffeRL"]

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class PuffeRL:
    """Trains `policy` on `vecenv`.

    Call `evaluate()` (collect a rollout) and `train()` (learn from it) in turns until `epoch`
    reaches `total_epochs`, then `close()`. Under `torchrun`, with `puffer_cuda.distributed`, all
    processes do so together.

    Attributes:
        backend: "torch".
        epoch: updates so far.
        global_step: agent steps so far, of all processes.
        skipped_updates, skipped_in_a_row: updates that were not finite.
        total_epochs, total_timesteps: of the whole run; steps are rounded up to epochs.
        model_size: number of parameters.
    """

    backend = "torch"

    def __init__(
        self,
        config: TrainConfig | Mapping[str, Any],
        vecenv: Any,
        policy: nn.Module,
        logger: Logger | None = None,
    ) -> None:
        """Check the sizes, move the policy to its device and reset the environments.

        Args:
            config: the [train] section, typed or as a mapping.
            vecenv: a vectorizer of puffer_vector, not yet stepped.
            policy: `puffer_cuda.policy.Policy` or any module as PolicyAdapter takes it.
            logger: gets the logs of every epoch; its errors are reported and do not stop training.

        Raises:
            APIUsageError: sizes that do not fit, or a device that is not there.
            pydantic.ValidationError: an unknown key or a wrong value in `config`.
        """
        self.config = c = TrainConfig.model_validate(dict(config))
        self.world = World()
        self.plan = plan(c, vecenv.num_agents, self.world.size)
        self.total_epochs = self.plan.total_epochs
        self.total_timesteps = self.plan.total_timesteps
        self.device = choose_device(c.device)
        limit_threads(c.threads)
        self.vecenv = vecenv
        self.logbook = Logbook(logger if self.world.rank == 0 else None)
        self.policy = policy.to(self.device)
        self.world.same_weights(policy)
        space = vecenv.single_observation_space
        zeros = torch.zeros((1, *space.shape), dtype=_torch_dtype(space), device=self.device)
        self.adapter = PolicyAdapter(policy, zeros, PRECISIONS[c.precision], c.compile)
        self.model_size = sum(parameter.numel() for parameter in policy.parameters())
        self.optimizer = make_optimizer(c, policy.parameters())
        # Every process has its own environments and random numbers.
        seed = c.seed + self.world.rank * vecenv.num_agents
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self.profile = Profile()
        self.rollout = Rollout(
            vecenv, self.adapter, c, self.device, self.generator, self.profile, seed
        )
        self.epoch = 0
        self.global_step = 0
        self.skipped_updates = 0
        self.skipped_in_a_row = 0

    def __getattr__(self, name: str) -> Any:
        """Names of PufferLib 3.0's trainer; legacy.py has the table."""
        if name not in TRAINER_NAMES:
            raise AttributeError(f"PuffeRL has no attribute {name!r}")
        return operator.attrgetter(TRAINER_NAMES[name])(self)

    @property
    def opponents(self) -> Opponents | None:
        """Who plays in a share of the environments; None: the policy plays everywhere."""
        return self.rollout.opponents

    def play_against(self, opponents: Opponents) -> None:
        """Let opponents play, beginning with the first rollout.

        Raises:
            APIUsageError: several processes, whose pools would be several.
        """
        if self.world.size > 1:
            raise APIUsageError("self-play runs in one process; start it without torchrun.")
        self.rollout.opponents = opponents

    @property
    def uptime(self) -> float:
        """Seconds of training so far, those of earlier processes included."""
        return self.logbook.uptime

    @property
    def logs(self) -> Logs:
        """What the last `train()` returned."""
        return self.logbook.logs

    def evaluate(self) -> None:
        """Collect one rollout with the current policy."""
        before = self.rollout.steps
        with self.profile("rollout"):
            self.rollout.collect()
        self.global_step += self.world.sum_int(self.rollout.steps - before)

    def train(self) -> Logs:
        """Update the policy from the last rollout.

        Returns:
            The logs, as `mean_and_log` makes them.

        Raises:
            DivergedError: `max_skipped_updates` updates in a row were not finite.
        """
        values = coefficients(self.config, self.epoch, self.total_epochs)
        with self.profile("train"):
            self.losses = self._update(values)
        self.epoch += 1
        self.losses["learning_rate"] = values.learning_rate
        return self.mean_and_log()

    def _update(self, values: Coefficients) -> dict[str, float]:
        c, rollout, sizes, world = self.config, self.rollout, self.plan, self.world
        for group in self.optimizer.param_groups:
            group["lr"] = values.learning_rate
        used = slice(0, rollout.segments)
        masks = rollout.masks[used]
        ratios = torch.ones_like(rollout.rewards[used])
        weights = torch.ones(sizes.minibatch_segments, 1, device=self.device)
        # More rows than agents where batches came in any order; every one gets its turn.
        minibatches = round(sizes.minibatches * rollout.segments / sizes.num_agents)
        order = shuffled_passes(
            rollout.segments, sizes.minibatch_segments, minibatches, self.generator, self.device
        )
        totals: dict[str, Tensor] = {}
        updates = 0
        for chosen in order:
            with self.profile("train/advantage"):
                if c.vtrace or not updates:  # GAE does not change from update to update
                    estimate = advantages(
                        rollout.rewards[used],
                        rollout.terminals[used],
                        rollout.truncations[used],
                        rollout.values[used],
                        rollout.final_values[used],
                        ratios,
                        c.gamma,
                        c.gae_lambda,
                        c.rho_clip,
                        c.c_clip,
                    )
                if c.prio_alpha:
                    chances = priorities(estimate * masks, c.prio_alpha)
                    chosen = torch.multinomial(
                        chances, len(chosen), replacement=True, generator=self.generator
                    )
                    weights = importance_weights(chances, chosen, values.prio_beta)[:, None]
                whole = moments(estimate[chosen], masks[chosen], world.sum)
            self.optimizer.zero_grad()
            figures: dict[str, Tensor] = {}
            new_ratios = []
            parts = zip(
                *(torch.split(x, sizes.part_segments) for x in (chosen, weights)), strict=True
            )
            for part, weight in parts:
                with self.profile("train/forward"):
                    logits, new_values = self.adapter.learn(
                        rollout.observations[part],
                        tuple(state[part] for state in rollout.initial_state),
                        rollout.starts[part],
                    )
                    allowed = None if rollout.allowed is None else rollout.allowed[part]
                    _, log_probs, entropy = sample_logits(
                        logits, rollout.actions[part], allowed=allowed
                    )
                    loss = ppo_loss(
                        log_probs,
                        rollout.log_probs[part],
                        entropy,
                        new_values,
                        rollout.values[part, :-1],
                        estimate[part],
                        weight,
                        masks[part],
                        c.clip_coef,
                        c.vf_coef,
                        c.vf_clip_coef,
                        values.ent_coef,
                        whole,
                    )
                with self.profile("train/backward"):
                    loss.total.backward()  # type: ignore[no-untyped-call]
                new_ratios.append(loss.ratios)
                _add(figures, loss.figures)
            with self.profile("train/optimizer"):
                world.sum_gradients(self.policy.parameters())
                grad_norm = nn.utils.clip_grad_norm_(self.policy.parameters(), c.max_grad_norm)
                if self._finite(grad_norm):
                    self.optimizer.step()
                    ratios[chosen] = torch.cat(new_ratios)
                    updates += 1
                    figures = {name: world.sum(figure) for name, figure in figures.items()}
                    _add(totals, {**figures, "grad_norm": grad_norm})
                    if c.target_kl and float(figures["approx_kl"]) > c.target_kl:
                        break
        losses = {name: float(total) / updates for name, total in totals.items()}
        losses["updates"] = updates
        losses["ent_coef"] = values.ent_coef
        losses["explained_variance"] = self._explained_variance(estimate)
        return losses

    def _finite(self, grad_norm: Tensor) -> bool:
        """False when this update must not touch the weights; raises when that goes on.

        A loss that is not finite has a gradient that is not.
        """
        if bool(torch.isfinite(grad_norm)):
            self.skipped_in_a_row = 0
            return True
        self.skipped_updates += 1
        self.skipped_in_a_row += 1
        if self.skipped_in_a_row >= self.config.max_skipped_updates:
            raise DivergedError(
                f"{self.skipped_in_a_row} updates in a row had a loss or gradient that is not "
                f"finite (epoch {self.epoch}, step {self.global_step}); the weights are those of "
                "the last finite update. A lower train.learning_rate often helps."
            )
        return False

    def _explained_variance(self, estimate: Tensor) -> float:
        """1 - Var(A) / Var(R), R = A + V; 0 where returns do not vary. Of this process."""
        used = slice(0, self.rollout.segments)
        mask = self.rollout.masks[used]
        returns = (estimate + self.rollout.values[used, :-1])[mask]
        if returns.numel() < 2 or float(returns.var()) == 0:
            return 0.0
        return float(1 - estimate[mask].var() / returns.var())

    def mean_and_log(self) -> Logs:
        """Make the logs of the epoch, of all processes together, and give them to the logger.

        Returns:
            agent_steps, SPS, uptime, epoch, learning_rate, environment/* (means over the episodes
            that ended since the last call), losses/* and performance/* (seconds by phase since the
            start), and selfplay/* with opponents. Names are all that a reader can rely on.
        """
        rollout = self.rollout
        losses = {**self.losses, "skipped_updates": self.skipped_updates}
        losses["clipped_rewards"] = rollout.rewards_of.clipped_share
        losses["non_finite"] = rollout.non_finite
        logs = self.logbook.begin(self.global_step, self.epoch, losses.pop("learning_rate"))
        for name, value in rollout.statistics.means(self.world.gather).items():
            logs[f"environment/{name}"] = value
        for name, value in losses.items():
            logs[f"losses/{name}"] = value
        for name, value in self.profile.seconds.items():
            logs[f"performance/{name}"] = value
        if self.opponents is not None:
            logs.update(self.opponents.logs())
        self.logbook.hand_on(logs, self.global_step)
        return logs

    def save_checkpoint(self, folder: Path | str) -> Path:
        """Write weights, optimizer state and counters below `folder`; see checkpoint.py."""
        arrays, reason = trainer_state.environments(self)
        numbers = trainer_state.counters(self)
        return checkpoint.save(
            Path(folder),
            self.global_step,
            self.policy,
            self.rollout.observations[:8, 0],
            self.optimizer,
            {"global_step": self.global_step, "environments_not_saved": reason, **numbers},
            trainer_state.tensors(self),
            arrays,
        )

    def load_checkpoint(self, folder: Path | str) -> str:
        """Go on where a checkpoint was written: on the CPU, byte for byte.

        Args:
            folder: of a trainer with the same policy, optimizer and number of agents.

        Returns:
            What could not be saved, and therefore starts anew; empty if nothing.

        Raises:
            APIUsageError: the checkpoint is damaged, or of something else.
        """
        loaded = checkpoint.load(Path(folder), self.policy, self.optimizer)
        trainer_state.restore(self, loaded.trainer, loaded.tensors, loaded.arrays)
        return str(loaded.trainer["environments_not_saved"])

    def continue_clock(self, uptime: float) -> None:
        """Let `uptime` go on from that of an earlier process."""
        self.logbook.continue_from(uptime, self.global_step)

    def print_dashboard(self, clear: bool = False) -> None:
        """Print the last logs as plain lines; the `puffer` command has a live one."""
        self.logbook.print(clear)

    def close(self) -> None:
        """Close the environments."""
        self.vecenv.close()


def _add(totals: dict[str, Tensor], figures: Mapping[str, Tensor]) -> None:
    for name, figure in figures.items():
        totals[name] = totals[name] + figure.detach() if name in totals else figure.detach()


def _torch_dtype(space: Any) -> torch.dtype:
    return torch.from_numpy(space.low[..., None][:0]).dtype

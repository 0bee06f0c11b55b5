"""PuffeRL: recurrent PPO on segments. The trainer, from top to bottom."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from puffer_cuda import checkpoint, trainer_state
from puffer_cuda.adapter import PolicyAdapter
from puffer_cuda.advantage import advantages
from puffer_cuda.config import TrainConfig
from puffer_cuda.device import choose_device, limit_threads
from puffer_cuda.loss import ppo_loss
from puffer_cuda.muon import Muon
from puffer_cuda.plan import plan
from puffer_cuda.profile import Profile
from puffer_cuda.rollout import Rollout
from puffer_cuda.sampling import sample_logits
from puffer_cuda.schedule import cosine, linear
from puffer_cuda.segments import importance_weights, priorities, shuffled_passes

Logs = dict[str, float]


class DivergedError(RuntimeError):
    """Too many updates in a row had a loss or gradient that is not finite."""


class PuffeRL:
    """Trains `policy` on `vecenv`.

    Call `evaluate()` (collect a rollout) and `train()` (learn from it) in turns until `epoch`
    reaches `total_epochs`, then `close()`.

    Attributes:
        backend: "torch".
        epoch: updates so far.
        global_step: agent steps so far.
        skipped_updates, skipped_in_a_row: updates that were not finite.
        total_epochs, total_timesteps: of the whole run; steps are rounded up to epochs.
        model_size: number of parameters.
        logs: what the last `train()` returned.
    """

    backend = "torch"

    def __init__(
        self, config: TrainConfig | Mapping[str, Any], vecenv: Any, policy: nn.Module
    ) -> None:
        """Check the sizes, move the policy to its device and reset the environments.

        Args:
            config: the [train] section, typed or as a mapping.
            vecenv: a vectorizer of puffer_vector, not yet stepped.
            policy: `puffer_cuda.policy.Policy` or any module as PolicyAdapter takes it.

        Raises:
            APIUsageError: sizes that do not fit, or a device that is not there.
            pydantic.ValidationError: an unknown key or a wrong value in `config`.
        """
        self.config = c = TrainConfig.model_validate(dict(config))
        self.plan = plan(c, vecenv.num_agents)
        self.total_epochs = self.plan.total_epochs
        self.total_timesteps = self.plan.total_timesteps
        self.device = choose_device(c.device)
        limit_threads(c.threads)
        self.vecenv = vecenv
        self.policy = policy.to(self.device)
        self.adapter = PolicyAdapter(policy)
        self.model_size = sum(parameter.numel() for parameter in policy.parameters())
        self.optimizer = self._make_optimizer()
        self.generator = torch.Generator(self.device).manual_seed(c.seed)
        self.profile = Profile()
        self.rollout = Rollout(
            vecenv,
            self.adapter,
            c.horizon,
            c.reward_scale,
            c.reward_clip,
            c.seed,
            self.device,
            self.generator,
            self.profile,
        )
        self.epoch = 0
        self.skipped_updates = 0
        self.logs: Logs = {}
        self.skipped_in_a_row = 0
        self._start = time.perf_counter()
        self._last_log = (0, 0.0)

    def _make_optimizer(self) -> torch.optim.Optimizer:
        c, parameters = self.config, list(self.policy.parameters())
        if c.optimizer == "adamw":
            return torch.optim.AdamW(
                parameters, c.learning_rate, (c.beta1, c.beta2), c.eps, c.weight_decay
            )
        betas = (0.9, c.beta2)  # of the vectors' AdamW steps; beta1 is the matrices' momentum
        return Muon(
            parameters, c.learning_rate, c.beta1, c.weight_decay, c.adamw_ratio, betas, c.eps
        )

    @property
    def global_step(self) -> int:
        """Agent steps so far."""
        return self.rollout.steps

    @property
    def uptime(self) -> float:
        """Seconds since the trainer was made."""
        return time.perf_counter() - self._start

    def evaluate(self) -> None:
        """Collect one rollout with the current policy."""
        with self.profile("rollout"):
            self.rollout.collect()

    def train(self) -> Logs:
        """Update the policy from the last rollout.

        Returns:
            Logs by name: agent_steps, SPS, uptime, epoch, learning_rate, environment/*, losses/*
            and performance/* (seconds by phase since the start).

        Raises:
            DivergedError: `max_skipped_updates` updates in a row were not finite.
        """
        with self.profile("train"):
            learning_rate, losses = self._update()
        self.epoch += 1
        self.logs = self._make_logs(learning_rate, losses)
        return self.logs

    def _update(self) -> tuple[float, dict[str, float]]:
        c, rollout, sizes = self.config, self.rollout, self.plan
        done = self.epoch * sizes.batch_size
        learning_rate = c.learning_rate
        if c.anneal_lr:
            learning_rate = cosine(learning_rate, c.min_lr_ratio, done, self.total_timesteps)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        beta = linear(c.prio_beta0, 1.0, done, self.total_timesteps)

        agents = sizes.num_agents
        ratios = torch.ones_like(rollout.rewards)
        weights = torch.ones(sizes.minibatch_segments, 1, device=self.device)
        order = shuffled_passes(
            agents, sizes.minibatch_segments, sizes.minibatches, self.generator, self.device
        )
        totals: dict[str, Tensor] = {}
        updates = 0
        for chosen in order:
            with self.profile("train/advantage"):
                estimate = advantages(
                    rollout.rewards,
                    rollout.terminals,
                    rollout.truncations,
                    rollout.values,
                    rollout.final_values,
                    ratios,
                    c.gamma,
                    c.gae_lambda,
                    c.rho_clip,
                    c.c_clip,
                )
                if c.prio_alpha:
                    chances = priorities(estimate * rollout.masks, c.prio_alpha)
                    chosen = torch.multinomial(
                        chances, len(chosen), replacement=True, generator=self.generator
                    )
                    weights = importance_weights(chances, chosen, beta)[:, None]
            with self.profile("train/forward"):
                logits, values = self.adapter.learn(
                    rollout.observations[chosen],
                    tuple(state[chosen] for state in rollout.initial_state),
                    rollout.starts[chosen],
                )
                _, log_probs, entropy = sample_logits(logits, rollout.actions[chosen])
                loss = ppo_loss(
                    log_probs,
                    rollout.log_probs[chosen],
                    entropy,
                    values,
                    rollout.values[chosen, :-1],
                    estimate[chosen],
                    weights,
                    rollout.masks[chosen],
                    c.clip_coef,
                    c.vf_coef,
                    c.vf_clip_coef,
                    c.ent_coef,
                )
            with self.profile("train/backward"):
                self.optimizer.zero_grad()
                loss.total.backward()  # type: ignore[no-untyped-call]
                grad_norm = nn.utils.clip_grad_norm_(self.policy.parameters(), c.max_grad_norm)
            with self.profile("train/optimizer"):
                if self._finite(loss.total, grad_norm):
                    self.optimizer.step()
                    ratios[chosen] = loss.ratios
                    updates += 1
                    for name, figure in (*loss.figures.items(), ("grad_norm", grad_norm)):
                        totals[name] = totals.get(name, 0.0) + figure.detach()
        losses = {name: float(total) / updates for name, total in totals.items()}
        losses["explained_variance"] = self._explained_variance(estimate)
        losses["skipped_updates"] = self.skipped_updates
        losses["clipped_rewards"] = rollout.clipped_rewards / max(rollout.steps, 1)
        return learning_rate, losses

    def _finite(self, loss: Tensor, grad_norm: Tensor) -> bool:
        """False when this update must not touch the weights; raises when that goes on."""
        if bool(torch.isfinite(loss.detach() + grad_norm)):
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
        """1 - Var(A) / Var(R), R = A + V; 0 where returns do not vary."""
        mask = self.rollout.masks
        returns = (estimate + self.rollout.values[:, :-1])[mask]
        if returns.numel() < 2 or float(returns.var()) == 0:
            return 0.0
        return float(1 - estimate[mask].var() / returns.var())

    def _make_logs(self, learning_rate: float, losses: dict[str, float]) -> Logs:
        steps, uptime = self.global_step, self.uptime
        last_steps, last_uptime = self._last_log
        self._last_log = (steps, uptime)
        logs: Logs = {
            "agent_steps": steps,
            "SPS": (steps - last_steps) / (uptime - last_uptime),
            "uptime": uptime,
            "epoch": self.epoch,
            "learning_rate": learning_rate,
        }
        for name, value in self.rollout.statistics.means().items():
            logs[f"environment/{name}"] = value
        for name, value in losses.items():
            logs[f"losses/{name}"] = value
        for name, value in self.profile.seconds.items():
            logs[f"performance/{name}"] = value
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
        self._start = time.perf_counter() - uptime
        self._last_log = (self.global_step, uptime)

    def print_dashboard(self, clear: bool = False) -> None:
        """Print the last logs as plain lines; the `puffer` command has a live one."""
        if clear and os.isatty(1):
            print("\033[2J\033[H", end="")
        for name, value in self.logs.items():
            print(f"{name:32} {value:,.6g}")

    def close(self) -> None:
        """Close the environments."""
        self.vecenv.close()

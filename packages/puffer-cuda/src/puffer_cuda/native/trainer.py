"""PuffeRL native: the same trainer as `puffer_cuda.pufferl.PuffeRL`, its work done in C++.

The policy's and the optimizer's Torch tensors are views of the native trainer's memory, so that
checkpoints, evaluation and whatever else reads them are those of the Torch trainer. On a GPU they
are views of its copies in the CPU's memory: weights are current after each `train()`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda import checkpoint, finite
from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.device import choose_device, gpu_of, limit_threads
from puffer_cuda.distributed import World
from puffer_cuda.errors import DivergedError, NonFiniteError
from puffer_cuda.logbook import Logbook, Logger, Logs
from puffer_cuda.native import library
from puffer_cuda.native.handle import FIGURES, Handle
from puffer_cuda.native.support import unsupported_objects, unsupported_on_gpu
from puffer_cuda.networks import MLP
from puffer_cuda.optimizer import make_optimizer
from puffer_cuda.plan import plan
from puffer_cuda.policy import Policy
from puffer_cuda.profile import Profile
from puffer_cuda.schedule import Coefficients, coefficients
from puffer_cuda.statistics import EpisodeStatistics
from puffer_cuda.teams import agents_per_env
from puffer_vector.plan import available_cpus


class NativePuffeRL:
    """Trains `policy` on C environments; use and attributes are those of `PuffeRL`.

    Given the seed, results do not depend on the number of threads.

    Attributes:
        backend: "native".
        device: where the policy's tensors are: the CPU, even if a GPU learns.
        rollout: the last rollout as tensors, named as in `puffer_cuda.rollout.Rollout`; on a GPU
            after `handle.to_host()`.
    """

    backend = "native"

    opponents = None

    def __init__(
        self,
        config: TrainConfig | Mapping[str, Any],
        vecenv: Any,
        policy: nn.Module,
        logger: Logger | None = None,
        vec: VecConfig | None = None,
    ) -> None:
        """Check the sizes, move the policy into native memory and reset the environments.

        Args:
            config: the [train] section, typed or as a mapping.
            vecenv: the native vectorizer of a C environment, not yet stepped.
            policy: a `puffer_cuda.policy.Policy` with an MLP or MinGRU; its weights are the start.
            logger: gets the logs of every epoch; its errors are reported and do not stop training.
            vec: the [vec] section: where and in how many parts the environments step; None: its
                defaults.

        Raises:
            APIUsageError: sizes that do not fit, or something that the native trainer lacks.
            NotBuiltError: the native library is missing, or cannot be compiled for the GPU.
        """
        self.config = c = TrainConfig.model_validate(dict(config))
        self.world = World()
        self.plan = plan(c, vecenv.num_agents, self.world.size)
        if reason := unsupported_objects(vecenv, policy):
            raise APIUsageError(f"the native backend cannot train this: {reason}.")
        assert isinstance(policy, Policy)
        gpu = gpu_of(choose_device(c.device))
        if vec and (reason := unsupported_on_gpu(vec, "native", gpu is not None)):
            raise APIUsageError(f"{reason}.")
        if gpu is not None:
            library.load_cuda(gpu)  # takes a minute at its first use, or fails
        self.total_epochs = self.plan.total_epochs
        self.total_timesteps = self.plan.total_timesteps
        self.device = torch.device("cpu")
        self.vecenv, self.policy = vecenv, policy
        self.logbook = Logbook(logger if self.world.rank == 0 else None)
        self.model_size = sum(parameter.numel() for parameter in policy.parameters())
        self.profile = Profile()
        self.statistics = EpisodeStatistics()
        # Every process has its own environments and random numbers.
        seed = c.seed + self.world.rank * vecenv.num_agents
        vecenv.async_reset(seed)
        vecenv.recv()
        limit_threads(c.threads)  # of torch, for evaluation
        env, vec = vecenv.driver_env, vec or VecConfig.model_validate({})
        threads = c.threads or vec.num_threads or available_cpus()
        self.handle = Handle(
            c, _policy_config(policy), self.plan, env, vec, threads, gpu, self.world, seed
        )
        self._log_fields = ("episode_return", "episode_length", *env.log_fields)
        self._adopt_parameters()
        # It only holds the native one's state, for checkpoints.
        self.optimizer = make_optimizer(c, policy.parameters())
        self.rollout = self._make_rollout()
        self.epoch = 0
        self._steps_of_others = 0

    def _adopt_parameters(self) -> None:
        """Let the policy's parameters live in native memory, with the values of rank 0."""
        values = self.world.share(dict(self.policy.named_parameters()))
        with torch.no_grad():
            for name, parameter in self.policy.named_parameters():
                view = self.handle.tensors[f"weights/{name}"]
                view.copy_(values[name])
                parameter.data = view
        self.handle.to_device()

    def _optimizer_state(self) -> dict[Tensor, dict[str, Tensor]]:
        """The state of every parameter as Torch's optimizer names it; views, but for the step."""
        tensors = self.handle.tensors
        state: dict[Tensor, dict[str, Tensor]] = {}
        muon = self.config.optimizer == "muon"
        mean, square = ("mean", "square") if muon else ("exp_avg", "exp_avg_sq")
        step_dtype = torch.int64 if muon else torch.float32
        for name, parameter in self.policy.named_parameters():
            momentum = tensors[f"momentum/{name}"]
            if muon and parameter.dim() >= 2:
                state[parameter] = {"momentum": momentum}
            else:
                state[parameter] = {
                    "step": tensors["adamw_steps"][0].to(step_dtype, copy=True),
                    mean: momentum,
                    square: tensors[f"square/{name}"],
                }
        return state

    def _make_rollout(self) -> SimpleNamespace:
        prefix = "rollout/"
        flags = {"terminals", "truncations", "masks", "starts", "action_masks"}
        tensors = {
            name.removeprefix(prefix): tensor
            for name, tensor in self.handle.tensors.items()
            if name.startswith(prefix)
        }
        for name in flags & tensors.keys():
            tensors[name] = tensors[name].view(torch.bool)
        shape = self.vecenv.single_observation_space.shape
        observations = tensors["observations"]
        tensors["observations"] = observations.view(*observations.shape[:2], *shape)
        return SimpleNamespace(**tensors)

    @property
    def global_step(self) -> int:
        """Agent steps so far, of all processes."""
        return int(self.handle.counters.steps) + self._steps_of_others

    @property
    def skipped_updates(self) -> int:
        """Updates that were not finite."""
        return int(self.handle.counters.skipped_updates)

    @property
    def uptime(self) -> float:
        """Seconds of training so far, those of earlier processes included."""
        return self.logbook.uptime

    @property
    def logs(self) -> Logs:
        """What the last `train()` returned."""
        return self.logbook.logs

    def evaluate(self) -> None:
        """Collect one rollout with the current policy.

        Raises:
            NonFiniteError: the environment returned a number that is not finite.
            DivergedError: the policy did.
        """
        before = int(self.handle.counters.steps)
        with self.profile("rollout"):
            seconds, value_sum = self.handle.collect()
            self.profile.seconds["rollout/env"] += seconds
        steps = int(self.handle.counters.steps) - before
        self._steps_of_others += self.world.sum_int(steps) - steps
        if not math.isfinite(value_sum):
            self.handle.to_host()
            self._blame()

    def _blame(self) -> NoReturn:
        """Find out why values are not finite: the first such observation, or the policy."""
        last = torch.from_numpy(self.vecenv.driver_env.observations)[:, None]
        observations = torch.cat((self.rollout.observations, last), 1)
        for t in range(observations.shape[1]):
            bad = finite.bad_rows(observations[:, t], False)
            if bad.any():
                agent = int(bad.nonzero()[0])
                what = finite.describe(observations[:, t], agent, False)
                raise NonFiniteError(
                    f"environment {agent // agents_per_env(self.vecenv)}, agent {agent}, in step "
                    f"{t} of the rollout that ended after {self.global_step} steps: {what}."
                )
        raise DivergedError(
            f"the policy gives values that are not finite after {self.global_step} steps, and its "
            "observations are fine: its weights have diverged."
        )

    def train(self) -> Logs:
        """Update the policy from the last rollout; returns logs as `PuffeRL.train` does.

        Raises:
            DivergedError: `max_skipped_updates` updates in a row were not finite.
        """
        c = self.config
        values = coefficients(c, self.epoch, self.total_epochs)
        with self.profile("train"):
            figures = self.handle.update(
                self.plan.minibatches, c.max_skipped_updates, **values._asdict()
            )
            self.handle.to_host("weights")  # whoever looks at the policy
        for phase in ("advantage", "learn", "optimizer"):
            self.profile.seconds[f"train/{phase}"] += figures[f"{phase}_seconds"]
        skipped = self.handle.counters.skipped_in_a_row
        if skipped >= c.max_skipped_updates:
            raise DivergedError(
                f"{skipped} updates in a row had a loss or gradient that is not finite (epoch "
                f"{self.epoch}, step {self.global_step}); the weights are those of the last "
                "finite update. A lower train.learning_rate often helps."
            )
        self._compare_weights()
        self.epoch += 1
        self.logbook.hand_on(self._make_logs(values, figures), self.global_step)
        return self.logs

    def _compare_weights(self) -> None:
        """All processes did the same sums; whoever did not must not go on unnoticed."""
        if self.world.size == 1:
            return
        digest = hashlib.sha256(self.handle.tensors["weights"].numpy().tobytes()).hexdigest()
        digests = self.world.gather(digest)
        if len(set(digests)) > 1:
            raise RuntimeError(
                f"after epoch {self.epoch} the weights of {self.world.size} processes differ: "
                + ", ".join(f"rank {rank} {one[:8]}" for rank, one in enumerate(digests))
                + ". Resume from the last checkpoint."
            )

    def _make_logs(self, values: Coefficients, figures: Mapping[str, float]) -> Logs:
        logs = self.logbook.begin(self.global_step, self.epoch, values.learning_rate)
        episodes, sums = self.handle.take_statistics()
        if episodes:
            for name, total in zip(self._log_fields, sums, strict=True):
                self.statistics.sums[name] = self.statistics.sums.get(name, 0.0) + total
                self.statistics.counts[name] = self.statistics.counts.get(name, 0) + episodes
        for name, value in self.statistics.means(self.world.gather).items():
            logs[f"environment/{name}"] = value
        for name in (*FIGURES, "explained_variance"):
            logs[f"losses/{name}"] = figures[name]
        logs["losses/updates"], logs["losses/ent_coef"] = figures["updates"], values.ent_coef
        logs["losses/skipped_updates"] = self.skipped_updates
        logs["losses/non_finite"] = 0  # they stop training
        clipped = int(self.handle.counters.clipped_rewards)
        logs["losses/clipped_rewards"] = clipped / max(int(self.handle.counters.steps), 1)
        for name, value in self.profile.seconds.items():
            logs[f"performance/{name}"] = value
        return logs

    def save_checkpoint(self, folder: Path | str) -> Path:
        """Write weights, optimizer state and counters below `folder`; see checkpoint.py."""
        self.handle.to_host()
        counters = self.handle.counters
        self.optimizer.state.update(self._optimizer_state())
        return checkpoint.save(
            Path(folder),
            self.global_step,
            self.policy,
            self.rollout.observations[:8, 0],
            self.optimizer,
            {
                "backend": "native",
                "global_step": self.global_step,
                "environments_not_saved": self._lost(),
                "epoch": self.epoch,
                "uptime": self.uptime,
                "counters": {name: getattr(counters, name) for name in dir(counters)},
            },
            {} if self._lost() else {n: self.handle.tensors[n] for n in ("begins", "state")},
            {} if self._lost() else self.vecenv.get_state(),
        )

    def _lost(self) -> str:
        """What a checkpoint does not hold: every process has its own environments."""
        size = self.world.size
        return f"a run of {size} processes keeps no environments" if size > 1 else ""

    def load_checkpoint(self, folder: Path | str) -> str:
        """Go on where a checkpoint of the native trainer was written: alone, byte for byte.

        Args:
            folder: of a trainer with the same policy, optimizer and number of agents.

        Returns:
            What could not be saved, and therefore starts anew; empty if nothing.

        Raises:
            APIUsageError: the checkpoint is damaged, or of something else.
        """
        self.handle.to_host()  # what the checkpoint does not replace
        loaded = checkpoint.load(Path(folder), self.policy, self.optimizer)
        numbers = loaded.trainer
        if numbers.get("backend") != "native":
            raise APIUsageError(
                f"{folder} was written by the torch backend: go on with --train.backend torch."
            )
        for parameter, state in self._optimizer_state().items():
            for name, tensor in state.items():
                tensor.copy_(self.optimizer.state[parameter][name])
                if name == "step":
                    self.handle.tensors["adamw_steps"][0] = int(tensor)
        lost = str(numbers.get("environments_not_saved", ""))
        if not lost and self.world.size > 1:
            lost = "each of several processes begins with environments of its own"
        if not lost:
            self.vecenv.set_state(loaded.arrays)
            self.vecenv.recv()
        for name, tensor in ({} if lost else loaded.tensors).items():
            self.handle.tensors[name].copy_(tensor)
        self.handle.to_device()
        for name, value in numbers["counters"].items():
            setattr(self.handle.counters, name, value)
        self._steps_of_others = numbers["global_step"] - int(self.handle.counters.steps)
        self.epoch = numbers["epoch"]
        self.continue_clock(numbers["uptime"])
        return lost

    def continue_clock(self, uptime: float) -> None:
        """Let `uptime` go on from that of an earlier process."""
        self.logbook.continue_from(uptime, self.global_step)

    def print_dashboard(self, clear: bool = False) -> None:
        """Print the last logs as plain lines; the `puffer` command has a live one."""
        self.logbook.print(clear)

    def close(self) -> None:
        """Close the environments."""
        self.vecenv.close()


def _policy_config(policy: Policy) -> PolicyConfig:
    network: Any = policy.network
    encoder: Any = policy.encoder
    return PolicyConfig(
        encoder="flat",
        network="mlp" if isinstance(network, MLP) else "mingru",
        critic="shared",
        activation="relu",
        hidden_size=encoder.linear.out_features,
        num_layers=len(network.layers),
    )

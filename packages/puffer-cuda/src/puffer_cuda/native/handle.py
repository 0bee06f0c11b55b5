"""A native trainer's C handle: created from a configuration, its arrays as Torch tensors."""

from __future__ import annotations

import math
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
from torch import Tensor

from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.distributed import World
from puffer_cuda.errors import NonFiniteError
from puffer_cuda.native import library
from puffer_cuda.plan import Plan
from puffer_ocean import OceanEnv

FIGURES = (
    *("policy_loss", "value_loss", "entropy", "old_approx_kl", "approx_kl", "clipfrac"),
    "grad_norm",
)

BUFFERS = 2  # one half of the environments steps while the GPU runs the policy of the other


class Handle:
    """Owns a `puffer_native_trainer`; it is freed with the last of its tensors.

    Attributes:
        tensors: its arrays by name, as views: weights/NAME, gradients/NAME, momentum/NAME and
            square/NAME of every parameter, adamw_steps, state, begins, rollout/... On a GPU they
            are copies in the CPU's memory; `to_host` and `to_device` bring either side up to date.
        counters: a `puffer_native_counters`, to read and to write.
    """

    def __init__(
        self,
        train: TrainConfig,
        policy: PolicyConfig,
        sizes: Plan,
        env: OceanEnv,
        vec: VecConfig,
        threads: int,
        gpu: int | None = None,
        world: World | None = None,
        seed: int | None = None,
    ) -> None:
        """Allocate everything.

        Args:
            train: the [train] section.
            policy: network and sizes.
            sizes: of the run.
            env: stepped by the trainer from here on; it must outlive the handle.
            vec: the [vec] section; where the environments step.
            threads: that share environments and learning.
            gpu: the number of the GPU that learns; None: the CPU.
            world: the processes that learn together; None: this one alone.
            seed: of this process's draws; None: train.seed.

        Raises:
            NotBuiltError: the library is missing, or that of the environment for the GPU.
            RuntimeError: it refuses the configuration.
        """
        self._failure: BaseException | None = None  # of a call from C
        self._ffi = library.declarations()
        self._library = library.load() if gpu is None else library.load_cuda(gpu)
        config = self._ffi.new("puffer_native_config *")
        config.size, config.abi = self._ffi.sizeof(config[0]), self._library.PUFFER_NATIVE_ABI
        config.sgemm = self._ffi.cast("void *", library.sgemm())
        config.threads = threads
        config.device, config.buffers = gpu or 0, vec.num_buffers or BUFFERS
        config.precision = ("float32", "bfloat16").index(train.precision)
        self._environments(config, env)
        if gpu is not None and vec.device == "gpu":
            config.on_gpu, config.max_steps = self._on_gpu(env, gpu), env.max_steps
        config.network = ("mlp", "mingru").index(policy.network)
        config.hidden_size, config.num_layers = policy.hidden_size, policy.num_layers
        config.horizon, config.minibatch_segments = sizes.horizon, sizes.minibatch_segments
        config.optimizer = ("muon", "adamw").index(train.optimizer)
        for name, field in self._ffi.typeof("puffer_native_config").fields:
            if name in type(train).model_fields and field.type.cname in ("double", "uint64_t"):
                setattr(config, name, getattr(train, name))
        config.seed = train.seed if seed is None else seed
        if world is not None and world.size > 1:
            self._join(config, world)
        self._log_width = config.log_width
        self._env = env  # its buffers are pointed to
        trainer = self._library.puffer_native_create(config)
        self._check(trainer != self._ffi.NULL)
        self._trainer = self._ffi.gc(trainer, self._library.puffer_native_destroy)
        self.tensors = self._views()
        self.counters = self._library.puffer_native_get_counters(self._trainer)

    def _environments(self, config: Any, env: OceanEnv) -> None:
        functions, vec, buffers = env.native_parts()
        address = library.address
        config.vec = self._ffi.cast("void *", address(vec))
        config.step = self._ffi.cast("void (*)(void *, int32_t, int32_t)", address(functions.step))
        for name in (
            *("observations", "final_observations", "actions", "rewards", "terminals"),
            *("truncations", "masks", "logs"),
        ):
            kind = dict(self._ffi.typeof("puffer_native_config").fields)[name].type
            setattr(config, name, self._ffi.cast(kind, buffers[name].ctypes.data))
        if "action_masks" in buffers:
            config.action_masks = self._ffi.cast("uint8_t *", buffers["action_masks"].ctypes.data)
        config.log_width = buffers["logs"].shape[1]
        config.num_envs, config.agents_per_env = env.num_envs, env.num_agents // env.num_envs
        config.obs_dtype = [np.dtype(d) for d in library.DTYPES].index(env.observations.dtype)
        config.obs_size = math.prod(env.single_observation_space.shape)
        space = env.single_action_space
        if isinstance(space, gymnasium.spaces.Box):
            config.action_dims = math.prod(space.shape)
            config.action_low, config.action_high = float(space.low.min()), float(space.high.max())
        else:
            choices: Any = getattr(space, "nvec", None)  # MultiDiscrete, else Discrete
            heads = [int(n) for n in ([space.n] if choices is None else choices)]  # type: ignore[attr-defined]
            config.num_heads = len(heads)
            config.head_sizes[0 : len(heads)] = heads

    def _join(self, config: Any, world: World) -> None:
        """Let gradients, and what else a minibatch sums, be those of all processes."""
        config.rank, config.processes = world.rank, world.size
        if self._ffi.string(self._library.puffer_native_target()) == b"cuda":
            unique = self._ffi.new("char[]", self._library.PUFFER_NATIVE_ID_BYTES)
            if world.rank == 0:
                self._check(self._library.puffer_native_unique_id(unique))
            self._unique = self._ffi.new("char[]", world.share(bytes(self._ffi.buffer(unique))))
            config.unique_id = self._unique
            return

        def add_up(pointer: Any, count: int, dtype: int) -> int:
            element: Any = np.dtype(library.DTYPES[dtype])
            numbers = np.frombuffer(self._ffi.buffer(pointer, count * element.itemsize), element)
            numbers[...] = world.sum(torch.from_numpy(numbers)).numpy()
            return 1

        def keep(_kind: Any, error: BaseException, _traceback: Any) -> None:
            self._failure = error  # and 0 is returned, which ends the update

        kind = "int32_t(void *, int64_t, int32_t)"
        self._sum = self._ffi.callback(kind, add_up, error=0, onerror=keep)
        config.sum = self._sum

    def _on_gpu(self, env: OceanEnv, gpu: int) -> Any:
        """The environments' own code for the GPU; their arguments stay as they are from now on."""
        functions, _, _ = env.native_parts()
        version = (functions.abi_version, functions.state_size)
        table = library.load_environment(gpu, env.folder, version)
        env.fixed = "the environments step on the GPU (vec.device = gpu), all with the same values."
        return self._ffi.cast("puffer_native_environment *", table)

    def _views(self) -> dict[str, Tensor]:
        tensors, entry = {}, self._ffi.new("puffer_native_tensor *")
        for index in range(self._library.puffer_native_num_tensors(self._trainer)):
            self._check(self._library.puffer_native_get_tensor(self._trainer, index, entry))
            name = self._ffi.string(entry.name).decode()
            tensors[name] = torch.from_numpy(library.array(entry, self._trainer))
        return tensors

    def to_host(self, part: Literal["weights", "learner", "rollout"] = "rollout") -> None:
        """Bring `tensors` up to date; each part includes those before it."""
        number = ("weights", "learner", "rollout").index(part)
        self._check(self._library.puffer_native_to_host(self._trainer, number))

    def to_device(self) -> None:
        """Let what was written to `tensors` count."""
        self._check(self._library.puffer_native_to_device(self._trainer))

    def collect(self) -> tuple[float, float]:
        """Fill the rollout.

        Returns:
            The seconds of an average thread that environments took, and the sum of all values.

        Raises:
            NonFiniteError: a reward that is not finite.
            APIUsageError: the environments are closed.
        """
        self._env.native_parts()
        seconds, value_sum = self._ffi.new("double *"), self._ffi.new("double *")
        if not self._library.puffer_native_collect(self._trainer, seconds, value_sum):
            raise NonFiniteError(self._message())
        return float(seconds[0]), float(value_sum[0])

    def update(self, minibatches: int, max_skipped: int, **coefficients: float) -> dict[str, float]:
        """One epoch of minibatches.

        Args:
            minibatches: how many.
            max_skipped: skipped updates in a row that end the epoch.
            coefficients: learning_rate, ent_coef, prio_beta.

        Returns:
            The figures of `puffer_native_figures`; losses are means over applied updates.
        """
        figures = self._ffi.new("puffer_native_figures *")
        epoch = self._epoch(minibatches, max_skipped, coefficients)
        self._check(self._library.puffer_native_update(self._trainer, epoch, figures))
        return self._means(figures)

    def learn(self, segments: Tensor, weights: Tensor, **coefficients: float) -> dict[str, float]:
        """One minibatch of given segments (int64) with given weights (float32)."""
        figures = self._ffi.new("puffer_native_figures *")
        epoch = self._epoch(1, 1 << 30, coefficients)
        chosen = self._ffi.cast("int64_t *", segments.contiguous().data_ptr())
        weighed = self._ffi.cast("float *", weights.contiguous().data_ptr())
        self._check(
            self._library.puffer_native_learn(self._trainer, epoch, chosen, weighed, figures)
        )
        return self._means(figures)

    def _epoch(self, minibatches: int, max_skipped: int, coefficients: dict[str, float]) -> Any:
        epoch = self._ffi.new("puffer_native_epoch *")
        epoch.size, epoch.minibatches = self._ffi.sizeof(epoch[0]), minibatches
        epoch.max_skipped = max_skipped
        for name, value in coefficients.items():
            setattr(epoch, name, value)
        return epoch

    def _means(self, figures: Any) -> dict[str, float]:
        names = [name for name, _ in self._ffi.typeof("puffer_native_figures").fields]
        values = {name: float(getattr(figures, name)) for name in names}
        for name in FIGURES:
            values[name] /= max(values["updates"], 1)
        return values

    def take_statistics(self) -> tuple[int, list[float]]:
        """(episodes, sums of the log's columns) since the last call."""
        sums = self._ffi.new("double[]", self._log_width)
        return int(self._library.puffer_native_take_statistics(self._trainer, sums)), list(sums)

    def _message(self) -> str:
        return str(self._ffi.string(self._library.puffer_native_error()).decode())

    def _check(self, succeeded: Any) -> None:
        if not succeeded:
            raise RuntimeError(self._message()) from self._failure

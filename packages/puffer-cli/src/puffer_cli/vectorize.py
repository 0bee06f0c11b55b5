"""From [vec] and [env] to a running vectorizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from puffer_cli.config import Config
from puffer_cli.environments import ALE, FAMILIES, find
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    from puffer_cuda.config import VecConfig
    from puffer_vector.base import VecEnv

GYMNASIUM_ENVS = 8


@dataclass(frozen=True)
class VecPlan:
    """What `puffer_vector.make` is called with.

    Attributes:
        backend: "PufferEnv", "Serial" or "Multiprocessing".
        num_envs: instances of the creator.
        num_workers: processes; None: the vectorizer chooses.
        options: further keywords of the backend.
        env_kwargs: keyword arguments of one instance.
        num_agents: agents of all instances.
    """

    backend: str
    num_envs: int
    num_workers: int | None
    env_kwargs: dict[str, Any]
    num_agents: int
    options: dict[str, Any] = field(default_factory=dict)


def plan_vec(config: Config) -> VecPlan:
    """Resolve "auto" and the zeros of [vec].

    C environments step as `vec.num_envs` x `env.num_envs` copies: with the native backend in one
    instance on threads, else `env.num_envs` of them in each of `vec.num_envs` instances.
    `vec.total_agents` says the same in agents.

    Raises:
        APIUsageError: a combination that cannot be, with what to change.
    """
    from puffer_vector.plan import available_cpus

    vec, environment = config.vec, find(config.train.env)
    native = environment.native
    backend = vec.backend
    if backend == "auto":
        backend = "multiprocessing" if vec.num_workers else "native" if native else "serial"
    if backend == "native" and not native:
        raise APIUsageError(
            f"vec.backend = native steps C environments, and {environment.name} is none; "
            "use serial or multiprocessing."
        )
    if backend != "multiprocessing" and vec.num_workers:
        raise APIUsageError(
            f"vec.num_workers = {vec.num_workers} needs vec.backend = multiprocessing, "
            f"got {backend}."
        )
    if backend != "multiprocessing" and (vec.batch_size or not vec.zero_copy):
        raise APIUsageError(
            "vec.batch_size and vec.zero_copy = false need vec.backend = multiprocessing, got "
            f"{backend}."
        )
    if backend != "native" and vec.num_threads:
        raise APIUsageError(
            f"vec.num_threads = {vec.num_threads} needs vec.backend = native, got {backend}."
        )
    each = environment.agents(config.env)
    if backend == "native":
        copies = _instances(vec, each) if vec.total_agents else 0
        copies = copies or max(vec.num_envs, 1) * config.env["num_envs"]
        if vec.num_buffers > copies:
            raise APIUsageError(
                f"vec.num_buffers = {vec.num_buffers} parts of {copies} environments: at most one "
                "part an environment."
            )
        threads = {"num_threads": vec.num_threads or available_cpus()}
        kwargs = {**config.env, "num_envs": copies, **threads}
        return VecPlan("PufferEnv", 1, None, kwargs, copies * each)
    agents = each * (config.env["num_envs"] if native else 1)
    automatic = max(vec.num_workers, 1)
    if not native:  # the first multiple of the workers that is large enough
        automatic *= -(-GYMNASIUM_ENVS // automatic)
    num_envs = _instances(vec, agents) if vec.total_agents else vec.num_envs or automatic
    if vec.num_workers and num_envs % vec.num_workers:
        below = num_envs // vec.num_workers * vec.num_workers
        near = " or ".join(str(n) for n in (below, below + vec.num_workers) if n)
        raise APIUsageError(
            f"vec.num_envs = {num_envs} is no multiple of vec.num_workers = {vec.num_workers}; "
            f"nearest: {near}."
        )
    name = "Serial" if backend == "serial" else "Multiprocessing"
    options = {}
    if backend == "multiprocessing":
        options = {"batch_size": vec.batch_size or None, "zero_copy": vec.zero_copy}
    workers = vec.num_workers or None
    return VecPlan(name, num_envs, workers, dict(config.env), num_envs * agents, options)


def _instances(vec: VecConfig, agents: int) -> int:
    """How many environments of so many agents make up `vec.total_agents`."""
    total = vec.total_agents
    if vec.num_envs:
        raise APIUsageError(
            f"vec.total_agents = {total} and vec.num_envs = {vec.num_envs} both say how many "
            "environments there are: give one of them."
        )
    if total % agents:
        below = total // agents * agents
        near = " or ".join(str(n) for n in (below, below + agents) if n)
        raise APIUsageError(
            f"vec.total_agents = {total} is no multiple of the {agents} agents of an environment; "
            f"nearest: {near}."
        )
    return total // agents


def make_vecenv(config: Config) -> VecEnv:
    """The vectorizer of a run, seeded with `train.seed`.

    Raises:
        APIUsageError: as `plan_vec`, or the environment refuses its arguments.
    """
    import puffer_vector

    plan = plan_vec(config)
    workers = {} if plan.num_workers is None else {"num_workers": plan.num_workers}
    vecenv: VecEnv = puffer_vector.make(
        find(config.train.env).creator(),
        env_kwargs=plan.env_kwargs,
        backend=getattr(puffer_vector, plan.backend),
        num_envs=plan.num_envs,
        seed=config.train.seed,
        **workers,
        **plan.options,
    )
    return vecenv


def video_config(config: Config, seed: int) -> Config:
    """`config` with one environment in this process, which draws pictures, and another seed."""
    changed = config.model_copy(deep=True)
    changed.train.seed = seed
    changed.vec.num_workers = changed.vec.num_threads = 0
    changed.vec.total_agents = changed.vec.num_buffers = 0
    changed.vec.device = "cpu"
    changed.vec.num_envs, changed.vec.backend = 1, "auto"
    if find(config.train.env).native:
        changed.env["num_envs"] = 1
    if config.train.env.startswith(FAMILIES):
        changed.env["render_mode"] = "rgb_array"
    return changed


def evaluation_config(config: Config, episodes: int, seed: int) -> Config:
    """`config` with at least `episodes` agents, the same environment, and another seed."""
    environment = find(config.train.env)
    changed = config.model_copy(deep=True)
    changed.train.seed = seed
    changed.vec.total_agents = changed.vec.num_buffers = 0
    changed.vec.device = "cpu"
    instances = -(-episodes // environment.agents(config.env))
    if environment.native:  # copies in one instance
        changed.env["num_envs"], changed.vec.num_envs = instances, 0
        changed.vec.backend, changed.vec.num_workers = "native", 0
    else:
        workers = max(changed.vec.num_workers, 1)
        changed.vec.num_envs = -(-instances // workers) * workers
    changed.vec.batch_size, changed.vec.zero_copy = 0, True
    if config.train.env.startswith(ALE):
        changed.env["life_loss"] = False  # whole games
    return changed

"""The typed settings of a training run: every key, its default, its range and its meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _whole(value: Any) -> Any:
    """Accept 1e7, "1e7" and "10_000_000" as integers; leave the rest to the type's own check."""
    if isinstance(value, str):
        text = value
        for number in (int, float):  # int first: a float holds whole numbers up to 2^53 only
            try:
                value = number(text)
                break
            except ValueError:
                continue
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[Whole, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class Section(BaseModel):
    """A section of the configuration: unknown keys and values of another type are errors."""

    model_config = ConfigDict(
        extra="forbid", validate_assignment=True, validate_default=True, allow_inf_nan=False
    )


class TrainConfig(Section):
    """[train]: PPO on segments; formulas in the modules named here."""

    env: str = Field("", description="name of the environment, for logs and run folders")
    seed: Annotated[Whole, Field(ge=0)] = Field(42, description="of policy, sampling, environments")
    backend: Literal["auto", "native", "torch"] = Field(
        "auto", description="native: the trainer in C++; auto: native where it can, else torch"
    )
    device: str = Field("auto", description="auto, cpu, cuda or cuda:N; auto takes a GPU if any")
    threads: Annotated[Whole, Field(ge=0)] = Field(
        0, description="CPU threads of the trainer; 0: as many as this process may use"
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32", description="of matrix products; weights and losses stay float32"
    )
    compile: Literal["off", "default", "reduce-overhead", "max-autotune"] = Field(
        "off", description="mode of torch.compile; reduce-overhead records CUDA graphs"
    )
    total_timesteps: Count = Field(10_000_000, description="agent steps, rounded up to epochs")
    horizon: Count = Field(64, description="steps of one segment")
    minibatch_size: Annotated[Whole, Field(ge=0)] = Field(
        0, description="agent steps of one optimizer step; 0: 8192, or the batch if it is smaller"
    )
    max_minibatch_size: Annotated[Whole, Field(ge=0)] = Field(
        0, description="larger minibatches are learnt in parts whose gradients add up; 0: no limit"
    )
    replay_ratio: Positive = Field(1.0, description="how often each sample is used, on average")

    optimizer: Literal["muon", "adamw"] = Field("muon", description="muon.py, or torch's AdamW")
    learning_rate: Positive = Field(0.015, description="at the start")
    anneal_lr: bool = Field(True, description="cosine from learning_rate to its floor")
    min_lr_ratio: Share = Field(0.0, description="floor of the learning rate, as a share of it")
    warmup: Share = Field(0.0, description="share of the run in which learning_rate rises from 0")
    beta1: Annotated[float, Field(ge=0, lt=1)] = Field(0.95, description="momentum")
    beta2: Annotated[float, Field(ge=0, lt=1)] = Field(0.999, description="AdamW's second moment")
    eps: Positive = Field(1e-12, description="AdamW's epsilon")
    weight_decay: NonNegative = Field(0.0, description="decoupled, on matrices")
    adamw_ratio: Positive = Field(
        0.1, description="learning rate of vectors under muon, as a share of learning_rate"
    )
    max_grad_norm: Positive = Field(1.5, description="global L2 norm to clip gradients to")

    gamma: Share = Field(0.995, description="discount of a step")
    gae_lambda: Share = Field(0.90, description="decay of the advantage estimate")
    vtrace: bool = Field(
        True, description="advantages follow the epoch's updates, see rho_clip; false: GAE, once"
    )
    rho_clip: Positive = Field(1.0, description="upper clip of the importance ratio in the error")
    c_clip: Positive = Field(1.0, description="upper clip of the importance ratio in the trace")
    reward_scale: Positive = Field(1.0, description="factor on rewards, before the clip")
    reward_clip: NonNegative = Field(1.0, description="rewards in [-clip, clip]; 0: no clip")

    normalize_rewards: bool = Field(
        False, description="divide rewards by the deviation of discounted returns; rewards.py"
    )

    clip_coef: Positive = Field(0.2, description="clip of the policy's ratio")
    vf_coef: NonNegative = Field(2.0, description="weight of the value loss")
    vf_clip_coef: Positive = Field(0.2, description="clip of the value's change")
    ent_coef: NonNegative = Field(0.001, description="weight of the entropy")
    anneal_ent: bool = Field(False, description="cosine from ent_coef to its floor")
    min_ent_ratio: Share = Field(0.1, description="floor of ent_coef, as a share of it")
    target_kl: NonNegative = Field(
        0.0, description="end an epoch's updates when approx_kl exceeds it; 0: never"
    )
    prio_alpha: Share = Field(0.8, description="exponent of segment priorities; 0: shuffled passes")
    prio_beta0: Share = Field(0.2, description="initial exponent of the weights that correct it")

    on_non_finite: Literal["stop", "mask"] = Field(
        "stop", description="observation or reward that is not finite: stop, or leave it out"
    )
    max_skipped_updates: Count = Field(
        10, description="stop after so many non-finite updates in a row"
    )
    checkpoint_interval: Count = Field(200, description="epochs between checkpoints")
    keep_checkpoints: Annotated[Whole, Field(ge=0)] = Field(
        5, description="newest checkpoints to keep, beside the best; 0: all"
    )


class EvalConfig(Section):
    """[eval]: fresh episodes with fixed weights, at the end of a run and during it."""

    episodes: Annotated[Whole, Field(ge=0)] = Field(
        128, description="at least so many; 0: no evaluation"
    )
    greedy: bool = Field(False, description="the most likely action instead of a random one")
    max_steps: Count = Field(100_000, description="leave out longer episodes")
    max_seconds: NonNegative = Field(
        0.0, description="leave out episodes that take longer; 0: no limit"
    )
    interval: Annotated[Whole, Field(ge=0)] = Field(
        0, description="epochs between evaluations during training, which keep the best; 0: none"
    )


class SelfplayConfig(Section):
    """[selfplay]: past checkpoints as opponents; see selfplay.py."""

    enabled: bool = Field(False, description="needs environments of several agents")
    share: Share = Field(0.25, description="of environments that play against the pool")
    pool_size: Count = Field(16, description="opponents kept; the weakest make room")
    snapshot_interval: Count = Field(50, description="epochs between new opponents")


class LogConfig(Section):
    """[log]: copies of a run's log for other programs; the run folder's own is always written."""

    external: Literal["none", "tensorboard", "wandb", "neptune"] = Field(
        "none", description="tensorboard: files in the run folder; wandb, neptune: services"
    )
    acknowledge: bool = Field(
        False, description="I know that wandb and neptune get metrics and settings of the run"
    )
    project: str = Field("puffer", description="of the service; neptune: WORKSPACE/PROJECT")


class PolicyConfig(Section):
    """[policy]: encoder, network, decoder; see policy.py."""

    encoder: Literal["auto", "flat", "nested", "nature", "impala"] = Field(
        "auto", description="auto: by the observation space; see encoders.py"
    )
    network: Literal["mlp", "mingru", "lstm", "gru"] = Field(
        "mingru", description="mlp, or with memory: mingru, lstm, gru"
    )
    critic: Literal["shared", "separate"] = Field(
        "shared", description="separate: the value has an encoder and a network of its own"
    )
    activation: Literal["relu", "tanh"] = Field(
        "relu", description="of the flat and the nested encoder, and of mlp"
    )
    hidden_size: Count = Field(128, description="width")
    num_layers: Annotated[Whole, Field(ge=0)] = Field(1, description="layers of the network")


class VecConfig(Section):
    """[vec]: how environments are stepped."""

    backend: Literal["auto", "native", "serial", "multiprocessing"] = Field(
        "auto", description="auto: native for C environments, serial for others"
    )
    num_envs: Annotated[Whole, Field(ge=0)] = Field(
        0, description="environments of the vectorizer; 0: automatic"
    )
    num_workers: Annotated[Whole, Field(ge=0)] = Field(
        0, description="processes of multiprocessing; 0: automatic"
    )
    batch_size: Annotated[Whole, Field(ge=0)] = Field(
        0, description="environments of one batch of multiprocessing; 0: all"
    )
    zero_copy: bool = Field(
        True, description="batches are fixed blocks; false: those that answer first"
    )
    device: Literal["cpu", "gpu"] = Field(
        "cpu",
        description="where C environments step; gpu: where the native trainer learns, and a "
        "rollout is one CUDA graph (needs train.backend = native and train.device = cuda)",
    )
    total_agents: Annotated[Whole, Field(ge=0)] = Field(
        0, description="agents of all environments; 0: those of env.num_envs x vec.num_envs"
    )
    num_buffers: Annotated[Whole, Field(ge=0)] = Field(
        0,
        description="parts of C environments: one steps on the CPU while a GPU runs the policy of "
        "the others; 0: 2. Without a GPU there is nothing to overlap",
    )
    num_threads: Annotated[Whole, Field(ge=0)] = Field(
        0,
        description="threads that step C environments, in the native trainer those of "
        "train.threads; 0: as many as this process may use",
    )

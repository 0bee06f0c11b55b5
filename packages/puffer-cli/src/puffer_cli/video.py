"""Pictures of episodes as a film: mp4 or gif."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    import torch

    from puffer_vector import VecEnv

FPS = 25  # a gif counts hundredths of a second
SUFFIXES = (".mp4", ".gif")


def check_target(path: Path) -> None:
    """Refuse what cannot be written before anything is played.

    Raises:
        APIUsageError: another kind of file, no such folder, or imageio is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise APIUsageError(f"--save-video writes {' or '.join(SUFFIXES)}, got {path.name!r}.")
    if not path.absolute().parent.is_dir():
        raise APIUsageError(f"--save-video: there is no folder {path.absolute().parent}.")
    try:
        import imageio.v3  # noqa: F401
    except ImportError as error:
        raise APIUsageError(
            "--save-video needs imageio: `pip install puffer-cli[video]`."
        ) from error


def record(
    policy: torch.nn.Module | None,
    vecenv: VecEnv,
    device: torch.device,
    seed: int,
    frames: int,
) -> list[Any]:
    """Pictures of the first environment, one for each step of as many episodes as it takes.

    Args:
        policy: as `evaluate_policy` takes it.
        vecenv: of one environment that can be drawn.
        device: of the policy.
        seed: of the first episode; the next ones have the seeds that follow.
        frames: how many pictures.

    Raises:
        APIUsageError: the environment draws no picture.
    """
    from puffer_cuda.evaluation import evaluate_policy

    pictures: list[Any] = []

    def take(finished: int, agents: int) -> None:
        picture = vecenv.driver_env.render()
        if getattr(picture, "ndim", 0) != 3:
            raise APIUsageError(
                f"--save-video: render() of this environment gave {type(picture).__name__}, "
                "expected an array of (height, width, 3) bytes."
            )
        pictures.append(picture)

    while len(pictures) < frames:
        evaluate_policy(policy, vecenv, device, seed, frames - len(pictures), take)
        seed += 1
    return pictures


def write(path: Path, pictures: list[Any]) -> None:
    """Write pictures as a film of 25 a second.

    A gif shows equal neighbours as one picture for longer; an mp4 has even sides and may lose a row
    or a column.
    """
    import imageio.v3 as imageio

    if path.suffix == ".gif":
        imageio.imwrite(path, pictures, duration=1000 / FPS, loop=0)
        return
    height, width = (side // 2 * 2 for side in pictures[0].shape[:2])
    even = [picture[:height, :width] for picture in pictures]
    imageio.imwrite(path, even, fps=FPS, plugin="FFMPEG", macro_block_size=1)

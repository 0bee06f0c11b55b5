import pytest

from puffer_core import APIUsageError
from puffer_cuda.config import TrainConfig
from puffer_cuda.plan import plan


def test_sizes():
    got = plan(TrainConfig(total_timesteps=1e6, minibatch_size=4096, replay_ratio=1.5), 256)
    assert (got.batch_size, got.minibatch_segments, got.minibatches) == (16384, 64, 6)
    assert got.total_epochs == 62  # 1e6 / 16384 = 61.04, rounded up
    assert got.total_timesteps == 62 * 16384
    assert "1,015,808 steps" in "\n".join(got.lines())


def test_less_than_one_batch_is_one_epoch():
    assert plan(TrainConfig(total_timesteps=1), 4).total_epochs == 1


@pytest.mark.parametrize("agents", [1, 3, 100, 5000])
def test_automatic_minibatch_always_fits(agents):
    got = plan(TrainConfig(), agents)
    assert got.minibatch_size == min(8192, agents * 64)
    assert got.minibatches * got.minibatch_size == pytest.approx(got.batch_size, rel=0.5)


@pytest.mark.parametrize(
    ("minibatch", "nearest"), [(1000, "960 or 1024"), (10, "64"), (10**6, "16384")]
)
def test_impossible_minibatches_name_the_nearest(minibatch, nearest):
    with pytest.raises(APIUsageError, match=rf"got {minibatch}\. Nearest: {nearest}") as error:
        plan(TrainConfig(minibatch_size=minibatch), 256)
    assert "256 agents x 64 steps = 16384" in str(error.value)

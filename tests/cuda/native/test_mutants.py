"""The tests of the operations notice a changed sign, factor, bound or index in any of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from puffer_cuda.native import build

pytestmark = pytest.mark.slow

MUTANTS = [
    ("maths.h", "bounded * 1.44269504088896341f", "bounded * 1.44269f"),
    ("maths.h", "y * z * inverse", "y * inverse"),
    ("maths.h", "round < 10", "round < 9"),
    ("dense.h", "y[i] > 0 ? dy[i]", "y[i] >= 0 ? dy[i]"),
    ("dense.h", "x < 0 ? 0 : x", "x > 0 ? 0 : x"),
    ("dense.h", "rows * (chunk + 1) / chunks; row++", "rows * (chunk + 1) / chunks - 1; row++"),
    ("mingru.h", "starts[row] ? 0.0f : 1.0f", "1.0f"),
    ("mingru.h", "begins[row] ? 0.0f : 1.0f", "1.0f"),
    ("mingru.h", "ds * (1.0f - z) * keep", "ds * (1.0f - z)"),
    ("mingru.h", "dh * (h - keep * before)", "dh * (h + keep * before)"),
    ("mingru.h", "end[i] + decay[i] * before", "end[i] + before"),
    ("mingru.h", "end[i] + decay[i] * behind", "end[i] + behind"),
    ("mingru.h", "share *= keep * (1.0f - s.b)", "share *= 1.0f - s.b"),
    ("mingru.h", "share *= passed", "share *= 1.0f"),
    ("reduce.h", "half > 0; half /= 2", "half > 1; half /= 2"),
    ("reduce.h", "n * (chunk + 1) / chunks", "n * (chunk + 1) / chunks - 1"),
    ("optimizer.h", "row % side == column", "row == column"),
    ("optimizer.h", "if (step->skip) return;", ""),
    ("segments.h", "lanes[lane] = reached;", "lanes[lane] = 0;"),
    ("segments.h", "cumulative[middle] > u", "cumulative[middle] < u"),
    ("mingru.h", "h >= 0.5f ? dh", "h >= 1.5f ? dh"),
    ("advantage.h", "terminal ? 0 : after", "after"),
    ("advantage.h", "terminal || truncated ? 0", "terminal ? 0"),
    ("advantage.h", "smaller(ratio, s.c_clip)", "ratio"),
    ("advantage.h", "moments[0] - 1", "moments[0]"),
    ("heads.h", "scaled * scaled - 1.0f", "scaled * scaled"),
    ("heads.h", "- d_entropy * d_entropy_j", "+ d_entropy * d_entropy_j"),
    ("heads.h", "!allowed || allowed[j]", "true"),
    ("loss.h", "plain > clipped", "plain < clipped"),
    ("loss.h", "stored.masks[from] ? statistics[2] : 0.0f", "statistics[2]"),
    ("loss.h", "segment * (time + 1)", "segment * time"),
    ("optimizer.h", "(1.0f - s.beta2)", "(1.0f - s.beta1)"),
    ("optimizer.h", "g + mu * momentum[i]", "momentum[i]"),
    ("optimizer.h", "m.rows > m.columns ?", "m.rows < m.columns ?"),
    ("segments.h", "1e-3 * total", "1e-2 * total"),
    ("segments.h", "probabilities[chosen[k]], -beta", "probabilities[chosen[k]], beta"),
]


@pytest.mark.parametrize(("file", "old", "new"), MUTANTS)
def test_a_mutant_is_caught(tmp_path, file, old, new):
    folder = tmp_path / "cpp"
    shutil.copytree(build.SOURCE.parent, folder)
    source = (folder / file).read_text()
    assert old in source
    (folder / file).write_text(source.replace(old, new))
    tests = Path(__file__).with_name("test_ops.py")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-k", "not order", str(tests)],
        env={**os.environ, "PUFFER_TEST_CPP": str(folder)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1, result.stdout[-2000:]

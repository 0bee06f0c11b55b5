"""The core: native, WebAssembly and JavaScript agree bit for bit, and with numpy."""

import base64
import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from puffer_cli.constellation import build, core

HERE = Path(__file__).parent
DTYPES = {"f4": np.float32, "f8": np.float64, "u1": np.uint8, "u4": np.uint32}
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 3.4e38, 1e-45, 16777216.0]
slow_input = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Peer:
    """core.js and core.wasm in a process of node."""

    def __init__(self):
        page = (build.FOLDER / "page" / "core.js").as_uri()
        wasm = [str(build.WASM)] if build.WASM.exists() else []
        self.kinds = ["javascript", *(["webassembly"] if wasm else [])]
        command = [shutil.which("node"), str(HERE / "core_peer.mjs"), page, *wasm]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, kind, name, arguments):
        packed = [
            {"type": a.dtype.str[1:], "data": base64.b64encode(a.tobytes()).decode()}
            if isinstance(a, np.ndarray)
            else a
            for a in arguments
        ]
        request = {"core": kind, "name": name, "args": packed}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["result"], [base64.b64decode(text) for text in answer["arrays"]]


@pytest.fixture(scope="module")
def peer():
    if not shutil.which("node"):
        pytest.skip("node is absent: core.js and core.wasm are compared in the browser only")
    peer = Peer()
    yield peer
    peer.process.stdin.close()
    peer.process.wait(timeout=10)
    peer.process.stdout.close()


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return core.load()


def agree(peer, native, name, *arguments):
    """Call all three; return the native result. Arrays are changed in place."""
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = getattr(native, name)(*arguments)
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    for kind in peer.kinds:
        theirs, contents = peer.call(kind, name, before)
        assert theirs == result, f"{name} in {kind}: {theirs}, natively {result}"
        for mine, other in zip(arrays, contents, strict=True):
            np.testing.assert_array_equal(
                mine.view(np.uint8), np.frombuffer(other, np.uint8), err_msg=f"{name} in {kind}"
            )
    return result


number = st.one_of(st.sampled_from(SPECIAL), st.floats(width=32), st.integers(-3, 3).map(float))


def floats(n):
    constant = number.map(lambda value: np.full(n, value, np.float32))
    return st.one_of(constant, hnp.arrays(np.float32, n, elements=number))


def failures(n):
    some = hnp.arrays(np.uint8, n, elements=st.sampled_from([0, 0, 0, 1, 2]))
    return st.one_of(st.just(np.full(n, 3, np.uint8)), st.just(np.zeros(n, np.uint8)), some)


@st.composite
def tables(draw, columns=3):
    n = draw(st.sampled_from([0, 1, 2, 7, 40]))
    return [draw(floats(n)) for _ in range(columns)], draw(failures(n)), n


def passing(fails):
    return fails == 0


@slow_input
@given(tables(), st.lists(st.tuples(st.integers(0, 2), number, number, st.booleans()), max_size=4))
def test_filter_and_histograms(peer, native, table, filters):
    columns, _, n = table
    stride = n + 3
    values = np.full((3, stride), np.nan, np.float32)
    bins = np.full((3, stride), 64, np.uint8)
    for j, column in enumerate(columns):
        values[j, :n] = column
        out = np.empty(n, np.uint8)
        agree(peer, native, "bins", column, n, -2.0, 2.0, out)
        bins[j, :n] = out
    index = np.array([f[0] for f in filters], np.uint32)
    ranges = np.array([f[1:3] for f in filters], np.float32).reshape(-1)
    inverted = np.array([f[3] for f in filters], np.uint8)
    fails, which = np.empty(n, np.uint8), np.empty(n, np.uint8)
    k = len(filters)
    count = agree(
        peer, native, "filter", values.reshape(-1), stride, n, index, ranges, inverted, k, fails,
        which,
    )  # fmt: skip
    failed = np.zeros((k, n), bool)
    for j, (column, low, high, outside) in enumerate(filters):
        v, low, high = columns[column], np.float32(low), np.float32(high)
        inside = (v >= low) & (v <= high)
        failed[j] = np.isnan(v) | (inside if outside else ~inside)
    ok = ~failed.any(0)
    assert count == ok.sum()
    np.testing.assert_array_equal(fails == 0, ok)

    own = np.array(
        [max((j for j in range(k) if filters[j][0] == c), default=255) for c in range(3)]
    )
    counts = np.zeros(3 * 65, np.uint32)
    agree(
        peer, native, "histograms", bins.reshape(-1), stride, n, np.arange(3, dtype=np.uint32), 3,
        own.astype(np.uint8), fails, which, counts,
    )  # fmt: skip
    for c in range(3):
        others = np.delete(failed, own[c], 0) if own[c] != 255 else failed
        rows = ~others.any(0)
        expected = np.bincount(bins[c, :n][rows], minlength=65)
        np.testing.assert_array_equal(counts[65 * c : 65 * c + 65], expected)
        finite = columns[c][rows & np.isfinite(columns[c])].astype(np.float64)
        places = np.floor((np.clip(finite, -2, 2) + 2) * 16)  # 64 bins of 1 / 16
        reference = np.bincount(np.clip(places, 0, 63).astype(int), minlength=64)
        np.testing.assert_array_equal(counts[65 * c : 65 * c + 64], reference)


@slow_input
@given(tables(2))
def test_sort_quantiles_ranks_and_extent(peer, native, table):
    (values, _), fails, n = table
    order, scratch = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    count = native.sort(values, n, order, scratch)
    agree_order = np.zeros(n, np.uint32)
    for kind in peer.kinds:  # their scratch is their own business
        theirs, contents = peer.call(kind, "sort", [values, n, agree_order, scratch])
        assert theirs == count
        assert contents[1][: 4 * count] == order[:count].tobytes()
    finite = np.isfinite(values)
    expected = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(order[:count], expected[finite[expected]])

    q, out = np.array([0, 0.05, 0.25, 0.5, 0.9, 1]), np.empty(6)
    agree(peer, native, "quantiles", values, order, count, q, 6, out)
    if count:
        np.testing.assert_array_equal(out, np.quantile(values[finite].astype(float), q))

    ranks = np.empty(n, np.float32)
    agree(peer, native, "ranks", values, order, count, n, ranks)
    assert np.isnan(ranks[~finite]).all()
    if count > 1:
        v = values[finite]
        below = (v[None] < v[:, None]).sum(1)
        equal = (v[None] == v[:, None]).sum(1)
        np.testing.assert_allclose(
            ranks[finite], (below + (equal - 1) / 2) / (count - 1), rtol=1e-6
        )

    extent = np.empty(2)
    rows = finite & passing(fails)
    assert agree(peer, native, "extent", values, n, fails, extent) == rows.sum()
    if rows.any():
        assert list(extent) == [values[rows].min(), values[rows].max()]


@slow_input
@given(tables(2))
def test_front(peer, native, table):
    (cost, score), fails, n = table
    order, scratch, front = (np.zeros(n, np.uint32) for _ in range(3))
    scores = np.zeros(n, np.float32)
    known = native.order(cost, score, n, order, scratch, scores)
    for kind in peer.kinds:  # their scratch is their own business
        empty = [np.zeros(n, np.uint32), scratch, np.zeros(n, np.float32)]
        theirs, contents = peer.call(kind, "order", [cost, score, n, *empty])
        assert theirs == known
        assert contents[2][: 4 * known] == order[:known].tobytes()
        assert contents[4][: 4 * known] == scores[:known].tobytes()
    count = agree(peer, native, "front", cost, order, scores, known, fails, front)
    rows = np.isfinite(cost) & np.isfinite(score) & passing(fails)
    worse = (cost[:, None] >= cost) & (score[:, None] <= score)
    strictly = (cost[:, None] > cost) | (score[:, None] < score)
    beaten = (worse & strictly & rows[None]).any(1) if n else np.zeros(0, bool)
    np.testing.assert_array_equal(np.sort(front[:count]), np.flatnonzero(rows & ~beaten))
    assert (np.diff(cost[front[:count]]) >= 0).all()


@slow_input
@given(tables(2), st.data())
def test_pairs(peer, native, table, data):
    _, fails, n = table
    a, b = (data.draw(hnp.arrays(np.uint8, n, elements=st.integers(0, 64))) for _ in range(2))
    counts = np.ones(32 * 32, np.uint32)
    agree(peer, native, "pairs", a, b, n, fails, counts)
    rows = passing(fails) & (a < 64) & (b < 64)
    expected, _, _ = np.histogram2d(a[rows] // 2, b[rows] // 2, bins=[np.arange(33)] * 2)
    np.testing.assert_array_equal(counts.reshape(32, 32), expected)


@slow_input
@given(tables(2), st.data())
def test_envelope(peer, native, table, data):
    (x, y), _, n = table
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2)))
    start = np.array([0, *cuts, n], np.uint32)
    runs = np.array(data.draw(st.lists(st.sampled_from([0, 1, 2]), unique=True)), np.uint32)
    counts, stats = np.zeros(4, np.uint32), np.zeros(12)
    agree(peer, native, "envelope", x, y, start, runs, len(runs), -2.0, 2.0, 4, counts, stats)
    rows = np.concatenate([np.arange(start[r], start[r + 1]) for r in runs] + [[]]).astype(int)
    rows = rows[np.isfinite(y[rows]) & (x[rows] >= -2) & (x[rows] <= 2)]
    bucket = np.minimum(np.floor(x[rows].astype(float) + 2), 3).astype(int)
    for b in range(4):
        inside = y[rows][bucket == b].astype(float)
        assert counts[b] == len(inside)
        if len(inside):
            assert list(stats[3 * b + 1 : 3 * b + 3]) == [inside.min(), inside.max()]


@slow_input
@given(tables(2), st.sampled_from([0, 90, 255]), st.data())
def test_points(peer, native, table, alpha, data):
    (x, y), fails, n = table
    sizes, side = np.array([1, 3, 6, 7], np.uint8), 7
    stamps = np.zeros((4, side * side), np.uint8)
    for shape, size in enumerate(sizes):
        agree(peer, native, "stamp", shape, int(size), stamps[shape])
    color, stamp = (data.draw(hnp.arrays(np.uint8, n, elements=st.integers(0, 3))) for _ in "ab")
    palette = np.array([0xFF0000FF, 0xFF00FF00, 0xFFFF0000, 0x80FFFFFF], np.uint32)
    pixels = np.zeros(20 * 15, np.uint32)
    mapping = np.array([4.0, 10.0, -3.0, 7.0, 2.0, 13.0])
    step = data.draw(st.sampled_from([1, 3]))
    arguments = (
        x, y, n, step, mapping, fails, color, palette, stamp, stamps.reshape(-1), sizes, side,
        alpha, pixels, 20, 15,
    )  # fmt: skip
    drawn = agree(peer, native, "points", *arguments)
    px = np.where(np.isfinite(x), x.astype(float) * 4 + 10, 2)
    py = np.where(np.isfinite(y), y.astype(float) * -3 + 7, 13)
    left, top = (np.floor(at - 0.5 * (sizes[stamp] - 1.0)) for at in (px, py))
    reaches = (left < 20) & (left + sizes[stamp] > 0) & (top < 15) & (top + sizes[stamp] > 0)
    assert drawn == (reaches & passing(fails))[::step].sum()
    assert drawn or not pixels.any()  # a corner that reaches in may be empty
    if alpha == 0:
        agree(peer, native, "tone", pixels, len(pixels), np.arange(256, dtype=np.uint32))

    found = agree(peer, native, "nearest", x, y, n, mapping, fails, 9.5, 6.5, 8.0)
    distance = np.where(passing(fails), (px - 9.5) ** 2 + (py - 6.5) ** 2, np.inf)
    near = np.flatnonzero((distance == distance.min(initial=np.inf)) & (distance <= 64))
    assert found == (near[-1] if len(near) else -1)

    inside = np.zeros(n, np.uint8)
    corners = np.array([1.0, 1.0, 17.5, 1.0, 17.5, 12.5, 1.0, 12.5])
    agree(peer, native, "inside", x, y, n, mapping, fails, corners, 4, inside)
    box = (px >= 1) & (px < 17.5) & (py >= 1) & (py < 12.5) & passing(fails)
    np.testing.assert_array_equal(inside, box)


def test_one_point_lands_where_arithmetic_says(native):
    """x = 2 is pixel 2 * 3 + 1 = 7, y = 1 is 1 * -2 + 6 = 4; a stamp of 3 covers 6..8, 3..5."""
    one = np.array([1], np.uint32)
    stamps = np.full(9, 255, np.uint8)
    pixels = np.zeros((10, 12), np.uint32)
    native.points(
        np.array([2], np.float32), np.array([1], np.float32), 1, 1,
        np.array([3.0, 1.0, -2.0, 6.0, -99, -99]), None, None, one, None, stamps,
        np.array([3], np.uint8), 3, 255, pixels, 12, 10,
    )  # fmt: skip
    expected = np.zeros((10, 12), np.uint32)
    expected[3:6, 6:9] = 1
    np.testing.assert_array_equal(pixels, expected)


def test_a_spike_among_a_million_points_stays_visible(native):
    n = 1_000_000
    x = np.linspace(0, 1, n, dtype=np.float32)
    y = np.zeros(n, np.float32)
    y[617_283] = 1
    pixels = np.zeros((100, 200), np.uint32)
    native.points(
        x, y, n, 1, np.array([199.0, 0, -99.0, 99.0, -99, -99]), None, None,
        np.array([7], np.uint32), None, np.array([255], np.uint8), np.array([1], np.uint8), 1, 255,
        pixels, 200, 100,
    )  # fmt: skip
    assert (pixels[99] == 7).all()
    assert list(zip(*np.nonzero(pixels[:99]), strict=True)) == [(0, int(x[617_283] * 199))]


def test_a_broken_source_names_the_file(tmp_path, monkeypatch):
    broken = tmp_path / "core.c"
    broken.write_text("int core(")
    monkeypatch.setattr(build, "SOURCE", broken)
    with pytest.raises(build.BuildError, match=r"core\.c does not compile"):
        build.build_native(tmp_path / "core.so")
    assert not (tmp_path / "core.so").exists()


def test_without_a_compiler_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(build.BuildError, match="found no C compiler"):
        build.build_native(tmp_path / "core.so")
    assert build.build_wasm(tmp_path / "core.wasm") is False

"""What the page gets, and what files and pictures hold: compared with what was read."""

import base64
import gzip
import html
import io
import json
import re

import numpy as np
import pytest
from PIL import Image
from run_folders import write_run

from puffer_cli.constellation import assets, dataset, export, png, projection, show
from puffer_cli.constellation.columns import Column, Table, pack, unpack
from puffer_cli.constellation.index import Index
from puffer_cli.main import main
from puffer_core.errors import APIUsageError


def index_of(root):
    index = Index([root])
    index.refresh()
    return index


def test_rows_are_runs_with_their_curves(runs):
    data = dataset.build(index_of(runs))
    tables, header = unpack(data.data)
    rows = tables["rows"]
    assert rows.rows == data.rows == 6
    assert header["cost"] == "uptime"
    assert header["score"] == "environment/score"
    assert header["points"] == 12
    start = tables["start"].columns["value"].values
    np.testing.assert_array_equal(start, [0, 2, 4, 6, 8, 10, 12])
    names = [curve["name"] for curve in header["curves"]]
    scores = np.frombuffer(data.curves[names.index("environment/score")], "<f4")
    final = rows.columns["environment/score"].values
    np.testing.assert_array_equal(scores[1::2], final.astype(np.float32))
    assert (scores[::2] == 0).all()
    bad = rows.columns["not finite"].values
    assert sorted(bad) == [0, 0, 0, 0, 0, 1]
    rate = rows.columns["train.learning_rate"]
    assert rate.meta["scale"] == "log"
    assert rate.meta["group"] == "setting"
    assert rows.columns["train.optimizer"].meta["constant"] is True


def test_rows_are_points_with_the_settings_of_their_run(runs):
    tables, header = unpack(dataset.build(index_of(runs), "points").data)
    rows = tables["rows"]
    assert rows.rows == 12
    assert header["unit"] == "point"
    run = tables["curve"].columns["value"].values
    np.testing.assert_array_equal(run, np.repeat(np.arange(6), 2))
    size = rows.columns["policy.size"].values
    rate = rows.columns["train.learning_rate"].values
    np.testing.assert_allclose(rate, 10.0**-size, rtol=1e-6)
    np.testing.assert_array_equal(rows.columns["agent_steps"].values, [1000, 2000] * 6)


def test_large_whole_numbers_are_exact(tmp_path):
    steps = [10**11 + k for k in (0, 1, 5)]
    lines = "".join(json.dumps({"id": k, "x": k / 3}) + "\n" for k in steps)
    (tmp_path / "t.jsonl").write_text(lines)
    tables, _ = unpack(dataset.build(index_of(tmp_path)).data)
    column = tables["rows"].columns["id"]
    assert (column.values + column.meta["base"]).tolist() == steps


def test_curves_that_do_not_fit_are_counted(runs):
    index = index_of(runs)
    data = dataset.build(index, curve_bytes=2 * 12 * 4)
    _, header = unpack(data.data)
    assert [curve["name"] for curve in header["curves"]] == ["agent_steps", "uptime"]
    assert header["curves_dropped"] == 1


def test_points_without_logs_are_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(APIUsageError, match="--rows runs"):
        dataset.build(index_of(tmp_path), "points")


def table_of(**columns):
    table = Table()
    table.rows = len(next(iter(columns.values())))
    for name, values in columns.items():
        values = np.asarray(values, float)
        table.columns[name] = Column(values, np.isfinite(values), meta={"group": "setting"})
    return table


def test_principal_components_are_those_of_the_ranks():
    g = np.random.default_rng(0)
    a = 10 ** g.normal(size=50)
    table = table_of(a=a, same=2 * a, other=g.normal(size=50))
    found = projection.project(table, "pca")
    ranks = np.stack([np.argsort(np.argsort(table.columns[n].values)) for n in table.columns], 1)
    features = (ranks - ranks.mean(0)) / ranks.std(0)
    _, vectors = np.linalg.eigh(features.T @ features)
    for k in (0, 1):
        expected = features @ vectors[:, -1 - k]
        got = found[f"pca {k + 1}"]
        assert min(np.abs(got - expected).max(), np.abs(got + expected).max()) < 1e-8


def test_tsne_is_bounded(monkeypatch):
    table = table_of(a=np.arange(30), b=np.arange(30) ** 2 % 7)
    monkeypatch.setattr(projection, "MAX_TSNE", 10)
    with pytest.raises(APIUsageError, match="takes too long"):
        projection.project(table, "tsne")


@pytest.mark.slow
def test_tsne():
    pytest.importorskip("sklearn")
    table = table_of(a=np.arange(30), b=np.arange(30) ** 2 % 7)
    found = projection.project(table, "tsne")
    assert np.isfinite(found["t-sne 1"]).all()


# Exports


def embedded(page):
    blocks = re.findall(r'<script type="text/plain" data-name="([^"]+)">([^<]*)</script>', page)
    return {name: base64.b64decode(content) for name, content in blocks}


def test_one_file_holds_everything_and_asks_for_nothing(runs):
    data = dataset.build(index_of(runs))
    page = export.single_file(data)
    blocks = embedded(page)
    assert gzip.decompress(blocks["data.bin.gz"]) == data.data
    assert gzip.decompress(blocks["curve-1.bin.gz"]) == data.curves[1]
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!data)', page.replace('src="data.bin.gz"', ""))
    assert "<script>" in page
    assert page.count("</script>") == page.count("<script")


def test_a_folder_is_relative_and_nothing_else_is_overwritten(runs, tmp_path):
    target = tmp_path / "site"
    data = dataset.build(index_of(runs))
    export.export(data, target)
    export.export(data, target)  # again, over itself
    assert gzip.decompress((target / "data.bin.gz").read_bytes()) == data.data
    assert 'src="data.bin.gz"' in (target / "index.html").read_text()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    with pytest.raises(APIUsageError, match="holds other files"):
        export.export(data, other)


def test_a_hundred_thousand_rows_of_thirty_columns_take_less_than_five_megabytes():
    """Points of 2,000 runs: twenty settings, the same within a run, and ten results, all noise."""
    g = np.random.default_rng(0)
    table = Table()
    table.rows = 100_000
    for k in range(30):
        values = 10 ** g.normal(size=2000) if k < 20 else g.normal(size=100_000)
        values = np.repeat(values, 50) if k < 20 else np.round(values, 3)
        valid = np.ones(len(values), bool)
        table.columns[f"c{k}"] = Column(values.astype(np.float32), valid)
    data = dataset.Dataset(pack({"rows": table}, {}), [], table.rows, 1)
    assert len(export.single_file(data)) <= 5 << 20


def test_modules_that_import_each_other_are_refused(tmp_path):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport const a = 1;\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match=r"a\.js -> b\.js -> a\.js"):
        assets.bundle("a.js", tmp_path)


def test_the_page_is_small():
    """At most 60 KB compressed, with the core in WebAssembly, without what only some pages load."""
    later = {f"page/{name}" for name in ("plain.js", "webgl.js")}
    content = b"".join(data for name, data in sorted(assets.files().items()) if name not in later)
    assert len(gzip.compress(content, 9)) <= 60_000


def test_show_is_a_sandboxed_frame(runs):
    text = show(runs)._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in text
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', text)[1])
    assert "data.bin.gz" in embedded(page)


# The command


def test_png_by_the_command(runs, tmp_path, capsys):
    target = tmp_path / "out.png"
    code = main(
        ["constellation", str(runs), "--png", str(target), "--x", "uptime", "--y",
         "environment/score", "--color", "env", "--json"]
    )  # fmt: skip
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == 6
    assert document["at_the_edge"]["environment/score"] == 1
    image = Image.open(io.BytesIO(target.read_bytes()))
    assert image.size == png.SIZE
    assert len(image.getcolors(1 << 20)) > 10


def test_front_of_the_picture_equals_a_reference(runs):
    """Higher scores cost more here, so every run with a score is on the front."""
    tables, _ = unpack(dataset.build(index_of(runs), projection_kind="none").data)
    _, shown = png.draw(tables["rows"], "uptime", "environment/score")
    values = tables["rows"].columns["environment/score"].values
    assert [values[row] for row in shown["front"]] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--png", "a.png"], "--x COLUMN and --y COLUMN"),
        (["--x", "uptime"], "is of --png"),
        (["--png", "a.png", "--x", "uptime", "--y", "scor"], "no column 'scor'"),
        (["--png", "a.png", "--x", "uptime", "--y", "env"], "holds words"),
        (["--png", "a.png", "--export", "b", "--x", "a", "--y", "b"], "not both"),
        (["--export", "d", "--port", "1"], "of the server"),
        (["--train.gamma", "1"], "takes no --train.gamma"),
        (["nowhere"], "no file or folder"),
    ],
)
def test_misuse_is_an_error_with_a_reason(runs, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["constellation", str(runs), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_has_not_logged_yet(tmp_path):
    write_run(tmp_path / "env" / "run", {"a": 1}, [])
    data = dataset.build(index_of(tmp_path))
    _, header = unpack(data.data)
    assert data.rows == 1
    assert header["curves"] == []


def test_an_empty_folder_has_no_rows(tmp_path):
    assert dataset.build(index_of(tmp_path)).rows == 0

"""Reading: what stands in the files is in the tables, whatever happens to the files."""

import json
import math
import os
import sqlite3
import threading
import time

import numpy as np
import pytest
from run_folders import write_run

from puffer_cli.constellation.columns import Table, flatten, pack, unpack
from puffer_cli.constellation.index import Index, cache_path
from puffer_core.errors import APIUsageError


def read(*roots, cache=None):
    index = Index(roots, cache)
    index.refresh()
    return index


def rows(index, *names):
    """Values of columns of the runs, by name of the run."""
    table = index.runs
    columns = []
    for name in names:
        column = table.columns[name]
        values = column.values[: table.rows].tolist()
        if column.labels is not None:
            values = [column.labels[v] for v in values]
        valid = column.valid[: table.rows]
        columns.append([v if ok else None for v, ok in zip(values, valid, strict=True)])
    run = table.columns["run"]
    titles = [run.labels[code] for code in run.values[: table.rows]]
    return dict(zip(titles, zip(*columns, strict=True), strict=True))


def test_run_folders(runs):
    index = read(runs)
    found = rows(index, "env", "train.learning_rate", "train.optimizer", "environment/score")
    assert found["run-2"] == ("breakout", 0.01, "muon", 0.2)
    assert found["run-3"] == ("squared", 0.001, "muon", 0.3)
    assert math.isnan(found["run-5"][3])
    assert index.points.rows == 12
    assert index.left_out() == {}
    groups = {name: column.meta["group"] for name, column in index.runs.columns.items()}
    assert groups["train.learning_rate"] == "setting"
    assert groups["environment/score"] == groups["uptime"] == "result"
    assert groups["env"] == groups["run"] == "info"


def test_nothing_is_read_twice_and_what_grows_is_read_on(runs):
    index = read(runs)
    assert not index.refresh()
    log = runs / "squared" / "run-1" / "log.jsonl"
    with log.open("a") as file:
        file.write('{"agent_steps": 3000, "environment/score": 0.7}\n{"agent_st')
    assert index.refresh()
    assert index.points.rows == 13
    assert rows(index, "environment/score", "agent_steps", "uptime")["run-1"] == (0.7, 3000, 100)
    with log.open("a") as file:
        file.write('eps": 4000, "environment/score": 0.8}\n')
    assert index.refresh()
    assert index.points.rows == 14
    assert rows(index, "environment/score")["run-1"] == (0.8,)
    assert index.left_out() == {}


def test_a_replaced_log_is_read_anew_and_a_removed_run_goes(runs):
    index = read(runs)
    log = runs / "squared" / "run-3" / "log.jsonl"
    scratch = log.with_name("scratch")
    scratch.write_text('{"agent_steps": 1, "environment/score": -1}\n')
    os.replace(scratch, log)  # as a resumed run cuts its log
    gone = runs / "breakout" / "run-0"
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    assert index.refresh()
    found = rows(index, "environment/score", "agent_steps")
    assert sorted(found) == ["run-1", "run-2", "run-3", "run-4", "run-5"]
    assert found["run-3"] == (-1, 1)
    assert found["run-4"] == (0.4, 2000)
    assert index.points.rows == 9
    owners = index.points.numbers("#run").astype(int)
    assert np.bincount(owners).sum() == 9
    assert sorted(np.bincount(owners)) == [1, 2, 2, 2, 2]


def test_the_cache_gives_the_same_and_follows_changes(runs, tmp_path):
    cache = tmp_path / "index.bin"
    first = read(runs, cache=cache)
    first.save()
    again = Index([runs], cache)
    assert not again.refresh()
    for name in ("runs", "points"):
        a, b = getattr(first, name), getattr(again, name)
        assert a.rows == b.rows
        assert list(a.columns) == list(b.columns)
        for title, column in a.columns.items():
            other = b.columns[title]
            np.testing.assert_array_equal(column.values[: a.rows], other.values)
            np.testing.assert_array_equal(column.valid[: a.rows], other.valid)
            assert (column.labels, column.meta) == (other.labels, other.meta)
    with (runs / "squared" / "run-1" / "log.jsonl").open("a") as file:
        file.write('{"agent_steps": 9}\n')
    write_run(runs / "squared" / "run-9", {"train.learning_rate": "auto"}, [])
    later = Index([runs], cache)
    assert later.refresh()
    found = rows(later, "agent_steps", "train.learning_rate")
    assert found["run-1"] == (9, "0.1")
    assert found["run-9"] == (None, "auto")


@pytest.mark.parametrize("content", [b"", b"PUFSTAR1", b"PUFSTAR1" + b"\xff" * 40, b"other"])
def test_a_broken_cache_is_no_harm(runs, tmp_path, content):
    cache = tmp_path / "index.bin"
    cache.write_bytes(content)
    assert read(runs, cache=cache).runs.rows == 6
    read(runs, cache=cache).save()
    cache.write_bytes(cache.read_bytes()[:-100])
    assert read(runs, cache=cache).points.rows == 12


def test_the_cache_lies_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_path(["a"]).is_relative_to(tmp_path)
    assert cache_path(["a"]) != cache_path(["b"])


def test_torn_broken_and_strange_lines(tmp_path):
    lines = [
        '{"agent_steps": 1, "environment/score": NaN, "x": Infinity}',
        "not json",
        "",
        "[1, 2]",
        '{"agent_steps": 2, "nested": {"a": {"b": 3}}, "big": ' + "9" * 400 + "}",
        '{"agent_steps": 3, "environment/score": null, "word": "\\ud800"}',
        '{"agent_steps": 4, "torn',
    ]
    write_run(tmp_path / "r" / "a", {}, [])
    (tmp_path / "r" / "a" / "log.jsonl").write_text("\n".join(lines))
    index = read(tmp_path)
    assert index.points.rows == 3
    assert rows(index, "agent_steps", "nested.a.b", "x")["a"] == (3, 3, math.inf)
    (reason,) = index.left_out().values()
    assert reason == "2 lines are no JSON object: 'not json'"
    again = Index([tmp_path])
    again.refresh()
    pack({"points": again.points, "runs": again.runs}, {})  # every label can be written


def test_a_line_longer_than_memory_should_hold(tmp_path, monkeypatch):
    monkeypatch.setattr("puffer_cli.constellation.lines.CHUNK", 64)
    file = tmp_path / "log.jsonl"
    long = '{"a": "' + "x" * 1000 + '"}'
    text = '{"agent_steps": 1}\n' + long + '\n{"agent_steps": 2}\n{"agent_steps": 3}\n'
    file.write_text(text)
    index = read(tmp_path)
    assert index.points.numbers("agent_steps").tolist() == [1, 2, 3]
    assert "1 line is no JSON object" in next(iter(index.left_out().values()))


def test_hostile_names_are_only_text(tmp_path):
    names = ["<img src=x onerror=alert(1)>", "x/../../etc", "a\nb", "日本語", "'; DROP", "\u202e"]
    for k, name in enumerate(names):
        settings = {name: k}
        write_run(tmp_path / f"env {k}" / name.replace("/", "∕"), settings, [{name: float(k)}])
    os.mkdir(os.path.join(os.fsencode(tmp_path), b"bad \xff"))
    odd = os.path.join(os.fsencode(tmp_path), b"bad \xff", b"log.jsonl")
    with open(odd, "wb") as file:
        file.write(b'{"a": 1}\n')
    index = read(tmp_path, cache=tmp_path / "cache.bin")
    assert index.runs.rows == 7
    index.save()
    assert not Index([tmp_path], tmp_path / "cache.bin").refresh()


def test_nothing_outside_is_read(tmp_path):
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"password": 1}\n')
    inside = tmp_path / "given"
    inside.mkdir()
    (inside / "link.jsonl").symlink_to(secret)
    (inside / "up").symlink_to(tmp_path)
    write_run(inside / "env" / "run", {}, [])
    (inside / "env" / "run" / "log.jsonl").unlink()
    (inside / "env" / "run" / "log.jsonl").symlink_to(secret)
    os.mkfifo(inside / "pipe.jsonl")  # opening it would wait for ever
    index = read(inside)
    assert "password" not in index.runs.columns
    assert "password" not in index.points.columns
    assert sorted(os.path.basename(path) for path in index.left_out()) == [
        "link.jsonl",
        "pipe.jsonl",
        "up",
    ]


def test_what_cannot_be_read_is_listed(tmp_path):
    for name, content in {
        "empty.csv": b"",
        "head.csv": b"a,b\n",
        "bad.json": b"{",
        "list.json": b"[1]",
        "latin.csv": b"a\n\xe9\n",
        "study.db": b"no database",
        "bad.parquet": b"PAR1",
        "empty.ini": b"\n",
        "notes.txt": b"not looked at",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("[]")
    index = read(tmp_path)
    assert index.runs.rows == 1  # the run, without settings
    left_out = {os.path.relpath(path, tmp_path): why for path, why in index.left_out().items()}
    assert sorted(left_out) == [
        "bad.json", "bad.parquet", "empty.csv", "empty.ini", "head.csv", "latin.csv", "list.json",
        "run/config.json", "study.db",
    ]  # fmt: skip
    assert left_out["latin.csv"].startswith("not UTF-8")
    assert left_out["study.db"].startswith("not a study")


@pytest.mark.parametrize(("name", "word"), [("nowhere", "no file or folder"), ("a.txt", "no kind")])
def test_a_root_that_cannot_be_read_is_an_error(tmp_path, name, word):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(APIUsageError, match=word):
        read(tmp_path / name)


def test_tables(tmp_path):
    (tmp_path / "t.csv").write_text(
        'Name,lr,"the score",note,on\nr1,1e-3,2,"a, b",true\nr2,,NaN,,\n'
    )
    index = read(tmp_path / "t.csv")
    found = rows(index, "lr", "the score", "note", "on")
    assert found["r1"] == (0.001, 2, "a, b", "true")
    assert found["r2"][0] is None
    assert math.isnan(found["r2"][1])
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    table = pyarrow.table({"run": ["p1", "p2"], "score": [1.5, None], "deep": [{"a": 1}, {"a": 2}]})
    parquet.write_table(table, tmp_path / "t.parquet")
    index = read(tmp_path / "t.parquet")
    assert rows(index, "score", "deep.a") == {"p1": (1.5, 1), "p2": (None, 2)}


def test_json_lines_are_rows_that_grow(tmp_path):
    file = tmp_path / "table.jsonl"
    file.write_text('{"lr": 1, "env": "a"}\n{"lr": 2}\n{"lr"')
    index = read(file)
    assert index.runs.numbers("lr").tolist() == [1, 2]
    with file.open("a") as more:
        more.write(': 3, "env": "b"}\n')
    index.refresh()
    assert index.runs.numbers("lr").tolist() == [1, 2, 3]


def test_logs_of_pufferlib(tmp_path):
    """An ini file with lists under [metrics], and JSON with lists beside the arguments."""
    (tmp_path / "1700.ini").write_text(
        "[base]\nenv_name = breakout\n[train]\nlearning_rate = 0.01\n"
        "[metrics]\nagent_steps = 10, 20, 30\nenv/score = 1, 2, nan\nuptime = 1,2,3\n"
    )
    document = {"train": {"lr": 0.5}, "metrics": {"env/score": [1.0, 4.0], "steps": [5, 6]}}
    (tmp_path / "1800.json").write_text(json.dumps(document))
    index = read(tmp_path)
    found = rows(index, "train.learning_rate", "train.lr", "env/score", "env_name")
    assert found["1800"] == (None, 0.5, 4, None)
    assert found["1700"][0] == 0.01
    assert math.isnan(found["1700"][2])
    assert index.points.numbers("env/score")[:2].tolist() == [1, 2]
    assert index.points.rows == 5


def test_a_chart_exported_by_wandb(tmp_path):
    (tmp_path / "chart.csv").write_text(
        '"Step","run a - score","run a - score__MIN","run a - score__MAX","run b - score"\n'
        '"0","1","1","1",""\n"1","2","2","2","7"\n'
    )
    index = read(tmp_path)
    assert rows(index, "score") == {"run a": (2,), "run b": (7,)}
    assert index.points.rows == 3


def test_a_study(tmp_path):
    """The schema of puffer_protein.study, version 1."""
    path = tmp_path / "study.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute(
        'CREATE TABLE trial (id INTEGER PRIMARY KEY, kind TEXT, state TEXT, "values" TEXT, seed '
        "INTEGER, attempt INTEGER, started REAL, ended REAL, score REAL, cost REAL, error TEXT)"
    )
    database.execute("CREATE TABLE point (trial, position, time REAL, score REAL, cost REAL)")
    insert = "INSERT INTO trial VALUES (?, 'suggested', ?, ?, 3, 1, 10.0, 20.0, ?, ?, NULL)"
    database.execute(insert, (1, "done", '{"train.learning_rate": 0.25}', 0.5, 9.0))
    database.execute(insert, (2, "diverged", '{"train.learning_rate": 0.75}', None, None))
    database.executemany(
        "INSERT INTO point VALUES (1, ?, ?, ?, ?)", [(0, 1.0, 0.1, 4.0), (1, 2.0, 0.5, 9.0)]
    )
    database.commit()
    index = read(tmp_path)
    found = rows(index, "train.learning_rate", "state", "score", "cost")
    assert found["trial 1"] == (0.25, "done", 0.5, 9.0)
    assert found["trial 2"][:2] == (0.75, "diverged")
    assert math.isnan(found["trial 2"][2])
    assert index.points.rows == 2
    database.execute(insert, (3, "done", '{"train.learning_rate": 1}', 0.9, 1.0))
    database.commit()  # into the write-ahead log only
    assert index.refresh()
    assert rows(index, "score")["trial 3"] == (0.9,)
    database.close()


def test_a_writer_beside_the_reader_loses_nothing(tmp_path):
    """Lines come in pieces, at any place; the reader sees each of them once, in order."""
    run = write_run(tmp_path / "env" / "run", {}, [])
    total, done = 3000, threading.Event()

    def write():
        with (run / "log.jsonl").open("ab", buffering=0) as file:
            for k in range(total):
                line = json.dumps({"agent_steps": k, "text": "é" * (k % 7), "v": k / 3}).encode()
                cut = k % len(line)
                file.write(line[:cut])
                if k % 50 == 0:
                    time.sleep(0.001)
                file.write(line[cut:] + b"\n")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    index = Index([tmp_path])
    while not done.is_set():
        index.refresh()
    writer.join()
    index.refresh()
    assert index.points.numbers("agent_steps").tolist() == list(range(total))
    assert index.left_out() == {}


def test_too_many_columns_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("puffer_cli.constellation.columns.MAX_COLUMNS", 10)
    (tmp_path / "wide.jsonl").write_text(json.dumps({f"c{k}": k for k in range(20)}) + "\n")
    index = read(tmp_path)
    assert len(index.runs.columns) == 10
    assert index.left_out()["column c19"] == "too many columns"


def test_a_table_keeps_every_value():
    table = Table()
    table.append([{"a": 1, "b": "x"}, {"a": None}, {"a": True, "c": [1, 2]}])
    table.append([{"a": 10**400, "b": 2.5}])
    a = table.columns["a"]
    labels = [a.labels[a.values[k]] if a.valid[k] else None for k in range(table.rows)]
    assert labels == ["1", None, "true", str(10**400)]
    tables, header = unpack(pack({"t": table}, {"x": 1}))
    assert header == {"x": 1}
    again = tables["t"]
    assert again.columns["b"].labels == ["x", "2.5"]
    assert again.columns["b"].valid.tolist() == [True, False, False, True]
    assert again.columns["c"].labels == ["[1, 2]"]


def test_flatten():
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}

"""`puffer config` and `puffer doctor`."""

import json

import pytest

from puffer_cli import doctor
from puffer_cli.config import load_config
from puffer_cli.main import main


def document(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_key_has_value_origin_and_meaning(capsys):
    shown = document(capsys, "config", "breakout", "--train.gamma", "0.5")
    assert shown["env"] == "breakout"
    config = load_config("breakout", {"train.gamma": "0.5"})
    assert set(shown["config"]) == set(config.flat())
    assert all(entry["meaning"] for entry in shown["config"].values())
    gamma, lam = shown["config"]["train.gamma"], shown["config"]["train.gae_lambda"]
    assert (gamma["value"], gamma["origin"]) == (0.5, "command line")
    assert lam["origin"].endswith("breakout/config.ini")
    assert shown["config"]["train.clip_coef"]["origin"] == "default"


def test_only_what_is_changed(capsys):
    shown = document(capsys, "config", "squared", "--changed", "--train.seed", "7")["config"]
    assert shown["train.seed"]["value"] == 7
    assert all(entry["origin"] != "default" for entry in shown.values())


def test_arguments_of_gymnasium_have_no_meaning(capsys):
    shown = document(capsys, "config", "gymnasium/CartPole-v1", "--env.sutton-barto-reward", "true")
    assert shown["config"]["env.sutton_barto_reward"] == {
        "value": True,
        "origin": "command line",
        "meaning": "",
    }


def test_a_table_for_people(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["config", "squared"]) == 0
    out = capsys.readouterr().out
    assert "train.gamma" in out
    assert "discount of a step" in out
    assert max(map(len, out.splitlines())) <= 120


def test_typos_name_the_nearest(capsys):
    assert main(["config", "squared", "--train.gama", "1"]) == 2
    assert "train.gamma" in capsys.readouterr().err


def test_doctor_finds_this_installation_in_order(capsys):
    findings = {entry["name"]: entry for entry in document(capsys, "doctor")["findings"]}
    assert findings["puffer-core"]["state"] == doctor.OK
    assert (
        findings["environments"]["found"].split()[0] == findings["environments"]["found"].split()[2]
    )
    assert all(entry["state"] != doctor.BROKEN for entry in findings.values())


def test_doctor_names_extras_and_what_they_lack(capsys, monkeypatch):
    monkeypatch.setitem(doctor.BRINGS, "gymnasium[box2d]", "no_such_module")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (index,) = [i for i, line in enumerate(lines) if line.startswith("puffer-cli[box2d] ")]
    words = lines[index].split()
    assert words == ["puffer-cli[box2d]", "absent", "gymnasium[box2d]", "not", "installed"]
    assert lines[index + 1].strip() == "`pip install 'puffer-cli[box2d]'`"
    names = [line.split("  ")[0] for line in lines if not line.startswith(" ")]
    assert len(names) == len(set(names))  # each thing once


@pytest.mark.parametrize("columns", [60, 80, 99, 100])
def test_meanings_stand_below_the_keys_where_there_is_no_room(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["config", "squared"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= columns
    (index,) = [i for i, line in enumerate(lines) if line.startswith("train.gamma ")]
    beside = "discount of a step" in lines[index]
    assert beside == (columns >= 100)
    assert beside or lines[index + 1] == "  discount of a step"


@pytest.fixture
def without_breakout(monkeypatch):
    import puffer_ocean

    load = puffer_ocean.load

    def broken(name):
        if name == "breakout":
            raise ImportError("breakout.so: ABI version is 7")
        return load(name)

    monkeypatch.setattr(puffer_ocean, "load", broken)


def test_doctor_names_what_is_broken(capsys, without_breakout):
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "ABI version is 7" in out
    assert "python -m puffer_ocean breakout" in out


def test_doctor_without_a_compiler(capsys, monkeypatch):
    monkeypatch.setenv("CC", "/no/such/cc")
    assert main(["doctor"]) == 0  # what is built already goes on working
    assert "/no/such/cc" in capsys.readouterr().out

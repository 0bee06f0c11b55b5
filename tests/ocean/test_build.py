"""The builder: no compiler, errors in a source, unknown names."""

import shutil
import subprocess

import pytest

from puffer_ocean import __main__, build

GOOD = "int answer(void);\nint answer(void) { return 42; }\n"
BAD = "int answer(void) { return undeclared_thing; }\n"


@pytest.mark.parametrize("entry", [build.compiler, build.build_all])
def test_no_compiler_is_one_clear_message(entry, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(build.BuildError, match=r"no C compiler.*apt install gcc.*set CC") as caught:
        entry()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("entry", [build.compiler, build.build_all])
def test_a_cc_that_does_not_exist_is_named_and_not_replaced(entry, monkeypatch):
    monkeypatch.setenv("CC", "nonsense --fast")
    with pytest.raises(build.BuildError, match=r"CC='nonsense --fast', but .* 'nonsense'"):
        entry()


def test_cc_may_carry_options(shelf, add_source, monkeypatch):
    monkeypatch.setenv("CC", f"{build.compiler()[0]} -DVALUE=7")
    text = GOOD.replace("return 42;", "return VALUE;")
    build.compile_library(add_source("one", text), build.library("one"))
    assert build.library("one").exists()


def test_an_error_shows_the_compilers_words_and_keeps_the_old_library(shelf, add_source):
    target = build.library("one")
    build.compile_library(add_source("one", GOOD), target)
    before = target.read_bytes()
    with pytest.raises(build.BuildError, match=r"one\.c does not compile") as caught:
        build.compile_library(add_source("one", BAD), target)
    assert "undeclared_thing" in str(caught.value)
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == [target.name]  # no scraps


def test_a_compiler_that_fails_half_way_keeps_the_old_library(shelf, add_source, monkeypatch):
    source, target = add_source("one", GOOD), build.library("one")
    build.compile_library(source, target)
    before = target.read_bytes()
    script = shelf / "dying"
    script.write_text("""#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo half > "$2"
echo out of memory >&2
exit 1
""")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(build.BuildError, match="out of memory"):
        build.compile_library(source, target)
    assert target.read_bytes() == before


def test_a_library_in_use_is_replaced_not_overwritten(shelf, add_source):
    """A process that has loaded the old one keeps it: the name moves to a new file."""
    target = build.library("one")
    build.compile_library(add_source("one", GOOD), target)
    held = target.open("rb")
    before = target.read_bytes()
    build.compile_library(add_source("one", GOOD.replace("42", "43")), target)
    assert held.read() == before
    assert target.read_bytes() != before
    held.close()


def test_a_broken_environment_breaks_only_itself(shelf, add_source, capsys, monkeypatch):
    add_source("one", GOOD)
    add_source("two", BAD)
    add_source("zoo", GOOD)
    (build.ENVS / "no_source").mkdir()
    assert build.names() == ["one", "two", "zoo"]
    failures = build.build_all()
    assert list(failures) == ["two"]
    assert "undeclared_thing" in failures["two"]
    assert build.library("one").exists()
    assert build.library("zoo").exists()
    assert not build.library("two").exists()

    monkeypatch.setattr("sys.argv", ["puffer_ocean"])
    assert __main__.main() == 1
    assert "undeclared_thing" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["puffer_ocean", "one"])
    assert __main__.main() == 0
    assert capsys.readouterr() == ("", "")


def test_an_unknown_name_is_refused_before_anything_is_built(
    shelf, add_source, capsys, monkeypatch
):
    add_source("one", GOOD)
    with pytest.raises(build.BuildError, match=r"no environment 'tow'.*there are one"):
        build.build_all(["one", "tow"])
    assert not build.library("one").exists()
    monkeypatch.setattr("sys.argv", ["puffer_ocean", "tow"])
    assert __main__.main() == 1
    assert "'tow'" in capsys.readouterr().err


def test_the_sources_compile_without_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-Werror", "-Wconversion", "-Wshadow"))
    for name in build.names():
        build.compile_library(build.source(name), tmp_path / f"{name}.so")
        assert (tmp_path / f"{name}.so").stat().st_size


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", build.names())
def test_the_sources_are_cpp_as_well(name, tmp_path):
    """A build for the GPU compiles them as C++, with a harness of its own."""
    (tmp_path / "puffer_harness.h").touch()
    command = ["c++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-pedantic"]
    command += ["-Werror", f"-I{tmp_path}", f"-I{build.INCLUDE}", str(build.source(name))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

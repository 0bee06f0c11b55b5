"""The trainer as a program on its own: sanitizers, other orders, other numbers of threads."""

import subprocess
from pathlib import Path

import pytest

from puffer_cuda.native import build

SOURCE = Path(__file__).parent / "exercise.cc"
# The same floats in every build: no contraction, and a processor without fused multiply-add.
SAME = ("-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-pthread", "-Wall", "-Wextra")
CHECK = ("-O1", "-g", "-DPUFFER_CHECK")
BUILDS = {
    "plain": ("-O3", "-fno-trapping-math"),
    "order": ("-O1", "-DPUFFER_ORDER", "-DPUFFER_CHECK"),
    "address": (*CHECK, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": (*CHECK, "-fsanitize=thread"),
    # the GPU's trainer on the CPU
    "gpu": ("-O2", "-DPUFFER_GPU"),
    "gpu order": ("-O1", "-DPUFFER_GPU", "-DPUFFER_ORDER", "-DPUFFER_CHECK"),
    "gpu address": (*CHECK, "-DPUFFER_GPU", "-fsanitize=address,undefined"),
    "gpu thread": (*CHECK, "-DPUFFER_GPU", "-fsanitize=thread"),
}


@pytest.fixture(scope="module")
def exercise(tmp_path_factory):
    """Builds a variant once and runs it; returns what it prints."""
    folder = tmp_path_factory.mktemp("exercise")

    def run(variant, threads, order=0):
        program = folder / variant
        if not program.exists():
            include = f"-I{build.SOURCE.parent}"
            command = [*build.compiler(), *SAME, *BUILDS[variant], include, str(SOURCE)]
            result = subprocess.run(
                [*command, "-o", str(program)], capture_output=True, text=True, check=False
            )
            assert result.returncode == 0, result.stderr
        result = subprocess.run(
            [str(program), str(threads), str(order)], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run


def test_threads_change_nothing(exercise):
    one = exercise("plain", 1)
    assert len(set(one.split())) == 6  # six runs, all different
    assert one == exercise("plain", 2) == exercise("plain", 5)


def test_the_gpus_trainer_is_the_same_in_every_build(exercise):
    plain = exercise("gpu", 1)
    assert len(set(plain.split())) == 6
    assert plain == exercise("gpu", 3)
    assert {exercise("gpu order", 2, order) for order in (0, 1, 7)} == {plain}
    assert plain == exercise("gpu address", 2)
    assert plain == exercise("gpu thread", 3)


def test_order_and_poisoned_scratch_change_nothing(exercise):
    outputs = {exercise("order", 2, order) for order in (0, 1, 7, 12345)}
    assert outputs == {exercise("plain", 1)}


def test_address_and_undefined_behaviour_sanitizers(exercise):
    assert exercise("address", 2) == exercise("plain", 1)


def test_thread_sanitizer(exercise):
    assert exercise("thread", 3) == exercise("plain", 1)

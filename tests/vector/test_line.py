"""The line between parent and worker: every command and answer arrives once, awake or asleep."""

import ctypes
import multiprocessing
import random
import time

import numpy as np
import pytest

from puffer_vector.infos import Info, pack, unpack
from puffer_vector.line import BOX, Board, ParentLine, WorkerLine
from puffer_vector.waiting import LOOK, Waiter

CONTEXT = multiprocessing.get_context("fork")


def echo(pipe, board, pauses):
    line, chance = WorkerLine(pipe, board), random.Random(1)
    while (words := line.listen()) != "end":
        if pauses:
            time.sleep(chance.choice((0, 0, 30e-6, LOOK, 3 * LOOK)))
        line.answer(words)
    line.answer("ended")


class Parent:
    """What `Multiprocessing` does around a line, for one worker."""

    def __init__(self, pauses=False):
        self.asleep = CONTEXT.RawArray(ctypes.c_int64, 1)
        ours, theirs = CONTEXT.Pipe()
        board = Board(CONTEXT, self.asleep)
        self.line = ParentLine(ours, board)
        self.process = CONTEXT.Process(target=echo, args=(theirs, board, pauses), daemon=True)
        self.process.start()
        theirs.close()
        self.waiter = Waiter(self.line.has_answer, self.sleep)

    def sleep(self, timeout):
        self.asleep[0] = True
        self.line._fence()
        if not self.line.has_answer():
            assert self.line.pipe.poll(20), "nobody woke us"
            self.line.clear()
        self.asleep[0] = False

    def ask(self, words=None):
        self.line.command(words)
        while not self.line.has_answer():
            self.waiter.wait()
        return self.line.answer()


@pytest.fixture
def parent(request):
    parent = Parent(getattr(request, "param", False))
    yield parent
    parent.process.kill()
    parent.process.join()


@pytest.mark.parametrize("size", [1, BOX - 100, BOX - 1, BOX, BOX + 1, 1 << 20])
def test_words_of_any_length_arrive(parent, size):
    words = random.Random(size).randbytes(size)
    for _ in range(3):
        assert parent.ask(words) == words
        assert parent.ask() is None


@pytest.mark.parametrize("parent", [True, False], indirect=True)
def test_nobody_sleeps_through_a_command_or_an_answer(parent):
    chance = random.Random(2)
    for i in range(5000):
        words = chance.choice((None, None, i, bytes(BOX + i)))
        assert parent.ask(words) == words
        time.sleep(chance.choice((0, 0, 0, 50e-6, 3 * LOOK)) if i % 10 == 0 else 0)
    assert parent.ask("end") == "ended"


def test_a_command_to_a_dead_worker_is_an_error(parent):
    parent.process.kill()
    parent.process.join()
    with pytest.raises(OSError, match="gone"):
        parent.line.command()


def test_a_waiter_looks_again_only_after_short_waits():
    looks, sleeps = [], []

    def ready():
        looks.append(time.perf_counter())
        return False

    def sleep(timeout):
        sleeps.append(timeout)
        time.sleep(5 * LOOK)

    waiter = Waiter(ready, sleep)
    waiter.wait(1.5)  # begins awake: it looks for LOOK seconds, then sleeps
    assert len(looks) > 1
    assert looks[-1] - looks[0] <= 50 * LOOK
    looks.clear()
    waiter.wait(None)  # the last wait was long: one look
    assert len(looks) == 1
    assert sleeps == [1.5, None]
    waiter = Waiter(lambda: True, sleep)
    waiter.wait(1.5)
    assert len(sleeps) == 2


def test_packed_infos_are_the_same_infos():
    numbers = {np.dtype(code).char: np.arange(3).astype(code) for code in "?bBhHiIlLqQefd"}
    empty = {"none": np.empty(0), "strided": np.arange(10)[::3]}
    told = {"text": "x", "array": np.arange(3)}
    nested = {"matrix": np.eye(2)}
    infos = [Info(numbers, 3, True), Info(empty, 0), Info(told, 1), Info(nested, 2, True)]
    back = unpack(pack(infos))
    assert [(i.env, i.began, list(i)) for i in back] == [(i.env, i.began, list(i)) for i in infos]
    for info, other in zip(infos, back, strict=True):
        for name, value in info.items():
            np.testing.assert_array_equal(other[name], value)
            if isinstance(value, np.ndarray):
                assert other[name].dtype == value.dtype
                other[name][...] = 0  # writable

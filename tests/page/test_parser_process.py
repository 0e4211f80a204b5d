"""The process that parses what may take too much: bounded, replaced when it is gone, and nobody else's."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from webtable.page.parser_process import ParserProcess, TooMuch, Unavailable

MB = 1 << 20


@pytest.fixture
def process():
    # The function of the helper process: what `eval` makes of the work.
    one = ParserProcess("builtins:eval")
    yield one
    one.close()


def call(process: ParserProcess, work: str, *, memory: int = 200 * MB, seconds: float = 20) -> bytes:
    return process.call(work.encode(), memory=memory, seconds=seconds)


def test_work_is_done_in_another_process_that_stays(process):
    pids = {call(process, "str(__import__('os').getpid()).encode()") for _ in range(3)}

    assert len(pids) == 1
    assert pids != {str(os.getpid()).encode()}


def test_large_work_and_large_answers_come_through(process):
    assert call(process, "b'x' * 3_000_000 # " + "y" * 3_000_000) == b"x" * 3_000_000


def test_work_that_takes_too_long_is_ended_and_the_next_is_done(process):
    with pytest.raises(TooMuch) as caught:
        call(process, "sum(range(10 ** 12))", seconds=0.2)

    assert caught.value.limit == "seconds"
    assert call(process, "b'next'") == b"next"


def test_work_that_takes_too_much_memory_is_ended_and_the_next_is_done(process):
    with pytest.raises(TooMuch) as caught:
        call(process, "bytes(300_000_000)")

    assert caught.value.limit == "memory"
    assert call(process, "b'next'") == b"next"


def test_a_process_that_was_killed_is_replaced(process):
    pid = int(call(process, "str(__import__('os').getpid()).encode()"))
    os.kill(pid, signal.SIGKILL)

    with pytest.raises(TooMuch):
        call(process, "b'lost'")
    assert call(process, "b'next'") == b"next"


def test_one_that_has_grown_large_makes_room_for_another(process):
    first = call(process, "[globals().update(kept=b'x' * 100_000_000), str(__import__('os').getpid()).encode()][1]")

    second = call(process, "str(__import__('os').getpid()).encode()")

    assert first != second


def test_threads_get_each_their_own_answer(process):
    answers: dict[int, bytes] = {}

    def ask(number: int) -> None:
        for _ in range(20):
            answers[number] = call(process, f"b'{number}' * 1000")
            assert answers[number] == str(number).encode() * 1000

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(answers) == 4


@pytest.mark.slow
def test_a_forked_child_has_a_process_of_its_own(process):
    mine = call(process, "str(__import__('os').getpid()).encode()")
    child = os.fork()
    if child == 0:
        theirs = call(process, "str(__import__('os').getpid()).encode()")
        process.close()
        os._exit(0 if theirs != mine else 1)

    _, status = os.waitpid(child, 0)

    assert status == 0
    assert call(process, "str(__import__('os').getpid()).encode()") == mine


def test_where_no_python_can_be_started_there_is_none(process, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")

    with pytest.raises(Unavailable):
        call(process, "b''")

"""Threads that go on while the interpreter ends, and that nobody waits for in a forked child."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from webtable._threads import Threads
from webtable.errors import OtherProcess
from webtable.store.deadline import Deadline, of_call, until


def test_jobs_come_back_in_the_order_in_which_they_were_given():
    threads = Threads(3, "test")

    assert threads.map(lambda number: number * 2, range(20)) == [number * 2 for number in range(20)]
    threads.close()


def test_the_first_error_of_several_jobs_is_raised_when_all_have_ended():
    threads, ended = Threads(2, "test"), []

    def job(number):
        if number == 1:
            raise ValueError(number)
        time.sleep(0.01)
        ended.append(number)

    with pytest.raises(ValueError, match="1"):
        threads.map(job, range(4))
    assert sorted(ended) == [0, 2, 3]
    threads.close()


def test_a_closed_pool_of_threads_starts_anew():
    threads = Threads(1, "test")
    threads.close()

    assert threads.submit(lambda: 1).result() == 1
    threads.close()


def test_jobs_are_done_also_while_the_interpreter_ends():
    program = """
import atexit
from webtable._threads import Threads
threads = Threads(2, "test")
atexit.register(lambda: print(threads.map(lambda number: number + 1, range(3))))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert (result.stdout, result.stderr) == ("[1, 2, 3]\n", "")


def test_a_job_of_the_parent_is_not_waited_for_in_a_forked_child():
    threads = Threads(1, "test")
    slow = threads.submit(lambda: time.sleep(0.3))
    child = os.fork()
    if not child:
        try:
            slow.result()
        except OtherProcess:
            os._exit(0 if threads.submit(lambda: 7).result(5) == 7 else 1)
        os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    threads.close()


def test_a_call_has_the_time_that_the_call_around_it_has_left():
    with until(Deadline(1.0)):
        assert of_call(30.0).left() <= 1.0
        assert of_call(0.1).left() <= 0.1
        with until(Deadline(60.0)):
            assert of_call(30.0).left() <= 1.0
    assert of_call(30.0).left() > 29.0


def test_jobs_have_the_deadline_of_whoever_gave_them_out():
    threads = Threads(1, "test")
    with until(Deadline(1.0)):
        task = threads.submit(lambda: of_call(30.0).left())

    assert task.result() <= 1.0
    threads.close()

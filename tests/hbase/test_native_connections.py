"""A connection of HBase's own protocol that threads share: one that gives up leaves the others what they have."""

from __future__ import annotations

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from rpc_server import refusal, reply, rpc_server

from webtable.store.deadline import Deadline
from webtable.store.hbase.native import connection as module
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.connection import CALL_ERRORS, ConnectionLost, RpcConnection, ServerError, Wire

BLOCK = bytes(20_000_000)
"""More than the system keeps of what nobody reads."""
LONG = 20.0


@contextmanager
def connected(answer):
    with rpc_server(answer) as server:
        connection = RpcConnection(Wire("127.0.0.1", server.port, Deadline(5)), "Service", "test", Deadline(5))
        try:
            yield connection, server
        finally:
            connection.close()


def send(connection, method="Ask", seconds=LONG, cells=b""):
    return connection.send(method, pb.EmptyMsg(), pb.EmptyMsg, Deadline(seconds), cells)


def ask(connection, method="Ask", seconds=LONG, cells=b""):
    deadline = Deadline(seconds)
    call = connection.send(method, pb.EmptyMsg(), pb.EmptyMsg, deadline, cells)
    return connection.wait(call, deadline)


class Answers:
    """Answers `Ask` at once, and others when they are told to."""

    def __init__(self):
        self.held = {}
        self.came = threading.Condition()

    def __call__(self, connection, number, method):
        if method == "Ask":
            connection.sendall(reply(number))
            return
        with self.came:
            self.held[method] = connection, number
            self.came.notify_all()

    def of(self, method, data=None):
        """Answer the call of *method*, which may still come."""
        with self.came:
            assert self.came.wait_for(lambda: method in self.held, 5)
        connection, number = self.held.pop(method)
        connection.sendall(reply(number) if data is None else data(number))


@pytest.mark.slow
def test_a_thread_that_waits_to_send_ends_at_its_deadline():
    with connected(Answers()) as (connection, server), ThreadPoolExecutor(4) as threads:
        server.reading.clear()
        blocked = threads.submit(ask, connection, seconds=3.0, cells=BLOCK)
        time.sleep(0.1)

        began = time.monotonic()
        for waiting in [threads.submit(ask, connection, seconds=0.3) for _ in range(3)]:
            assert isinstance(waiting.exception(10), TimeoutError)

        assert time.monotonic() - began < 2
        assert isinstance(blocked.exception(10), TimeoutError)


def test_what_a_deadline_leaves_unsent_is_sent_by_the_next_call():
    answers = Answers()
    with connected(answers) as (connection, server):
        call = send(connection, "Slow")
        server.reading.clear()
        with pytest.raises(TimeoutError):
            ask(connection, seconds=0.2, cells=BLOCK)
        with pytest.raises(TimeoutError):
            ask(connection, seconds=0.1)
        server.reading.set()

        ask(connection)

        answers.of("Slow")
        assert connection.wait(call, Deadline(5)).message == pb.EmptyMsg()
        assert len(server.connections) == 1


def test_a_deadline_that_is_over_before_anything_is_sent_disturbs_nobody():
    answers = Answers()
    with connected(answers) as (connection, _):
        call = send(connection, "Slow")
        for _ in range(3):
            with pytest.raises(TimeoutError):
                send(connection, seconds=0.0)

        answers.of("Slow")

        connection.wait(call, Deadline(5))
        assert connection.is_usable
        assert connection.in_flight == 0


def test_a_connection_that_one_call_found_silent_still_answers_the_others(monkeypatch):
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.2)
    answers = Answers()
    with connected(answers) as (connection, _), ThreadPoolExecutor(1) as threads:
        slow = threads.submit(ask, connection, "Slow")
        with pytest.raises(TimeoutError):
            ask(connection, "Never", 0.3)
        assert not connection.is_usable  # for new calls

        answers.of("Slow")

        assert slow.result(5).message == pb.EmptyMsg()
        with pytest.raises(ConnectionLost, match="does not answer"):
            send(connection)


def test_short_deadlines_find_a_silent_server_together(monkeypatch):
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.2)
    with connected(Answers()) as (connection, _):
        for _ in range(8):
            with pytest.raises(CALL_ERRORS):
                ask(connection, "Never", 0.05)

        assert not connection.is_usable


@pytest.mark.slow
def test_a_large_answer_that_is_on_its_way_is_no_silence(monkeypatch):
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.2)
    done = threading.Event()

    def slowly(connection, number, method):
        if method == "Ask":
            return
        data = reply(number, cells=bytes(400_000))
        for at in range(0, len(data), 20_000):
            connection.sendall(data[at : at + 20_000])
            done.wait(0.03)

    with connected(slowly) as (connection, _):
        deadline = Deadline(LONG)
        call = send(connection, "Large")
        with pytest.raises(TimeoutError):
            ask(connection, seconds=0.4)

        assert connection.is_usable
        answer = connection.wait(call, deadline)
        assert answer.end - answer.start == 400_000


def test_answers_that_nobody_waits_for_leave_an_idle_connection_open(monkeypatch):
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.0)
    with connected(Answers()) as (connection, _):
        connection.drop(send(connection))
        time.sleep(0.1)

        assert connection.is_usable
        ask(connection)


def test_an_idle_connection_that_the_server_has_closed_is_not_used(monkeypatch):
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.0)
    with connected(Answers()) as (connection, server):
        ask(connection)
        server.connections[0].shutdown(socket.SHUT_RDWR)
        time.sleep(0.1)

        assert not connection.is_usable


def test_a_look_at_an_idle_connection_takes_no_answer_from_another_thread(monkeypatch):
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.0)
    with connected(Answers()) as (connection, _), ThreadPoolExecutor(8) as threads:

        def asks(_):
            for _ in range(100):
                assert connection.is_usable
                ask(connection)

        list(threads.map(asks, range(8)))


def test_a_thread_that_is_interrupted_wakes_those_that_wait_for_it(monkeypatch):
    answers = Answers()
    with connected(answers) as (connection, _), ThreadPoolExecutor(1) as threads:
        original = Wire.receive

        def interrupted(self, wanted, deadline):
            monkeypatch.setattr(Wire, "receive", original)
            time.sleep(0.2)
            raise KeyboardInterrupt

        monkeypatch.setattr(Wire, "receive", interrupted)
        first = threads.submit(ask, connection, "Slow")
        time.sleep(0.1)

        with pytest.raises(ConnectionLost, match="interrupted"):
            ask(connection)

        assert isinstance(first.exception(5), KeyboardInterrupt)


def test_the_descriptor_of_a_connection_is_not_free_for_another_one_while_a_thread_reads(monkeypatch):
    more, reads, over = Wire.receive, threading.Event(), threading.Event()

    def late(self, wanted, deadline):
        reads.set()
        over.wait(10)
        return more(self, wanted, deadline)

    monkeypatch.setattr(Wire, "receive", late)
    with connected(Answers()) as (connection, _), ThreadPoolExecutor(1) as threads:
        reading = threads.submit(ask, connection, "Slow")
        reads.wait(5)

        connection.close()

        assert connection._wire._reader.fileno() > 0
        over.set()
        assert isinstance(reading.exception(5), ConnectionLost)
        assert connection._wire._reader.fileno() == connection._wire._writer.fileno() == -1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_connection_of_the_parent_s_is_over_in_a_child_whoever_used_it():
    answers = Answers()
    with connected(answers) as (connection, _), ThreadPoolExecutor(2) as threads:
        reading = threads.submit(ask, connection, "Slow")
        mine = send(connection, "Other")
        with answers.came:
            assert answers.came.wait_for(lambda: len(answers.held) == 2, 5)
        locked, over = threading.Event(), threading.Event()

        def hold():
            with connection._lock:
                locked.set()
                over.wait(10)

        holding = threads.submit(hold)
        locked.wait(5)
        child = os.fork()
        if not child:
            try:
                connection.wait(mine, Deadline(5))
            except ConnectionLost:
                os._exit(0)
            finally:
                os._exit(1)
        over.set()
        holding.result(5)
        deadline = Deadline(10)
        while not (found := os.waitpid(child, os.WNOHANG))[0] and deadline.left():
            time.sleep(0.01)

        assert found == (child, 0)
        answers.of("Slow")
        answers.of("Other")
        assert reading.result(5).message == connection.wait(mine, Deadline(5)).message


@pytest.mark.parametrize("number", [1, 2**32 - 1], ids=["a call", "the connection"])
def test_an_exception_whose_text_is_not_utf_8_is_one(number):
    with (
        connected(lambda connection, *_: connection.sendall(refusal(number, b"org.Gone\xff", b"\xfe\n"))) as (
            connection,
            _,
        ),
        pytest.raises(ServerError, match=r"org\.Gone�: �"),
    ):
        ask(connection)

"""Connections that somebody opens and leaves: they end in time, are limited, and hold up nobody."""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from webtable import Page
from webtable.explorer import connections
from webtable.explorer.server import listening, server_of

TOKEN = "the-token-of-this-test"


@contextmanager
def served(table, limit=256):
    """Serve *table*, and give the function that opens a connection to it and sends some bytes."""
    sock = listening("127.0.0.1", 0)
    server, _ = server_of(table, sock, "127.0.0.1", TOKEN, (), limit)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    opened = []

    def connect(data=b""):
        opened.append(socket.create_connection(sock.getsockname(), timeout=30))
        opened[-1].sendall(data)
        return opened[-1]

    try:
        yield connect
    finally:
        for connection in opened:
            connection.close()
        server.should_exit = True
        thread.join()
        sock.close()


def request(path="/static/icon.svg", host="127.0.0.1"):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()


def head_of(connection):
    """Return the head of a response, with its first bytes."""
    data = b""
    while b"\r\n\r\n" not in data and (piece := connection.recv(65_536)):
        data += piece
    return data.decode("latin-1").lower()


def answer_of(connection):
    """Read a response to its end."""
    data = b""
    while not (head := data.partition(b"\r\n\r\n"))[1]:
        data += connection.recv(65_536)
    length = int(re.search(rb"content-length: (\d+)", head[0].lower())[1])
    while len(data.partition(b"\r\n\r\n")[2]) < length:
        data += connection.recv(65_536)


def is_ended(connection):
    """Wait until the other side ends the connection."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "])
def test_a_head_that_does_not_come_ends_the_connection(table, manual_clock, sent):
    with served(table) as connect:
        connection = connect(sent)
        head_of(connect(request()))  # what came before this is accepted

        manual_clock.passed += connections.HEAD_SECONDS + 1

        assert is_ended(connection)


def test_the_rest_of_a_head_that_comes_in_drops_ends_the_connection(table, manual_clock):
    with served(table) as connect:
        connection = connect(request())
        answer_of(connection)  # else what comes next may still belong to it, and is idle for half a minute
        connection.sendall(b"GET /")
        head_of(connect(request()))

        manual_clock.passed += connections.HEAD_SECONDS + 1

        assert is_ended(connection)


def test_an_idle_connection_ends(table, monkeypatch):
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    with served(table) as connect:
        connection = connect(request())

        assert head_of(connection).startswith("http/1.1 200")
        assert is_ended(connection)


def test_an_answer_that_nobody_reads_ends_and_others_are_answered_meanwhile(table, manual_clock, monkeypatch):
    # One that was not begun yet when the time passes is read here to its end, and the connection is idle then.
    monkeypatch.setattr(connections, "IDLE_SECONDS", 1)
    url = "https://example.com/large"
    table.put(Page(url=url, body=os.urandom(8_000_000), headers={"content-type": "application/zip"}))
    with served(table) as connect:
        stalled = [connect(request(f"/page/raw?url={url}")) for _ in range(12)]

        assert head_of(connect(request("/questions"))).startswith("http/1.1 200")
        manual_clock.passed += connections.UNREAD_SECONDS + 1
        assert all(map(is_ended, stalled))


def test_readers_that_have_stopped_hold_no_thread_and_an_answer_goes_on_once_they_read(table):
    body = os.urandom(100_000)
    with table.writer() as writer:
        writer.put_many(Page(url=f"https://example.com/{number}", body=body) for number in range(200))
    with served(table) as connect:
        # More of them than answers are made at once, each with more than sockets take ahead.
        stalled = [connect(request("/q/pages.jsonl?site=all&columns=url,body")) for _ in range(12)]
        heads = [connection.recv(1_000) for connection in stalled]

        # One thread may follow another while the sockets fill.
        end = time.monotonic() + 60
        while "webtable-explorer" in (thread.name for thread in threading.enumerate()):
            assert time.monotonic() < end, "threads wait for readers"
            time.sleep(0.01)
        assert all(head.startswith(b"HTTP/1.1 200") for head in heads)
        rest = b""
        while not rest.endswith(b"\r\n0\r\n\r\n"):
            rest = rest[-10:] + stalled[0].recv(1_000_000)


def test_the_connection_that_has_waited_longest_makes_room_for_one_too_many(table):
    with served(table, limit=2) as connect:
        first, second = connect(b"GET /"), connect(b"GET /")

        third = connect(request())

        assert head_of(third).startswith("http/1.1 200")
        assert is_ended(first)
        second.sendall(request().removeprefix(b"GET /"))
        assert head_of(second).startswith("http/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        request(host="127.0.0.1:80; x"),
        request(host="127.0.0.1:99999"),
        request(host="127.0.0.1:-1"),
        request(host="127.0.0.1:80:80"),
    ],
)
def test_what_is_no_request_is_400_with_the_headers_of_security(table, sent):
    with served(table) as connect:
        head = head_of(connect(sent))

    assert head.startswith("http/1.1 400")
    for name in ("content-security-policy: default-src 'none'", "x-content-type-options: nosniff", "no-store"):
        assert head.count(name) == 1


def test_that_files_have_run_out_is_told_once_a_minute(table, manual_clock, capsys):
    with listening("127.0.0.1", 0) as sock:
        server, _ = server_of(table, sock, "127.0.0.1")
    context = {"message": "socket.accept() out of system resource", "exception": OSError(errno.EMFILE, "Too many")}

    for seconds in (0, 1, 58, 2):
        manual_clock.passed += seconds
        server.log_trouble(None, context)

    assert capsys.readouterr().err.count("ulimit -n") == 2

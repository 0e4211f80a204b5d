"""ZooKeeper that is down, silent, or of something else: errors in time, without a word on the console or a thread."""

from __future__ import annotations

import logging
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager

import pytest
from proxy import Fault, FaultProxy

from webtable.errors import NotAStore, StoreUnavailable
from webtable.store import StoreURL
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.store import address_of
from webtable.testing import hbase_native_url

MARK = b"\xff" + struct.pack(">I", 5) + b"write"


@contextmanager
def zookeeper(data, errors=0):
    """A ZooKeeper whose nodes all hold *data*; None: it says nothing, bytes of a connection: it sends those."""
    listening = socket.create_server(("127.0.0.1", 0))
    taken = []

    def frame(connection):
        head = connection.recv(4, socket.MSG_WAITALL)
        return connection.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""

    def framed(answer):
        return struct.pack(">i", len(answer)) + answer

    def serve(connection):
        try:
            if not frame(connection) or data is None:
                return
            connection.sendall(framed(struct.pack(">iiqi", 0, 4000, 7, 16) + bytes(16) + b"\x00"))
            while request := frame(connection):
                number, kind = struct.unpack(">ii", request[:8])
                found = struct.pack(">i", len(data)) + data + bytes(68) if kind == 4 and not errors else b""
                connection.sendall(framed(struct.pack(">iqi", number, 1, errors if kind == 4 else 0) + found))
        except OSError:
            pass

    def accept():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            taken.append(connection)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for connection in taken:
            connection.close()


def opened(port, timeout=1.5):
    return NativeStore.from_url(StoreURL.parse(f"hbase+native://127.0.0.1:{port}/crawl?timeout={timeout}"))


def node(host="127.0.0.1", port=1):
    master = pb.Master()
    master.master.host_name, master.master.port = host, port
    return MARK + b"PBUF" + master.SerializeToString()


def not_utf_8():
    return node("aaaa").replace(b"aaaa", b"\xff\xfe\xfd\xfc")


WRONG = {
    "nothing": b"",
    "text": b"localhost:16000",
    "a mark alone": b"\xff",
    "a mark that is longer than the node": b"\xff\x7f\xff\xff\xffPBUF",
    "no message": MARK + b"PBUF",
    "half a message": node()[:-3],
    "bytes that are no message": MARK + b"PBUF" + b"\xff" * 30,
    "a host that is no text": not_utf_8(),
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_a_node_that_is_not_of_hbase_is_no_store(data):
    with zookeeper(data) as port, pytest.raises(NotAStore, match=f"127.0.0.1:{port}.*not HBase's own protocol"):
        opened(port)


@pytest.mark.parametrize(
    ("code", "message"), [(-101, "has no /hbase/master"), (-102, "NoAuthError"), (-5, "Marshalling")]
)
def test_a_refusal_of_zookeeper_is_told(code, message):
    with (
        zookeeper(b"", code) as port,
        pytest.raises(StoreUnavailable, match=f"ZooKeeper at 127.0.0.1:{port}.*{message}"),
    ):
        opened(port)


def test_a_master_that_is_registered_and_gone_is_told_with_its_place():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        gone = listening.getsockname()[1]
    with (
        zookeeper(node(port=gone)) as port,
        pytest.raises(StoreUnavailable, match=f"no connection to 127.0.0.1:{gone}"),
    ):
        opened(port)


def test_no_zookeeper_is_an_error_at_once_and_one_of_several_is_enough():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        gone = listening.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="no connection to ZooKeeper"):
        opened(gone, 20)
    assert time.monotonic() - began < 5

    with (
        zookeeper(node(port=gone)) as port,
        pytest.raises(StoreUnavailable, match=f"no connection to 127.0.0.1:{gone}"),
    ):
        NativeStore(zookeeper=f"127.0.0.1:{gone},127.0.0.1:{port}", timeout=5)


@pytest.mark.slow
def test_a_silent_zookeeper_ends_the_call_at_its_deadline_and_leaves_no_thread(caplog):
    caplog.set_level(logging.CRITICAL, "webtable")
    with zookeeper(None) as port:
        before = threading.active_count()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="does not answer"):
            opened(port, 1.0)
        seconds = time.monotonic() - began

        deadline = time.monotonic() + 5
        while threading.active_count() > before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert threading.active_count() <= before
    assert seconds < 4


@pytest.mark.slow
def test_zookeeper_says_nothing_in_the_console_of_a_program():
    program = (
        "import sys; from webtable.store import StoreURL; from webtable.store.hbase import NativeStore\n"
        "from webtable.errors import WebTableError\n"
        "for port in sys.argv[1:]:\n"
        "    try: NativeStore.from_url(StoreURL.parse(f'hbase+native://127.0.0.1:{port}?timeout=1'))\n"
        "    except WebTableError: pass\n"
    )
    with zookeeper(None) as silent, zookeeper(b"", -101) as empty, FaultProxy(empty) as proxy:
        proxy.next(None, Fault("cut", "reply", 45), None, Fault("reset", "reply", 10))
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, (silent, empty, proxy.port, proxy.port))],
            capture_output=True,
            text=True,
            timeout=40,
        )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_connection_that_is_lost_while_the_store_is_opened_is_made_once_more():
    with zookeeper(node()) as port, FaultProxy(port) as proxy:
        proxy.next(None, Fault("cut", "reply", 45))
        with pytest.raises(StoreUnavailable, match=r"no connection to 127\.0\.0\.1:1:"):
            opened(proxy.port, 5)

        assert proxy.injected()["cut"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("port", [2181, 16000], ids=["zookeeper", "master"])
def test_a_name_that_is_not_resolved_in_time_says_so(monkeypatch, port):
    resolve = socket.getaddrinfo

    def slow(host, *arguments, flags=0, **options):
        if not flags:
            time.sleep(6)
        return resolve(host, *arguments, flags=flags, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    began = time.monotonic()

    with pytest.raises(StoreUnavailable, match="'crawl-1' was not resolved in time"):
        NativeStore.from_url(StoreURL.parse(f"hbase+native://crawl-1:{port}/crawl?timeout=1"))

    assert time.monotonic() - began < 5


@pytest.fixture
def by_zookeeper(native_url, hbase_url):
    """The options of the running HBase, as ZooKeeper knows it."""
    settings = address_of(StoreURL.parse(native_url)).settings()
    if not settings["zookeeper"]:
        url = hbase_native_url(hbase_url, by_zookeeper=True)
        settings = address_of(StoreURL.parse(url)).settings()
    return settings


@pytest.mark.hbase
@pytest.mark.parametrize("fault", [Fault("cut", "reply", 20), Fault("reset", "reply", 60), Fault("stall", seconds=0.3)])
def test_a_session_of_zookeeper_that_is_lost_is_begun_again(by_zookeeper, fault):
    with FaultProxy(int(by_zookeeper["zookeeper"].rpartition(":")[2])) as proxy:
        with NativeStore(**{**by_zookeeper, "zookeeper": f"127.0.0.1:{proxy.port}", "timeout": 15.0}) as store:
            store._cluster._master = None  # as after a master was lost
            proxy.next(None, fault)
            assert isinstance(store.tables(), list)
        assert proxy.injected()[fault.kind] == 1


@pytest.mark.hbase
def test_another_parent_is_told(by_zookeeper):
    with pytest.raises(StoreUnavailable, match=r"has no /other/master: HBase is not up, or has another \?parent="):
        NativeStore(**{**by_zookeeper, "parent": "/other", "timeout": 5.0})

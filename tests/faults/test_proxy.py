"""The proxy of the fault tests does what it is told."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from proxy import HOST, KINDS, Fault, FaultProxy, Weather

SENT = bytes(range(256)) * 16


@pytest.fixture
def echo():
    """The port of a server that sends back what it gets."""
    listener = socket.create_server((HOST, 0))

    def serve(client):
        with client:
            try:
                while data := client.recv(65_536):
                    client.sendall(data)
            except OSError:
                pass

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture
def proxy(echo):
    with FaultProxy(echo) as proxy:
        yield proxy


def answered(proxy, timeout=5.0):
    """Return what comes back of SENT, and how it ended: "whole", "end", "reset" or "silence"."""
    found = b""
    try:
        with socket.create_connection((HOST, proxy.port), timeout=timeout) as client:
            client.sendall(SENT)
            while len(found) < len(SENT):
                data = client.recv(65_536)
                if not data:
                    return found, "end"
                found += data
    except ConnectionError:
        return found, "reset"
    except TimeoutError:
        return found, "silence"
    return found, "whole"


def test_without_a_fault_everything_passes(proxy):
    assert answered(proxy) == (SENT, "whole")
    assert proxy.injected() == {"connections": 1}


@pytest.mark.parametrize("way", ["request", "reply"])
@pytest.mark.parametrize(("kind", "end"), [("cut", "end"), ("reset", "reset"), ("half-close", "end")])
def test_a_connection_ends_at_the_byte_that_was_named(proxy, kind, end, way):
    proxy.next(Fault(kind, way, at=1_000))

    found, how = answered(proxy)

    assert how in (end, "reset")  # what was on its way meets a socket that is closed
    assert SENT.startswith(found)
    assert len(found) <= 1_000
    assert proxy.injected()[kind] == 1
    assert answered(proxy) == (SENT, "whole")


def test_a_refused_connection_is_reset_and_a_mute_one_says_nothing(proxy):
    proxy.next(Fault("refuse"), Fault("mute"))

    assert answered(proxy) == (b"", "reset")
    assert answered(proxy, timeout=0.3) == (b"", "silence")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stall", "delay", "trickle"])
def test_a_slow_connection_gives_everything_later(proxy, kind):
    proxy.next(Fault(kind, at=10, seconds=0.3))
    began = time.monotonic()

    assert answered(proxy) == (SENT, "whole")
    assert time.monotonic() - began >= 0.3


def test_one_byte_is_changed(proxy):
    proxy.next(Fault("corrupt", at=700))

    found, _ = answered(proxy)

    assert [at for at, (one, other) in enumerate(zip(SENT, found, strict=True)) if one != other] == [700]


def test_the_same_seed_makes_the_same_weather():
    def faults():
        made = Weather(7, share=0.5).faults()
        return [next(made) for _ in range(20_000)]

    assert faults() == faults()
    assert {fault.kind for fault in faults() if fault} == set(KINDS)


def test_it_ends_when_nobody_holds_it_any_more(echo):
    proxy = FaultProxy(echo)
    proxy.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, proxy.port), timeout=1)

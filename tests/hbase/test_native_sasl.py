"""Kerberos by HBase's own protocol: what is asked of the package gssapi, and answers that are not allowed.

Its gssapi is made up; tests/kerberos has a real one, a KDC and HBase.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
import types
from contextlib import closing, contextmanager

import pytest

from webtable.errors import InvalidArgument, NotAStore, StoreError, StoreRefused, StoreUnavailable
from webtable.store import StoreURL
from webtable.store.deadline import Deadline
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.connection import ConnectionLost, Kerberos, Wire
from webtable.store.hbase.native.store import address_of

PREAMBLE = b"HBas\x00\x51"


class GSSError(Exception):
    """What gssapi raises."""


class Context:
    """A security context that has two steps, and marks what it wraps."""

    def __init__(self, name, **_how):
        self.name, self.complete = name, False

    def step(self, token=None):
        if token == b"forged":
            raise GSSError("a token that is not valid")
        self.complete = token is not None
        return None if token else b"ticket for " + self.name[0].encode()

    def wrap(self, data, encrypt):
        return types.SimpleNamespace(message=(b"E" if encrypt else b"S") + data)

    def unwrap(self, data):
        if data[:1] not in (b"E", b"S"):
            raise GSSError("the signature is wrong")
        return types.SimpleNamespace(message=data[1:], encrypted=data[:1] == b"E")


@pytest.fixture(autouse=True)
def gssapi(monkeypatch):
    flags = ["mutual_authentication", "replay_detection", "out_of_sequence_detection", "integrity", "confidentiality"]
    fake = types.SimpleNamespace(
        Name=lambda name, kind: (name, kind),
        NameType=types.SimpleNamespace(hostbased_service="service", kerberos_principal="principal"),
        MechType=types.SimpleNamespace(kerberos="kerberos"),
        RequirementFlag=types.SimpleNamespace(**{flag: 1 << place for place, flag in enumerate(flags)}),
        SecurityContext=Context,
        exceptions=types.SimpleNamespace(GSSError=GSSError),
    )
    monkeypatch.setitem(sys.modules, "gssapi", fake)


def framed(data):
    return struct.pack(">i", len(data)) + data


def token(data):
    return struct.pack(">i", 0) + framed(data)


def offer(layers):
    return token(b"S" + bytes([layers, 1, 0, 0]))


@contextmanager
def answering(*answers):
    """Lend the port of a server that sends *answers* as soon as it is called, and all that it has been sent."""
    received = bytearray()

    def answer(listener):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"".join(answers))
            while data := connection.recv(4096):
                received.extend(data)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1], received
        thread.join(10)


def logged_in(port, principal="hbase/_HOST"):
    wire = Wire("127.0.0.1", port, Deadline(5))
    try:
        Kerberos(principal).log_in(wire, "rs1", Deadline(5))
    except BaseException:
        wire.close()
        raise
    return wire


@pytest.mark.parametrize(
    ("layers", "chosen", "mark"), [(7, 4, b"E"), (3, 2, b"S"), (6, 4, b"E"), (2, 2, b"S"), (1, 1, b"")]
)
def test_the_best_protection_that_a_server_offers_is_taken(layers, chosen, mark):
    with answering(token(b"proof"), offer(layers)) as (port, received), closing(logged_in(port)) as wire:
        wire.write(b"header", Deadline(5))

    size = b"\x00\x00\x00" if chosen == 1 else b"\xff\xff\xff"
    answer = framed(b"ticket for hbase@rs1") + framed(b"") + framed(b"S" + bytes([chosen]) + size)
    assert bytes(received) == PREAMBLE + answer + (framed(mark + b"header") if mark else b"header")


@pytest.mark.parametrize(
    ("principal", "asked"),
    [("hbase/_HOST@REALM", b"hbase/rs1@REALM"), ("hb/_HOST", b"hb@rs1"), ("hb/all@REALM", b"hb/all@REALM")],
)
def test_the_principal_is_that_of_the_registered_host(principal, asked):
    with answering(token(b"proof"), offer(1)) as (port, received), closing(logged_in(port, principal)):
        pass

    assert b"ticket for " + asked in bytes(received)


def test_protected_messages_are_read_across_their_pieces():
    pieces = framed(b"Eab") + framed(b"E") + framed(b"Ecdefg")
    with answering(token(b"proof"), offer(4), pieces) as (port, _), closing(logged_in(port)) as wire:
        assert wire.read(3, Deadline(5)) == b"abc"
        assert wire.read(4, Deadline(5)) == b"defg"
        assert wire.is_open()
        with pytest.raises(TimeoutError):
            wire.read(1, Deadline(0.05))


@pytest.mark.parametrize(
    ("piece", "message"), [(b"Sclear", "not encrypted"), (b"Xother", "changed on its way: the signature is wrong")]
)
def test_what_is_not_protected_as_agreed_ends_the_connection(piece, message):
    with (
        answering(token(b"proof"), offer(4), framed(piece)) as (port, _),
        pytest.raises(ConnectionLost, match=message),
        closing(logged_in(port)) as wire,
    ):
        wire.read(1, Deadline(5))


REFUSAL = struct.pack(">i", 1) + framed(b"javax.security.sasl.SaslException") + framed(b"GSS initiate failed")
ANSWERS = {
    "refused": (REFUSAL, StoreRefused, "does not accept the Kerberos ticket: GSS initiate failed"),
    "without security": (struct.pack(">ii", 0, -88), StoreRefused, "does not know Kerberos; leave auth=kerberos out"),
    "forged": (token(b"forged"), StoreUnavailable, "127.0.0.1 has not proven to be hbase/127.0.0.1: a token"),
    "no protection": (token(b"proof") + offer(0), NotAStore, "no protection that is known"),
    "another protocol": (b"SSH-2.0-OpenSSH", NotAStore, "a token of Kerberos with"),
    "too long": (struct.pack(">ii", 0, 2**30), NotAStore, "a token of Kerberos with 1,073,741,824 bytes"),
    "negative": (struct.pack(">ii", 0, -1), NotAStore, "a token of Kerberos with -1 bytes"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_lets_nobody_in_is_told(name):
    answer, kind, message = ANSWERS[name]

    with answering(answer) as (port, _), pytest.raises(StoreError, match=message) as found:
        NativeStore.from_url(StoreURL.parse(f"hbase+native://127.0.0.1:{port}?registry=master&auth=kerberos&timeout=5"))

    assert type(found.value) is kind


def test_a_connection_that_is_refused_before_any_call_says_why():
    header = pb.ResponseHeader(call_id=2**32 - 1)
    header.exception.exception_class_name = "org.apache.hadoop.hbase.security.AccessDeniedException"
    header.exception.stack_trace = "Authentication is required"
    data = header.SerializeToString()

    with (
        answering(framed(bytes([len(data)]) + data)) as (port, _),
        pytest.raises(StoreRefused, match="AccessDeniedException: Authentication is required"),
    ):
        NativeStore.from_url(StoreURL.parse(f"hbase+native://127.0.0.1:{port}?registry=master&timeout=5"))


def test_without_the_package_kerberos_says_which_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(InvalidArgument, match="pip install gssapi"):
        address_of(StoreURL.parse("hbase+native://zk1?auth=kerberos")).settings()


@pytest.mark.parametrize("options", ["auth=basic", "principal=hbase/_HOST", "auth=negotiate"])
def test_options_that_say_nothing_are_refused(options):
    with pytest.raises(InvalidArgument, match=r"auth|principal"):
        address_of(StoreURL.parse(f"hbase+native://zk1?{options}")).settings()


def test_the_principal_is_shown_and_unknown_options_are_not():
    url = StoreURL.parse("hbase+native://zk1/t?auth=kerberos&principal=hbase/_HOST@REALM")

    assert url.text == "hbase+native://zk1/t?auth=kerberos&principal=hbase/_HOST@REALM"
    assert "hunter2" not in StoreURL.parse("hbase+native://zk1/t?auth=kerberos&password=hunter2").text


def test_a_server_that_hangs_up_at_a_client_without_a_ticket_makes_one_think_of_tickets():
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=lambda: hang_up(listener), daemon=True)
        thread.start()
        with pytest.raises(StoreUnavailable, match=r"closed the connection and answered nothing.*auth=kerberos"):
            NativeStore.from_url(StoreURL.parse(f"hbase+native://127.0.0.1:{port}?registry=master&timeout=5"))
        thread.join(10)


def hang_up(listener):
    connection, _ = listener.accept()
    connection.recv(6)
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(4096):
        pass
    connection.close()

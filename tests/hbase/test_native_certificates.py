"""HBase's own protocol by TLS: which certificates are accepted, and what is said of the others."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from certificates import Authority

from webtable.errors import StoreUnavailable
from webtable.store import StoreURL
from webtable.store.deadline import Deadline
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native.servers import Servers
from webtable.store.hbase.shared.sockets import client_context
from webtable.store.url import HostPort

EXPIRED = timedelta(days=-1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@contextmanager
def listening(context):
    """Lend the port of a server with *context*, without one in the clear, and what its connections have sent."""
    received = []

    def serve(listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), connection:
                    if context is None:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                        continue
                    with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as secure:
                        try:
                            secure.do_handshake()
                        except ssl.SSLError:  # closing it with bytes unread would overtake the alert
                            secure.shutdown(socket.SHUT_WR)
                            while os.read(secure.fileno(), 4096):
                                pass
                        else:
                            received.append(secure.recv(4096))

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1], received
        listener.shutdown(socket.SHUT_RDWR)


def message_of(port, options, host="localhost"):
    with pytest.raises(StoreUnavailable) as found:
        NativeStore.from_url(StoreURL.parse(f"hbases+native://{host}:{port}?registry=master&timeout=5&{options}"))
    return str(found.value)


def test_a_server_whose_certificate_has_expired_gets_nothing(authority):
    with listening(authority.server_context("localhost", valid=EXPIRED)) as (port, received):
        message = message_of(port, f"ca={authority.file}")

    assert f"no connection to localhost:{port}: certificate verify failed: certificate has expired" in message
    assert not received


def test_a_server_of_another_authority_gets_nothing(authority, tmp_path):
    other = Authority(tmp_path, "another authority")
    with listening(authority.server_context("localhost")) as (port, received):
        message = message_of(port, f"ca={other.file}")

    assert "certificate verify failed: " in message
    assert not received


def test_a_server_with_the_certificate_of_another_host_gets_nothing(authority):
    with listening(authority.server_context("localhost")) as (port, received):
        message = message_of(port, f"ca={authority.file}", host="127.0.0.1")

    assert "certificate is not valid for '127.0.0.1'" in message
    assert not received


def test_the_certificate_is_that_of_the_registered_host_also_where_another_is_reached(authority):
    with listening(authority.server_context("rs1")) as (port, received):
        rename = {"rs1": f"localhost:{port}", "rs2": f"localhost:{port}"}
        servers = Servers("hbases+native://zk1", rename, client_context(str(authority.file)), "crawler")
        with closing(servers):
            servers.touch(HostPort("rs1", 16020), "ClientService", Deadline(5))
            with pytest.raises(OSError, match="certificate is not valid for 'rs2'"):
                servers.touch(HostPort("rs2", 16020), "ClientService", Deadline(5))

    assert [data[:6] for data in received] == [b"HBas\x00\x50"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("kind", ["none", "expired"])
def test_a_client_that_is_not_trusted_is_told_to_give_another_certificate(authority, kind, version):
    context = authority.server_context("localhost")
    context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    cert = "" if kind == "none" else f"&cert={authority.sign('client', valid=EXPIRED)}"

    with listening(context) as (port, received):
        message = message_of(port, f"ca={authority.file}{cert}")

    assert "alert" in message
    assert "the server may want another certificate of the client (cert=FILE)" in message
    assert not received


def test_a_server_without_tls_is_told_as_such(authority):
    with listening(None) as (port, _):
        assert "what answers may not speak TLS" in message_of(port, f"ca={authority.file}")

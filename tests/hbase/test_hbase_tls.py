"""Gateways by TLS: who is believed, and what is never sent to anybody else."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from certificates import Authority
from gateways import HOST, RowsThrift1, RowsThrift2, Server
from http_gateways import HTTPGateway

from webtable.errors import InvalidArgument, StoreUnavailable, WebTableError
from webtable.store import StoreURL, open_store
from webtable.store.hbase import HBaseStore, client_context

ROWS = [b"%05d" % number for number in range(30)]
EXPIRED = timedelta(hours=-1)


def opened(servers: list[Server], context: ssl.SSLContext, options: str, host: str = HOST) -> HBaseStore:
    """Open a store whose two gateways speak TLS by *context*."""
    pair = [HTTPGateway(handler, tls=context) for handler in (RowsThrift1(pages=ROWS), RowsThrift2(pages=ROWS))]
    servers.extend(pair)
    url = f"hbase+https://{host}:{pair[0].port}/pages?thrift2={pair[1].port}&timeout=3&{options}"
    return HBaseStore.from_url(StoreURL.parse(url))


def test_rows_are_read_by_tls(servers, authority):
    with opened(servers, authority.server_context(HOST), f"ca={authority.file}") as store:
        read = [row.key for _ in range(3) for row in store.read("pages", ROWS[:5])]

        assert store.name.startswith(f"hbase+https://{HOST}:")
    assert read == ROWS[:5] * 3


def test_tickets_of_tls_do_not_end_a_connection(servers, authority):
    with opened(servers, authority.server_context(HOST), f"ca={authority.file}&pool=1") as store:
        store.read("pages", ROWS[:1])
        before = [gateway.opened for gateway in store.servers()]
        for row in ROWS[:10]:
            store.read("pages", [row])

        assert [gateway.opened for gateway in store.servers()] == before


@pytest.mark.parametrize(
    ("names", "valid", "reason"),
    [
        ((HOST,), EXPIRED, "certificate has expired"),
        (("other.example",), timedelta(days=1), "IP address mismatch"),
        (("127.0.0.2",), timedelta(days=1), "IP address mismatch"),
    ],
)
def test_an_expired_certificate_and_that_of_another_host_are_refused(servers, authority, names, valid, reason):
    context = authority.server_context(*names, valid=valid)

    with pytest.raises(StoreUnavailable, match=f"certificate is not trusted: {reason}"):
        opened(servers, context, f"ca={authority.file}")


def test_the_name_in_the_url_is_the_one_that_counts(servers, authority):
    context = authority.server_context(HOST)

    with pytest.raises(StoreUnavailable, match="Hostname mismatch"):
        opened(servers, context, f"ca={authority.file}", host="localhost")


@pytest.mark.parametrize("with_own_ca", [True, False])
def test_a_certificate_of_another_authority_is_refused(servers, authority, tmp_path, with_own_ca):
    other = Authority(tmp_path, "other authority")

    with pytest.raises(StoreUnavailable, match="certificate is not trusted"):
        opened(servers, other.server_context(HOST), f"ca={authority.file}" if with_own_ca else "")


def test_a_server_without_tls_is_sent_nothing(servers):
    got: list[bytes] = []
    servers.append(Server(lambda client: (got.append(client.recv(5)), client.sendall(b"HTTP/1.1 400 no\r\n\r\n"))))

    with pytest.raises(StoreUnavailable, match="no TLS connection"):
        HBaseStore.from_url(StoreURL.parse(f"hbase+https://{HOST}:{servers[-1].port}/pages?timeout=3"))

    assert all(data.startswith(b"\x16\x03") for data in got)  # a handshake, each of them


def test_a_server_with_an_old_tls_alone_is_refused(servers, authority):
    context = authority.server_context(HOST)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

    with pytest.raises(StoreUnavailable, match="no TLS connection"):
        opened(servers, context, f"ca={authority.file}")


def test_a_plain_url_of_a_tls_server_says_which_scheme_it_needs(servers):
    alert = b"\x15\x03\x03\x00\x02\x02\x50"  # what Java's TLS says to what is no handshake
    servers.append(Server(lambda client: (client.recv(100), client.sendall(alert))))

    with pytest.raises(WebTableError, match=r"speaks TLS; if it is a gateway in HTTP mode, use hbase\+https://"):
        HBaseStore(HOST, servers[-1].port, timeout=8.0)


# --- certificates of clients -----------------------------------------------------------------------------------------


def asking(authority: Authority) -> ssl.SSLContext:
    """Return the context of a server that wants a certificate."""
    context = authority.server_context(HOST)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    return context


def test_a_server_that_asks_for_a_certificate_is_shown_it(servers, authority):
    own = authority.sign("crawler-1")
    with opened(servers, asking(authority), f"ca={authority.file}&cert={own}") as store:
        assert [row.key for row in store.read("pages", ROWS[:2])] == ROWS[:2]


def test_without_a_certificate_such_a_server_is_not_to_be_had(servers, authority):
    with pytest.raises(StoreUnavailable):
        opened(servers, asking(authority), f"ca={authority.file}")


def test_an_encrypted_key_is_opened_by_the_environment_and_never_asks_a_terminal(servers, authority, monkeypatch):
    own = authority.sign("crawler-1", password=b"key-password")
    options = f"ca={authority.file}&cert={own}"

    with pytest.raises(InvalidArgument, match="WEBTABLE_HBASE_KEY_PASSWORD"):
        opened(servers, asking(authority), options)
    monkeypatch.setenv("WEBTABLE_HBASE_KEY_PASSWORD", "wrong-password")
    with pytest.raises(InvalidArgument, match="not usable PEM") as caught:
        opened(servers, asking(authority), options)
    monkeypatch.setenv("WEBTABLE_HBASE_KEY_PASSWORD", "key-password")
    with opened(servers, asking(authority), options) as store:
        assert [row.key for row in store.read("pages", ROWS[:2])] == ROWS[:2]
    assert "wrong-password" not in str(caught.value)


@pytest.mark.parametrize("option", ["ca", "cert"])
@pytest.mark.parametrize("content", [None, b"", b"no PEM"])
def test_a_file_that_is_no_certificate_is_named(tmp_path: Path, option, content):
    file = tmp_path / "file.pem"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(InvalidArgument, match=f"{option}='.*file.pem'"):
        client_context(**{option: str(file)})


def test_a_key_needs_its_certificate():
    with pytest.raises(InvalidArgument, match="needs cert"):
        client_context(key="key.pem")


def test_a_url_of_a_proxy_that_speaks_tls_is_refused_with_the_one_that_serves():
    with pytest.raises(InvalidArgument, match=r"TLS in HTTP mode alone: hbase\+https://g:9095/crawl\?thrift2=9096"):
        open_store("hbases://g:9095/crawl?thrift2=9096")

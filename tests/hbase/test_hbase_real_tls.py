"""HBase's own gateways in HTTP mode, with and without TLS."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from certificates import Authority
from gateways import HOST, RoundRobin, put
from real_tls import HTTPModeGateway

import webtable
from webtable import WebTable
from webtable.errors import NotAStore, StoreUnavailable, WebTableError
from webtable.rowkey import KeyRange
from webtable.store import StoreURL, Wanted
from webtable.store.hbase import HBaseStore

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def http_pair(http_mode) -> tuple[HTTPModeGateway, HTTPModeGateway]:
    """HBase's own gateways of both services in the clear."""
    pair = http_mode(1), http_mode(2)
    for gateway in pair:
        gateway.wait()
    return pair


@pytest.fixture
def http_url(http_pair) -> str:
    first, second = http_pair
    return f"hbase+http://{first.host}:{first.port}?thrift2={second.port}"


def store_at(url: str) -> HBaseStore:
    return HBaseStore.from_url(StoreURL.parse(url))


@contextmanager
def new_table(server: str) -> Iterator[WebTable]:
    """Create a table without indexes on *server*, to be dropped with its queue at the end."""
    name = f"tls_{uuid.uuid4().hex[:12]}"
    base, mark, options = server.partition("?")
    with webtable.open(f"{base}/{name}{mark}{options}", create=True, indexes=[]) as table:
        yield table
        for one in table.store.tables():
            if one.startswith(name):
                table.store.drop_table(one)


def without_thrift2(url: str) -> str:
    base, _, query = url.partition("?")
    return f"{base}?{'&'.join(option for option in query.split('&') if not option.startswith('thrift2='))}"


@pytest.mark.parametrize("way", ["http_url", "https_url"])
def test_pages_are_stored_and_read_by_both_services_and_by_thrift1_alone(request, sample_pages, way):
    server, with_body = request.getfixturevalue(way), [page for page in sample_pages if page.body is not None]
    for url in (server, without_thrift2(server)):
        with new_table(url) as table:
            for page in with_body:
                table.put(page)

            assert [table.get(page.url).body for page in with_body] == [page.body for page in with_body]
            assert table.store.name.startswith(urlsplit(server).scheme)


def test_a_large_scan_and_large_cells_come_whole_by_https(https_url, pages, scratch, space):
    large = bytes(range(256)) * 20_000
    with store_at(https_url) as store:
        scanned = [row.key for row in store.scan(pages, [KeyRange()], Wanted())]
        outcomes = store.write(scratch, [put(space(b"%d" % number), value=large) for number in range(3)])
        read = store.read(scratch, [space(b"%d" % number) for number in range(3)])

    assert len(scanned) == 4000
    assert outcomes == [None] * 3
    assert [row.value(b"f:q") for row in read] == [large] * 3


def test_scans_over_thrift1_alone_go_on_over_https(https_url, pages):
    with store_at(without_thrift2(https_url)) as store:
        scanned = [row.key for row in store.scan(pages, [KeyRange()], Wanted())]
        backwards = [row.key for row in store.scan(pages, [KeyRange()], Wanted(), limit=50, reverse=True)]

    assert len(scanned) == 4000
    assert backwards == scanned[::-1][:50]


def test_a_restarted_gateway_in_http_mode_is_found_again(http_pair, pages):
    gateway = http_pair[0]
    with store_at(f"hbase+http://{gateway.host}:{gateway.port}?timeout=60") as store:
        before = store.read(pages, [b"00:00000"])
        gateway.kill()
        gateway.start()

        assert store.read(pages, [b"00:00000"]) == before


def test_an_expired_certificate_of_a_gateway_is_refused(http_mode, authority):
    gateway = http_mode(1, authority.keystore(http_mode.host, valid=timedelta(hours=-1)))
    gateway.wait()

    with pytest.raises(StoreUnavailable, match="certificate is not trusted: certificate has expired"):
        store_at(f"hbase+https://{gateway.host}:{gateway.port}?ca={authority.file}")


def test_a_gateway_with_the_certificate_of_another_host_is_refused(https_url, authority):
    url = urlsplit(https_url)
    with (
        closing(RoundRobin((url.hostname, url.port))) as elsewhere,
        pytest.raises(StoreUnavailable, match="certificate is not trusted: IP address mismatch"),
    ):
        store_at(f"hbase+https://{HOST}:{elsewhere.port}?ca={authority.file}")


def test_a_gateway_that_nobody_known_has_signed_is_refused(https_url, tmp_path):
    other = Authority(tmp_path, "other authority")
    url = urlsplit(https_url)

    with pytest.raises(StoreUnavailable, match="certificate is not trusted"):
        store_at(f"hbase+https://{url.netloc}?ca={other.file}")


def test_a_url_without_tls_says_that_the_gateway_wants_it(https_url):
    url = urlsplit(https_url)

    with pytest.raises(NotAStore, match=r"use hbase\+https://"):
        store_at(f"hbase://{url.netloc}?timeout=10")
    with pytest.raises(WebTableError):
        store_at(f"hbase+http://{url.netloc}?timeout=5")


def test_thrift2_at_the_port_of_thrift1_is_told_by_https(https_url, authority):
    url = urlsplit(https_url)
    port = url.query.split("&")[0].removeprefix("thrift2=")

    with pytest.raises(NotAStore, match=r"Thrift2 gateway answers .* where Thrift1 is expected"):
        store_at(f"hbase+https://{url.hostname}:{port}?ca={authority.file}")

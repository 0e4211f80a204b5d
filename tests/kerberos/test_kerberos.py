"""HBase with Kerberos, and a KDC, in a container of their own: `make test-kerberos`.

Tickets are real, and so is the package gssapi that asks for them.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator

import pytest
from realm import Realm, as_alice, no_ticket, running

from webtable.errors import StoreRefused, StoreUnavailable
from webtable.store import StoreURL
from webtable.store.hbase import HBaseStore
from webtable.testing import fresh_table

pytestmark = pytest.mark.skipif("WEBTABLE_KERBEROS" not in os.environ, reason="a job of its own: make test-kerberos")


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running(tmp_path_factory.mktemp("realm"), lambda realm: f"{realm.url}&auth=negotiate") as realm:
        yield realm


def store_at(url: str) -> HBaseStore:
    return HBaseStore.from_url(StoreURL.parse(url))


def ticket_for_another_service(_host: str) -> dict[str, str]:
    import gssapi

    other = gssapi.Name("HTTP@other", gssapi.NameType.hostbased_service)
    token = gssapi.SecurityContext(name=other, usage="initiate").step()
    return {"Authorization": "Negotiate " + base64.b64encode(token).decode()}


@pytest.mark.parametrize("services", ["both", "thrift1 alone"])
def test_pages_are_stored_and_read_with_a_ticket(realm, monkeypatch, sample_pages, services):
    as_alice(realm, monkeypatch)
    url = realm.url if services == "both" else realm.url.split("?")[0] + "?timeout=20"
    with_body = [page for page in sample_pages if page.body is not None]
    with fresh_table(f"{url}&auth=negotiate") as table:
        for page in with_body:
            table.put(page)

        assert with_body
        assert [table.get(page.url).body for page in with_body] == [page.body for page in with_body]


def test_who_shows_no_ticket_is_refused(realm):
    with pytest.raises(StoreRefused, match=r"401 .*credentials are missing, or not accepted"):
        store_at(realm.url)


def test_without_a_ticket_kerberos_is_named(realm, monkeypatch):
    no_ticket(realm, monkeypatch)

    with pytest.raises(StoreUnavailable, match="no Kerberos ticket for HTTP@localhost"):
        store_at(f"{realm.url}&auth=negotiate")


def test_a_ticket_that_has_expired_is_named(realm, monkeypatch):
    no_ticket(realm, monkeypatch)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.ticket_of_alice(life='2s')}")
    time.sleep(3)

    with pytest.raises(StoreUnavailable, match=r"no Kerberos ticket for HTTP@localhost.*expired"):
        store_at(f"{realm.url}&auth=negotiate")


def test_a_ticket_for_another_service_is_refused(realm, monkeypatch):
    as_alice(realm, monkeypatch)
    monkeypatch.setenv("WEBTABLE_HBASE_HEADERS", f"{__name__}:ticket_for_another_service")

    with pytest.raises(StoreRefused, match=r"401 .*credentials are missing, or not accepted"):
        store_at(f"{realm.url}&auth=hook")

"""HBase's own protocol with Kerberos, in each quality of protection: `make test MARK=kerberos`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from realm import Realm, as_alice, no_ticket, running

import webtable
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.store import StoreURL
from webtable.store.deadline import Deadline
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native.connection import Wire
from webtable.testing import fresh_table

pytestmark = [pytest.mark.kerberos, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=["authentication", "integrity", "privacy"])
def protection(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def realm(protection: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    folder = tmp_path_factory.mktemp(protection)
    with running(folder, kerberos, RPC_PROTECTION=protection) as realm:
        yield realm


def kerberos(realm: Realm) -> str:
    return f"{realm.native}&auth=kerberos"


def opened(url: str) -> NativeStore:
    return NativeStore.from_url(StoreURL.parse(url))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What goes over sockets, both ways."""
    pieces: list[bytes] = []
    flush, receive = Wire.flush, Wire.receive

    def flushed(self: Wire, deadline: Deadline) -> None:
        pieces.extend(map(bytes, self._unsent))
        flush(self, deadline)

    def received(self: Wire, *args: Any) -> bytes:
        pieces.append(receive(self, *args))
        return pieces[-1]

    monkeypatch.setattr(Wire, "flush", flushed)
    monkeypatch.setattr(Wire, "receive", received)
    return pieces


def test_pages_are_stored_and_read_with_a_ticket(realm, monkeypatch, sample_pages):
    as_alice(realm, monkeypatch)
    with_body = [page for page in sample_pages if page.body is not None]
    with fresh_table(kerberos(realm)) as table:
        with table.writer() as writer:
            writer.put_many(sample_pages)

        assert with_body
        assert [table.get(page.url).body for page in with_body] == [page.body for page in with_body]
        assert len(list(table.pages(webtable.ALL))) > 3


def test_many_threads_share_a_protected_connection(realm, monkeypatch, sample_pages):
    as_alice(realm, monkeypatch)
    page = next(page for page in sample_pages if page.body)
    with fresh_table(kerberos(realm)) as table, ThreadPoolExecutor(8) as threads:
        table.put(page)

        found = list(threads.map(lambda _: table.get(page.url).body, range(400)))

    assert found == [page.body] * 400


def test_what_is_sent_can_be_read_on_the_way_unless_it_is_private(realm, monkeypatch, sent, protection):
    as_alice(realm, monkeypatch)
    with fresh_table(kerberos(realm)) as table:
        name = table.name.rpartition("/")[2].encode()

    assert (name in b"".join(sent)) == (protection != "privacy")


def test_who_shows_no_ticket_is_refused(realm):
    with pytest.raises(StoreRefused, match="AccessDeniedException: Authentication is required"):
        opened(realm.native)


def test_without_a_ticket_kerberos_is_named(realm, monkeypatch):
    no_ticket(realm, monkeypatch)

    with pytest.raises(StoreUnavailable, match="no Kerberos ticket for hbase/localhost: "):
        opened(kerberos(realm))


def test_a_ticket_that_has_expired_is_named(realm, monkeypatch):
    no_ticket(realm, monkeypatch)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.ticket_of_alice(life='2s')}")
    time.sleep(3)

    with pytest.raises(StoreUnavailable, match=r"no Kerberos ticket for hbase/localhost.*expired"):
        opened(kerberos(realm))


def test_a_ticket_for_another_server_is_refused(realm, monkeypatch):
    as_alice(realm, monkeypatch)

    with pytest.raises(StoreRefused, match="does not accept the Kerberos ticket"):
        opened(f"{kerberos(realm)}&principal=hbase/other@WEBTABLE.TEST")


def test_a_service_that_the_realm_does_not_have_is_named(realm, monkeypatch):
    as_alice(realm, monkeypatch)

    with pytest.raises(StoreUnavailable, match=r"nobody/localhost@WEBTABLE\.TEST not found"):
        opened(f"{kerberos(realm)}&principal=nobody/_HOST")


def test_the_realm_of_the_servers_may_be_given(realm, monkeypatch):
    as_alice(realm, monkeypatch)

    opened(f"{kerberos(realm)}&principal=hbase/_HOST@WEBTABLE.TEST").close()


def test_who_may_not_act_for_another_user_is_refused(realm, monkeypatch):
    as_alice(realm, monkeypatch)

    with pytest.raises(StoreRefused, match=r"alice.* is not allowed to impersonate bob"):
        opened(f"{kerberos(realm)}&user=bob")

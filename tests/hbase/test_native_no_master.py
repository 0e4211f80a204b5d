"""Without a master region servers go on serving: a new process reads and writes, and what needs a master says so."""

from __future__ import annotations

import socket
import uuid
from contextlib import closing

import pytest

import webtable
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, StoreURL, Wanted
from webtable.store.deadline import Deadline
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native import store as module
from webtable.store.hbase.native.cluster import Cluster
from webtable.store.hbase.native.connection import ConnectionLost
from webtable.store.url import HostPort


@pytest.fixture
def name(native_url):
    """A table with a web table beside it, made while there was a master."""
    name = f"masterless_{uuid.uuid4().hex[:12]}"
    base, _, options = native_url.partition("?")
    url = f"{base.rstrip('/')}/{name}?{options}"
    with webtable.open(url, create=True) as table, NativeStore.from_url(StoreURL.parse(native_url)) as store:
        store.create_table(TableSchema(f"{name}_rows", (FamilySchema("f"),)))
        yield name
        for made in [made for made in table.store.tables() if made.startswith(name)]:
            store.drop_table(made)


@pytest.fixture
def masterless(native_url, name, monkeypatch):
    """The URL of the web table for somebody who cannot reach the active master."""
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        closed = listening.getsockname()[1]
    base, _, options = native_url.partition("?")
    renamed = [
        f"localhost:16000=127.0.0.1:{closed}" if pair.startswith("localhost:16000=") else pair
        for pair in options.partition("rename=")[2].partition("&")[0].split(",")
    ]
    rest = [option for option in options.split("&") if not option.startswith(("rename=", "timeout="))]
    return f"{base.rstrip('/')}/{name}?{'&'.join([*rest, 'timeout=10', 'rename=' + ','.join(renamed)])}"


@pytest.mark.hbase
def test_a_new_process_reads_and_writes_a_web_table(masterless):
    with webtable.open(masterless) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"<title>Home</title>"))

        assert [page.title for page in table.pages("example.com")] == ["Home"]
        assert table.get("https://example.com/").status == 200
        assert len(list(table.fetched(limit=5))) == 1


@pytest.mark.hbase
def test_what_needs_a_master_says_so(masterless, name):
    with NativeStore.from_url(StoreURL.parse(masterless)) as store:
        assert name in store.tables()
        with pytest.raises(StoreUnavailable, match=r"no connection to .*; this needs an active master, without which"):
            store.describe(name)

    checks = {check.check: check for check in webtable.doctor(masterless)}
    assert (checks["cluster"].state, checks["master"].state) == ("ok", "warning")
    assert "needs an active master" in checks["families"].finding
    assert checks["rows"].is_ok


@pytest.mark.hbase
def test_families_that_are_missing_are_named_by_region_servers(masterless, name):
    put = [Put(b"a", [NewCell(b"f:q", 1, b"v")]), Put(b"b", [NewCell(b"gone:q", 1, b"v")])]
    with NativeStore.from_url(StoreURL.parse(masterless)) as store:
        stored, refused = store.write(f"{name}_rows", put)

        assert stored is None
        assert isinstance(refused, StoreRefused)
        assert "has no family 'gone'" in str(refused)
        assert [row.key for row in store.scan(f"{name}_rows", [KeyRange()], Wanted([b"f:"]))] == [b"a"]


class Registry:
    """A registry that can be gone."""

    def __init__(self):
        self.is_gone, self.where = False, HostPort("rs1", 16020)

    def meta(self, _):
        if self.is_gone:
            raise ConnectionLost("ZooKeeper is gone")
        return self.where

    master = meta


class Servers:
    """Servers of which each is asked nothing, but noted."""

    def __init__(self):
        self.asked, self.forgotten = [], []

    def ask(self, server, *_):
        self.asked.append(server)

    def forget(self, server, _):
        self.forgotten.append(server)


def test_where_the_registry_is_gone_hbase_meta_is_where_it_was():
    registry, servers = Registry(), Servers()
    cluster = Cluster("hbase+native://test", registry, servers)
    cluster.check(Deadline(5))
    cluster._meta, registry.is_gone = None, True  # as after a region server was lost

    cluster.check(Deadline(5))

    assert servers.asked == [HostPort("rs1", 16020)] * 2


def test_a_master_that_another_one_follows_is_neither_up_nor_down():
    registry, servers = Registry(), Servers()
    cluster = Cluster("hbase+native://test", registry, servers)
    cluster.check_master(Deadline(5))
    cluster._master, registry.where = None, HostPort("rs2", 16000)

    cluster.check_master(Deadline(5))

    assert servers.forgotten == [HostPort("rs1", 16020)]

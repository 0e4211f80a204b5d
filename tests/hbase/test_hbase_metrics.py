"""What the metrics say of gateways: their connections, and those that were dropped."""

from __future__ import annotations

import pytest
from gateways import HOST, RowsThrift1, put, thrift_server
from proxy import Fault, FaultProxy

from webtable.errors import StoreUnavailable
from webtable.store.deadline import Deadline, until
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.thrift.connection import thrift1
from webtable.store.observed import ObservedStore

ROWS = [b"%05d" % number for number in range(300)]


@pytest.fixture
def rows(servers) -> RowsThrift1:
    handler = RowsThrift1(pages=ROWS)
    servers.append(thrift_server(thrift1.Hbase, handler))
    return handler


def test_a_connection_is_told_as_opened_and_idle(rows, servers):
    with HBaseStore(HOST, servers[0].port) as store:
        store.read("pages", ROWS[:3])

        [gateway] = store.servers()

    assert gateway.name == f"hbase://{HOST}:{servers[0].port}"
    assert (gateway.in_use, gateway.idle, gateway.opened, gateway.dropped) == (0, 1, 1, 0)
    assert not gateway.is_down
    assert store.servers()[0].idle == 0


def test_a_connection_that_is_cut_is_told_as_dropped_and_its_call_as_a_retry(rows, servers):
    with FaultProxy(servers[0].port) as proxy, HBaseStore(HOST, proxy.port) as store:
        proxy.next(Fault("cut", "reply", at=5))
        assert store.write("pages", [put(b"k")]) == [None]

        [gateway] = store.servers()

        assert (gateway.dropped, gateway.opened) == (1, 2)
        assert (store.events()["dropped"], store.events()["retry"], store.events()["failed"]) == (1, 1, 0)


def test_a_gateway_that_takes_the_place_of_another_is_told_once(rows, servers):
    servers.append(thrift_server(thrift1.Hbase, rows))
    with HBaseStore(HOST, servers[0].port, others=[(HOST, servers[1].port)]) as store:
        servers[0].close()
        for _ in range(2):
            store.read("pages", ROWS[:3])

        [gateways] = store.servers()

    assert (gateways.is_down, gateways.opened) == (False, 1)
    assert store.events()["failover"] == 1


def test_a_call_that_was_tried_until_its_end_has_failed_once(rows, servers):
    with ObservedStore(HBaseStore(HOST, servers[0].port)) as store:
        servers[0].close()
        with pytest.raises(StoreUnavailable), until(Deadline(0.3)):
            store.read("pages", ROWS[:3])

        assert store.events()["failed"] == store.measured()["read"].failed == 1
        assert store.events()["retry"] > 0

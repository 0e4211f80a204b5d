"""Who takes minutes for a row gets all the others: by then scanners have expired and connections are closed."""

from __future__ import annotations

import time

import pytest
from gateways import HOST, RoundRobin, RowsThrift1, RowsThrift2, thrift_server

from webtable._clock import clock
from webtable.rowkey import KeyRange
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.shared import scans
from webtable.store.hbase.thrift.connection import thrift1, thrift2

ROWS = [b"%05d" % number for number in range(3000)]
LEASE_SECONDS = 65.0  # more than those of a scanner in HBase, and of an idle connection in a gateway: 60 s

EXPIRED = {
    "the gateway has forgotten the scanner": thrift1.IllegalArgument(message=b"scanner ID is invalid"),
    "the region server has ended its lease": thrift1.IOError(
        message=b"org.apache.hadoop.hbase.regionserver.LeaseException: lease '-7219' does not exist\n\tat org.a.B"
    ),
    "the region server does not know the scanner": thrift1.IOError(
        message=b"org.apache.hadoop.hbase.UnknownScannerException: Unknown scanner '-7219'. This can happen due to any "
        b"of the following reasons: a) Scanner id given is wrong, b) Scanner lease expired because of long wait"
    ),
    "the client of the gateway has given it up": thrift1.IOError(
        message=b"org.apache.hadoop.hbase.client.ScannerTimeoutException: 65012ms passed since the last invocation, "
        b"timeout is currently set to 60000"
    ),
    "another call has gone on with it": thrift1.IOError(
        message=b"org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException: Expected nextCallSeq: 3 But the "
        b"nextCallSeq got from client: 2"
    ),
}


class Expiring(RowsThrift1):
    """A gateway whose scanners expire when `expire` is called: they answer with an error from then on."""

    def __init__(self, error: Exception) -> None:
        super().__init__(pages=ROWS)
        self._error = error
        self._expired: set[int] = set()

    def expire(self) -> None:
        self._expired |= set(self.scanners)

    def scannerGetList(self, number: int, count: int):
        if number in self._expired:
            raise self._error
        return super().scannerGetList(number, count)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("error", EXPIRED)
def test_a_scanner_that_expired_is_opened_anew_behind_the_last_row(servers, monkeypatch, error, reverse):
    monkeypatch.setattr(scans, "_MOST_ROWS", 100)
    handler = Expiring(EXPIRED[error])
    servers.append(thrift_server(thrift1.Hbase, handler))
    with HBaseStore(HOST, servers[0].port) as store:
        found = []
        for row in store.scan("pages", [KeyRange()], reverse=reverse):
            found.append(row.key)
            if len(found) % 100 == 0:
                handler.expire()

    assert found == sorted(ROWS, reverse=reverse)
    assert handler.opened > 10


@pytest.fixture
def later(monkeypatch) -> list[float]:
    """Seconds that are added to the clock, which goes on."""
    seconds = [0.0]
    monkeypatch.setattr(clock, "monotonic", lambda: time.monotonic() + seconds[0])
    return seconds


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_on_after_minutes_between_its_rows(servers, later, with_thrift2, reverse):
    """Gateways are forgetful here: after that time no connection and no scanner of theirs is left."""
    one, two = RowsThrift1(pages=ROWS), RowsThrift2(pages=ROWS)
    servers += [thrift_server(thrift1.Hbase, one), thrift_server(thrift2.THBaseService, two)]
    fronts = [RoundRobin((HOST, server.port)) for server in servers]
    servers += fronts
    with HBaseStore(HOST, fronts[0].port, thrift2=fronts[1].port if with_thrift2 else None) as store:
        found = []
        for row in store.scan("pages", [KeyRange()], reverse=reverse):
            found.append(row.key)
            if len(found) % 400 == 0:
                later[0] += LEASE_SECONDS
                one.scanners.clear()
                for front in fronts:
                    front.cut()

    assert found == sorted(ROWS, reverse=reverse)


def test_a_scanner_that_lay_for_half_a_minute_is_not_used_any_more(servers, later):
    handler = RowsThrift1(pages=ROWS)
    servers.append(thrift_server(thrift1.Hbase, handler))
    asked = []
    told = handler.scannerGetList
    handler.scannerGetList = lambda number, count: (asked.append(number), told(number, count))[1]
    with HBaseStore(HOST, servers[0].port) as store:
        rows = store.scan("pages", [KeyRange()])
        found = [next(rows).key for _ in range(100)]
        before = list(asked)
        later[0] += 31.0

        found += [row.key for row in rows]

    assert found == ROWS
    assert not set(before) & set(asked[len(before) :])

"""What the log says of gateways: the story of a fault, as text and as fields, and nothing that was stored."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from gateways import HOST, Proxy, RowsThrift1, put, thrift_server
from proxy import Fault, FaultProxy

from webtable.errors import StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store.deadline import Deadline, until
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.shared.failures import LOGGER, ServerLog
from webtable.store.hbase.thrift.connection import thrift1

ROWS = [b"%05d" % number for number in range(3000)]


@pytest.fixture(autouse=True)
def _logged(caplog):
    with caplog.at_level(logging.INFO, logger=LOGGER.name):
        yield


@pytest.fixture
def rows(servers) -> RowsThrift1:
    handler = RowsThrift1(pages=ROWS)
    servers.append(thrift_server(thrift1.Hbase, handler))
    return handler


def events(caplog) -> list[str]:
    return [record.event for record in caplog.records]


def record_of(caplog, event: str) -> logging.LogRecord:
    return next(record for record in caplog.records if record.event == event)


def test_nothing_is_logged_where_nothing_goes_wrong(rows, servers, caplog):
    with HBaseStore(HOST, servers[0].port) as store:
        assert [row.key for row in store.scan("pages", [KeyRange()])] == ROWS
        store.write("pages", [put(b"a")])

    assert caplog.records == []


def test_a_connection_cut_in_mid_scan_is_told_as_dropped_and_then_as_reopened_at_its_row(rows, servers, caplog):
    proxy = Proxy(servers[0].port)
    servers.append(proxy)
    with HBaseStore(HOST, proxy.port) as store:
        scan = store.scan("pages", [KeyRange()])
        found = [next(scan).key for _ in range(40)]
        store._gateways[0].pool.forget_idle()
        plan = [0, None]
        proxy.plan = lambda: plan.pop(0) if plan else None
        found += [row.key for row in scan]

    assert found == ROWS
    assert events(caplog) == ["dropped", "retry", "reopened"]
    dropped, reopened = record_of(caplog, "dropped"), record_of(caplog, "reopened")
    gateway = f"hbase://{HOST}:{proxy.port}"
    assert dropped.getMessage().startswith(f"{gateway}: table 'pages': dropped a connection (")
    assert "): connecting: the gateway closed the connection" in dropped.getMessage()  # at the first thing asked on it
    assert f"{gateway}: table 'pages': reopened scan at row b'00" in reopened.getMessage()
    for record in (dropped, reopened):
        assert (record.name, record.levelname) == ("webtable.store.hbase", "INFO")
        assert (record.table, record.server) == ("pages", gateway)
        assert 0 <= record.seconds < 5


def test_a_gateway_that_goes_down_and_comes_back_is_told_once_each(rows, servers, caplog):
    port = servers[0].port
    with HBaseStore(HOST, port) as store:
        servers[0].close()
        for _ in range(2):
            with pytest.raises(StoreUnavailable), until(Deadline(0.3)):
                store.read("pages", ROWS[:3])
        servers.append(thrift_server(thrift1.Hbase, rows, port=port))
        store.read("pages", ROWS[:3])

    assert events(caplog).count("down") == 1
    assert events(caplog)[-1] == "up"
    assert record_of(caplog, "down").levelname == "WARNING"
    assert "is down" in record_of(caplog, "down").getMessage()
    assert "Connection refused" in record_of(caplog, "down").getMessage()


def test_another_gateway_that_takes_the_place_is_told(rows, servers, caplog):
    servers.append(thrift_server(thrift1.Hbase, rows))
    first, second = (f"{HOST}:{server.port}" for server in servers)
    with HBaseStore(HOST, servers[0].port, others=[(HOST, servers[1].port)]) as store:
        servers[0].close()
        for _ in range(2):
            store.read("pages", ROWS[:3])

    failover = record_of(caplog, "failover")
    assert events(caplog) == ["failover"]
    assert failover.server == f"hbase://{first},{second}"
    assert f"{second} takes the place of {first}" in failover.getMessage()
    assert failover.levelname == "INFO"


def test_a_call_that_takes_a_third_of_its_deadline_is_a_warning(rows, servers, caplog, manual_clock):
    with HBaseStore(HOST, servers[0].port) as store:
        told = rows.getRowsWithColumnsTs
        rows.getRowsWithColumnsTs = lambda *args: (manual_clock.sleep(3), told(*args))[1]
        with until(Deadline(6)):
            store.read("pages", ROWS[:3])
        store.read("pages", ROWS[:3])

    [slow] = caplog.records
    assert (slow.event, slow.levelname, slow.table) == ("slow", "WARNING", "pages")
    assert "getRowsWithColumnsTs took long" in slow.getMessage()
    assert slow.seconds == pytest.approx(3)


def test_a_row_key_with_a_newline_does_not_begin_a_line_of_the_log(servers, caplog):
    keys = [b"\r\nERROR forged \x1b[2J%03d" % number for number in range(999)]
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=keys)))
    proxy = Proxy(servers[0].port)
    servers.append(proxy)
    with HBaseStore(HOST, proxy.port) as store:
        scan = store.scan("pages", [KeyRange()])
        next(scan)
        store._gateways[0].pool.forget_idle()
        plan = [0]
        proxy.plan = lambda: plan.pop(0) if plan else None
        list(scan)

    assert "reopened" in events(caplog)
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_what_a_gateway_says_and_what_a_table_is_called_stay_in_their_line(caplog):
    error = StoreUnavailable("h: table 'a\\nb': getRows: \nERROR forged\x1b[2J\u2028")

    ServerLog("h")(logging.INFO, "retry", "attempt 2\n", "a\nb", 1.0, error)

    [record] = caplog.records
    assert record.getMessage() == ("h: table 'a\\nb': attempt 2\\n (1.000 s): getRows: \\nERROR forged\\x1b[2J\\u2028")


def test_a_reply_that_is_not_believed_is_not_quoted(rows, servers, caplog):
    secret = b"secret" * 5
    rows.wrong.append(lambda found: [type(found[0])(row=secret, columns=found[0].columns)])
    with HBaseStore(HOST, servers[0].port) as store:
        store.read("pages", ROWS[:3])

    assert events(caplog) == ["dropped", "retry"]
    assert "a reply that was rejected" in record_of(caplog, "dropped").getMessage()
    assert "secret" not in caplog.text


def test_no_value_that_is_written_comes_into_the_log(rows, servers, caplog):
    with FaultProxy(servers[0].port) as proxy, HBaseStore(HOST, proxy.port) as store:
        for way in ("request", "reply"):
            proxy.next(*[Fault("reset", way, at=at) for at in (0, 30)])
            store._gateways[0].pool.forget_idle()
            assert store.write("pages", [put(b"k", value=b"the body of a page" * 99)]) == [None]

    assert "dropped" in events(caplog)
    assert "the body" not in caplog.text


def test_a_program_that_sets_up_no_logging_sees_nothing():
    program = (
        "import logging; from webtable.store.hbase.shared.failures import ServerLog\n"
        "ServerLog('h')(logging.WARNING, 'down', 'is down', None, 1.0)"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stderr == run.stdout == ""

"""A reply that is none is an error of the store, whatever the decoder makes of it, and takes no memory."""

from __future__ import annotations

import random
import resource
import socket
import struct
from contextlib import closing
from typing import Any

import pytest
from gateways import HOST, Corrupting, RowsThrift1, RowsThrift2, Server, thrift_server

from nightly import examples
from webtable.errors import StoreError, StoreRefused, TableNotFound
from webtable.rowkey import KeyRange
from webtable.store import Wanted
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.thrift.connection import thrift1, thrift2
from webtable.store.hbase.thrift.gateway import Connector
from webtable.store.rows import Row
from webtable.store.url import HostPort
from webtable.testing.stores import counted_store

ROWS = [b"%05d" % number for number in range(30)]
TIMES = examples(12, 40)
"""How many replies are damaged."""
SIZES = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x10000000, 0x0000FFFF, 1, 0)


# --- damaged replies -------------------------------------------------------------------------------------------------


def damage(data: bytes, chance: random.Random) -> bytes:
    """Return *data* with a byte flipped, a size replaced, bytes lost or bytes doubled."""
    at = chance.randrange(len(data))
    kind = chance.randrange(6)
    if kind < 3:
        return data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :]
    if kind == 3:
        return data[:at] + struct.pack("!I", chance.choice(SIZES)) + data[at + 4 :]
    length = chance.randrange(1, 20)
    return data[:at] + (data[at + length :] if kind == 4 else data[at : at + length] + data[at:])


def is_row(row: Any) -> bool:
    return (
        isinstance(row, Row)
        and isinstance(row.key, bytes)
        and all(
            isinstance(column, bytes) and isinstance(cell.value, bytes) and isinstance(cell.timestamp, int)
            for column, cells in row.cells.items()
            for cell in cells
        )
    )


def check_rows(rows: list[Any], count: int) -> None:
    assert len(rows) == count
    for row in rows:
        assert is_row(row), row


def check_cells(found: list[Any]) -> None:
    for column, cell in found[0]:
        assert isinstance(column, bytes)
        assert isinstance(cell.value, bytes)


ASKED = {
    "read": lambda store: check_rows(store.read("pages", ROWS), 30),
    "read_cells": lambda store: check_cells(store.read_cells("pages", ROWS[:1], b"f", limit=5)),
    "scan": lambda store: check_rows(list(store.scan("pages", [KeyRange()])), 30),
    "scan of keys": lambda store: check_rows(list(store.scan("pages", [KeyRange()], Wanted(keys_only=True))), 30),
    "first_rows": lambda store: check_rows(store.first_rows("pages", [KeyRange()], 9)[0], 9),
    "tables": lambda store: [name.encode() for name in store.tables()],
    "describe": lambda store: store.describe("pages").schema.family("f"),
    "regions": lambda store: [region.keys.start + region.keys.stop for region in store.regions("pages")],
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("number", [1, 2])
def test_a_damaged_reply_is_read_right_the_next_time_or_an_error_of_the_store(servers, number, asked):
    """What a flipped byte leaves a valid reply, as one within a value does, nobody can tell."""
    chance = random.Random(f"{number} {asked}")
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    servers.append(thrift_server(thrift2.THBaseService, RowsThrift2(pages=ROWS)))
    proxy = Corrupting(servers[number - 1].port)
    servers.append(proxy)
    ports = (proxy.port, None) if number == 1 else (servers[0].port, proxy.port)
    unknown = []
    with HBaseStore(HOST, ports[0], thrift2=ports[1]) as store:
        for _ in range(TIMES):
            proxy.corrupt = lambda data: damage(data, chance)
            try:
                ASKED[asked](store)
            except (StoreError, TableNotFound):
                pass
            except KeyError as exc:  # of this test: the name of the family is another one
                unknown.append(exc)

    assert len(unknown) < TIMES // 2


# --- what the decoder makes of replies -------------------------------------------------------------------------------


def names(size: int, element: bytes = b"\x0b") -> bytes:
    """The beginning of a list of strings, the first of which says that it has *size* bytes."""
    return b"\x0f\x00\x00" + element + struct.pack("!iI", 1, size)


REPLIES = {
    "a string of less than no bytes (SystemError)": names(0xFFFFFFFF) + b"\x00",
    "a string of 2 GB (MemoryError)": names(0x7FFFFFFF),
    "structures without an end (RecursionError)": b"\x0c\x00\x63" * 100,
    "a list without an end": b"\x0f\x00\x63" + b"\x0f\x7f\xff\xff\xff" * 80,
    "more than a reply": names(1) + b"a\x00" + b"\x00",
    "a list of something else, and what is in it": names(1, b"\x05") + b"a\x00",
}


def replying(body: bytes) -> Server:
    """A gateway that answers the first call of a connection with *body*, and says no more."""

    def serve(client: socket.socket) -> None:
        request = client.recv(1000)
        client.sendall(b"\x80\x01\x00\x02" + request[4 : 8 + 13 + 4] + body)
        client.recv(1)

    return Server(serve)


@pytest.mark.parametrize("case", REPLIES)
def test_what_cannot_be_read_is_a_wrong_reply_at_once_and_takes_no_memory(servers, case):
    servers.append(replying(REPLIES[case]))
    connect = Connector(HostPort(HOST, servers[-1].port), 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    deadline = Deadline(0.5)
    with closing(connect(deadline)) as connection, pytest.raises(WrongReply):
        connection.call("getTableNames", deadline=deadline)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("option", [{"compression": b"NEWEST"}, {"bloomFilterType": b"NEWEST"}])
def test_a_family_with_an_option_of_a_later_hbase_is_refused_and_not_an_argument_of_the_caller_s(servers, option):
    gateway = RowsThrift1(pages=ROWS)
    families = gateway.getColumnDescriptors(b"pages")
    vars(families[b"f:"]).update(option)
    gateway.getColumnDescriptors = lambda _: families
    servers.append(thrift_server(thrift1.Hbase, gateway))

    with HBaseStore(HOST, servers[0].port) as store, pytest.raises(StoreRefused, match="NEWEST"):
        store.describe("pages")


# --- what is sent ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["thrift1", "thrift2"])
def store(request, servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    servers.append(thrift_server(thrift2.THBaseService, RowsThrift2(pages=ROWS)))
    with HBaseStore(HOST, servers[0].port, thrift2=servers[1].port if request.param == "thrift2" else None) as store:
        yield store


def test_numbers_beyond_thrift_s_are_as_many_as_there_are(store):
    rows = store.read("pages", ROWS[:2], Wanted(versions=2**40))
    [first] = store.first_rows("pages", [KeyRange()], 2**40)

    assert [row.key for row in rows] == ROWS[:2]
    assert [row.key for row in first] == ROWS


def test_what_thrift_cannot_send_is_refused_and_not_tried_again(store):
    _, calls = counted_store(store)
    gateway = store._gateways[-1]
    method = "getScannerResults" if len(store._gateways) > 1 else "scannerGetList"
    arguments = (b"pages", None, 2**40) if len(store._gateways) > 1 else (1, 2**40)

    with pytest.raises(StoreRefused, match="cannot send"):
        gateway.call(method, *arguments, deadline=Deadline(5.0))

    assert calls[method] == 1

"""Comparing and putting at once on HBase: what is sent, and what the caller learns where no answer comes."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from gateways import HOST, RowsThrift1, RowsThrift2, put, thrift_server

from webtable.errors import CapabilityError, StoreError, StoreUnavailable
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.calls import NativeClient
from webtable.store.hbase.native.connection import ServerError
from webtable.store.hbase.thrift.connection import thrift1, thrift2

ROW = b"r1"
PUT = put(ROW, 7, b"f:q", b"new")


class Region:
    name = b"t,,1.abc."

    def on_server(self) -> str:
        return "server"

    def specifier(self) -> pb.RegionSpecifier:
        return pb.RegionSpecifier(type=1, value=self.name)


class Cluster:
    """A cluster of one region, whose server answers with *answers*, one after another; an exception is raised."""

    name = "hbase+native://zk"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.servers = self

    def regions(self, table: str, deadline: Deadline) -> Any:
        return SimpleNamespace(of=lambda row: Region())

    def touch(self, *_: Any) -> None:
        pass

    def send(self, server, service, method, request, response, deadline, cells) -> Any:
        self.sent.append((method, request.SerializeToString(), cells))
        answer = self.answers.pop(0)

        def wait(_: Deadline) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return SimpleNamespace(message=answer)

        return SimpleNamespace(wait=wait)

    def retried(self, do, table, call, deadline) -> Any:
        while True:
            try:
                return do(deadline)
            except ServerError as exc:
                if not exc.passes:
                    raise


def compared(cluster: Cluster, expected: bytes | None = b"old") -> bool:
    return NativeClient(cluster).check_and_put("t", PUT, b"f:q", expected, Deadline(5))


@pytest.mark.parametrize("processed", [True, False])
def test_the_answer_of_the_server_is_that_of_the_call(processed):
    assert compared(Cluster(pb.MutateResponse(processed=processed))) is processed


# The fields of Condition in Client.proto of HBase 2.6: row 1, family 2, qualifier 3, compare_type 4 (EQUAL is 2),
# comparator 5 (name 1, serialized 2), and of MutateRequest: region 1, mutation 2, condition 3.
@pytest.mark.parametrize(
    ("expected", "comparator"), [(b"old", b"\x0a\x05\x0a\x03old"), (b"", b"\x0a\x02\x0a\x00"), (None, b"\x0a\x00")]
)
def test_the_condition_is_sent_as_hbase_reads_it(expected, comparator):
    cluster = Cluster(pb.MutateResponse(processed=True))
    name = b"org.apache.hadoop.hbase.filter.BinaryComparator"

    compared(cluster, expected)

    ((method, request, cells),) = cluster.sent
    of_comparator = b"\x0a" + bytes([len(name)]) + name + b"\x12" + bytes([len(comparator)]) + comparator
    condition = b"\x0a\x02r1\x12\x01f\x1a\x01q\x20\x02\x2a" + bytes([len(of_comparator)]) + of_comparator
    assert method == "Mutate"
    assert request.endswith(b"\x1a" + bytes([len(condition)]) + condition)
    assert cells.endswith(b"new")


def test_a_call_that_hbase_has_refused_for_now_is_made_again():
    moved = ServerError("org.apache.hadoop.hbase.NotServingRegionException", "moved")
    cluster = Cluster(moved, pb.MutateResponse(processed=True))

    assert compared(cluster) is True
    assert len(cluster.sent) == 2


@pytest.mark.parametrize("answer", [TimeoutError(), ConnectionResetError("gone"), pb.MutateResponse()], ids=str)
def test_a_call_without_an_answer_is_not_made_again_and_its_outcome_is_unknown(answer):
    cluster = Cluster(answer, pb.MutateResponse(processed=True))

    with pytest.raises(StoreError, match="whether the row is stored is unknown: read it") as raised:
        compared(cluster)

    assert not isinstance(raised.value, StoreUnavailable)
    assert len(cluster.sent) == 1


class Comparing(RowsThrift2):
    """A Thrift2 gateway that compares; with *cut* it closes the connection instead of an answer."""

    def __init__(self) -> None:
        super().__init__(t=[])
        self.calls: list[tuple[Any, ...]] = []
        self.stored: bytes | None = b"old"
        self.lost = threading.Event()

    def checkAndPut(self, *call: Any) -> bool:
        self.calls.append(call)
        if self.lost.is_set():
            raise thrift1.IOError(message=b"undeclared")  # thriftpy2 hangs up
        return call[4] == self.stored


@pytest.fixture
def gateway(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(t=[])))
    handler = Comparing()
    servers.append(thrift_server(thrift2.THBaseService, handler))
    with HBaseStore(HOST, servers[0].port, thrift2=servers[1].port, timeout=5) as store:
        yield store, handler


def test_a_thrift2_gateway_compares_and_gets_the_row_with_its_timestamp(gateway):
    store, handler = gateway

    assert store.check_and_put("t", PUT, b"f:q", b"old") is True
    assert store.check_and_put("t", PUT, b"f:q", None) is False

    table, row, family, qualifier, value, made = handler.calls[0]
    assert (table, row, family, qualifier, value) == (b"t", ROW, b"f", b"q", b"old")
    ((cell,), of_row) = made.columnValues, made.row
    assert (of_row, cell.family, cell.qualifier, cell.value, cell.timestamp) == (ROW, b"f", b"q", b"new", 7)
    assert handler.calls[1][4] is None


def test_a_thrift2_gateway_that_hangs_up_is_not_asked_again(gateway):
    store, handler = gateway
    handler.lost.set()

    with pytest.raises(StoreError, match="whether the row is stored is unknown"):
        store.check_and_put("t", PUT, b"f:q", b"old")

    assert len(handler.calls) == 1


def test_a_thrift1_gateway_alone_says_what_can_compare(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(t=[])))

    with (
        HBaseStore(HOST, servers[0].port) as store,
        pytest.raises(CapabilityError, match=r"thrift2=.*hbase\+native://"),
    ):
        store.check_and_put("t", PUT, b"f:q", b"old")

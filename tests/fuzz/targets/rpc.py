"""Answers of HBase's own protocol, by what reads them: any bytes are an answer, HBase's exception, or a wrong reply."""

from __future__ import annotations

import functools

from google.protobuf.message import DecodeError
from hypothesis import strategies as st

from targets.target import Strategy, Target, edited, edits
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.cluster import _message, _server, decoded_rows, encode_put
from webtable.store.hbase.native.connection import RpcAnswer, ServerError, decoded, translated
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.filters import varint
from webtable.store.rows import NewCell, Put

RESPONSES = (pb.ScanResponse, pb.MultiResponse, pb.GetTableNamesResponse, pb.GetTableDescriptorsResponse)


def check(data: bytes) -> None:
    """The first byte chooses the message and whether columns have several cells, and the others are the answer."""
    which, data = (data[0], data[1:]) if data else (0, b"")
    _read_node(data)
    try:
        number, found = decoded(data, lambda _: RESPONSES[which % len(RESPONSES)])
    except WrongReply:
        return
    assert 0 <= number < 2**32
    if isinstance(found, ServerError):
        translated(found, "hbase+native://test", "pages", "Scan")
        return
    assert isinstance(found, RpcAnswer)
    assert 0 <= found.start <= found.end == len(data)
    counts = _counts(found.message)
    try:
        rows = decoded_rows(data, found.start, found.end, counts, one_version=bool(which & 16))
    except WrongReply:
        return
    assert len(rows) == len(counts)
    values = sum(len(cell.value) for row in rows for cells in row.cells.values() for cell in cells)
    assert values <= len(data)


def _counts(message: object) -> list[int]:
    if isinstance(message, pb.ScanResponse):
        return list(message.cells_per_result)
    if isinstance(message, pb.MultiResponse):
        results = [one for region in message.regionActionResult for one in region.resultOrException]
        return [one.result.associated_cell_count for one in results]
    return []


def _read_node(data: bytes) -> None:
    try:
        _server(pb.Master.FromString(_message(data)).master)
    except (WrongReply, DecodeError):
        return


def answer(message: pb.ScanResponse | pb.MultiResponse | pb.GetTableNamesResponse, block: bytes = b"") -> bytes:
    """Return an answer as HBase writes it, without the length before it."""
    header = pb.ResponseHeader(call_id=3)
    if block:
        header.cell_block_meta.length = len(block)
    parts = (header.SerializeToString(), message.SerializeToString())
    return b"".join(varint(len(part)) + part for part in parts) + block


@functools.cache
def answers() -> list[bytes]:
    """Return answers with their first byte, each of another kind."""
    puts = [Put(b"row%d" % n, [NewCell(b"f:q%d" % at, at, b"v" * at) for at in range(n + 1)]) for n in range(4)]
    block: list[bytes] = []
    counts = [encode_put(put, block, {}) for put in puts]
    scan = pb.ScanResponse(cells_per_result=counts, scanner_id=7, more_results=True, more_results_in_region=True)
    partial = pb.ScanResponse(cells_per_result=[1], partial_flag_per_result=[True], more_results=True)
    multi = pb.MultiResponse()
    region = multi.regionActionResult.add()
    for index, count in enumerate(counts):
        region.resultOrException.add(index=index).result.associated_cell_count = count
    failed = pb.MultiResponse()
    failed.regionActionResult.add().exception.name = "org.apache.hadoop.hbase.NotServingRegionException"
    header = pb.ResponseHeader(call_id=3)
    header.exception.exception_class_name = "org.apache.hadoop.hbase.quotas.RpcThrottlingException"
    header.exception.stack_trace = "org.a.B: wait 1sec, 200ms\n\tat x"
    refused = header.SerializeToString()
    names = pb.GetTableNamesResponse()
    names.table_names.add(namespace=b"default", qualifier=b"pages")
    node = pb.Master()
    node.master.host_name, node.master.port = "localhost", 16000
    return [
        b"\x00" + answer(scan, b"".join(block)),
        b"\x10" + answer(scan, b"".join(block)),
        b"\x00" + answer(partial, b"".join(block[:2])),
        b"\x01" + answer(multi, b"".join(block)),
        b"\x01" + answer(failed),
        b"\x00" + varint(len(refused)) + refused,
        b"\x02" + answer(names),
        b"\x00\xff\x00\x00\x00\x03abcPBUF" + node.SerializeToString(),
        b"\x00PBUF" + node.SerializeToString(),
    ]


def inputs() -> Strategy:
    """Return answers that were edited, lengths that lie among them, and any bytes."""
    changed = st.builds(edited, st.sampled_from(answers()), edits(1) | edits())
    return changed | st.binary(max_size=60)


RPC = Target("rpc", check, inputs, answers, seconds=1.0, longest=2048)

"""Answers that HBase's own protocol does not allow: typed errors, and no memory for bytes that have not come."""

from __future__ import annotations

import socket
import struct
import threading
import tracemalloc
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rpc_server import length, part

from nightly import examples
from webtable.errors import NotAStore, StoreUnavailable
from webtable.store import Cell, NewCell, Put, StoreURL
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.cluster import decoded_rows, encode_put
from webtable.store.hbase.native.connection import MOST_BYTES, RpcAnswer, ServerError, decoded
from webtable.store.hbase.shared.failures import WrongReply

NAMES = pb.GetTableNamesResponse


def answer(message, number=1, cells=b"", announced=None):
    header = pb.ResponseHeader(call_id=number)
    if cells or announced:
        header.cell_block_meta.length = len(cells) if announced is None else announced
    return part(header) + part(message) + cells


@contextmanager
def server(replies):
    """A server that gives each connection the bytes *replies* once it has said something, and closes it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1000)
                    try:
                        connection.sendall(replies)
                        connection.settimeout(1)
                        connection.recv(1000)
                    except OSError:
                        pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


REPLIES = {
    "nothing": b"",
    "an HTTP server": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a TLS server": b"\x15\x03\x01\x00\x02\x02\x28",
    "a length of two gigabytes": b"\x7f\xff\xff\xff" + b"x" * 100,
    "a length below zero": b"\xff\xff\xff\xff" + b"x" * 100,
    "no bytes at all": length(b""),
    "a header longer than the answer": length(b"\x7f\x08\x01"),
    "a length without an end": length(b"\xff\xff\xff\xff\xff\xff"),
    "a header that is none": length(b"\x02\xff\xff"),
    "a message that is none": length(part(pb.ResponseHeader(call_id=1)) + b"\x02\x0a\xff"),
    "an answer to another call": length(answer(NAMES(), number=77)),
    "cells that have not come": length(answer(NAMES(), announced=2**31)),
    "an answer that is cut": length(answer(NAMES()))[:-1] if len(answer(NAMES())) > 4 else b"\x00\x00\x00\x09\x02",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_what_is_not_an_answer_of_hbase_is_an_error_that_names_the_place(reply):
    with server(reply) as port:
        url = StoreURL.parse(f"hbase+native://127.0.0.1:{port}/crawl?registry=master&timeout=2")
        with pytest.raises((NotAStore, StoreUnavailable), match=rf"hbase\+native://127\.0\.0\.1:{port}"):
            NativeStore.from_url(url)


def test_an_exception_of_hbase_is_one_here():
    header = pb.ResponseHeader(call_id=3)
    header.exception.exception_class_name = "org.apache.hadoop.hbase.NotServingRegionException"
    header.exception.stack_trace = "org.apache.hadoop.hbase.NotServingRegionException: gone\n\tat x"

    number, found = decoded(part(header), lambda _: NAMES)

    assert number == 3
    assert isinstance(found, ServerError)
    assert found.moved


@settings(max_examples=examples(500, 20_000))
@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_wrong_reply(data):
    try:
        number, found = decoded(data, lambda _: NAMES)
    except WrongReply:
        return
    assert number >= 0
    assert isinstance(found, (RpcAnswer, ServerError))


@pytest.mark.slow
@settings(max_examples=examples(500, 20_000))
@given(st.binary(max_size=300), st.lists(st.integers(0, 5), max_size=5), st.booleans())
def test_any_bytes_are_rows_or_a_wrong_reply(data, counts, one_version):
    try:
        rows = decoded_rows(data, 0, len(data), counts, one_version=one_version)
    except WrongReply:
        return
    assert len(rows) == len(counts)


columns = st.builds(
    lambda family, qualifier: family + b":" + qualifier, st.sampled_from([b"f", b"long"]), st.binary(max_size=9)
)
cells = st.lists(
    st.builds(NewCell, columns, st.integers(0, 2**63 - 2), st.binary(max_size=50)),
    min_size=1,
    max_size=5,
    unique_by=lambda cell: cell.column,
)


@pytest.mark.slow
@settings(max_examples=examples(300, 10_000))
@given(st.lists(st.builds(Put, st.binary(min_size=1, max_size=20), cells), max_size=5), st.data())
def test_cells_come_back_as_they_were_encoded_and_altered_lengths_are_noticed(puts, data):
    block: list[bytes] = []
    counts = [encode_put(put, block, {}) for put in puts]
    encoded = b"".join(block)

    rows = decoded_rows(encoded, 0, len(encoded), counts)

    assert [row.key for row in rows] == [put.row for put in puts]
    assert [row.cells for row in rows] == [
        {cell.column: (Cell(cell.timestamp, cell.value),) for cell in put.cells} for put in puts
    ]
    if puts:
        cut = data.draw(st.integers(0, len(encoded) - 1))
        with pytest.raises(WrongReply):
            decoded_rows(encoded, 0, cut, counts)


def test_no_answer_is_longer_than_its_bound():
    assert MOST_BYTES == 256 * 1024 * 1024


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("an HTTP server", "it is an HTTP server"),
        ("a TLS server", "it speaks TLS, which hbases"),
        ("a length of two gigabytes", "2,147,483,647 bytes"),
    ],
)
def test_what_is_there_instead_of_hbase_is_told(reply, message):
    with server(REPLIES[reply]) as port, pytest.raises(NotAStore, match=f"not HBase's own protocol: .*{message}"):
        NativeStore.from_url(StoreURL.parse(f"hbase+native://127.0.0.1:{port}/crawl?registry=master&timeout=2"))


@pytest.mark.slow
def test_memory_is_taken_as_bytes_come_and_not_as_a_length_promises():
    with server(struct.pack(">I", MOST_BYTES) + bytes(1000)) as port:
        tracemalloc.start()
        try:
            with pytest.raises(StoreUnavailable):
                NativeStore.from_url(StoreURL.parse(f"hbase+native://127.0.0.1:{port}/crawl?registry=master&timeout=2"))
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert most < 4_000_000

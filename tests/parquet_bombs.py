"""Parquet files of under 1 MB that are made to hurt a reader: by pyarrow, or byte by byte where it writes none such."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from nightly import examples

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
_BYTE_ARRAY = 6
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_ZSTD = 6
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_FILLER = b"x" * 1_000_000


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def thrift(*fields: tuple[int, int, Any]) -> bytes:
    """Return a struct in Thrift's compact protocol, of fields with a number, a type and a value."""
    data, last = b"", 0
    for number, kind, value in fields:
        data += bytes([(number - last) << 4 | kind])
        last = number
        if kind in (I32, I64):
            data += _varint(value << 1 if value >= 0 else (-value << 1) - 1)
        elif kind == BINARY:
            data += _varint(len(value)) + value
        elif kind == LIST:
            element, items = value
            data += bytes([0xF0 | element]) + _varint(len(items)) + b"".join(items)
        else:
            data += value
    return data + b"\x00"


def node(name: str, *, children: int = 0, repetition: int = _OPTIONAL) -> bytes:
    """Return an element of a schema: a group with *children*, or a column of text."""
    kind = [] if children else [(1, I32, _BYTE_ARRAY)]
    group = [(5, I32, children)] if children else []
    text = [] if children else [(6, I32, 0)]
    return thrift(*kind, (3, I32, repetition), (4, BINARY, name.encode()), *group, *text)


def page(
    values: int, data: bytes, *, filler: int = 0, encoding: int = _PLAIN, dictionary: bool = False, claimed: int = 0
) -> bytes:
    """Return a page with *values*: *data* and *filler* times an `x`, and a size that may be another one than it has."""
    packed = _packed(data, filler)
    if dictionary:
        details = (7, STRUCT, thrift((1, I32, values), (2, I32, encoding)))
    else:
        details = (5, STRUCT, thrift((1, I32, values), (2, I32, encoding), (3, I32, _RLE), (4, I32, _RLE)))
    kind = 2 if dictionary else 0
    return thrift((1, I32, kind), (2, I32, claimed or len(data) + filler), (3, I32, len(packed)), details) + packed


def _packed(data: bytes, filler: int) -> bytes:
    """Return both in little memory: fresh memory for all of it takes longer than to compress it."""
    packing = zstandard.ZstdCompressor().compressobj()
    whole, rest = divmod(filler, len(_FILLER))
    parts = [packing.compress(part) for part in (data, *[_FILLER] * whole, _FILLER[:rest])]
    return b"".join([*parts, packing.flush()])


def plain(*texts: bytes) -> bytes:
    """Return texts as a page has them."""
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def levels(count: int, level: int) -> bytes:
    """Return *count* times a level, as a page has it in front of its values."""
    run = _varint(count << 1) + bytes([level])
    return len(run).to_bytes(4, "little") + run


def file(schema: list[bytes], columns: list[tuple[list[str], int, list[bytes]]], rows: int, groups: int = 1) -> bytes:
    """Return a file whose row groups, all with the same bytes, have these columns: path, values, pages."""
    data, chunks = b"PAR1", []
    for path, values, pages in columns:
        begin, body = len(data), b"".join(pages)
        data += body
        described = thrift(
            (1, I32, _BYTE_ARRAY),
            (2, LIST, (I32, [_varint(e << 1) for e in (_PLAIN, _RLE, _RLE_DICTIONARY)])),
            (3, LIST, (BINARY, [_varint(len(part)) + part.encode() for part in path])),
            (4, I32, _ZSTD),
            (5, I64, values),
            (6, I64, 100),  # which is not what it is
            (7, I64, len(body)),
            (9, I64, begin),
        )
        chunks.append(thrift((2, I64, begin), (3, STRUCT, described)))
    group = thrift((1, LIST, (STRUCT, chunks)), (2, I64, 100), (3, I64, rows))
    return data + footer(schema, [group] * groups, rows * groups)


def footer(schema: list[bytes], groups: list[bytes], rows: int, *names: tuple[bytes, bytes]) -> bytes:
    """Return the end of a file."""
    pairs = [(5, LIST, (STRUCT, [thrift((1, BINARY, name), (2, BINARY, value)) for name, value in names]))]
    whole = thrift(
        (1, I32, 2), (2, LIST, (STRUCT, schema)), (3, I64, rows), (4, LIST, (STRUCT, groups)), *pairs[: len(names)]
    )
    return whole + len(whole).to_bytes(4, "little") + b"PAR1"


URL = ["url"], 1, [page(1, levels(1, 1) + plain(b"https://example.com/page"))]


def written(columns: dict[str, Any], **options: Any) -> bytes:
    """Return what pyarrow writes."""
    data = io.BytesIO()
    pq.write_table(pa.table(columns), data, compression="zstd", compression_level=3, **options)
    return data.getvalue()


def urls(count: int) -> list[str]:
    """Return as many URLs."""
    return [f"https://example.com/{number}" for number in range(count)]


def _dictionary(name: str) -> bytes:
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), pa.array([b"x" * 20_000_000], pa.binary()))
    return written({"url": urls(200), name: values}, dictionary_pagesize_limit=1 << 30, store_schema=False)


def _deltas() -> bytes:
    values = pa.chunked_array([pa.array([b"x" * 10_000_000], pa.binary())] * 100)
    columns = {"url": urls(100), "body": values}
    return written(columns, use_dictionary=False, column_encoding={"body": "DELTA_BYTE_ARRAY"})


def _map_of_a_dictionary() -> bytes:
    count = 100_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * 100_000]))
    names = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["a"]))
    headers = pa.MapArray.from_arrays(pa.array([0, count], pa.int32()), names, texts)
    return written({"url": urls(1), "headers": headers}, store_schema=False)


def _list_of_nothing() -> bytes:
    count = 500_000_000
    schema = [
        node("schema", children=2, repetition=_REQUIRED),
        node("url"),
        node("outlinks", children=1),
        node("list", children=1, repetition=_REPEATED),
        node("element"),
    ]
    # The first value begins a row, all others go on with it.
    run = _varint(1 << 1) + b"\x00" + _varint((count - 1) << 1) + b"\x01"
    repetitions = len(run).to_bytes(4, "little") + run
    pages = [page(count, repetitions + levels(count, 2))]
    schema[3] = thrift((3, I32, _REPEATED), (4, BINARY, b"list"), (5, I32, 1))
    schema[2] = thrift((3, I32, _OPTIONAL), (4, BINARY, b"outlinks"), (5, I32, 1), (6, I32, 3))
    return file(schema, [URL, (["outlinks", "list", "element"], count, pages)], 1)


def _flat(pages: list[bytes], groups: int = 1, *, name: str = "title") -> bytes:
    schema = [node("schema", children=2, repetition=_REQUIRED), node("url"), node(name)]
    return file(schema, [URL, ([name], 1, pages)], 1, groups)


def _filled(size: int) -> list[bytes]:
    """Return a page with one value of that size."""
    return [page(1, levels(1, 1) + size.to_bytes(4, "little"), filler=size)]


def _deep_schema() -> bytes:
    deep = [node("g", children=1)] * 60_000
    return b"PAR1" + footer([node("schema", children=2, repetition=_REQUIRED), node("url"), *deep, node("x")], [], 0)


def _wide_schema() -> bytes:
    wide = [node(f"{number:x}") for number in range(60_000)]
    return b"PAR1" + footer([node("schema", children=len(wide) + 1, repetition=_REQUIRED), node("url"), *wide], [], 0)


def _many_groups() -> bytes:
    group = thrift((1, LIST, (STRUCT, [thrift((2, I64, 4))] * 14)), (2, I64, 1), (3, I64, 1))
    schema = [node("schema", children=1, repetition=_REQUIRED), node("url")]
    return b"PAR1" + footer(schema, [group] * 16_000, 16_000)


def _claimed_groups() -> bytes:
    whole = thrift((1, I32, 2), (2, LIST, (STRUCT, [node("schema", children=1, repetition=_REQUIRED), node("url")])))
    # The list says that it has 900,000, and the footer has as many bytes.
    whole = whole[:-1] + bytes([0x16]) + b"\x02" + bytes([0x19, 0xFC]) + _varint(900_000) + b"\x00" * 900_000
    return b"PAR1" + whole + len(whole).to_bytes(4, "little") + b"PAR1"


ROWS = examples(300_000, 3_000_000)

# What it is, the file, and what the report counts it under.
PARQUET = {
    "a dictionary with a body of 20 MB": (lambda: _dictionary("body"), "parsed"),
    "a dictionary of a column that is not read": (lambda: _dictionary("host"), None),
    "bodies that repeat the one before them": (_deltas, None),
    "a body of 400 MB": (lambda: _flat(_filled(400_000_000), name="body"), "record"),
    "a title of 400 MB": (lambda: _flat(_filled(400_000_000)), "record"),
    "a title of 20 MB": (
        lambda: written({"url": urls(1), "title": pa.array(["x" * 20_000_000])}, use_dictionary=False),
        "head",
    ),
    "many rows": (
        lambda: written({"url": pa.array(urls(1) * ROWS), "content_type": pa.array(["image/png"] * ROWS)}),
        None,
    ),
    "headers from a dictionary": (_map_of_a_dictionary, "record"),
    "a list of nothing": (_list_of_nothing, "record"),
    "a page of zeros": (lambda: _flat([page(1, levels(1, 1) + bytes(4), filler=1_500_000_000)]), "record"),
    "a page that says 2 GB": (lambda: _flat([page(1, levels(1, 1) + plain(b"x"), claimed=2**31 - 1)]), "record"),
    "row groups with the same page": (lambda: _flat(_filled(150_000_000), 2_000), "record"),
    "statistics of 900 KB": (
        lambda: _flat([thrift((1, I32, 0), (2, I32, 1), (3, I32, 1), (9, BINARY, b"x" * 900_000))]),
        None,
    ),
    "a deep schema": (_deep_schema, None),
    "a wide schema": (_wide_schema, None),
    "many row groups": (_many_groups, None),
    "a list that says it is long": (_claimed_groups, None),
    "key-value metadata": (
        lambda: (
            b"PAR1"
            + footer(
                [node("schema", children=1, repetition=_REQUIRED), node("url")],
                [],
                0,
                (b"ARROW:schema", b"A" * 450_000),
                (b"pandas", b"[" * 450_000),
            )
        ),
        None,
    ),
}

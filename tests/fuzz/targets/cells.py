"""Stored cells, by what reads them: a cell that was changed is a typed error, or what it was."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st

from targets.sites import table
from targets.target import Strategy, Target, edited, edits
from webtable._checksums import has_checksum, place, with_checksum
from webtable.errors import DamagedRow, LayoutMismatch
from webtable.repository.page_storage.cells import MAGIC, pack, unpack
from webtable.repository.upkeep.queue import _waiting
from webtable.rowkey import KeyRange
from webtable.schema import STATES_ROW, IndexState, Layout, index_of_column
from webtable.store import Row
from webtable.store.rows import Cell

Place = tuple[str, bytes, bytes]
"""A table, a row and a column."""


@functools.cache
def rows() -> dict[tuple[str, bytes], Row]:
    """Return all rows of the site by their tables and keys."""
    store = table().store
    return {(name, row.key): row for name in store.tables() for row in store.scan(name, [KeyRange()])}


@functools.cache
def places() -> list[Place]:
    """Return all cells of the site, in an order that is the same every time."""
    return [(name, key, column) for (name, key), row in sorted(rows().items()) for column in sorted(row.cells)]


def changed(data: bytes) -> tuple[Place, bytes, bool]:
    """Return a cell, the value that *data* puts in its place, and whether that is one change of the stored bytes.

    Bytes that are taken out are no such change.

    The first byte chooses the cell, the second how it is changed: it is replaced, edited, or edited in what it holds
    and stored again with a new checksum.
    """
    all_places = places()
    which, kind, rest = (*data[:2], data[2:]) if len(data) > 1 else (0, 0, b"")
    place = all_places[which % len(all_places)]
    value = rows()[place[:2]].cells[place[2]][0].value
    match kind % 4:
        case 0:
            return place, rest, False
        case 1 | 2:
            # Bytes that are taken out may take the checksum with them.
            return place, edited(value, rest), len(rest) < 8 and (len(rest) < 4 or rest[2] % 6 != 3)
        case _:
            return place, _inside(place, value, rest), False


def _inside(where: Place, value: bytes, rest: bytes) -> bytes:
    if value.startswith(MAGIC):
        return pack([edited(unpack(value), rest)])[0]
    if not has_checksum(value):
        return edited(value, rest)
    bare = value[: value.rindex(b'"crc32":')].removesuffix(b",") + b"}"
    timestamp = rows()[where[:2]].cells[where[2]][0].timestamp
    return with_checksum(edited(bare, rest), place(where[1], timestamp) if where[0] == "pages" else 0)


def check(data: bytes) -> None:
    """What reads the cell gives what was stored where it is the same or one change away, or a typed error."""
    (name, key, column), value, is_one = changed(data)
    row = rows()[name, key]
    first, *older = row.cells[column]
    damaged = Row(key, {**row.cells, column: [Cell(first.timestamp, value), *older]})
    try:
        found = _read(name, damaged, column)
    except (DamagedRow, LayoutMismatch):
        return
    if is_one and (name, key, column) in _checked():
        assert found == _true(name, key, column), f"{column!r} of {key!r} is read, and is not what was stored"


@functools.cache
def _true(name: str, key: bytes, column: bytes) -> Any:
    return _read(name, rows()[name, key], column)


def _read(name: str, row: Row, column: bytes) -> Any:
    codec = table()._context.codec
    if name == "pages":
        captures = row.cells.get(codec.columns.capture, ())
        bodies, links = row.cells.get(codec.columns.body, [None]), row.cells.get(codec.columns.urls, [None])
        versions = [codec.version(row, capture, bodies[0], links[0]) for capture in captures[:1]]
        codec.weight([codec.columns.body, codec.columns.urls])(row)
        codec.stored(row)
        return codec.page(row), codec.counts(row), codec.deleted(row), codec.versions(row), versions
    if name == "pages_queue":
        return _waiting(row, is_settled=True)
    if name == "pages_meta" and row.key == STATES_ROW:
        return IndexState.from_json("t", index_of_column(column), row.cells[column][0].value)
    if name == "pages_meta" and row.key == b"layout":
        return Layout.from_cells("t", {one: cells[0].value for one, cells in row.cells.items()})
    return None


@functools.cache
def _checked() -> set[Place]:
    """Return the cells that carry a checksum. Of a delete that cannot be read its date is gone by."""
    names = (b"metadata:page", b"metadata:links", b"content:", b"outlinks:")
    return {one for one in places() if one[0] == "pages" and one[2].startswith(names)}


def seeds() -> list[bytes]:
    """Return each cell as it is, edited, and edited inside."""
    edit = bytes([128, 0, 1, 0])
    numbers = range(min(len(places()), 256))
    found = [bytes([at, kind]) + edit for at in numbers for kind in (1, 3)]
    return found + [bytes([at, 0]) + rows()[places()[at][:2]].cells[places()[at][2]][0].value for at in numbers]


def inputs() -> Strategy:
    """Return cells that were edited in all ways, and any values."""
    checked = [at for at, place in enumerate(places()) if place in _checked()]
    cell = st.integers(0, min(len(places()), 256) - 1) | st.sampled_from(checked)
    front = st.tuples(cell, st.integers(1, 3)).map(bytes)
    replaced = st.tuples(st.integers(0, 255), st.just(0)).map(bytes)
    json = st.sampled_from([b"{}", b"[]", b"null", b'{"url":1}', b"[" * 3000, MAGIC, b'{"crc32":"KKIAiH`C"}', b""])
    return st.one_of(
        st.tuples(front, edits(1) | edits()).map(b"".join),
        st.tuples(replaced, json | st.binary(max_size=30)).map(b"".join),
    )


CELLS = Target("cells", check, inputs, seeds, longest=2048)

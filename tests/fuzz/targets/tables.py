"""Tables with a changed cell, or a row that is none: every question gives right pages or a typed error."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
from hypothesis import strategies as st

from targets.cells import changed, places, rows
from targets.sites import OTHERS, QUESTIONS, table
from targets.target import Strategy, Target, edits
from webtable import Page, WebTable
from webtable.errors import WebTableError
from webtable.store import Delete, NewCell, Put

_KINDS = len(QUESTIONS) + len(OTHERS)


def check(data: bytes) -> None:
    """The first byte chooses the question; the rest is a change as of `cells`, or, behind 255, the key of a row."""
    if len(data) < 3:
        return
    asked = table()
    if data[1] == 255:
        name, key, column = places()[data[2] % len(places())]
        row, value, is_one = data[3:300] or b"x", b"", True
        stored = rows().get((name, row))
        if stored is not None:
            return
    else:
        (name, key, column), value, is_one = changed(data[1:])
        row, stored = key, rows()[name, key]
    timestamp = rows()[name, key].cells[column][0].timestamp
    _whole(data[0] % _KINDS)  # before anything is changed
    _write(name, Put(row, [NewCell(column, timestamp, value)]))
    try:
        _ask(WebTable(asked.store, asked.table, asked.layout), data[0] % _KINDS, may_differ=not is_one)
    finally:
        if stored is None:
            _write(name, Delete(row, timestamp, exact=True, columns=[column]))
        else:
            _write(name, Put(row, [NewCell(column, timestamp, stored.cells[column][0].value)]))


def _write(name: str, mutation: Put | Delete) -> None:
    assert table().store.write(name, [mutation]) == [None]


def _ask(fresh: WebTable, number: int, *, may_differ: bool) -> None:
    try:
        if number >= len(QUESTIONS):
            OTHERS[number - len(QUESTIONS)](fresh)
            return
        answer = QUESTIONS[number](fresh, None)
        found = list(answer)
    except WebTableError:
        return
    pages = [one for one in found if isinstance(one, Page)]
    if not may_differ:
        unknown = [page for page in pages if _told(page) not in _whole(number)]
        assert not unknown, f"{answer.question} gives {unknown[0]}, which is not as it was stored"


def _told(page: Page) -> bytes:
    # Counts of links are hints: what an answer makes of them, where those who link cannot be read, is its own.
    return msgspec.json.encode(msgspec.structs.replace(page, link_counts=None))


@functools.cache
def _whole(number: int) -> set[Any]:
    """Return the pages of the answer, and those that can come into it: an index answers by what it holds."""
    if number >= len(QUESTIONS):
        return set()
    every = QUESTIONS[1](table(), None) if number == 1 else QUESTIONS[0](table(), None)
    return {_told(page) for page in (*every, *QUESTIONS[number](table(), None)) if isinstance(page, Page)}


def seeds() -> list[bytes]:
    """Return every question with some changed cell, and with a row that is none."""
    edit = bytes([128, 0, 1, 0])
    count = min(len(places()), 255)
    found = [bytes([at % _KINDS, at, kind]) + edit for at in range(count) for kind in (1, 3)]
    return found + [bytes([at, 255, at]) + b"5a:com.example/" for at in range(_KINDS)]


def inputs() -> Strategy:
    """Return questions with cells that were edited in all ways, and with rows of any key."""
    number, cell = st.integers(0, _KINDS - 1), st.integers(0, 254)
    edited = st.tuples(st.tuples(number, cell, st.integers(1, 3)).map(bytes), edits()).map(b"".join)
    key = st.binary(max_size=30) | st.sampled_from([key for _, key, _ in places()]).map(lambda one: one[:-1] + b"\xff")
    row = st.tuples(st.tuples(number, st.just(255), st.integers(0, 255)).map(bytes), key).map(b"".join)
    value = st.sampled_from([b"{}", b"[]", b"null", b"", b"\xff", b'{"url":"https://a.example/"}', b"0", b"9" * 40])
    replaced = st.tuples(st.tuples(number, cell, st.just(0)).map(bytes), value | st.binary(max_size=20)).map(b"".join)
    return edited | row | replaced


TABLES = Target("tables", check, inputs, seeds, seconds=5.0, fewer=20, longest=512)

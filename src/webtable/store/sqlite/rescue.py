"""The rescue of a damaged file: all that can still be read of it, past the damage, as a new file.

A damaged page ends every scan that comes to it. So each SQLite table is read from both ends, and what lies between two
damaged pages is found by keys in between, until no key leads to a page that can be read. It is done with a copy, in
which missing bytes are zeros: SQLite refuses a file that was cut short.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from webtable._files import atomic_file
from webtable.errors import StoreError, StoreFull, StoreRefused, TableNotFound
from webtable.store.health import Rescued
from webtable.store.sqlite.catalogue import add_table, find_table, table_names
from webtable.store.sqlite.connections import DamagedCells, beside, is_damage
from webtable.store.sqlite.file import StoreFile
from webtable.store.sqlite.opening import check_files
from webtable.store.sqlite.upkeep import check_free

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK: Final = 4096
_AT_ONCE: Final = 1000
"""How many records are written together."""
_LEVELS: Final = 7
"""A gap is halved this often: 127 keys in it are tried first."""
_NEAREST: Final = 64
"""Then others, ever nearer to its ends: this often the distance is halved."""
_MOST_EMPTY: Final = 16
"""How often in a row no record may be found in a gap, before it is given up."""
_KINDS: Final = {"cells": (bytes, bytes, int, bytes), "deletes": (bytes, bytes, int, int)}
_ORDERS: Final = {
    "cells": ("row, qualifier, timestamp DESC", "row DESC, qualifier DESC, timestamp"),
    "deletes": ("row, scope", "row DESC, scope DESC"),
}


def rescue(file: str, target: Path, on_progress: Callable[[int], object] | None) -> Rescued:
    """Implement `Store.rescue`."""
    path = Path(file)
    if not path.is_file():
        raise TableNotFound(f"{path}: no such file")
    check_files(str(path), path)
    check_free(target)
    with TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.") as folder, ExitStack() as stack:
        copy = Path(folder) / path.name
        # A copy, since to open a damaged file would write to it: SQLite copies the log back.
        _copy(path, copy)
        if beside(path).is_file():
            _copy(beside(path), beside(copy))
        part = stack.enter_context(atomic_file(target, is_private=True))
        try:
            with closing(StoreFile(copy, create=False, timeout=60.0)) as source:
                counts = _all_of(source, part, on_progress)
        except StoreFull:
            raise
        except StoreError as exc:
            raise StoreRefused(f"{path}: which tables it has cannot be read: {exc.__cause__ or exc}") from exc
        return Rescued(*counts, part.stat().st_size)


def _copy(path: Path, target: Path) -> None:
    """Copy a file; what the disk cannot read, and what is missing at the end, becomes zeros."""
    with path.open("rb") as file, target.open("xb") as out:
        size = os.fstat(file.fileno()).st_size
        # The header has the size of a page at 16 and the number of pages at 28 (https://sqlite.org/fileformat2.html).
        # It may be damaged itself, so it adds no more than the file has.
        if not path.name.endswith("-wal"):
            header = os.pread(file.fileno(), 100, 0)
            width = int.from_bytes(header[16:18], "big")
            size = max(size, min(width * int.from_bytes(header[28:32], "big"), 2 * size))
        for at in range(0, size, _BLOCK):
            try:
                block = os.pread(file.fileno(), _BLOCK, at)
            except OSError:
                block = b""
            out.write(block.ljust(min(_BLOCK, size - at), b"\0"))


def _all_of(source: StoreFile, part: Path, on_progress: Callable[[int], object] | None) -> tuple[int, int]:
    """Write all tables of *source* into a new store, and return how many records came, and how many places did not."""
    records = places = 0
    with source.reader() as connection, closing(StoreFile(part, create=True, timeout=60.0)) as target:
        for name in table_names(connection):
            there = find_table(connection, name)
            if there is None:
                continue
            with target.writer("rescuing") as out:
                add_table(out, there.schema)
                here = find_table(out, name)
                for prefix, family in there.families.items():
                    number = here.families[prefix].id if here else 0
                    for kind in _KINDS:
                        table = _OneTable(connection, out, kind, family.id, number)
                        table.copy()
                        records, places = records + table.records, places + table.places
                        if on_progress is not None:
                            on_progress(records)
    return records, places


class _OneTable:
    """The cells, or the delete markers, of a family."""

    def __init__(
        self, source: sqlite3.Connection, target: sqlite3.Connection, kind: str, there: int, here: int
    ) -> None:
        self.records = 0
        self.places = 0
        """How many places, of a page or more, could not be read."""
        self._source = source
        self._target = target
        self._kinds = _KINDS[kind]
        self._forward, self._backward = _ORDERS[kind]
        self._from = f"{kind}_{there}"
        self._insert = f"INSERT OR IGNORE INTO {kind}_{here} VALUES (?, ?, ?, ?)"

    def copy(self) -> None:
        """Copy all that can be read."""
        low, is_whole = self._run(b"", None)  # a table without damage is read in one go
        if is_whole:
            return
        high, _ = self._run(low or b"", None, reverse=True)
        # Each gap has the number of tries in a row that brought nothing, or a damaged page would be tried at every key.
        gaps = [(low or b"", high, 0)]
        while gaps:
            low, high, empty = gaps.pop()
            for key in _between(low, high):
                last, is_end = self._run(key, high)
                if last is None and not is_end:
                    continue
                first, is_begin = self._run(low, key, reverse=True)
                empty = 0 if last or first else empty + 1
                if empty < _MOST_EMPTY:
                    gaps += [] if is_end else [(last or key, high, empty)]
                    gaps += [] if is_begin else [(low, first or key, empty)]
                    break
            else:
                self.places += 1

    def _run(self, start: bytes, stop: bytes | None, *, reverse: bool = False) -> tuple[bytes | None, bool]:
        """Copy the rows from *start* on, before *stop*, until one cannot be read.

        Returns the last row that came, None if there was none, and whether all came.
        """
        last: bytes | None = None
        batch: list[tuple[object, ...]] = []
        below = "" if stop is None else " AND row < ?"
        order = self._backward if reverse else self._forward
        try:
            cursor = self._source.execute(
                f"SELECT * FROM {self._from} WHERE row >= ?{below} ORDER BY {order}",
                (start,) if stop is None else (start, stop),
            )
            with closing(cursor):
                for record in cursor:
                    row = record[0]
                    # A damaged page may pass for a good one: types and the order of rows tell.
                    if tuple(map(type, record)) != self._kinds:
                        raise DamagedCells("a record has a value of a wrong type")
                    if last is not None and (row > last if reverse else row < last):
                        raise DamagedCells("rows are out of order")
                    last = row
                    batch.append(record)
                    if len(batch) == _AT_ONCE:
                        self._write(batch)
        except sqlite3.DatabaseError as exc:
            if not is_damage(exc):
                raise
            return last, False
        finally:
            self._write(batch)
        return last, True

    def _write(self, records: list[tuple[object, ...]]) -> None:
        # IGNORE: runs from both ends may meet in the same rows.
        self.records += max(0, self._target.executemany(self._insert, records).rowcount) if records else 0
        records.clear()


def _between(low: bytes, high: bytes | None) -> Iterator[bytes]:
    """Yield keys between two others: that in the middle, those of the quarters …, and then ever nearer to both ends.

    Keys are not spread evenly: those of digits are all in a small part of the bytes below the first of them.
    """
    width = max(len(low), len(high or b"")) + 2
    first = int.from_bytes(low.ljust(width, b"\0"), "big")
    rest = int.from_bytes((high or b"").ljust(width, b"\0" if high else b"\xff"), "big") - first
    evenly = (rest * part >> level for level in range(1, _LEVELS + 1) for part in range(1, 1 << level, 2))
    near = (rest >> level for level in range(_LEVELS + 1, _NEAREST))
    for offset in chain(evenly, chain.from_iterable((offset_of_end, rest - offset_of_end) for offset_of_end in near)):
        key = (first + offset).to_bytes(width, "big")
        if low < key and (high is None or key < high):
            yield key

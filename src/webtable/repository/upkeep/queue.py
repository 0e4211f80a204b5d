"""The queue of recounts, of links to pages and of pages of hosts: it is stored, with a row for each batch.

A batch enters its rows before it writes any inlink, and marks them as done after the last one. Its rows are counted
then, or ten minutes later, if its writer must have died. A counted batch is removed; its key is unique, so that no
rows that are entered meanwhile are lost with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from webtable._checksums import UNREADABLE
from webtable._clock import now_in_milliseconds
from webtable.display.text import plural
from webtable.repository.page_storage.cells import pack, unpack, written
from webtable.rowkey import KeyRange
from webtable.schema import QUEUE_FAMILY, queue_table
from webtable.store import Delete, Mutation, NewCell, Put, Row, Store
from webtable.store.rows import Wanted

DEAD_AFTER_SECONDS = 600
"""The age at which a batch is counted although its writer has not marked it as done."""
ROWS_A_CELL = 10_000
BATCHES_AT_ONCE = 4
"""How many batches of the queue are read at once: each may have a hundred thousand rows."""
REMOVED_AT_ONCE = 1_000
MOST_LOOKED_AT = 1_000_000
"""How many rows of the queue are read to find how many pages wait, which takes about a second."""

_BATCHES = [KeyRange(b"", b"failed:"), KeyRange(b"failed;", b"revisit"), KeyRange(b"revisiu")]
"""The rows of batches, and of what can be none: failed fetches and open revisits are in the same table."""
_LAST = 253_402_300_800_000
"""The end of the year 9999 in epoch milliseconds."""
_DONE = f"{QUEUE_FAMILY}:done".encode()
_ROWS = f"{QUEUE_FAMILY}:rows-".encode()
_PAGES = f"{QUEUE_FAMILY}:pages-".encode()
_HOSTS = f"{QUEUE_FAMILY}:hosts".encode()
_COUNTED = f"{QUEUE_FAMILY}:counted".encode()
_decode_hosts = msgspec.msgpack.Decoder(list[str]).decode
_decode_counted = msgspec.msgpack.Decoder(list[tuple[bytes, int]]).decode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


class QueuedBatch(NamedTuple):
    """A batch in the queue: its key, its newest timestamp, and the rows and hosts to be counted."""

    key: bytes
    timestamp: int
    rows: Sequence[bytes]
    """The rows whose inlinks are to be counted."""
    pages: Sequence[bytes]
    """The rows whose page is new, deleted or has another size: the parts of their hosts are counted."""
    hosts: Sequence[str]
    """The hosts of which all pages are to be counted."""
    is_settled: bool
    """Whether its writer has written all of it, or must have died."""
    is_damaged: bool = False
    """Whether some of it cannot be read; the rows there are not counted."""
    row_columns: Sequence[bytes] = ()
    """The columns in which `rows` are stored."""
    counted: Sequence[tuple[bytes, int]] = ()
    """Rows with counts of links, whose entries an interrupted run may have left."""


class Pending(NamedTuple):
    """How many different pages wait to be counted for their hosts, and how many hosts wait as a whole."""

    rows: int
    hosts: int
    is_all: bool
    """Whether the numbers are exact; False if more wait than are read, or some cannot be read."""

    def __bool__(self) -> bool:
        return bool(self.rows or self.hosts) or not self.is_all

    def __str__(self) -> str:
        hosts = f" and all of {plural(self.hosts, 'host')}" if self.hosts else ""
        return f"{'' if self.is_all else 'at least '}{plural(self.rows, 'row')}{hosts} waiting"


class CountedBatch(NamedTuple):
    """A batch that was counted: its key, and its newest timestamp."""

    key: bytes
    timestamp: int


# Counted later and not by the batch: a count is read and written, which two batches that link to one page would do at
# once. A batch enters its rows before it writes inlinks, so a crash costs a count that nobody needed, never one that
# somebody did.
class RecountQueue:
    """The queue of one web table."""

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self.table: Final = queue_table(table).name

    def entered(self, rows: Iterable[bytes], *, pages: Iterable[bytes] = (), hosts: Iterable[str] = ()) -> Put:
        """Return the put that enters a batch; the arguments are those of `QueuedBatch`."""
        now = now_in_milliseconds()
        cells = [*_row_cells(_ROWS, rows, now), *_row_cells(_PAGES, pages, now)]
        (packed,) = pack([msgspec.msgpack.encode(sorted(hosts))])
        cells.append(NewCell(_HOSTS, now, packed))
        # A random digit, so that batches side by side are in several regions; then the time, and what makes it unique.
        return Put(f"{uuid.uuid4().hex[:1]}:{now:015d}_{uuid.uuid4().hex[:12]}".encode(), cells)

    def counting(self, counts: Sequence[tuple[bytes, int]]) -> Put:
        """Return the put that enters the old and new counts of rows whose entries a run will change.

        If the run is interrupted, the next one finds there which entries it may have left.
        """
        entered = self.entered({row for row, _ in counts})
        (packed,) = pack([msgspec.msgpack.encode(sorted(counts))])
        now = entered.cells[0].timestamp
        return Put(entered.row, [*entered.cells, NewCell(_COUNTED, now, packed), NewCell(_DONE, now, b"")])

    def done(self, entered: Put) -> Put:
        """Return the put that marks a batch as done."""
        return Put(entered.row, [NewCell(_DONE, now_in_milliseconds(), b"")])

    def waiting(self, *, also_unfinished: bool = False) -> Iterator[QueuedBatch]:
        """Return the batches that can be counted now; with *also_unfinished* those whose writers may still be writing.

        They are chosen now, not as they are read: a batch that is done later may have links that were not counted.
        """
        # The keys alone: a batch may have a hundred thousand rows.
        settled = self._done() | self._entered_before(now_in_milliseconds() - DEAD_AFTER_SECONDS * 1000)
        keys = sorted(settled | self._entered_before(now_in_milliseconds() + 1) if also_unfinished else settled)
        pieces = (keys[at : at + BATCHES_AT_ONCE] for at in range(0, len(keys), BATCHES_AT_ONCE))
        rows = (row for piece in pieces for row in self._store.read(self.table, piece) if row is not None)
        return (_waiting(row, row.key in settled) for row in rows)

    def pending(self) -> Pending:
        """The pages and hosts that wait to be counted, including those of writers that are still writing."""
        pages, hosts, looked_at, is_all = set[bytes](), set[str](), 0, True
        for batch in self.waiting(also_unfinished=True):
            pages.update(batch.pages)
            hosts.update(batch.hosts)
            is_all = is_all and not batch.is_damaged
            looked_at += len(batch.rows) + len(batch.pages)
            if looked_at > MOST_LOOKED_AT:
                is_all = False
                break
        return Pending(len(pages), len(hosts), is_all)

    def unfinished(self) -> int:
        """The number of batches whose writer must have died: they were not marked as done in ten minutes."""
        return len(self._entered_before(now_in_milliseconds() - DEAD_AFTER_SECONDS * 1000) - self._done())

    def _done(self) -> set[bytes]:
        return {row.key for row in self._store.scan(self.table, _BATCHES, Wanted([_DONE], keys_only=True))}

    def _entered_before(self, until: int) -> set[bytes]:
        rows = self._store.scan(self.table, _BATCHES, Wanted(keys_only=True))
        return {row.key for row in rows if _since(row) < until}

    def write(self, mutations: Sequence[Mutation]) -> None:
        """Write *mutations*; raises the first error."""
        written(self._store, self.table, mutations)

    def remove(self, batches: Sequence[CountedBatch | QueuedBatch]) -> None:
        """Remove *batches*, which are counted."""
        for at in range(0, len(batches), REMOVED_AT_ONCE):
            self.write([Delete(batch.key, batch.timestamp) for batch in batches[at : at + REMOVED_AT_ONCE]])

    def remove_rows(self, batches: Iterable[QueuedBatch]) -> None:
        """Remove the rows of *batches*, whose links are counted; their hosts still wait to be counted.

        A batch that cannot be read stays until it is removed as a whole, so that each run reports it.
        """
        readable = [batch for batch in batches if batch.row_columns and not batch.is_damaged]
        self.write([Delete(batch.key, batch.timestamp, batch.row_columns) for batch in readable])

    def extent(self) -> tuple[int, int | None]:
        """The number of batches that wait, and since when the oldest has waited, in epoch milliseconds."""
        since = [_since(row) for row in self._store.scan(self.table, _BATCHES, Wanted(keys_only=True))]
        return len(since), min(filter(None, since), default=None)


def _since(row: Row) -> int:
    """Return since when a batch has waited, in epoch milliseconds; 0 for a row that is not a batch."""
    digits = row.key[2:17]
    return int(digits) if digits.isdigit() and int(digits) < _LAST else 0


def _waiting(row: Row, is_settled: bool) -> QueuedBatch:
    rows: list[bytes] = []
    pages: list[bytes] = []
    hosts: list[str] = []
    counted: list[tuple[bytes, int]] = []
    row_columns = sorted(column for column in row.cells if column.startswith(_ROWS))
    # A batch that cannot be read is removed and reported; repairing the link index makes up for it.
    is_damaged = not _since(row)
    for column, (cell, *_) in sorted(row.cells.items()):
        try:
            if column.startswith(_ROWS):
                rows += _decode(unpack(cell.value))
            elif column.startswith(_PAGES):
                pages += _decode(unpack(cell.value))
            elif column == _HOSTS:
                hosts += _decode_hosts(unpack(cell.value))
            elif column == _COUNTED:
                counted += _decode_counted(unpack(cell.value))
        except UNREADABLE:
            is_damaged = True
    newest = max(cells[0].timestamp for cells in row.cells.values())
    return QueuedBatch(row.key, newest, rows, pages, hosts, is_settled, is_damaged, row_columns, counted)


def _row_cells(prefix: bytes, rows: Iterable[bytes], timestamp: int) -> list[NewCell]:
    in_order = sorted(rows)
    pieces = [in_order[at : at + ROWS_A_CELL] for at in range(0, len(in_order), ROWS_A_CELL)]
    packed = pack([msgspec.msgpack.encode(piece) for piece in pieces])
    return [NewCell(prefix + b"%06d" % number, timestamp, value) for number, value in enumerate(packed)]

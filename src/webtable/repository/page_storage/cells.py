"""Values of cells (JSON with checksums, and zstd frames), limits of what is read at once, and removals of cells."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar
from zlib import crc32

import msgspec
import zstandard
from msgspec.structs import replace

from webtable._checksums import RIGHT, has_checksum, is_intact, place, with_checksum
from webtable._clock import milliseconds
from webtable.errors import CapabilityError
from webtable.store import Cell, Delete, Put, Row, Store, TimeRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from webtable.rowkey import KeyRange


# --- JSON objects, with a checksum in the object itself ---------------------------------------------------------------


S = TypeVar("S", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def json_of(value: object) -> bytes:
    """Return *value* as JSON; half a surrogate pair, which UTF-8 cannot encode, becomes a question mark."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # A wrongly decoded title, header or anchor may contain one.
        return _encoder.encode(_with_whole_characters(msgspec.to_builtins(value)))


def checked_json(value: object, row: bytes, timestamp: int) -> bytes:
    """Return the value of a cell in *row* with *timestamp*: *value* as JSON, with a checksum."""
    return with_checksum(json_of(value), place(row, timestamp))


class JSONValue(Generic[S]):
    """Reads values that `checked_json` has made of structs of one class."""

    def __init__(self, kind: type[S]) -> None:
        self.decode: Final = msgspec.json.Decoder(kind).decode
        """Decodes a value whose checksum was verified."""

    def read(self, value: bytes, row: bytes, timestamp: int) -> S:
        """Return the struct in a cell in *row* with *timestamp*; raises one of `UNREADABLE`."""
        if not is_intact(value, place(row, timestamp)):
            raise ValueError("it does not match its checksum" if has_checksum(value) else "it has no checksum")
        return self.decode(value)

    def read_all(self, cells: Sequence[tuple[bytes, int, bytes]]) -> list[S]:
        """Return the structs in *cells*, each given as its row, its timestamp and its value.

        Raises one of `UNREADABLE` if any of them is damaged; `read` tells which one.
        """
        # `place` is inlined (see `webtable._checksums`), because a listing does this for every row.
        sums = [crc32(value, crc32(row, timestamp ^ timestamp >> 32)) for row, timestamp, value in cells]
        if sums.count(RIGHT) != len(sums):
            raise ValueError("one of them does not match its checksum")
        return list(map(self.decode, [value for _, _, value in cells]))


def _with_whole_characters(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_with_whole_characters(name): _with_whole_characters(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_with_whole_characters(inner) for inner in value]
        case _:
            return value


# --- Bodies and links, as zstd frames (RFC 8878) ----------------------------------------------------------------------


# Level 1 compresses real pages 4.3 times, in four fifths of the time of level 3, which compresses them 4.5 times.
LEVEL = 1
MAGIC = b"\x28\xb5\x2f\xfd"
MAX_RATIO = 2**15
"""How many times longer than a frame its content can be: a block of 128 KiB takes at least four bytes (RFC 8878)."""
_EMPTY = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(b"")
_HAS_CHECKSUM = 4
"""A bit of the byte after the magic number."""
MOST_UNPACKED = 2**28
"""How many bytes any frame may contain: without a limit one of 10 MB could take 300 GB of memory."""
MOST_TIMES = 2**8
"""How many times its own size a frame may contain if that is more."""
_SMALL_WINDOW = zstandard.ZstdCompressionParameters.from_level(LEVEL, window_log=10, write_checksum=True)
"""With these no frame contains more: a block has at most the window, 1 KiB, and at least four bytes (RFC 8878)."""


class _Local(threading.local):
    """A decompressor for each thread: two must not use it at once, and making one for every body takes too long."""

    def __init__(self) -> None:
        self.decompressor: Final = zstandard.ZstdDecompressor()


_local = _Local()


def pack(bodies: Sequence[bytes], *, compress: bool = True, threads: int = -1) -> list[bytes]:
    """Return *bodies* as they are stored: as zstd frames with checksums, or unchanged without *compress*.

    They are compressed in one call, by *threads* threads (-1: as many as there are processors) and outside the GIL: if
    they were compressed one by one, every body would have to wait for the GIL twice.
    """
    # A body that looks like a frame is compressed anyway, else reading it would decompress it.
    chosen = [at for at, body in enumerate(bodies) if (compress and body) or body.startswith(MAGIC)]
    # Many empty bodies in one call are an error in the library.
    packed = [_EMPTY if compress and not body else body for body in bodies]
    if chosen:
        compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        frames = compressor.multi_compress_to_buffer([bodies[at] for at in chosen], threads=threads)
        for number, at in enumerate(chosen):
            packed[at] = frames[number].tobytes()
            if len(bodies[at]) > most_unpacked(len(packed[at])):
                packed[at] = zstandard.ZstdCompressor(compression_params=_SMALL_WINDOW).compress(bodies[at])
    return packed


def most_unpacked(length: int, largest: int | None = None) -> int:
    """The number of bytes that a frame of that *length* may contain, in a store for cells of up to *largest* bytes.

    >>> most_unpacked(30_000), most_unpacked(4_000_000, 10**9), most_unpacked(4_000_000, 10 * 2**20)
    (268435456, 1000000000, 268435456)
    """
    times = MOST_TIMES * length
    return max(MOST_UNPACKED, times if largest is None else min(times, largest))


def unpacked_size(stored: bytes) -> int:
    """The number of bytes that `unpack` returns for a result of `pack`."""
    return zstandard.frame_content_size(stored) if stored.startswith(MAGIC) else len(stored)


def unpack(stored: bytes, largest: int | None = None) -> bytes:
    """Return the body from a result of `pack`; raises `ValueError` for a frame that is damaged or too long.

    `most_unpacked`, with *largest*, limits the size.
    """
    # One by one: many in one call take a tenth more time, since each must be copied out of a shared buffer.
    if not stored.startswith(MAGIC):
        return stored
    try:
        # The size that a frame claims is what memory is taken for, before a byte of it is read.
        limit = min(len(stored) * MAX_RATIO, most_unpacked(len(stored), largest))
        size = zstandard.frame_content_size(stored)
        if size > limit:
            raise ValueError(
                f"a zstd frame of {len(stored):,} bytes that claims to hold {size:,}; at most {limit:,} are unpacked"
            )
        if size < 0 or not stored[4] & _HAS_CHECKSUM:
            raise ValueError(f"a zstd frame of {len(stored):,} bytes without a checksum")
        return _local.decompressor.decompress(stored) if size else _emptied(stored)
    except (zstandard.ZstdError, MemoryError) as exc:
        raise ValueError(f"a damaged zstd frame of {len(stored):,} bytes: {exc}") from exc


def _emptied(stored: bytes) -> bytes:
    # For zero bytes `decompress` does not check the frame, so its checksum is read here.
    reader = _local.decompressor.decompressobj()
    body = reader.decompress(stored)
    if body or not reader.eof or reader.unused_data:
        raise ValueError(f"a zstd frame of {len(stored):,} bytes that claims to be empty, and is not")
    return body


# --- Cells of many rows, and removals ---------------------------------------------------------------------------------


T = TypeVar("T")

NARROW = 100
"""How many cells of a row are read together with those of others; the rest is read separately."""
PIECE = 10_000
"""How many cells of one row are in memory at once."""
ROWS_AT_ONCE = 500

BODY_ROWS = 64
"""How many rows are read at once at most to add bodies to rows that were merged without them."""
BODY_BYTES = 8 * 2**20
"""How many bytes are read at once if bodies are read; at least one row."""


def together(weighed: Iterable[tuple[T, int]], limit: int = BODY_ROWS) -> Iterator[list[T]]:
    """Yield the *weighed* items, given with their bytes, in lists of at most `BODY_BYTES` and at most *limit* items.

    >>> list(together([("a", 5 * 2**20), ("b", 5 * 2**20), ("c", 1)]))
    [['a'], ['b', 'c']]
    """
    group: list[T] = []
    total = 0
    for item, weight in weighed:
        if group and (len(group) == limit or total + weight > BODY_BYTES):
            yield group
            group, total = [], 0
        group.append(item)
        total += weight
    if group:
        yield group


def cells_of(
    store: Store, table: str, family: bytes, rows: Sequence[bytes], columns: KeyRange, *, keys_only: bool = False
) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
    """Yield the cells of a *family* with qualifiers in *columns*, of each of *rows*, in pieces.

    A row has at least one piece, which is empty if it has no such cells; its pieces follow one another.
    """
    for at in range(0, len(rows), ROWS_AT_ONCE):
        piece = rows[at : at + ROWS_AT_ONCE]
        cells_of_rows = store.read_cells(table, piece, family, columns, limit=NARROW, keys_only=keys_only)
        for row, cells in zip(piece, cells_of_rows, strict=True):
            yield row, cells
            limit = NARROW
            while len(cells) == limit:
                limit, rest = PIECE, columns.after(cells[-1][0][len(family) + 1 :])
                (cells,) = store.read_cells(table, [row], family, rest, limit=limit, keys_only=keys_only)
                yield row, cells


class RemovedCells(NamedTuple):
    """The cells of a `column` at or below a `timestamp`; if `exact`, only those at it."""

    column: bytes
    timestamp: int
    exact: bool = False


def removals(column: bytes, until: int, dates: Iterable[datetime | None], now: int) -> list[RemovedCells]:
    """Return the cells of a column that were written up to *until*, with *dates* among others.

    None goes beyond *now*: if a page dated in the future is deleted, its next capture has an earlier date, and would be
    hidden. Cells with later dates are removed one by one.
    """
    stamps = {milliseconds(date) for date in dates if date is not None}
    later = [RemovedCells(column, stamp, exact=True) for stamp in sorted(stamps) if now < stamp <= until]
    return [RemovedCells(column, min(until, now)), *later]


def later_removed(
    store: Store,
    table: str,
    row: Row,
    columns: Sequence[bytes] | None,
    now: int,
    *,
    on_dates: Callable[[Sequence[int]], None] | None = None,
) -> tuple[Sequence[int], int]:
    """Remove the cells of a row with dates after *now*; return these dates, and up to when a delete must hide the rest.

    *row* is the row with its newest cells in *columns* (None: all). A delete must hide cells up to *now*; if it went
    up to the newest cell, it would also hide cells that are put until then. If a store cannot remove single cells, no
    cells are removed, and the delete must go up to the newest one.
    """
    newest = max(cell.timestamp for cells in row.cells.values() for cell in cells)
    dates: set[int] = set()
    # Repeated while there are any: after a cell is removed HBase may show the one that it had replaced.
    while newest > now and (cells := _later_cells(store, table, row.key, columns, now)):
        dates.update(timestamp for _, timestamp in cells)
        if on_dates is not None:
            on_dates(sorted(dates))
        try:
            written(store, table, [Delete(row.key, timestamp, [column], exact=True) for column, timestamp in cells])
        except CapabilityError:
            return (), newest
    return sorted(dates), now


def _later_cells(
    store: Store, table: str, row: bytes, columns: Sequence[bytes] | None, now: int
) -> list[tuple[bytes, int]]:
    (later,) = store.read(table, [row], Wanted(columns, time_range=TimeRange(now + 1)))
    return [(column, cell.timestamp) for column, versions in later.cells.items() for cell in versions] if later else []


def written(store: Store, table: str, mutations: Sequence[Put | Delete]) -> None:
    """Write *mutations*; raises the first error."""
    for error in store.write(table, mutations) if mutations else ():
        if error is not None:
            raise error


def removed(store: Store, table: str, mutations: Sequence[Put | Delete]) -> None:
    """Write *mutations*, of which some may be exact deletes, to any store; raises the first error.

    If the store cannot remove single cells, such a delete hides all up to its date, as that of a page then does.
    """
    again: list[Delete] = []
    for mutation, error in zip(mutations, store.write(table, mutations), strict=True):
        if isinstance(error, CapabilityError) and isinstance(mutation, Delete):
            again.append(replace(mutation, exact=False))
        elif error is not None:
            raise error
    written(store, table, again)

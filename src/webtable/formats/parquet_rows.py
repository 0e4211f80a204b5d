"""The rows of Parquet files, read in a process of its own: a file can fill or break that one, and no other.

How much memory a Parquet file takes is nowhere but in what it says of itself: sizes of pages, lengths of lists, how
often an entry of a dictionary is repeated, how deep its schema is. So the system bounds what reading it may take. Each
request names the file and a row, as the process may be a new one; a process goes on where its last answer ended.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from webtable.repository.answers.arrow import UnreadableRow, arrow, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

BATCH_BYTES = 4 << 20
"""About how many bytes of rows an answer has, if the sizes that the file says are true."""
_MAX_COLUMNS = 10_000
_MAX_REASON = 1_000
_ANSWER_BYTES = 8 << 20
"""How many bytes of rows an answer has at most, not counting its last row."""
_BUFFER = 1 << 20


class Request(msgspec.Struct, array_like=True, frozen=True):
    """Which rows are to be read: at most *count* from the row *start* on, counted from 0; with 0 only what is there."""

    path: str
    identity: tuple[int, int]
    """Device and inode, so that it is the file which was opened."""
    fields: dict[str, str] = {}
    """The fields of pages by the columns to be read."""
    start: int = 0
    count: int = 0
    record: int = 0
    head: int = 0
    links: int = 0
    link_text: int = 0


class Answer(msgspec.Struct, array_like=True):
    """Rows from `start` to `stop`, and what is wrong with the file, or with these rows; all others are there."""

    start: int = 0
    stop: int = 0
    """Where the next answer begins: after the last of `rows`, or after the row group if it has no more."""
    ends: bool = False
    """Whether that is another row group."""
    rows: list[Any] = []
    """The values of each by column, or the name of a limit (None: it is none) and the reason why it cannot be read."""
    shortened: list[int] = []
    """Which of them have more links than the limit, of which they have the first."""
    size: int = 0
    """How many rows the file says that it has."""
    columns: list[str] = []
    compressed: int = 0
    """The size of the row group in the file."""
    error: str | None = None
    seconds: float = 0
    """The processor time that it took."""


_requests = msgspec.msgpack.Decoder(Request)
_encoder = msgspec.msgpack.Encoder()
_open: _File | None = None


def prepare() -> None:
    """Import what the process needs, before its memory is counted."""
    arrow()


def answered(work: bytes) -> bytes:
    """Return the `Answer` to a `Request`; raises `MemoryError`."""
    global _open
    begun = time.process_time()
    request = _requests.decode(work)
    try:
        if _open is None or _open.name != (request.path, request.identity):
            _open = None  # first, so that the memory of two files is never counted together
            _open = _File(request.path, request.identity)
        answer = _open.answer(request) if request.count else _open.description(request.start)
    except MemoryError:
        raise
    except (arrow().ArrowException, OSError, ValueError, TypeError, IndexError, OverflowError) as exc:
        if "bad_alloc" in str(exc):  # which Arrow catches, and passes on as damage
            raise MemoryError from exc
        answer = Answer(error=str(exc)[:_MAX_REASON])
    answer.seconds = time.process_time() - begun
    return _encoder.encode(answer)


class _File:
    """An open file, and where its reading is."""

    def __init__(self, path: str, identity: tuple[int, int]) -> None:
        self.name = (path, identity)
        file = Path(path).open("rb")  # noqa: SIM115 - it stays open as long as this does
        described = os.fstat(file.fileno())
        if (described.st_dev, described.st_ino) != tuple(identity):
            raise OSError(f"{path} is no longer the file that was opened")
        # By a buffer, as it would else have all of a row group's column in memory.
        self._parquet = arrow().parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
        self._metadata = self._parquet.metadata
        self._bounds = [0]
        for group in range(self._metadata.num_row_groups):
            self._bounds.append(self._bounds[-1] + max(self._metadata.row_group(group).num_rows, 0))
        self._group = 0
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._count = 0
        self._next = -1
        self._rest: pa.RecordBatch | None = None

    def description(self, start: int, error: str | None = None) -> Answer:
        """The columns and size of the file, and how much is lost if the row group with the row *start* is left out."""
        names = self._parquet.schema_arrow.names
        if len(names) > _MAX_COLUMNS:
            return Answer(error=f"it has {len(names):,} columns")
        answer = Answer(start, self._bounds[-1], size=self._bounds[-1], columns=names, error=error)
        if start < answer.size:
            group = self._group_of(start)
            described = self._metadata.row_group(group)
            chunks = map(described.column, range(described.num_columns))
            answer.compressed = sum(max(chunk.total_compressed_size, 0) for chunk in chunks)
            answer.stop = self._bounds[group + 1]
        return answer

    def answer(self, request: Request) -> Answer:
        """Return the next rows from that of *request* on."""
        start = request.start
        try:
            batch = self._batch(request)
        except MemoryError:
            raise
        except (arrow().ArrowException, OSError, ValueError) as exc:
            if "bad_alloc" in str(exc):
                raise MemoryError from exc
            self._next = -1
            return self.description(start, str(exc)[:_MAX_REASON])
        stop = self._bounds[self._group + 1]
        if batch is None:
            self._next = stop
            return Answer(start, stop, ends=True)
        batch = batch.slice(0, stop - start)  # there may be more than the file says
        answer = Answer(start)
        size = 0
        for row in rows_of(batch):
            if size > _ANSWER_BYTES:  # of values that are repeated, which the file does not count
                self._rest = batch.slice(len(answer.rows))
                break
            row, taken = _bounded(row, request, answer)
            answer.rows.append(row)
            size += taken
        answer.stop = self._next = start + len(answer.rows)
        answer.ends = answer.stop == stop
        return answer

    def _group_of(self, row: int) -> int:
        return next(group for group, end in enumerate(self._bounds[1:]) if row < end)

    def _batch(self, request: Request) -> pa.RecordBatch | None:
        """Return the rows from that of *request* on, None if their row group has no more."""
        if (
            request.start != self._next
            or request.count != self._count
            or request.start == self._bounds[self._group + 1]
        ):
            self._begin(request)
        batch, self._rest = self._rest, None
        return next((batch for batch in self._batches if batch.num_rows), None) if batch is None else batch

    def _begin(self, request: Request) -> None:
        """Have the rows of *request* read next: of the row group in which they are, those before them as well."""
        self._batches, self._rest = iter(()), None  # first, so that its memory is free
        self._group, self._count, self._next = self._group_of(request.start), request.count, -1
        described = self._metadata.row_group(self._group)
        row_bytes = max(described.total_byte_size // max(described.num_rows, 1), 1)
        self._batches = self._parquet.iter_batches(
            max(1, min(request.count, BATCH_BYTES // row_bytes)),
            row_groups=[self._group],
            columns=list(request.fields),
            use_threads=False,
        )
        skip = request.start - self._bounds[self._group]
        while skip and (batch := next(self._batches, None)) is not None:
            if batch.num_rows > skip:
                self._rest = batch.slice(skip)
            skip -= min(skip, batch.num_rows)


def _bounded(row: Mapping[str, Any] | UnreadableRow, request: Request, answer: Answer) -> tuple[Any, int]:
    """Return *row* for *answer*, or why it is none or over a limit, and about how many bytes it has."""
    if isinstance(row, UnreadableRow):
        return (None, str(row)[:_MAX_REASON]), _MAX_REASON
    values = {name: value for name, value in row.items() if value is not None}
    nested = [name for name, value in values.items() if isinstance(value, list | dict)]
    size = sum([len(value) for value in values.values() if isinstance(value, str | bytes)])
    if size > request.record // 4:  # a character has up to four bytes
        texts = [value for value in values.values() if isinstance(value, str | bytes)]
        size = sum(len(text.encode() if isinstance(text, str) else text) for text in texts)
    if size > request.record:
        return ("record", f"it has over {request.record:,} bytes"), 0
    for name in nested:
        limit, limit_bytes = "head", request.head
        if request.fields[name] == "outlinks":
            limit, limit_bytes = "link_text", 4 * request.link_text
            if len(values[name]) > request.links:
                values[name] = values[name][: request.links]
                answer.shortened.append(len(answer.rows))
        packed = _encoder.encode(values[name])
        if len(packed) > limit_bytes:
            return (limit, f"its {name} has over {limit_bytes:,} bytes"), 0
        values[name] = msgspec.Raw(packed)
        size += len(packed)
    return values, size

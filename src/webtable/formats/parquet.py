"""Reader of pages in Parquet files, one per row, by the column names of answers or of Common Crawl.

The rows come from `parquet_rows`, in a process with limited memory; they are made pages of here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from webtable.errors import InvalidURL, UnknownColumn
from webtable.formats.parquet_rows import Answer, Request, answered
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    FileOverLimit,
    OverLimit,
    Place,
    ReadReport,
    check_announced,
    check_fields,
)
from webtable.page.parser_process import ParserProcess, TooMuch, Unavailable
from webtable.repository.answers.arrow import ROWS_AT_ONCE, check_arrow
from webtable.repository.answers.arrow_pages import checked_columns, page_of
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from webtable._limits import ReadLimits
    from webtable.page.page import Page


MAGIC = b"PAR1"
"""The first bytes of Parquet files."""
_ANSWERED = "webtable.formats.parquet_rows:answered"
_MEMORY = 272 << 20
"""Bytes of memory for reading rows, beside some 65 million of Python and Arrow themselves."""
_RECORDS = 10
"""How many records of the largest size find room in the memory for reading rows, if that is more."""
_FEWER = {ROWS_AT_ONCE: 16, 16: 1}
"""How many rows to try next where so many at once take too much memory."""
_SECONDS = 5
"""Seconds for reading the rows of a file, as a multiple of those for parsing a body; and one more for each MiB."""
_ALWAYS_INFLATED = 1 << 28
_ROW_BYTES = 1 << 8
_ANSWER_BYTES = 1 << 14
"""What a row, and an answer, count beside their values: they take time."""


def read_parquet(
    file: BinaryIO,
    source: str,
    report: ReadReport,
    types: Collection[str] | None,
    limits: ReadLimits,
    *,
    skip: int = 0,
) -> Iterator[Page]:
    """Yield the pages of a Parquet file after the first *skip* of its rows; a row that is not a page is reported."""
    check_arrow()
    with path_of(file) as (path, identity), bounded_process(_ANSWERED) as process:
        rows = _Rows(process, Request(path, identity), source, report, limits, skip)
        try:
            fields = rows.fields()
        except UnknownColumn as exc:
            raise DamagedFile(str(exc), 0) from exc
        for number, row, is_shortened in rows:
            page = report.attempt(
                lambda: check_announced(types, _page(row, fields, limits)),  # noqa: B023 - called at once
                lambda reason: DamagedRecord(source, number, None, reason, "row"),  # noqa: B023
            )
            report.add_record(0)
            report.place = Place(0, number)  # it is also after rows that cannot be read
            if page is not None:
                report.pages += 1
                if is_shortened:
                    report.shortened["links"] += 1
                yield page


def _page(row: msgspec.Raw, fields: dict[str, str], limits: ReadLimits) -> Page:
    values = msgspec.msgpack.decode(row)
    if isinstance(values, list):
        limit, reason = values
        raise Damaged(reason) if limit is None else OverLimit(limit, reason)
    try:
        values = {fields[name]: value for name, value in values.items()}
        check_fields(values, limits)
        page = page_of(values)
        canonical_url(page.url)
    except (InvalidURL, ValueError, TypeError, OverflowError) as exc:
        raise Damaged(str(exc)) from exc
    return page


class _Answer(Answer):
    """An answer, each row of which is decoded when its turn comes."""

    rows: list[msgspec.Raw] = []


class _Rows:
    """The rows of a file after the first *skip*, with their numbers, from 1, and whether a row lost some links.

    While rows are taken, the process reads those after them.
    """

    def __init__(
        self,
        process: ParserProcess,
        request: Request,
        source: str,
        report: ReadReport,
        limits: ReadLimits,
        skip: int,
    ) -> None:
        self._process = process
        self._source = source
        self._report = report
        self._limits = limits
        self._request = msgspec.structs.replace(
            request,
            start=skip,
            record=limits.record,
            head=limits.head,
            links=limits.links,
            link_text=limits.link_text,
        )
        self._bytes = Path(request.path).stat().st_size
        self._memory = max(_MEMORY, _RECORDS * limits.record)
        self._seconds = _SECONDS * limits.seconds + self._bytes / (1 << 20)
        self._taken = 0
        self._size = 0
        self._here: bytes | None = None

    def fields(self) -> dict[str, str]:
        """Return the fields of pages by the columns that are read; raises `UnknownColumn`, `DamagedFile`."""
        try:
            described = self._described()
        except TooMuch as exc:
            raise self._ended(exc) from exc
        if described.error is not None:
            raise DamagedFile(f"not a sound Parquet file: {described.error}", 0)
        self._size = described.size
        fields = checked_columns(described.columns)
        self._request = msgspec.structs.replace(self._request, fields=fields, count=ROWS_AT_ONCE)
        return fields

    def __iter__(self) -> Iterator[tuple[int, msgspec.Raw, bool]]:
        # An answer is asked for before the rows of the last one are taken, so that both processes work.
        self._ask()
        while self._request.start < self._size:
            try:
                answer = self._answer()
            except TooMuch as exc:
                if exc.limit == "seconds":
                    raise self._ended(exc) from exc
                self._try_fewer()
                continue
            if answer.error is not None:
                reason = f"its row group is damaged: {answer.error}"
                self._lose(answer, DamagedRecord(self._source, answer.start + 1, None, reason, "row"))
                continue
            size = sum([memoryview(row).nbytes for row in answer.rows])
            self._go_on(answer.stop, ROWS_AT_ONCE if answer.ends else self._request.count)
            self._take(size + _ROW_BYTES * len(answer.rows) + _ANSWER_BYTES)
            shortened = frozenset(answer.shortened)
            for at, row in enumerate(answer.rows):
                yield answer.start + at + 1, row, at in shortened

    def _try_fewer(self) -> None:
        """Ask for fewer rows at once; where even one takes too much memory, go on after its row group."""
        request = self._request
        if request.count in _FEWER:
            self._go_on(request.start, _FEWER[request.count])
            return
        try:
            lost = self._described()
        except TooMuch as exc:
            raise self._ended(exc) from exc
        reason = f"its row group takes over {self._memory:,} bytes of memory"
        self._lose(lost, DamagedRecord(self._source, request.start + 1, None, reason, "row"), "record")
        self._take(min(self._memory, _ALWAYS_INFLATED))

    def _lose(self, answer: _Answer, record: DamagedRecord, limit: str | None = None) -> None:
        """Report that the rows up to that where the next row group begins are left out."""
        self._report.add_gap(record, answer.compressed, limit)
        self._go_on(answer.stop, ROWS_AT_ONCE)

    def _go_on(self, start: int, count: int) -> None:
        self._request = msgspec.structs.replace(self._request, start=start, count=count)
        if start < self._size:
            self._ask()

    def _take(self, count: int) -> None:
        """Count what was read; raises `DamagedFile` if it is too much for the size of the file."""
        self._taken += count
        if self._taken > max(_ALWAYS_INFLATED, self._limits.inflation * self._bytes):
            raise FileOverLimit("inflation", f"its rows take over {self._limits.inflation} times its size", 0)

    def _ended(self, exc: TooMuch) -> DamagedFile:
        if exc.limit == "seconds":
            return FileOverLimit("seconds", "reading its rows takes too long for its size", 0)
        return DamagedFile(f"its footer takes over {self._memory:,} bytes of memory, or is made to break readers", 0)

    def _described(self) -> _Answer:
        self._ask(msgspec.structs.replace(self._request, count=0))
        return self._answer()

    def _ask(self, request: Request | None = None) -> None:
        work = msgspec.msgpack.encode(request or self._request)
        try:
            self._process.ask(work, memory=self._memory, seconds=max(self._seconds, 0.001))
        except Unavailable:
            self._here = work  # `_answer` reads the rows in this process, unbounded: better than no rows

    def _answer(self) -> _Answer:
        """Return the answer to what was asked last; raises `TooMuch`."""
        work, self._here = self._here, None
        try:
            packed = self._process.answer() if work is None else answered(work)
        except MemoryError as exc:
            raise TooMuch("memory") from exc
        answer = msgspec.msgpack.decode(packed, type=_Answer)
        self._seconds -= answer.seconds
        return answer


_idle: defaultdict[str, list[ParserProcess]] = defaultdict(list)
"""Processes that are in use by nobody, by what they do: files may be read at the same time."""
# They stay until this one ends: to start one, and to import Arrow in it, takes a part of a second.


@contextmanager
def bounded_process(name: str) -> Iterator[ParserProcess]:
    """Give a process that has the function *name* called, and keeps what it has read between calls."""
    idle = _idle[name]
    try:
        process = idle.pop()
    except IndexError:
        process = ParserProcess(name, keeps=True)
    try:
        yield process
    finally:
        process.drop_question()
        idle.append(process)


@contextmanager
def path_of(file: BinaryIO) -> Iterator[tuple[str, tuple[int, int]]]:
    """Give the path of *file*, and what identifies it there: of what is nowhere under its name, a copy."""
    name: Any = getattr(file, "name", None)
    try:
        described = os.fstat(file.fileno())
        is_there = isinstance(name, str | os.PathLike) and os.path.samestat(Path(name).stat(), described)
    except (OSError, ValueError, AttributeError):
        is_there = False
    if is_there:
        yield str(Path(name).absolute()), (described.st_dev, described.st_ino)
        return
    with tempfile.NamedTemporaryFile(prefix="webtable-", suffix=".parquet") as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        described = os.fstat(copy.fileno())
        yield copy.name, (described.st_dev, described.st_ino)

"""Readers of pages in CSV, TSV and Excel files, a row each, under a line with the names of the columns."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile, ZipFile

import msgspec

from webtable.formats.compressed import BLOCK, TooLong
from webtable.formats.excel_rows import Answer, Request, answered, check_openpyxl
from webtable.formats.page_rows import captures_of_row, counted, fields_of_table, is_page_row
from webtable.formats.parquet import bounded_process, path_of
from webtable.formats.read_report import Damaged, DamagedFile, DamagedRecord, FileOverLimit, OverLimit
from webtable.page.parser_process import TooMuch, Unavailable
from webtable.repository.answers.columns import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable._limits import ReadLimits
    from webtable.formats.compressed import ByteStream
    from webtable.formats.read_report import ReadReport
    from webtable.formats.warc import WARCOptions
    from webtable.page.page import Page
    from webtable.repository.failed_fetches import FailedFetch

ENDINGS = (".csv", ".tsv")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LEAST_PIECE = 256
_EMPTY_LINES = re.compile(rb"[\r\n]+")
_LINE_END = re.compile(r"\r?\n\Z")
_FIELD = {delimiter: re.compile(rf'(?:"((?:[^"]++|"")*+)"|([^{delimiter}]*+))({delimiter}|\Z)') for delimiter in ",;\t"}
# What webtable's own files have: a sign against formulas, and in TSV backslashes.
_DEFUSED = re.compile(r"'(?=\"*[=+\-@\t\r\n＝＋－＠])")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


# --- CSV and TSV ------------------------------------------------------------------------------------------------------


def delimiter_of(start: bytes) -> str | None:
    """Return what is between the columns of a table of pages that begins with *start*; None if it is none.

    >>> delimiter_of(b'"Address","Status Code"'), delimiter_of(b"Some;text")
    (',', None)
    """
    line = start.removeprefix(_BYTE_ORDER_MARK).partition(b"\n")[0].decode("utf-8", "replace")
    columns = {delimiter: _values(line, delimiter) for delimiter in _FIELD}
    delimiter = max(columns, key=lambda delimiter: len(columns[delimiter]))
    return delimiter if is_page_row(columns[delimiter]) else None


class _Lines:
    """The records of a file of lines, each of which is more than one line where a line end is in quotes."""

    def __init__(self, stream: ByteStream, limit: int) -> None:
        self._stream = stream
        self.limit = limit
        """How many bytes a record may have."""
        self.number = 1
        """The number of the next line."""

    def is_any(self) -> bool:
        """Skip empty lines, and return whether another line follows."""
        self.number += self._stream.skip_run(_EMPTY_LINES)[0]
        self._stream.mark = self._stream.offset
        return bool(self._stream.peek(1))

    def record(self, *, is_quoted: bool = True) -> str:
        """Return the next record without its line end; raises `Damaged`, after the record or a part of it."""
        data = bytearray()
        try:
            self._take_line(data)
            counted_to, is_open = 0, is_quoted
            while is_open:
                is_open = data.count(b'"', counted_to) % 2 == 1
                if is_open:
                    self._take_to_quote(data)
                    counted_to = len(data)
                    self._take_line(data)
        finally:
            self.number += max(data.count(b"\n"), 1)
        try:
            return _LINE_END.sub("", data.decode())
        except UnicodeDecodeError as exc:
            raise Damaged(f"it is not in UTF-8: {exc.reason}") from exc

    def _take_line(self, data: bytearray) -> None:
        try:
            data += self._stream.read_line(self.limit - len(data))
        except TooLong as exc:
            data += b"\n"
            raise self._over_limit() from exc

    def _take_to_quote(self, data: bytearray) -> None:
        """Add all up to the next quote, in pieces: these may be millions of lines."""
        size = _LEAST_PIECE
        while True:
            ahead = self._stream.peek(size)
            end = ahead.find(b'"') + 1
            if not ahead:
                raise Damaged("its quotes are not closed")
            if len(data) + len(ahead) > self.limit:
                self._take_line(data)
                raise self._over_limit()
            data += self._stream.read(end or len(ahead))
            if end:
                return
            size = min(2 * size, BLOCK)

    def _over_limit(self) -> OverLimit:
        return OverLimit("record", f"it has over {self.limit:,} bytes")


def read_table(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page | FailedFetch]:
    """Yield the captures of a CSV or TSV file with a header line, after the first *skip* of its rows.

    A row that is no page is reported with the number of its line. Raises `DamagedFile` for a table without pages.
    """
    if stream.gaps:
        raise DamagedFile("what follows the damaged part has no header line")
    if stream.peek(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK:
        stream.skip(len(_BYTE_ORDER_MARK))
    lines = _Lines(stream, options.limits.head)
    lines.is_any()
    try:
        header = lines.record()
    except Damaged as exc:
        raise DamagedFile(f"its header line cannot be read: {exc}", 0) from exc
    delimiter = delimiter_of(header.encode()) or ","
    columns = _values(header, delimiter)
    lines.limit = options.limits.record
    fields = fields_of_table(columns, report, options)
    is_own = set(columns) <= set(PAGES.names)
    is_escaped = is_own and delimiter == "\t"

    def captures() -> list[Page | FailedFetch]:
        text = lines.record(is_quoted=not is_escaped)
        limit = len(columns) + 1  # a line may have millions
        values = text.split("\t", len(columns)) if is_escaped else _values(text, delimiter, limit)
        if len(values) != len(columns):
            more = "more" if len(values) == limit else f"{len(values):,}"
            raise Damaged(f"it has {more} columns, and the header line {len(columns):,}")
        if is_escaped:
            values = [_ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), value) for value in values]
        if is_own:
            values = [_DEFUSED.sub("", value, count=1) for value in values]
        return captures_of_row(dict(zip(columns, values, strict=True)), fields, report, options)

    while lines.is_any():
        number = lines.number
        if skip:
            skip -= 1
            with suppress(Damaged):
                lines.record(is_quoted=not is_escaped)
            continue
        yield from counted(
            captures,
            lambda reason: DamagedRecord(source, number, None, reason, "line"),  # noqa: B023 - called at once
            report,
            options,
            lambda: stream.begin,  # the header line is needed again
        )


def _values(text: str, delimiter: str, limit: int = sys.maxsize) -> list[str]:
    values: list[str] = []
    at = 0
    while len(values) < limit and (field := _FIELD[delimiter].match(text, at)) is not None:
        values.append(field[2] if field[1] is None else field[1].replace('""', '"'))
        at = field.end()
        if not field[3]:
            break
    return values


# --- Excel ------------------------------------------------------------------------------------------------------------


_MEMORY = 1 << 28
"""Bytes of memory for reading rows, beside those of Python itself."""
_SECONDS = 3
"""Seconds for reading a file, as a multiple of those for parsing a body, and twice as many more for each MiB of it.

A file of 50 columns that compresses well takes a third of them."""


def is_workbook(file: BinaryIO) -> bool:
    """Whether the zip *file* is one of Excel's (.xlsx); it is at its beginning afterwards."""
    try:
        with ZipFile(file) as zipped:
            return "xl/workbook.xml" in zipped.NameToInfo
    except (BadZipFile, ValueError, NotImplementedError, EOFError):
        return False
    finally:
        file.seek(0)


def read_excel(
    file: BinaryIO, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page | FailedFetch]:
    """Yield the captures of the first sheet of an Excel file after the first *skip* of the rows below its header.

    A process with limited memory reads it. Raises `DamagedFile`, and `MissingExtra` without openpyxl.
    """
    check_openpyxl()
    file.seek(0)
    rows = _excel_rows(file, options.limits)
    header = next(rows, (0, []))[1]
    columns = [str(value) for value in header]
    fields = fields_of_table(columns, report, options)
    for count, (number, values) in enumerate(rows, 1):
        if count > skip:
            yield from counted(
                lambda: captures_of_row(dict(zip(columns, values, strict=False)), fields, report, options),  # noqa: B023
                lambda reason: DamagedRecord(source, number, None, reason, "row"),  # noqa: B023 - called at once
                report,
                options,
                lambda: 0,
            )


def _excel_rows(file: BinaryIO, limits: ReadLimits) -> Iterator[tuple[int, list[Any]]]:
    with path_of(file) as (path, identity), bounded_process("webtable.formats.excel_rows:answered") as process:
        seconds = _SECONDS * limits.seconds * (1 + 2 * Path(path).stat().st_size / (1 << 20))
        answer = Answer()
        while not answer.is_end:
            work = msgspec.msgpack.encode(Request(path, identity, answer.stop))
            try:
                packed = process.call(work, memory=_MEMORY, seconds=max(seconds, 0.001))
            except Unavailable:
                packed = answered(work)  # in this process, unbounded: better than no rows
            except TooMuch as exc:
                if exc.limit == "seconds":
                    raise FileOverLimit("seconds", "reading its rows takes too long for its size", 0) from exc
                raise DamagedFile(f"its sheet takes over {_MEMORY:,} bytes of memory: save it as CSV", 0) from exc
            answer = msgspec.msgpack.decode(packed, type=Answer)
            if answer.error is not None:
                raise DamagedFile(f"its sheet cannot be read: {answer.error}", 0)
            seconds -= answer.seconds
            yield from answer.rows

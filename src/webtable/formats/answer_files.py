"""Answers (pages, hosts, links, hits) written to a file, in a format chosen by name."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from webtable._files import atomic_file
from webtable.display import harmless
from webtable.display.values import harmless_json, rows_of
from webtable.errors import InvalidArgument
from webtable.page.json_lines import body_to_json
from webtable.page.page import Page
from webtable.repository.answers.columns import PAGES, Column, Columns, column, column_names, columns_of
from webtable.repository.answers.tabular import Tabular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

FORMATS = ("csv", "csv_raw", "jsonl", "parquet", "tsv", "tsv_raw")
"""The names of the formats that `write` knows."""
BINARY = frozenset({"parquet"})
"""Those that are not text."""
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".tsv": "tsv"}
"""The formats by the endings of the names of files."""

# A page read from a file may say that it repeats another capture; a page of a table never does.
_PAGES_OF_FILES = replace(
    PAGES,
    all=(*PAGES.all, column("same_as", "url", is_usual=False)),
    read_again=(*PAGES.read_again, "same_as"),
)


def write(
    records: Iterable[Any],
    target: IO[bytes] | IO[str] | str | PathLike[str],
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    for_terminal: bool = False,
) -> int:
    """Write *records*, the pages or other records of an answer, to *target* as they come; return their count.

    *target* is the name of a file, which appears when it is complete, or a file that is open for bytes or for text.
    *format* is one of `FORMATS`, as for the command line's `--format`; by default the name of the file says it: .csv,
    .jsonl, .parquet (with `hbase-webtable[arrow]`) or .tsv. *columns* are names of the answer's columns (docs/frames.md
    lists them), by default those that its question named, else the usual ones; in `jsonl` a page has the usual ones,
    its headers, body and links, as far as they were read, so that `read_pages` can read it again. *for_terminal*
    escapes terminal control characters. Raises `InvalidArgument` for another format, `UnknownColumn` for a column that
    the records do not have, `MissingExtra`.
    """
    if isinstance(target, str | PathLike):
        named = format_of(target) if format is None else format
        if named == "parquet" and isinstance(records, Tabular):
            return records.to_parquet(target, columns)  # with whole hosts in a row group
        with atomic_file(Path(target)) as part, part.open("wb") as file:
            return write(records, file, format=named, columns=columns, for_terminal=for_terminal)
    if format not in FORMATS:
        raise InvalidArgument(f"format={format!r} must be one of {', '.join(FORMATS)}")
    rows, available = _rows_of(records, columns)
    if available is None:
        if columns is None:
            return 0
        chosen: Sequence[Column] = [column(name) for name in column_names(columns)]
    else:
        chosen = available.in_json() if columns is None and format == "jsonl" else available.chosen(columns)
    return write_rows(rows, chosen, target, format, for_terminal=for_terminal)


def format_of(file: str | PathLike[str]) -> str:
    """Return the format that the name of *file* says; raises `InvalidArgument` if it says none."""
    ending = Path(file).suffix.lower()
    if ending not in ENDINGS:
        raise InvalidArgument(f"{file}: its name must end with {', '.join(ENDINGS)}; or give format=")
    return ENDINGS[ending]


def write_rows(
    records: Iterable[Any],
    columns: Sequence[Column],
    stream: IO[bytes] | IO[str],
    format: str,
    *,
    for_terminal: bool = False,
) -> int:
    """Write these *columns* of *records* to *stream* in a *format*, and return the number of records.

    With *for_terminal* control characters in texts are escaped. Raises `InvalidArgument` for a binary format where
    *stream* takes text.
    """
    counted = CountedRecords(records)
    put: Callable[[Any], Any] = stream.write
    is_text = isinstance(stream, io.TextIOBase)
    if is_text and format in BINARY:
        raise InvalidArgument(f"format={format!r} is for a file that is open for bytes, not for text or a terminal")
    for piece in row_pieces(counted, columns, format, for_terminal=for_terminal):
        put(piece.decode() if is_text else piece)
    return counted.count


def row_pieces(
    records: Iterable[Any], columns: Sequence[Column], format: str, *, for_terminal: bool = False
) -> Iterator[bytes]:
    """Yield what `write_rows` writes of *columns* in a *format*, as the *records* come; in `jsonl` a line of each.

    With *for_terminal* control characters in texts are escaped.
    """
    yield from _LINES[format](records, columns, for_terminal)


def _rows_of(records: Iterable[Any], columns: Sequence[str] | None) -> tuple[Iterable[Any], Columns | None]:
    """Return the rows of *records* and their columns; None for the columns if there are no records."""
    if isinstance(records, Tabular):
        answer = records._reading(columns)
        return answer._rows(), answer._columns
    rest = iter(records)
    first = next(rest, rest)
    if first is rest:
        return rest, None
    return chain([first], rest), _PAGES_OF_FILES if isinstance(first, Page) else columns_of(first)


class CountedRecords:
    """Records, counted as they are iterated over."""

    def __init__(self, records: Iterable[Any]) -> None:
        self._records = records
        self.count: int = 0

    def __iter__(self) -> Iterator[Any]:
        for record in self._records:
            self.count += 1
            yield record


# --- CSV --------------------------------------------------------------------------------------------------------------
#
# RFC 4180, in UTF-8; lines end with a newline.
#
# `csv` is for spreadsheets: a value that one would run as a formula gets an apostrophe in front, which makes it text
# there, as titles and links of a crawl are written by strangers. `csv_raw` has every value as it is, for programs.

# OWASP, "CSV Injection": a cell that begins with one of = + - @, a tab or a line end may be taken for a formula. The
# wide forms of the first four count as well in some languages. A number is not a formula, whatever its sign.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_QUOTES = re.compile(r'"+')


def defused(text: str) -> str:
    """Return *text* so that a spreadsheet does not run it as a formula.

    >>> defused("=1+2"), defused("-5"), defused("Home")
    ("'=1+2", '-5', 'Home')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _csv(
    records: Iterable[Any], columns: Sequence[Column], for_terminal: bool, shown: Callable[[str], str] = str
) -> Iterator[bytes]:
    # `writerow` returns what `write` returns, and quotes the characters of its own line end, so that it is "\r\n" here:
    # readers may take either character for a line end.
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    for row in rows_of(records, columns, (lambda text: harmless(shown(text))) if for_terminal else shown):
        line: str = writer.writerow(row)
        yield f"{line[:-2]}\n".encode("utf-8", "replace")


class _Echo:
    def write(self, text: str) -> str:
        return text


# --- Tab-separated values ---------------------------------------------------------------------------------------------
#
# A header line, and each record on one line whatever its values are.
#
# A tab, a line end and a backslash in a value are written as `\t`, `\n`, `\r` and `\\`, as PostgreSQL's COPY does, and
# nothing is quoted, so that `cut`, `sort` and `awk` find the columns; quoted values could span lines.

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def _tsv(
    records: Iterable[Any], columns: Sequence[Column], for_terminal: bool, shown: Callable[[str], str] = str
) -> Iterator[bytes]:
    def escaped(text: str) -> str:
        value = shown(text).translate(_ESCAPES)
        return harmless(value) if for_terminal else value

    for row in rows_of(records, columns, escaped):
        yield ("\t".join(row) + "\n").encode("utf-8", "replace")


def _defused_with_quotes(text: str) -> str:
    r"""Return *text* so that a spreadsheet does not run it, also if it takes quotes for those around a value.

    >>> _defused_with_quotes('"=1+2"'), _defused_with_quotes('"Home"')
    ('\'"=1+2"', '"Home"')
    """
    quotes = _QUOTES.match(text)
    within = text[quotes.end() :] if quotes else text
    return text if defused(within) == within else f"'{text}"


# --- JSON Lines -------------------------------------------------------------------------------------------------------
#
# An object a line; those of pages can be read by `read_pages`.
#
# The body is in `body` if it is UTF-8, else in `body_base64`, so every body is restored byte for byte. Links are
# `[url, anchor, rel, kind, position, times]`, moments ISO 8601.


def _plain(value: object) -> str:
    """Return a message that names its command, or another kind of text, as text; all else msgspec knows by itself."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def _jsonl(records: Iterable[Any], columns: Sequence[Column], for_terminal: bool) -> Iterator[bytes]:
    for record in records:
        line = _encoder.encode(dict(_member(column, record) for column in columns))
        yield (harmless_json(line.decode()).encode() if for_terminal else line) + b"\n"


def _member(column: Column, record: Any) -> tuple[str, Any]:
    value = column.of(record)
    is_body = column.name == "body" and value is not None and not hasattr(record, "cells")  # of a page, not a record
    return body_to_json(value) if is_body else (column.name, value)


# --- Parquet ----------------------------------------------------------------------------------------------------------
#
# Compressed with zstd, in groups of some thousands of rows, for files and pipes.


def _parquet(records: Iterable[Any], columns: Sequence[Column], for_terminal: bool) -> Iterator[bytes]:  # noqa: ARG001
    """Yield the bytes of the file, a row group at a time; raises `MissingExtra`, `FormatError`."""
    from webtable.repository.answers.arrow import batches_of, new_file, schema_of  # pyarrow is slow to import

    written = _Written()
    with new_file(written, schema_of(columns)) as file:
        for batch in batches_of(records, columns):
            file.write_batch(batch)
            yield written.taken()
    yield written.taken()


class _Written(io.RawIOBase):
    """A file that gives away what was written to it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


_LINES: dict[str, Callable[[Iterable[Any], Sequence[Column], bool], Iterator[bytes]]] = {
    "csv": partial(_csv, shown=defused),
    "csv_raw": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "tsv": partial(_tsv, shown=_defused_with_quotes),
    "tsv_raw": _tsv,
}
"""What makes the lines of each format, with a header line if it has one; of a binary format pieces of the file."""

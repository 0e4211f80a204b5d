"""Answers (pages, hosts, links, hits) written to a file, in a format chosen by name."""

from __future__ import annotations

import io
import pkgutil
from dataclasses import replace
from importlib import import_module
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from webtable._files import atomic_file
from webtable.errors import InvalidArgument
from webtable.formats import answer_formats
from webtable.page.page import Page
from webtable.repository.answers.columns import Column, Columns, column, column_names, columns_of
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.answers.tabular import Tabular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

FORMATS = tuple(sorted(module.name for module in pkgutil.iter_modules(answer_formats.__path__)))
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
    format: str | None = None,  # noqa: A002
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
    rows, known = _rows_of(records, columns)
    if known is None:
        if columns is None:
            return 0
        chosen: Sequence[Column] = [column(name) for name in column_names(columns)]
    else:
        chosen = known.in_json() if columns is None and format == "jsonl" else known.chosen(columns)
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
    format: str,  # noqa: A002
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
    for line in import_module(f"{answer_formats.__name__}.{format}").lines(counted, columns, for_terminal=for_terminal):
        put(line.decode() if is_text else line)
    return counted.count


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


def write_pages(pages: Iterable[Page], out: IO[bytes], fields: Iterable[str] | None = None) -> int:
    """Write *pages* to *out* as JSON Lines, each as `page_to_json` makes it, and return their number.

    *fields* limits the fields that are written; raises `UnknownColumn` for one that a page does not have.
    """
    from webtable.page.json_lines import checked_fields, page_to_json

    names = None if fields is None else checked_fields(fields)
    counted = CountedRecords(pages)
    for page in counted:
        out.write(page_to_json(page, names) + b"\n")
    return counted.count

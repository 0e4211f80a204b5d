"""Answers (pages, hosts, links, hits) written to a file, in a format chosen by name."""

from __future__ import annotations

import io
import pkgutil
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from webtable._page.page import Page
from webtable.errors import InvalidArgument
from webtable.formats import answer_formats
from webtable.repository.answers.columns import Column, Columns, column, columns_of
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.answers.tabular import Tabular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

FORMATS = tuple(sorted(module.name for module in pkgutil.iter_modules(answer_formats.__path__)))
"""The names of the formats that `write` knows."""

# A page read from a file may say that it repeats another capture; a page of a table never does.
_PAGES_OF_FILES = replace(
    PAGES,
    all=(*PAGES.all, column("same_as", "url", is_usual=False)),
    read_again=(*PAGES.read_again, "same_as"),
)


def write(
    records: Iterable[Any],
    stream: IO[bytes] | IO[str],
    *,
    format: str,  # noqa: A002
    columns: Sequence[str] | None = None,
    for_terminal: bool = False,
) -> int:
    """Write *records*, the pages or other records of an answer, to *stream* as they come; return their count.

    *stream* is a file that is open for bytes or for text. *columns* are names of the answer's columns (docs/frames.md
    lists them), by default the usual ones; in `jsonl` a page then also has its headers, body and links, as far as they
    were read, so that `read_pages` can read it again. *format* is one of `FORMATS`, as for the command line's
    `--format`. *for_terminal* escapes terminal control characters. Raises `InvalidArgument` for another format,
    `UnknownColumn` for a column that the records do not have.
    """
    if format not in FORMATS:
        raise InvalidArgument(f"format={format!r} must be one of {', '.join(FORMATS)}")
    if isinstance(columns, str):
        raise InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
    rows, known = _rows_of(records)
    if known is None:
        if columns is None:
            return 0
        chosen: Sequence[Column] = [column(name) for name in columns]
    else:
        chosen = known.in_json() if columns is None and format == "jsonl" else known.chosen(columns)
    return write_rows(rows, chosen, stream, format, for_terminal=for_terminal)


def write_rows(
    records: Iterable[Any],
    columns: Sequence[Column],
    stream: IO[bytes] | IO[str],
    format: str,  # noqa: A002
    *,
    for_terminal: bool = False,
) -> int:
    """Write these *columns* of *records* to *stream* in a *format*, and return the number of records."""
    counted = CountedRecords(records)
    put: Callable[[Any], Any] = stream.write
    is_text = isinstance(stream, io.TextIOBase)
    for line in import_module(f"{answer_formats.__name__}.{format}").lines(counted, columns, for_terminal=for_terminal):
        put(line.decode() if is_text else line)
    return counted.count


def _rows_of(records: Iterable[Any]) -> tuple[Iterable[Any], Columns | None]:
    """Return the rows of *records* and their columns; None for the columns if there are no records."""
    if isinstance(records, Tabular):
        return records._rows(), records._columns
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
    from webtable._page.json_lines import checked_fields, page_to_json

    names = None if fields is None else checked_fields(fields)
    counted = CountedRecords(pages)
    for page in counted:
        out.write(page_to_json(page, names) + b"\n")
    return counted.count

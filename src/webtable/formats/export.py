"""Answers into files: pages, hosts, links, hits, in a format that is found by its name."""

from __future__ import annotations

import io
import pkgutil
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from webtable.errors import InvalidArgument
from webtable.formats import exports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webtable._page.page import Page

FORMATS = tuple(sorted(module.name for module in pkgutil.iter_modules(exports.__path__)))
"""The names of the formats that `write` knows."""


def write(
    records: Iterable[Any],
    stream: IO[bytes] | IO[str],
    *,
    format: str,  # noqa: A002
    columns: Sequence[str] | None = None,
    for_terminal: bool = False,
) -> int:
    """Write *records*, which are pages or what else a question gives, to *stream* as they come; return their count.

    *stream* is a file that is open for bytes, or for text. *columns* are fields of the records, or of the page that is
    in a record (a hit, an inlink). Without them a page has what every listing reads, so no body, links and counts, but
    all that it has in `jsonl`; other records have all of their fields. *format* is one of `FORMATS`, which the command
    line's `--format` takes too: values come out in the same way. With *for_terminal* none commands a terminal.
    Raises `InvalidArgument` for another format, `UnknownColumn` for what a record does not have.
    """
    if format not in FORMATS:
        raise InvalidArgument(f"format={format!r} must be one of {', '.join(FORMATS)}")
    if isinstance(columns, str):
        raise InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
    counted = CountedRecords(records)
    put: Callable[[Any], Any] = stream.write
    is_text = isinstance(stream, io.TextIOBase)
    for line in import_module(f"{exports.__name__}.{format}").lines(counted, columns, for_terminal=for_terminal):
        put(line.decode() if is_text else line)
    return counted.count


class CountedRecords:
    """Records, and how many of them have come so far."""

    def __init__(self, records: Iterable[Any]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[Any]:
        for record in self._records:
            self.count += 1
            yield record


def write_pages(pages: Iterable[Page], out: IO[bytes], fields: Iterable[str] | None = None) -> int:
    """Write *pages* to *out* as JSON Lines, each as from `page_to_json`, and return how many there were.

    They have the fields *fields*, or all that are there; raises `UnknownColumn` for one that a page does not have.
    """
    from webtable._page.json_lines import checked_fields

    return write(pages, out, format="jsonl", columns=None if fields is None else checked_fields(fields))

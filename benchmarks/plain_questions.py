"""The peer of the questions: filter scans through HappyBase, over a table with a column for each thing asked."""

from __future__ import annotations

import json
from datetime import datetime
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from benchmarks.plain import BATCH_CELLS, HTML, LINKS, METADATA_COLUMNS, TITLE, cells_of
from webtable.indexes import page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import happybase

    from webtable import Page
    from webtable.rowkey import WebKey

URL = b"metadata:url"
STATUS = b"metadata:status_code"
SIZE = b"metadata:size"
DIGEST = b"metadata:digest"
FETCHED = b"metadata:fetched_at"
MODIFIED = b"metadata:last_modified"
OUTLINK_COUNT = b"metadata:outlink_count"
INLINK_COUNT = b"metadata:inlink_count"
HANDLE = b"metadata:handle"

Row = tuple[bytes, dict[bytes, bytes]]


def where(column: bytes, operator: str, value: str) -> str:
    """Return the filter that lets rows through whose newest value of *column* is so."""
    family, _, qualifier = column.decode().partition(":")
    return f"SingleColumnValueFilter('{family}', '{qualifier}', {operator}, '{value}', true, true)"


def as_it_is(value: bytes) -> bytes:
    """Return what sorts as the column does."""
    return value


def descending(value: bytes) -> int:
    """Return what sorts the highest number first."""
    return -int(value)


def newest_first(value: bytes) -> float:
    """Return what sorts the latest time first."""
    return -datetime.fromisoformat(value.decode()).timestamp()


class PlainQuestions:
    """Answers from one table of rows under webtable's own keys: 12 metadata columns, and three more to be asked by."""

    def __init__(self, table: happybase.Table, key: WebKey, limit: int) -> None:
        self._table = table
        self._key = key
        self._limit = limit

    def store(self, pages: Iterable[Page], inlinks: Iterable[int]) -> None:
        """Store *pages*; a script that asks for the most linked ones would have to count their *inlinks* by itself."""
        with self._table.batch(batch_size=BATCH_CELLS) as batch:
            for page, linking in zip(pages, inlinks, strict=True):
                cells = cells_of(page)
                del cells[HTML]
                own = {
                    SIZE: b"%012d" % (page.size or 0),
                    DIGEST: (page.digest or "").encode(),
                    HANDLE: page_id(page.url).encode(),
                    INLINK_COUNT: b"%08d" % linking,
                    LINKS: json.dumps(page.outlinks).encode(),
                }
                batch.put(self._key.encode(page.url), {**cells, **own})

    def matching(self, condition: str, column: bytes, order: Callable[[bytes], Any]) -> list[Row]:
        """Return the first rows in the order of *column* that meet *condition*: all that do come, with 12 columns."""
        return self._first(self.scan([column, *METADATA_COLUMNS], condition), column, order)

    def in_two_steps(self, condition: str | None, column: bytes, order: Callable[[bytes], Any]) -> list[Row]:
        """Return the same: of all that meet *condition* that one column comes, and the metadata of the first ones."""
        return self._metadata(row for row, _ in self._first(self.scan([column], condition), column, order))

    def one(self, condition: str, column: bytes) -> list[Row]:
        """Return the first row in the table that meets *condition*, and read no further."""
        return list(self._table.scan(columns=[column, *METADATA_COLUMNS], filter=condition, limit=1))

    def hosts(self, domain: str) -> list[tuple[str, int, int]]:
        """Return the hosts of *domain*, in the order of their pages, with how many pages and bytes they have."""
        name = ".".join(reversed(domain.split("."))).replace(".", "[.]")
        found: dict[bytes, list[int]] = {}
        for row, cells in self.scan([SIZE], f"RowFilter(=, 'regexstring:^..:{name}[./]')"):
            found.setdefault(self._place(row).partition(b"/")[0], []).append(int(cells[SIZE]))
        return [
            (".".join(reversed(host.decode().split("."))), len(sizes), sum(sizes))
            for host, sizes in sorted(found.items(), key=lambda item: item[0] + b"/")
        ]

    def linking_to(self, url: str) -> list[tuple[str, str, str]]:
        """Return the first pages that link to *url*, with their anchors and titles."""
        rows = self.scan([LINKS, URL, *METADATA_COLUMNS], where(LINKS, "=", f'substring:"{url}"'))
        found = [
            (cells[URL].decode(), anchor, cells[TITLE].decode())
            for _, cells in rows
            for target, anchor, *_ in json.loads(cells[LINKS])
            if target == url
        ]
        return nsmallest(self._limit, found)

    def broken_links(self) -> list[tuple[str, str, int]]:
        """Return the first links to error pages by status, target and source: their sources, targets and statuses."""
        errors = {
            self._key.url_of(row): (cells[STATUS], self._place(row))
            for row, cells in self.scan([STATUS], where(STATUS, ">=", "binary:400"))
        }
        found = (
            (*errors[target], self._key.url_of(row), target)
            for row, cells in self.scan([LINKS])
            for target, _, _ in json.loads(cells[LINKS])
            if target in errors
        )
        return [(source, target, int(status)) for status, _, source, target in nsmallest(self._limit, found)]

    def scan(self, columns: list[bytes], condition: str | None = None) -> Iterator[Row]:
        """Yield the rows of the whole table that meet *condition*."""
        found: Iterator[Row] = self._table.scan(columns=columns, filter=condition, batch_size=1_000)
        return found

    def _first(self, rows: Iterable[Row], column: bytes, order: Callable[[bytes], Any]) -> list[Row]:
        return nsmallest(self._limit, rows, key=lambda found: (order(found[1][column]), self._place(found[0])))

    def _metadata(self, rows: Iterable[bytes]) -> list[Row]:
        found: list[Row] = self._table.rows(list(rows), columns=METADATA_COLUMNS)
        return found

    def _place(self, row: bytes) -> bytes:
        return self._key.unsalted(row)


def shown(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Return the URLs and titles of *rows*."""
    return [(cells[URL].decode(), cells[TITLE].decode()) for _, cells in rows]

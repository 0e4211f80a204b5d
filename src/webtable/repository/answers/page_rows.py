"""How a scan of rows becomes pages: in the order of their URLs or in the store's, behind a place, up to a limit."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from webtable.repository.answers.results import Explanation
from webtable.repository.scanning.read_ahead import PIECE_ROWS, read_ahead
from webtable.repository.scanning.scan import ScanSpec, in_key_order, in_storage_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable._page.page import Page
    from webtable.repository.frame import Frame
    from webtable.repository.stored.damaged_rows import Damage
    from webtable.store import Row

ROW_ORDERS = ("url", "storage")


class PageRows:
    """The rows of one web table, as questions read them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def pages(self, spec: ScanSpec, order: str, after: bytes | None, damage: Damage) -> Iterator[Page]:
        """Yield the pages of *spec*; where it has a limit, so many of them that can be read."""
        page_of = self._page_of(spec)
        if spec.limit is None:
            with closing(read_ahead(self.likely(spec, order, after), page_of, damage)) as pages:
                yield from pages
            return
        left = spec.limit
        while left:
            rows = _Counted(self.rows(replace(spec, limit=left), order, after))
            given = 0
            with closing(read_ahead(iter(rows), page_of, damage)) as pages:
                for given, page in enumerate(pages, 1):  # noqa: B007 - it is what is left of the loop
                    yield page
            if rows.count < left:
                return
            # Rows that cannot be read, and those that are no pages, count for the store.
            left -= given
            after = self.place(rows.last.key, order)

    def rows(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        """Yield the rows of *spec* behind the place *after*; in the order of URLs those that are pages."""
        if order == "storage":
            return in_storage_order(self._frame.store, spec, after)
        codec = self._frame.codec
        spec = replace(spec, weight=codec.weight(spec.wanted.columns or ()))
        return in_key_order(self._frame.store, spec, self._frame.key.unsalted, [codec.columns.page], after)

    def likely(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        """Yield the rows of *spec*, which has no limit, that the store does not leave out for what they contain.

        Where a few are `expected`, the store is asked for no more of them, or it would go on to look for the next ones
        that match before it gave the first; and for more each time, as it may let too many through.
        """
        if spec.wanted.containing is None or spec.expected is None:
            return self.rows(spec, order, after)
        return self._expected(spec, order, after, spec.expected)

    def _expected(self, spec: ScanSpec, order: str, after: bytes | None, limit: int) -> Iterator[Row]:
        while True:
            count = 0
            for row in self.rows(replace(spec, limit=limit), order, after):
                count += 1
                after = self.place(row.key, order)
                yield row
            if count < limit:
                return
            limit = min(2 * limit, max(limit, PIECE_ROWS))

    def keys(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
        """Yield the keys of the rows of *spec* behind the place *after*, whether they are pages or not."""
        if order == "storage":
            rows = in_storage_order(self._frame.store, spec, after)
        else:
            rows = in_key_order(self._frame.store, spec, self._frame.key.unsalted, None, after)
        return (row.key for row in rows)

    def place(self, row: bytes, order: str) -> bytes:
        """Return where *row* stands in an answer in this order."""
        return row if order == "storage" else self._frame.key.unsalted(row)

    def place_of(self, url: str, order: str) -> bytes:
        """Return where the page *url* stands in an answer in this order."""
        return self.place(self._frame.key.encode(url), order)

    def explained(self, question: str, order: str, spec: ScanSpec, *notes: str) -> Explanation:
        """Return how *spec* will be read."""
        each = order != "storage" and len(spec.ranges) > 1
        calls = self._frame.store.describe_calls(spec.table, spec.ranges, each=each)
        columns = spec.wanted.columns or ()
        if each and len(columns) > 1:
            calls = [*calls, "read: bodies and links of the merged rows, 64 rows a call"]
        names = tuple(column.decode() for column in columns)
        return Explanation(question, order, names, tuple(spec.ranges), tuple(calls), notes=notes)

    def _page_of(self, spec: ScanSpec) -> Callable[[Row], Page | None]:
        """Return what makes the page of a row of *spec*, with its counts of links where they are among the columns."""
        frame, columns = self._frame, spec.wanted.columns or ()
        content = frame.codec.contents(columns)
        if frame.codec.columns.links not in columns:
            return partial(frame.counted.page, columns=content) if content else frame.counted.page

        def page_of(row: Row) -> Page | None:
            page = frame.counted.page(row, content)
            return page and frame.refreshed.counted(page, ("link_counts",))

        return page_of


class _Counted:
    """Rows as they are taken: how many they were, and the last one."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0
        self.last: Row

    def __iter__(self) -> Iterator[Row]:
        for self.count, self.last in enumerate(self._rows, 1):  # noqa: B020 - so they are at hand in between
            yield self.last

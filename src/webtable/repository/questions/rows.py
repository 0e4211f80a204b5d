"""The rows of pages as questions read them, in the order of URLs or of the store; and questions about a scope."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.answers.results import Explanation, Question
from webtable.repository.hosts.entries import narrowed_ranges, site_meant
from webtable.repository.reading.read_ahead import PIECE_ROWS, ROWS_AT_ONCE, read_ahead
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order
from webtable.repository.reading.scope import PLAIN_KEY
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.listing import Listing
    from webtable.repository.answers.results import Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.read_ahead import Made
    from webtable.repository.reading.scope import Scope
    from webtable.rowkey import KeyRange
    from webtable.store import Row

T = TypeVar("T")


class PageRows:
    """The rows of one web table, as questions read them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def pages(self, spec: ScanSpec, order: str, after: bytes | None, damage: Damage) -> Iterator[Page]:
        """Yield the pages of *spec*; if it has a limit, that many readable ones."""
        if spec.limit is None:
            with closing(self._made(self.likely(spec, order, after), spec, damage)) as pages:
                yield from pages
            return
        left = spec.limit
        while left:
            rows = _Counted(self.rows(replace(spec, limit=left), order, after))
            given = 0
            with closing(self._made(iter(rows), spec, damage)) as pages:
                for given, page in enumerate(pages, 1):  # noqa: B007 - used after the loop
                    yield page
            if rows.count < left:
                return
            # The store also counts rows that cannot be read, and those that are not pages.
            left -= given
            after = self.place(rows.last.key, order)

    def rows(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        """Yield the rows of *spec* after the place *after*; in the order of URLs those that are pages."""
        if order == "storage":
            return in_storage_order(self._frame.store, spec, after)
        codec = self._frame.codec
        spec = replace(spec, weight=codec.weight(spec.wanted.columns or ()))
        return in_key_order(self._frame.store, spec, self._frame.key.unsalted, [codec.columns.page], after)

    def likely(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        """Yield the rows of *spec*, which has no limit, that pass the filter of the store.

        If few are `expected`, the store is asked for no more than these: otherwise it would look for further matches
        before it returned the first. Each further call asks for more, because the filter may pass too many.
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
        """Yield the keys of the rows of *spec* after the place *after*, whether they are pages or not."""
        if order == "storage":
            rows = in_storage_order(self._frame.store, spec, after)
        else:
            rows = in_key_order(self._frame.store, spec, self._frame.key.unsalted, None, after)
        return (row.key for row in rows)

    def place(self, row: bytes, order: str) -> bytes:
        """Return the place of *row* in an answer in this order."""
        return row if order == "storage" else self._frame.key.unsalted(row)

    def place_of(self, url: str, order: str) -> bytes:
        """Return the place of the page *url* in an answer in this order."""
        return self.place(self._frame.key.encode(url), order)

    def _made(self, rows: Iterator[Row], spec: ScanSpec, damage: Damage) -> Generator[Page]:
        """Yield the pages of *rows* of *spec*, with counts of links if they are among its columns."""
        frame, columns = self._frame, spec.wanted.columns or ()
        content = frame.codec.contents(columns)
        has_counts = frame.codec.columns.links in columns

        def make(piece: Sequence[Row]) -> Made:
            pages = made(piece)
            if not has_counts:
                return pages
            counted = frame.refreshed.counted
            return [counted(page, ("link_counts",)) if isinstance(page, Page) else page for page in pages]

        def made(piece: Sequence[Row]) -> Made:
            if not content:
                with suppress(DamagedRow):  # the others can be read
                    return frame.codec.pages(piece)
            return [frame.counted.each(row, content) for row in piece]

        return read_ahead(rows, make, damage, at_once=1 if content else ROWS_AT_ONCE)


class _Counted:
    """An iterator of rows that knows how many it has yielded, and the last one."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0
        self.last: Row

    def __iter__(self) -> Iterator[Row]:
        for self.count, self.last in enumerate(self._rows, 1):  # noqa: B020 - both are read between two rows
            yield self.last


class ScopeRows(PageRows):
    """The rows of the pages of a scope; `label` names the pages in words.

    Raises `FullScanNeeded`.
    """

    def __init__(self, frame: Frame, scope: Scope) -> None:
        super().__init__(frame)
        self._scope = scope
        scope.check_permitted(frame, takes_limit=True)
        self.label: Final = str(scope)

    def label_after(self, word: str) -> str:
        """Return the pages in words after *word*, as the end of a phrase; "" for all pages."""
        return "" if self._scope.place is None else f" {word} {self.label}"

    def spec(self, wanted: Wanted | None = None, *, limit: int | None = None, expected: int | None = None) -> ScanSpec:
        """Return the scan of these rows, with what is *wanted* of each (None: the metadata)."""
        frame = self._frame
        ranges = narrowed_ranges(frame, self._scope)
        wanted = wanted or Wanted(frame.codec.select(None))
        return ScanSpec(frame.table, ranges, wanted, limit, expected=expected, keep=self._scope.keeps)

    def unnarrowed(self, wanted: Wanted) -> ScanSpec:
        """Return the scan of all rows in the ranges of the scope, whichever hosts have pages."""
        return ScanSpec(self._frame.table, self._scope.ranges(self._frame), wanted, keep=self._scope.keeps)

    def in_one_range(self, spec: ScanSpec) -> ScanSpec:
        """Return *spec*, if it is for all rows of the table, with these as one range, for a scan in storage order."""
        return spec if self._scope.place is not None else replace(spec, ranges=[self._frame.keys_of(spec.table)])

    def whole(self) -> ScanSpec:
        """Return the scan of all these rows in storage order, with their metadata."""
        return self.in_one_range(self.spec())

    def all(self, damage: Damage) -> Iterator[Page]:
        """Yield the pages once each, without their bodies, in storage order."""
        return self.pages(self.whole(), "storage", None, damage)

    def by_url(self, url: str) -> bytes:
        """Return the place of *url* in the order of URLs; `url_at` is the inverse."""
        return self.place_of(url, "url")


class TableQuestion(Question[T]):
    """A question about the pages of a scope in a web table; raises `InvalidArgument` for an order or limit of *window*
    that *listing* does not have.
    """

    def __init__(self, frame: Frame, scope: Scope, window: Window, listing: Listing) -> None:
        window.check(*listing.orders)
        self.frame: Frame = frame
        self.scope: Scope = scope
        self.window: Window = window
        self.columns: Columns = listing.columns

    def damage(self, rows: list[DamagedRow]) -> Damage:
        """Return a new collection of damaged rows, which counts them for the table."""
        return self.frame.damage(rows)

    def suggestion(self) -> str:
        """Return a question with the stored host that is most like that of the scope."""
        return site_meant(self.frame, self.scope)

    def plan(
        self, columns: Sequence[bytes | str], ranges: Sequence[KeyRange], *notes: str, index: str | None = None
    ) -> Explanation:
        """Return that these *ranges* of the table, or of its *index*, are read."""
        names = tuple(column if isinstance(column, str) else column.decode() for column in columns)
        return Explanation(self.title, self.window.order, names, tuple(ranges), index, notes)


class ScopeQuestion(TableQuestion[T]):
    """A question that the rows of a scope answer, in their order: by URL, or as they are stored.

    `notes` are remarks for its explanation. Raises `FullScanNeeded`.
    """

    how: Sequence[str] = ()
    """What holds of the whole kind of question."""
    notes: Sequence[str] = ()

    def __init__(self, frame: Frame, scope: Scope, window: Window, listing: Listing) -> None:
        super().__init__(frame, scope, window, listing)
        self.pages: ScopeRows = ScopeRows(frame, scope)

    def url_of(self, result: T) -> str:
        """Return the URL of the row that *result* is from."""
        return result.url  # type: ignore[attr-defined, no-any-return]  # all but a few records have one

    def place(self, result: T) -> bytes:
        """Return the place of the row of *result*."""
        return self.pages.place_of(self.url_of(result), self.window.order)

    def spec(self) -> ScanSpec:
        """Return the scan of what is read."""
        return self.pages.spec()

    def explain(self) -> Explanation:
        """Return the ranges of the scope; of questions that sort, all of them are read for any result."""
        spec = self.spec()
        return self.plan(spec.wanted.columns or (), spec.ranges, *self.how, *self.notes)


class SortedQuestion(ScopeQuestion[T]):
    """A question that cannot answer before it has seen all pages of a scope: what it finds is sorted on disk."""

    how: Sequence[str] = ("all pages are read for any part of the answer, and what is found is sorted on disk",)

    def spec(self) -> ScanSpec:
        """Return the scan of all pages."""
        return self.pages.whole()


def url_at(place: bytes) -> str:
    """Return the URL at *place* in the order of URLs."""
    return PLAIN_KEY.url_of(place)

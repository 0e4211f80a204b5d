"""The rows of pages as questions read them: in the order of URLs or of the store, for a scope, or in one pass."""

from __future__ import annotations

from contextlib import closing, suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from webtable._page.page import Page
from webtable.errors import DamagedRow
from webtable.repository.answers.explanation import Explanation
from webtable.repository.questions.host_entries import narrowed
from webtable.repository.questions.similar_hosts import site_meant
from webtable.repository.scanning.read_ahead import PIECE_ROWS, ROWS_AT_ONCE, read_ahead
from webtable.repository.scanning.scan import ScanSpec, in_key_order, in_storage_order
from webtable.repository.scanning.scope import PLAIN_KEY
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Cells, Results, Slice
    from webtable.repository.frame import Frame
    from webtable.repository.questions.listing import Listing
    from webtable.repository.scanning.damage import Damage
    from webtable.repository.scanning.read_ahead import Made
    from webtable.repository.scanning.scope import Scope
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

    def explained(self, question: str, order: str, spec: ScanSpec, *notes: str) -> Explanation:
        """Return how *spec* will be read."""
        each = order != "storage" and len(spec.ranges) > 1
        calls = self._frame.store.describe_calls(spec.table, spec.ranges, each=each)
        columns = spec.wanted.columns or ()
        if each and len(columns) > 1:
            calls = [*calls, "read: bodies and links of the merged rows, 64 rows a call"]
        names = tuple(column.decode() for column in columns)
        return Explanation(question, order, names, tuple(spec.ranges), tuple(calls), notes=notes)

    def _made(self, rows: Iterator[Row], spec: ScanSpec, damage: Damage) -> Generator[Page]:
        """Yield the pages of *rows* of *spec*, with counts of links if they are among its columns."""
        frame, columns = self._frame, spec.wanted.columns or ()
        content = frame.codec.contents(columns)
        has_counts = frame.codec.columns.links in columns

        def make(some: Sequence[Row]) -> Made:
            pages = made(some)
            if not has_counts:
                return pages
            counted = frame.refreshed.counted
            return [counted(one, ("link_counts",)) if isinstance(one, Page) else one for one in pages]

        def made(some: Sequence[Row]) -> Made:
            if not content:
                with suppress(DamagedRow):  # the others can be read
                    return frame.codec.pages(some)
            return [frame.counted.each(row, content) for row in some]

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
    """The rows of the pages of a scope; `said` names the pages in words.

    Raises `FullScanNeeded`.
    """

    def __init__(self, frame: Frame, scope: Scope) -> None:
        super().__init__(frame)
        self._scope = scope
        said, self._ranges = str(scope), scope.ranges(frame, takes_limit=True)
        self.said: Final = said

    def said_after(self, word: str) -> str:
        """Return the pages in words after *word*, as the end of a phrase; "" for all pages."""
        return "" if self._scope.place is None else f" {word} {self.said}"

    def spec(self, wanted: Wanted | None = None, *, limit: int | None = None, expected: int | None = None) -> ScanSpec:
        """Return the scan of these rows, with what is *wanted* of each (None: the metadata)."""
        frame = self._frame
        some = narrowed(frame, self._scope, self._ranges)
        wanted = wanted or Wanted(frame.codec.select(None))
        return ScanSpec(frame.table, some, wanted, limit, expected=expected, keep=self._scope.keeps)

    def unnarrowed(self, wanted: Wanted) -> ScanSpec:
        """Return the scan of all rows in the ranges of the scope, whichever hosts have pages."""
        return ScanSpec(self._frame.table, self._ranges, wanted, keep=self._scope.keeps)

    def in_one_range(self, spec: ScanSpec) -> ScanSpec:
        """Return *spec*, if it is for all rows of the table, with these as one range, for a scan in storage order."""
        return spec if self._scope.place is not None else replace(spec, ranges=[self._frame.keys_of(spec.table)])

    def meant(self) -> str:
        """Return a question that suggests another site, "" if there is none."""
        return site_meant(self._frame, self._scope)

    def answer(
        self,
        question: str,
        part: Slice,
        spec: Callable[[], ScanSpec],
        run: Callable[[bytes | None, int | None, Damage], Iterator[T]],
        columns: Columns,
        *,
        url_of: Callable[[T], str] = attrgetter("url"),
        notes: Callable[[ScanSpec], Sequence[str]] = lambda _: (),
        cells: Cells | None = None,
    ) -> Results[T]:
        """Return the answer to *question* whose results have a URL each; the other arguments are as in `Slice.of`."""

        def place(result: T) -> bytes:
            return self.place_of(url_of(result), part.order)

        def explain() -> Explanation:
            read = spec()
            return self.explained(question, part.order, read, *notes(read))

        return part.of(question, run, place, explain, self._frame.damage, columns, cells, self.meant)


class Pass(ScopeRows):
    """The pages of a scope, once each, for a question that cannot answer before it has seen all of them."""

    def all(self, damage: Damage) -> Iterator[Page]:
        """Yield the pages, without their bodies."""
        return self.pages(self._whole(), "storage", None, damage)

    def stored(self, wanted: Wanted) -> Iterator[Row]:
        """Yield the rows of the pages, with what is *wanted* of them."""
        return in_storage_order(self._frame.store, replace(self._whole(), wanted=wanted), None)

    def by_url(self, url: str) -> bytes:
        """Return the place of *url* in the order of URLs; `url_at` is the inverse."""
        return self.place_of(url, "url")

    def sorted_answer(
        self,
        listing: Listing,
        question: str,
        part: Slice,
        run: Callable[[bytes | None, int | None, Damage], Iterator[T]],
        place: Callable[[T], bytes],
        *notes: str,
    ) -> Results[T]:
        """Return the answer to *question*, which *listing* declares; the other arguments are as in `Slice.of`."""

        def explain() -> Explanation:
            note = "all pages are read for any part of the answer, and what is found is sorted on disk"
            return replace(self.explained(question, "storage", self._whole(), note, *notes), order=part.order)

        return part.of(question, run, place, explain, self._frame.damage, listing.columns, meant=self.meant)

    def _whole(self) -> ScanSpec:
        return self.in_one_range(self.spec())


def url_at(place: bytes) -> str:
    """Return the URL at *place* in the order of URLs."""
    return PLAIN_KEY.url_of(place)

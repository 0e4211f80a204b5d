"""What all questions have at hand: the table, its codec and reader, its indexes, and how a scan becomes pages."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypedDict

from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.codec import column_names
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.read_ahead import read_ahead
from webtable.repository.refreshed import CountedReader, Refreshed
from webtable.repository.results import Explanation, Pages, Results, check_order, position_of
from webtable.repository.scan import ScanSpec, in_key_order, in_storage_order
from webtable.rowkey import KeyRange, Salt, WebKey, canonical_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.damage import Damage
    from webtable.repository.frame import Frame
    from webtable.repository.indexes.index import Index
    from webtable.schema import Layout
    from webtable.store import Row

PLAIN_KEY = WebKey(Salt.none())
"""The row keys without a salt: what the pages of an index are ordered by."""


PLACES_REMEMBERED = 1_000
"""Of how many pages that an answer gave last it is known where they were found."""


class Asking(TypedDict, total=False):
    """What every question by an index takes.

    `domain` leaves out the pages that are not of that domain or of a host below it. `columns` may name `html`,
    `outlinks` and `link_counts`; the other columns always come. At most `limit` pages come, in the `order`, behind the
    place of the token `after`.
    """

    domain: str | None
    columns: Sequence[str] | None
    limit: int | None
    after: str | None
    order: str | None


class Asked:
    """A web table as its questions see it."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.store = frame.store
        self.table = frame.table
        self.key = frame.key
        self.strict = frame.strict
        """Whether a question raises the first `DamagedRow` that it meets, in place of leaving such rows out."""
        self.indexes = frame.indexes
        self.metrics = frame.metrics
        """How many index entries were read, and how many of them dropped, as in `time.read` and `time.dropped`.

        `damaged` counts the rows that answers have left out because they cannot be read.
        """
        self._codec = frame.codec
        self.refreshed = Refreshed(frame.store, frame.table)
        self._reader = CountedReader(frame.store, frame.table, frame.codec, self.refreshed)
        # What an index has of a page is made of what is stored of it.
        self._entries = EntryReader(frame)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._frame.name

    @property
    def layout(self) -> Layout:
        """How keys, columns and bodies are made, and what is kept for how long, as it was known last."""
        return self._frame.layout

    def _damage(self, rows: list[DamagedRow] | None = None) -> Damage:
        return self._frame.damage(rows)

    def _scan(self, spec: ScanSpec, order: str, after: bytes | None, damage: Damage) -> Iterator[Page]:
        """Yield the pages of *spec*; where it has a limit, so many of them that can be read."""
        page_of = self._page_of(spec)
        if spec.limit is None:
            with closing(read_ahead(self._rows(spec, order, after), page_of, damage)) as pages:
                yield from pages
            return
        left = spec.limit
        while left:
            rows = _Counted(self._rows(replace(spec, limit=left), order, after))
            given = 0
            with closing(read_ahead(iter(rows), page_of, damage)) as pages:
                for given, page in enumerate(pages, 1):  # noqa: B007 - it is what is left of the loop
                    yield page
            if rows.count < left:
                return
            # Rows that cannot be read, and those that are no pages, count for the store.
            left -= given
            after = rows.last.key if order == "storage" else self.key.unsalted(rows.last.key)

    def _page_of(self, spec: ScanSpec) -> Callable[[Row], Page | None]:
        """Return what makes the page of a row of *spec*, with its counts of links where they are among the columns."""
        if self._codec.columns.links not in (spec.wanted.columns or ()):
            return self._reader.page

        def page_of(row: Row) -> Page | None:
            page = self._reader.page(row)
            return page and self.refreshed.counted(page, ("link_counts",))

        return page_of

    def _rows(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        if order == "storage":
            return in_storage_order(self.store, spec, after)
        spec = replace(spec, weight=self._codec.weight(spec.wanted.columns or ()))
        return in_key_order(self.store, spec, self.key.unsalted, [self._codec.columns.page], after)

    def _explain_scan(self, question: str, order: str, spec: ScanSpec, notes: Sequence[str] = ()) -> Explanation:
        each = order != "storage" and len(spec.ranges) > 1
        calls = self.store.describe_calls(spec.table, spec.ranges, each=each)
        columns = spec.wanted.columns or ()
        if each and len(columns) > 1:
            calls = [*calls, "read: bodies and links of the merged rows, 64 rows a call"]
        names = tuple(column.decode() for column in columns)
        return Explanation(question, order, names, tuple(spec.ranges), tuple(calls), notes=tuple(notes))

    def _place(self, url: str, order: str) -> bytes:
        row = self.key.encode(url)
        return row if order == "storage" else self.key.unsalted(row)

    def _by_index(
        self,
        question: str,
        index: Index,
        places: Callable[[], Sequence[KeyRange]],
        orders: dict[str, bool],
        *,
        shard_of: Callable[[], bytes] | None = None,
        notes: Callable[[], Sequence[str]] | None = None,
        only: Callable[[Page], bool] | None = None,
        within: bool = False,
        order: str | None = None,
        domain: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Pages:
        """Return the pages that *index* has in *places*, which are asked for when the question is.

        *orders* are the orders that there are, the first by default, and whether each is backwards; "storage" always is
        one. Pages that are not *only* what is wanted are left out. *within* says that the places are
        those of the domain already.
        """
        order = order or next(iter(orders))
        check_order(order, [*orders, "storage"], limit)
        self._codec.select(columns)
        keep = None
        if domain is not None:
            host = canonical_host(domain)
            question = f"{question} of {host} and below"
            (inside,) = PLAIN_KEY.subtree_ranges(host)
            keep = inside.__contains__
        behind = position_of(after, question, order)
        storage = order == "storage"

        def lookup() -> Lookup:
            table = self.indexes.ready(index.name, question).table
            shard = shard_of() if shard_of is not None else None
            return Lookup(index, table, places(), shard, orders.get(order, False), keep)

        # Where the last pages were found: one that changes meanwhile has another place by now.
        places_given: dict[str, bytes] = {}

        def run(behind: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Page]:
            if at_most == 0:
                return
            names = column_names(columns)
            found = self._entries.pages(lookup(), names, damage, behind, at_most, storage=storage)
            chosen = found if only is None else ((place, page) for place, page in found if only(page))
            for place, page in islice(chosen, at_most):
                places_given[page.url] = place
                if len(places_given) > PLACES_REMEMBERED:
                    del places_given[next(iter(places_given))]
                yield self.refreshed.counted(page, names)

        def place(page: Page) -> bytes:
            found = places_given.get(page.url) or self._place_in(lookup(), page, storage=storage)
            if found is None:
                raise InvalidArgument(f"{page.url[:200]} is none of the {question}")
            return found

        def explain() -> Explanation:
            asked = lookup()
            ranges = asked.ranges()
            each = not storage and len(ranges) > 1
            calls = self.store.describe_calls(asked.table, ranges, each=each, reverse=asked.reverse)
            names = tuple(column.decode() for column in self._codec.select((*column_names(columns), *index.columns)))
            said = ["each entry is checked against its page: a read of the main table for 256 of them"]
            if keep is not None and not within:
                said.append(f"entries outside of {domain} are read and left out")
            said += notes() if notes is not None else []
            return Explanation(question, order, names, tuple(ranges), tuple(calls), index.name, tuple(said))

        return Results(question, order, limit, behind, run, place, explain, self._damage)

    def _place_in(self, lookup: Lookup, page: Page, *, storage: bool) -> bytes | None:
        """Return where *page*, which an answer gave, stands in the entries of *lookup*."""
        row = self.key.encode(page.url)
        if lookup.index.columns:
            # It was given with a count that is stored nowhere, if nobody links to it.
            page = self._frame.pages.read([row], lookup.index.columns)[0] or page
        return lookup.place(page, self.key.unsalted(row), storage=storage)


class _Counted:
    """Rows as they are taken: how many they were, and the last one."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0
        self.last: Row

    def __iter__(self) -> Iterator[Row]:
        for self.count, self.last in enumerate(self._rows, 1):  # noqa: B020 - so they are at hand in between
            yield self.last

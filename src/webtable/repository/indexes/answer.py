"""The pages at some places of an index, as a lazy answer: the basis of all questions to an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from webtable.errors import InvalidArgument
from webtable.page.page import Page
from webtable.repository.answers.columns import PAGES, Columns, column_names, fields_of, pages_with
from webtable.repository.answers.results import Explanation, Question, Window
from webtable.repository.hosts.entries import site_meant
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.reading.scope import Scope
from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.errors import DamagedRow
    from webtable.repository.answers.columns import Columns
    from webtable.repository.context import TableContext
    from webtable.repository.indexes.index import Index
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Site

PLACES_REMEMBERED = 1_000
"""For how many pages that it returned last an answer remembers where it found them."""


class PageOptions(TypedDict, total=False):
    """The options of every question that an index answers with pages.

    `columns` names those of tables and frames; `body` (also for `text`), `outlinks` and `link_counts` are read only if
    they are named, and pages always have their other fields. At most `limit` pages are returned, in this `order`, after
    the place of the page token `after`.
    """

    columns: Sequence[str] | None
    limit: int | None
    after: str | None
    order: str | None


class SitePageOptions(PageOptions, total=False):
    """The same options, and the `site` whose pages are wanted."""

    site: Site | None


class IndexQuestion(Question[Page]):
    """A question to an *index* for the pages in some *places*, a function that is called when the answer is read.

    *orders* are the possible orders, the default first, and whether each is backwards; "storage" is always possible.
    If there is only one shard, *shard_of* returns what it is hashed from. Pages that fail the test *only* are left
    out. With *is_counted* the pages always have their counts of links, requested or not. *is_by_url*: there is a
    single place, whose pages are in the order of their URLs. Raises `InvalidArgument`.
    """

    def __init__(
        self,
        context: TableContext,
        options: SitePageOptions,
        *,
        title: str,
        index: Index,
        places: Callable[[], Sequence[KeyRange]],
        orders: dict[str, bool],
        shard_of: Callable[[], bytes] | None = None,
        only: Callable[[Page], bool] | None = None,
        notes: Callable[[], Sequence[str]] = tuple,
        columns: Columns = PAGES,
        is_counted: bool = False,
        is_by_url: bool = False,
    ) -> None:
        order = options.get("order") or next(iter(orders))
        self.window: Window = Window(order, options.get("limit"), options.get("after"))
        self.window.check(*orders, "storage")
        names = column_names(options.get("columns"))
        context.codec.select(names)
        self.columns: Columns = pages_with(names, columns, is_counted=is_counted)
        fields = fields_of(names)
        self._fields = (*fields, "link_counts") if is_counted else fields
        self._scope = Scope.of(options.get("site"))
        self.title: str = title if self._scope.place is None else f"{title} among the {self._scope}"
        self._context, self._index, self._places, self._shard_of = context, index, places, shard_of
        self._is_reversed, self._is_storage = orders.get(order, False), order == "storage"
        self._only, self._notes, self._is_by_url = only, notes, is_by_url
        # A page that has changed since it was returned has another place now.
        self._returned: dict[str, bytes] = {}

    def damage(self, rows: list[DamagedRow]) -> Damage:
        return self._context.damage(rows)

    def suggestion(self) -> str:
        return site_meant(self._context, self._scope)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        names, only = self._fields, self._only
        entries = EntryReader(self._context)
        pages = entries.pages(self._lookup(), names, damage, after, expected, storage=self._is_storage)
        for place, page in pages if only is None else ((place, page) for place, page in pages if only(page)):
            self._returned[page.url] = place
            if len(self._returned) > PLACES_REMEMBERED:
                del self._returned[next(iter(self._returned))]
            yield self._context.refreshed.counted(page, names)

    def place(self, result: Page) -> bytes:
        place = self._returned.get(result.url) or self._place_in(self._lookup(), result)
        if place is None:
            raise InvalidArgument(f"{result.url[:200]} is not one of the {self.title}")
        return place

    def explain(self) -> Explanation:
        lookup = self._lookup()
        columns = self._context.codec.select((*self._fields, *self._index.columns))
        notes = ["each entry is checked against its page: a read of the main table for 256 of them"]
        if self._scope.place is not None and not self._is_by_url:
            notes.append(f"entries of other pages than the {self._scope} are read and skipped")
        return Explanation(
            self.title,
            self.window.order,
            tuple(column.decode() for column in columns),
            tuple(lookup.ranges()),
            self._index.name,
            (*notes, *self._notes()),
        )

    def _lookup(self) -> Lookup:
        table = self._context.indexes.ready(self._index.name, self.title).table
        shard = self._shard_of() if self._shard_of is not None else None
        places = self._places()
        if self._scope.place is not None and self._is_by_url:
            # The pages of a site are a range of them.
            inside = self._scope.unsalted()
            places = [KeyRange(keys.start + inside.start, keys.start + inside.stop) for keys in places]
        part = self._context.keys_of(table)
        return Lookup(self._index, table, places, shard, self._is_reversed, self._scope.contains(), part)

    def _place_in(self, lookup: Lookup, page: Page) -> bytes | None:
        """Return the place of *page*, which an answer returned, among the entries of *lookup*."""
        row = self._context.key.encode(page.url)
        if lookup.index.columns:
            # If nobody links to it, it was returned with a count that is not stored.
            page = self._context.pages.read([row], lookup.index.columns)[0] or page
        return lookup.place(page, self._context.key.unsalted(row), storage=self._is_storage)

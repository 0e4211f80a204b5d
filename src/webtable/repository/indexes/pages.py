"""The pages at some places of an index, as a lazy answer: the basis of all questions to an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from webtable.errors import InvalidArgument
from webtable.page.page import Page
from webtable.repository.answers.columns import Columns, column_names, fields_of, pages_with
from webtable.repository.answers.results import Explanation, Window
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.questions.pages import TableQuestion
from webtable.repository.reading.scope import Scope
from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.answers.listing import Listing
    from webtable.repository.context import TableContext
    from webtable.repository.indexes.index import Index
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Site
    from webtable.url_filter import URLFilter

PLACES_REMEMBERED = 1_000
"""For how many pages that it returned last an answer remembers where it found them."""


class PageOptions(TypedDict, total=False):
    """The options of every question that an index answers with pages.

    `columns` names those of tables and frames; `body` (also for `text`), `outlinks` and `link_counts` are read only if
    they are named, and pages always have their other fields. At most `limit` pages are returned, in this `order`, after
    the place of the page token `after`, whose URLs the filter `urls` allows.
    """

    columns: Sequence[str] | None
    urls: URLFilter | None
    limit: int | None
    after: str | None
    order: str | None


class SitePageOptions(PageOptions, total=False):
    """The same options, and the `site` whose pages are wanted."""

    site: Site | None


class IndexQuestion(TableQuestion[Page]):
    """A question for the pages in some *places* of an *index*; raises `InvalidArgument`.

    *listing* declares its orders, of which the one called *backwards* has the last entry first, its columns, and
    whether pages have their counts of links, requested or not. *places* is called when the answer is read, as is
    *shard_of*, for a question to a single shard: it returns what that is hashed from. Pages that fail the test *only*
    are left out.
    """

    def __init__(
        self,
        context: TableContext,
        options: SitePageOptions,
        listing: Listing,
        *,
        title: str,
        index: Index,
        places: Callable[[], Sequence[KeyRange]],
        backwards: str = "",
        shard_of: Callable[[], bytes] | None = None,
        only: Callable[[Page], bool] | None = None,
        notes: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.listing: Listing = listing
        order = options.get("order") or listing.orders[0]
        scope = Scope.of(options.get("site"))
        window = Window(order, options.get("limit"), options.get("after"), options.get("urls"))
        super().__init__(context, scope, window)
        names = column_names(options.get("columns"))
        context.codec.select(names)
        self.columns: Columns = pages_with(names, listing.columns, is_counted=listing.has_counts)
        self._fields = (*fields_of(names), *(["link_counts"] if listing.has_counts else ()))
        self.title: str = title if scope.place is None else f"{title} among the {scope}"
        self._index, self._places, self._shard_of, self._only, self._notes = index, places, shard_of, only, notes
        self._is_reversed, self._is_storage = order == backwards, order == "storage"
        # One place, whose pages are in the order of their URLs: then those of a site are a range of its entries.
        self._is_by_url = listing.orders[0] == "url"
        # A page that has changed since it was returned has another place now.
        self._returned: dict[str, bytes] = {}

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        context, names = self.context, self._fields
        pages = EntryReader(context).pages(self._lookup(), names, damage, after, expected, storage=self._is_storage)
        for place, page in pages:
            if self._only is not None and not self._only(page):
                continue
            self._returned[page.url] = place
            if len(self._returned) > PLACES_REMEMBERED:
                del self._returned[next(iter(self._returned))]
            yield context.refreshed.counted(page, names)

    def place(self, result: Page) -> bytes:
        place = self._returned.get(result.url) or self._place_now(result)
        if place is None:
            raise InvalidArgument(f"{result.url[:200]} is not one of the {self.title}")
        return place

    def explain(self) -> Explanation:
        columns = self.context.codec.select((*self._fields, *self._index.columns))
        notes = ["each entry is checked against its page: a read of the main table for 256 of them"]
        if self.scope.place is not None and not self._is_by_url:
            notes.append(f"entries of other pages than the {self.scope} are read and skipped")
        return self.plan(columns, self._lookup().ranges(), *notes, *self._notes(), index=self._index.name)

    def _lookup(self) -> Lookup:
        table = self.context.indexes.ready(self._index.name, self.title).table
        shard = self._shard_of() if self._shard_of is not None else None
        places = self._places()
        if self.scope.place is not None and self._is_by_url:
            inside = self.scope.unsalted()
            places = [KeyRange(keys.start + inside.start, keys.start + inside.stop) for keys in places]
        part = self.context.keys_of(table)
        return Lookup(self._index, table, places, shard, self._is_reversed, self.scope.contains(), part)

    def _place_now(self, page: Page) -> bytes | None:
        """Return the place of *page*, which the answer returned, as the page is now."""
        row = self.context.key.encode(page.url)
        if self._index.columns:
            # If nobody links to it, it was returned with a count that is not stored.
            page = self.context.pages.read([row], self._index.columns)[0] or page
        return self._lookup().place(page, self.context.key.unsalted(row), storage=self._is_storage)

"""The pages at some places of an index, as a lazy answer: the basis of all questions to an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from webtable._page.page import Page
from webtable.errors import InvalidArgument
from webtable.repository.answers.columns import Columns
from webtable.repository.answers.explanation import Explanation
from webtable.repository.answers.page_columns import PAGES, pages_with
from webtable.repository.answers.results import Slice
from webtable.repository.indexes.index import Index
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.questions.similar_hosts import site_meant
from webtable.repository.scanning.scope import Scope
from webtable.repository.stored.named_columns import column_names, fields_of
from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.answers.results import Pages
    from webtable.repository.frame import Frame
    from webtable.repository.scanning.damage import Damage
    from webtable.repository.scanning.site import Site

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


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuestion:
    """A question to an index for the pages in some `places`, a function that is called when the answer is read.

    `orders` are the possible orders, the default first, and whether each is backwards; "storage" is always possible.
    If there is only one shard, `shard_of` returns what it is hashed from. Pages that fail the test `only` are left
    out.
    """

    said: str
    index: Index
    places: Callable[[], Sequence[KeyRange]]
    orders: dict[str, bool]
    shard_of: Callable[[], bytes] | None = None
    only: Callable[[Page], bool] | None = None
    notes: Callable[[], Sequence[str]] | None = None
    columns: Columns = PAGES
    is_counted: bool = False
    """Whether the pages always have their counts of links, asked for or not."""
    is_by_url: bool = False
    """Whether there is a single place, whose pages are in the order of their URLs."""


class IndexAnswer:
    """The answer to a question to an index: what is read, where it continues, and how it is explained."""

    def __init__(self, frame: Frame, asked: IndexQuestion, options: SitePageOptions) -> None:
        self._frame = frame
        self._asked = asked
        self._part = Slice(options.get("order") or next(iter(asked.orders)), options.get("limit"), options.get("after"))
        self._part.check(*asked.orders, "storage")
        named = column_names(options.get("columns"))
        frame.codec.select(named)
        self._record_columns = pages_with(named, asked.columns, is_counted=asked.is_counted)
        fields = fields_of(named)
        self._columns = (*fields, "link_counts") if asked.is_counted else fields
        self._scope = Scope.of(options.get("site"))
        self._question = asked.said if self._scope.place is None else f"{asked.said} among the {self._scope}"
        # A page that has changed since it was returned has another place now.
        self._given: dict[str, bytes] = {}

    def pages(self) -> Pages:
        """Return the answer."""
        frame, columns = self._frame, self._record_columns
        return self._part.of(
            self._question,
            self._run,
            self._place,
            self._explain,
            frame.damage,
            columns,
            meant=self._meant,
        )

    def _meant(self) -> str:
        return site_meant(self._frame, self._scope)

    @property
    def _is_storage(self) -> bool:
        return self._part.order == "storage"

    def _lookup(self) -> Lookup:
        asked, scope = self._asked, self._scope
        table = self._frame.indexes.ready(asked.index.name, self._question).table
        shard = asked.shard_of() if asked.shard_of is not None else None
        places = asked.places()
        if scope.place is not None and asked.is_by_url:
            # The pages of a site are a range of them.
            inside = scope.unsalted()
            places = [KeyRange(keys.start + inside.start, keys.start + inside.stop) for keys in places]
        is_reversed = asked.orders.get(self._part.order, False)
        part = self._frame.keys_of(table)
        return Lookup(asked.index, table, places, shard, is_reversed, scope.contains(), part)

    def _run(self, after: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Page]:
        names, only = self._columns, self._asked.only
        entries = EntryReader(self._frame)
        found = entries.pages(self._lookup(), names, damage, after, at_most, storage=self._is_storage)
        chosen = found if only is None else ((place, page) for place, page in found if only(page))
        for place, page in chosen:
            self._given[page.url] = place
            if len(self._given) > PLACES_REMEMBERED:
                del self._given[next(iter(self._given))]
            yield self._frame.refreshed.counted(page, names)

    def _place(self, page: Page) -> bytes:
        found = self._given.get(page.url) or self._place_in(self._lookup(), page)
        if found is None:
            raise InvalidArgument(f"{page.url[:200]} is not one of the {self._question}")
        return found

    def _place_in(self, lookup: Lookup, page: Page) -> bytes | None:
        """Return the place of *page*, which an answer returned, among the entries of *lookup*."""
        row = self._frame.key.encode(page.url)
        if lookup.index.columns:
            # If nobody links to it, it was returned with a count that is not stored.
            page = self._frame.pages.read([row], lookup.index.columns)[0] or page
        return lookup.place(page, self._frame.key.unsalted(row), storage=self._is_storage)

    def _explain(self) -> Explanation:
        asked, lookup = self._asked, self._lookup()
        ranges = lookup.ranges()
        each = not self._is_storage and len(ranges) > 1
        calls = self._frame.store.describe_calls(lookup.table, ranges, each=each, reverse=lookup.reverse)
        columns = self._frame.codec.select((*self._columns, *asked.index.columns))
        notes = ["each entry is checked against its page: a read of the main table for 256 of them"]
        if self._scope.place is not None and not asked.is_by_url:
            notes.append(f"entries of other pages than the {self._scope} are read and skipped")
        notes += asked.notes() if asked.notes is not None else []
        return Explanation(
            self._question,
            self._part.order,
            tuple(column.decode() for column in columns),
            tuple(ranges),
            tuple(calls),
            asked.index.name,
            tuple(notes),
        )

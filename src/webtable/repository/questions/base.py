"""What all questions have at hand: the table, its codec and reader, its indexes, and how a scan becomes pages."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, TypedDict

from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.codec import PageCodec, column_names
from webtable.repository.damage import Damage
from webtable.repository.indexes.lookup import EntryReader, Lookup, Position
from webtable.repository.indexes.states import Indexes
from webtable.repository.moments import moment_of, now_in_milliseconds
from webtable.repository.reader import PageReader
from webtable.repository.results import Explanation, Pages, Results, check_order, invalid_token, position_of
from webtable.repository.scan import ScanSpec, in_key_order, in_storage_order, read_ahead
from webtable.rowkey import KeyRange, Salt, WebKey, canonical_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.indexes.index import Index
    from webtable.schema import Layout
    from webtable.store import Row, Store

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

    def __init__(self, store: Store, table: str, layout: Layout, *, strict: bool = False) -> None:
        self.store = store
        self.table = table
        self.layout = layout
        self.key = layout.web_key()
        self.strict = strict
        """Whether a question raises the first `DamagedRow` that it meets, in place of leaving such rows out."""
        self.indexes = Indexes(store, table)
        self.metrics: Counter[str] = Counter()
        """How many index entries were read, and how many of them dropped, as in `time.read` and `time.dropped`.

        `damaged` counts the rows that answers have left out because they cannot be read.
        """
        self._codec = PageCodec(layout)
        self._reader = PageReader(store, table, self._codec)
        self._entries = EntryReader(store, table, self.key, self._reader, self.metrics)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    def _damage(self, rows: list[DamagedRow] | None = None) -> Damage:
        return Damage(self.metrics, [] if rows is None else rows, strict=self.strict)

    def _scan(self, spec: ScanSpec, order: str, after: bytes | None, damage: Damage) -> Iterator[Page]:
        """Yield the pages of *spec*; where it has a limit, so many of them that can be read."""
        if spec.limit is None:
            with closing(read_ahead(self._rows(spec, order, after), self._reader.page, damage)) as pages:
                yield from pages
            return
        left = spec.limit
        while left:
            rows = _Counted(self._rows(replace(spec, limit=left), order, after))
            given = 0
            with closing(read_ahead(iter(rows), self._reader.page, damage)) as pages:
                for given, page in enumerate(pages, 1):  # noqa: B007 - it is what is left of the loop
                    yield page
            if rows.count < left:
                return
            # Rows that cannot be read, and those that are no pages, count for the store.
            left -= given
            after = rows.last.key if order == "storage" else self.key.unsalted(rows.last.key)

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
        asked_at = [now_in_milliseconds()]

        def run(behind: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Page]:
            if at_most == 0:
                return
            after = None if behind is None else _position(behind)
            asked_at[0] = now_in_milliseconds()
            found = self._entries.pages(lookup(), column_names(columns), damage, after, at_most, storage=storage)
            chosen = found if only is None else ((place, page) for place, page in found if only(page))
            for place, page in islice(chosen, at_most):
                places_given[page.url] = place
                if len(places_given) > PLACES_REMEMBERED:
                    del places_given[next(iter(places_given))]
                yield page

        def place(page: Page) -> bytes:
            found = places_given.get(page.url)
            if found is None:
                key = self.key.unsalted(self.key.encode(page.url))
                found = lookup().place(page, key, storage=storage)
            if found is None:
                raise InvalidArgument(f"{page.url[:200]} is none of the {question}")
            return asked_at[0].to_bytes(8, "big") + found

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


class _Counted:
    """Rows as they are taken: how many they were, and the last one."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0
        self.last: Row

    def __iter__(self) -> Iterator[Row]:
        for self.count, self.last in enumerate(self._rows, 1):  # noqa: B020 - so they are at hand in between
            yield self.last


def _position(behind: bytes) -> Position:
    try:
        return Position(moment_of(int.from_bytes(behind[:8], "big")), behind[8:])
    except OverflowError as exc:
        raise invalid_token(behind) from exc


def check_times(**times: datetime | None) -> None:
    """Raise `InvalidArgument` for a moment without a timezone, or an `until` that is before `since`."""
    for name, moment in times.items():
        if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
            raise InvalidArgument(f"{name}={moment!r} must be a datetime with a timezone, as in datetime.now(UTC)")
    since, until = times.get("since"), times.get("until")
    if since is not None and until is not None and until < since:
        raise InvalidArgument(f"until={until} is before since={since}")


def check_numbers(**numbers: int | None) -> None:
    """Raise `InvalidArgument` for what is no whole number from 0 on."""
    for name, number in numbers.items():
        if number is not None and (type(number) is not int or number < 0):
            raise InvalidArgument(f"{name}={number!r} must be a whole number from 0 on")

"""The context of a web table: its store, name, keys, cells and indexes as one value, which all functions take."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from webtable.repository.indexes.states import Indexes
from webtable.repository.page_storage.cells import written
from webtable.repository.page_storage.codec import PageCodec
from webtable.repository.page_storage.layouts import Layouts, Limits, Refreshed
from webtable.repository.page_storage.reader import PageReader
from webtable.repository.reading.read_ahead import Damage
from webtable.rowkey import KeyRange, WebKey
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import Mutation, Row, Store, Wanted
from webtable.store.metrics import Counts, log_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.errors import DamagedRow
    from webtable.schema import Layout

LOGGER: Final = logging.getLogger("webtable.repository")


class TablePart(NamedTuple):
    """The rows of a table whose keys are in a range."""

    table: str
    keys: KeyRange


# One value in place of the ten arguments that each function would need.
class TableContext(msgspec.Struct, frozen=True):
    """A table of web pages: its place, the formats of its keys and cells, and its indexes.

    `pages` reads pages as they are stored; `counted` reads them for answers, with link counts of 0 for pages without
    inlinks, if links were counted since (`refreshed`). `counts` has the numbers of index entries that were read
    (`time.read`) and dropped (`time.dropped`), and of `damaged` rows; `events` those of log events. With `strict` the
    first row that cannot be read raises an error. With a `part` of its table, or of the table of an index, answers that
    are read from there have the results of these rows alone.
    """

    store: Store
    table: str
    layouts: Layouts
    key: WebKey
    codec: PageCodec
    pages: PageReader
    counted: PageReader
    refreshed: Refreshed
    indexes: Indexes
    strict: bool = False
    part: TablePart | None = None
    counts: Counts = msgspec.field(default_factory=Counts)
    events: Counts = msgspec.field(default_factory=Counts)

    @classmethod
    def of(
        cls, store: Store, table: str, layout: Layout, *, strict: bool = False, part: TablePart | None = None
    ) -> TableContext:
        """Return the context of the *table* in *store* with this *layout*."""
        layouts, codec = Layouts(store, table, layout), PageCodec(layout, store.capabilities.max_cell)
        refreshed, limits = Refreshed(store, table), Limits(store, table, codec, layouts)
        return cls(
            store,
            table,
            layouts,
            layout.web_key(),
            codec,
            # Two readers: one as pages are stored, which writers compare, one with the counts of links for answers.
            PageReader(store, table, codec, limits),
            PageReader(store, table, codec, limits, refreshed),
            refreshed,
            Indexes(store, table, layouts),
            strict,
            part,
        )

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    @property
    def layout(self) -> Layout:
        """The layout as it was last read; its time to live and versions may have been altered since."""
        return self.layouts.current

    def keys_of(self, table: str) -> KeyRange:
        """Return the keys of *table* that answers are about: all, unless the context has a part of that table."""
        return self.part.keys if self.part is not None and self.part.table == table else ALL_KEYS

    def read(self, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        """Return one entry for each of *rows* of the table, in their order; None where nothing is there."""
        return self.store.read(self.table, rows, wanted)

    def scan(
        self, wanted: Wanted, ranges: Sequence[KeyRange] | None = None, *, after: bytes = b"", limit: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of the table in these *ranges*, by default all of its part, those after the row *after*.

        They come as they are stored, in the order of their keys with the salts.
        """
        ranges = [self.keys_of(self.table)] if ranges is None else ranges
        rest = [keys.after(after) for keys in ranges] if after else ranges
        return self.store.scan(self.table, rest, wanted, limit=limit)

    def write(self, mutations: Sequence[Mutation]) -> None:
        """Write *mutations* to the table; raises the first error."""
        written(self.store, self.table, mutations)

    def pages_up_to(self, limit: int | None) -> int:
        """Return how many pages the table has, as far as *limit*; their keys alone are read."""
        wanted = Wanted([self.codec.columns.page], keys_only=True)
        return sum(1 for _ in self.scan(wanted, limit=limit))

    def log(
        self, level: int, event: str, text: str, seconds: float, reason: str = "", *, exc_info: bool = False
    ) -> None:
        """Count *event* of the table, and log it, with the traceback of the error that is handled if *exc_info*."""
        self.events(event)
        log_event(
            LOGGER,
            level,
            event,
            text,
            store=self.store.name,
            table=self.table,
            seconds=seconds,
            reason=reason,
            server=self.store.server,
            exc_info=exc_info,
        )

    def damage(self, rows: list[DamagedRow] | None = None) -> Damage:
        """Return a new collection of damaged rows, which are added to *rows* as well."""
        return Damage(self.counts, [] if rows is None else rows, strict=self.strict)

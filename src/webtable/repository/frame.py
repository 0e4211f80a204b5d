"""A web table as everything sees it that works on it: one value in place of many."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from webtable.repository.indexes.states import Indexes
from webtable.repository.scanning.damage import Damage
from webtable.repository.stored.codec import PageCodec
from webtable.repository.stored.layouts import Layouts, Limits, Refreshed
from webtable.repository.stored.page_state import NEWEST
from webtable.repository.stored.reader import PageReader
from webtable.rowkey import WebKey
from webtable.store import Store
from webtable.store.metrics import Tally, log_event

if TYPE_CHECKING:
    from webtable.errors import DamagedRow
    from webtable.schema import Layout

LOGGER: Final = logging.getLogger("webtable.repository")


@dataclass(frozen=True, slots=True)
class Frame:
    """A table of web pages: where it is, how its keys and cells are made, and which indexes it has.

    `pages` reads what is stored of pages; `counted` reads them as answers give them, with a count of no links where
    nobody links to them, which the mark `refreshed` tells. `counts` has the entries of indexes that were read
    (`time.read`) and dropped (`time.dropped`), and the rows that are `damaged`; `events` has what is logged. With
    `strict` the first row that cannot be read is raised.
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
    counts: Tally = field(default_factory=Tally)
    events: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, store: Store, table: str, layout: Layout, *, strict: bool = False) -> Frame:
        """Return the frame of the *table* in *store* that has this *layout*."""
        layouts, codec = Layouts(store, table, layout), PageCodec(layout, store.capabilities.max_cell)
        refreshed, limits = Refreshed(store, table), Limits(store, table, codec, layouts)
        return cls(
            store,
            table,
            layouts,
            layout.web_key(),
            codec,
            PageReader(store, table, codec, limits),
            PageReader(store, table, codec, limits, refreshed),
            refreshed,
            Indexes(store, table, layouts),
            strict,
        )

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    @property
    def layout(self) -> Layout:
        """The layout as it was known last: what is kept for how long may be altered meanwhile."""
        return self.layouts.known

    @property
    def versions_at_first(self) -> int:
        """How many versions of a page are read at first."""
        return min(self.layouts.known.versions, NEWEST)

    def log(self, level: int, event: str, text: str, seconds: float, reason: str = "") -> None:
        """Count *event* of the table, and log it."""
        self.events(event)
        log_event(LOGGER, level, event, text, store=self.store.name, table=self.table, seconds=seconds, reason=reason)

    def damage(self, rows: list[DamagedRow] | None = None) -> Damage:
        """Return what takes the rows that cannot be read, into *rows* as well."""
        return Damage(self.counts, [] if rows is None else rows, strict=self.strict)

"""A web table as everything sees it that works on it: one value in place of many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webtable.repository.codec import PageCodec
from webtable.repository.damage import Damage
from webtable.repository.indexes.states import Indexes
from webtable.repository.layouts import Layouts
from webtable.repository.reader import PageReader
from webtable.repository.refreshed import CountedReader, Refreshed
from webtable.rowkey import WebKey
from webtable.store import Store

if TYPE_CHECKING:
    from webtable.errors import DamagedRow
    from webtable.schema import Layout


@dataclass(frozen=True, slots=True)
class Frame:
    """A table of web pages: where it is, how its keys and cells are made, and which indexes it has.

    `pages` reads what is stored of pages; `counted` reads them as answers give them, with a count of no links where
    nobody links to them, which the mark `refreshed` tells. `metrics` counts what was read in vain and
    what cannot be read, as `WebTable.metrics` says. With `strict` the first row that cannot be read is raised.
    """

    store: Store
    table: str
    layouts: Layouts
    key: WebKey
    codec: PageCodec
    pages: PageReader
    counted: CountedReader
    refreshed: Refreshed
    indexes: Indexes
    strict: bool = False
    metrics: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, store: Store, table: str, layout: Layout, *, strict: bool = False) -> Frame:
        """Return the frame of the *table* in *store* that has this *layout*."""
        layouts, codec = Layouts(store, table, layout), PageCodec(layout)
        refreshed = Refreshed(store, table)
        return cls(
            store,
            table,
            layouts,
            layout.web_key(),
            codec,
            PageReader(store, table, codec),
            CountedReader(store, table, codec, refreshed),
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

    def damage(self, rows: list[DamagedRow] | None = None) -> Damage:
        """Return what takes the rows that cannot be read, into *rows* as well."""
        return Damage(self.metrics, [] if rows is None else rows, strict=self.strict)

"""The table that is looked at, as all checks of it take it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from webtable.repository.creation.web import StoredWebTable
from webtable.repository.frame import Frame
from webtable.repository.table import WebTable
from webtable.store import Store
from webtable.store.deadline import Deadline


@dataclass(frozen=True)
class Patient:
    """A web table in its *store*, what is *stored* of it, and the *time* in which all is to be looked at."""

    store: Store
    table: str
    stored: StoredWebTable
    time: Deadline

    @cached_property
    def frame(self) -> Frame:
        """What questions go by."""
        return Frame.of(self.store, self.table, self.stored.layout)

    @cached_property
    def web_table(self) -> WebTable:
        """What callers hold; it is not closed, as that would close the store."""
        return WebTable(self.store, self.table, self.stored.layout)

    @cached_property
    def missing(self) -> frozenset[str]:
        """The names of the tables that belong to it and are not there."""
        return frozenset(schema.name for schema in self.stored.missing())

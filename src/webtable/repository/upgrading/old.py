"""A table that may be old, as all that looks at it takes it, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webtable.repository.arguments import Progress
from webtable.repository.creation.web import StoredWebTable
from webtable.repository.frame import Frame

if TYPE_CHECKING:
    from webtable.store import Store


@dataclass(frozen=True, slots=True)
class Outdated:
    """What of a table is older than in a new one: `what` it is of, what was `found`, and the `remedy`."""

    what: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.found}: {self.remedy}"


class Step(NamedTuple):
    """What is remedied in place, by `do`."""

    outdated: Outdated
    do: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Old:
    """A web table as it is *stored*, and as everything sees it that works on it."""

    stored: StoredWebTable
    frame: Frame
    on_progress: Progress | None

    @property
    def store(self) -> Store:
        """The store that the table is in."""
        return self.stored.store

    @property
    def has_no_pages(self) -> bool:
        """Whether the very table of the pages is missing."""
        return any(schema.name == self.table for schema in self.stored.missing())

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.stored.table

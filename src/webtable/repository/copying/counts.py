"""The counts of a copy: pages, versions and bytes written, and rows that were skipped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from webtable.errors import DamagedRow, HiddenByDelete, SchemaError, StoreUnavailable, WebTableError
from webtable.repository.reading.damage import MOST_KEPT


@dataclass(frozen=True, slots=True)
class Copied:
    """The progress, or the result, of `TableMaintenance.copy`.

    `pages` were written, with `versions` and `bytes` of bodies and links, as they are stored. `unchanged` pages were in
    the target already; `deleted` is the number of deletes that were repeated there. For the `merged` ones of the pages
    the target had other captures, which it keeps. `inlinks` is the number of inlinks that were written.

    `damaged` counts rows of the source with content that cannot be read and was skipped; `examples` has the first 100.
    The target has deleted `hidden` pages after they were fetched, and did not store `failed` pages; `errors` has the
    first 100 reasons. If it `resumed`, this call did not compare the pages that the interrupted one had copied already.
    """

    pages: int = 0
    versions: int = 0
    bytes: int = 0
    unchanged: int = 0
    deleted: int = 0
    merged: int = 0
    inlinks: int = 0
    damaged: int = 0
    hidden: int = 0
    failed: int = 0
    examples: tuple[DamagedRow, ...] = ()
    errors: tuple[WebTableError, ...] = ()
    resumed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing was skipped."""
        return not (self.damaged or self.hidden or self.failed)

    @property
    def looked_at(self) -> int:
        """How many pages were compared."""
        return self.pages + self.unchanged + self.hidden + self.failed


class Counts:
    """The counts of a running copy."""

    def __init__(self) -> None:
        self.resumed = False
        self._counts = Counter[str]()
        self._examples: list[DamagedRow] = []
        self._errors: list[WebTableError] = []

    def add(self, **counts: int) -> None:
        """Add *counts*, which have the names of the fields of `Copied`."""
        self._counts.update(counts)

    def add_part(self, part: Counts) -> None:
        """Add the counts of a *part* of the rows."""
        self._counts.update(part._counts)
        self._examples += part._examples[: MOST_KEPT - len(self._examples)]
        self._errors += part._errors[: MOST_KEPT - len(self._errors)]

    def add_damaged(self, error: DamagedRow) -> None:
        """Count a row of the source that cannot be read."""
        self.add(damaged=1)
        if len(self._examples) < MOST_KEPT:
            self._examples.append(error)

    def add_failed(self, error: WebTableError) -> None:
        """Count a page that was not stored; raises *error* if no other page could be stored either."""
        if isinstance(error, StoreUnavailable | SchemaError):
            raise error
        if isinstance(error, HiddenByDelete):
            self.add(hidden=1)
        else:
            self.add(failed=1)
        if len(self._errors) < MOST_KEPT:
            self._errors.append(error)

    def copied(self) -> Copied:
        """Return the present counts."""
        return Copied(**self._counts, examples=tuple(self._examples), errors=tuple(self._errors), resumed=self.resumed)

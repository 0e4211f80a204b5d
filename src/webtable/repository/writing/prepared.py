"""A batch of pages that is prepared: what is to be written, and what became of each page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_outcome

from webtable._page.page import Page, PageOutcome
from webtable.errors import WebTableError
from webtable.repository.hints.upkeep import Upkeep
from webtable.repository.stored.page_state import Stored
from webtable.repository.writing.page_puts import PagePut
from webtable.repository.writing.plan import Plan
from webtable.repository.writing.version_limits import Drop


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that only has to be sent: its rows and pages, what is to be put of them, and the upkeep.

    `unwritable` says, by their places, which pages have no cells, and why. `rest` is what of the batch is yet to be
    prepared.
    """

    rows: list[bytes]
    pages: list[Page]
    plan: Plan
    puts: list[PagePut]
    unwritable: Mapping[int, WebTableError]
    upkeep: Upkeep
    rest: Sequence[tuple[bytes, Page]]
    stored: Mapping[bytes, Stored]
    """What was stored of the pages when it was decided what becomes of them, by their rows."""
    dropped: Mapping[int, Drop] = field(default_factory=dict)
    """What the table's limit of versions drops for pages, by their places."""
    since: int | None = None
    """The last transaction that had ended when the rows were read, where it may be prepared again."""
    is_again: bool = False
    """Whether some of it may be written already, and not read after that."""

    def errors(self, before_pages: Mapping[int, WebTableError]) -> dict[int, WebTableError]:
        """Return, by their places, why pages are not to be put, with those that have failed *before_pages*.

        A capture rests on those of its page before it in the batch: all of them are stored, or none here.
        """
        failed = {**self.unwritable, **before_pages}
        rows = {self.rows[index]: error for index, error in failed.items()}
        others = {one.index: rows[one.row] for one in self.plan.writes if one.row in rows}
        return {**others, **failed, **self.plan.refused}

    def outcomes(self, errors: Mapping[int, WebTableError]) -> list[PageOutcome]:
        """Return what became of each page, in their order; *errors* are by their places."""
        pages = self.pages
        new = {one.index for one in self.plan.writes if one.write.page.changed_at == pages[one.index].fetched_at}
        outcomes = [
            PageOutcome(page.url, page.fetched_at, errors.get(index), is_new=index in new)
            for index, page in enumerate(pages)
        ]
        for index, drop in self.dropped.items():
            outcomes[index] = replace_outcome(outcomes[index], **drop._asdict())
        return outcomes

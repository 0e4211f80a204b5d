"""A batch of pages, written: read what is stored, decide, compress, put."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import clock
from webtable._page.page import Page, PageOutcome, memory_of
from webtable.errors import ExpiredCapture, InvalidArgument, WebTableError
from webtable.repository.hints.upkeep import Keeper
from webtable.repository.writing.capture_checks import checked
from webtable.repository.writing.crossings import (
    Crossing,
    OwnTransactions,
    PageGone,
    crossed_earlier,
    crossings,
    settled,
)
from webtable.repository.writing.packing import Visited, Visits
from webtable.repository.writing.page_puts import PagePut, PagePuts
from webtable.repository.writing.plan import Planner, stored_of
from webtable.repository.writing.prepared import Prepared
from webtable.repository.writing.repeats import Repeats
from webtable.repository.writing.version_limits import dropped
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.frame import Frame

ENTRY_BYTES = 4_000
LINK_BYTES = 450
"""What a page, and each of its links, costs in memory while it is written, beside what it is: cells, entries, rows.

Measured with tracemalloc, as the mean over the buffer, a batch that is prepared and one that is stored, with the seven
indexes on SQLite.
"""
CONTENT_BYTES = 8 * 2**20
"""How many bytes of stored bodies are read at once where captures repeat them."""


class BatchWriter:
    """Writes batches of pages to one table; of one page several captures, each later than the one before it.

    May be used by many threads at once, for batches that have no rows in common.
    """

    def __init__(self, frame: Frame, max_body: int | None) -> None:
        if max_body is not None and (not isinstance(max_body, int) or max_body < 1):
            raise InvalidArgument(f"max_body={max_body!r} must be a number of bytes above 0")
        self._frame = frame
        self._keeper = Keeper(frame)
        self._repeats = Repeats(frame)
        self._puts = PagePuts(frame, self._repeats)
        self._visits = Visits(frame, max_body)
        self._transactions = OwnTransactions()

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._frame.name

    def tell(self, level: int, event: str, text: str, seconds: float, reason: str = "") -> None:
        """Count *event* of the table, and log it."""
        self._frame.tell(level, event, text, seconds, reason)

    def close(self) -> None:
        """Stop the threads."""
        self._visits.close()
        self._keeper.close()

    def memory_of(self, page: Page) -> int:
        """Return about how many bytes *page* takes until it is stored, with what is written for it and its links."""
        return memory_of(page) + ENTRY_BYTES + LINK_BYTES * len(page.outlinks or ())

    def keyed(self, page: Page) -> tuple[bytes, Page]:
        """Return the row key of *page*, and the page under its canonical URL; raises `InvalidURL`."""
        url = canonical_url(page.url)
        return self._frame.key.encode(url), page if url == page.url else replace(page, url=url)

    def checked(self, page: Page) -> Page:
        """Return *page* as it can be stored; raises as `admission.checked` does.

        The time to live may have been raised since the layout was read last.
        """
        now = clock.now()
        try:
            return checked(page, ttl=self._frame.layouts.known.ttl, now=now)
        except ExpiredCapture:
            return checked(page, ttl=self._frame.layouts.recent().ttl, now=now)

    def rows_of(self, row: bytes, page: Page) -> tuple[bytes, ...]:
        """Return the rows whose stored state decides what becomes of *page*: its own, and that of `same_as`."""
        repeated = self._repeats.row_of(page)
        return (row,) if repeated is None else (row, repeated)

    def prepare(self, batch: Sequence[tuple[bytes, Page]], *, is_again: bool = False) -> Prepared:
        """Read what is stored of the pages of *batch*, decide what becomes of them, and make their cells.

        Some of it may be written already where it *is_again* prepared, after it has failed.
        Of captures that repeat stored bodies so many are prepared as take `CONTENT_BYTES`; the others are the rest.
        """
        since = self._frame.store.last_transaction()
        # First, for the layout comes with them: what is decided below goes by what it says now.
        indexes = self._frame.indexes.read()
        sources, count = self._repeats.sources(batch, CONTENT_BYTES)
        visited, stored = self._visits.visited(batch[:count])
        taken = [(row, one.page) for (row, _), one in zip(batch[:count], visited, strict=True)]
        plan = Planner(self._frame, taken, stored, self._repeats, sources, CONTENT_BYTES).plan()
        puts, unwritable = self._puts.made(plan.writes, visited)
        changes = [one.change for one in puts if one.planned.write.changes_hints]
        upkeep = self._keeper.prepare(changes + plan.repeated, indexes)
        rows, pages = [row for row, _ in batch[: plan.count]], [page for _, page in batch[: plan.count]]
        drops = dropped(self._frame, plan.writes, stored)
        return Prepared(
            rows, pages, plan, puts, unwritable, upkeep, batch[plan.count :], stored, drops, since, is_again
        )

    def store(self, prepared: Prepared) -> list[PageOutcome]:
        """Write what was prepared and return what became of each page, in their order.

        It is prepared again where somebody else has written to its rows meanwhile and the store makes a batch one
        transaction. Where one of several captures of a page has failed, they are stored one by one, and so are those
        of a page that was deleted meanwhile.
        """
        with self._frame.store.together() as transaction:
            is_alone = transaction is not None and prepared.since is not None
            outcomes = None if self._is_outdated(prepared, transaction) else self._stored(prepared, is_alone=is_alone)
        if outcomes is None:
            return self._stored_anew(list(zip(prepared.rows, prepared.pages, strict=True)))
        if all(outcome.error is None for outcome in outcomes):
            return outcomes
        captures = Counter(prepared.rows)
        failed = {
            row
            for index, row in enumerate(prepared.rows)
            if (captures[row] > 1 and outcomes[index].error is not None and index not in prepared.plan.refused)
            or isinstance(outcomes[index].error, PageGone)
        }
        for index, row in enumerate(prepared.rows):
            if row in failed:
                (outcomes[index],) = self.store(self.prepare([(row, prepared.pages[index])]))
        return outcomes

    def _is_outdated(self, prepared: Prepared, transaction: int | None) -> bool:
        """Whether somebody else has written to the rows of *prepared* since they were read, before this transaction."""
        if transaction is None or prepared.since is None or self._transactions.are_all(prepared.since, transaction):
            return False
        now = stored_of(self._frame, list(zip(prepared.rows, prepared.pages, strict=True)))
        return any(prepared.stored[row] != one for row, one in now.items())

    def _stored_anew(self, batch: Sequence[tuple[bytes, Page]]) -> list[PageOutcome]:
        outcomes: list[PageOutcome] = []
        while batch:
            prepared = self.prepare(batch)
            outcomes += self.store(prepared)
            batch = prepared.rest
        return outcomes

    def mend(self, rows: Sequence[bytes]) -> None:
        """Write what is missing of the pages of *rows*, as after a crossing; raises the first error."""
        with self._frame.store.together():
            for error in self._settled(crossed_earlier(self._frame, rows)).values():
                raise error

    def _stored(self, prepared: Prepared, *, is_alone: bool = False) -> list[PageOutcome]:
        """Write entries and inlinks first, then the pages, then what comes after them (`hints.hints` tells why).

        Nobody else can have written to its rows meanwhile where it *is_alone*.
        """
        errors = prepared.errors(prepared.upkeep.before_pages())
        puts = [one for one in prepared.puts if one.planned.index not in errors]
        errors |= self._put(puts)
        stored = [index not in errors for index in range(len(prepared.pages))]
        crossed, unread = ([], {}) if is_alone else self._crossings(prepared, stored)
        overtaken = {one.place for one in crossed if one.overtaken} | unread.keys()
        errors |= prepared.upkeep.after_pages(stored, overtaken) | unread
        return prepared.outcomes(self._settled(crossed) | errors)

    def _crossings(self, prepared: Prepared, stored: Sequence[bool]) -> tuple[list[Crossing], dict[int, WebTableError]]:
        """Return which of the *stored* pages somebody else has written to meanwhile, or why that is not known."""
        own: dict[bytes, list[tuple[int, Page]]] = defaultdict(list)
        for one in prepared.plan.writes:
            if stored[one.index] and prepared.stored[one.row].page is not None:
                own[one.row].append((one.index, one.write.page))
        for index, row in enumerate(prepared.rows if prepared.is_again else ()):
            if stored[index] and row not in own:
                own[row].append((index, prepared.pages[index]))
        try:
            return crossings(self._frame, own, prepared.stored, is_again=prepared.is_again)
        except WebTableError as exc:
            return [], {index: exc for some in own.values() for index, _ in some}

    def _settled(self, crossed: Sequence[Crossing]) -> dict[int, WebTableError]:
        """Write what is missing of the rows that were *crossed*; return, by the places of their pages, what failed."""
        if not crossed:
            return {}
        try:
            plan, stored = settled(self._frame, crossed)
            pages = [now.page for now in stored.values() if now.page is not None]
            puts, unwritable = self._puts.made(plan.writes, [Visited(page, None) for page in pages])
            changes = [one.change for one in puts if one.planned.write.changes_hints] + plan.repeated
            upkeep = self._keeper.prepare(changes, self._frame.indexes.read())
            outcomes = self._stored(Prepared(list(stored), pages, plan, puts, unwritable, upkeep, (), stored))
        except WebTableError as exc:
            return {one.place: exc for one in crossed}
        errors = dict(zip(stored, (outcome.error for outcome in outcomes), strict=True))
        return {one.place: error for one in crossed if (error := errors.get(one.row)) is not None}

    def _put(self, puts: Sequence[PagePut]) -> dict[int, WebTableError]:
        """Write pages, and return, by their places, why some are not written.

        A capture that repeats what an earlier one of the same batch brings goes when that is there: HBase may store the
        one and not the other, and the page would have no body.
        """
        rows: set[bytes] = set()
        first: list[PagePut] = []
        repeats: list[PagePut] = []
        for one in puts:
            is_repeat = one.planned.row in rows and not one.planned.write.with_content
            (repeats if is_repeat else first).append(one)
            rows.add(one.planned.row)
        errors = self._sent(first)
        failed = {one.planned.row: errors[one.planned.index] for one in first if one.planned.index in errors}
        errors |= {one.planned.index: failed[one.planned.row] for one in repeats if one.planned.row in failed}
        return errors | self._sent([one for one in repeats if one.planned.row not in failed])

    def _sent(self, puts: Sequence[PagePut]) -> dict[int, WebTableError]:
        if not puts:
            return {}
        written = self._frame.store.write(self._frame.table, [one.put for one in puts])
        return {one.planned.index: error for one, error in zip(puts, written, strict=True) if error is not None}


def mend_pages(frame: Frame, rows: Sequence[bytes]) -> None:
    """Mend the pages of *rows* whose newest capture disagrees with their history; raises the first error."""
    with closing(BatchWriter(frame, None)) as writer:
        writer.mend(rows)

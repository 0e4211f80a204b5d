"""How a batch of pages is stored, in five steps: read, decide, pack, put, settle.

The first three prepare a batch, the last two store it; one batch is prepared while the previous one is stored.

    read      the stored state of the pages, and the list of indexes; meanwhile the pages are measured and packed
    decide    what is written for each page, given its stored state (`plan`)
    pack      make the cells of the pages, their index entries and their inlinks
    put       entries and inlinks first, then the pages (`upkeep.cells` gives the reason)
    settle    remove outdated entries and inlinks, and mend pages that others wrote meanwhile (`concurrent_writes`)
"""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._clock import EPOCH, milliseconds
from webtable.errors import ExpiredCapture, HiddenByDelete, InvalidArgument, StoreUnavailable, WebTableError
from webtable.page.page import Page
from webtable.repository.full_text.index import text_update
from webtable.repository.indexes.states import Maintained
from webtable.repository.page_storage.decisions import mended
from webtable.repository.page_storage.state import NEWEST, KeyedPage, Stored
from webtable.repository.upkeep.cells import PageChange, sign_pages
from webtable.repository.upkeep.revisits import OpenRevisits
from webtable.repository.upkeep.updates import Updater
from webtable.repository.writing.capture_checks import taken
from webtable.repository.writing.plan import (
    BatchPlan,
    PackedPage,
    Packer,
    PagePut,
    PlannedWrite,
    Planner,
    Prepared,
    page_puts,
    stored_of,
)
from webtable.repository.writing.repeats import Sources, sources_of

if TYPE_CHECKING:
    from webtable.repository.context import TableContext
    from webtable.repository.writing.outcomes import PageOutcome


# --- Concurrent writes ------------------------------------------------------------------------------------------------
#
# Captures of the pages of a batch that other writers store while the batch is being stored.
#
# Two writers that store captures of one page at once decide without knowing of each other. In a file, where a batch
# is a transaction, the batch is prepared again if another writer has changed its rows. In other stores a batch reads
# its rows again after it has written them, and writes what is missing then. One of the two writers always notices:
# both read after they have written, so the last one to write reads the result of both, and what it then writes is
# read again in the same way. A writer that is killed in between has acknowledged nothing: putting its captures again
# mends the page, and so does `index repair`.


MOST_TRANSACTIONS = 100
"""How many of its own transactions a writer remembers: more than can end while one of its batches is being stored."""


class OwnTransactions:
    """The numbers of a writer's last transactions (see `Store.last_transaction`)."""

    def __init__(self) -> None:
        self._numbers: deque[int] = deque(maxlen=MOST_TRANSACTIONS)

    def others_between(self, since: int | None, number: int | None) -> bool:
        """Add *number*, and return whether another writer's transaction came between *since* and *number*.

        False if one of them is None: the batch is not a transaction, or was prepared within this one.
        """
        if since is None or number is None:
            return False
        others = any(other not in self._numbers for other in range(since + 1, number))
        self._numbers.append(number)
        return others


class PageGone(StoreUnavailable):
    """The page was deleted while a later capture of it was stored, which the delete does not hide: put it again."""


class ConcurrentWrite(NamedTuple):
    """A row in which another writer has stored a capture meanwhile."""

    place: int
    """The place in the batch of the last capture that was written there."""
    row: bytes
    since: datetime
    """Versions from this date on may have inlinks that no other writer removes."""
    first: datetime
    """The date of the first capture that was written there."""
    overtaken: Page | None
    """The capture that was written, if the row has a later one now."""
    unchanged: str | None = None
    """The dates of captures that found the content unchanged, as they were written there."""
    is_redated: bool = False
    """Whether the same capture has another date of its last change now: what it had before may be right again."""


def concurrent_writes(
    context: TableContext,
    own: Mapping[bytes, Sequence[tuple[int, Page]]],
    stored: Mapping[bytes, Stored],
    *,
    is_retry: bool = False,
) -> tuple[list[ConcurrentWrite], dict[int, WebTableError]]:
    """Return the rows that other writers have changed since *stored* was read, and errors for pages that are gone.

    A capture is gone if its row has no metadata now: the newer capture that had them was deleted meanwhile.

    *own* has the captures that were written to each row, with their places, in the order of their dates. With
    *is_retry* it is not known who has written since the first attempt, so all rows are returned.
    """
    if not own:
        return [], {}
    states = context.pages.stored(list(own))
    compared_rows = list(zip(own.items(), states, strict=True))
    compared = [
        _concurrent_write(row, captures, stored[row], now, is_retry=is_retry) for (row, captures), now in compared_rows
    ]
    gone: dict[int, WebTableError] = {
        index: PageGone(f"{page.url[:200]}: deleted while a later capture was stored")
        for (_, captures), now in compared_rows
        for index, page in captures
        if now.page is None and now.unreadable is None and not (now.deleted and now.deleted.hides(page.fetched_at))
    }
    return [concurrent for concurrent in compared if concurrent is not None], gone


def _concurrent_write(
    row: bytes, own: Sequence[tuple[int, Page]], stored: Stored, now: Stored, *, is_retry: bool
) -> ConcurrentWrite | None:
    (index, page), before = own[-1], stored.page
    if now.page is None:
        return None
    dates = {version.fetched_at for _, version in own}
    since = EPOCH if before is None else before.stored.content_at or before.fetched_at
    if is_retry:
        since = max((version.at for version in now.versions if version.at < min(dates)), default=EPOCH)
    known_dates = dates.union(version.at for version in stored.versions)
    is_as_written = all(
        getattr(now.page, name) == getattr(page, name)
        for name in ("fetched_at", "first_seen", "change_count", "_unchanged", "_content_at")
    )
    if is_as_written and not is_retry and all(version.at in known_dates for version in now.versions):
        return None
    is_overtaken = now.page.fetched_at > max(page.fetched_at, before.fetched_at if before else EPOCH)
    is_between = any(since < version.at < page.fetched_at and version.at not in known_dates for version in now.versions)
    is_redated = now.page.fetched_at == page.fetched_at and now.page.changed_at != page.changed_at
    if (
        is_retry
        or is_overtaken
        or is_between
        or is_redated
        or mended(now, *dates, unchanged=page._unchanged) is not None
    ):
        overtaken = page if is_redated or now.page.fetched_at > page.fetched_at else None
        return ConcurrentWrite(index, row, since, min(dates), overtaken, page._unchanged, is_redated)
    return None


def unsettled_writes(context: TableContext, rows: Sequence[bytes]) -> list[ConcurrentWrite]:
    """Return *rows* as concurrent writes that were never settled, because a writer was killed."""
    states = zip(rows, context.pages.stored(rows, 1), strict=True)
    pages = [(row, now.page) for row, now in states if now.page is not None]
    return [
        ConcurrentWrite(index, row, page.stored.content_at or EPOCH, page.fetched_at, None)
        for index, (row, page) in enumerate(pages)
    ]


def settled(context: TableContext, writes: Sequence[ConcurrentWrite]) -> tuple[BatchPlan, dict[bytes, Stored]]:
    """Return the plan that mends the rows of *writes*, and the stored state of those that still exist.

    The newest capture stays the newest, whichever writer stored it. Its inlinks are written again, because the other
    writer may have removed them, and the inlinks of the captures from the same time are removed.
    """
    states = context.pages.stored([concurrent.row for concurrent in writes])
    there = [
        (concurrent, now, now.page) for concurrent, now in zip(writes, states, strict=True) if now.page is not None
    ]
    links = context.pages.links_of([(concurrent.row, page) for concurrent, _, page in there])
    others = context.pages.links_since(
        [(concurrent.row, milliseconds(concurrent.since)) for concurrent, _, _ in there], NEWEST
    )
    plan = BatchPlan(len(there), [], [], {})
    for index, (concurrent, now, page) in enumerate(there):
        mend = mended(now, concurrent.first, unchanged=concurrent.unchanged)
        if mend is not None:
            plan.writes.append(PlannedWrite(index, concurrent.row, mend, page, others[index]))
        if mend is None or not mend.with_links:
            newest = replace(page if mend is None else mend.page, outlinks=tuple(links[index]), _inlinks_at=None)
            plan.repeated.append(
                PageChange(index, concurrent.row, concurrent.overtaken, newest, others[index], is_concurrent=True)
            )
    return plan, {concurrent.row: now for concurrent, now, _ in there}


# --- The path of a batch ----------------------------------------------------------------------------------------------


CONTENT_BYTES = 8 * 2**20
"""How many bytes of stored bodies are read at once, for captures that repeat them."""


class _ReadBatch(NamedTuple):
    """The first pages of a batch, packed, with their stored state, the pages that they repeat, and the indexes."""

    pages: Sequence[PackedPage]
    stored: Mapping[bytes, Stored]
    sources: Sources
    indexes: dict[str, Maintained]


class BatchWriter:
    """Writes batches of pages to one table; a batch may hold several captures of a page, in the order of their dates.

    Many threads may use it at once, for batches that have no rows in common. One that *is_completing* open revisits
    for another one leaves what waits for them to that.
    """

    def __init__(
        self,
        context: TableContext,
        max_body: int | None,
        *,
        parse: bool = True,
        detect_language: bool = False,
        is_completing: bool = False,
    ) -> None:
        if max_body is not None and (not isinstance(max_body, int) or max_body < 1):
            raise InvalidArgument(f"max_body={max_body!r} must be a number of bytes above 0")
        self.context = context
        self._updater = Updater(context)
        self._packer = Packer(context, max_body)
        self._taken = partial(taken, parse=parse, detect_language=detect_language)
        self._transactions = OwnTransactions()
        self._revisits = OpenRevisits(context.store, context.table, context.key)
        self._is_completing = is_completing
        self._completing = threading.Lock()
        # Its transactions count as another writer's: batches that are prepared already read their rows again.
        self._completer: BatchWriter | None = None

    def close(self) -> None:
        """Stop the threads."""
        if self._completer is not None:
            self._completer.close()
        self._packer.close()
        self._updater.close()

    def taken(self, page: object) -> tuple[bytes, Page, Sequence[bytes]]:
        """Return *page* as it will be stored, with its row, as `capture_checks.taken` does."""
        return self._taken(page, self.context.key, self.context.layouts)

    def prepare(self, batch: Sequence[KeyedPage], *, is_retry: bool = False) -> Prepared:
        """Read, decide and pack the first pages of *batch*; the result's `rest` has the others.

        With *is_retry* the batch has failed before, and some of it may be written already.
        """
        since = self.context.store.last_transaction()
        stored_batch = self._read(batch)
        pages = [(row, packed.page) for (row, _), packed in zip(batch, stored_batch.pages, strict=False)]
        plan = Planner(self.context, pages, stored_batch.stored, stored_batch.sources, CONTENT_BYTES).decide()
        return self._pack(batch, stored_batch, plan, since=since, is_retry=is_retry)

    def store(self, prepared: Prepared) -> list[PageOutcome]:
        """Put and settle a prepared batch, and return the outcome of each page, in their order.

        If the store makes a batch one transaction, and another writer has changed its rows meanwhile, the batch is
        prepared again. If one of several captures of a page has failed, they are stored one by one, and so are the
        captures of a page that was deleted meanwhile.
        """
        outcomes: list[PageOutcome] = []
        with self.context.store.transaction() as transaction:
            is_outdated, is_alone = False, transaction is not None and prepared.since is not None
            # In a file transactions are numbered, those of other processes too.
            if self._transactions.others_between(prepared.since, transaction):
                now = stored_of(self.context, prepared.batch)
                is_outdated = any(prepared.stored[row] != state for row, state in now.items())
            if not is_outdated:
                outcomes = self._settle(prepared, self._put(prepared), is_alone=is_alone)
        if is_outdated:
            return [outcome for _, again in self.stored(prepared.batch) for outcome in again]
        if any(outcome.error is not None for outcome in outcomes):
            self._store_one_by_one(prepared, outcomes)
        return outcomes if self._is_completing else self._completed(prepared, outcomes)

    def stored(self, batch: Sequence[KeyedPage]) -> Iterator[tuple[Prepared, list[PageOutcome]]]:
        """Prepare and store *batch* in as many pieces as it takes, and yield each with the outcomes of its pages."""
        while batch:
            prepared = self.prepare(batch)
            yield prepared, self.store(prepared)
            batch = prepared.rest

    def _read(self, batch: Sequence[KeyedPage]) -> _ReadBatch:
        """Read the state of the first pages of *batch*: up to `CONTENT_BYTES` of stored bodies that captures repeat."""
        # First, because this also reads the layout, on which the decisions rest.
        indexes = self.context.indexes.read()
        sources: Sources = {}
        if any(page.same_as is not None for _, page in batch):
            sources, count = sources_of(self.context, batch, CONTENT_BYTES)
            batch = batch[:count]
        signs = sign_pages(indexes.values())
        pages, stored = self._packer.packed(batch, partial(stored_of, self.context, batch), signs=signs)
        return _ReadBatch(pages, stored, sources, indexes)

    def _pack(
        self,
        batch: Sequence[KeyedPage],
        stored_batch: _ReadBatch,
        plan: BatchPlan,
        *,
        since: int | None = None,
        is_retry: bool = False,
    ) -> Prepared:
        """Return the pages of *batch* that the *plan* covers, ready to be sent."""
        signs = sign_pages(stored_batch.indexes.values())
        puts, unwritable = page_puts(self.context, plan.writes, stored_batch.pages, signs=signs)
        changes = [put.change for put in puts if put.planned.write.changes_derived]
        late = [put.change for put in puts if not put.planned.write.with_metadata]
        update = self._updater.prepare(changes + plan.repeated, stored_batch.indexes, late)
        texts = text_update(self.context, changes + plan.repeated)
        own, rest = batch[: plan.count], batch[plan.count :]
        return Prepared(own, plan, puts, unwritable, update, stored_batch.stored, texts, rest, since, is_retry)

    def _put(self, prepared: Prepared) -> dict[int, WebTableError]:
        """Put entries and inlinks, then the pages; return the errors of pages that are not stored, by place.

        A capture that repeats the content of an earlier one in the same batch is sent after that one is stored: HBase
        might store only the later one, and the page would have no body.
        """
        errors = prepared.errors(prepared.update.before_pages())
        if prepared.plan.unresolved and not self._is_completing:
            errors |= self._entered({at: page for at, page in prepared.plan.unresolved.items() if at not in errors})
        failed: dict[bytes, WebTableError] = {}
        for puts in _repeats_last([put for put in prepared.puts if put.planned.index not in errors]):
            errors |= {put.planned.index: failed[put.planned.row] for put in puts if put.planned.row in failed}
            sent = [put for put in puts if put.planned.row not in failed]
            written = self.context.store.write(self.context.table, [put.put for put in sent]) if sent else ()
            for put, error in zip(sent, written, strict=True):
                if error is not None:
                    errors[put.planned.index] = failed[put.planned.row] = error
        return errors

    def _settle(
        self, prepared: Prepared, errors: dict[int, WebTableError], *, is_alone: bool = False
    ) -> list[PageOutcome]:
        """Finish the pages that were put without *errors*, and return the outcome of each page.

        With *is_alone* no other writer can have changed their rows meanwhile.
        """
        stored = [index not in errors for index in range(len(prepared.batch))]
        writes, unread = ([], {}) if is_alone else self._concurrent_writes(prepared, stored)
        overtaken = {concurrent.place for concurrent in writes if concurrent.overtaken} | unread.keys()
        redated = {concurrent.place for concurrent in writes if concurrent.is_redated}
        errors |= prepared.update.after_pages(stored, overtaken, redated) | unread
        # Again, as full text may have been created since.
        texts = text_update(self.context, prepared.update.changes, prepared.texts)
        if texts is not None:
            texts.put(stored)
        return prepared.outcomes(self._settled(writes) | errors if writes else errors)

    def _entered(self, pages: Mapping[int, Page]) -> dict[int, WebTableError]:
        """Enter open revisits, and return the error of each if that fails."""
        try:
            self._revisits.enter(list(pages.values()))
        except WebTableError as exc:
            return dict.fromkeys(pages, exc)
        return {}

    def _completed(self, prepared: Prepared, outcomes: list[PageOutcome]) -> list[PageOutcome]:
        """Complete the open revisits whose content is stored now; return the outcomes of the batch.

        Those of the batch itself are looked at again: another writer may have stored their originals since it was read.
        If one of them cannot be stored, the captures are reported with the error, so that they are put again.
        """
        stored = [(at, page) for at, (_, page) in enumerate(prepared.batch) if outcomes[at].error is None]
        waiting = [prepared.plan.unresolved[at] for at, _ in stored if at in prepared.plan.unresolved]
        pages = [page for at, page in stored if at not in prepared.plan.unresolved]
        try:
            if not prepared.update.changes:
                self.context.indexes.read()  # else they were read again after the pages
            if not (waiting or (self.context.indexes.may_have_revisits and self._revisits.is_any())):
                return outcomes
            self._revisits.close([page for page in pages if page.same_as is not None])
            with self._completing:
                self._completer = self._completer or BatchWriter(self.context, None, is_completing=True)
                complete(self._revisits, self._completer, waiting, pages)
        except WebTableError as exc:
            for at, _ in stored:
                outcomes[at] = dataclasses.replace(outcomes[at], error=exc)
        return outcomes

    def _store_one_by_one(self, prepared: Prepared, outcomes: list[PageOutcome]) -> None:
        """Store captures again, each by itself, that failed because of others; replaces their *outcomes*."""
        captures = Counter(row for row, _ in prepared.batch)
        failed = {
            row
            for index, (row, _) in enumerate(prepared.batch)
            if (captures[row] > 1 and outcomes[index].error is not None and index not in prepared.plan.refused)
            or isinstance(outcomes[index].error, PageGone)
        }
        for index, capture in enumerate(prepared.batch):
            if capture[0] in failed:
                (outcomes[index],) = self.store(self.prepare([capture]))

    def _concurrent_writes(
        self, prepared: Prepared, stored: Sequence[bool]
    ) -> tuple[list[ConcurrentWrite], dict[int, WebTableError]]:
        """Return which of the *stored* pages another writer has changed meanwhile, and errors where that is unknown."""
        own: dict[bytes, list[tuple[int, Page]]] = defaultdict(list)
        for planned in prepared.plan.writes:
            if stored[planned.index] and prepared.stored[planned.row].page is not None:
                own[planned.row].append((planned.index, planned.write.page))
        for index, (row, page) in enumerate(prepared.batch if prepared.is_retry else ()):
            if stored[index] and row not in own:
                own[row].append((index, page))
        try:
            return concurrent_writes(self.context, own, prepared.stored, is_retry=prepared.is_retry)
        except WebTableError as exc:
            return [], {index: exc for captures in own.values() for index, _ in captures}

    def _settled(self, writes: Sequence[ConcurrentWrite]) -> dict[int, WebTableError]:
        """Mend rows that were written concurrently; return the errors by the places of their pages."""
        try:
            plan, stored = settled(self.context, writes)
            batch = [(row, now.page) for row, now in stored.items() if now.page is not None]
            pages = [PackedPage(page, None) for _, page in batch]
            prepared = self._pack(batch, _ReadBatch(pages, stored, {}, self.context.indexes.read()), plan)
            outcomes = self._settle(prepared, self._put(prepared))
        except WebTableError as exc:
            return {concurrent.place: exc for concurrent in writes}
        errors = dict(zip(stored, (outcome.error for outcome in outcomes), strict=True))
        return {concurrent.place: error for concurrent in writes if (error := errors.get(concurrent.row)) is not None}

    def mend(self, rows: Sequence[bytes]) -> None:
        """Mend the pages of *rows*, as after a concurrent write; raises the first error."""
        with self.context.store.transaction():
            for error in self._settled(unsettled_writes(self.context, rows)).values():
                raise error


COMPLETED_AT_ONCE = 50
"""How many open revisits are completed at once."""


def complete(revisits: OpenRevisits, writer: BatchWriter, waiting: Sequence[Page], stored: Sequence[Page]) -> None:
    """Store those *waiting* revisits, and those that wait for *stored* captures, whose content is stored now.

    What waits for these is stored as well. Raises `StoreUnavailable`; a revisit whose original cannot be read stays
    open, and one that the table would refuse, because its page was deleted, is forgotten.
    """
    sources = [revisits.waiting_for(stored), iter(waiting)]
    while sources:
        pages = list(islice(sources[-1], COMPLETED_AT_ONCE))
        if not pages:
            sources.pop()
        while pages:
            # Two of one page are stored one after the other, as the second may depend on the first.
            batch = {writer.context.key.encode(page.url): page for page in reversed(pages)}
            pages = [page for page in pages if batch[writer.context.key.encode(page.url)] is not page]
            done = _of_batch(writer, list(batch.items()))
            revisits.close(done)
            sources.append(revisits.waiting_for(done))


def _of_batch(writer: BatchWriter, batch: Sequence[KeyedPage]) -> list[Page]:
    """Store the revisits of *batch*, and return those that are not open any longer."""
    done: list[Page] = []
    for prepared, outcomes in writer.stored(batch):
        for at, outcome in enumerate(outcomes):
            match outcome.error:
                case None if at not in prepared.plan.unresolved:
                    done.append(prepared.batch[at][1])
                case ExpiredCapture() | HiddenByDelete():
                    done.append(prepared.batch[at][1])
                case StoreUnavailable() as error:
                    raise error
    return done


def _repeats_last(puts: Sequence[PagePut]) -> tuple[list[PagePut], list[PagePut]]:
    """Split *puts* in two: those to send first, and those that repeat the content of an earlier put of their row."""
    rows: set[bytes] = set()
    first: list[PagePut] = []
    repeats: list[PagePut] = []
    for put in puts:
        is_repeat = put.planned.row in rows and not put.planned.write.with_content
        (repeats if is_repeat else first).append(put)
        rows.add(put.planned.row)
    return first, repeats


def mend_pages(context: TableContext, rows: Sequence[bytes]) -> None:
    """Mend the pages of *rows*, whose newest capture disagrees with their history; raises the first error."""
    with closing(BatchWriter(context, None)) as writer:
        writer.mend(rows)

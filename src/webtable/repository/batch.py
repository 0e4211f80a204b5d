"""A batch of pages, written: read what is stored, decide, compress, put."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.errors import DamagedRow, ExpiredCapture, InvalidArgument, InvalidURL, WebTableError
from webtable.page import Link, Page, PageOutcome, memory_of
from webtable.repository.captures import (
    NEWEST,
    Stored,
    Write,
    checked,
    decide,
    expired,
    hidden,
    measured,
    rests_on_older,
    stored_after,
)
from webtable.repository.hints.hints import Change
from webtable.repository.hints.inlinks import with_self_links
from webtable.repository.hints.upkeep import Keeper, Upkeep
from webtable.rowkey import canonical_url
from webtable.store import NewCell, Put
from webtable.threads import Threads

if TYPE_CHECKING:
    from webtable.repository.frame import Frame

SLICE = 16
"""How many pages a thread takes at once."""
ENTRY_BYTES = 4_000
LINK_BYTES = 450
"""What a page, and each of its links, costs in memory while it is written, beside what it is: cells, entries, rows.

Measured with tracemalloc, as the mean over the buffer, a batch that is prepared and one that is stored, with the seven
indexes on SQLite.
"""
CONTENT_BYTES = 8 * 2**20
"""How many bytes of stored bodies are read at once where captures repeat them."""


@dataclass(frozen=True, slots=True)
class _Planned:
    index: int
    """Which page of the batch it is for."""
    row: bytes
    write: Write
    before: Page | None
    links: Sequence[Link] | None = None
    """The links of *before*, where they are in the same batch and not yet stored."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that only has to be sent: its pages, the cells of each planned write or why it has none, the upkeep.

    `refused` says, by their places, why pages are not to be stored. `rest` is what of the batch is yet to be prepared.
    """

    pages: list[Page]
    rows: list[bytes]
    planned: list[_Planned]
    cells: list[Put | WebTableError]
    upkeep: Upkeep
    refused: Mapping[int, WebTableError]
    rest: Sequence[tuple[bytes, Page]]


class BatchWriter:
    """Writes batches of pages to one table; of one page several captures, each later than the one before it.

    `prepare` and `store` are each used by one thread at a time.
    """

    def __init__(self, frame: Frame, max_body: int | None) -> None:
        if max_body is not None and (not isinstance(max_body, int) or max_body < 1):
            raise InvalidArgument(f"max_body={max_body!r} must be a number of bytes above 0")
        self._frame = frame
        self._max_body = max_body
        self._keeper = Keeper(frame)
        # hashlib works outside the GIL: on this many bodies at once.
        self._threads = Threads(os.cpu_count() or 1, "webtable-digest")

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._frame.name

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()
        self._keeper.close()

    def memory_of(self, page: Page) -> int:
        """Return about how many bytes *page* takes until it is stored, with what is written for it and its links."""
        return memory_of(page) + ENTRY_BYTES + LINK_BYTES * len(page.outlinks or ())

    def keyed(self, page: Page) -> tuple[bytes, Page]:
        """Return the row key of *page*, and the page under its canonical URL; raises `InvalidURL`."""
        url = canonical_url(page.url)
        return self._frame.key.encode(url), page if url == page.url else replace(page, url=url)

    def checked(self, page: Page) -> Page:
        """Return *page* as it can be stored; raises as `captures.checked` does.

        The time to live may have been raised since the layout was read last.
        """
        now = datetime.now(UTC)
        try:
            return checked(page, ttl=self._frame.layouts.known.ttl, now=now)
        except ExpiredCapture:
            return checked(page, ttl=self._frame.layouts.recent().ttl, now=now)

    def rows_of(self, row: bytes, page: Page) -> tuple[bytes, ...]:
        """Return the rows whose stored state decides what becomes of *page*: its own, and that of `same_as`."""
        repeated = self._repeated_row(page) if page.same_as else None
        return (row,) if repeated is None else (row, repeated)

    def prepare(self, batch: Sequence[tuple[bytes, Page]]) -> Prepared:
        """Read what is stored of the pages of *batch*, decide what becomes of them, and make their cells.

        Of captures that repeat stored bodies so many are prepared as take `CONTENT_BYTES`; the others are the rest.
        """
        # First, for the layout comes with them: what is decided below goes by what it says now.
        indexes = self._frame.indexes.read()
        sources, count = self._sources(batch)
        planned, repeated, refused, count = self._plan(self._measured(batch[:count]), sources)
        batch, rest = batch[:count], batch[count:]
        pages = self._with_contents(planned)
        bodies = [
            page
            for plan, page in zip(planned, pages, strict=True)
            if plan.write.with_content and isinstance(page, Page)
        ]
        contents = iter(self._frame.codec.content_cells(bodies))
        cells = [
            page
            if isinstance(page, WebTableError)
            else self._put(plan, page, next(contents) if plan.write.with_content else [])
            for plan, page in zip(planned, pages, strict=True)
        ]
        changes = [
            Change(plan.index, plan.row, plan.before, page, plan.links)
            for plan, page, made in zip(planned, pages, cells, strict=True)
            if plan.write.with_metadata and isinstance(page, Page) and isinstance(made, Put)
        ]
        upkeep = self._keeper.prepare(changes + repeated, indexes)
        rows, given = [row for row, _ in batch], [page for _, page in batch]
        return Prepared(given, rows, planned, cells, upkeep, refused, rest)

    def store(self, prepared: Prepared) -> list[PageOutcome]:
        """Write what was prepared and return what became of each page, in their order."""
        with self._frame.store.together():
            outcomes = self._stored(prepared)
        if all(outcome.error is None for outcome in outcomes):
            return outcomes
        # Where one of several captures of a page has failed, they are stored one by one.
        rows = Counter(prepared.rows)
        failed = {
            row
            for index, row in enumerate(prepared.rows)
            if rows[row] > 1 and outcomes[index].error is not None and index not in prepared.refused
        }
        for index, row in enumerate(prepared.rows):
            if row in failed:
                (outcomes[index],) = self.store(self.prepare([(row, prepared.pages[index])]))
        return outcomes

    def _stored(self, prepared: Prepared) -> list[PageOutcome]:
        pages = prepared.pages
        errors: list[WebTableError | None] = [prepared.refused.get(index) for index in range(len(pages))]
        for owner, failure in prepared.upkeep.before_pages().items():
            errors[owner] = failure
        puts, owners = [], []
        for plan, made in zip(prepared.planned, prepared.cells, strict=True):
            if not isinstance(made, Put):
                errors[plan.index] = errors[plan.index] or made
        # A capture rests on those of its page before it in the batch: all of them are stored, or none here.
        failed = {plan.row: error for plan in prepared.planned if (error := errors[plan.index]) is not None}
        for plan, made in zip(prepared.planned, prepared.cells, strict=True):
            if not isinstance(made, Put) or plan.row in failed:
                errors[plan.index] = errors[plan.index] or failed[plan.row]
            else:
                puts.append(made)
                owners.append(plan.index)
        if puts:
            for owner, error in zip(owners, self._frame.store.write(self._frame.table, puts), strict=True):
                errors[owner] = errors[owner] or error
        for owner, failure in prepared.upkeep.after_pages([error is None for error in errors]).items():
            errors[owner] = errors[owner] or failure
        new = {plan.index for plan in prepared.planned if plan.write.page.changed_at == pages[plan.index].fetched_at}
        return [
            PageOutcome(page.url, page.fetched_at, error, is_new=index in new)
            for index, (page, error) in enumerate(zip(pages, errors, strict=True))
        ]

    def _measured(self, batch: Sequence[tuple[bytes, Page]]) -> list[tuple[bytes, Page]]:
        def measure(part: Sequence[tuple[bytes, Page]]) -> list[tuple[bytes, Page]]:
            return [(row, with_self_links(measured(page, self._max_body))) for row, page in part]

        # In slices: to hand over a single page costs a thread as much as the work on a small one.
        slices = [batch[start : start + SLICE] for start in range(0, len(batch), SLICE)]
        parts = self._threads.map(measure, slices) if len(slices) > 1 else map(measure, slices)
        return [entry for part in parts for entry in part]

    def _plan(
        self, batch: Sequence[tuple[bytes, Page]], sources: Mapping[bytes, Page | DamagedRow]
    ) -> tuple[list[_Planned], list[Change], dict[int, WebTableError], int]:
        """Return what is to be written, the pages of which the very same capture is there already, and what is refused.

        What is refused would be hidden, or rests on what cannot be read; a capture that is not older replaces that. The
        last of the four is how many pages of the batch that is: as many as repeat `CONTENT_BYTES` of stored bodies.
        """
        layout, now = self._frame.layouts.known, datetime.now(UTC)
        firsts: dict[bytes, Page] = {}
        for row, page in batch:
            firsts.setdefault(row, page)
        read = dict(zip(firsts, self._stored_of(list(firsts.items()), layout.versions), strict=True))
        stored = dict(read)
        links: dict[tuple[bytes, datetime], Sequence[Link]] = {}
        planned: list[_Planned] = []
        repeated: list[Change] = []
        refused: dict[int, WebTableError] = {}
        left = CONTENT_BYTES
        closed: set[bytes] = set()
        for index, (row, page) in enumerate(batch):
            if row in closed:
                return planned, repeated, refused, index
            found = stored[row]
            refusal = hidden(page, found) or expired(page, layout.ttl, now)
            if refusal is not None:
                refused[index] = refusal
                continue
            if found.unreadable is not None and found.unreadable.hides(page):
                refused[index] = found.unreadable.error
                continue
            before = found.page
            try:
                writes = decide(self._with_repeated(row, page, sources), found, layout.ttl)
            except DamagedRow as exc:
                refused[index] = exc
                continue
            repeats = [source for write in writes if (source := write.content_of)]
            left -= sum(memory_of(source) + (source.size or 0) for source in repeats)
            if (left < 0 and index) or (repeats and stored[row] is not read[row]):
                return planned, repeated, refused, index
            known = links.get((row, before.content_at)) if before and before.content_at else None
            planned += [_Planned(index, row, write, before, known) for write in writes]
            if not writes and before is not None and before.fetched_at == page.fetched_at:
                repeated.append(Change(index, row, None, before, is_repeated=True))
            if repeats or len(writes) != 1 or not writes[0].with_metadata:
                closed.add(row)  # what follows rests on what is not at hand before this is stored
                continue
            if len(firsts) < len(batch):
                stored[row] = stored_after(found, writes[0])
                if writes[0].with_content:
                    links[row, page.fetched_at] = writes[0].page.outlinks or ()
        return planned, repeated, refused, len(batch)

    def _stored_of(self, batch: Sequence[tuple[bytes, Page]], versions: int) -> list[Stored]:
        """Return what is stored of the pages of *batch*: their newest versions, and older ones where these matter.

        To read a thousand versions of a page takes longer than to store one more.
        """
        found = self._frame.pages.stored([row for row, _ in batch], min(versions, NEWEST))
        if versions <= NEWEST:
            return found
        for index, ((row, page), stored) in enumerate(zip(batch, found, strict=True)):
            if stored.page is None or len(stored.versions) < NEWEST or not rests_on_older(page, stored):
                continue
            if page.fetched_at < stored.page.fetched_at:
                found[index] = stored._replace(versions=self._frame.pages.versions_up_to(row, page.fetched_at))
            else:
                (found[index],) = self._frame.pages.stored([row], versions)
        return found

    def _sources(self, batch: Sequence[tuple[bytes, Page]]) -> tuple[dict[bytes, Page | DamagedRow], int]:
        """Return, by their rows, the other pages whose content is repeated, as far as they are stored.

        With them comes how many pages of the batch that is: as many as repeat `CONTENT_BYTES` of other pages.
        """
        wanted: dict[bytes, int] = {}
        for index, (row, page) in enumerate(batch):
            if page.same_as is not None and page.html is None:
                repeated = self._repeated_row(page)
                if repeated is not None and repeated != row:
                    wanted.setdefault(repeated, index)
        if not wanted:
            return {}, len(batch)
        rows, count = list(wanted), len(batch)
        sizes = self._frame.pages.weights(rows, ("html", "outlinks")) if len(rows) > 1 else [0] * len(rows)
        for place, total in enumerate(accumulate(sizes)):
            if total > CONTENT_BYTES and place:
                rows, count = rows[:place], wanted[rows[place]]
                break
        pages = self._frame.pages.read_each(rows, ("html", "outlinks"), weights=sizes[: len(rows)], verify=True)
        found = zip(rows, pages, strict=True)
        return {row: page for row, page in found if page is not None}, count

    def _with_repeated(self, row: bytes, page: Page, sources: Mapping[bytes, Page | DamagedRow]) -> Page:
        """Return a capture that repeats another URL's content with that content, as far as it is stored.

        Raises `DamagedRow` where that cannot be read.
        """
        if page.same_as is None or page.html is not None:
            return page if page.same_as is None else replace(page, same_as=None)
        repeated = self._repeated_row(page)
        if repeated == row:
            return page
        source = None if repeated is None else sources.get(repeated)
        if isinstance(source, DamagedRow):
            raise source
        # What the other URL has come to have since then is not what was repeated.
        if source is None or source.html is None or (source.changed_at or source.fetched_at) > page.fetched_at:
            return replace(page, same_as=None)
        return replace(
            page,
            same_as=None,
            html=source.html,
            title=source.title,
            content_type=page.content_type or source.content_type,
            charset=page.charset or source.charset,
            digest=source.digest,
            size=source.size,
            truncated=source.truncated,
            outlink_count=source.outlink_count,
            outlinks=source.outlinks,
        )

    def _repeated_row(self, page: Page) -> bytes | None:
        try:
            return self._frame.key.encode(page.same_as or "")
        except InvalidURL:
            return None

    def _put(self, planned: _Planned, page: Page, content: list[NewCell]) -> Put | WebTableError:
        try:
            cells = self._frame.codec.metadata_cells(page, planned.before) if planned.write.with_metadata else []
            self._frame.codec.check_sizes(page, cells + content)
        except WebTableError as exc:
            return exc
        return Put(planned.row, cells + content)

    def _with_contents(self, planned: Sequence[_Planned]) -> list[Page | WebTableError]:
        """Return the pages as they are to be written, with the stored content that they repeat, or why that is lost."""
        pages: list[Page | WebTableError] = [plan.write.page for plan in planned]
        wanted = [(at, plan.row, plan.write.content_of) for at, plan in enumerate(planned)]
        repeating = [(at, row, source) for at, row, source in wanted if source is not None]
        try:
            contents = self._frame.pages.contents_of([(row, source) for _, row, source in repeating])
        except WebTableError as exc:
            for at, _, _ in repeating:
                pages[at] = exc
            return pages
        for (at, _, _), content in zip(repeating, contents, strict=True):
            if isinstance(content, DamagedRow):
                pages[at] = content
                continue
            links = content.outlinks
            page = replace(
                planned[at].write.page,
                html=content.html,
                has_body=content.html is not None,
                outlinks=links,
                outlink_count=None if links is None else len(links),
            )
            pages[at] = with_self_links(page)
        return pages

"""A batch of pages, written: read what is stored, decide, compress, put."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from webtable.errors import InvalidArgument, InvalidURL, WebTableError
from webtable.page import Page, PageOutcome
from webtable.repository.captures import Write, decide, measured
from webtable.repository.reader import PageReader
from webtable.store import Put, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from webtable.repository.codec import PageCodec
    from webtable.rowkey import WebKey

T = TypeVar("T")
R = TypeVar("R")

SLICE = 16
"""How many pages a thread takes at once."""


@dataclass(frozen=True, slots=True)
class _Planned:
    index: int
    """Which page of the batch it is for."""
    row: bytes
    write: Write
    before: Page | None
    content: Page | None
    """The page whose body and links are written with it, where they are at hand."""


class BatchWriter:
    """Writes batches of pages to one table; used by one thread at a time."""

    def __init__(
        self, store: Store, table: str, key: WebKey, codec: PageCodec, ttl: int | None, max_body: int | None
    ) -> None:
        if max_body is not None and max_body < 1:
            raise InvalidArgument(f"max_body={max_body!r} must be above 0")
        self._store = store
        self._table = table
        self._key = key
        self._codec = codec
        self._ttl = ttl
        self._max_body = max_body
        self._reader = PageReader(store, table, codec)
        # hashlib and zstandard work outside the GIL: on this many bodies at once.
        self._workers = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="webtable-compress")

    def close(self) -> None:
        """Stop the threads."""
        self._workers.shutdown()

    def keyed(self, page: Page) -> tuple[bytes, Page]:
        """Return the row key of *page*, and the page under its canonical URL; raises `InvalidURL`."""
        key = self._key.encode(page.url)
        return key, replace(page, url=self._key.url_of(key))

    def write(self, batch: Sequence[tuple[bytes, Page]]) -> list[PageOutcome]:
        """Store the pages of *batch* and return what became of each, in their order."""
        errors: list[WebTableError | None] = [None] * len(batch)
        planned = self._plan(self._at_once(self._measured, batch))
        puts, owners = [], []
        for plan, made in zip(planned, self._at_once(self._cells, planned), strict=True):
            if isinstance(made, Put):
                puts.append(made)
                owners.append(plan.index)
            else:
                errors[plan.index] = made
        if puts:
            for owner, error in zip(owners, self._store.write(self._table, puts), strict=True):
                errors[owner] = errors[owner] or error
        new = {plan.index for plan in planned if plan.write.page.changed_at == batch[plan.index][1].fetched_at}
        return [
            PageOutcome(page.url, page.fetched_at, error, is_new=index in new)
            for index, ((_, page), error) in enumerate(zip(batch, errors, strict=True))
        ]

    def _at_once(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        # In slices: to hand over a single page costs a thread as much as the work on a small one.
        slices = [items[start : start + SLICE] for start in range(0, len(items), SLICE)]
        return [result for part in self._workers.map(lambda part: list(map(work, part)), slices) for result in part]

    def _measured(self, entry: tuple[bytes, Page]) -> tuple[bytes, Page]:
        row, page = entry
        return row, measured(page, self._max_body)

    def _plan(self, batch: Sequence[tuple[bytes, Page]]) -> list[_Planned]:
        stored = dict.fromkeys(row for row, _ in batch)
        known: dict[bytes, Page | None] = dict(zip(stored, self._reader.read(list(stored), ()), strict=True))
        at_hand: dict[tuple[bytes, datetime | None], Page] = {}
        planned = []
        # Captures of one page are decided in the order in which they were fetched.
        for index, (row, page) in sorted(enumerate(batch), key=lambda entry: entry[1][1].fetched_at):
            before = known[row]
            for write in decide(self._with_repeated(page, batch), before, self._ttl):
                source = write.content_of
                content = write.page if source is None else at_hand.get((row, source.content_at))
                planned.append(_Planned(index, row, write, before, content))
                if write.with_content and content is not None:
                    at_hand[row, write.page.content_at] = content
                if before is None or write.page.fetched_at >= before.fetched_at:
                    known[row] = replace(write.page, html=None, outlinks=None)
        return planned

    def _with_repeated(self, page: Page, batch: Sequence[tuple[bytes, Page]]) -> Page:
        """Return a capture that repeats another URL's content with that content, as far as it is stored."""
        if page.same_as is None or page.html is not None:
            return page if page.same_as is None else replace(page, same_as=None)
        try:
            row = self._key.encode(page.same_as)
        except InvalidURL:
            return replace(page, same_as=None)
        if row == self._key.encode(page.url):
            return page
        near = [other for key, other in batch if key == row and other.html is not None]
        source = near[-1] if near else self._reader.read([row], ("html", "outlinks"))[0]
        if source is None or source.html is None:
            return replace(page, same_as=None)
        return replace(
            page,
            same_as=None,
            html=source.html,
            title=source.title,
            content_type=page.content_type or source.content_type,
            digest=source.digest,
            size=source.size,
            truncated=source.truncated,
            outlink_count=source.outlink_count,
            outlinks=source.outlinks,
        )

    def _cells(self, planned: _Planned) -> Put | WebTableError:
        with_content = planned.write.with_content
        try:
            page = self._with_content(planned) if with_content else planned.write.page
            return Put(planned.row, self._codec.cells(page, planned.before, with_content=with_content))
        except WebTableError as exc:
            return exc

    def _with_content(self, planned: _Planned) -> Page:
        source = planned.write.content_of
        if source is None:
            return planned.write.page
        content = planned.content or self._reader.content_of(planned.row, source)
        return replace(planned.write.page, html=content.html, outlinks=content.outlinks)

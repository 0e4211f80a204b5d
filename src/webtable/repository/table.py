"""WebTable: what crawlers and notebooks hold. Pages in, pages out."""

from __future__ import annotations

import weakref
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from webtable.errors import InvalidCapture, WriteFailed
from webtable.page import Page
from webtable.repository.batch import BatchWriter
from webtable.repository.indexes.keeping import Keeper
from webtable.repository.indexes.verifying import IndexVerification
from webtable.repository.moments import now_in_milliseconds
from webtable.repository.questions.discovering import DiscoveryQuestions
from webtable.repository.questions.indexed import IndexQuestions
from webtable.repository.questions.searching import SearchQuestions
from webtable.repository.questions.stats import StatsQuestions
from webtable.repository.questions.verifying import VerificationQuestions
from webtable.repository.writer import OutcomeCallback, Writer, failed
from webtable.store import Delete, Store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from webtable.page import PageOutcome
    from webtable.schema import Layout


class WebTable(
    VerificationQuestions, IndexQuestions, DiscoveryQuestions, SearchQuestions, StatsQuestions, IndexVerification
):
    """A table of web pages; `webtable.open` makes one.

    May be used by many threads at once. `name` tells the store and the table, `layout` how its keys are made, `metrics`
    how many index entries were read, and how many of them dropped because their pages are others now; `damaged` in it
    counts rows that cannot be read, which answers leave out, unless the table is *strict*.
    """

    def __init__(self, store: Store, table: str, layout: Layout, *, strict: bool = False) -> None:
        super().__init__(store, table, layout, strict=strict)
        self._writers: weakref.WeakSet[Writer] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<WebTable {self.name} salt={self.layout.salt}>"

    def writer(
        self,
        *,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        max_body: int | None = None,
        on_outcome: OutcomeCallback | None = None,
    ) -> Writer:
        """Return a writer, to be used in a `with` block.

        A batch is sent at *buffer_bytes* of bodies, at *buffer_pages* pages, or after *max_age* seconds. Bodies over
        *max_body* bytes are cut and marked `truncated`. *on_outcome* gets a `PageOutcome` for every page, in place of
        the `WriteFailed` that `flush` and the end of the block raise for those that were not stored.
        """
        batch_writer = BatchWriter(self.store, self.table, self._codec, self.layout, self.indexes, max_body)
        writer = Writer(
            batch_writer,
            ttl=self.layout.ttl,
            buffer_bytes=buffer_bytes,
            buffer_pages=buffer_pages,
            max_age=max_age,
            on_outcome=on_outcome,
        )
        self._writers.add(writer)
        return writer

    def put(self, page: Page) -> None:
        """Store one page and return when it is stored; many are stored far faster through a `writer`.

        Raises as `Writer.put` and `Writer.flush` do.
        """
        with self.writer(max_age=3_600) as writer:
            writer.put(page)

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Store that the server of *url* said "not modified" (status 304) at *fetched_at*, now by default.

        The page keeps its content and its links, which are written anew before half of their time is over; *headers*
        are those of the answer. Many are stored faster through a `writer`: as `Page(url=url, status_code=304,
        same_as=url)`. Raises `InvalidCapture` where the URL is not stored, and as `Writer.put` and `Writer.flush` do.
        """
        if self.get(url, columns=()) is None:
            raise InvalidCapture(f"{url[:200]} is not stored, so nothing of it can be unmodified: fetch it whole")
        moment = datetime.now(UTC) if fetched_at is None else fetched_at
        self.put(Page(url=url, status_code=304, same_as=url, fetched_at=moment, headers=dict(headers or {})))

    def delete(self, url: str) -> bool:
        """Remove the page *url* with all its versions, and return whether there was one.

        Its links go with it; those of other pages that lead to it stay, as theirs. What was fetched before this moment
        stays removed also where it is put again, until the store's next major compaction: a delete hides all older
        cells. Raises `InvalidURL`.
        """
        row, names = self.key.encode(url), self._codec.columns
        content, links = [f"{names.content}:".encode(), names.page, *names.plain.values()], [names.urls]
        (found,) = self.store.read(self.table, [row], columns=content + links)
        if found is None:
            return False
        newest = max(cell.timestamp for cells in found.cells.values() for cell in cells)
        until = max(newest, now_in_milliseconds())
        with closing(Keeper(self.store, self.table, self.key, self._codec, self._reader, self.indexes)) as keeper:
            # The links go last: where this is cut short, they tell the next try whose inlinks are left.
            with keeper.removal(found, until):
                self._apply(Delete(row, until, content))
            self._apply(Delete(row, until, links))
        return True

    def _apply(self, delete: Delete) -> None:
        (error,) = self.store.write(self.table, [delete])
        if error is not None:
            raise error

    def close(self) -> None:
        """Flush and close the writers, then the store; raises `WriteFailed` for pages that could not be stored."""
        failures: list[PageOutcome] = []
        try:
            for writer in list(self._writers):
                try:
                    writer.close()
                except WriteFailed as exc:
                    failures += exc.failures
        finally:
            self.store.close()
        if failures:
            raise failed(failures)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

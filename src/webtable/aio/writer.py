"""The writer for asyncio: if the buffer is full, `await put(page)` waits, and does not block the loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from webtable.aio.results import AbandonedCalls, Calls, Wrapped, awaited
from webtable.errors import failed_together
from webtable.repository.writing.outcomes import Dropped, PageOutcome
from webtable.repository.writing.outcomes import Receipt as SyncReceipt
from webtable.repository.writing.writer import Writer as SyncWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from datetime import datetime

    from webtable.page.page import Page
    from webtable.repository.metrics import WriterMetrics


class Receipt(Wrapped[SyncReceipt]):
    """An awaitable of the `PageOutcome` of one page that was put; raises the error if the page was not stored.

    A receipt may be awaited many times, by several tasks, or dropped; cancelling such a task does not affect it.
    """

    @property
    def url(self) -> str:
        """The URL of the page."""
        return self._core.url

    def done(self) -> bool:
        """Whether the outcome of the page is known."""
        return self._core.done()

    def __await__(self) -> Generator[Any, None, PageOutcome]:
        return self.result().__await__()

    async def result(self) -> PageOutcome:
        """Return the outcome of the page, once it is stored; the writer's buffer is sent at once.

        Raises the error if the page was not stored.
        """
        if not self._core.done():
            await self._calls.run(self._core._send)
        return await asyncio.wrap_future(self._core)

    async def exception(self) -> BaseException | None:
        """Return the error of a page that was not stored, else None; sends the buffer as `result` does."""
        try:
            await self.result()
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - this method returns the error
            return exc
        return None


class Writer(Wrapped[SyncWriter]):
    """Stores pages: `webtable.Writer` with awaitable methods; made by `WebTable.writer`.

    Calls are made one after another, in the order in which they were awaited, in a thread of the writer. If the buffer
    is full, `put` waits in that thread, and later calls wait for it: the tasks are slowed down, not the loop.

    A `put` whose task is cancelled may or may not have taken its page. A cancelled `flush` or `close` goes on, and may
    be awaited again: its errors are raised by the next one, or by `close` of the table. Callbacks given to `writer`,
    and iterables given to `put_many`, run in threads.
    """

    def __init__(self, core: SyncWriter, table: Calls, abandoned: AbandonedCalls) -> None:
        super().__init__(core, Calls(1, "webtable-aio-writer"))
        self._table = table
        self._abandoned = abandoned

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._core.name

    @property
    def stored(self) -> int:
        """How many pages are stored, so far."""
        return self._core.stored

    @property
    def unchanged(self) -> int:
        """How many of them brought no new content: they repeat stored content, or were stored already."""
        return self._core.unchanged

    @property
    def dropped(self) -> Dropped:
        """How many contents were dropped because of the limits of the table, so far."""
        return self._core.dropped

    @property
    def metrics(self) -> WriterMetrics:
        """How many pages, bytes and batches the writer holds now; zeros if it is closed, or another process's."""
        return self._core.metrics

    async def put(self, page: Page) -> Receipt:
        """Take *page* to be stored, and return a receipt, which can be awaited.

        Raises what `webtable.Writer.put` does.
        """
        receipt = await self._calls.run(partial(self._core.put, page))
        return Receipt(receipt, self._table)

    put_many: Final = awaited(SyncWriter.put_many)
    put_failed: Final = awaited(SyncWriter.put_failed)

    async def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> Receipt:
        """Put that the server of *url* said "not modified", as `webtable.Writer.put_not_modified` does."""
        receipt = await self._calls.run(partial(self._core.put_not_modified, url, fetched_at, headers))
        return Receipt(receipt, self._table)

    async def flush(self) -> None:
        """Store everything that was put, and return when it is stored; raises what `webtable.Writer.flush` does."""
        await self._ended(self._core.flush)

    async def give_up_after(self, seconds: float) -> None:
        """Wait at most *seconds* for the store from now on: the process has to end."""
        self._core.give_up_after(seconds)  # at once: the thread of the writer may be waiting for the store

    async def close(self) -> None:
        """Flush, and stop the writer; raises what `flush` does, once everything that can be stored is stored."""
        await self._ended(self._core.close)
        self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ended(self, job: Callable[[], None]) -> None:
        """Do *job*, and raise its errors together with those of earlier jobs whose callers were cancelled."""
        await self._calls.run(partial(self._with_earlier_errors, job), partial(self._abandoned.keep, self))

    def _with_earlier_errors(self, job: Callable[[], None]) -> None:
        errors: list[Exception] = []
        try:
            job()
        except Exception as exc:  # noqa: BLE001 - it is raised with the others
            errors.append(exc)
        if errors := self._abandoned.errors(self) + errors:
            raise failed_together(f"{self.name}: a writer", errors)

"""The writer for asyncio: where the buffer is full, `await put(page)` waits, and no loop does."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Self

from webtable import repository as sync
from webtable.aio.calls import Calls, Missed, Wrapped, awaited
from webtable.errors import failed_together

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType
    from typing import Any

    from webtable._page.page import Page
    from webtable.repository.writing.outcomes import Dropped, PageOutcome


class Receipt(Wrapped[sync.Receipt]):
    """What becomes of one page that was put: awaited, it returns its `PageOutcome`, or raises what kept it from that.

    A receipt may be awaited many times, by several tasks, and dropped; a task that is cancelled leaves it as it was.
    """

    @property
    def url(self) -> str:
        """The page's."""
        return self._core.url

    def done(self) -> bool:
        """Whether it is known what became of the page."""
        return self._core.done()

    def __await__(self) -> Generator[Any, None, PageOutcome]:
        return self.result().__await__()

    async def result(self) -> PageOutcome:
        """Return the outcome of a page that is stored; what the writer still holds is sent at once.

        Raises what kept the page from being stored.
        """
        if not self._core.done():
            await self._calls.run(self._core.ask)
        return await asyncio.wrap_future(self._core)

    async def exception(self) -> BaseException | None:
        """Return what kept the page from being stored, None where it is; sends as `result` does."""
        try:
            await self.result()
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - it is what was asked for
            return exc
        return None


class Writer(Wrapped[sync.Writer]):
    """Stores pages: `webtable.Writer`, whose calls are awaited; made by `WebTable.writer`.

    Its calls are made one after another, in the order in which they were awaited, in a thread of its own. Where the
    buffer is full `put` waits there, and those behind it for their turn: whoever awaits is slowed down, not the loop.

    A `put` whose task is cancelled has taken its page, or not; `flush` and `close` go on, and may be awaited again:
    what they were to raise comes with the next of them, or with `close` of the table. Functions given to `writer`, and
    what `put_many` takes, are called in threads.
    """

    def __init__(self, core: sync.Writer, table: Calls, missed: Missed) -> None:
        super().__init__(core, Calls(1, "webtable-aio-writer"))
        self._table = table
        self._missed = missed

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
        """How many of them brought no new content."""
        return self._core.unchanged

    @property
    def dropped(self) -> Dropped:
        """How many contents the limits of the table have dropped, so far."""
        return self._core.dropped

    async def put(self, page: Page) -> Receipt:
        """Take *page* to be stored, and return a receipt, to be awaited by who wants to know of this one.

        Raises as `webtable.Writer.put` does.
        """
        receipt = await self._calls.run(partial(self._core.put, page))
        return Receipt(receipt, self._table)

    put_many = awaited(sync.Writer.put_many)

    async def flush(self) -> None:
        """Store all that was put, and return when it is; raises as `webtable.Writer.flush` does."""
        await self._ended(self._core.flush)

    async def close(self) -> None:
        """Flush, and stop the writer; raises as `flush` does, when all that can be stored is stored."""
        await self._ended(self._core.close)
        self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ended(self, job: Callable[[], None]) -> None:
        """Do *job*, and raise with what it raises what earlier ones did whose callers were cancelled."""
        await self._calls.run(partial(self._told, job), partial(self._missed.keep, self))

    def _told(self, job: Callable[[], None]) -> None:
        errors: list[Exception] = []
        try:
            job()
        except Exception as exc:  # noqa: BLE001 - it is raised with the others
            errors.append(exc)
        if errors := self._missed.errors(self) + errors:
            raise failed_together(f"{self.name}: a writer", errors)

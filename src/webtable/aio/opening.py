"""What is opened in a thread: to be used in an `async with` block, or awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from concurrent.futures import Future
    from types import TracebackType
    from typing import Any


class Closing(Protocol):
    """What is closed at the end of its block."""

    async def close(self) -> None:
        """Close it."""


class ClosingCore(Protocol):
    """The same of the synchronous library."""

    def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Closing)


class Opening(Generic[C]):
    """A table or a writer that is to be opened: `async with` opens and closes it, `await` opens it."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, C]]) -> None:
        self._make = make
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, None, C]:
        return self._make().__await__()

    async def __aenter__(self) -> C:
        self._opened = await self._make()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


def close_unasked(future: Future[Any]) -> None:
    """Have closed what *future* opens for somebody who does not wait for it any more."""
    future.add_done_callback(_close)


def _close(future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()

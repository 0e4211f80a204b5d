"""How components wait for what a thread does, in whichever loop their crawler runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


async def finished(future: Future[T]) -> T:
    """Return what becomes of *future*; meanwhile the loop of asyncio goes on, or Twisted's reactor where it has none.

    Scrapy runs coroutines as tasks where there is such a loop, and as Deferreds elsewhere; none can await what the
    other has.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return await _fired(future)
    return await asyncio.wrap_future(future)


def _fired(future: Future[T]) -> Deferred[T]:
    # Imported where it is needed: the import installs the default one where there is none yet.
    from twisted.internet import reactor

    deferred: Deferred[T] = Deferred()

    def fire() -> None:
        error = future.exception()
        if error is None:
            deferred.callback(future.result())
        else:
            deferred.errback(error)

    future.add_done_callback(lambda _: reactor.callFromThread(fire))
    return deferred

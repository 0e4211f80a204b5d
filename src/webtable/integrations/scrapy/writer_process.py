"""A process that completes and stores the pages of a crawl, so that the spider's interpreter does not.

Both sides send pickled tuples through a socket. The spider's side sends pages, and waits while nobody takes them: so
what is on its way is bounded by the buffer of the socket, and what has arrived by those of the writer.
"""

from __future__ import annotations

import atexit
import queue
import threading
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import webtable
from webtable._processes import Child
from webtable.errors import WriteFailed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from webtable import Page
    from webtable.writing import Receipt, Writer

_DIED = "the process that stores pages"


class PageReceipt(Future[Any]):
    """The outcome of a page that another process stores, and whether its writer has `taken` the page."""

    def __init__(self, url: str, taken: Future[None]) -> None:
        super().__init__()
        self.url = url
        self.taken = taken

    def fail(self, error: Exception) -> None:
        """Have the page fail; if it was not taken yet, that fails as well."""
        if not self.taken.done():
            self.taken.set_exception(error)
        self.set_exception(error)


class WriterProcess:
    """A writer of the table at *url* in another process, opened and made with these options.

    Raises the errors of both. A process that dies is replaced for the next page, and pages that it had not
    reported as stored fail with `WriteFailed`. All methods are for one thread.
    """

    def __init__(self, url: str, opening: dict[str, Any], options: dict[str, Any]) -> None:
        self._opening = url, opening, options
        self._numbers = count()
        self._is_closed = False
        self._start()
        atexit.register(self.close)

    def put(self, page: Page, taken: Future[None]) -> PageReceipt:
        """Send *page*, and return its receipt; *taken* is done when the writer has it in its buffer, or refused it.

        Raises `WriteFailed` if there is no process any more.
        """
        if not self._listener.is_alive() and not self._is_closed:
            self._child.end(kill=False)
            self._start()
        receipt = PageReceipt(page.url, taken)
        number = next(self._numbers)
        self._pending[number] = receipt
        try:
            self._child.pipe.send((number, page))
        except OSError as exc:
            # The thread that listens finds the same end, and fails the other pages, and perhaps this one.
            if self._pending.pop(number, None) is None:
                return receipt
            raise WriteFailed(f"{page.url[:200]} was not stored: {_DIED} {self._child.death()}") from exc
        return receipt

    def close(self) -> None:
        """Have everything stored that was put, and end the process; raises `WriteFailed` if its writer does."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        with suppress(OSError):
            self._child.pipe.send(None)
        self._listener.join()
        self._child.end(kill=False)
        if self._closing_error:
            raise WriteFailed(self._closing_error)

    def _start(self) -> None:
        self._child = Child(f"{__name__}:serve")
        self._pending: dict[int, PageReceipt] = {}
        self._closing_error: str | None = None
        try:
            self._child.pipe.send(self._opening)
            error = self._child.pipe.recv()
        except (OSError, EOFError):
            error = WriteFailed(f"the process that stores pages did not begin: it {self._child.death()}")
        except BaseException:
            self._child.end()
            raise
        if error is not None:
            self._child.end(kill=False)
            raise error
        self._listener = threading.Thread(
            target=self._listen, args=(self._child, self._pending), name="webtable-scrapy-stored", daemon=True
        )
        self._listener.start()

    def _listen(self, child: Child, pending: dict[int, PageReceipt]) -> None:
        with suppress(OSError, EOFError):
            while True:
                for number, report in child.pipe.recv():
                    if number is None:
                        self._closing_error = report
                    elif report is None:
                        pending[number].taken.set_result(None)
                    elif isinstance(report, Exception):
                        pending.pop(number).fail(report)
                    else:
                        pending.pop(number).set_result(report)
        while pending:
            _, receipt = pending.popitem()
            receipt.fail(WriteFailed(f"{receipt.url[:200]} may not be stored: {_DIED} {child.death()}"))


def serve(pipe: Connection[Any, Any]) -> None:
    """Be the process: store what comes through *pipe* until None or nothing more comes."""
    url, opening, options = pipe.recv()
    try:
        table = webtable.open(url, **opening)
        writer = table.writer(**options)
    except Exception as exc:  # noqa: BLE001 - raised on the other side
        pipe.send(exc)
        return
    pipe.send(None)
    reports = _Reports(pipe)
    error: str | None = None
    try:
        with table:
            _store_all(pipe, writer, reports)
    except Exception as exc:  # noqa: BLE001 - raised on the other side: pages that were not stored
        error = str(exc)
    reports.end(error)


def _store_all(pipe: Connection[Any, Any], writer: Writer, reports: _Reports) -> None:
    """Put the pages that come, until None, or until the spider's process has died: what has come is stored then."""
    with suppress(EOFError, ConnectionError):
        while (message := pipe.recv()) is not None:
            number, page = message
            try:
                receipt = writer.put(page)
            except Exception as exc:  # noqa: BLE001 - raised on the other side
                reports.add(number, exc)
            else:
                reports.add(number, None)
                receipt.add_done_callback(partial(reports.add_outcome, number))


class _Reports:
    """Sends what became of pages in a thread, many at once, so that nothing waits for the other side to read it."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[tuple[int | None, Any] | None] = queue.SimpleQueue()
        self._sending = threading.Thread(target=self._send, daemon=True)
        self._sending.start()

    def add(self, number: int | None, report: object) -> None:
        self._waiting.put((number, report))

    def add_outcome(self, number: int, receipt: Receipt) -> None:
        self.add(number, receipt.exception() or receipt.result())

    def end(self, error: str | None) -> None:
        if error is not None:
            self.add(None, error)
        self._waiting.put(None)
        self._sending.join()

    # While the spider's process sends pages it reads nothing: if this one waited for it, neither would go on.
    def _send(self) -> None:
        is_read = goes_on = True
        while goes_on:
            reports = [self._waiting.get()]
            while not self._waiting.empty():
                reports.append(self._waiting.get())
            goes_on = None not in reports
            if is_read:
                try:
                    self._pipe.send([report for report in reports if report is not None])
                except OSError:  # the spider's process has died
                    is_read = False

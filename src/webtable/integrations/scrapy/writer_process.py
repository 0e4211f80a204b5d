"""A process that completes and stores the pages of a crawl, so that the spider's interpreter does not.

Both sides send pickled tuples through a socket. The spider's side sends pages, and waits while nobody takes them: so
what is on its way is bounded by the buffer of the socket, and what has arrived by those of the writer.
"""

from __future__ import annotations

import atexit
import json
import queue
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import webtable
from webtable.errors import WriteFailed

if TYPE_CHECKING:
    from webtable import Page
    from webtable.writing import Receipt, Writer

_BEGIN = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from webtable.integrations.scrapy.writer_process import serve; serve(int(sys.argv[2]))"
)


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
        self._given = url, opening, options
        self._numbers = count()
        self._is_closed = False
        self._start()
        atexit.register(self.close)

    def put(self, page: Page, taken: Future[None]) -> PageReceipt:
        """Send *page*, and return its receipt; *taken* is done when the writer has it in its buffer, or refused it.

        Raises `WriteFailed` if there is no process any more.
        """
        if not self._listener.is_alive() and not self._is_closed:
            self._ended()
            self._start()
        receipt = PageReceipt(page.url, taken)
        number = next(self._numbers)
        self._pending[number] = receipt
        try:
            self._pipe.send((number, page))
        except OSError as exc:
            # The thread that listens finds the same end, and fails the other pages, and perhaps this one.
            if self._pending.pop(number, None) is None:
                return receipt
            raise WriteFailed(f"{page.url[:200]} was not stored: {self._death()}") from exc
        return receipt

    def close(self) -> None:
        """Have everything stored that was put, and end the process; raises `WriteFailed` with what its writer said."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        with suppress(OSError):
            self._pipe.send(None)
        self._listener.join()
        self._ended()
        if self._said:
            raise WriteFailed(self._said)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-P", "-c", _BEGIN, json.dumps(list(map(str, sys.path))), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the spider
            )
            self._pipe = Connection(ours.detach())
        self._pending: dict[int, PageReceipt] = {}
        self._said: str | None = None
        try:
            self._pipe.send(self._given)
            error = self._pipe.recv()
        except (OSError, EOFError):
            error = WriteFailed(f"the process that stores pages did not begin: {self._death()}")
        except BaseException:
            self._process.kill()
            self._ended()
            raise
        if error is not None:
            self._ended()
            raise error
        self._listener = threading.Thread(
            target=self._listen, args=(self._pipe, self._pending), name="webtable-scrapy-stored", daemon=True
        )
        self._listener.start()

    def _ended(self) -> None:
        self._pipe.close()
        self._process.wait()

    def _death(self) -> str:
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"the process that stores pages ended by {how}"

    def _listen(self, pipe: Connection, pending: dict[int, PageReceipt]) -> None:
        with suppress(OSError, EOFError):
            while True:
                for number, said in pipe.recv():
                    if number is None:
                        self._said = said
                    elif said is None:
                        pending[number].taken.set_result(None)
                    elif isinstance(said, Exception):
                        pending.pop(number).fail(said)
                    else:
                        pending.pop(number).set_result(said)
        while pending:
            _, receipt = pending.popitem()
            receipt.fail(WriteFailed(f"{receipt.url[:200]} may not be stored: {self._death()}"))


def serve(handle: int) -> None:
    """Be the process: store what comes through the socket *handle* until None or nothing more comes."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # it ends after the spider, which has more to store until then
    pipe = Connection(handle)
    url, opening, options = pipe.recv()
    try:
        table = webtable.open(url, **opening)
        writer = table.writer(**options)
    except Exception as exc:  # noqa: BLE001 - raised on the other side
        pipe.send(exc)
        return
    pipe.send(None)
    reports = _Reports(pipe)
    said: str | None = None
    try:
        with table:
            _store_all(pipe, writer, reports)
    except Exception as exc:  # noqa: BLE001 - raised on the other side: pages that were not stored
        said = str(exc)
    reports.end(said)


def _store_all(pipe: Connection, writer: Writer, reports: _Reports) -> None:
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

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[tuple[int | None, Any] | None] = queue.SimpleQueue()
        self._sending = threading.Thread(target=self._send, daemon=True)
        self._sending.start()

    def add(self, number: int | None, said: object) -> None:
        self._waiting.put((number, said))

    def add_outcome(self, number: int, receipt: Receipt) -> None:
        self.add(number, receipt.exception() or receipt.result())

    def end(self, said: str | None) -> None:
        if said is not None:
            self.add(None, said)
        self._waiting.put(None)
        self._sending.join()

    def _send(self) -> None:
        is_read = goes_on = True
        while goes_on:
            found = [self._waiting.get()]
            while not self._waiting.empty():
                found.append(self._waiting.get())
            goes_on = None not in found
            if is_read:
                try:
                    self._pipe.send([report for report in found if report is not None])
                except OSError:  # the spider's process has died
                    is_read = False

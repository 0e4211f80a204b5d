"""Receipts: what `put` returns, a future of what becomes of one page, for next to nothing where it is ignored."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from webtable._page.page import PageOutcome

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable, Sequence

    from webtable.repository.writing.outcomes import Outcomes

_log = logging.getLogger(__name__)


class Sender(Protocol):
    """A writer, as far as its receipts ask for it."""

    def check_process(self) -> None:
        """Raise `OtherProcess` in a process that was forked since."""

    def send_batch(self, number: int) -> None:
        """Have the batch of this *number* sent off now, if it still waits to be full."""


class Receipt(Future[PageOutcome]):
    """What becomes of one page that was given to `Writer.put`: a `concurrent.futures.Future` of its `PageOutcome`.

    `result` and `exception` return when it is known, and have what the writer still holds sent at once, so one page is
    not waited for until the batch is full or *max_age* old. A function given to `add_done_callback`, `wait` and
    `as_completed` of `concurrent.futures`, and `asyncio.wrap_future(receipt)` take it as it comes: after *max_age* at
    the latest. Such a function may put pages; what it raises is logged, as every future does it.

    `url` is the page's. A receipt that is dropped costs nothing further; a failure is reported by `flush` and `close`
    all the same. In a process that is forked from this one a receipt raises `OtherProcess`.
    """

    def __init__(self, url: str, batch: int, receipts: Receipts) -> None:
        super().__init__()
        self.url = url
        self._batch = batch
        self._receipts = receipts

    def result(self, timeout: float | None = None) -> PageOutcome:
        """Return the outcome of a page that is stored; it tells whether the content was new.

        Raises what kept the page from being stored, and `TimeoutError` where it is not known within *timeout* seconds.
        """
        self.ask()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what kept the page from being stored, None where it is; `TimeoutError` after *timeout* seconds."""
        self.ask()
        return super().exception(timeout)

    def done(self) -> bool:
        """Whether it is known what became of the page."""
        self._receipts.sender.check_process()
        return super().done()

    def cancel(self) -> bool:
        """Do nothing and return False: a page that was put is stored."""
        return False

    def add_done_callback(self, fn: Callable[[Future[PageOutcome]], object]) -> None:
        """Have *fn* called with this receipt when it is known what became of the page, at once where it is."""
        self._receipts.sender.check_process()
        if not self._receipts.keep(self, fn):
            self.tell(fn)

    def tell(self, fn: Callable[[Future[PageOutcome]], object]) -> None:
        """Call *fn*, and log what it raises."""
        try:
            fn(self)
        except Exception:  # noqa: BLE001 - it is the caller's, and the writer goes on
            _log.exception("exception calling callback for the receipt of %s", self.url)

    def settle(self, outcome: PageOutcome) -> None:
        """Let those go on who wait for *outcome*; it is told to no function here."""
        if outcome.error is None:
            self.set_result(outcome)
        else:
            self.set_exception(outcome.error)

    def ask(self) -> None:
        """Have the page sent off, if it waits for its batch to be full."""
        if not self.done():
            self._receipts.sender.send_batch(self._batch)


class Receipts:
    """The receipts of one writer. Those that nobody holds, and that tell no function, are gone."""

    def __init__(self, sender: Sender, outcomes: Outcomes) -> None:
        self.sender = sender
        self._outcomes = outcomes
        self._lock = threading.Lock()
        self._told: dict[Receipt, list[Callable[[Future[PageOutcome]], object]]] = {}

    def keep(self, receipt: Receipt, fn: Callable[[Future[PageOutcome]], object]) -> bool:
        """Keep *receipt*, to tell *fn* of it later; False where it is settled."""
        with self._lock:
            if receipt.done():
                return False
            self._told.setdefault(receipt, []).append(fn)
            return True

    def settle(self, receipts: Sequence[weakref.ref[Receipt]], outcomes: Sequence[PageOutcome]) -> bool:
        """Give each of *receipts* its outcome, and return whether there are functions to be told of it."""
        calls: list[tuple[Callable[[Any], object], Any]] = []
        for reference, outcome in zip(receipts, outcomes, strict=True):
            receipt = reference()
            if receipt is None or receipt.done():
                continue
            receipt.settle(outcome)
            with self._lock:
                calls += [(receipt.tell, fn) for fn in self._told.pop(receipt, ())]
        self._outcomes.add_calls(calls)
        return bool(calls)

    def after_fork(self) -> None:
        """Forget them: they are the parent's."""
        self._lock = threading.Lock()
        self._told = {}

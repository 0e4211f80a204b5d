"""The outcomes of pages, reported to the caller by a callback, by a receipt, or as an error."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from logging import ERROR
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.errors import ExpiredCapture, WebTableError, WriteFailed

if TYPE_CHECKING:
    import weakref


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """The outcome of a page that was put: the page is stored if `error` is None.

    `is_new` is True if its content differs from the newest that was stored before. If the table keeps a limited number
    of contents for each page, `pushed_out` is how many older ones this page replaced, and `is_kept` is False if the
    page is older than all that are kept, so that it will never be read. `replaced` is True if another content that was
    stored with the same date, to the millisecond, is dropped for it.
    """

    url: str
    fetched_at: datetime
    error: WebTableError | None = None
    is_new: bool = True
    pushed_out: int = 0
    is_kept: bool = True
    replaced: bool = False


class RefusedRow(NamedTuple):
    """A row of a table that was not put: its number, from 1, its URL if it has one, and the reason."""

    row: int
    url: str | None
    error: WebTableError

    def __str__(self) -> str:
        return f"row {self.row:,}{f' ({self.url[:100]})' if self.url else ''}: {self.error}"


def refused_rows(failures: Sequence[RefusedRow], rows: int) -> WriteFailed:
    """Return the error that names those of *rows* rows that were not put."""
    more = f"; and {len(failures) - 3:,} more" if len(failures) > 3 else ""
    reasons = "; ".join(map(str, failures[:3]))
    return WriteFailed(f"{len(failures):,} of {rows:,} row{'s'[: rows > 1]} not stored: {reasons}{more}", failures)


@dataclass(slots=True)
class Dropped:
    """How many contents were dropped so far: because of the limits of a table, or for another one of the same date.

    Because of its number of `versions`: `older` contents that newer ones replaced, and `late` captures that are older
    than all that are kept, so that they will never be read. Because of its `ttl`: `expired` captures, which are refused
    with `ExpiredCapture`. `replaced` contents had the same URL and the same millisecond as one that was stored later.
    """

    older: int = 0
    late: int = 0
    expired: int = 0
    replaced: int = 0

    def __bool__(self) -> bool:
        return bool(self.older or self.late or self.expired or self.replaced)

    def note(self, outcome: PageOutcome) -> None:
        """Count the contents that were dropped for the page of *outcome*."""
        if outcome.error is None:
            self.older += outcome.pushed_out
            self.late += not outcome.is_kept
            self.replaced += outcome.replaced
        else:
            self.note_error(outcome.error)

    def note_error(self, error: Exception) -> None:
        """Count a page that was refused with *error*, if the reason is its age."""
        self.expired += isinstance(error, ExpiredCapture)

    def add(self, other: Dropped) -> None:
        """Add the counts of *other*."""
        self.older, self.late = self.older + other.older, self.late + other.late
        self.expired, self.replaced = self.expired + other.expired, self.replaced + other.replaced


OutcomeCallback = Callable[[PageOutcome], None]


@dataclass(frozen=True, slots=True)
class Retry:
    """A batch that is sent again: its `pages` that are not stored, the `error`, and the `seconds` since it was sent."""

    pages: int
    error: WebTableError
    seconds: float


RetryCallback = Callable[[Retry], None]


# Functions are called without a lock held, since they may put pages; several threads have outcomes to report, and the
# caller's functions must not run at the same time.
class Callbacks:
    """Calls of the caller's functions that are due, made one after another, by one thread at a time.

    *on_outcome*, if there is one, is called for every page; functions that were added to a receipt, for its page.
    """

    def __init__(self, on_outcome: OutcomeCallback | None) -> None:
        self._on_outcome = on_outcome
        self._waiting: deque[tuple[Callable[[Any], object], Any]] = deque()
        self._delivering = threading.Lock()
        self._deliverer: int | None = None

    @property
    def has_callback(self) -> bool:
        """Whether *on_outcome* reports every page, so that no error needs to name the failed ones."""
        return self._on_outcome is not None

    def add(self, outcomes: Iterable[PageOutcome]) -> None:
        """Add outcomes to be delivered."""
        if self._on_outcome is not None:
            self._waiting.extend((self._on_outcome, outcome) for outcome in outcomes)

    def add_calls(self, calls: Iterable[tuple[Callable[[Any], object], Any]]) -> None:
        """Add functions to be called, each with its argument."""
        self._waiting.extend(calls)

    def is_delivering(self) -> bool:
        """Whether this thread is within one of the caller's functions."""
        return self._deliverer == threading.get_ident()

    def deliver(self, *, wait: bool = False) -> list[Exception]:
        """Call the caller's functions, and return their exceptions; one that raises does not stop the others.

        Must not be called with a lock held, since a function may put pages. If another thread is delivering, that
        thread makes all calls; with *wait* this one waits for it.
        """
        errors: list[Exception] = []
        # Repeated for calls that were added as the last turn ended. If this thread is delivering further up the stack,
        # that turn makes the calls. The last call of another thread is waited for too: it may put a page.
        while (self._waiting or (wait and self._deliverer)) and not self.is_delivering():
            if not self._delivering.acquire(blocking=wait):
                break
            self._deliverer = threading.get_ident()
            try:
                while self._waiting:
                    function, argument = self._waiting.popleft()
                    try:
                        function(argument)
                    except Exception as exc:  # noqa: BLE001 - raised to the caller, whose function it is
                        errors.append(exc)
            finally:
                self._deliverer = None
                self._delivering.release()
        return errors


# The writer does not hold its receipts: most callers ignore them, and a batch has only weak references. Only `result`
# and `exception` send a batch early, since callbacks are added for thousands of pages.
class Receipt(Future[PageOutcome]):
    """A `concurrent.futures.Future` of the `PageOutcome` of one page, returned by `Writer.put`.

    `result` and `exception` wait for the outcome, and make the writer send its buffer at once, instead of when it is
    full or *max_age* old. `add_done_callback`, `wait` and `as_completed` of `concurrent.futures`, and
    `asyncio.wrap_future(receipt)` do not: with them the outcome comes after *max_age* at the latest. A callback may put
    pages; an exception that it raises is logged, as with any future.

    `url` is that of the page. A receipt need not be kept: `flush` and `close` report failures in any case. In a process
    forked from this one a receipt raises `OtherProcess`.
    """

    def __init__(self, url: str, batch: int, receipts: Receipts) -> None:
        super().__init__()
        self.url = url
        self._batch = batch
        self._receipts = receipts

    def result(self, timeout: float | None = None) -> PageOutcome:
        """Return the outcome of the page, once it is stored.

        Raises the error if the page was not stored, and `TimeoutError` if that is not known within *timeout* seconds.
        """
        self._send()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error of a page that was not stored, else None; raises `TimeoutError` after *timeout* seconds."""
        self._send()
        return super().exception(timeout)

    def done(self) -> bool:
        """Whether the outcome of the page is known."""
        self._receipts.check_process()
        return super().done()

    def cancel(self) -> bool:
        """Do nothing and return False: a page that was put is stored."""
        return False

    def add_done_callback(self, fn: Callable[[Future[PageOutcome]], object]) -> None:
        """Have *fn* called with this receipt when the outcome is known; at once if it is known already."""
        self._receipts.check_process()
        if not self._receipts.keep(self, fn):
            self._call(fn)

    def _call(self, fn: Callable[[Future[PageOutcome]], object]) -> None:
        """Call *fn*, and log its exception, if any."""
        try:
            fn(self)
        except Exception:  # noqa: BLE001 - an error of the caller's function does not stop the writer
            text = f"exception calling callback for the receipt of {self.url}"
            self._receipts.log(ERROR, "callback", text, 0.0, exc_info=True)

    def _settle(self, outcome: PageOutcome) -> None:
        """Set the outcome, for threads that wait for it; callbacks are called elsewhere."""
        if outcome.error is None:
            self.set_result(outcome)
        else:
            self.set_exception(outcome.error)

    def _send(self) -> None:
        """Have the page sent, if it waits for its batch to be full."""
        if not self.done():
            self._receipts.send_batch(self._batch)


class Receipts:
    """The receipts of one writer that have callbacks; the others live as long as the caller keeps them."""

    def __init__(
        self,
        check_process: Callable[[], None],
        send_batch: Callable[[int], None],
        outcomes: Callbacks,
        log: Callable[..., None],
    ) -> None:
        self.log = log
        """Counts and logs an event, as `TableContext.log`."""
        self.check_process = check_process
        """Raises `OtherProcess` in a process that was forked from the writer's."""
        self.send_batch = send_batch
        """Has the batch with a number sent now, if it still waits for more pages."""
        self._outcomes = outcomes
        self._lock = threading.Lock()
        self._callbacks: dict[Receipt, list[Callable[[Future[PageOutcome]], object]]] = {}

    def keep(self, receipt: Receipt, fn: Callable[[Future[PageOutcome]], object]) -> bool:
        """Keep *receipt* until it is settled, to call *fn* then; False if it is settled already."""
        with self._lock:
            if receipt.done():
                return False
            self._callbacks.setdefault(receipt, []).append(fn)
            return True

    def settle(self, receipts: Sequence[weakref.ref[Receipt]], outcomes: Sequence[PageOutcome]) -> bool:
        """Give each of *receipts* its outcome, and return whether there are callbacks to call."""
        calls: list[tuple[Callable[[Any], object], Any]] = []
        for reference, outcome in zip(receipts, outcomes, strict=True):
            receipt = reference()
            if receipt is None or receipt.done():
                continue
            receipt._settle(outcome)
            with self._lock:
                calls += [(receipt._call, fn) for fn in self._callbacks.pop(receipt, ())]
        self._outcomes.add_calls(calls)
        return bool(calls)

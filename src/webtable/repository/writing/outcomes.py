"""What became of pages, reported to whoever put them: by a function, by a receipt, or as an error."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from webtable.errors import ExpiredCapture, WebTableError

if TYPE_CHECKING:
    import weakref
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """What happened to a page that was given to a writer. It is stored if `error` is None.

    `is_new` tells whether its content differs from the newest that was stored before. Where the table keeps a limited
    number of contents of a page, `pushed_out` is how many older ones this has taken the place of, and `is_kept` is
    False where it is older than all that are kept itself: nobody will see it.
    """

    url: str
    fetched_at: datetime
    error: WebTableError | None = None
    is_new: bool = True
    pushed_out: int = 0
    is_kept: bool = True


@dataclass(slots=True)
class Dropped:
    """How many contents the limits of a table have dropped, so far.

    By its number of `versions`: `older` ones that newer ones have pushed out, and `late` captures that are older than
    all that are kept, so that nobody will see them. By its `ttl`: `expired` captures, which are refused as
    `ExpiredCapture`.
    """

    older: int = 0
    late: int = 0
    expired: int = 0

    def __bool__(self) -> bool:
        return bool(self.older or self.late or self.expired)

    def note(self, outcome: PageOutcome) -> None:
        """Count what was dropped for the page of *outcome*."""
        if outcome.error is None:
            self.older += outcome.pushed_out
            self.late += not outcome.is_kept
        else:
            self.note_error(outcome.error)

    def note_error(self, error: Exception) -> None:
        """Count the page that was refused because of *error*, where that is its age."""
        self.expired += isinstance(error, ExpiredCapture)

    def add(self, other: Dropped) -> None:
        """Count what *other* has counted as well."""
        self.older, self.late = self.older + other.older, self.late + other.late
        self.expired += other.expired


OutcomeCallback = Callable[[PageOutcome], None]


class Callbacks:
    """What functions of the caller are to be told, one after another, by one thread at a time.

    *on_outcome* is told of every page, where there is such a function; others of the pages whose receipts they got.
    """

    def __init__(self, on_outcome: OutcomeCallback | None) -> None:
        self._on_outcome = on_outcome
        self._waiting: deque[tuple[Callable[[Any], object], Any]] = deque()
        self._delivering = threading.Lock()
        self._deliverer: int | None = None

    @property
    def tells_all(self) -> bool:
        """Whether the caller's function is told of every page, so that no error has to name those that failed."""
        return self._on_outcome is not None

    def add(self, outcomes: Iterable[PageOutcome]) -> None:
        """Take outcomes to be delivered."""
        if self._on_outcome is not None:
            self._waiting.extend((self._on_outcome, outcome) for outcome in outcomes)

    def add_calls(self, calls: Iterable[tuple[Callable[[Any], object], Any]]) -> None:
        """Take functions to be called, each with its argument."""
        self._waiting.extend(calls)

    def is_delivering(self) -> bool:
        """Whether it is a function of the caller that is at work here, in this thread."""
        return self._deliverer == threading.get_ident()

    def deliver(self, *, wait: bool = False) -> list[Exception]:
        """Call the caller's functions, and return what they have raised.

        The next one is called all the same. Not to be called with a lock held: a function may put pages itself. Where
        another thread is at it, that goes on to the last of them; with *wait* this one waits for it.
        """
        errors: list[Exception] = []
        # Again, for what came while the last turn ended. This thread may be at it further up, which then goes on to the
        # last of them.
        while self._waiting and not self.is_delivering() and self._delivering.acquire(blocking=wait):
            self._deliverer = threading.get_ident()
            try:
                while self._waiting:
                    function, told = self._waiting.popleft()
                    try:
                        function(told)
                    except Exception as exc:  # noqa: BLE001 - it is the caller's, and raised to the caller
                        errors.append(exc)
            finally:
                self._deliverer = None
                self._delivering.release()
        return errors

    def after_fork(self) -> None:
        """Leave the outcomes to the parent."""
        self._delivering = threading.Lock()
        self._waiting.clear()


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

    def __init__(self, sender: Sender, outcomes: Callbacks) -> None:
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

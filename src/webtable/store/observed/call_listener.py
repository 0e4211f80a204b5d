"""A meter that also tells a listener of each call of its store: when it began, and what became of it."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from webtable._clock import clock
from webtable.store.observed.meter import Measured, Meter, Size

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from webtable.errors import StoreError
    from webtable.store.observed.metrics import OperationMetrics
    from webtable.store.port import Store
    from webtable.store.rows import Mutation, Row

T = TypeVar("T")


class HeardCall(Protocol):
    """A call that is under way, as a listener has it."""

    def ended(self, rows: int | None, error: BaseException | None) -> object:
        """Take how many rows it read or stored (None where that is not known), and its *error*."""


class CallListener(Protocol):
    """Hears of the calls of a store, in the thread that makes them; what it raises, the caller gets."""

    def __call__(self, operation: str, table: str, asked: int | None, began: int) -> HeardCall:
        """Take a call that *began* then (nanoseconds since 1970); a write was *asked* for so many rows."""


class _Outcome:
    """What is known of a call until now."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.error: BaseException | None = None


class HeardMeter(Meter):
    """Counts what *meter* counts, in the same places, and tells *listener* of each call."""

    def __init__(self, meter: Meter, listener: CallListener) -> None:
        self.meter = meter
        self.events = meter.events
        self._listener = listener

    def taken(self) -> dict[str, OperationMetrics]:
        """Return what was measured until now, by operation."""
        return self.meter.taken()

    def asked(
        self, store: Measured, operation: str, table: str, do: Callable[[], T], size_of: Callable[[T], Size]
    ) -> T:
        """Return what `do()` returns; *size_of* tells its size."""
        with self._heard(operation, table) as outcome:

            def sized(found: T) -> Size:
                size = size_of(found)
                outcome.rows = size[0]
                return size

            return self.meter.asked(store, operation, table, do, sized)

    def written(
        self, store: Measured, table: str, mutations: Sequence[Mutation], do: Callable[[], list[StoreError | None]]
    ) -> list[StoreError | None]:
        """Return what became of *mutations*, which `do()` returns; the first error among it is the call's."""
        with self._heard("write", table, asked=len(mutations)) as outcome:
            outcomes = self.meter.written(store, table, mutations, do)
            outcome.rows = outcomes.count(None)
            outcome.error = next((error for error in outcomes if error is not None), None)
            return outcomes

    def scanned(self, store: Measured, table: str, do: Callable[[], Iterator[Sequence[Row]]]) -> Iterator[Row]:
        """Return the rows of the pieces that `do()` returns; the call ends when they do, or nobody wants more.

        One of which no row is ever asked for is not heard of, unless it fails before.
        """
        began = clock.nanoseconds()
        try:
            rows = self.meter.scanned(store, table, do)
        except BaseException:
            with self._heard("scan", table, began=began):
                raise
        return self._until_ended(table, rows, began)

    def _until_ended(self, table: str, rows: Iterator[Row], began: int) -> Generator[Row, None, None]:
        with self._heard("scan", table, began=began) as outcome, closing(rows):  # type: ignore[type-var]
            outcome.rows = 0
            for row in rows:
                outcome.rows += 1
                yield row

    @contextmanager
    def _heard(
        self, operation: str, table: str, *, asked: int | None = None, began: int | None = None
    ) -> Iterator[_Outcome]:
        begin = clock.nanoseconds() if began is None else began
        call, outcome = self._listener(operation, table, asked, begin), _Outcome()
        try:
            yield outcome
        except GeneratorExit:  # of a scan nobody wants more
            raise
        except BaseException as error:
            outcome.error = error
            raise
        finally:
            call.ended(outcome.rows, outcome.error)


def listen_to(store: Store, listener: CallListener) -> Callable[[], None]:
    """Tell *listener* of the calls of *store*, and return what ends that."""
    before = store.meter
    store.meter = HeardMeter(before, listener)

    def end() -> None:
        store.meter = before

    return end

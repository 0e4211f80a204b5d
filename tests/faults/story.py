"""What the log and the metrics tell of a table that is being hurt, and whether that is what has happened.

with told(table) as story, Load(table, ledger) as load:
    ...
assert story.contradictions(load.findings.errors, {proxy.port: proxy.injected()}) == []
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from webtable.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webtable import KeyedTable, WebTable
    from webtable.metrics import Metrics

BREAKS = ("refuse", "mute", "cut", "reset", "half-close")
"""The faults of the proxy that end a connection while a call is on it."""
TROUBLE = ("down", "dropped", "slow", "slow-call", "retry", "failed")
"""The events that tell of a gateway that does not answer, or not in time."""


class Story:
    """The records that `webtable` has logged of one store, and the metrics before and after; see `told`."""

    def __init__(self, before: Metrics, *, is_native: bool = False) -> None:
        self.is_native = is_native
        self.records: list[Any] = []
        self.before = self.after = before

    def events(self) -> Counter[str]:
        """Return how often each event was logged."""
        return Counter(record.event for record in self.records)

    def of(self, *events: str, port: int | None = None) -> list[Any]:
        """Return the records of *events*, all of them or those of the gateway at *port*, as they came."""
        found = [record for record in self.records if record.event in events]
        return [record for record in found if port is None or _is_at(record.store, port)]

    def counted(self) -> Counter[str]:
        """Return how often each event was counted meanwhile."""
        return Counter(self.after.events) - Counter(self.before.events)

    def away(self) -> list[tuple[str, float, float | None]]:
        """Return each time that a gateway was down: its name, from when and until when (None: it still is)."""
        found: list[tuple[str, float, float | None]] = []
        for record in self.of("down"):
            ups = [up.created for up in self.of("up") if up.store == record.store and up.created >= record.created]
            found.append((record.store, record.created, min(ups, default=None)))
        return found

    def contradictions(
        self, errors: Mapping[str, int] | None = None, injected: Mapping[int, Mapping[str, int]] | None = None
    ) -> list[str]:
        """Return where log, metrics, the *errors* of callers, and what was *injected* by port disagree."""
        found = [*self._counts(), *self._errors(errors or {})]
        if self.is_native:  # its connections are counted, and not logged
            return found
        found += self._gateways()
        for port, faults in (injected or {}).items():
            found += self._breaks(faults, port)
        return found

    def _counts(self) -> Iterator[str]:
        """Compare what was logged with what was counted: every event, the retries and the calls that failed."""
        logged, counted = self.events(), self.counted()
        for event in sorted({*logged, *counted}):
            if logged[event] != counted[event]:
                yield f"{event} was logged {logged[event]} times and counted {counted[event]} times"
        retries = self.after.retries - self.before.retries
        if retries != (told := len(self.of("retry", "resent"))):
            yield f"{retries} retries are counted and {told} logged"
        failed = self.after.failed - self.before.failed
        if failed != logged["failed"]:
            yield f"{failed} calls have failed and {logged['failed']} are logged"

    def _gateways(self) -> Iterator[str]:
        """Compare the connections that each gateway has dropped with the log."""
        before = {one.name: one.dropped for one in self.before.servers}
        for one in self.after.servers:
            dropped = one.dropped - before.get(one.name, 0)
            told = sum(record.store == one.name for record in self.of("dropped"))
            if dropped != told:
                yield f"{one.name} has dropped {dropped} connections and {told} are logged"
            if one.in_use + one.idle > one.opened:
                yield f"{one.name} has {one.in_use} connections in use and {one.idle} idle of {one.opened} opened"

    def _errors(self, errors: Mapping[str, int]) -> Iterator[str]:
        """Look for a failed call behind each kind of error of the store's that a caller was given."""
        kinds = {one.__name__ for one in _kinds(StoreError)}
        told = {record.getMessage().rpartition(": ")[2] for record in self.of("failed")}
        for kind in sorted(kinds.intersection(errors) - told - {"DamagedRow"}):
            yield f"{errors[kind]} times a caller got {kind}, and no call is logged that failed with it"

    def _breaks(self, injected: Mapping[str, int], port: int) -> Iterator[str]:
        """Compare the connections that were broken with those that are told as dropped, or as not to be had.

        A changed byte may break one too, and one that brings no answer in time is dropped whoever is late.
        """
        broken = sum(injected.get(kind, 0) for kind in BREAKS)
        dropped, down = len(self.of("dropped", port=port)), len(self.of("down", port=port))
        if not broken <= dropped + (injected.get("refuse", 0) if down else 0):
            yield f"{broken} connections to port {port} were broken and {dropped} told as dropped, {down} as down"
        late = sum("no answer within" in record.getMessage() for record in self.of("dropped", port=port))
        if dropped - late > broken + injected.get("corrupt", 0):
            yield f"{dropped} connections to port {port} are told as dropped, {late} of them late; {broken} were broken"


@contextmanager
def told(table: WebTable | KeyedTable) -> Iterator[Story]:
    """Give what is told of the store of *table* while the block runs, complete when it has ended."""
    name, logger, handler = table.store.name, logging.getLogger("webtable"), logging.Handler()
    story = Story(table.metrics, is_native=name.startswith("hbase+native:"))

    def keep(record: Any) -> None:
        if record.store == name or record.store.startswith(f"{name} "):
            story.records.append(record)

    handler.emit = keep  # type: ignore[method-assign]
    handler.addFilter(lambda record: hasattr(record, "event"))
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield story
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        story.after = table.metrics


def _is_at(gateway: str, port: int) -> bool:
    """Whether *gateway* is the one at *port*, which may be named behind that of Thrift1."""
    last = gateway.rpartition(" at ")[2] if " at " in gateway else gateway
    return last.rstrip(")").endswith(f":{port}")


def _kinds(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)

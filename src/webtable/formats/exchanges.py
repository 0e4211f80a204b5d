"""Responses of a WARC file and their requests, which may come before or after them.

A response is held until its request is known, or until so many records follow that it counts as one to a GET without a
request. Its request is the one that it names, or that names it (WARC-Concurrent-To); where neither names any, the one
next to it with its URI, or else the first one with its URI and date.

Reading can go on only where no exchange is torn, or what is read from there would be taken for something else. So each
record is told whether it begins at such a place.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from webtable.page.methods import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_RECORDS = 1_000
"""How many records lie between a response and its request at most."""
MOST_OF_PIPE = 16
"""The same in a pipe: its pages are not to wait for a long time, as what follows may."""
MOST_BYTES = 1 << 24
"""How many bytes of records lie between them at most, which are held in memory."""
_MOST_NAMED: Final = 16
_ID: Final = re.compile(r"<[^<>]*>|[^\s,<>]+")
_RESPONSES: Final = frozenset({"response", "revisit"})


@dataclass(slots=True, eq=False)
class ExchangeRecord:
    """A record of this *kind*, with these *headers* by their names in lower case, of *size* bytes."""

    kind: str
    headers: Mapping[str, str]
    size: int
    request: Request | None = None
    """Of a request, what it asks; of a response, what its request asked, None as long as that is not known."""
    is_request: bool = False
    is_response: bool = False
    is_open: bool = False
    """Whether the other record of its exchange was not read yet, and may follow."""
    number: int = 0
    before: int = 0
    """Bytes of the records before it."""
    reach: int = 0
    """The number of the later record of its exchange."""
    is_start: bool = True
    """Whether no exchange is torn by reading from this record on."""
    uri: str = ""
    moment: tuple[str, str] = ("", "")
    id: str = ""
    named: tuple[str, ...] = ()


K = TypeVar("K")
R = TypeVar("R", bound=ExchangeRecord)


def kind_of(headers: Mapping[str, str]) -> str:
    """Return the kind of the record with these *headers*."""
    return headers.get("warc-type", "unknown").lower()


class Exchanges(Generic[R]):
    """The records of a file, in their order: put each with `add`, and take those whose request is known with `taken`.

    Requests are looked for among *most* records before and after a response.
    """

    def __init__(self, most: int = MOST_RECORDS) -> None:
        self._most = most
        self._held: deque[R] = deque()
        self._open: dict[int, R] = {}
        """The open ones, which are no more than *most*, by their numbers, in the order of these."""
        self._by_id: dict[str, R] = {}
        self._naming: dict[str, list[R]] = {}
        self._by_moment: dict[tuple[str, str], list[R]] = {}
        self._last: R | None = None
        self.count: int = 0
        """How many were put."""
        self._bytes = self._reach = 0
        self._is_whole = True

    def add(self, record: R) -> None:
        """Add the next record of the file."""
        record.number = record.reach = self.count = self.count + 1
        record.before = self._bytes
        self._bytes += record.size
        self._held.append(record)
        record.is_request, record.is_response = record.kind == "request", record.kind in _RESPONSES
        if record.is_request or record.is_response:
            _identify(record)
            other = self._other_of(record)
            if other is None:
                self._keep(record)
            else:
                self._join(other, record)
        self._last = record
        self._expire()

    def taken(self) -> Iterator[R]:
        """Yield and remove the records up to the first response whose request may follow."""
        while self._held and not (self._held[0].is_open and self._held[0].is_response):
            yield self._take()

    def rest(self) -> Iterator[R]:
        """Yield and remove all records: nothing follows."""
        for record in list(self._open.values()):
            self._forget(record)
        self._last = None
        while self._held:
            yield self._take()

    def _take(self) -> R:
        record = self._held.popleft()
        record.is_start = self._is_whole
        self._reach = max(self._reach, record.reach)
        first = next(iter(self._open), None)
        self._is_whole = self._reach <= record.number and (first is None or first > record.number)
        return record

    def _other_of(self, record: R) -> R | None:
        """Return the open record of the exchange of *record*; None if it was not read yet."""
        last = self._last
        if not record.named:
            if last is not None and last.is_open and not last.named and _are_neighbours(last, record):
                return last
            others = self._by_moment.get(record.moment, [])
            if others and _fits(others[0], record):
                return others[0]
        for name in (record.id, *record.named):
            # All of a list are requests, or all are responses: two that fit would have been joined.
            others = self._naming.get(name, [])[:1]
            if name in record.named and (other := self._by_id.get(name)) is not None:
                others = [*others, other]
            for other in others:
                if _fits(other, record):
                    return other
        return None

    def _join(self, other: R, record: R) -> None:
        self._forget(other)
        response, request = (other, record) if other.is_response else (record, other)
        response.request = request.request
        other.reach = record.number
        if not self._held or other.number < self._held[0].number:  # it was taken already
            self._reach = max(self._reach, record.number)

    def _keep(self, record: R) -> None:
        record.is_open = True
        self._open[record.number] = record
        if record.id:
            self._by_id.setdefault(record.id, record)
        for name in record.named:
            self._naming.setdefault(name, []).append(record)
        if not record.named:
            self._by_moment.setdefault(record.moment, []).append(record)

    def _forget(self, record: R) -> None:
        record.is_open = False
        del self._open[record.number]
        if self._by_id.get(record.id) is record:
            del self._by_id[record.id]
        for name in record.named:
            _remove(self._naming, name, record)
        if not record.named:
            _remove(self._by_moment, record.moment, record)

    def _expire(self) -> None:
        while self._open:
            first = next(iter(self._open.values()))
            if self.count - first.number < self._most and self._bytes - first.before - first.size <= MOST_BYTES:
                return
            self._forget(first)


def _identify(record: ExchangeRecord) -> None:
    headers = record.headers
    record.uri = headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    record.moment = (record.uri, headers.get("warc-date", ""))
    record.id = headers.get("warc-record-id", "").strip("<> ")
    named = headers.get("warc-concurrent-to")
    if named:
        record.named = tuple(dict.fromkeys(name.strip("<>") for name in _ID.findall(named)[:_MOST_NAMED]))


def _fits(one: ExchangeRecord, other: ExchangeRecord) -> bool:
    return one.is_request != other.is_request


def _are_neighbours(last: ExchangeRecord, record: ExchangeRecord) -> bool:
    # A request may be dated before its response. One behind a response with another date is that of the next one.
    return _fits(last, record) and last.uri == record.uri and (last.is_request or last.moment == record.moment)


def _remove(lists: dict[K, list[R]], key: K, record: R) -> None:
    records = lists[key]
    records.remove(record)
    if not records:
        del lists[key]

"""Changed rows of hosts, kept in bounded memory until their pages are counted, and a reader of the pages in spans."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.errors import DamagedRow, InvalidURL, KeyFormatError
from webtable.repository.context import Frame
from webtable.repository.reading.damage import Damage
from webtable.rowkey import KeyRange, WebKey, merged
from webtable.rowkey.web import host_and_rest
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from webtable.store import Row

MOST_BYTES: Final = 32 * 2**20
"""About how much memory changes may take before they are joined; sorting them takes twice as much again."""
_A_ROW: Final = 75
"""About how many bytes a row, or an end of a span, takes there besides its key."""
_A_SPAN: Final = 70
"""The bytes that the pair of both ends takes besides them."""
_CUTS: Final = 4
"""How many of 256 rows begin a new part."""
PART_ROWS: Final = 256 // _CUTS
"""How many rows a part has on average."""

Span = tuple[bytes, bytes]
"""The first and the last row that have changed; the same row twice if only one has."""


class HostChange(NamedTuple):
    """The rows of one host that are to be counted: those in *spans*, or all of them if it *is_whole*."""

    host: str
    spans: Sequence[Span]
    is_whole: bool


@dataclass(slots=True)
class HostChanges:
    """Rows to be counted, whose page is new, deleted or has another size, and hosts to be counted as a *whole*."""

    key: WebKey
    damage: Damage
    """Gets the rows that are not valid row keys."""
    whole: set[str] = field(default_factory=set)
    weight: int = 0
    """How many bytes of memory the changes take."""
    _rows: set[bytes] = field(default_factory=set)
    _spans: list[Span] = field(default_factory=list)

    def add(self, rows: Iterable[bytes], whole: Iterable[str] = ()) -> None:
        """Add *rows*, and the hosts that are to be counted as a *whole*."""
        rows, whole = set(rows) - self._rows, set(whole) - self.whole
        self._rows |= rows
        self.whole |= whole
        self.weight += sum(_A_ROW + len(one) for one in (*rows, *whole))

    def join(self) -> None:
        """Free memory: join neighbouring rows that no cut divides to spans of a first and a last row.

        A span may contain rows, and whole parts, that have not changed. These are few if most rows of a host have
        changed, as when it is first stored; if few have, most of the host is read for them. A row at which a part
        begins stays the first of its span.
        """
        joined: list[Span] = []
        before = ""
        for host, (first, last) in self._by_rows():
            if joined and host == before and (first == joined[-1][0] or not is_cut(first)):
                joined[-1] = joined[-1][0], max(joined[-1][1], last)
            else:
                joined.append((first, last))
            before = host
        self._rows = {first for first, last in joined if first == last}
        self._spans = [span for span in joined if span[0] != span[1]]
        ends = chain.from_iterable(self._spans)
        self.weight = _A_SPAN * len(self._spans) + sum(_A_ROW + len(one) for one in chain(self._rows, ends, self.whole))

    def of_hosts(self) -> Iterator[HostChange]:
        """Yield the changes of each host."""
        left, spans = set(self.whole), self._by_rows()
        if self.key.salt.source == "url":  # with other salts the rows of a host are neighbours
            spans = iter(sorted(spans))
        for host, some in groupby(spans, key=itemgetter(0)):
            yield HostChange(host, [span for _, span in some], host in left)
            left.discard(host)
        for host in sorted(left):
            yield HostChange(host, (), is_whole=True)

    def _by_rows(self) -> Iterator[tuple[str, Span]]:
        """Yield the spans with their hosts, in the order of their rows."""
        host, stop = "", b"\x00"  # rows before *stop* have the same host, so their keys need not be decoded
        for first, last in sorted([*self._spans, *((row, row) for row in self._rows)]):
            if stop and first >= stop:
                try:
                    host, _ = host_and_rest(self.key.url_of(first))
                    keys = self.key.host_range_of(first, host)
                except (KeyFormatError, InvalidURL) as exc:
                    self.damage.add(DamagedRow(first, None, f"the queue: {exc}"))
                    continue
                if keys is None:
                    self.damage.add(DamagedRow(first, None, f"the queue: the row does not belong to {host}"))
                    continue
                stop = keys.stop
            yield host, (first, last)


def is_cut(row: bytes) -> bool:
    """Whether a part begins at the page with the key *row*, as it does at one row of 64."""
    return hashlib.md5(row, usedforsecurity=False).digest()[0] < _CUTS


Sized = tuple[bytes, int]
"""The key of a page, and the size of its body in bytes."""
MOST_BETWEEN = 16
"""How many rows outside the spans a scan may read before the next span; opening another scan costs as much."""
MOST_ALONE = 4
"""After how many successive scans that reached only one span each span gets its own scan."""


@dataclass(frozen=True, slots=True)
class SpanReader:
    """Reads the pages in spans of keys of one web table; unreadable rows are added to *damage*."""

    frame: Frame
    damage: Damage

    def read(self, spans: Sequence[KeyRange]) -> Iterator[Sized]:
        """Yield the pages in *spans*, in the order of their keys."""
        for row in self._rows(merged(spans)):
            try:
                page = self.frame.codec.page(row)
            except DamagedRow as exc:
                self.damage.add(exc)
                continue
            if page is not None:
                yield row.key, page.size or 0

    def _rows(self, spans: list[KeyRange]) -> Iterator[Row]:
        if self.frame.store.capabilities.scans_ranges_separately:
            at = alone = 0
            while at < len(spans) and alone < MOST_ALONE:
                begun = at
                at = yield from self._near(spans, at)
                alone = alone + 1 if at == begun + 1 else 0
            spans = spans[at:]
        if spans:
            yield from self._scan(spans)

    def _near(self, spans: Sequence[KeyRange], at: int) -> Generator[Row, None, int]:
        """Yield the rows of the spans that one scan from the place *at* reaches, and return the place after them."""
        between = 0
        for row in self._scan([KeyRange(spans[at].start, spans[-1].stop)]):
            while at < len(spans) and spans[at].stop and row.key >= spans[at].stop:
                at += 1
                between = 0
            if at < len(spans) and row.key >= spans[at].start:
                yield row
            elif (between := between + 1) > MOST_BETWEEN:
                return at
        return len(spans)

    def _scan(self, spans: Sequence[KeyRange]) -> Iterator[Row]:
        return self.frame.store.scan(self.frame.table, spans, Wanted([self.frame.codec.columns.page]))

"""A run over the queue: what it names is counted, the links in rounds and the pages of hosts after them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.repository.derived.host_changes import MOST_BYTES, HostChanges
from webtable.repository.derived.host_counts import HostCounter
from webtable.repository.derived.link_counts import LinkCounter
from webtable.repository.derived.queue import CountedBatch, RecountQueue
from webtable.repository.stored.cells import ROWS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.derived.queue import QueuedBatch
    from webtable.repository.frame import Frame
    from webtable.repository.indexes.states import Maintained
    from webtable.repository.scanning.damage import Damage

ROWS_A_ROUND = 50_000
"""How many rows of the queue are in memory at once."""
MOST_JOINED = MOST_BYTES // 2
"""How much memory joined changes may take before they are counted."""
A_HELD_BATCH = 300
"""How much memory a batch takes that waits for its hosts to be counted."""
MOST_REMEMBERED = 1_000_000
"""Of how many rows a run knows that it has counted them; beyond these a row may be counted once more."""


@dataclass(frozen=True, slots=True)
class Recount:
    """What a run has counted: pages (and URLs that are none yet), hosts, and the batches that asked for it.

    A host that was counted twice, as more waited than fits into memory, is there twice.
    `damaged` is how many rows and batches were left out because they cannot be read: `repair_index("link")` has the
    pages counted whose links it mends.
    """

    pages: int
    hosts: int
    batches: int
    damaged: int = 0


class _CountedHashes:
    """What a run has counted, `MOST_REMEMBERED` at most, by hashes of 8 bytes each."""

    def __init__(self) -> None:
        self._rounds: list[array[int]] = []

    def add(self, counted: Sequence[Hashable]) -> None:
        new = sorted(map(hash, counted[: MOST_REMEMBERED - sum(map(len, self._rounds))]))
        if not new:
            return
        # Small ones are put together, so that there are few to look into.
        while self._rounds and len(self._rounds[-1]) <= len(new):
            new = sorted([*self._rounds.pop(), *new])
        self._rounds.append(array("q", new))

    def __contains__(self, one: Hashable) -> bool:
        wanted = hash(one)
        places = ((some, bisect_left(some, wanted)) for some in self._rounds)
        return any(at < len(some) and some[at] == wanted for some, at in places)


class Refresh:
    """One run over the queue of a web table, whose *indexes* say what is to be counted.

    The links of a round are counted in it, and its rows removed from the queue. Hosts are counted when what has changed
    of them fills the memory that it may take, and at the end: the rows of one part of a host are in many batches, and
    the part is read whole for one of them as for all.
    """

    def __init__(
        self, frame: Frame, indexes: Collection[Maintained], damage: Damage, on_progress: Progress | None = None
    ) -> None:
        self._frame = frame
        self._keeps_inlinks = any(one.keeps_inlinks for one in indexes)
        self._counts_pages = any(one.counts_pages for one in indexes)
        self._damage = damage
        self._on_progress = on_progress
        self._pages = self._hosts = self._batches = self._unreadable = 0
        self._read = 0  # pages, to count those of hosts
        self._counted, self._whole = _CountedHashes(), _CountedHashes()
        self._changes = HostChanges(frame.key, damage)
        self._held: list[CountedBatch] = []  # batches that wait for `_changes` alone

    def run(self, waiting: Iterator[QueuedBatch], queue: RecountQueue) -> Recount:
        """Count what is *waiting* in *queue*, each page once, and return how much it was."""
        for some in _rounds(waiting):
            self._batches += len(some)
            self._unreadable += sum(batch.is_damaged for batch in some)
            if self._keeps_inlinks:
                self._count_links(some)
            done: list[QueuedBatch] = []
            held: list[QueuedBatch] = []
            for batch in (batch for batch in some if batch.is_settled):
                (held if self._tells_of_hosts(batch) else done).append(batch)
            queue.remove(done)
            queue.remove_rows(held)
            self._held += [CountedBatch(batch.key, batch.timestamp) for batch in held]
            if self._counts_pages:
                self._take_hosts(some)
            if self._weight() > MOST_BYTES:
                self._changes.join()
                if self._weight() > MOST_JOINED:
                    self._count_hosts(queue)
        self._count_hosts(queue)
        return Recount(self._pages, self._hosts, self._batches, self._unreadable + self._damage.count)

    def _tells_of_hosts(self, batch: QueuedBatch) -> bool:
        return self._counts_pages and bool(batch.pages or batch.hosts)

    def _weight(self) -> int:
        return self._changes.weight + A_HELD_BATCH * len(self._held)

    def _count_links(self, batches: Sequence[QueuedBatch]) -> None:
        """Count the links to the rows of *batches* that were not counted yet."""
        asked = {row for batch in batches for row in batch.rows}
        tried: dict[bytes, set[int]] = defaultdict(set)
        for row, inlinks in (one for batch in batches for one in batch.counted):
            tried[row].add(inlinks)
        rows = sorted(row for row in asked if row in tried or row not in self._counted)
        self._counted.add(rows)
        counter = LinkCounter(self._frame, self._damage)
        for at in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[at : at + ROWS_AT_ONCE]
            counter.count(some, tried)
            self._pages += len(some)
            self._tell()

    def _take_hosts(self, batches: Sequence[QueuedBatch]) -> None:
        """Take what *batches* say of hosts."""
        for batch in batches:
            self._changes.add(batch.pages, (host for host in batch.hosts if host not in self._whole))

    def _count_hosts(self, queue: RecountQueue) -> None:
        """Count what was taken of hosts, and remove the batches that have waited for it alone."""
        self._hosts += HostCounter(self._frame, self._damage, self._tell).count(self._changes)
        self._whole.add(list(self._changes.whole))
        queue.remove(self._held)
        self._changes, self._held = HostChanges(self._frame.key, self._damage), []

    def _tell(self, read: int = 0) -> None:
        self._read += read
        if self._on_progress is not None:
            self._on_progress(self._pages + self._read)


def _rounds(waiting: Iterator[QueuedBatch]) -> Iterator[list[QueuedBatch]]:
    """Yield the batches of the queue, several at once, as long as they do not have too many rows."""
    some: list[QueuedBatch] = []
    size = 0
    for batch in waiting:
        some.append(batch)
        size += 1 + len(batch.rows) + len(batch.pages) + len(batch.hosts)
        if size >= ROWS_A_ROUND:
            yield some
            some, size = [], 0
    if some:
        yield some

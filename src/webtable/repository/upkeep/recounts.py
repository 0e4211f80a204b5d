"""A run over the queue of recounts, which counts links in rounds, and the pages of hosts after them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.repository.hosts.counts import MOST_BYTES, HostChanges, HostCounter
from webtable.repository.links.inlink_cells import LinkCounter
from webtable.repository.upkeep.queue import CountedBatch, QueuedBatch, RecountQueue

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.context import TableContext
    from webtable.repository.indexes.states import Maintained
    from webtable.repository.reading.read_ahead import Damage

ROWS_A_ROUND = 50_000
"""How many rows of the queue are in memory at once."""
COUNTED_AT_ONCE = 2_000
"""How many rows are counted together: their counts are one transaction, or a few calls one after another."""
MOST_JOINED = MOST_BYTES // 2
"""How much memory joined changes may take before they are counted."""
A_HELD_BATCH = 300
"""How much memory a batch takes while it waits for its hosts to be counted."""
MOST_REMEMBERED = 1_000_000
"""How many counted rows a run remembers; others may be counted again."""


@dataclass(frozen=True, slots=True)
class Recount:
    """What a run has counted: pages (including URLs that are not stored), hosts, and batches of the queue.

    A host that was counted twice, because the changes did not fit into memory, is included twice. `damaged` is how
    many rows and batches were skipped because they cannot be read; repairing the link index has their pages counted.
    """

    pages: int
    hosts: int
    batches: int
    damaged: int = 0


class _CountedHashes:
    """The values that a run has counted, up to `MOST_REMEMBERED`, as hashes of 8 bytes each."""

    def __init__(self) -> None:
        self._rounds: list[array[int]] = []

    def add(self, counted: Sequence[Hashable]) -> None:
        new = sorted(map(hash, counted[: MOST_REMEMBERED - sum(map(len, self._rounds))]))
        if not new:
            return
        # Small arrays are merged, so that there are few to search.
        while self._rounds and len(self._rounds[-1]) <= len(new):
            new = sorted([*self._rounds.pop(), *new])
        self._rounds.append(array("q", new))

    def __contains__(self, value: Hashable) -> bool:
        wanted = hash(value)
        places = ((hashes, bisect_left(hashes, wanted)) for hashes in self._rounds)
        return any(at < len(hashes) and hashes[at] == wanted for hashes, at in places)


# The rows of a part of a host are in many batches of the queue: counted batch by batch, each would read most of a large
# table.
class Refresh:
    """One run over the queue of a web table, whose *indexes* determine what is counted.

    The links of a round are counted at once, and its rows removed from the queue. Hosts are counted when their changes
    fill the memory for them, and at the end: the changed rows of a part of a host are in many batches, and the part
    needs to be read only once for all of them.
    """

    def __init__(
        self,
        context: TableContext,
        indexes: Collection[Maintained],
        damage: Damage,
        on_progress: Progress | None = None,
    ) -> None:
        self._context = context
        self._keeps_inlinks = any(index.keeps_inlinks for index in indexes)
        self._counts_pages = any(index.counts_pages for index in indexes)
        self._damage = damage
        self._on_progress = on_progress
        self._pages = self._hosts = self._batches = self._unreadable = 0
        self._read = 0  # pages, to count those of hosts
        self._counted, self._whole = _CountedHashes(), _CountedHashes()
        self._changes = HostChanges(context.key, damage)
        self._held: list[CountedBatch] = []  # batches that only wait for `_changes` to be counted

    def run(self, waiting: Iterator[QueuedBatch], queue: RecountQueue) -> Recount:
        """Count the batches *waiting* in *queue*, each page once, and return how much was counted."""
        for batches in _rounds(waiting):
            self._batches += len(batches)
            self._unreadable += sum(batch.is_damaged for batch in batches)
            if self._keeps_inlinks:
                self._count_links(batches)
            done: list[QueuedBatch] = []
            held: list[QueuedBatch] = []
            for batch in (batch for batch in batches if batch.is_settled):
                (held if self._counts_pages and (batch.pages or batch.hosts) else done).append(batch)
            queue.remove(done)
            queue.remove_rows(held)
            self._held += [CountedBatch(batch.key, batch.timestamp) for batch in held]
            for batch in batches if self._counts_pages else ():
                self._changes.add(batch.pages, (host for host in batch.hosts if host not in self._whole))
            if self._weight() > MOST_BYTES:
                self._changes.join()
                if self._weight() > MOST_JOINED:
                    self._count_hosts(queue)
        self._count_hosts(queue)
        return Recount(self._pages, self._hosts, self._batches, self._unreadable + self._damage.count)

    def _weight(self) -> int:
        return self._changes.weight + A_HELD_BATCH * len(self._held)

    def _count_links(self, batches: Sequence[QueuedBatch]) -> None:
        """Count the links to the rows of *batches* that were not counted yet."""
        queued = {row for batch in batches for row in batch.rows}
        tried: dict[bytes, set[int]] = defaultdict(set)
        # The old and the new count are in the queue until both entries are written, for the run after one that was
        # killed.
        for row, inlinks in (count for batch in batches for count in batch.counted):
            tried[row].add(inlinks)
        rows = sorted(row for row in queued if row in tried or row not in self._counted)
        self._counted.add(rows)
        counter = LinkCounter(self._context, self._damage)
        for at in range(0, len(rows), COUNTED_AT_ONCE):
            piece = rows[at : at + COUNTED_AT_ONCE]
            counter.count(piece, tried)
            self._pages += len(piece)
            self._report()

    def _count_hosts(self, queue: RecountQueue) -> None:
        """Count the changes of hosts that were added, and remove the batches that waited for that."""
        self._hosts += HostCounter(self._context, self._damage, self._report).count(self._changes)
        self._whole.add(list(self._changes.whole))
        queue.remove(self._held)
        self._changes, self._held = HostChanges(self._context.key, self._damage), []

    def _report(self, read: int = 0) -> None:
        self._read += read
        if self._on_progress is not None:
            self._on_progress(self._pages + self._read)


def _rounds(waiting: Iterator[QueuedBatch]) -> Iterator[list[QueuedBatch]]:
    """Yield the batches of the queue in groups of at most about `ROWS_A_ROUND` rows."""
    batches: list[QueuedBatch] = []
    size = 0
    for batch in waiting:
        batches.append(batch)
        size += 1 + len(batch.rows) + len(batch.pages) + len(batch.hosts)
        if size >= ROWS_A_ROUND:
            yield batches
            batches, size = [], 0
    if batches:
        yield batches

"""What a store can do and how much it takes, and the calls of the port that not every store has an answer to."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.errors import CapabilityError
from webtable.schema import DEFAULT_TTL, DEFAULT_VERSIONS
from webtable.store.rows import MAX_CELL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from webtable.store.health import Check, Space
    from webtable.store.metrics import GatewayMetrics
    from webtable.store.url import StoreURL


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What callers go by: nobody asks what a store is called."""

    max_cell: int = MAX_CELL
    """The largest cell in bytes: row key, family, qualifier, value and 24 more. A larger one is a `StoreRefused`."""
    writes_side_by_side: bool = True
    """Whether several threads that write at once are faster than one."""
    processes_write_side_by_side: bool = False
    """Whether several processes that write at once are faster than one; those of `webtable ingest --workers` do."""
    scans_range_by_range: bool = False
    """Whether a scan has calls for each of its ranges: it may be cheaper to go on through what lies between two."""
    changes_families: bool = True
    """Whether it can add and change families of a table that is there; else `set_family` is a `CapabilityError`."""
    default_ttl: int | None = DEFAULT_TTL
    """For how many seconds a new web table keeps content here unless it is told otherwise; None is for ever."""
    default_versions: int | None = DEFAULT_VERSIONS
    """How many contents of a page a new web table keeps here unless it is told otherwise; None is all of them."""
    has_snapshots: bool = False
    """Whether the shell of the store takes snapshots of its tables; else `backup` may write it into a file."""
    made_when_missing: bool = False
    """Whether `webtable ingest` makes a web table that is missing: nobody has to decide how it is to be laid out."""
    why_empty: str = ""
    """How a store that is there may have come to hold no table at all, and what to do; empty where that is usual."""


class OptionalCalls:
    """Transactions, a backup, and what a store reports of itself: one that has none of it need not say so."""

    name: str

    def together(self) -> AbstractContextManager[int | None]:
        """Let all that this thread writes in the block take effect at once or not at all, where the store can do that.

        The block has the number of its transaction then: see `last_transaction`. Elsewhere that is None, and each call
        stands for itself, as without the block. What this thread reads in the block is read as it
        has left it. An exception out of the block takes back all of it, and so does a write that fails as a whole:
        the block then ends in a `StoreError`.
        """
        return nullcontext()

    def last_transaction(self) -> int:
        """Return the number of the last transaction that has ended; 0 where the store has none.

        What is read from now on is as that one has left it, or later. Each transaction of this store has the next
        number, and there is one more wherever another process has written. So who knows the numbers of its own
        transactions knows in a block of `together` whether anybody else has written since.
        """
        return 0

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Write all tables of the store, as they are at one moment, into the new file *path*; return its bytes.

        Others may write meanwhile. The file is there when it is whole and was checked. *on_progress* is told how many
        bytes are written so far; what it raises ends it. Raises `InvalidArgument` where something is at *path*, and
        `CapabilityError`, which says what there is instead, where the store is no file.
        """
        raise CapabilityError(
            f"{self.name}: this store is no file that could be copied; webtable export and webtable copy take what is "
            "in the table elsewhere"
        )

    def events(self) -> Counter[str]:
        """Return how often each event that the store logs has happened, whether or not anybody listens."""
        return Counter()

    def gateways(self) -> list[GatewayMetrics]:
        """Return what is known of the gateways that the store goes through; none where it goes through none."""
        return []

    @classmethod
    def reached(cls, url: StoreURL) -> Iterator[Check]:  # noqa: ARG003
        """Yield what is found on the way to the store that *url* leads to, which need not be there: it is not opened.

        Where a check has failed the store cannot be opened. Nothing is written. Raises `InvalidArgument`.
        """
        yield from ()

    def health(self, table: str) -> Iterator[Check]:  # noqa: ARG002
        """Yield what the store itself tells of its health, and of that of *table*; nothing is written."""
        yield from ()

    def space(self) -> Space | None:
        """Return the space that the store takes; None where it cannot tell."""
        return None

"""The capabilities and limits of a store, and the optional calls of the port."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable._messages import Command, Words
from webtable.errors import CapabilityError
from webtable.schema import DEFAULT_TTL, DEFAULT_VERSIONS, ShellCommand
from webtable.store.rows import MAX_CELL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from webtable.store.full_text import SearchIndex
    from webtable.store.health import Check, Rescued, Space
    from webtable.store.metrics import ServerMetrics
    from webtable.store.rows import Put
    from webtable.store.url import StoreURL


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a store, on which callers decide; they never check its class or name."""

    max_cell: int = MAX_CELL
    """The largest cell in bytes: row key, family, qualifier, value and 24 more. A larger one is a `StoreRefused`."""
    writes_concurrently: bool = True
    """Whether several threads write faster than one."""
    processes_write_concurrently: bool = False
    """Whether several processes write faster than one, as those of `webtable ingest --workers` do."""
    is_of_processes: bool = False
    """Whether another process that opens its URL has the same tables, unlike a store in memory."""
    scans_ranges_separately: bool = False
    """Whether a scan needs separate calls for each range: reading the rows between two ranges may be cheaper."""
    changes_families: bool = True
    """Whether it can add and change families of an existing table; else `set_family` is a `CapabilityError`."""
    default_ttl: int | None = DEFAULT_TTL
    """The default time, in seconds, for which a new web table keeps content; None is for ever."""
    default_versions: int | None = DEFAULT_VERSIONS
    """The default number of contents of a page that a new web table keeps; None is all of them."""
    has_snapshots: bool = False
    """Whether the shell of the store takes snapshots of its tables; else `backup` may copy it into a file."""
    runs_shell_commands: bool = False
    """Whether `run` takes snapshots and restores them; else the shell of the store does."""
    is_created_on_ingest: bool = False
    """Whether `webtable ingest` makes a missing web table: its layout needs no decision."""
    empty_hint: str = ""
    """Why an existing store may contain no tables, and what to do; empty if that is normal."""


class OptionalCalls:
    """Transactions, backups, and information about a store, with defaults for stores without them."""

    name: str

    def transaction(self) -> AbstractContextManager[int | None]:
        """Make all writes of this thread in the block one transaction, if the store has transactions.

        The block gets the number of its transaction then (see `last_transaction`), else None, and each call is applied
        separately, as without the block. Reads of this thread in the block see its writes. An exception that leaves the
        block rolls it back, and so does a write that fails as a whole: the block then ends in a `StoreError`.
        """
        return nullcontext()

    def last_transaction(self) -> int:
        """Return the number of the last transaction that has ended; 0 for a store without transactions.

        Later reads see that transaction, and perhaps later ones. Each transaction of this store gets the next number,
        and each write by another process adds one. So a caller who knows the numbers of its own transactions can tell
        in a block of `transaction` whether anybody else has written in between.
        """
        return 0

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Write all tables of the store, as they are at one moment, into the new file *path*; return its size in bytes.

        Others may write at the same time. The file appears when it is complete and verified. *on_progress* is called
        with the bytes written so far; an error that it raises ends the backup. Raises `InvalidArgument` if *path*
        exists, and `CapabilityError`, which says what to use instead, if the store is not a file.
        """
        raise CapabilityError(
            f"{self.name}: this store is not a file that can be copied; ",
            Command("export", python="webtable.formats.write_export(…)"),
            ", and ",
            Words("table.maintenance.copy(…)", "webtable copy"),
            " bring what is in the table elsewhere",
        )

    @classmethod
    def rescue(cls, url: StoreURL, path: Path, on_progress: Callable[[int], object] | None = None) -> Rescued:  # noqa: ARG003
        """Write all that can be read of the damaged store that *url* names into the new file *path*, a store as well.

        Nobody may write meanwhile. *on_progress* is called with the number of records so far. Raises `InvalidArgument`
        if *path* exists, `StoreRefused` if nothing can be read, and `CapabilityError` if the store is not a file.
        """
        raise CapabilityError(
            f"{url.text}: this store is not a file; ",
            Command("doctor", python="webtable.maintenance.doctor(…)"),
            " says what is wrong with it",
        )

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None) -> bool:  # noqa: ARG002
        """Apply *put* if the newest value of *column* in its row is *expected* (None: it has none), at one moment.

        Returns whether it was. This is the one write that must not be repeated: after an error it may be stored or not.
        Raises what `write` returns, and `CapabilityError` if the store has no such call.
        """
        raise CapabilityError(
            f"{self.name}: this store cannot compare a cell and write at once; tables in a file can (file.db)"
        )

    def search_index(self, table: str) -> SearchIndex | None:  # noqa: ARG002
        """Return the full text of *table*, which writers write in their transactions; None if there can be none."""
        return None

    def run(self, command: ShellCommand) -> None:
        """Do what *command* of the HBase shell does, and return when it is done.

        Raises `CapabilityError` if the store cannot, `TableNotFound` and `StoreRefused` if HBase refuses it.
        """
        raise CapabilityError(f"{self.name}: this store has no call for it; in the HBase shell: {command}")

    def events(self) -> Counter[str]:
        """Return how often each event that the store logs has occurred, even if logging is off."""
        return Counter()

    def servers(self) -> list[ServerMetrics]:
        """Return the state of each gateway or server that the store uses; empty for a store in a file."""
        return []

    @classmethod
    def connection_checks(cls, url: StoreURL) -> Iterator[Check]:  # noqa: ARG003
        """Yield checks of the way to the store that *url* names, without opening it; it need not exist.

        If a check has failed, the store cannot be opened. Nothing is written. Raises `InvalidArgument`.
        """
        yield from ()

    def health(self, table: str) -> Iterator[Check]:  # noqa: ARG002
        """Yield checks of the health of the store and of *table*; nothing is written."""
        yield from ()

    def space(self) -> Space | None:
        """Return the space that the store takes; None if that is unknown."""
        return None

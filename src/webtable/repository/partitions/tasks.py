"""Tasks that worker processes do for parts of a table, each with a frame of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from webtable._importable import importing_from_here
from webtable.errors import InvalidArgument, TableNotFound
from webtable.repository.context import Frame, TablePart
from webtable.repository.indexes.states import imported, known
from webtable.repository.maintenance.create import StoredWebTable
from webtable.repository.partitions.cuts import Whole, cut
from webtable.repository.partitions.processes import checked_workers, in_processes
from webtable.schema import Layout, check_layout, check_suffix_list
from webtable.store import open_store
from webtable.store.observed import observed
from webtable.store.url import HIDDEN

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from webtable.store import Store


# --- The address by which another process opens a store, to read a part of an answer ----------------------------------


def address_of(store: Store, name: str) -> str:
    """Return the address of the *store* of the table *name*; raises `InvalidArgument` if partitions may not have it."""
    address = store.address
    if address is None:
        raise InvalidArgument(f"{name} cannot be opened by another process: partitions need a file or an HBase")
    if HIDDEN in address:
        raise InvalidArgument(
            f"{name}: partitions hold no secrets, and its URL has options that may be some: {address}; open it "
            "without them, and let the store take them from the environment"
        )
    return address


# --- Where the frame of a table is, so that another process opens it: without secrets, and only with the same layout


class FramePlace(NamedTuple):
    """The URL of a store without user and password, and what its table is to be like.

    `indexes` are the importable names of those that users have defined and that this process knows, if they are needed.
    """

    store: str
    layout: Layout
    is_strict: bool
    indexes: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: Frame, *, with_indexes: bool = False) -> Self:
        """Return the place of *frame*; raises `InvalidArgument` if no other process could open it."""
        own = [one.state.of for one in frame.indexes.read().values() if one.state.of] if with_indexes else []
        named = tuple(name for name in own if known(name) is not None)
        return cls(address_of(frame.store, frame.name), frame.layout, frame.strict, named)

    @contextmanager
    def opened(self, part: TablePart | None) -> Iterator[Frame]:
        """Open the store, and yield the frame of a *part* of the table (None: all of it).

        Raises what `webtable.open` does, and `LayoutMismatch` if the table was created anew with another layout.
        """
        if self.indexes:
            with importing_from_here():
                for name in self.indexes:
                    imported(name)
        store, table = open_store(self.store)
        with store:
            stored = StoredWebTable.read(store, table)
            if stored is None:
                raise TableNotFound(f"{store.name} has no web table {table!r} any more: ask for partitions again")
            kept = {name: getattr(stored.layout, name) for name in ("ttl", "versions", "family_options")}
            check_layout(stored.name, stored.layout, msgspec.structs.replace(self.layout, **kept))
            check_suffix_list(stored.name, stored.layout)
            yield Frame.of(observed(store), table, stored.layout, strict=self.is_strict, part=part)


# ----------------------------------------------------------------------------------------------------------------------


PARTS_A_WORKER = 16
"""How many parts each worker gets: progress is shown after each."""


class PartTask(NamedTuple):
    """A function of a module, which is called with the frame of a part (None: the whole table) and arguments."""

    function: Callable[..., Any]
    part: TablePart | None
    arguments: tuple[Any, ...] = ()


def check_workers(frame: Frame, workers: int) -> None:
    """Raise `InvalidArgument` if *workers* is none, or several of them cannot open the table of *frame*."""
    if checked_workers(workers) > 1:
        FramePlace.of(frame)


def parts_of(frame: Frame, whole: Whole, workers: int) -> list[TablePart]:
    """Return parts of *whole* for this number of *workers*."""
    parts = cut(frame, whole, PARTS_A_WORKER * workers)
    return [TablePart(whole.table, part.keys) for part in parts if not part.keys.is_empty()]


@contextmanager
def done_by(workers: int, frame: Frame, tasks: Sequence[PartTask]) -> Iterator[Iterator[Any]]:
    """Give what each of the *tasks* returns, in their order; *workers* processes do them for the table of *frame*.

    What a task counts (damaged rows, say) is counted in *frame*. A task whose worker was killed is done again. Raises
    what a task raises, `InvalidArgument` for a table that other processes cannot open, and `WebTableError`. The workers
    end with the block.
    """
    place = FramePlace.of(frame, with_indexes=True)
    with closing(in_processes(partial(_done, place), tasks, workers, ordered=True)) as all_done:
        yield (_counted(frame, *done.value) for done in all_done)


def _counted(frame: Frame, value: Any, counts: Counter[str]) -> Any:
    for name, many in counts.items():
        frame.counts(name, many)
    return value


def _done(place: FramePlace, task: PartTask) -> tuple[Any, Counter[str]]:
    with place.opened(task.part) as frame:
        return task.function(frame, *task.arguments), frame.counts.snapshot()

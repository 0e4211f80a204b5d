"""Where the frame of a table is, so that another process opens it: without secrets, and only with the same layout."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from webtable._importable import importing_from_here
from webtable.errors import TableNotFound
from webtable.repository.answers.address import address_of
from webtable.repository.context import Frame
from webtable.repository.indexes.states import imported, known
from webtable.repository.maintenance.create import StoredWebTable
from webtable.schema import Layout, check_layout, check_suffix_list
from webtable.store import open_store
from webtable.store.observed import observed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.context import TablePart


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

"""Adding, dropping and rebuilding an index of a table that is in use.

An index that is added is `building` first. From then on every writer writes its entries: one that has not heard of it
when it begins a batch hears of it before the batch is acknowledged. So the rebuild has to read each row only once, and
what it reads too early somebody else writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.errors import DamagedRow, InvalidArgument, TableNotFound, UnknownIndex
from webtable.repository.creating import create_tables
from webtable.repository.indexes.keeping import Keeper
from webtable.repository.indexes.states import defined
from webtable.repository.indexes.upkeep import Change, Hints, add_entries
from webtable.repository.indexes.web import HOST, LINK
from webtable.repository.layouts import FRESH_SECONDS
from webtable.repository.moments import now_in_milliseconds
from webtable.repository.questions.base import Asked
from webtable.rowkey import KeyRange
from webtable.rowkey.web import host_and_rest
from webtable.schema import IndexState, Phase
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.indexes.states import Maintained
    from webtable.store import Row

PIECE = 500
SAVE_SECONDS = 5.0
"""How often a rebuild stores how far it has come."""

Progress = Callable[[int], None]
"""Is told how many pages were looked at so far."""


class IndexManagement(Asked):
    """The indexes of a table: which there are, and how one is added, dropped and rebuilt while the table is in use."""

    def index_states(self) -> dict[str, IndexState]:
        """Return the indexes of the table by name, and the phase that each is in."""
        return {name: found.state for name, found in sorted(self.indexes.read().items())}

    def add_index(self, index: str, on_progress: Progress | None = None) -> int:
        """Add one of webtable's own indexes by its name, or one by its importable name (`package.module:attribute`).

        Its entries are made at once; questions use it from then on. Returns how many pages there were. Where it was
        interrupted `rebuild_index` goes on. Raises `UnknownIndex`, and `InvalidArgument` where the table has it.
        """
        ((name, state),) = defined([index]).items()
        known = self.indexes.read()
        if name in known:
            phase = known[name].state.phase
            raise InvalidArgument(f"{self.name} has an index {name!r} already; it is {phase}")
        layout = self._layouts.read()
        create_tables(self.store, [layout.index_schema(self.table, name), layout.queue_schema(self.table)], "")
        self.indexes.set(name, replace(state, phase="building", added=now_in_milliseconds()))
        return self.rebuild_index(name, on_progress)

    def drop_index(self, index: str) -> None:
        """Take the index away, with its entries.

        Writers are told first, and readers a few seconds before that: it takes a moment. Raises `UnknownIndex`.
        """
        found = self.indexes.named(index)
        self.indexes.set(index, replace(found.state, phase="retired", position=""))
        time.sleep(FRESH_SECONDS * 1.5)
        self.indexes.set(index, IndexState("dropped"))
        try:
            self.store.drop_table(found.table)
        except TableNotFound:
            return

    def rebuild_index(self, index: str, on_progress: Progress | None = None) -> int:
        """Write the entries of every page, and return how many pages there are; entries that are there stay.

        It may run beside writers and readers, again and again. One that was interrupted while the index was new goes on
        where it was. What no longer holds is removed by `repair_index`. Rows that cannot be read are left out and
        counted in `metrics`. Raises `UnknownIndex`, `InvalidArgument` for an index that is being dropped, and
        `IndexNotNamed`.
        """
        found = self.indexes.named(index)
        if found.state.phase == "retired":
            raise InvalidArgument(f"{self.name}: the index {index!r} is being dropped: index drop {index} ends that")
        found.index.name  # noqa: B018 - raises where it cannot be used, also where there are no pages
        is_new = found.state.phase == "building"
        keeper = Keeper(self.store, self.table, self.key, self._codec, self._reader, self.indexes)
        pages, saved = 0, time.monotonic()
        try:
            for piece in self._pieces(found, bytes.fromhex(found.state.position) if is_new else b""):
                _write_entries(keeper, found, piece)
                pages += len(piece)
                if is_new and time.monotonic() - saved > SAVE_SECONDS:
                    self._advance(index, found, "building", piece[-1][0].hex())
                    saved = time.monotonic()
                if on_progress is not None:
                    on_progress(pages)
        finally:
            keeper.close()
        if is_new:
            self._advance(index, found, "ready")
        return pages

    def _advance(self, index: str, found: Maintained, phase: Phase, position: str = "") -> None:
        """Store how far a rebuild has come; raises `UnknownIndex` where the index was dropped in the meantime."""
        now = self.indexes.named(index).state
        if now.added != found.state.added or now.phase == "retired":
            raise UnknownIndex(f"{self.name}: the index {index!r} was dropped while it was built")
        if now.phase == "building":
            self.indexes.set(index, replace(now, phase=phase, position=position))

    def _pieces(self, found: Maintained, after: bytes) -> Iterator[list[tuple[bytes, Page]]]:
        columns = self._codec.select(("outlinks",) if found.name == LINK.name else ())
        keys = KeyRange(after + b"\x00" if after else b"")
        rows = self.store.scan(self.table, [keys], Wanted(columns))
        readable = self._damage().sift(map(self._keyed, rows))
        pages = ((row, page) for row, page in readable if page is not None)
        while piece := list(islice(pages, PIECE)):
            yield piece

    def _keyed(self, row: Row) -> tuple[bytes, Page | None] | DamagedRow:
        page = self._reader.each(row)
        return page if isinstance(page, DamagedRow) else (row.key, page)


def _write_entries(keeper: Keeper, found: Maintained, pages: Sequence[tuple[bytes, Page]]) -> None:
    """Write the entries of *pages*; for the link index their inlinks too. Raises the first error."""
    hints = Hints()
    changes = [Change(owner, row, None, page) for owner, (row, page) in enumerate(pages)]
    errors = add_entries(hints, changes, [found], keeper.key)
    touched: set[bytes] = set()
    hosts = {host_and_rest(page.url)[0] for _, page in pages} if found.name == HOST.name else set()
    if found.name == LINK.name:
        for change in changes:
            touched |= keeper.inlinks.add_all(hints, change.owner, change.page, change.page.outlinks or ())
    entered = keeper.queue.entered(touched, hosts=hosts) if touched or hosts else None
    if entered is not None:
        keeper.queue.write([entered])
    for error in (errors | keeper.writer.put(hints)).values():
        raise error
    if entered is not None:
        keeper.queue.write([keeper.queue.done(entered)])

"""The layout of a web table, its limits, and the moment up to which links are counted, as stored with the table."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from webtable._checksums import UNREADABLE
from webtable._clock import CachedFor, clock, milliseconds, moment_of
from webtable.errors import LayoutMismatch, StoreUnavailable, TableNotFound
from webtable.page.parts import LinkCounts, Time
from webtable.repository.page_storage.cells import JSONValue, checked_json
from webtable.schema import LAYOUT_ROW, STATES_FAMILY, FamilySchema, Layout, meta_table, option_column
from webtable.store import NewCell, Put, Row, Store, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.page.page import Page
    from webtable.repository.page_storage.codec import PageCodec
    from webtable.repository.page_storage.state import Capture, Stored

FRESH_SECONDS = 2.0
"""How old the layout and the states of indexes may be that readers use."""


class Layouts:
    """The layout of one web table. Thread-safe.

    It is read together with the states of the indexes, which every batch reads before it is written, so it needs no
    extra call.
    """

    def __init__(self, store: Store, table: str, layout: Layout) -> None:
        self._store = store
        self._table = table
        self._cells: dict[bytes, bytes] = {}
        self._altered: dict[bytes, int] | None = None
        self._recent: CachedFor[Layout] = CachedFor(FRESH_SECONDS)
        self._recent.learn(layout, clock.monotonic())
        self.current: Layout = layout
        """The layout as it was last read."""

    def recent(self) -> Layout:
        """Return the layout as it was at most `FRESH_SECONDS` ago."""
        return self._recent.recent(self.read)

    def read(self) -> Layout:
        """Return the layout as it is now; raises `LayoutMismatch` if this version cannot read it."""
        began = clock.monotonic()
        try:
            (row,) = self._store.read(meta_table(self._table).name, [LAYOUT_ROW], Wanted([STATES_FAMILY]))
        except TableNotFound:
            row = None
        self.learn(row, began)
        return self.current

    def altered_at(self, option: str) -> int | None:
        """Return when *option* was last altered, in epoch milliseconds, or None if it never was."""
        if self._altered is None:
            self.read()
        self.recent()
        return (self._altered or {}).get(option_column(option))

    def learn(self, row: Row | None, read_at: float) -> None:
        """Take the layout from its *row*, which was read at the moment *read_at*; raises `LayoutMismatch`.

        If there is no row, the table is being dropped, and calls to the table itself will raise the error.
        """
        # Compared as they are stored: nearly always they are the same, and need not be decoded.
        cells = cells_of(row)
        if cells and cells != self._cells:
            name = f"{self._store.name}/{self._table}"
            layout = Layout.from_cells(name, cells)
            if _created(layout) != _created(self.current):
                raise LayoutMismatch(f"{name} was dropped and created again, with another layout: open it again")
            self.current, self._cells = layout, cells
        self._altered = {column: versions[0].timestamp for column, versions in row.cells.items()} if row else {}
        self._recent.learn(self.current, read_at)


def cells_of(row: Row | None) -> dict[bytes, bytes]:
    """Return the newest values of the *row* of a layout, by column."""
    return {column: versions[0].value for column, versions in row.cells.items()} if row else {}


def _created(layout: Layout) -> Layout:
    """Return *layout* without the options that can be altered."""
    return replace(layout, ttl=None, versions=1, family_options={})


# --- Limits -----------------------------------------------------------------------------------------------------------


_CLOCKS: Final = timedelta(minutes=1)
"""How far the clock of the store, which applies the TTL, may be ahead of this one."""


class Limits:
    """The limits of one web table: how long content is kept, and in how many versions. Thread-safe."""

    def __init__(self, store: Store, table: str, codec: PageCodec, layouts: Layouts) -> None:
        self._store = store
        self._table = table
        self._names = codec.columns
        self.layouts: Final = layouts
        self._families: CachedFor[Mapping[str, FamilySchema]] = CachedFor(FRESH_SECONDS)

    def may_have_expired(self, at: datetime) -> bool:
        """Whether a TTL may have removed content of the moment *at*: the present one, or one before an alteration.

        It is not known how long content was kept before an alteration.
        """
        altered = self.layouts.altered_at("ttl")
        if altered is not None and milliseconds(at) < altered:
            return True
        return _is_over(at, self.layouts.current.ttl)

    # Missing content is damage unless something explains it: a TTL, as many newer versions as are kept, or a delete.
    def explain(self, column: bytes, at: datetime, stored: Stored) -> bool:
        """Whether limits explain that a *stored* page has no cell of *column* from the moment *at*.

        A capture and its body are cells of the same family and date, so no limit removes only one of them.
        """
        if stored.deleted is not None and stored.deleted.hides(at):
            return True
        own = next((version.capture for version in stored.versions if version.at == at), None)
        names, newer = self._names, sum(version.at > at for version in stored.versions)
        if column == names.urls and self._explain_links(at, newer, own, stored):
            return True
        return own is None and (self._drops(names.content, at, newer) or self._dropped(at, newer))

    def _explain_links(self, at: datetime, newer: int, own: Capture | None, stored: Stored) -> bool:
        """Whether limits explain that the links of the moment *at* are missing, while the content is not."""
        # If the source of a copy has dropped the links of a page without a body, only the capture shows it.
        had_some = own.has_links if own is not None else stored.page is not None and stored.page.has_body
        return not had_some or self._drops(self._names.outlinks, at, newer)

    def _drops(self, family: str, at: datetime, newer: int) -> bool:
        """Whether *family* drops a cell of the moment *at* if there are this many *newer* ones.

        The options are read from the family itself, which may have been altered in HBase.
        """
        schema = self._families.recent(self._described).get(family)
        return schema is not None and (newer >= schema.versions or _is_over(at, schema.ttl))

    def _dropped(self, at: datetime, newer: int) -> bool:
        """Whether a limit of versions before an alteration may have dropped a cell."""
        altered = self.layouts.altered_at("versions")
        return newer > 0 and altered is not None and milliseconds(at) < altered

    def _described(self) -> Mapping[str, FamilySchema]:
        try:
            families = self._store.describe(self._table).schema.families
        except StoreUnavailable:  # an HBase without a master, which answers everything else
            families = self.layouts.current.table_schema(self._table).families
        return {schema.name: schema for schema in families}


def _is_over(at: datetime, ttl: int | None) -> bool:
    # A cell that was about to expire may have expired since it was read.
    return ttl is not None and clock.now() - at > timedelta(seconds=ttl * 0.99) - _CLOCKS


# --- The mark of counted links ----------------------------------------------------------------------------------------


_COUNTED_ROW = b"links"
_COUNTED_COLUMN = b"layout:counted"


class _Mark(msgspec.Struct, frozen=True):
    until: Time


_MARKS = JSONValue(_Mark)


class Refreshed:
    """The moment up to which all links of one web table were counted, the mark. Thread-safe.

        {name}_meta   row links, column layout:counted   {"until": …}

    A page from before the mark that has no count has no inlinks: a count is written only if there are inlinks, or were,
    so that pages without inlinks cost a run nothing. URLs are counted whether they are pages yet or not, so this also
    holds for a page that was stored after the mark, but fetched before it.
    """

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self._meta = meta_table(table).name
        self._cached: CachedFor[datetime | None] = CachedFor(FRESH_SECONDS)

    def until(self) -> datetime | None:
        """Return up to when all links were counted, as of a moment ago, or None if they never were."""
        return self._cached.recent(self._read)

    def _read(self) -> datetime | None:
        (row,) = self._store.read(self._meta, [_COUNTED_ROW], Wanted([_COUNTED_COLUMN]))
        return None if row is None else _mark(row)

    def advance(self, until: int) -> None:
        """Store that all links were counted up to *until*, in epoch milliseconds; a later stored mark stays."""
        value = checked_json(_Mark(moment_of(until)), _COUNTED_ROW, until)
        (error,) = self._store.write(self._meta, [Put(_COUNTED_ROW, [NewCell(_COUNTED_COLUMN, until, value)])])
        self._cached.forget()
        if error is not None:
            raise error

    def counted(self, page: Page, columns: Sequence[str]) -> Page:
        """Return *page*; with counts of 0 if *columns* name counts and it has none, but is from before the mark."""
        if "link_counts" not in columns or page.link_counts is not None:
            return page
        if (until := self.until()) is None or page.fetched_at >= until:
            return page
        return replace(page, link_counts=LinkCounts(counted_at=until))


def _mark(row: Row) -> datetime | None:
    cell = row.cells[_COUNTED_COLUMN][0]
    try:
        return _MARKS.read(cell.value, _COUNTED_ROW, cell.timestamp).until
    except UNREADABLE:
        return None  # as if links were never counted; the next run writes the mark again

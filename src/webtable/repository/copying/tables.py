"""The two tables of a copy, what of a page is stored in both of them, and how fast their rows are read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from webtable._clock import clock
from webtable.errors import DamagedRow, HiddenByDelete, InvalidArgument, SchemaError, StoreUnavailable, WebTableError
from webtable.repository.context import Frame
from webtable.repository.page_storage.state import Stored
from webtable.repository.reading.damage import MOST_KEPT
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.store import Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.page_storage.state import Deleted, Version


# --- The counts of a copy: pages, versions and bytes written, and rows that were skipped ------------------------------


@dataclass(frozen=True, slots=True)
class Copied:
    """The progress, or the result, of `TableMaintenance.copy`.

    `pages` were written, with `versions` and `bytes` of bodies and links, as they are stored. `unchanged` pages were in
    the target already; `deleted` is the number of deletes that were repeated there. For the `merged` ones of the pages
    the target had other captures, which it keeps. `inlinks` is the number of inlinks that were written.

    `damaged` counts rows of the source with content that cannot be read and was skipped; `examples` has the first 100.
    The target has deleted `hidden` pages after they were fetched, and did not store `failed` pages; `errors` has the
    first 100 reasons. If it `resumed`, this call did not compare the pages that the interrupted one had copied already.
    """

    pages: int = 0
    versions: int = 0
    bytes: int = 0
    unchanged: int = 0
    deleted: int = 0
    merged: int = 0
    inlinks: int = 0
    damaged: int = 0
    hidden: int = 0
    failed: int = 0
    examples: tuple[DamagedRow, ...] = ()
    errors: tuple[WebTableError, ...] = ()
    resumed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing was skipped."""
        return not (self.damaged or self.hidden or self.failed)

    @property
    def looked_at(self) -> int:
        """How many pages were compared."""
        return self.pages + self.unchanged + self.hidden + self.failed


class Counts:
    """The counts of a running copy."""

    def __init__(self) -> None:
        self.resumed = False
        self._counts = Counter[str]()
        self._examples: list[DamagedRow] = []
        self._errors: list[WebTableError] = []

    def add(self, **counts: int) -> None:
        """Add *counts*, which have the names of the fields of `Copied`."""
        self._counts.update(counts)

    def add_part(self, part: Counts) -> None:
        """Add the counts of a *part* of the rows."""
        self._counts.update(part._counts)
        self._examples += part._examples[: MOST_KEPT - len(self._examples)]
        self._errors += part._errors[: MOST_KEPT - len(self._errors)]

    def add_damaged(self, error: DamagedRow) -> None:
        """Count a row of the source that cannot be read."""
        self.add(damaged=1)
        if len(self._examples) < MOST_KEPT:
            self._examples.append(error)

    def add_failed(self, error: WebTableError) -> None:
        """Count a page that was not stored; raises *error* if no other page could be stored either."""
        if isinstance(error, StoreUnavailable | SchemaError):
            raise error
        if isinstance(error, HiddenByDelete):
            self.add(hidden=1)
        else:
            self.add(failed=1)
        if len(self._errors) < MOST_KEPT:
            self._errors.append(error)

    def copied(self) -> Copied:
        """Return the present counts."""
        return Copied(**self._counts, examples=tuple(self._examples), errors=tuple(self._errors), resumed=self.resumed)


# ----------------------------------------------------------------------------------------------------------------------


class RateLimit:
    """Limits the caller to *rate* rows a second; with None there is no limit."""

    def __init__(self, rate: float | None) -> None:
        if rate is not None and not (isinstance(rate, int | float) and 0 < rate < float("inf")):
            raise InvalidArgument(f"rate={rate!r} must be a number of pages a second above 0")
        self._rate = rate
        self._next = 0.0

    def at_once(self, most: int) -> int:
        """Return how many rows to read at once: those of one second, but at most *most*."""
        return most if self._rate is None else max(1, min(most, int(self._rate)))

    def wait(self, count: int) -> None:
        """Wait as long as *count* rows take at this rate, counted from the end of the last wait."""
        if self._rate is None:
            return
        now = clock.monotonic()
        # Unused time is not made up for, since that would cause a burst.
        self._next = max(self._next, now - count / self._rate) + count / self._rate
        clock.sleep(max(0.0, self._next - now))


ROWS_AT_ONCE = 256
"""How many rows of both tables are compared at once."""

Relation = Literal["same", "outdated", "own"]
"""The relation of a page in the target to that in the source: the same, an earlier state, or with captures of its own.

A page that is missing in the target is outdated.
"""


class RowPair(NamedTuple):
    """A row of the source, its key in the target, and the state of the page in the source (`there`) and here."""

    row: Row
    target_row: bytes
    there: Stored
    here: Stored


class ComparedRows(NamedTuple):
    """Some rows of the source, up to the row key `last`, and errors for those that cannot be copied."""

    last: bytes
    rows: list[RowPair]
    damaged: list[DamagedRow]


@dataclass(frozen=True, slots=True)
class TablePair:
    """The *source* of a copy, and its *target*. State in the source is named `there`, in the target `here`."""

    source: Frame
    target: Frame

    @property
    def keep_inlinks(self) -> bool:
        """Whether both tables store inlinks."""
        return all(
            any(one.keeps_inlinks for one in side.indexes.read().values()) for side in (self.source, self.target)
        )

    @property
    def _light(self) -> list[bytes]:
        """The columns of the source with the state of a page, without its body and its links."""
        names = self.source.codec.columns
        return [names.page, names.deleted, names.capture]

    def stored_there(self, row: Row) -> Stored:
        """Return the state of the page in *row* of the source, without reading its body, which may be damaged."""
        light = {column: row.cells[column] for column in self._light if column in row.cells}
        return self.source.codec.stored(Row(row.key, light))

    def pieces(self, after: bytes, limit: RateLimit) -> Iterator[ComparedRows]:
        """Yield the rows of the source after the row key *after* that are pages or deleted pages, some at once."""
        wanted = Wanted(self._light, versions=self.source.layouts.recent().versions)
        spec = ScanSpec(self.source.table, [self.source.keys_of(self.source.table)], wanted)
        found = in_storage_order(self.source.store, spec, after or None)
        while rows := list(islice(found, limit.at_once(ROWS_AT_ONCE))):
            yield self._piece(rows)
            limit.wait(len(rows))

    def _piece(self, rows: Sequence[Row]) -> ComparedRows:
        piece = ComparedRows(rows[-1].key, [], [])
        known: list[tuple[Row, Stored, bytes]] = []
        for row in rows:
            key, there = self.target_row(row.key), self.source.codec.stored(row)
            if isinstance(key, DamagedRow):
                piece.damaged.append(key)
            elif there.unreadable is not None:
                piece.damaged.append(there.unreadable.error)
            else:
                known.append((row, there, key))
        keys = [key for _, _, key in known]
        stored = self.target.pages.stored(keys, self.target.layouts.recent().versions) if keys else []
        piece.rows.extend(RowPair(row, key, there, here) for (row, there, key), here in zip(known, stored, strict=True))
        return piece

    def target_row(self, row: bytes) -> bytes | DamagedRow:
        """Return the row key in the target for the *row* of the source, or an error if there is none."""
        try:
            return self.target.key.encode(self.source.key.url_of(row))
        except ValueError as exc:
            return DamagedRow(row, None, f"its row key is not that of a URL: {exc}")

    def kept(self, versions: Sequence[Version]) -> list[Version]:
        """Return those of the *versions* of a page in the source, newest first, that the target keeps."""
        layout, now = self.target.layouts.known, clock.now()
        return [one for one in versions[: layout.versions] if not _is_past(one.at, layout.ttl, now)]

    def relation(self, there: Stored, here: Stored) -> Relation:
        """Return the relation of the state *here*, in the target, to the state *there*, in the source."""
        if here.unreadable is not None:
            is_older = there.page is not None and not here.unreadable.hides(there.page)
            return "outdated" if is_older else "own"
        kept, other = _comparable(self.kept(there.versions)), _comparable(here.versions)
        if _unsigned(here.page) == _unsigned(as_kept(there)) and other[: len(kept)] == kept:
            return "same"
        if here.page is None or there.page is None:
            return "outdated" if not other else "own"
        if here.page.fetched_at > there.page.fetched_at:
            return "own"
        known = set(map(_brought, there.versions))
        return (
            "outdated"
            if all(_brought(one) in known or self._is_gone(there, one.at) for one in here.versions)
            else "own"
        )

    def _is_gone(self, there: Stored, at: datetime) -> bool:
        """Whether the source would no longer keep a version of that moment."""
        layout, versions = self.source.layouts.known, there.versions
        is_full = len(versions) >= layout.versions
        return (is_full and at < versions[-1].at) or _is_past(at, layout.ttl, clock.now())


def as_kept(there: Stored) -> Page | None:
    """Return the page of the source as it is copied: without a body if the version with the body is gone.

    In the source its limits may explain the missing version; in the target nothing would.
    """
    page = there.page
    if page is None or not page.has_body or any(one.at == page.stored.content_at for one in there.versions):
        return page
    return replace(page, has_body=False)


def _unsigned(page: Page | None) -> Page | None:
    """Return *page* without its signature, which a table has or not as it has the index for that."""
    return page and replace(page, _likeness=None)


def covers(here: Deleted | None, there: Deleted | None) -> bool:
    """Whether the delete *here* hides everything that the delete *there* hides."""
    return there is None or (
        here is not None and here.until >= there.until and all(here.hides(moment) for moment in there.also)
    )


def _is_past(at: datetime, ttl: int | None, now: datetime) -> bool:
    return ttl is not None and at <= now - timedelta(seconds=ttl)


def _comparable(versions: Sequence[Version]) -> list[object]:
    return [(at, replace(capture, body_crc32=None, links_crc32=None)) for at, capture in versions]


def _brought(version: Version) -> tuple[object, ...]:
    capture = version.capture
    return version.at, capture.digest, capture.status, capture.redirect_to

"""The upkeep of full text: it is filled with the stored pages, mended where it differs from them, and compacted.

Pages and documents are compared in the order of URLs, a piece of pages in each transaction. Where that was ended it
goes on: the place is stored with the documents. Full text in a directory is brought up to date by the time index, which
has the pages that were fetched since.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from webtable._clock import clock, milliseconds
from webtable._messages import Command
from webtable.errors import IndexNeeded
from webtable.page.page import Page
from webtable.repository.full_text.index import (
    TextSettings,
    directory_of,
    documents_of,
    full_text_of,
    index_of,
    new_index_of,
)
from webtable.repository.indexes.index import TIME, place_of, time_text
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order
from webtable.repository.reading.scope import Scope
from webtable.rowkey import KeyRange, prefix_stop
from webtable.schema import INDEX_COLUMN
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.context import TableContext
    from webtable.repository.full_text.index import FullTextOfTable
    from webtable.store.full_text import SearchIndex

MARGIN = timedelta(hours=1)
"""How late a capture may be stored, for a refresh by time to find it."""
_DOCUMENTS_AT_ONCE = 1_000
_LAST = b"\xff"
"""A place after all rows."""


@dataclass(frozen=True, slots=True)
class TextRefresh:
    """What a refresh of full text has done: how many `pages` it has compared, `written` and `removed`."""

    pages: int = 0
    written: int = 0
    removed: int = 0


class TextIndexState(NamedTuple):
    """What full text has: its settings, how many `bytes` it takes, and whether all stored pages are in it.

    `as_of` is the moment up to which captures are in it; None if it is written together with the pages. `place` is its
    directory, None if it is in the store.
    """

    settings: TextSettings
    is_complete: bool
    bytes: int
    as_of: datetime | None
    place: Path | None


def create(context: TableContext, settings: TextSettings, on_progress: Progress | None) -> TextRefresh:
    """Create the full text of a table with *settings*, and fill it with the stored pages."""
    settings.check()
    index = new_index_of(context)
    with closing(index):
        index.create(msgspec.json.encode(settings).decode())
    return refresh(context, on_progress)


def state(context: TableContext) -> TextIndexState | None:
    """Return the state of the full text; None if the table has none."""
    full_text = full_text_of(context)
    if full_text is None:
        return None
    index = full_text.index
    is_complete = index.searched() is not None
    return TextIndexState(full_text.maker.settings, is_complete, index.bytes(), index.as_of, directory_of(context))


def drop(context: TableContext) -> bool:
    """Remove the full text; returns whether there was any."""
    index = index_of(context)
    if index is None or index.settings() is None:
        return False
    with closing(index):
        index.drop()
    return True


def compact(context: TableContext) -> None:
    """Remove what deleted and expired pages have left in the full text, if the table has any."""
    full_text = full_text_of(context)
    if full_text is not None:
        refresh(context, every=True)
        with closing(full_text.index):
            full_text.index.compact()


def refresh(context: TableContext, on_progress: Progress | None = None, *, every: bool = False) -> TextRefresh:
    """Bring the full text up to date; with *every* compare all pages, not only those fetched since the last time."""
    full_text = full_text_of(context)
    if full_text is None:
        raise IndexNeeded(
            f"{context.name}: the table has no full text: ",
            Command("search-index create", python="table.search_index.create()"),
            " adds it",
        )
    index = full_text.index
    with closing(index):
        began, filled = clock.now(), index.filled()
        if filled or index.cursor():
            # What was cut short has the captures up to its own beginning.
            began = datetime.fromisoformat(index.cursor()) if index.cursor() else began
        index.reach(began.isoformat())
        since = None if every or filled is not None else index.as_of
        # What is in the store is written with the pages and has no `as_of`; it is compared as a whole.
        if since is not None and (time := _time_index(context)) is not None:
            done = _with_captures(context, full_text, time, since - MARGIN, on_progress)
        else:
            done = _with_all(context, full_text, filled, on_progress)
        index.reach("", began)
    return done


def _with_all(
    context: TableContext, full_text: FullTextOfTable, filled: bytes | None, on_progress: Progress | None
) -> TextRefresh:
    """Compare all pages with their documents, those after the row up to which it is *filled*."""
    documents = _Documents(full_text.index, filled or b"")
    pages = _dates(context, filled or b"")
    done = TextRefresh()
    while batch := list(islice(pages, full_text.index.at_once)):
        # A first filling stores how far it has come. Later comparisons begin anew.
        place = b"" if filled is None else batch[-1][0]
        dates = documents.up_to(batch[-1][0])
        written, removed = _refreshed(context, full_text, batch, dates, place)
        done = TextRefresh(done.pages + len(batch), done.written + written, done.removed + removed)
        if on_progress is not None:
            on_progress(done.pages)
    gone = list(documents.up_to(_LAST))
    full_text.index.write([], gone, filled=None)
    return replace(done, removed=done.removed + len(gone))


def _time_index(context: TableContext) -> str | None:
    """Return the table of the time index; None if the table has none that is ready."""
    try:
        return context.indexes.ready(TIME.name, "full text").table
    except IndexNeeded:
        return None


def _with_captures(
    context: TableContext, full_text: FullTextOfTable, table: str, since: datetime, on_progress: Progress | None
) -> TextRefresh:
    """Write the documents of the pages that were fetched *since* a moment, and differ from them."""
    places = KeyRange(TIME.term(("fetched", time_text(since))), prefix_stop(b"fetched" + TIME.end))
    spec = ScanSpec(table, TIME.ranges(places), Wanted([INDEX_COLUMN], keys_only=True))
    rows = (TIME.row_of(place_of(row.key)) for row in in_storage_order(context.store, spec, None))
    done = TextRefresh()
    while batch := list(dict.fromkeys(islice(rows, full_text.index.at_once))):
        dates = zip(_captured(context, batch), full_text.index.captured(batch), strict=True)
        new = [row for row, (now, there) in zip(batch, dates, strict=True) if now is not None and now != there]
        made = list(documents_of(context, full_text.maker, list(map(context.key.salted, new))))
        full_text.index.write(made)
        done = TextRefresh(done.pages + len(batch), done.written + len(made))
        if on_progress is not None:
            on_progress(done.pages)
    return done


def _refreshed(
    context: TableContext,
    full_text: FullTextOfTable,
    pages: Sequence[tuple[bytes, int]],
    documents: dict[bytes, int],
    place: bytes,
) -> tuple[int, int]:
    """Bring the *documents* of *pages*, both given as rows with dates, up to date; returns how many of them changed."""
    stored = dict(pages)
    new = [context.key.salted(row) for row, date in pages if documents.get(row) != date]
    made = list(documents_of(context, full_text.maker, new))
    others = [row for row in documents if row not in stored]
    with context.store.transaction():
        # A writer may have stored a later capture meanwhile, with its document.
        now = _captured(context, [document.row for document in made])
        fresh = [document for document, date in zip(made, now, strict=True) if date == document.captured]
        gone = [row for row, date in zip(others, _captured(context, others), strict=True) if date is None]
        full_text.index.write(fresh, gone, filled=place)
    return len(fresh), len(gone)


def _captured(context: TableContext, rows: Sequence[bytes]) -> list[int | None]:
    pages = context.pages.read_each(list(map(context.key.salted, rows)), ()) if rows else ()
    return [milliseconds(page.fetched_at) if isinstance(page, Page) else None for page in pages]


def _dates(context: TableContext, after: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the unsalted key of each page after the place *after*, with the date of its last capture."""
    column = context.codec.columns.page
    spec = ScanSpec(context.table, Scope(is_permitted=True).ranges(context), Wanted([column]))
    for row in in_key_order(context.store, spec, context.key.unsalted, [column], after or None):
        yield context.key.unsalted(row.key), row.cells[column][0].timestamp


class _Documents:
    """The documents of an index, in the order of their rows."""

    def __init__(self, index: SearchIndex, after: bytes) -> None:
        self._index = index
        self._after = after
        self._read: dict[bytes, int] = {}
        self._is_all = False

    def up_to(self, last: bytes) -> dict[bytes, int]:
        """Return the next documents, up to the one of the row *last*, with their dates."""
        while not self._is_all and (not self._read or next(reversed(self._read)) <= last):
            documents = self._index.documents(self._after, _DOCUMENTS_AT_ONCE)
            self._is_all = len(documents) < _DOCUMENTS_AT_ONCE
            if documents:
                self._after = documents[-1][0]
                self._read |= dict(documents)
        dates = {row: date for row, date in self._read.items() if row <= last}
        self._read = {row: date for row, date in self._read.items() if row > last}
        return dates

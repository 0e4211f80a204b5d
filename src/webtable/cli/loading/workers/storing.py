"""Chunks into a writer, and which of them are stored."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.cli.loading.workers.chunks import Chunk, Tally, add_tally
from webtable.errors import InvalidCapture, InvalidURL, SchemaError, StoreUnavailable
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable._page.page import PageOutcome
    from webtable.errors import WebTableError
    from webtable.repository import WebTable


@dataclass
class _Open:
    """A chunk of which so many pages are not settled yet; one more until all are put."""

    chunk: Chunk
    left: int


class Storing:
    """Puts chunks into a writer of *table*; *on_stored* is told of each once it and all before it are stored.

    It is told in the order of the chunks, by one thread at a time, which may be any. Pages that the table refuses for
    what they are count as settled; those that fail because the store is gone do not, and `lost` says why.
    """

    def __init__(
        self, table: WebTable, on_stored: Callable[[Chunk], None], *, batch: int, max_body: int | None
    ) -> None:
        self.lost: WebTableError | None = None
        self._on_stored = on_stored
        self._lock = threading.RLock()
        self._chunks: deque[_Open] = deque()
        self._of_url: defaultdict[str, deque[_Open]] = defaultdict(deque)
        self._writer = table.writer(buffer_pages=batch, max_body=max_body, on_outcome=self._note)

    def put(self, chunk: Chunk) -> None:
        """Put the pages of *chunk*; they are taken out of it."""
        pages, chunk.pages = chunk.pages, []
        entry = _Open(chunk, len(pages) + 1)
        with self._lock:
            self._chunks.append(entry)
        for page in pages:
            url = canonical_or_none(page.url) or page.url
            with self._lock:
                self._of_url[url].append(entry)
            try:
                self._writer.put(page)
            except (InvalidURL, InvalidCapture) as exc:
                chunk.tally.refused.add(exc)
                chunk.tally.dropped.note_error(exc)
                self._settle(self._taken(url, last=True))
        self._settle(entry)

    def close(self) -> Tally:
        """Store what was put, and return what became of the chunks that *on_stored* was not told of."""
        self._writer.close()
        rest = Tally()
        for entry in self._chunks:
            add_tally(rest, entry.chunk.tally)
        return rest

    def _note(self, outcome: PageOutcome) -> None:
        error = outcome.error
        with self._lock:
            entry = self._taken(outcome.url)
            tally = entry.chunk.tally
            tally.dropped.note(outcome)
            if error is None:
                tally.stored += 1
                tally.unchanged += not outcome.is_new
            else:
                tally.failed.add(error)
            if isinstance(error, StoreUnavailable | SchemaError):
                self.lost = self.lost or error
            else:
                self._settle(entry)

    def _taken(self, url: str, *, last: bool = False) -> _Open:
        """Return the chunk of the page *url*: the outcomes of one URL come in the order of its pages."""
        with self._lock:
            entries = self._of_url[url]
            entry = entries.pop() if last else entries.popleft()
            if not entries:
                del self._of_url[url]
            return entry

    def _settle(self, entry: _Open) -> None:
        with self._lock:
            entry.left -= 1
            while self._chunks and not self._chunks[0].left:
                chunk = self._chunks.popleft().chunk
                chunk.is_stored = True
                self._on_stored(chunk)

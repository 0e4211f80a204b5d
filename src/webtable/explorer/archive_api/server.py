"""What the protocols share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webtable import HostOnly, WebTable
from webtable.explorer.http import Streaming

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable import Page
    from webtable.answers import Results


# --- The pages of an answer of the CDX server: blocks of URLs, whose beginnings are kept while a client reads them ----


Sites = tuple[str | HostOnly, ...]
BLOCK: Final = 3_000
"""URLs of a block; clients estimate the size of an answer by it."""
_MOST_KEPT: Final = 32


class BlockStart(NamedTuple):
    """Where a block begins: in which of the sites, and after which token."""

    site: int = 0
    after: str | None = None


class Blocks:
    """The beginnings of the blocks of the questions asked last: without them each page would read all before it."""

    def __init__(self) -> None:
        self._known: OrderedDict[Sites, tuple[BlockStart, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def starts(self, table: WebTable, sites: Sites, most: int | None = None) -> tuple[BlockStart, ...]:
        """Return where the blocks of *sites* begin, or the first *most* of them; there is always one."""
        with self._lock:
            known = list(self._known.get(sites, (BlockStart(),)))
        while most is None or len(known) < most:
            found = _placed(table, sites, known[-1])
            last = next(islice(found, BLOCK - 1, None), None)
            if last is None or next(found, None) is None:
                break
            number, results, page = last
            known.append(BlockStart(number, results.token_after(page)))
        with self._lock:
            self._known[sites] = tuple(known)
            self._known.move_to_end(sites)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return tuple(known)

    def start(self, table: WebTable, sites: Sites, number: int) -> BlockStart | None:
        """Return where the block *number* of *sites* begins; None if it is after the last one."""
        known = self.starts(table, sites, number + 1) if sites else ()
        return known[number] if number < len(known) else None


def pages_of(table: WebTable, sites: Sites, start: BlockStart, blocks: int | None) -> Iterator[Page]:
    """Yield the pages of *sites* from *start* on: those of that many *blocks*, or all."""
    found = (page for _, _, page in _placed(table, sites, start))
    return found if blocks is None else islice(found, blocks * BLOCK)


def _placed(table: WebTable, sites: Sites, start: BlockStart) -> Iterator[tuple[int, Results[Any], Page]]:
    """Yield the pages from *start* on, each with the site and the answer that it is in."""
    for number in range(start.site, len(sites)):
        results = table.pages(sites[number], after=start.after if number == start.site else None)
        for page in results:
            yield number, results, page


# ----------------------------------------------------------------------------------------------------------------------


class ArchiveServer(NamedTuple):
    """The `table` that is asked, the threads in which responses are made, and the pages of the last CDX answers."""

    table: WebTable
    streaming: Streaming
    blocks: Blocks

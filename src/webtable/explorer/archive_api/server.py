"""What the protocols share: the table, the threads of the responses, and the blocks in which a CDX answer is paged."""

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


Sites = tuple[str | HostOnly, ...]
# URLs of a block; clients estimate the size of an answer by it.
BLOCK: Final = 3_000
# Of how many questions the beginnings of blocks are kept.
_MOST_KEPT: Final = 32


class BlockStart(NamedTuple):
    """Where a block begins: in which of the sites, and after which token."""

    site: int = 0
    after: str | None = None


class Blocks:
    """The beginnings of the blocks of the questions asked last: without them each page would read all before it."""

    def __init__(self) -> None:
        self._starts: OrderedDict[Sites, tuple[BlockStart, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def starts(self, table: WebTable, sites: Sites, limit: int | None = None) -> tuple[BlockStart, ...]:
        """Return where the blocks of *sites* begin, or the first *limit* of them; there is always one."""
        with self._lock:
            starts = list(self._starts.get(sites, (BlockStart(),)))
        while limit is None or len(starts) < limit:
            pages = _placed(table, sites, starts[-1])
            last = next(islice(pages, BLOCK - 1, None), None)
            if last is None or next(pages, None) is None:
                break
            number, results, page = last
            starts.append(BlockStart(number, results.token_after(page)))
        with self._lock:
            self._starts[sites] = tuple(starts)
            self._starts.move_to_end(sites)
            while len(self._starts) > _MOST_KEPT:
                self._starts.popitem(last=False)
        return tuple(starts)

    def start(self, table: WebTable, sites: Sites, number: int) -> BlockStart | None:
        """Return where the block *number* of *sites* begins; None if it is after the last one."""
        starts = self.starts(table, sites, number + 1) if sites else ()
        return starts[number] if number < len(starts) else None


def pages_of(table: WebTable, sites: Sites, start: BlockStart, blocks: int | None) -> Iterator[Page]:
    """Yield the pages of *sites* from *start* on: those of that many *blocks*, or all."""
    pages = (page for _, _, page in _placed(table, sites, start))
    return pages if blocks is None else islice(pages, blocks * BLOCK)


def _placed(table: WebTable, sites: Sites, start: BlockStart) -> Iterator[tuple[int, Results[Any], Page]]:
    """Yield the pages from *start* on, each with the site and the answer that it is in."""
    for number in range(start.site, len(sites)):
        results = table.pages(sites[number], after=start.after if number == start.site else None)
        for page in results:
            yield number, results, page


class ArchiveServer(NamedTuple):
    """The `table` that is asked, the threads in which responses are made, and the pages of the last CDX answers."""

    table: WebTable
    streaming: Streaming
    blocks: Blocks

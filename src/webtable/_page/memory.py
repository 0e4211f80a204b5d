"""How much memory a page takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._page.parts import SAID

if TYPE_CHECKING:
    from webtable._page.page import Page

LINK_BYTES = 250
"""About how many bytes of memory a link takes, with its URL and its anchor text."""
_PAGE_BYTES = 800
_LINK_BYTES = 160
_HEADER_BYTES = 130


def memory_of(page: Page) -> int:
    """Return about how many bytes of memory *page* takes, with its body, its links and its headers.

    The constants were measured with tracemalloc on Python 3.11; a character counts as one byte.
    """
    links, headers = page.outlinks, page.headers
    size = _PAGE_BYTES + len(page.url) + len(page.body or b"") + _HEADER_BYTES * len(headers)
    # In lists and by `map`: this is done for every page, and generators take twice as long.
    size += sum(map(len, headers)) + sum(map(len, headers.values()))
    size += sum([len(text) for name in SAID if (text := getattr(page, name))])
    return size + sum([_LINK_BYTES + len(url) + len(anchor) for url, anchor, _ in links]) if links else size

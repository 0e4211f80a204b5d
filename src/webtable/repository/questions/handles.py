"""The questions for one page by its handle, and where its redirects lead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webtable.errors import InvalidArgument, InvalidURL
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared
from webtable.repository.indexes.answer import IndexQuestion, SitePageOptions
from webtable.repository.indexes.index import URL, handle_of
from webtable.rowkey import canonical_url
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.repository.answers.results import Pages
    from webtable.repository.context import Frame

MAX_HOPS = 20
"""How many redirects `resolve` follows."""

_HANDLE = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a URL leads: the `page` at the end of its redirects, None if that is not stored.

    `hops` are the URLs from the first to the last. `problem` is why there is no end: "loop", "not
    stored" or "too many".
    """

    hops: tuple[str, ...]
    page: Page | None = None
    problem: Literal["loop", "not stored", "too many"] | None = None

    @property
    def url(self) -> str:
        """The last URL."""
        return self.hops[-1]


declared(Resolution, "resolution", column("hops", "urls"), column("url", "url"), column("problem"))


def by_handle(frame: Frame, handle: str, columns: Sequence[str] | None = None) -> Page | None:
    """Return what `WebTable.by_handle` does."""
    if not isinstance(handle, str) or not _HANDLE.fullmatch(handle):
        raise InvalidArgument(f"handle={handle!r} must be 16 hexadecimal digits, as handle_of gives them")
    options = SitePageOptions(columns=columns, limit=1)
    found = _with_handle(frame, f"the page {handle}", handle, lambda page: handle_of(page.url) == handle, options)
    page = next(iter(found), None)
    if page is None and found.damaged:
        raise found.damaged[0]
    return page


def redirects_to(frame: Frame, url: str, options: SitePageOptions) -> Pages:
    """Return the pages that lead to *url* directly, whatever their status, by URL."""
    target = canonical_url(url)
    handle = handle_of(target)
    return _with_handle(frame, f"redirects to {target}", handle, lambda page: target_of(page) == target, options)


def resolve(frame: Frame, url: str) -> Resolution:
    """Return what `WebTable.resolve` does."""
    page: Page | None
    if isinstance(url, str) and _HANDLE.fullmatch(url):
        page = by_handle(frame, url)
        hops = [url if page is None else page.url]
    else:
        hops = [canonical_url(url)]
        page = stored_page(frame, hops[0])
    while page is not None and (target := target_of(page)) is not None:
        if target in hops:
            return Resolution((*hops, target), None, "loop")
        if len(hops) > MAX_HOPS:
            return Resolution(tuple(hops), None, "too many")
        hops.append(target)
        page = stored_page(frame, target)
    return Resolution(tuple(hops), page, "not stored" if page is None else None)


def stored_page(frame: Frame, url: str) -> Page | None:
    """Return the page *url* without its body, None if it is not stored or not a URL; raises `DamagedRow`."""
    try:
        row = frame.key.encode(url)
    except InvalidURL:
        return None
    return frame.counted.read([row], ())[0]


def _with_handle(frame: Frame, said: str, handle: str, only: Callable[[Page], bool], options: SitePageOptions) -> Pages:
    return IndexQuestion(
        frame,
        options,
        title=said,
        index=URL,
        places=lambda: [URL.range_of(handle)],
        orders={"url": False},
        shard_of=lambda: URL.term(handle),
        only=only,
    ).answer()


def target_of(page: Page) -> str | None:
    """Return the canonical URL that *page* redirects to, if any."""
    return None if page.redirect_to is None else canonical_or_none(page.redirect_to)

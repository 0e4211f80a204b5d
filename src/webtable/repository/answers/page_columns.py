"""The columns of pages: those of every listing, and those on request: parts of the URL, bodies, links, counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from webtable.page.page import Page
from webtable.repository.answers.columns import (
    COMPUTED,
    EXTRA_COLUMNS,
    Column,
    Columns,
    Form,
    column,
    declared,
    fields_of,
)
from webtable.rowkey import registered_domain
from webtable.rowkey.fields.domain import reversed_host
from webtable.rowkey.urls import URLParts, split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


def _stored(name: str, form: Form = "text", **more: Any) -> Column:
    return column(name, form, source="stored", **more)


def _part(name: str, common_crawl: str, of: Callable[[URLParts], str | None]) -> Column:
    def value(page: Any) -> str | None:
        return of(split_url(page.url))

    return column(name, of=value, source="url", is_usual=False, common_crawl=common_crawl)


def _counted(name: str, form: Form = "count", **more: Any) -> Column:
    def value(page: Page) -> Any:
        return page.link_counts and getattr(page.link_counts, name)

    return column(name, form, value, is_usual=False, **more)


# Names in Common Crawl are those of https://github.com/commoncrawl/cc-index-table, the schema of its columnar index.
URL = _stored("url", "url")
_COUNTS = (
    _counted("inlinks"),
    _counted("internal", width=8),
    _counted("external", width=8),
    _counted("self_links", heading="self", width=4),
    _counted("counted_at", "time", heading="counted"),
)
COUNTED = tuple(one.name for one in _COUNTS)
"""The names of the columns with counts of links."""
PAGES = declared(
    Page,
    "page",
    URL,
    _stored("status", "status", heading="status", default=200, common_crawl="fetch_status"),
    _stored("title", "title"),
    _stored("content_type", heading="type", common_crawl="content_mime_type"),
    _stored("charset", common_crawl="content_charset"),
    _stored("size", "bytes"),
    _stored("digest", "digest", common_crawl="content_digest"),
    _stored("fetched_at", "time", heading="fetched", common_crawl="fetch_time"),
    _stored("last_modified", "time", heading="modified"),
    _stored("etag"),
    _stored("truncated", "bool", default=False),
    _stored("redirect_to", "url", heading="leads to", common_crawl="fetch_redirect"),
    _stored("changed_at", "time", heading="changed"),
    _stored("change_count", "count", default=0, width=12),
    _stored("content_at", "time", of="stored.content_at"),
    _stored("has_body", "bool", default=False),
    _stored("outlink_count", "count", heading="links", width=12),
    _stored("only_self_links", "bool", of="stored.only_self_links", default=False),
    _stored("first_seen", "time"),
    _stored("canonical"),
    _stored("description"),
    _stored("robots"),
    _stored("h1"),
    _stored("language"),
    _stored("language_detected", "bool", default=False),
    _part("host", "url_host_name", lambda url: url.host),
    _part("host_reversed", "url_host_name_reversed", lambda url: reversed_host(url.host)),
    _part("registered_domain", "url_host_registered_domain", lambda url: registered_domain(url.host)),
    _part("scheme", "url_protocol", lambda url: url.scheme),
    _part("path", "url_path", lambda url: url.path),
    _part("query", "url_query", lambda url: url.query.removeprefix("?") or None),
    column("headers", "headers", is_usual=False),
    column("body", "body", is_usual=False),
    column("text", is_usual=False, share=3),
    column("outlinks", "links", is_usual=False),
    column("link_counts", "counts", is_usual=False),
    *_COUNTS,
    listed=("url", "status", "size", "fetched_at", "title"),
    read_again=("headers", "body", "outlinks"),
)
"""Pages and versions."""
_READ_FOR = {one: (one, *(name for name, of in COMPUTED.items() if of == one)) for one in EXTRA_COLUMNS}
"""The further columns that pages have if these page columns are read."""


def pages_with(names: Iterable[str], like: Columns = PAGES, *, is_counted: bool = False) -> Columns:
    """Return the columns of pages that are read for the columns *names*; what is read for them becomes usual.

    With *is_counted* so do the counts of links; the listed ones are those of *like*. Raises `UnknownColumn`.
    """
    given = tuple(names)
    read = frozenset(_READ_FOR.keys() & set(fields_of(given)))
    return replace(like, all=_pages_with(read, is_counted)).asking(given)


def records_with(names: Sequence[str], like: Columns) -> Columns:
    """Return the columns *like* of records that have a page, read for the columns *names*; raises `UnknownColumn`."""
    missing = _not_read(_READ_FOR.keys() & set(fields_of(names)))
    return replace(like, all=tuple(one for one in like.all if one.name not in missing)).asking(names)


@cache
def _pages_with(asked: frozenset[str], is_counted: bool) -> tuple[Column, ...]:
    read = {*asked, "link_counts"} if is_counted else asked
    missing = _not_read(read)
    usual = {*asked, *(COUNTED if is_counted else ())}
    some = [one for one in PAGES.all if one.name not in missing]
    return tuple(replace(one, is_usual=True) if one.name in usual else one for one in some)


def _not_read(read: Collection[str]) -> set[str]:
    return {name for one, made in _READ_FOR.items() if one not in read for name in made}


def read_for(names: Iterable[str]) -> tuple[str, ...]:
    """Return the page columns that must be read for the columns *names*."""
    given = {name: one for one, made in _READ_FOR.items() for name in made}
    return tuple(dict.fromkeys(given[name] for name in names if name in given))


def page_in(page_of: Callable[[Any], Page | None], taken: Collection[str]) -> Iterable[Column]:
    """Return the columns of the page that *page_of* gets from a record, for use by name; without names in *taken*."""
    for one in PAGES.all:
        if one.name not in taken:
            yield replace(one, of=_within(page_of, one.of), is_usual=False, source="record", common_crawl=None)


def _within(page_of: Callable[[Any], Page | None], of: Callable[[Page], Any]) -> Callable[[Any], Any]:
    def value(record: Any) -> Any:
        page = page_of(record)
        return None if page is None else of(page)

    return value

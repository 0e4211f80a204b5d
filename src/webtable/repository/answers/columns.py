"""The columns that answers have as tables: their names, types and units, for each kind of record.

They are stable: a name stays, and keeps its type; new ones come last. Times are UTC to the microsecond, of which
webtable keeps milliseconds; sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from webtable.errors import InvalidArgument, UnknownColumn
from webtable.rowkey import registered_domain
from webtable.rowkey.fields.domain import reversed_host
from webtable.rowkey.urls import URLParts, split_url

Type = Literal["string", "int", "bool", "time", "bytes", "strings", "headers", "links", "counts"]
"""Text, 64 bits with a sign, true or false, a moment in UTC, bytes, texts, and what is of several parts."""
ColumnNames = Literal["webtable", "commoncrawl"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type, what gives the value of a record, and the value that stored pages leave out."""

    name: str
    type: Type
    of: Callable[[Any], Any]
    default: object = None
    """What a stored page means that does not say it."""
    source: Literal["record", "stored", "url"] = "record"
    """What it is made of: the whole record, its member in a page's stored metadata, or the page's URL alone."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record: its columns, and the `usual` ones, which come where none are named."""

    columns: tuple[Column, ...]
    usual: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    """What columns are called in Common Crawl's index, where it has them."""
    listed: tuple[str, ...] = ()
    """The columns that are enough to recognise a record by; all of the usual ones where there are few."""

    def chosen(self, names: Sequence[str] | None) -> tuple[Column, ...]:
        """Return the columns *names*, in that order; raises `UnknownColumn`."""
        if isinstance(names, str):
            raise InvalidArgument(f"columns={names!r} must be a list of names, as in [{names!r}]")
        known = {column.name: column for column in self.columns}
        for name in names or ():
            if name not in known:
                raise UnknownColumn(f"columns={name!r} is no column of this answer; it has {', '.join(known)}")
        return tuple(known[name] for name in dict.fromkeys(self.usual if names is None else names))

    def renaming(self, names: ColumnNames) -> dict[str, str]:
        """Return what columns are called by *names*, as far as it is something else; raises `InvalidArgument`."""
        if names not in ("webtable", "commoncrawl"):
            raise InvalidArgument(f"names={names!r} must be webtable or commoncrawl")
        return {} if names == "webtable" else dict(self.renamed)


def _column(name: str, kind: Type, of: str | Callable[[Any], Any] | None = None) -> Column:
    return Column(name, kind, of if callable(of) else attrgetter(of or name))


def _stored(name: str, kind: Type, default: object = None) -> Column:
    return Column(name, kind, attrgetter(name), default, "stored")


def _part(name: str, of: Callable[[URLParts], str | None]) -> Column:
    return Column(name, "string", lambda page: of(split_url(page.url)), source="url")


def _columns(kind: Type, *names: str) -> list[Column]:
    return [_column(name, kind) for name in names]


URL = _stored("url", "string")
_URLS = _column("urls", "strings", lambda one: list(one.urls))
_PAGE = (
    URL,
    _stored("status_code", "int", 200),
    _stored("title", "string"),
    _stored("content_type", "string"),
    _stored("charset", "string"),
    _stored("size", "int"),
    _stored("digest", "string"),
    _stored("fetched_at", "time"),
    _stored("last_modified", "time"),
    _stored("etag", "string"),
    _stored("truncated", "bool", False),
    _stored("redirect_to", "string"),
    _stored("changed_at", "time"),
    _stored("change_count", "int", 0),
    _stored("content_at", "time"),
    _stored("has_body", "bool", False),
    _stored("outlink_count", "int"),
    _stored("only_self_links", "bool", False),
    _stored("first_seen", "time"),
    _stored("canonical", "string"),
    _stored("description", "string"),
    _stored("robots", "string"),
    _stored("h1", "string"),
    _stored("language", "string"),
)
_PARTS = (
    _part("host", lambda url: url.host),
    _part("host_reversed", lambda url: reversed_host(url.host)),
    _part("registered_domain", lambda url: registered_domain(url.host)),
    _part("scheme", lambda url: url.scheme),
    _part("path", lambda url: url.path),
    _part("query", lambda url: url.query.removeprefix("?") or None),
)
_EXTRA = (
    _column("headers", "headers"),
    _column("html", "bytes"),
    _column("text", "string"),
    _column("outlinks", "links"),
    _column("link_counts", "counts"),
)
# Of https://github.com/commoncrawl/cc-index-table, its schema of the columnar index.
_COMMON_CRAWL = (
    ("status_code", "fetch_status"),
    ("content_type", "content_mime_type"),
    ("charset", "content_charset"),
    ("digest", "content_digest"),
    ("fetched_at", "fetch_time"),
    ("redirect_to", "fetch_redirect"),
    ("host", "url_host_name"),
    ("host_reversed", "url_host_name_reversed"),
    ("registered_domain", "url_host_registered_domain"),
    ("scheme", "url_protocol"),
    ("path", "url_path"),
    ("query", "url_query"),
)
_USUAL = tuple(column.name for column in _PAGE)

_LISTED = ("url", "status_code", "title", "size", "fetched_at")

PAGES = Kind((*_PAGE, *_PARTS, *_EXTRA), _USUAL, _COMMON_CRAWL, _LISTED)
"""Pages and versions: what every listing reads; parts of the URL and what is asked for where they are named."""
INLINKS = Kind(
    (
        _column("source", "string"),
        *_columns("string", "anchor", "rel"),
        _column("at", "time"),
        _column("is_current", "bool"),
        _column("source_status", "int", lambda one: one.page and one.page.status_code),
        _column("source_title", "string", lambda one: one.page and one.page.title),
    ),
    ("source", "anchor", "rel", "at", "is_current", "source_status", "source_title"),
)
LINKS = Kind(tuple(_columns("string", "url", "anchor", "rel")), ("url", "anchor", "rel"))
NEIGHBOURS = Kind(
    (*_columns("string", "direction", "url", "anchor", "rel"), _column("status_code", "int")),
    ("direction", "url", "anchor", "rel", "status_code"),
)
BROKEN_LINKS = Kind(
    (*_columns("string", "source", "target", "anchor", "rel"), _column("status_code", "int")),
    ("source", "target", "status_code", "anchor", "rel"),
)
HOSTS = Kind(
    (_column("name", "string"), *_columns("int", "pages", "bytes"), _column("counted_at", "time")),
    ("name", "pages", "bytes", "counted_at"),
)
HITS = Kind(
    (
        _column("url", "string", "page.url"),
        _column("matches", "int"),
        _column("title", "string", "page.title"),
        _column("excerpts", "string", lambda hit: " ".join(one.text for one in hit.excerpts)),
        _column("status_code", "int", "page.status_code"),
        _column("fetched_at", "time", "page.fetched_at"),
    ),
    ("url", "matches", "title", "excerpts", "status_code", "fetched_at"),
)


def pages_with(names: Iterable[str]) -> Kind:
    """Return the kind of pages that were asked for with the page columns *names*: they are among the usual ones."""
    asked = set(names)
    missing = {"html", "outlinks", "link_counts"} - asked
    if "html" in missing:
        missing.add("text")
    columns = tuple(column for column in PAGES.columns if column.name not in missing)
    usual = dict.fromkeys([*PAGES.usual, *(column.name for column in _EXTRA if column.name in asked)])
    return Kind(columns, tuple(usual), PAGES.renamed, PAGES.listed)


URLS = Kind((_column("url", "string", str),), ("url",))
GROUPS = Kind(
    (*_columns("string", "by", "group"), *_columns("int", "pages", "bytes")), ("by", "group", "pages", "bytes")
)
CHANGES = Kind(tuple(_columns("string", "part", "name", "old", "new")), ("part", "name", "old", "new"))
"""What differs between two versions: `part` is title, status_code, header, link or text."""


def _sides(name: str, kind: Type, of: str) -> list[Column]:
    """Return the columns of what the page of a change was before, and what it is after."""

    def value(side: str) -> Callable[[Any], Any]:
        page = attrgetter(side)
        return lambda change: getattr(page(change), of, None)

    return [_column(f"{name}_{side}", kind, value(side)) for side in ("before", "after")]


PAGE_CHANGES = Kind(
    (
        *_columns("string", "url", "kind"),
        *_sides("status", "int", "status_code"),
        *_sides("title", "string", "title"),
        *_sides("size", "int", "size"),
        *_sides("redirect", "string", "redirect_to"),
        *_sides("digest", "string", "digest"),
        *_sides("fetched", "time", "fetched_at"),
    ),
    (
        *("url", "kind", "status_before", "status_after", "title_before", "title_after", "size_before", "size_after"),
        *("redirect_before", "redirect_after", "digest_before", "digest_after", "fetched_before", "fetched_after"),
    ),
    listed=("url", "kind", "status_before", "status_after", "title_after"),
)
"""What became of pages between two moments: the page as it was before, and as it is after."""
DUPLICATE_GROUPS = Kind(
    (*_columns("string", "by", "value"), *_columns("int", "pages", "bytes"), _URLS),
    ("by", "value", "pages", "bytes", "urls"),
)
TITLE_PROBLEMS = Kind(
    (*_columns("string", "problem", "url", "title"), _column("others", "int")), ("problem", "url", "title", "others")
)
REDIRECT_CHAINS = Kind(
    (_URLS, _column("length", "int"), _column("is_loop", "bool"), _column("end", "int")),
    ("urls", "length", "is_loop", "end"),
)
CRAWLS = Kind(
    (*_columns("time", "begin", "end"), *_columns("int", "captures", "bytes", "hosts")),
    ("begin", "end", "captures", "bytes", "hosts"),
)

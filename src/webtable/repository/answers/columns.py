"""Columns of records; each kind of record declares its columns once, next to its class, with `declared`.

Frames, files, the terminal, notebooks and completion use that. Columns are stable: a name stays, and keeps its type;
new columns are added at the end. Times are in UTC with microseconds, of which webtable keeps milliseconds; sizes are in
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from webtable.display import Marked, harmless, shown_text
from webtable.display.text import minute_text, size_text
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.page.json_lines import ATTRIBUTES, TYPES, types_of
from webtable.page.page import BLANK, Page
from webtable.page.parts import Bookkeeping, unknown_column
from webtable.rowkey import registered_domain
from webtable.rowkey.fields.domain import reversed_host
from webtable.rowkey.urls import URLParts, split_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


# --- Names of page columns --------------------------------------------------------------------------------------------
#
# Those that questions may name, and the fields that are read for them.


EXTRA_COLUMNS = ("body", "outlinks", "link_counts")
"""The columns of a page that are separate cells, and are read only on request."""
PAGE_COLUMNS = tuple(name for name in ATTRIBUTES if name != "same_as")
"""All fields of a page."""
_OF_COUNTS = ("inlinks", "internal", "external", "self_links", "counted_at")
_OF_URL = ("host", "host_reversed", "registered_domain", "scheme", "path", "query")
_INTERNAL = set(Bookkeeping.__struct_fields__) - {"content_at", "only_self_links"}
COMPUTED: Final = {
    **dict.fromkeys(("text", "text_length", "text_ratio"), "body"),
    **dict.fromkeys(_OF_COUNTS, "link_counts"),
    **dict.fromkeys(_OF_URL, "url"),
    **dict.fromkeys(("index_status", "index_reason"), "status"),
    "from_headers": "robots",
    "title_pixels": "title",
    "description_pixels": "description",
}
"""The further columns of pages, and the field that each is computed from."""
NAMED_COLUMNS: Final = (*(name for name in PAGE_COLUMNS if name not in _INTERNAL), *COMPUTED)
"""All columns of a page, for `columns=`."""


def column_names(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return page columns as a tuple; a single name is allowed. Raises `UnknownColumn` for anything but names.

    >>> column_names("body"), column_names(["body", "outlinks"]), column_names(None)
    (('body',), ('body', 'outlinks'), ())
    """
    if not isinstance(columns, Iterable | None):
        raise UnknownColumn(f"columns={columns!r} must be a list of names, as in ['body']")
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def fields_of(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the fields of a page from which *columns* are computed: themselves, unless they are no fields.

    >>> fields_of(["text", "host", "title"])
    ('body', 'url', 'title')
    """
    return tuple(dict.fromkeys(COMPUTED.get(name, name) for name in column_names(columns)))


def checked_fields(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the fields for *columns*, as `fields_of` does; raises `UnknownColumn` for a name that a page has not."""
    unknown = [name for name in column_names(columns) if name not in NAMED_COLUMNS]
    if unknown:
        raise UnknownColumn(unknown_column(unknown[0], "page", NAMED_COLUMNS))
    return fields_of(columns)


# --- Columns ----------------------------------------------------------------------------------------------------------


Type = Literal["string", "int", "float", "bool", "time", "bytes", "strings", "headers", "cells", "links", "counts"]
"""Text, a whole number and one with a fraction (of 64 bits each), true or false, a moment in UTC, bytes, texts, and
types with several parts."""
Form = Literal[
    "text", "title", "url", "urls", "status", "count", "fraction", "bytes", "digest", "bool", "time", "moment", "body",
    "headers", "cells", "links", "counts",
]  # fmt: skip
"""How the values of a column are shown. A `moment` is shown in full, other times to the minute."""
ColumnNames = Literal["webtable", "commoncrawl"]


class _Look(NamedTuple):
    """The type of the values, and the width of their column in a terminal: fixed, or a share of the remaining width."""

    type: Type
    width: int = 12
    share: int = 0


_LOOKS: dict[Form, _Look] = {
    "text": _Look("string"),
    "title": _Look("string", share=2),
    "url": _Look("string", share=3),
    "urls": _Look("strings", share=3),
    "status": _Look("int", 6),
    "count": _Look("int", 9),
    "fraction": _Look("float", 10),
    "bytes": _Look("int", 8),
    "digest": _Look("string"),
    "bool": _Look("bool"),
    "time": _Look("time", 16),
    "moment": _Look("time", 24),
    "body": _Look("bytes", share=3),
    "headers": _Look("headers", share=2),
    "cells": _Look("cells", share=2),
    "links": _Look("links", share=2),
    "counts": _Look("counts"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, the form of its values, the function that gets the value of a record, and its looks."""

    name: str
    form: Form
    of: Callable[[Any], Any]
    heading: str
    width: int
    share: int
    """Its share of the width that other columns leave; 0 if its width is fixed."""
    is_usual: bool = True
    """Whether it is included by default, if no columns are named."""
    common_crawl: str | None = None
    """Its name in Common Crawl's index, if that has it."""
    default: object = None
    """The value of a stored page that does not have it."""
    source: Literal["record", "stored", "url"] = "record"
    """Its source: the whole record, its member in a page's stored metadata, or the page's URL alone."""
    marked: Callable[[Any], Marked | None] | None = None
    """The function that gets the value with marks, for display."""

    @property
    def type(self) -> Type:
        """The type of its values."""
        return _LOOKS[self.form].type

    def shown(self, record: object) -> Marked:
        """Return the value of *record* as short text for people, in pieces of which some may be marked.

        >>> column("size", "bytes", len).shown("x" * 2_000).pieces
        [('2.0 kB', False)]
        """
        value = (self.marked or self.of)(record)
        if isinstance(value, Marked):
            return Marked([(harmless(piece), is_marked) for piece, is_marked in value.pieces])
        match self.form, value:
            case "bytes", int():
                text = size_text(value)
            case "status", int():
                text = str(value)
            case "time", datetime():
                text = minute_text(value)
            case "fraction", float():
                text = f"{value:,.2f}"
            case _:
                text = shown_text(value)
        return Marked([(text, False)])


def column(
    name: str,
    form: Form = "text",
    of: str | Callable[[Any], Any] | None = None,
    *,
    heading: str | None = None,
    width: int | None = None,
    share: int | None = None,
    **more: Any,
) -> Column:
    """Return the column *name*; *of* is an attribute of records, by default of that name, or a function of a record.

    It looks like its *form* unless *more*, the other fields of `Column`, change that.
    """
    value = of if callable(of) else attrgetter(of or name)
    look = _LOOKS[form]
    return Column(
        name,
        form,
        value,
        name if heading is None else heading,
        look.width if width is None else width,
        look.share if share is None else share,
        **more,
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a kind of record, which is called *noun* in messages."""

    noun: str
    all: tuple[Column, ...]
    listed: tuple[str, ...]
    """Those that a terminal and a notebook show by default: enough to recognise a record."""
    read_again: tuple[str, ...] = ()
    """Those that a line of JSON has besides the usual ones, for records that are read back from such lines."""
    named: tuple[str, ...] = ()
    """Those that the question named, which then are included and shown if no others are named."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all."""
        return tuple(column.name for column in self.all)

    @property
    def usual(self) -> tuple[str, ...]:
        """The names of those that are included by default."""
        return tuple(column.name for column in self.all if column.is_usual)

    def chosen(self, names: Sequence[str] | None = None) -> tuple[Column, ...]:
        """The columns *names* in that order; a single name is allowed. None: those of the question, or the usual.

        Raises `UnknownColumn`.
        """
        wanted = (self.named or self.usual) if names is None else column_names(names)
        by_name = {column.name: column for column in self.all}
        for name in wanted:
            if name not in by_name:
                raise UnknownColumn(unknown_column(name, self.noun, by_name))
        return tuple(by_name[name] for name in dict.fromkeys(wanted))

    def in_json(self) -> tuple[Column, ...]:
        """Return the columns of a line of JSON, if none are named."""
        return self.chosen([*self.usual, *(name for name in self.read_again if name in self.names)])

    def listing(self, *names: str) -> Columns:
        """Return the same columns, with others listed by default."""
        return replace(self, listed=names)

    def asking(self, names: Sequence[str]) -> Columns:
        """Return the same columns for an answer to a question that named some of them, if it did: the URL comes first.

        Raises `UnknownColumn`.
        """
        named = tuple(column.name for column in self.chosen(["url", *names])) if names else ()
        return replace(self, named=named)

    def renaming(self, names: ColumnNames) -> dict[str, str]:
        """Return the names of columns that have other *names* there; raises `InvalidArgument`."""
        if names not in ("webtable", "commoncrawl"):
            raise InvalidArgument(f"names={names!r} must be webtable or commoncrawl")
        return {
            column.name: column.common_crawl for column in self.all if column.common_crawl and names == "commoncrawl"
        }


_DECLARED: dict[type, Columns] = {}


def declared(
    kind: type, noun: str, *columns: Column, listed: Sequence[str] = (), read_again: Sequence[str] = ()
) -> Columns:
    """Declare and return the *columns* of records of a *kind*, called *noun* in messages; by default all are listed.

    `columns_of` finds them by the class of a record.
    """
    shown = listed or [column.name for column in columns if column.is_usual]
    made = Columns(noun, columns, tuple(shown), tuple(read_again))
    _DECLARED[kind] = made
    return made


def columns_of(record: object) -> Columns:
    """Return the columns that were declared for the class of *record*, else one for each of its fields or attributes.

    Raises `InvalidArgument` if it has neither.
    """
    kind = type(record)
    # A subclass, as of a page, has the columns of its base.
    for base in kind.__mro__:
        if base in _DECLARED:
            return _DECLARED[base]
    names = getattr(record, "__struct_fields__", None) or getattr(record, "_fields", None)
    if names is None and is_dataclass(record):
        names = tuple(field.name for field in fields(record))
    if names is None:
        names = tuple(getattr(record, "__dict__", ()))  # as of a DamagedRow
    if not names:
        raise InvalidArgument(f"the columns of a {kind.__name__} are unknown: give an answer, or results of one")
    return Columns(kind.__name__, tuple(map(column, names)), tuple(names))


# --- The columns of pages ---------------------------------------------------------------------------------------------
#
# Those of every listing, and those on request: parts of the URL, bodies, links, counts.


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
COUNTED = tuple(count.name for count in _COUNTS)
"""The names of the columns with counts of links."""
_FIELDS = (
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
)
_FORMS: dict[Any, Form] = {str: "text", int: "count", float: "fraction", bool: "bool", datetime: "time"}


def _other_fields() -> Iterator[Column]:
    """Yield columns of the other fields of a page, which look as their type does: of a new field, too."""
    names = {one.name for one in _FIELDS}.union(_INTERNAL, EXTRA_COLUMNS, ["headers"])
    for name in PAGE_COLUMNS:
        if name not in names:
            form = next(_FORMS[kind] for kind in types_of(TYPES[name]) if kind in _FORMS)
            yield _stored(name, form, default=getattr(BLANK, name))


PAGES = declared(
    Page,
    "page",
    *_FIELDS,
    *_other_fields(),
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
    column("index_status", is_usual=False, heading="index", width=13),
    column("index_reason", is_usual=False, heading="because of", share=2),
    column("from_headers", "urls", lambda page: list(page.from_headers) or None, is_usual=False, heading="by headers"),
    column("title_pixels", "count", is_usual=False, width=12),
    column("description_pixels", "count", is_usual=False, width=18),
    column("text_length", "count", is_usual=False, width=11),
    column("text_ratio", "fraction", is_usual=False),
    listed=("url", "status", "size", "fetched_at", "title"),
    read_again=("headers", "body", "outlinks"),
)
"""Pages and versions."""
_READ_FOR = {field: (field, *(name for name, of in COMPUTED.items() if of == field)) for field in EXTRA_COLUMNS}
"""The further columns that pages have if these page columns are read."""


def pages_with(names: Iterable[str], like: Columns = PAGES, *, is_counted: bool = False) -> Columns:
    """Return the columns of pages that are read for the columns *names*; what is read for them becomes usual.

    With *is_counted* so do the counts of links; the listed ones are those of *like*. Raises `UnknownColumn`.
    """
    wanted = tuple(names)
    read = frozenset(_READ_FOR.keys() & set(fields_of(wanted)))
    return replace(like, all=_pages_with(read, is_counted)).asking(wanted)


def records_with(names: Sequence[str], like: Columns) -> Columns:
    """Return the columns *like* of records that have a page, read for the columns *names*; raises `UnknownColumn`."""
    missing = _not_read(_READ_FOR.keys() & set(fields_of(names)))
    return replace(like, all=tuple(column for column in like.all if column.name not in missing)).asking(names)


# Cached: most answers have the usual columns.
@cache
def _pages_with(requested: frozenset[str], is_counted: bool) -> tuple[Column, ...]:
    read = {*requested, "link_counts"} if is_counted else requested
    missing = _not_read(read)
    usual = {*requested, *(COUNTED if is_counted else ())}
    read_columns = [column for column in PAGES.all if column.name not in missing]
    return tuple(replace(column, is_usual=True) if column.name in usual else column for column in read_columns)


def _not_read(read: Collection[str]) -> set[str]:
    return {name for field, made in _READ_FOR.items() if field not in read for name in made}


def read_for(names: Iterable[str]) -> tuple[str, ...]:
    """Return the page columns that must be read for the columns *names*."""
    fields = {name: field for field, made in _READ_FOR.items() for name in made}
    return tuple(dict.fromkeys(fields[name] for name in names if name in fields))


def page_in(page_of: Callable[[Any], Page | None], taken: Collection[str]) -> Iterable[Column]:
    """Return the columns of the page that *page_of* gets from a record, for use by name; without names in *taken*."""
    for column in PAGES.all:
        if column.name not in taken:
            yield replace(column, of=_within(page_of, column.of), is_usual=False, source="record", common_crawl=None)


def _within(page_of: Callable[[Any], Page | None], of: Callable[[Page], Any]) -> Callable[[Any], Any]:
    def value(record: Any) -> Any:
        page = page_of(record)
        return None if page is None else of(page)

    return value

"""What listings list: which columns each kind of result has, and which of them are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.cli.terminal.text import parse_names
from webtable.errors import UnknownColumn
from webtable.formats.columns import ALL_COLUMNS, METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable._page.page import Page
    from webtable.repository.questions.inlinks import Inlink
    from webtable.repository.text.matching import Hit

COUNTS = ("inlinks", "internal", "external", "self_links", "counted_at")


def _itself(record: Any) -> Any:
    return record


@dataclass(frozen=True)
class Kind:
    """A kind of results: all of its columns, those that are listed, and those that a line of JSON has.

    `record` makes of a result what has its columns as attributes.
    """

    noun: str
    columns: tuple[str, ...]
    listed: tuple[str, ...]
    in_json: tuple[str, ...] = ()
    record: Callable[[Any], Any] = _itself

    def chosen(self, text: str | None, *, html: bool = False, json: bool = False) -> tuple[str, ...]:
        """Return the columns that `--columns` names, with the body where *html*; raises `UnknownColumn`."""
        default = self.in_json or self.columns if json else self.listed
        return parse_columns(text, default, html=html, known=self.columns, noun=self.noun)


def parse_columns(
    text: str | None,
    default: Sequence[str],
    *,
    html: bool = False,
    known: Sequence[str] = ALL_COLUMNS,
    noun: str = "page",
) -> tuple[str, ...]:
    """Return the columns that `--columns` names, with the body where *html*; raises `UnknownColumn`."""
    given = default if text is None else parse_names(text)
    for name in given:
        if name not in known:
            raise UnknownColumn(f"columns={name!r} is no column of a {noun}; it has {', '.join(known)}")
    return tuple(dict.fromkeys([*given, *(["html"] if html else [])]))


class Joined:
    """A result and the page that belongs to it as one record: the columns of the result come first."""

    def __init__(self, result: object, page: Page | None) -> None:
        self._parts = (result, page)

    def __getattr__(self, name: str) -> Any:
        return next((getattr(part, name) for part in self._parts if hasattr(part, name)), None)


class FoundURL(NamedTuple):
    """A URL by itself, as a record."""

    url: str


def _counted(page: Page) -> Joined:
    return Joined(page.link_counts, page)


def _hit(hit: Hit) -> Joined:
    return Joined(hit, hit.page)


def _inlink(inlink: Inlink) -> Joined:
    return Joined(inlink, inlink.page)


PAGES = Kind("page", ALL_COLUMNS, ("url", "status_code", "size", "fetched_at", "title"), METADATA)
MODIFIED = Kind("page", ALL_COLUMNS, ("url", "status_code", "last_modified", "changed_at", "title"), METADATA)
REDIRECTS = Kind("page", ALL_COLUMNS, ("url", "status_code", "redirect_to", "fetched_at"), METADATA)
COUNTED = Kind(
    "page", (*ALL_COLUMNS, *COUNTS), ("url", "inlinks", "internal", "external", "title"), (*METADATA, *COUNTS), _counted
)
_LINK = ("source", "anchor", "rel", "at", "is_current")
INLINKS = Kind("link", (*_LINK, *METADATA), _LINK[:4], _LINK, _inlink)
LINKS = Kind("link", ("url", "anchor", "rel"), ("url", "anchor", "rel"))
BROKEN = Kind(
    "broken link", ("target", "status_code", "source", "anchor", "rel"), ("target", "status_code", "source", "anchor")
)
_HIT = ("url", "matches", "title", "excerpts")
HITS = Kind("hit", (*_HIT, *(name for name in ALL_COLUMNS if name not in _HIT)), _HIT, _HIT, _hit)
HOSTS = Kind("host", ("name", "pages", "bytes", "counted_at"), ("name", "pages", "bytes", "counted_at"))
_GROUP = ("value", "pages", "bytes", "urls")
GROUPS = Kind("group", ("by", *_GROUP), _GROUP)
_TITLE = ("url", "problem", "title", "others")
TITLES = Kind("title", _TITLE, _TITLE)
_CHAIN = ("urls", "length", "is_loop", "end")
CHAINS = Kind("chain", _CHAIN, _CHAIN)
_CRAWL = ("begin", "end", "captures", "bytes", "hosts")
CRAWLS = Kind("crawl", _CRAWL, _CRAWL)
URLS = Kind("URL", ("url",), ("url",), record=FoundURL)

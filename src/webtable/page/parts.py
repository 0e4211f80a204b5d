"""Wrong names of fields, answered with the right ones; and the parts of a page: links, facts, counts, bookkeeping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Never, get_args

import msgspec

from webtable.display.text import minute_text

# --- Wrong names of fields --------------------------------------------------------------------------------------------


_ELSEWHERE = {"html": "body", "content": "body", "status_code": "status", "links": "outlinks"}
"""Names that other libraries have for fields, and what these are called here."""


def meant(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean …?" with the one of *names* that is closest to *name*; empty if none is close.

    >>> meant("status_code", ["url", "status"]), meant("tilte", ["url", "title"]), meant("price", ["url"])
    ("; did you mean 'status'?", "; did you mean 'title'?", '')
    """
    from difflib import get_close_matches  # only where something is wrong

    existing = list(names)
    close = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in existing else get_close_matches(name, existing, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_column(name: str, noun: str, names: Iterable[str]) -> str:
    """The message about the wrong column *name* of a *noun* that has the columns *names*."""
    existing = list(names)
    close = meant(name, existing)
    of = f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"
    return f"columns={name!r} is not a column of {of}{close}{' It' if close else '; it'} has {', '.join(existing)}"


class WrongName:
    """An attribute that is not there: reading it raises `AttributeError` with the *right* name.

    It costs nothing where nothing is wrong; with a `__getattr__` reading every other attribute would take longer.
    """

    def __init__(self, right: str) -> None:
        self._right = right

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner.__name__, name

    def __get__(self, instance: object, owner: type | None = None) -> Never:
        message = f"a {self._owner} has no {self._name!r}; did you mean {self._right!r}?"
        raise AttributeError(message, name=self._name, obj=instance)


_new: Any = msgspec.StructMeta.__call__


class NamedFields(msgspec.StructMeta):
    """The type of a struct whose constructor answers a wrong name of a field with the right one.

    It takes half a microsecond. What is decoded does not come here, nor what `replace` makes.
    """

    if not TYPE_CHECKING:  # for checkers it would take any names

        def __call__(cls, **fields: object) -> object:  # noqa: D102, N805 - its instances are classes
            try:
                return _new(cls, **fields)
            except TypeError:
                wrong = next((name for name in fields if name not in cls.__struct_fields__), None)
                if wrong is None:
                    raise
            if f"_{wrong}" in cls.__struct_fields__:
                fix = f"; give it by with_stored(Bookkeeping({wrong}=…))"
            else:
                fix = meant(wrong, (name for name in cls.__struct_fields__ if not name.startswith("_")))
            raise TypeError(f"a {cls.__name__} has no {wrong!r}{fix}")


# --- Parts ------------------------------------------------------------------------------------------------------------


LinkKind = Literal["a", "frame", "iframe", "refresh", "redirect", "image", "script", "style", "media", "font"]
"""What a link is: `<a>` and `<area>`, what leads on by itself, and what a page only shows or runs."""
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
PAGE_KINDS: tuple[LinkKind, ...] = ("a", "frame", "iframe", "refresh", "redirect")
"""The kinds of links that lead to pages, by which a visitor gets there."""
IndexStatus = Literal["indexable", "noindex", "canonicalised", "redirect", "error", "blocked", "not html"]
"""Whether search engines may list a page, and why not; "blocked" is by robots.txt, and never what a page says."""


class Link(NamedTuple):
    """A link on a page: the absolute URL that it leads to, its anchor text, its `rel` ("" if it has none), its `kind`.

    The links that are found in a page are of the kinds `a`, `frame`, `iframe` and `refresh`. A redirect has one of the
    kind `redirect`, which is made from `Page.redirect_to`. Links of the other kinds come from whoever gives them.
    """

    url: str
    anchor: str = ""
    rel: str = ""
    kind: str = "a"
    position: str = ""
    """The landmark of the page that it is in, the innermost one: `nav`, `header`, `main`, `aside`, `footer`, or ""."""
    times: Size = 1
    """How often the page has it. A page has at most 16 different links to a URL: the last counts all after it, too."""

    def __str__(self) -> str:
        return f"{self.url} {self.anchor}".rstrip()


MOST_TO_ONE = 16
"""How many different links of a page to one URL are kept: each inlink has all of them in one cell."""


def different_links(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return *links*, equal ones as one with the sum of their `times`.

    Of more than `MOST_TO_ONE` to one URL the first are returned, and the last of these counts the others.
    """
    # Nearly always they are what was found in a page, where this was done, and lead to nearly as many URLs.
    urls = {link[0] for link in links}
    if (len(urls) == len(links) or len({link[:5] for link in links}) == len(links)) and (
        len(links) - len(urls) < MOST_TO_ONE or max(Counter(link[0] for link in links).values()) <= MOST_TO_ONE
    ):
        return tuple(links)
    different: dict[Link, int] = {}
    to_one: dict[str, list[Link]] = {}
    for link in links:
        bare = link._replace(times=1)
        if bare not in different:
            others = to_one.setdefault(link.url, [])
            if len(others) < MOST_TO_ONE:
                others.append(bare)
            bare = others[-1]
        different[bare] = different.get(bare, 0) + link.times
    return tuple(link._replace(times=times) for link, times in different.items())


def links_as_lists(links: Iterable[Link]) -> list[tuple[Any, ...]]:
    """Return *links* as cells have them: `[url, anchor, rel, kind, position, times]`, without what is usual at the end.

    >>> links_as_lists([Link("https://example.com/"), Link("https://example.com/menu", kind="frame", times=2)])
    [('https://example.com/', '', ''), ('https://example.com/menu', '', '', 'frame', '', 2)]
    """
    # So the digest of links is what it was before they had a kind.
    return [
        (link[:3] if link[3] == "a" else link[:4]) if link[4:] == _USUAL else link[:5] if link[5] == 1 else tuple(link)
        for link in links
    ]


_USUAL = ("", 1)


class Facts(NamedTuple):
    """What a page says of itself, each None where it does not; the fields of `Page` tell more of each."""

    title: str | None = None
    canonical: str | None = None
    description: str | None = None
    robots: str | None = None
    h1: str | None = None
    language: str | None = None
    other_canonical: str | None = None
    robots_by_bot: str | None = None


SAID = Facts._fields
"""The fields of what a page says of itself, in its HTML or its headers."""
SharedFact = Literal["canonical", "robots", "language", "other_canonical", "robots_by_bot"]
HTMLFacts = Mapping[SharedFact, str]
"""What the HTML of a page says of these; without those that it says nothing of."""
SHARED: tuple[SharedFact, ...] = get_args(SharedFact)
"""Those of `SAID` that headers may say as well."""


# Bounds of what is decoded: another program may have stored anything. A value out of them makes its row, and no other,
# a damaged one; columns of 64 bits could not hold it, nor a WARC file a status of four digits. 0 is no status. A time
# without a zone cannot be compared with others.
Status = Annotated[int, msgspec.Meta(ge=0, le=999)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]


class LinkCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many pages link to a page, as of the last count (`WebTable.links.refresh`).

    `inlinks` counts all of them except the page itself. Those of the same registered domain are `internal`, the others
    `external`. `counted_at` is the time of the count.
    """

    inlinks: int = 0
    internal: int = 0
    external: int = 0
    self_links: int = 0
    """1 if the page links to itself, else 0."""
    counted_at: Time | None = None

    def __str__(self) -> str:
        own = ", and itself" if self.self_links else ""
        counted = f", counted {minute_text(self.counted_at)}" if self.counted_at else ""
        return f"{self.inlinks:,} ({self.internal:,} internal, {self.external:,} external{own}){counted}"


class Bookkeeping(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """Bookkeeping of the store about a page; all of it has its default on a page that a crawler makes."""

    content_at: datetime | None = None
    """The date of the capture with which body and links are stored: before `fetched_at` if they did not change.

    Of a capture that is put, as exports write it: where it is the date of the capture, that is a version of its own,
    also a 304 or one with the content that is stored already. With `same_as` its own URL, and an older date, it says of
    which capture it repeats the content.
    """
    only_self_links: bool = False
    """Whether the page has links, all of them to itself."""
    links_digest: str | None = None
    """For a page with links and without a body, the SHA-256 of its links, in hex."""
    inlinks_at: datetime | None = None
    """The date of the capture with which all its links were last written to the pages that they lead to."""
    hints_at: datetime | None = None
    """The date of its index entries and inlinks, if another capture had the same date as this one."""
    similarity: str | None = None
    """The signature of its main text, 14 times `BAND` characters; the index `similarity` finds near duplicates by it.

    It is "" for a text of fewer than five words, and None for a page without a body, or one that was stored while the
    table did not have the index.
    """
    html_facts: HTMLFacts | None = None
    """What its HTML says of its canonical URLs, its robots and its language, without its headers.

    None if these fields of the page are just that, and on a page that was not parsed yet: `put` looks for what it does
    not have. On a page that is put with it, and with its links, nothing more is looked for in the HTML.
    """
    payload_digest: str | None = None
    """The digest of the payload before its codings were removed, as in `sha1:` and base32 (`payload_digest`).

    Of a version, that of its WARC record if its body was compressed or sent in chunks; else it is that of the body, and
    left out. Of a capture that is put and repeats another one (`same_as`), the digest that it names.
    """
    repeats_at: datetime | None = None
    """Of a capture that repeats another one (`same_as`), the date of that capture, if it names it."""
    unchanged: str | None = None
    """The dates of its captures that found the content unchanged, the newest hundred, the oldest of them first.

    Each is eight characters of base64: six bytes, the upper bit set if the capture was a 304 or another one that had
    whatever was there before it, the others the epoch milliseconds.
    """
    has_late: bool = False
    """Whether a capture was put after a later one, and changed the history."""


BAND = 8
"""How many characters of a signature are a band."""

"""Words looked for in titles and bodies: which pages have them. Pure: no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from webtable._page.extract import plain_text
from webtable._page.page import Page, charset_of
from webtable._shown import Shown, ShowsItself
from webtable.errors import InvalidArgument
from webtable.repository.text.excerpts import Excerpt, excerpts
from webtable.repository.text.words import Words
from webtable.rowkey.fields.field import shown

SearchIn = Literal["title", "body", "all"]
"""What is searched."""


@dataclass(frozen=True, slots=True)
class Hit(ShowsItself):
    """A page that has all the words."""

    page: Page
    title: Excerpt | None
    """Its title, with the words marked where titles are searched; None where it has none."""
    excerpts: tuple[Excerpt, ...]
    """Pieces of its body around the words; none where they are in the title only."""
    matches: int
    """How many times the words occur in what was searched."""

    def _shown(self) -> Shown:
        """Return where the words are, marked."""
        places = [("title", self.title), *(("text", one) for one in self.excerpts)]
        rows = [(name, one.marked()) for name, one in places if one is not None]
        matches = f"{self.matches:,} match{'' if self.matches == 1 else 'es'}"
        return Shown(self.page.url, ("in its", matches), rows)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Tells which pages have all of *words* in their title, their body, or the two together ("all").

    A body that is neither HTML nor text has no words, and neither has one that was not read. Raises `InvalidArgument`
    where `in_` is none of the three.
    """

    words: Words
    in_: SearchIn = "all"

    def __post_init__(self) -> None:
        if self.in_ not in get_args(SearchIn):
            raise InvalidArgument(f"in_={shown(self.in_)} must be one of {', '.join(map(repr, get_args(SearchIn)))}")

    def hit(self, page: Page) -> Hit | None:
        """Return what was found in *page*, None where one of the words is missing.

        >>> from webtable._page.page import Page, charset_of
        >>> page = Page(url="https://example.com/", title="A table", html=b"<p>of the web", content_type="text/html")
        >>> found = Matcher(Words.of("WEB table")).hit(page)
        >>> found.title.highlighted(), found.excerpts[0].highlighted(), found.matches
        ('A [table]', 'of the [web]', 2)
        """
        title = page.title or "" if self.in_ != "body" else ""
        body = " ".join((text_of(page) or "").split()) if self.in_ != "title" else ""
        in_title, in_body = self.words.in_texts(title, body)
        if not (in_title or in_body):
            return None
        marked = Excerpt(page.title, tuple(in_title)) if page.title is not None else None
        return Hit(page, marked, excerpts(body, in_body), len(in_title) + len(in_body))


def text_of(page: Page) -> str | None:
    """Return what can be read of the body of *page*, None where it has no body here or one that is no text."""
    return None if page.html is None else plain_text(page.html, charset_of(page), page.content_type)

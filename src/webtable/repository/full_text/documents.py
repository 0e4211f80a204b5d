"""The document of a page: what is indexed of it, in fields of terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from webtable._clock import milliseconds
from webtable.errors import InvalidArgument
from webtable.page.extract import main_content
from webtable.page.page import charset_of, media_of
from webtable.repository.full_text.words import Analyzer
from webtable.repository.links.inlink_cells import CURRENT_SOURCES, link_of
from webtable.store.full_text import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.page.page import Page
    from webtable.repository.context import Frame

MOST_ANCHORS = 64
"""Of how many pages that link to a page the anchor texts are indexed, the first by their URLs."""


class TextSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is indexed: the `main` text of a page or `all` of it, of at most `max_text` characters.

    `stemming` is the name of a language of Snowball, by whose rules words are reduced to their stems; None leaves them.
    """

    text: Literal["main", "all"] = "main"
    stemming: str | None = None
    max_text: int = 65_536

    def check(self) -> None:
        """Raise `InvalidArgument` for a setting that there is not."""
        if self.text not in {"main", "all"}:
            raise InvalidArgument(f"text={self.text!r} must be 'main' or 'all'")
        if type(self.max_text) is not int or self.max_text < 1:
            raise InvalidArgument(f"max_text={self.max_text!r} must be a number of characters, 1 or more")
        Analyzer(self.stemming)


class TextMaker:
    """Makes the texts and the documents of the pages of one table."""

    def __init__(self, frame: Frame, settings: TextSettings) -> None:
        self._frame = frame
        self.settings = settings
        self.analyzer: Final = Analyzer(settings.stemming)

    def own_texts(self, page: Page) -> dict[str, str]:
        """Return the texts that *page* has itself, by the names of fields; it must have its body."""
        found = page.body and main_content(page.body, charset_of(page), media_of(page))
        text = page.text if self.settings.text == "all" else found and found.text
        headings = "\n".join(dict.fromkeys((page.h1 or "", *(found.headings if found else ()))))
        most = self.settings.max_text
        return {"title": page.title or "", "headings": headings[:most], "text": (text or "")[:most]}

    def anchors(self, rows: Sequence[bytes]) -> list[str]:
        """Return the texts of the links that lead to the page of each of *rows*."""
        frame = self._frame
        family = frame.codec.columns.inlinks.encode()
        found = frame.store.read_cells(frame.table, rows, family, CURRENT_SOURCES, limit=MOST_ANCHORS)
        return ["\n".join(link_of("", cell.value).anchor for _, cell in cells) for cells in found]

    def texts(self, page: Page, own: dict[str, str], anchors: str) -> dict[str, str]:
        """Return all texts of *page*: its *own*, and what leads to it: the words of its URL, and its *anchors*."""
        return {**own, "links": f"{_words_of(page.url)}\n{anchors}"}

    def terms(self, texts: dict[str, str]) -> tuple[str, ...]:
        """Return the terms of *texts*."""
        return tuple(" ".join(self.analyzer.terms(text)) for text in texts.values())

    def document(self, row: bytes, page: Page, terms: tuple[str, ...] | None) -> Document:
        """Return the document of *page* with these *terms*."""
        return Document(
            self._frame.key.unsalted(row),
            milliseconds(page.fetched_at),
            page.digest or "",
            page.status,
            page.content_type or "",
            page.language or "",
            terms,
        )


def _words_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or ''} {unquote(parts.path)}"

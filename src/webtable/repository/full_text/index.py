"""The full text of a table: whether there is any, and how writers and `refresh` keep it as the pages are."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from platformdirs import user_data_path

from webtable._clock import milliseconds
from webtable._messages import Command
from webtable.errors import CapabilityError, IndexNeeded, InvalidArgument, StoreError
from webtable.page.extract import main_content
from webtable.page.page import Page, charset_of, media_of
from webtable.repository.context import TableContext
from webtable.repository.full_text.words import Analyzer
from webtable.repository.links.inlink_cells import CURRENT_SOURCES, links_in
from webtable.repository.page_storage.codec import bare
from webtable.repository.upkeep.cells import PageChange
from webtable.store.full_text import Document, SearchIndex

if TYPE_CHECKING:
    from collections.abc import Iterator


# --- Documents --------------------------------------------------------------------------------------------------------
#
# What is indexed of a page: terms in fields. webtable makes them itself and gives them to the engine separated by
# spaces: so pages and queries are divided alike by whatever engine, and a match can be proven with the same terms,
# which also gives the excerpts.


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

    def __init__(self, context: TableContext, settings: TextSettings) -> None:
        self._context = context
        self.settings = settings
        self.analyzer: Final = Analyzer(settings.stemming)

    def own_texts(self, page: Page) -> dict[str, str]:
        """Return the texts that *page* has itself, by the names of fields; it must have its body."""
        content = page.body and main_content(page.body, charset_of(page), media_of(page))
        text = page.text if self.settings.text == "all" else content and content.text
        headings = "\n".join(dict.fromkeys((page.h1 or "", *(content.headings if content else ()))))
        limit = self.settings.max_text
        return {"title": page.title or "", "headings": headings[:limit], "text": (text or "")[:limit]}

    def anchors(self, rows: Sequence[bytes]) -> list[str]:
        """Return the texts of the links that lead to the page of each of *rows*."""
        context = self._context
        family = context.codec.columns.inlinks.encode()
        links = context.store.read_cells(context.table, rows, family, CURRENT_SOURCES, limit=MOST_ANCHORS)
        return ["\n".join(link.anchor for _, cell in cells for link in links_in("", cell.value)) for cells in links]

    def texts(self, page: Page, own: dict[str, str], anchors: str) -> dict[str, str]:
        """Return all texts of *page*: its *own*, and what leads to it: the words of its URL, and its *anchors*."""
        return {**own, "links": f"{_words_of(page.url)}\n{anchors}"}

    def terms(self, texts: dict[str, str]) -> tuple[str, ...]:
        """Return the terms of *texts*."""
        return tuple(" ".join(self.analyzer.terms(text)) for text in texts.values())

    def document(self, row: bytes, page: Page, terms: tuple[str, ...] | None) -> Document:
        """Return the document of *page* with these *terms*."""
        return Document(
            self._context.key.unsalted(row),
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


# --- Where full text is -----------------------------------------------------------------------------------------------
#
# Where the pages are, if it can be: in a file it is FTS5, in the transaction of the pages, and nothing more is
# installed. HBase has no place for it: a row for each term and page would make more cells than the table has, and
# ranking reads all of a term at once. There it is a directory of this machine, by tantivy, written by one process and
# late by as much as its refresh; readers get up to when.


VARIABLE = "WEBTABLE_SEARCH"
"""The environment variable that names the directory with the directories of tables."""
_OPEN_AT_ONCE = 8


def index_of(context: TableContext) -> SearchIndex | None:
    """Return the full text of the table of *context*, which may be empty; None if there is none.

    Raises `MissingExtra` if there is a directory and no tantivy.
    """
    index = context.store.search_index(context.table)
    if index is not None:
        return index
    directory = directory_of(context)
    return _opened(directory) if directory is not None and (directory / "search.json").exists() else None


def new_index_of(context: TableContext) -> SearchIndex:
    """Return the full text of the table of *context*, to be created; raises `CapabilityError` if it cannot have any."""
    index = context.store.search_index(context.table)
    if index is not None:
        return index
    directory = directory_of(context)
    if directory is None:
        raise CapabilityError(
            f'{context.name}: a store in memory has no full text; search with order="url" reads pages'
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    return _opened(directory)


def directory_of(context: TableContext) -> Path | None:
    """Return the directory for the full text of a table; None if it is in the store, or the store is in memory."""
    if context.store.address is None or context.store.search_index(context.table) is not None:
        return None
    base = Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else user_data_path("webtable") / "search"
    # The name for people, and a hash, as two names may differ in nothing but what is left out.
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", context.name)[:80].strip("-")
    return base / f"{readable}-{hashlib.sha256(context.name.encode()).hexdigest()[:8]}"


# Kept open: to open an index takes longer than a question to it.
@lru_cache(maxsize=_OPEN_AT_ONCE)
def _opened(directory: Path) -> SearchIndex:
    from webtable.store.full_text.tantivy_index import TantivyIndex  # it needs an extra

    return TantivyIndex(directory)


# --- Keeping it as the pages are --------------------------------------------------------------------------------------


_SETTINGS = msgspec.json.Decoder(TextSettings)


@dataclass(frozen=True, slots=True)
class FullTextOfTable:
    """The index of a table, and what makes its documents."""

    index: SearchIndex
    maker: TextMaker


def full_text_of(context: TableContext) -> FullTextOfTable | None:
    """Return the full text of the table of *context*; None if it has none."""
    index = index_of(context)
    return None if index is None else _with_settings(context, index, index.settings())


def _of_writers(context: TableContext) -> FullTextOfTable | None:
    """Return the full text that is written with the pages; None if the table has none of that kind."""
    index = context.store.search_index(context.table)
    return None if index is None else _with_settings(context, index, index.settings())


def _with_settings(context: TableContext, index: SearchIndex, settings: str | None) -> FullTextOfTable | None:
    if settings is None:
        return None
    try:
        return FullTextOfTable(index, TextMaker(context, _SETTINGS.decode(settings)))
    except msgspec.MsgspecError as exc:
        raise StoreError(f"{context.name}: the settings of full text cannot be read: {exc}") from exc


def needed_full_text(context: TableContext) -> FullTextOfTable:
    """Return the full text of the table of *context*; raises `IndexNeeded` if it has none that is complete."""
    index = index_of(context)
    full_text = None if index is None else _with_settings(context, index, index.searched())
    if full_text is not None:
        return full_text
    if index is None or index.settings() is None:
        raise IndexNeeded(
            f'{context.name}: order="relevance" needs full text, which this table does not have: ',
            Command("search-index create", python="table.search_index.create()"),
        )
    raise IndexNeeded(
        f'{context.name}: order="relevance" needs full text, which is not complete yet: ',
        Command("search-index refresh", python="table.search_index.refresh()"),
    )


@dataclass(frozen=True, slots=True)
class TextUpdate:
    """The documents of a batch of pages, whose own texts are ready."""

    context: TableContext
    full_text: FullTextOfTable
    changes: Sequence[tuple[PageChange, dict[str, str] | None]]
    """The changes, each with the texts of its page, or None if they are stored already."""

    def put(self, stored: Sequence[bool]) -> None:
        """Write the documents of the pages that are *stored*, by owner; raises `StoreError`."""
        newest = {change.row: (change, texts) for change, texts in self.changes if stored[change.owner]}
        if not newest:
            return
        maker = self.full_text.maker
        # Read when the pages and their inlinks are stored, so that they are those of now.
        anchors = dict(zip(newest, maker.anchors(list(newest)), strict=True))
        documents = []
        for row, (change, own) in newest.items():
            terms = None if own is None else maker.terms(maker.texts(change.page, own, anchors[row]))
            documents.append(maker.document(row, change.page, terms))
        # A page that repeats its content comes without its body. The index has its terms, unless it was created
        # meanwhile.
        lacking = set(self.full_text.index.write(documents))
        rows = [row for row, document in zip(newest, documents, strict=True) if document.row in lacking]
        if rows:
            self.full_text.index.write(documents_of(self.context, maker, rows))


def text_update(
    context: TableContext, changes: Sequence[PageChange], ready: TextUpdate | None = None
) -> TextUpdate | None:
    """Return the update of the full text for *changes*; None if the table has none.

    *ready* is the update of these changes that was made before, which is used unless the full text was created since.
    """
    full_text = _of_writers(context) if changes else None
    if full_text is None or (ready is not None and ready.full_text.maker.settings == full_text.maker.settings):
        return None if full_text is None else ready
    return TextUpdate(context, full_text, [(change, _own_texts(full_text.maker, change)) for change in changes])


def _own_texts(maker: TextMaker, change: PageChange) -> dict[str, str] | None:
    """Return the texts of a page that has its body here, or none at all; else None."""
    page = change.page
    is_known = page.body is not None or not page.has_body
    return maker.own_texts(page) if is_known and not change.is_repeated else None


def documents_of(context: TableContext, maker: TextMaker, rows: Sequence[bytes]) -> Iterator[Document]:
    """Yield the documents of the stored pages of *rows*; rows without a readable page have none."""
    texts: list[tuple[bytes, Page, dict[str, str]]] = []
    for row, page in zip(rows, context.pages.read_each(rows, ["body"]), strict=True):
        if isinstance(page, Page):
            texts.append((row, bare(page), maker.own_texts(page)))
    anchors = maker.anchors([row for row, _, _ in texts]) if texts else []
    for (row, page, own), anchor in zip(texts, anchors, strict=True):
        yield maker.document(row, page, maker.terms(maker.texts(page, own, anchor)))


def remove_documents(context: TableContext, rows: Sequence[bytes]) -> None:
    """Remove the documents of the pages of *rows*, which are deleted, if full text is written with the pages."""
    full_text = _of_writers(context)
    if full_text is not None:
        full_text.index.write([], [context.key.unsalted(row) for row in rows])

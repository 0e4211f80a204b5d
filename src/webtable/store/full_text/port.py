"""The port of full text: pages as documents of terms, and the documents that match a query, the best first.

Scores are those of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) with k1 = 1.2 and
b = 0.75, with the terms of each field weighed by `FIELDS`. An index may be late, and may name pages that are gone:
callers compare what it finds with the stored pages.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from webtable.rowkey.ranges import ALL_KEYS, KeyRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

FIELDS: Final = {"title": 8.0, "headings": 4.0, "text": 1.0, "links": 2.0}
"""The fields of a document with their weights; `links` has what leads to it: anchors, and the words of its URL."""


ALWAYS: Final = (0, 2**63 - 1)
"""All dates of captures: what `TermQuery.captured` is where no date is asked for."""


class Document(NamedTuple):
    """A page as it is indexed. `row` is its row key without the salt, `captured` its date in epoch milliseconds.

    `terms` has those of each field, separated by spaces; None if they are those of the document that the row has
    already, if that has the same `digest`.
    """

    row: bytes
    captured: int
    digest: str
    status: int
    content_type: str
    language: str
    terms: tuple[str, ...] | None = None


class TermPhrase(NamedTuple):
    """Terms that follow each other in one of `fields`; with `is_prefix` the last of them is how a term begins."""

    terms: tuple[str, ...]
    is_prefix: bool = False
    fields: tuple[str, ...] = tuple(FIELDS)


class TermQuery(msgspec.Struct, frozen=True):
    """The documents that have all phrases of `wanted` and none of `without`, and what else they must have.

    `rows` is a range of row keys without salts. `captured` are the first moment and the one after the last, in epoch
    milliseconds. A language stands for its regions too (`de` for `de-at`).
    """

    wanted: tuple[TermPhrase, ...]
    without: tuple[TermPhrase, ...] = ()
    rows: KeyRange = ALL_KEYS
    captured: tuple[int, int] = ALWAYS
    status: int | None = None
    content_type: str | None = None
    language: str | None = None


class Match(NamedTuple):
    """A document that matches: its row, and its score, of which a higher one is better."""

    row: bytes
    score: float


# Two engines fulfil it, FTS5 in the SQLite file and tantivy in a directory, because full text should be where the pages
# are. HBase has no place for it: a row for each term and page would make more cells than the table has, and ranking
# reads all of a term at once. webtable makes the terms itself, so that both divide pages and queries alike.
class SearchIndex(abc.ABC):
    """The full text of one table. Thread-safe."""

    at_once: int = 64
    """How many documents a write has at best."""

    @property
    def as_of(self) -> datetime | None:
        """Up to when captures are in it; None if it is written together with the pages."""
        return None

    @abc.abstractmethod
    def settings(self) -> str | None:
        """The settings that `create` was given; None if the table has no full text."""

    def searched(self) -> str | None:
        """Return the settings of the index that `matches` reads; None if not all stored pages are in it.

        They are not those of `settings` while another index is built to take its place.
        """
        return self.settings() if self.filled() is None else None

    @abc.abstractmethod
    def filled(self) -> bytes | None:
        """Return the row up to which stored pages were added, empty at the beginning; None if all of them were."""

    @abc.abstractmethod
    def create(self, settings: str) -> None:
        """Create the index, without documents, in place of one that may be there."""

    @abc.abstractmethod
    def drop(self) -> None:
        """Remove the index; does nothing if there is none."""

    @abc.abstractmethod
    def write(
        self, documents: Iterable[Document], gone: Iterable[bytes] = (), *, filled: bytes | None = b""
    ) -> list[bytes]:
        """Put *documents* in place of those of their rows, and remove those of the rows *gone*.

        Returns the rows whose terms are needed, as other ones are stored. *filled* becomes what `filled` returns,
        unless it is empty.
        """

    def reach(self, cursor: str, as_of: datetime | None = None) -> None:  # noqa: B027, one that is never late needs none
        """Keep *cursor*, after the writes so far, and the moment *as_of* up to which captures are in the index.

        Does nothing if the index is written together with the pages.
        """

    def cursor(self) -> str:
        """The cursor that `reach` was given last, empty at the beginning: where a refresh goes on."""
        return ""

    @abc.abstractmethod
    def documents(self, after: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Return the rows of at most *limit* documents after the row *after*, in order, each with its date."""

    @abc.abstractmethod
    def captured(self, rows: Sequence[bytes]) -> list[int | None]:
        """Return the date of the document of each of *rows*, None where there is none."""

    @abc.abstractmethod
    def matches(self, query: TermQuery, after: Match | None, limit: int) -> list[Match]:
        """Return at most *limit* matches of *query* after the one *after*: by falling score, then by row."""

    @abc.abstractmethod
    def compact(self) -> None:
        """Remove from the files the terms of what was removed from the index."""

    @abc.abstractmethod
    def bytes(self) -> int:
        """Return how many bytes it takes."""

    def close(self) -> None:  # noqa: B027, most have nothing to close
        """Release what the index holds, as a lock that lets nobody else write; it may be used again."""

"""The reading of folders of tantivy: each call as of the last commit."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import tantivy
from tantivy import FieldType, Occur, Order, Query

from webtable._files import Folder, plain_parts
from webtable._process_hooks import renew_after_fork
from webtable.errors import FormatError
from webtable.store.full_text import FIELDS, Match
from webtable.store.full_text.tantivy.documents import NOTHING, row_of, row_text
from webtable.store.full_text.tantivy.state import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.store.full_text import TermPhrase, TermQuery


# --- Queries of the port as queries of tantivy ------------------------------------------------------------------------
#
# A term is scored by BM25 in each field, times the weight of that field, and the scores are added. A phrase counts
# like its terms together (the sum of their idf). At the end of a phrase, the beginning of a term counts like a term
# that no document has. A beginning alone is scored by the `MOST_SCORED` most common terms that begin so; the others
# match without a score.


MOST_SCORED: Final = 128
"""How many of the terms with a common beginning count for the score."""
_ALWAYS: Final = (0, 2**63 - 1)


class QueryMaker:
    """Makes the queries for an index as *searcher* sees it."""

    def __init__(self, index: tantivy.Index, searcher: tantivy.Searcher) -> None:
        self._index = index
        self._schema = index.schema
        self._searcher = searcher

    def query(self, query: TermQuery) -> Query:
        """Return *query* for tantivy."""
        parts = [(Occur.Must, self._phrase(one)) for one in query.wanted]
        # What has no score is added as 0, so that tantivy intersects it with the terms.
        parts += [(Occur.Must, Query.const_score_query(one, 0.0)) for one in self._filters(query)]
        parts += [(Occur.MustNot, self._phrase(one)) for one in query.without]
        return Query.boolean_query(parts)

    def after_row(self, row: bytes) -> Query:
        """Return the query for all documents after *row*."""
        if not row:
            return Query.all_query()
        return self._index.parse_query(f"row:{{{row_text(row)} TO *]")

    def of_row(self, row: bytes) -> Query:
        """Return the query for the document of *row*."""
        return self._is("row", row_text(row))

    def _filters(self, query: TermQuery) -> list[Query]:
        found = []
        if query.rows.start or query.rows.stop:
            start, stop = (row_text(row) or "*" for row in query.rows)
            # The parser, because the package has no other way to a range of text.
            found.append(self._index.parse_query(f"row:[{start} TO {stop}}}"))
        if query.captured != _ALWAYS:
            first, end = query.captured
            found.append(
                Query.range_query(self._schema, "captured", FieldType.Integer, first, end, include_upper=False)
            )
        if query.status is not None:
            found.append(self._is("status", query.status))
        if query.content_type is not None:
            found.append(self._is("type", query.content_type or NOTHING))
        if query.language is not None:
            found.append(self._is("language", query.language or NOTHING))
        return found

    def _is(self, field: str, value: str | int) -> Query:
        return Query.term_query(self._schema, field, value, "basic")

    def _phrase(self, phrase: TermPhrase) -> Query:
        found = [Query.boost_query(self._in_field(phrase, name), FIELDS[name]) for name in phrase.fields]
        return Query.boolean_query([(Occur.Should, one) for one in found])

    def _in_field(self, phrase: TermPhrase, field: str) -> Query:
        *before, last = phrase.terms
        schema = self._schema
        if not phrase.is_prefix:
            if before:
                return Query.phrase_query(schema, field, list(phrase.terms))
            return Query.term_query(schema, field, last, "freq")
        any_end = f"{re.escape(last)}.*"
        if before:
            return Query.regex_phrase_query(schema, field, [*map(re.escape, before), any_end])
        known = self._searcher.terms_with_prefix(field, last, limit=MOST_SCORED)
        parts = [(Occur.Should, Query.term_query(schema, field, term, "freq")) for term, _ in known]
        if len(known) == MOST_SCORED:
            others = Query.const_score_query(Query.regex_query(schema, field, any_end), 0.0)
            parts.append((Occur.Should, others))
        return Query.boolean_query(parts) if parts else Query.empty_query()


# ----------------------------------------------------------------------------------------------------------------------


_LEAST_READ: Final = 256
"""How many of the best documents are asked for at least, since more of them cost little."""
_LOCK: Final = ".tantivy-meta.lock"
_MANAGED: Final = ".managed.json"
_MOST_MANAGED: Final = 10_000_000


def _leave_lock() -> None:
    """Close the lock that a thread of tantivy held in the parent, where it looks after new commits now and then.

    The child has it too, and would wait for itself for ever. Not by `Readers.after_fork`: such a thread outlives its
    `Readers` for a moment.
    """
    with suppress(OSError):
        for file in list(Path("/proc/self/fd").iterdir()):
            with suppress(OSError):
                if file.readlink().name == _LOCK:
                    os.close(int(file.name))


os.register_at_fork(after_in_child=_leave_lock)


class Readers:
    """The index of a folder of *directory* that was used last, kept open."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._open: tuple[str, tantivy.Index, object] | None = None
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the index to the parent: its threads are not in the child."""
        self._lock = threading.Lock()
        if self._open is not None:
            # Closing it would wait for threads that the child does not have.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._open[1]))
            self._open = None

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            self._open = None

    def documents(self, folder: str, after: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Return the rows of at most *limit* documents after the row *after*, in order, each with its date."""
        with translated(self._directory):
            index, searcher = self._at(folder)
            query = QueryMaker(index, searcher).after_row(after)
            hits = searcher.search(query, limit, count=False, order_by_field="row", order=Order.Asc).hits
            dates = searcher.fast_field_values("captured", [address for _, address in hits])
            return [(row_of(row), int(date or 0)) for (row, _), date in zip(hits, dates, strict=True)]

    def captured(self, folder: str, rows: Sequence[bytes]) -> list[int | None]:
        """Return the date of the document of each of *rows*."""
        with translated(self._directory):
            index, searcher = self._at(folder)
            queries = QueryMaker(index, searcher)
            hits = [searcher.search(queries.of_row(row), 1, count=False).hits for row in rows]
            dates = iter(searcher.fast_field_values("captured", [one[0][1] for one in hits if one]))
            return [int(next(dates) or 0) if one else None for one in hits]

    def matches(self, folder: str, query: TermQuery, after: Match | None, limit: int) -> list[Match]:
        """Return at most *limit* matches of *query* after the one *after*."""
        with translated(self._directory):
            index, searcher = self._at(folder)
            asked = QueryMaker(index, searcher).query(query)
            size = max(2 * limit, _LEAST_READ)
            while True:
                hits = searcher.search(asked, size, count=False).hits
                found = _in_order(searcher, hits, after, limit, is_all=len(hits) < size)
                if found is not None:
                    return found
                size *= 4

    def _at(self, folder: str) -> tuple[tantivy.Index, tantivy.Searcher]:
        """Return the index of *folder*, and a searcher as of its last commit."""
        path = self._directory / folder
        found = (path / "meta.json").stat()
        now = (found.st_ino, found.st_mtime_ns, found.st_size)
        with self._lock:
            if self._open is None or self._open[0] != folder:
                self._open = (folder, opened(self._directory, folder), now)
            elif self._open[2] != now:
                self._open[1].reload()
                self._open = (*self._open[:2], now)
            return self._open[1], self._open[1].searcher()


def opened(directory: Path, folder: str) -> tantivy.Index:
    """Return the index in *folder* of *directory*, which sees later commits only after `reload`.

    Raises `FormatError` for a link or a pipe in it, and for a list of its files that names others: tantivy opens what
    is there, and its writers remove files that the list names and the index does not need.
    """
    with Folder(directory) as above, above.folder(folder) as own:
        names = own.names()
        for name in names:
            own.check_file(name)
        if _MANAGED in names:
            with own.reading(_MANAGED) as file:
                managed = msgspec.json.decode(file.read(_MOST_MANAGED), type=list[str])
            if any(len(plain_parts(name)) > 1 for name in managed):
                raise FormatError(f"{own.path / _MANAGED}: it names files in other directories")
        index = tantivy.Index.open(str(own.path))
    index.config_reader("manual")
    return index


def all_documents(index: tantivy.Index, at_once: int) -> Iterator[list[tantivy.Document]]:
    """Yield the stored documents in the order of their rows, some *at_once*."""
    searcher = index.searcher()
    queries = QueryMaker(index, searcher)
    after = b""
    while True:
        query = queries.after_row(after)
        hits = searcher.search(query, at_once, count=False, order_by_field="row", order=Order.Asc).hits
        if not hits:
            return
        yield [searcher.doc(address) for _, address in hits]
        after = row_of(hits[-1][0])


def _in_order(
    searcher: tantivy.Searcher,
    hits: list[tuple[float, tantivy.DocAddress]],
    after: Match | None,
    limit: int,
    *,
    is_all: bool,
) -> list[Match] | None:
    """Return the first *limit* of *hits* after the match *after*; None if others may belong among them.

    Tantivy orders equal scores by the numbers of documents, so all of one score are needed to put them by rows.
    """
    if after is not None:
        hits = [one for one in hits if one[0] <= after.score]
    if not is_all:
        # There may be more documents with the last score.
        hits = [one for one in hits if one[0] != hits[-1][0]]
    found: list[Match] = []
    start = 0
    while start < len(hits) and len(found) < limit:
        score = hits[start][0]
        stop = start
        while stop < len(hits) and hits[stop][0] == score:
            stop += 1
        rows = sorted(row_of(searcher.doc(address)["row"][0]) for _, address in hits[start:stop])
        found += [Match(row, score) for row in rows if after is None or score < after.score or row > after.row]
        start = stop
    return found[:limit] if is_all or len(found) >= limit else None

"""Queries of the port as queries of tantivy.

A term is scored by BM25 in each field, times the weight of that field, and the scores are added. A phrase counts like
its terms together (the sum of their idf). At the end of a phrase, the beginning of a term counts like a term that no
document has. A beginning alone is scored by the `MOST_SCORED` most common terms that begin so; the others match
without a score.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import tantivy
from tantivy import FieldType, Occur, Query

from webtable.store.search import FIELDS
from webtable.store.search_directory.documents import NOTHING, row_text

if TYPE_CHECKING:
    from webtable.store.search import TermPhrase, TermQuery

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

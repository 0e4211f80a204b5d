"""BM25 written from its formula, over documents in a list, to compare the engines of full text with.

`by_table` is that of FTS5: the weights of fields multiply frequencies, a phrase is one term, and a document has one
length. `by_field` is that of tantivy: each field is scored by itself and multiplied by its weight, and a phrase counts
as all its terms. Both read only what the port says of documents.
"""

from __future__ import annotations

from math import log

from webtable.store.full_text import FIELDS, Document, TermPhrase, TermQuery

K1, B = 1.2, 0.75
NAMES = tuple(FIELDS)


def tokens(document: Document, field: str) -> list[str]:
    return document.terms[NAMES.index(field)].split(" ") if document.terms[NAMES.index(field)] else []


def occurrences(phrase: TermPhrase, words: list[str]) -> int:
    length = len(phrase.terms)
    found = 0
    for start in range(len(words) - length + 1):
        some = words[start : start + length]
        last = some[-1].startswith(phrase.terms[-1]) if phrase.is_prefix else some[-1] == phrase.terms[-1]
        found += last and some[:-1] == list(phrase.terms[:-1])
    return found


def has(document: Document, phrase: TermPhrase) -> bool:
    return any(occurrences(phrase, tokens(document, field)) for field in phrase.fields)


def matching(documents: list[Document], query: TermQuery) -> list[Document]:
    def fits(one: Document) -> bool:
        return (
            all(has(one, phrase) for phrase in query.wanted)
            and not any(has(one, phrase) for phrase in query.without)
            and query.rows.start <= one.row
            and (not query.rows.stop or one.row < query.rows.stop)
            and query.captured[0] <= one.captured < query.captured[1]
            and query.status in (None, one.status)
            and query.content_type in (None, one.content_type)
            and (query.language is None or f"{one.language}-".startswith(f"{query.language}-"))
        )

    return [one for one in documents if fits(one)]


def by_table(documents: list[Document], query: TermQuery) -> dict[bytes, float]:
    lengths = {one.row: sum(len(tokens(one, field)) for field in NAMES) for one in documents}
    average = sum(lengths.values()) / len(documents)
    scores = {}
    for one in matching(documents, query):
        score = 0.0
        for phrase in query.wanted:
            having = sum(has(other, phrase) for other in documents)
            idf = max(log((len(documents) - having + 0.5) / (having + 0.5)), 1e-6)
            if log((len(documents) - having + 0.5) / (having + 0.5)) <= 0:
                idf = 1e-6
            often = sum(FIELDS[field] * occurrences(phrase, tokens(one, field)) for field in phrase.fields)
            score += idf * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[one.row] / average))
        scores[one.row] = score
    return scores


def by_field(documents: list[Document], query: TermQuery) -> dict[bytes, float]:
    average = {field: sum(len(tokens(one, field)) for one in documents) / len(documents) for field in NAMES}

    def idf(term: str, field: str) -> float:
        having = sum(term in tokens(one, field) for one in documents)
        return log(1 + (len(documents) - having + 0.5) / (having + 0.5))

    def score(one: Document, phrase: TermPhrase, field: str, weight: float) -> float:
        words = tokens(one, field)
        often = occurrences(phrase, words)
        if not often:
            return 0.0
        return weight * often * (K1 + 1) / (often + K1 * (1 - B + B * stored_length(len(words)) / average[field]))

    def in_field(one: Document, phrase: TermPhrase, field: str) -> float:
        *before, last = phrase.terms
        if not phrase.is_prefix:
            return score(one, phrase, field, sum(idf(term, field) for term in phrase.terms))
        if before:
            # Of a beginning at the end of a phrase tantivy counts no documents.
            nowhere = log(1 + (len(documents) + 0.5) / 0.5)
            return score(one, phrase, field, sum(idf(term, field) for term in before) + nowhere)
        begun = {term for other in documents for term in tokens(other, field) if term.startswith(last)}
        return sum(score(one, TermPhrase((term,), fields=(field,)), field, idf(term, field)) for term in begun)

    return {
        one.row: sum(FIELDS[field] * in_field(one, phrase, field) for phrase in query.wanted for field in phrase.fields)
        for one in matching(documents, query)
    }


def stored_length(length: int) -> int:
    """Return the length of a field as Lucene and tantivy keep it, in one byte: exact up to 40, then of four bits."""
    if length <= 40:
        return length
    shift = (length - 24).bit_length() - 4
    return 24 + ((length - 24) >> shift << shift)

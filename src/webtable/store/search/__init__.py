"""Full text: its port, beside the store port."""

from webtable.store.search.port import FIELDS, Document, Match, SearchIndex, TermPhrase, TermQuery

__all__ = ["FIELDS", "Document", "Match", "SearchIndex", "TermPhrase", "TermQuery"]

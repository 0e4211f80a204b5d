"""Full text: its port, beside the store port."""

from webtable.store.full_text.port import ALWAYS, FIELDS, Document, Match, SearchIndex, TermPhrase, TermQuery

__all__ = ["ALWAYS", "FIELDS", "Document", "Match", "SearchIndex", "TermPhrase", "TermQuery"]

"""Full text: its port, beside the store port."""

from webtable.store.full_text.port import FIELDS, Document, Match, SearchIndex, TermPhrase, TermQuery

__all__ = ["FIELDS", "Document", "Match", "SearchIndex", "TermPhrase", "TermQuery"]

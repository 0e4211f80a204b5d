"""Secondary indexes: entries in tables of their own, each a hint that the page which it names confirms or not."""

from webtable.repository.indexes.index import Index
from webtable.repository.indexes.web import WEB_INDEXES

__all__ = ["WEB_INDEXES", "Index"]

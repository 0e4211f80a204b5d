"""Full text in a directory, by tantivy: for tables whose store keeps none itself, as HBase."""

from webtable._extras import missing_extra

try:
    import tantivy  # noqa: F401
except ImportError as _exc:
    raise missing_extra("tantivy", "search", _exc) from _exc

from webtable.store.search_directory.index import TantivyIndex

__all__ = ["TantivyIndex"]

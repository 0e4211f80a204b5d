"""Full text in a directory, by tantivy: for tables whose store keeps none itself, as HBase."""

from webtable._importable import needed

with needed("tantivy", "search"):
    import tantivy  # noqa: F401

from webtable.store.full_text.tantivy.index import TantivyIndex

__all__ = ["TantivyIndex"]

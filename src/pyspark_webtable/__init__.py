"""Where Spark looks for data sources: it makes `format("webtable")` known to every session, without registering."""

from webtable.integrations._spark import WebTableSource as DefaultSource

__all__ = ["DefaultSource"]

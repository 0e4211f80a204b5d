"""The embedded store: one SQLite file, by the standard library's driver, for concurrent threads and processes."""

from webtable.store.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]

"""The embedded store: one SQLite file, the standard library's driver, many threads and processes at once."""

from webtable.store.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]

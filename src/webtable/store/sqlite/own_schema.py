"""What stands in the schema of a store, and nothing else: a file may be a stranger's, and a schema can run.

A view in the place of a table, a trigger, a check, a generated column or an index on an expression are programs that
SQLite runs as the table is read or written. A store has none of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from webtable.errors import NotAStore
from webtable.store.sqlite.catalogue import STATEMENTS

if TYPE_CHECKING:
    import sqlite3

_TABLE: Final = re.compile(r"CREATE TABLE (?:tables|families|(?:cells|deletes)_\d+) \([\w\s,()']*\)(?: WITHOUT ROWID)?")
_WORDS: Final = frozenset(re.findall(r"[A-Za-z_]+", " ".join(STATEMENTS)))


def check_schema(name: str, connection: sqlite3.Connection) -> None:
    """Raise `NotAStore` where the file has something that no store has, at whose definition it names."""
    for kind, entry, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
        if not _is_ours(kind, entry, sql):
            raise NotAStore(
                f"{name}: it has the {kind} {str(entry)[:100]!r}, which no store has and which could run when the file "
                "is used; if it is your own, drop it with the sqlite3 program"
            )


def _is_ours(kind: object, entry: object, sql: object) -> bool:
    if kind == "index":
        return sql is None  # SQLite's own, of a UNIQUE or a primary key
    if kind != "table" or not isinstance(entry, str) or not isinstance(sql, str):
        return False
    if entry.startswith("sqlite_"):  # sqlite_sequence, sqlite_stat1: SQLite lets nobody else make one
        return sql.startswith("CREATE TABLE ")
    words = re.findall(r"\w+", sql)
    return _TABLE.fullmatch(sql) is not None and all(_is_known(word) for word in words)


def _is_known(word: str) -> bool:
    return word in _WORDS or re.fullmatch(r"\d+|(?:cells|deletes)_\d+", word) is not None

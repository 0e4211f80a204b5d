"""The tables of full text in the file.

`documents_7` has a row for each page of the table 7, `search_7` its terms under the same number, in FTS5, and
`searches` what was asked for. FTS5 makes four tables for each of its own, whose names begin with its name.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from webtable.store.search import FIELDS

NEEDS_NO_TERMS: Final = sqlite3.sqlite_version_info >= (3, 43)
SEARCHES: Final = "CREATE TABLE searches (table_id INTEGER PRIMARY KEY, settings TEXT NOT NULL, filled BLOB)"
DOCUMENTS: Final = (
    "CREATE TABLE documents_{} (id INTEGER PRIMARY KEY, row BLOB NOT NULL UNIQUE, captured INTEGER NOT NULL,"
    " digest TEXT NOT NULL, status INTEGER NOT NULL, type TEXT NOT NULL, language TEXT NOT NULL, terms BLOB NOT NULL)"
)
COLUMNS: Final = ", ".join(FIELDS)
SEARCH: Final = f"CREATE VIRTUAL TABLE search_{{}} USING fts5({COLUMNS}, content='', tokenize='ascii'{{}})"
CONTENTLESS_DELETE: Final = ", contentless_delete=1"
_NAME: Final = re.compile(r"(?:documents|search)_(\d+)(_data|_idx|_docsize|_config)?")
_BESIDE: Final = {
    "_data": {"(id INTEGER PRIMARY KEY, block BLOB)"},
    "_idx": {"(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID"},
    "_docsize": {"(id INTEGER PRIMARY KEY, sz BLOB)", "(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)"},
    "_config": {"(k PRIMARY KEY, v) WITHOUT ROWID"},
}
"""What FTS5 creates, after the name."""


def is_of_search(entry: str, sql: str) -> bool:
    """Whether the table *entry* is one of full text, made by the statement *sql*."""
    if entry == "searches":
        return sql == SEARCHES
    found = _NAME.fullmatch(entry)
    if found is None:
        return False
    number, beside = found.groups()
    if beside is not None:
        start = f"CREATE TABLE '{entry}'"
        return sql.startswith(start) and sql.removeprefix(start) in _BESIDE[beside]
    return sql in {DOCUMENTS.format(number), SEARCH.format(number, ""), SEARCH.format(number, CONTENTLESS_DELETE)}


def exists(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the file has a table of this *name*."""
    return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)).fetchone() is not None


def remove_search(connection: sqlite3.Connection, number: int) -> None:
    """Remove the full text of the table *number*, if it has any."""
    if exists(connection, f"search_{number}"):
        connection.execute(f"DROP TABLE search_{number}")
        connection.execute(f"DROP TABLE documents_{number}")
        connection.execute("DELETE FROM searches WHERE table_id = ?", (number,))

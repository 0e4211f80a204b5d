"""The catalogue: the tables and families in the file, and their SQLite tables.

A family is a separate SQLite table, `cells_7`, as it is a separate store in HBase: a listing of metadata does not read
the bodies. `deletes_7` holds its delete markers. The names of tables and families are values, never SQL.

A file may come from a stranger, and a schema can contain code: SQLite runs a view in place of a table, a trigger, a
check, a generated column or an index on an expression when the table is read or written. A store has none of them, and
a file with one is refused.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Final

import msgspec

from webtable.errors import InvalidArgument, NotAStore
from webtable.schema import FamilySchema, TableSchema
from webtable.store.full_text import FIELDS
from webtable.store.sqlite.connections import DamagedCells, ReadingConnection

# --- Full text --------------------------------------------------------------------------------------------------------
#
# `documents_7` has a row for each page of the table 7, `search_7` its terms under the same number, in FTS5, and
# `searches` what was asked for. FTS5 makes four tables for each of its own, whose names begin with its name.


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
    match = _NAME.fullmatch(entry)
    if match is None:
        return False
    number, beside = match.groups()
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


# --- Tables and families ----------------------------------------------------------------------------------------------


CATALOGUE: Final = (
    # AUTOINCREMENT: the id of a dropped family must not name the cells of a later one.
    "CREATE TABLE tables (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, split_keys TEXT NOT NULL)",
    "CREATE TABLE families (id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, name TEXT NOT NULL,"
    " options TEXT NOT NULL, swept BLOB NOT NULL DEFAULT x'', swept_deletes BLOB NOT NULL DEFAULT x'',"
    " UNIQUE (table_id, name))",
)

_CELLS = (
    "CREATE TABLE cells_{} (row BLOB NOT NULL, qualifier BLOB NOT NULL, timestamp INTEGER NOT NULL,"
    " value BLOB NOT NULL, PRIMARY KEY (row, qualifier, timestamp DESC)) WITHOUT ROWID"
)
# `scope` is empty for the whole family; else a colon and the qualifier; for a delete of one timestamp only an equals
# sign, the timestamp in eight bytes and the qualifier. `made` is the time of the delete, in epoch milliseconds.
_DELETES = (
    "CREATE TABLE deletes_{} (row BLOB NOT NULL, scope BLOB NOT NULL, timestamp INTEGER NOT NULL,"
    " made INTEGER NOT NULL, PRIMARY KEY (row, scope)) WITHOUT ROWID"
)
STATEMENTS: Final = (*CATALOGUE, _CELLS, _DELETES)
"""All statements that create a table or index, without the numbers of families."""
_KINDS = {option.name: type(option.default) for option in fields(FamilySchema)} | {"ttl": int}
_LOOKUP = (
    "SELECT tables.id, split_keys, families.id, families.name, options"
    " FROM tables JOIN families ON table_id = tables.id WHERE tables.name = ? ORDER BY families.name"
)


@dataclass(frozen=True, slots=True)
class Family:
    """A family as it is stored: in the SQLite tables `cells_{id}` and `deletes_{id}`."""

    id: int
    schema: FamilySchema
    prefix: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", self.schema.name.encode() + b":")

    def oldest_visible(self, now: int) -> int:
        """Return the timestamp below which cells have expired by the family's TTL."""
        return 0 if self.schema.ttl is None else now - self.schema.ttl * 1000


class StoredTable(msgspec.Struct, frozen=True, eq=False):
    """A table as it is stored; `families` is by prefix (`b"content:"`), in the order of their names.

    It is equal to itself only, so it can be a cache key; as long as nothing changes there is one instance.
    """

    id: int
    schema: TableSchema
    families: Mapping[bytes, Family]


def find_table(connection: sqlite3.Connection, name: str) -> StoredTable | None:
    """Return the table of this name as the connection's transaction sees it."""
    if not isinstance(connection, ReadingConnection):
        return _looked_up(connection, name)
    # It changes with each commit of another connection that this one sees (https://sqlite.org/pragma.html), and a
    # reader commits nothing; to look the table up takes twice as long.
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    if version != connection.version:
        connection.version, connection.tables = version, {}
    table = connection.tables.get(name)
    if table is None and (table := _looked_up(connection, name)) is not None:
        connection.tables[name] = table
    return table


def _looked_up(connection: sqlite3.Connection, name: str) -> StoredTable | None:
    rows = connection.execute(_LOOKUP, (name,)).fetchall()
    return _decoded(name, tuple(rows)) if rows else None


@lru_cache(maxsize=256)
def _decoded(name: str, rows: tuple[tuple[int, str, int, str, str], ...]) -> StoredTable:
    try:
        if not all(type(number) is int for table, _, family, *_ in rows for number in (table, family)):
            raise TypeError("the number of a table or a family is not an integer")
        families = [Family(number, _family(family, options)) for _, _, number, family, options in rows]
        splits = tuple(bytes.fromhex(key) for key in json.loads(rows[0][1]))
        schema = TableSchema(name, tuple(family.schema for family in families), splits)
        return StoredTable(rows[0][0], schema, {family.prefix: family for family in families})
    except (InvalidArgument, ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise DamagedCells(f"table {name!r} has a damaged description: {exc}") from exc


def _family(name: str, options: str) -> FamilySchema:
    """Return the family with these stored options, after checking their types."""
    values = json.loads(options)
    if not isinstance(name, str):
        raise TypeError(f"the name of a family is {name!r}")
    for option, value in values.items():
        kind = _KINDS[option]
        if type(value) is not kind and not (option == "ttl" and value is None):
            raise TypeError(f"family {name!r}: {option}={value!r}")
    return FamilySchema(name, **values)


def table_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all tables, sorted."""
    names = [name for (name,) in connection.execute("SELECT name FROM tables")]
    if not all(isinstance(name, str) for name in names):
        raise DamagedCells("the name of a table is not text")
    return sorted(names)


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format of the file as the connection's transaction sees it."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def add_table(connection: sqlite3.Connection, schema: TableSchema) -> None:
    """Add a new table."""
    splits = json.dumps([key.hex() for key in schema.split_keys])
    cursor = connection.execute("INSERT INTO tables (name, split_keys) VALUES (?, ?)", (schema.name, splits))
    for family in schema.families:
        _add_family(connection, cursor.lastrowid, family)


def put_family(connection: sqlite3.Connection, table: StoredTable, schema: FamilySchema) -> None:
    """Add a family, or change the options of an existing one."""
    family = table.families.get(schema.name.encode() + b":")
    if family is None:
        _add_family(connection, table.id, schema)
    else:
        connection.execute("UPDATE families SET options = ? WHERE id = ?", (_options(schema), family.id))


def remove_table(connection: sqlite3.Connection, table: StoredTable) -> None:
    """Remove the table and its cells."""
    remove_search(connection, table.id)
    for family in table.families.values():
        connection.execute(f"DROP TABLE cells_{family.id}")
        connection.execute(f"DROP TABLE deletes_{family.id}")
    connection.execute("DELETE FROM families WHERE table_id = ?", (table.id,))
    connection.execute("DELETE FROM tables WHERE id = ?", (table.id,))


def _add_family(connection: sqlite3.Connection, table_id: int | None, schema: FamilySchema) -> None:
    cursor = connection.execute(
        "INSERT INTO families (table_id, name, options) VALUES (?, ?, ?)", (table_id, schema.name, _options(schema))
    )
    connection.execute(_CELLS.format(cursor.lastrowid))
    connection.execute(_DELETES.format(cursor.lastrowid))


def _options(schema: FamilySchema) -> str:
    options = asdict(schema)
    del options["name"]
    return json.dumps(options)


_TABLE: Final = re.compile(r"CREATE TABLE (?:tables|families|(?:cells|deletes)_\d+) \([\w\s,()']*\)(?: WITHOUT ROWID)?")
_WORDS: Final = frozenset(re.findall(r"[A-Za-z_]+", " ".join(STATEMENTS)))


def check_schema(name: str, connection: sqlite3.Connection) -> None:
    """Raise `NotAStore` if the schema has an entry that no store has, which the message names."""
    for kind, entry, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
        if not _is_ours(kind, entry, sql):
            raise NotAStore(
                f"{name}: it has the {kind} {str(entry)[:100]!r}, which no store has and which could run when the file "
                "is used; if it is your own, drop it with the sqlite3 program"
            )


def _is_ours(kind: object, entry: object, sql: object) -> bool:
    if kind == "index":
        return sql is None  # an index of SQLite itself, for a UNIQUE or a primary key
    if kind != "table" or not isinstance(entry, str) or not isinstance(sql, str):
        return False
    if entry.startswith("sqlite_"):  # sqlite_sequence, sqlite_stat1: SQLite reserves these names
        return sql.startswith("CREATE TABLE ")
    if is_of_search(entry, sql):
        return True
    strange = (word for word in re.findall(r"\w+", sql) if word not in _WORDS)
    return _TABLE.fullmatch(sql) is not None and all(map(re.compile(r"\d+|(?:cells|deletes)_\d+").fullmatch, strange))

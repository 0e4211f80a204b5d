"""The catalogue: which tables and families the file holds, and under which names SQLite knows them.

A family is an SQLite table of its own, `cells_7`, as it is a store of its own in HBase: a listing of metadata does not
read past the bodies. `deletes_7` holds its delete markers. The names of tables and families are values, never SQL.

A file may be a stranger's, and a schema can run. A view in the place of a table, a trigger, a check, a generated
column or an index on an expression are programs that SQLite runs as the table is read or written. A store has none of
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument, NotAStore
from webtable.schema import FamilySchema, TableSchema
from webtable.store.sqlite.failures import DamagedCells

if TYPE_CHECKING:
    import sqlite3

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
# `scope` is empty for the whole family; else a colon and the qualifier; for a delete of one timestamp alone an equals
# sign, the timestamp in eight bytes and the qualifier. `made` is when the delete came, in epoch milliseconds.
_DELETES = (
    "CREATE TABLE deletes_{} (row BLOB NOT NULL, scope BLOB NOT NULL, timestamp INTEGER NOT NULL,"
    " made INTEGER NOT NULL, PRIMARY KEY (row, scope)) WITHOUT ROWID"
)
STATEMENTS: Final = (*CATALOGUE, _CELLS, _DELETES)
"""All that makes something in the file, but for the numbers of families."""
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
        """Return the timestamp below which a cell has outlived the family's TTL."""
        return 0 if self.schema.ttl is None else now - self.schema.ttl * 1000


@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
    """A table as it is stored; `families` is by prefix (`b"content:"`), in the order of their names.

    It is equal to itself alone, and so a key of what is made of it; as long as nothing changes there is one.
    """

    id: int
    schema: TableSchema
    families: Mapping[bytes, Family]


def find_table(connection: sqlite3.Connection, name: str) -> StoredTable | None:
    """Return the table of that name as the connection's transaction sees it."""
    rows = connection.execute(_LOOKUP, (name,)).fetchall()
    return _decoded(name, tuple(rows)) if rows else None


@lru_cache(maxsize=256)
def _decoded(name: str, rows: tuple[tuple[int, str, int, str, str], ...]) -> StoredTable:
    try:
        if not all(type(number) is int for table, _, family, *_ in rows for number in (table, family)):
            raise TypeError("a table or a family has another number than a whole one")
        families = [Family(number, _family(family, options)) for _, _, number, family, options in rows]
        splits = tuple(bytes.fromhex(key) for key in json.loads(rows[0][1]))
        schema = TableSchema(name, tuple(family.schema for family in families), splits)
        return StoredTable(rows[0][0], schema, {family.prefix: family for family in families})
    except (InvalidArgument, ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise DamagedCells(f"table {name!r} is not described as it should be: {exc}") from exc


def _family(name: str, options: str) -> FamilySchema:
    """Return the family that was entered with these options, each of which is of its kind."""
    given = json.loads(options)
    if not isinstance(name, str):
        raise TypeError(f"a family is named {name!r}")
    for option, value in given.items():
        kind = _KINDS[option]
        if type(value) is not kind and not (option == "ttl" and value is None):
            raise TypeError(f"family {name!r}: {option}={value!r}")
    return FamilySchema(name, **given)


def table_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all tables, sorted."""
    names = [name for (name,) in connection.execute("SELECT name FROM tables")]
    if not all(isinstance(name, str) for name in names):
        raise DamagedCells("a table's name is no text")
    return sorted(names)


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format of the file as the connection's transaction sees it."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def add_table(connection: sqlite3.Connection, schema: TableSchema) -> None:
    """Enter a table that is not there yet."""
    splits = json.dumps([key.hex() for key in schema.split_keys])
    cursor = connection.execute("INSERT INTO tables (name, split_keys) VALUES (?, ?)", (schema.name, splits))
    for family in schema.families:
        _add_family(connection, cursor.lastrowid, family)


def put_family(connection: sqlite3.Connection, table: StoredTable, schema: FamilySchema) -> None:
    """Enter a family, or change the options of the one of that name."""
    family = table.families.get(schema.name.encode() + b":")
    if family is None:
        _add_family(connection, table.id, schema)
    else:
        connection.execute("UPDATE families SET options = ? WHERE id = ?", (_options(schema), family.id))


def remove_table(connection: sqlite3.Connection, table: StoredTable) -> None:
    """Remove the table and its cells."""
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

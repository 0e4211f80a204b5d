"""The full text of a table in the file: its documents, and their terms in a table of SQLite's FTS5.

FTS5 keeps no texts: to remove a document it must be given its terms again, so they are kept beside it, compressed. From
SQLite 3.43 on it needs none (https://sqlite.org/fts5.html#contentless_delete_tables). The terms are made by the caller,
and have only letters, marks and digits: the tokenizer parts them at spaces.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Final

import zstandard

from webtable.errors import StoreError, TableNotFound
from webtable.store.full_text import ALWAYS, FIELDS, Document, Match, SearchIndex, TermPhrase, TermQuery
from webtable.store.sqlite import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.store.sqlite.file import StoreFile

_MOST_TERMS: Final = 1 << 28  # bytes; a frame can announce any number, and as many are allocated
# https://sqlite.org/fts5.html#the_automerge_configuration_option: with 8 MB of new terms in memory in place of one, and
# eight segments of a level in place of four before they are merged, documents are put 1.4 times as fast. A search looks
# into as many segments as before.
_OPTIONS: Final = {"hashsize": 8 << 20, "automerge": 8}
_LIKELY: Final = 4_096
"""How many documents of the best scores are looked at first for those that meet the conditions."""
_SCORE: Final = f"-bm25(search_{{0}}, {', '.join(map(str, FIELDS.values()))})"


class FullText(SearchIndex):
    """The full text of the table *name* in *file*."""

    def __init__(self, file: StoreFile, name: str) -> None:
        self._file = file
        self._name = name

    def settings(self) -> str | None:
        """Return the settings, which a transaction of this thread may just have written."""
        value = self._stored("settings")
        return value if isinstance(value, str) else None

    def filled(self) -> bytes | None:
        """Return the row up to which the index is filled."""
        value = self._stored("filled")
        return value if isinstance(value, bytes) else None

    def _stored(self, column: str) -> object:
        with self._file.reader() as connection:
            if not catalogue.exists(connection, "searches"):
                return None
            record = connection.execute(
                f"SELECT {column} FROM searches JOIN tables ON id = table_id WHERE name = ?", (self._name,)
            ).fetchone()
        return record and record[0]

    def create(self, settings: str) -> None:
        """Create the tables."""
        with self._file.writer("creating full text", self._name) as connection:
            number = self._number(connection)
            if not catalogue.exists(connection, "searches"):
                connection.execute(catalogue.SEARCHES)
            catalogue.remove_search(connection, number)  # FTS5 keeps four tables of its own, which go with it
            connection.execute(catalogue.DOCUMENTS.format(number))
            connection.execute(
                catalogue.SEARCH.format(number, catalogue.CONTENTLESS_DELETE if catalogue.NEEDS_NO_TERMS else "")
            )
            for option, value in _OPTIONS.items():  # which FTS5 keeps
                connection.execute(f"INSERT INTO search_{number}(search_{number}, rank) VALUES (?, ?)", (option, value))
            connection.execute("INSERT INTO searches VALUES (?, ?, x'')", (number, settings))

    def drop(self) -> None:
        """Remove the tables."""
        with self._file.writer("dropping full text", self._name) as connection:
            catalogue.remove_search(connection, self._number(connection))

    def write(
        self, documents: Iterable[Document], gone: Iterable[bytes] = (), *, filled: bytes | None = b""
    ) -> list[bytes]:
        """Write in one transaction, or in that of this thread."""
        with self._file.writer("writing full text", self._name) as connection:
            writer = _Writer(connection, self._number(connection))
            # First, since a document of the same write may be of a row that is removed.
            for row in gone:
                writer.remove(row)
            lacking = [document.row for document in documents if not writer.put(document)]
            if filled != b"":
                connection.execute("UPDATE searches SET filled = ? WHERE table_id = ?", (filled, writer.number))
        return lacking

    def documents(self, after: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Return the documents as of one moment."""
        with self._file.reader() as connection:
            find = f"SELECT row, captured FROM documents_{self._number(connection)} WHERE row > ? ORDER BY row LIMIT ?"
            return [_checked(record, int) for record in connection.execute(find, (after, limit))]

    def captured(self, rows: Sequence[bytes]) -> list[int | None]:
        """Return the dates as of one moment."""
        with self._file.reader() as connection:
            find = f"SELECT captured FROM documents_{self._number(connection)} WHERE row = ?"
            records = (connection.execute(find, (row,)).fetchone() for row in rows)
            return [None if record is None else record[0] for record in records]

    def matches(self, query: TermQuery, after: Match | None, limit: int) -> list[Match]:
        """Return the matches as of one moment."""
        conditions, parameters = _conditions(query)
        parameters |= {"match": _expression(query), "limit": limit, "likely": max(limit, _LIKELY * bool(conditions))}
        earlier = ""
        if after is not None:
            earlier = "WHERE score < :score"
            conditions.append("(score < :score OR (score = :score AND row > :row))")
            parameters |= {"score": after.score, "row": after.row}
        of_documents = "FROM scored CROSS JOIN documents_{0} ON " + " AND ".join(("id = document", *conditions))
        # To read a row of `documents`, which has the terms as well, takes longer than to score it: so those of the best
        # scores are read, and all only if too few of them meet the conditions. Several may share the least score.
        # Materialized, as BM25 cannot be computed outside of the query of FTS5.
        find = (
            f"WITH scored AS MATERIALIZED (SELECT rowid AS document, {_SCORE} AS score"
            f" FROM search_{{0}} WHERE search_{{0}} MATCH :match),"
            f" least AS (SELECT score FROM scored {earlier} ORDER BY score DESC LIMIT 1 OFFSET :likely - 1),"
            f" best AS (SELECT score {of_documents} WHERE score >= (SELECT score FROM least))"
            f" SELECT row, score {of_documents}"
            " WHERE score >= iif((SELECT count(*) FROM best) < :limit, -1e999, (SELECT score FROM least))"
            " ORDER BY score DESC, row LIMIT :limit"
        )
        with self._file.reader() as connection:
            records = connection.execute(find.format(self._number(connection)), parameters)
            return [Match(*_checked(record, float)) for record in records]

    def compact(self) -> None:
        """Merge the segments of FTS5, so that no removed term is left in any."""
        with self._file.writer("compacting full text", self._name) as connection:
            number = self._number(connection)
            connection.execute(f"INSERT INTO search_{number}(search_{number}) VALUES ('optimize')")

    def bytes(self) -> int:
        """Return the bytes of the blocks of FTS5 and of the terms beside it."""
        with self._file.reader() as connection:
            number = self._number(connection)
            blocks, terms = f"search_{number}_data", f"documents_{number}"
            find = f"SELECT (SELECT total(length(block)) FROM {blocks}) + (SELECT total(length(terms)) FROM {terms})"
            return int(connection.execute(find).fetchone()[0])

    def _number(self, connection: sqlite3.Connection) -> int:
        table = catalogue.find_table(connection, self._name)
        if table is None:
            raise TableNotFound(f"{self._file.name}: no table {self._name!r}")
        return table.id


class _Writer:
    """Writes the documents of the table *number* in the transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self._connection = connection
        self.number = number
        sql = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (f"search_{number}",)).fetchone()
        if sql is None:
            raise StoreError(f"table {number} has no full text any more")
        self._keeps_terms = catalogue.CONTENTLESS_DELETE not in sql[0]
        self._packer, self._unpacker = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()

    def put(self, document: Document) -> bool:
        """Write *document*; returns whether its terms were given, or are those that are stored."""
        row, terms = document.row, document.terms
        # A capture that repeats the content changes what filters go by, and no term.
        if terms is None:
            updated = self._connection.execute(
                f"UPDATE documents_{self.number} SET captured = ?, status = ?, type = ?, language = ?"
                " WHERE row = ? AND digest = ?",
                (document.captured, document.status, document.content_type, document.language, row, document.digest),
            )
            return updated.rowcount == 1
        self.remove(row)
        # Whether terms are kept depends on the SQLite that created the table, not on this one.
        packed = self._packer.compress("\n".join(terms).encode()) if self._keeps_terms else b""
        cursor = self._connection.execute(
            f"INSERT INTO documents_{self.number} (row, captured, digest, status, type, language, terms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*document[:6], packed),
        )
        self._connection.execute(
            f"INSERT INTO search_{self.number} (rowid, {catalogue.COLUMNS}) VALUES (?, {', '.join('?' * len(FIELDS))})",
            (cursor.lastrowid, *terms),
        )
        return True

    def remove(self, row: bytes) -> None:
        """Remove the document of *row*, if there is one."""
        number = self.number
        find = f"SELECT id, terms FROM documents_{number} WHERE row = ?"
        document = self._connection.execute(find, (row,)).fetchone()
        if document is None:
            return
        if self._keeps_terms:  # FTS5 forgets what it was given, so it must be told what to take out
            try:
                if zstandard.frame_content_size(document[1]) not in range(_MOST_TERMS):
                    raise ValueError(document[0])
                terms = self._unpacker.decompress(document[1]).decode().split("\n")
            except (TypeError, ValueError, zstandard.ZstdError) as exc:
                raise sqlite3.DataError(f"the terms of a document of table {number} are damaged") from exc
            self._connection.execute(
                f"INSERT INTO search_{number} (search_{number}, rowid, {catalogue.COLUMNS})"
                f" VALUES ('delete', ?, {', '.join('?' * len(FIELDS))})",
                (document[0], *terms),
            )
        else:
            self._connection.execute(f"DELETE FROM search_{number} WHERE rowid = ?", document[:1])
        self._connection.execute(f"DELETE FROM documents_{number} WHERE id = ?", document[:1])


def _checked(record: tuple[Any, Any], kind: type) -> tuple[Any, Any]:
    """Return *record*, a row and a value of this *kind*; SQLite would keep any other value there, too."""
    if not isinstance(record[0], bytes) or not isinstance(record[1], kind):
        raise sqlite3.DataError("a document of full text has a row or a value of another type")
    return record


def _conditions(query: TermQuery) -> tuple[list[str], dict[str, object]]:
    """Return the conditions on the rows of `documents`, and their parameters."""
    conditions: list[str] = []
    parameters: dict[str, object] = {}
    if query.captured != ALWAYS:
        conditions += ["captured >= :first", "captured < :end"]
        parameters |= zip(("first", "end"), query.captured, strict=True)
    for column, value in (("status", query.status), ("type", query.content_type)):
        if value is not None:
            conditions.append(f"{column} = :{column}")
            parameters[column] = value
    if query.language is not None:
        # `-` and `.` are neighbours in ASCII, so this is de and all that begins with de-.
        conditions.append("(language = :language OR (language >= :language || '-' AND language < :language || '.'))")
        parameters["language"] = query.language
    if query.rows.start:
        conditions.append("row >= :start")
        parameters["start"] = query.rows.start
    if query.rows.stop:
        conditions.append("row < :stop")
        parameters["stop"] = query.rows.stop
    return conditions, parameters


def _expression(query: TermQuery) -> str:
    """Return *query* in the language of FTS5; terms have no quotes."""
    expression = " AND ".join(f"({_phrase(phrase)})" for phrase in query.wanted)
    for phrase in query.without:
        expression = f"({expression}) NOT ({_phrase(phrase)})"
    return expression


def _phrase(phrase: TermPhrase) -> str:
    columns = "" if len(phrase.fields) == len(FIELDS) else f"{{{' '.join(phrase.fields)}}} : "
    return f'{columns}"{" ".join(phrase.terms)}"{" *" if phrase.is_prefix else ""}'

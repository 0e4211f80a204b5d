"""A store file in which a stranger has changed a value: every question is answered, or refused with a typed error."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import webtable
from nightly import some
from webtable import ALL, Page, WebTable
from webtable.errors import StoreError, WebTableError

VALUES = {
    "null": "NULL",
    "a negative number": "-5",
    "a huge number": "9223372036854775807",
    "a real number": "1.5",
    "infinity": "9e999",
    "text": "'x'",
    "text that is not ASCII": "'\u00e9\u4e2d'",
    "text that is not UTF-8": "CAST(x'ff80fe' AS TEXT)",
    "a byte": "x'00'",
    "nothing": "x''",
    "bytes that are no text": "x'ff80fe00'",
    "a frame that announces 2 TB": "x'28b52ffdc0000000000002000000'",
    "many bytes": "zeroblob(100000)",
}

QUESTIONS: dict[str, Callable[[WebTable], object]] = {
    "pages": lambda table: list(table.pages(ALL)),
    "get": lambda table: table.get("https://example.com/1"),
    "history": lambda table: list(table.history("https://example.com/1")),
    "search": lambda table: list(table.search("salt", ALL)),
    "search by relevance": lambda table: list(table.search("salt", ALL, order="relevance")),
    "hosts": lambda table: list(table.hosts()),
    "links": lambda table: [*table.links.to("https://example.com/1"), *table.links.of("https://example.com/1")],
    "stats": lambda table: table.stats(ALL),
    "errors": lambda table: list(table.errors(ALL)),
    "changes": lambda table: list(table.changes(ALL, since="30d")),
    "states": lambda table: (table.indexes.states(), table.search_index.state()),
    "verify": lambda table: (table.maintenance.verify(), table.indexes.verify("url")),
    "crawls": lambda table: list(table.crawls(ALL)),
    "put": lambda table: table.put(Page(url="https://example.com/1", body=b"<title>new</title>salt")),
    "delete": lambda table: table.delete("https://example.com/2"),
    "repair": lambda table: table.indexes.repair("link"),
    "drop full text": lambda table: table.search_index.drop(),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with four pages that link to each other, an error and full text."""
    path = tmp_path_factory.mktemp("foreign") / "crawl.db"
    with webtable.open(path, create=True) as table:
        table.search_index.create()
        with table.writer() as writer:
            for number in range(4):
                body = f"<title>Salt {number}</title><a href=/{(number + 1) % 4}>next</a> salt and rows".encode()
                writer.put(Page(url=f"https://example.com/{number}", body=body, status=404 if number == 3 else 200))
    return path


def columns() -> list[tuple[str, str]]:
    """The columns of every kind of table that a store file has: those of pages stand for those of indexes."""
    of_table = {"tables": "id name split_keys", "families": "name options swept swept_deletes"}
    of_table |= {f"cells_{number}": "row qualifier timestamp value" for number in range(1, 14)}
    of_table |= {"deletes_1": "row scope timestamp made", "searches": "settings filled"}
    of_table |= {"documents_1": "row captured digest status type language terms"}
    of_table |= {
        "search_1_data": "block",
        "search_1_docsize": "sz",
        "search_1_config": "v",
        "search_1_idx": "term pgno",
    }
    return [(table, column) for table, names in of_table.items() for column in names.split()]


def copies(original: Path, folder: Path, table: str, column: str) -> Iterator[tuple[str, Path]]:
    """Copies of the file *original* with another value in a *column* of *table*, where SQLite allows that."""
    for name, value in VALUES.items():
        copy = folder / "changed.db"
        shutil.copy(original, copy)
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection, suppress(sqlite3.Error):
            connection.execute(f"UPDATE OR REPLACE {table} SET {column} = {value}")
            yield name, copy


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), some(columns(), 20), ids="-".join)
def test_a_foreign_value_gives_an_answer_or_a_typed_error(original, tmp_path, table, column):
    for value, changed in copies(original, tmp_path, table, column):
        for question, ask in QUESTIONS.items():
            copy = tmp_path / "asked.db"
            shutil.copy(changed, copy)
            try:
                with webtable.open(copy) as opened:
                    ask(opened)
            except WebTableError:
                pass
            except Exception as exc:  # noqa: BLE001, any other one is the failure
                pytest.fail(f"{question} with {value} in {table}.{column}: {exc!r}")


def test_a_document_of_full_text_whose_row_is_no_key_is_no_hit(original, tmp_path):
    path = tmp_path / "foreign.db"
    shutil.copy(original, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE documents_1 SET row = x'ff80fe' WHERE id = 2")

    with webtable.open(path) as table:
        assert [hit.page.title for hit in table.search("salt", ALL, order="relevance")] == [
            "Salt 0",
            "Salt 2",
            "Salt 3",
        ]


@pytest.mark.parametrize("row", ["0", "'x'", "1.5"])
def test_a_document_of_full_text_whose_row_is_no_bytes_is_damage(original, tmp_path, row):
    path = tmp_path / "foreign.db"
    shutil.copy(original, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE documents_1 SET row = {row} WHERE id = 2")

    with webtable.open(path) as table, pytest.raises(StoreError, match="a document of full text has a row or a value"):
        list(table.search("salt", ALL, order="relevance"))

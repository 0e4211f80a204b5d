"""`webtable compact`, and `WebTable.maintenance.compact`: the space of what nobody sees is given back."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

import webtable
from webtable import KeyedTable, Page
from webtable.cli.app import app
from webtable.errors import CapabilityError
from webtable.repository.table.groups import TableMaintenance
from webtable.rowkey import CompositeKey, UInt
from webtable.store import open_store
from webtable.store.rows import Delete, NewCell, Put


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


def page(number, body=b"x" * 20_000):
    return Page(url=f"https://a.example/{number}", fetched_at=datetime.now(UTC), body=body)


def markers(path):
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'deletes_%'")]
        return sum(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names)


def test_compact_gives_back_the_space_of_deleted_pages_and_keeps_the_others(path):
    with webtable.open(path, create=True, compression="none") as table:
        with table.writer() as writer:
            for number in range(100):
                writer.put(page(number))
        for number in range(90):
            table.delete(f"https://a.example/{number}")

        freed = table.maintenance.compact()

        assert freed > 1_000_000
        assert markers(path) == 0  # those of the marks that the deletes had left too, which are forgotten last
        assert [found.url for found in table.pages("a.example")] == [f"https://a.example/{n}" for n in range(90, 100)]


def test_compact_leaves_other_tables_of_the_file(path):
    webtable.create(f"sqlite:{path}?table=other", indexes=[])
    store, _ = open_store(path)
    with store:
        store.write("other", [Put(b"a", [NewCell(b"metadata:page", 1, b"x")]), Delete(b"a", 5)])

    with webtable.open(path, create=True, indexes=["time"]) as table:
        table.maintenance.compact()

    assert markers(path) == 4  # a family each


def test_the_command_compacts_a_table_under_a_declared_key_too(path):
    with KeyedTable.open(path, CompositeKey(UInt("number", 4)), create=True) as table:
        table.put_many(({"number": number}, {"d:x": b"x" * 100_000}) for number in range(20))
        for number in range(19):
            table.delete(number=number)

    tried, done = (CliRunner().invoke(app, ["-s", str(path), "compact", *options]) for options in (["--dry-run"], []))

    with KeyedTable.open(path, CompositeKey(UInt("number", 4))) as table:
        kept = [record.values["number"] for record in table.scan()]
    assert (tried.exit_code, done.exit_code, markers(path)) == (0, 0, 0)
    assert "MB are free already" in tried.output
    assert re.fullmatch(r"[12]\.\d MB freed\n", done.output)
    assert kept == [19]


def test_the_command_says_what_it_gave_back(path):
    with webtable.open(path, create=True, compression="none") as table:
        table.put(page(1, b"x" * 2_000_000))
        table.delete("https://a.example/1")

    first, second = (CliRunner().invoke(app, ["-s", str(path), "compact"]) for _ in range(2))

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert re.fullmatch(r"\d\.\d MB freed\n", first.output)
    assert second.output == "there was nothing to free\n"


def test_on_hbase_the_lines_for_the_shell_are_shown(path, monkeypatch):
    def cannot(self, *, dry_run):
        raise CapabilityError("hbase://h:9090: in the HBase shell:\nmajor_compact 'crawl'\nmajor_compact 'crawl_meta'")

    monkeypatch.setattr(TableMaintenance, "compact", cannot)
    webtable.create(path, indexes=[])

    done = CliRunner().invoke(app, ["-s", str(path), "compact"])

    assert done.exit_code == 3
    assert done.stdout == "major_compact 'crawl'\nmajor_compact 'crawl_meta'\n"
    assert done.stderr == "webtable: hbase://h:9090: in the HBase shell:\n"


@pytest.mark.hbase
def test_hbase_has_no_call_for_it(hbase_url):
    store, _ = open_store(hbase_url)
    with store, pytest.raises(CapabilityError, match="flush 'crawl'\nmajor_compact 'crawl'"):
        store.compact(["crawl"])


def test_a_table_that_is_not_there_is_not_compacted(path):
    done = CliRunner().invoke(app, ["-s", str(path), "compact"])

    assert done.exit_code == 3
    assert "no such file" in done.output

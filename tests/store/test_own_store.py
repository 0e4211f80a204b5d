"""The store of examples/, which the guide shows: it keeps the contract, and a web table in it works as in any other."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest

import webtable
from webtable import Page
from webtable.errors import NotAStore, StoreUnavailable, TableNotFound
from webtable.schema import ALL_VERSIONS
from webtable.testing import sample_pages
from webtable.testing.store_contract import *  # noqa: F403 - its tests and fixtures

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sql_store.py"
GUIDE = (ROOT / "docs" / "own_store.md").read_text()

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def sql_store():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLE.parent))
        import sql_store

        return sql_store


@pytest.fixture(scope="session")
def open_store(sql_store, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "contract.sql"
    return lambda: sql_store.SQLStore(path, create=True)


@pytest.fixture
def url(sql_store, tmp_path, monkeypatch):
    """The URL of a store that is not there yet, whose scheme a package has declared as the guide shows it."""
    [(group, points)] = re.findall(r'\[project\.entry-points\."(webtable\.stores)"\]\n(.*?)```', GUIDE, re.DOTALL)
    info = tmp_path / "site" / "crawl_sql-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crawl-sql\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{points}".replace('"', ""))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return f"sql:{tmp_path}/crawl.sql?table=crawl"


def test_the_guide_shows_the_example_as_it_is():
    assert f"```python\n{EXAMPLE.read_text()}```" in GUIDE, "copy examples/sql_store.py into docs/own_store.md"


@pytest.mark.slow
def test_the_contract_runs_as_the_guide_says(pytester):
    for name, code in re.findall(r"```py\n# (\w+\.py)\n(.*?)```", GUIDE, re.DOTALL):
        pytester.path.joinpath(name).write_text(code)
    pytester.path.joinpath("sql_store.py").write_text(EXAMPLE.read_text())

    # In a process of its own, as in the folder of a stranger: here the contract and the example are imported already.
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider", "-k", "exact_delete")

    outcomes = result.parseoutcomes()
    assert (result.ret, set(outcomes)) == (0, {"passed", "deselected"})
    assert outcomes["passed"] >= 6


def test_a_web_table_is_opened_by_its_url_and_answers_as_in_a_file(url, tmp_path):
    pages = sample_pages()
    for place in (url, tmp_path / "crawl.db"):
        with webtable.open(place, create=True) as table, table.writer() as writer:
            writer.put_many(pages)
    with webtable.open(url) as table, webtable.open(tmp_path / "crawl.db") as file:
        answers, expected = (
            [list(t.pages()), list(t.pages("example.com", limit=3)), list(t.errors()), list(t.links.to(pages[1].url))]
            for t in (table, file)
        )
        is_sound = table.maintenance.verify().is_sound
        table.delete(pages[0].url)

        assert answers == expected
        assert len(answers[0]) > 3
        assert is_sound
        assert table.get(pages[0].url) is None
        assert (table.table, table.layout.versions) == ("crawl", ALL_VERSIONS)


def test_a_forked_process_uses_the_store_as_its_parent_does(url):
    with webtable.open(url, create=True) as table:
        table.put(Page(url="https://example.com/", body=b"parent"))
        if (child := os.fork()) == 0:
            try:
                table.put(Page(url="https://example.com/child", body=b"child"))
                os._exit(len(list(table.pages())))
            finally:
                os._exit(99)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        assert table.get("https://example.com/child").body == b"child"


def test_a_call_ends_in_time_while_another_process_writes(sql_store, tmp_path):
    path = tmp_path / "crawl.sql"
    with sql_store.SQLStore(path, create=True, timeout=0.1) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(StoreUnavailable, match=r"crawl\.sql: database is locked"):
            store.tables()

        other.close()
        assert store.tables() == []


def test_a_file_that_is_no_such_store_is_left_as_it_is(sql_store, tmp_path):
    text, foreign = tmp_path / "text.sql", tmp_path / "foreign.db"
    text.write_text("This is a letter, and no database at all.\n" * 40)
    webtable.open(foreign, create=True).close()

    for path in (text, foreign):
        before = path.read_bytes()
        with pytest.raises(NotAStore, match=path.name):
            sql_store.SQLStore(path)
        assert path.read_bytes() == before
    with pytest.raises(TableNotFound, match="webtable create"):
        sql_store.SQLStore(tmp_path / "none.sql")
    assert not (tmp_path / "none.sql").exists()

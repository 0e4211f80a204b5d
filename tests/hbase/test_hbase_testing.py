"""The fixtures of `webtable.testing` for a real HBase, in the tests of a user."""

from __future__ import annotations

import pytest

import webtable
from webtable.errors import TableNotFound
from webtable.store import open_store
from webtable.testing import fresh_table

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.hbase


def tables_of(url, name):
    base, _, options = url.partition("?")
    store, _ = open_store(f"{base}/any?{options}")
    with store:
        return [table for table in store.tables() if table.startswith(name)]


def test_a_user_has_a_fresh_table_on_hbase_in_each_test(hbase_url, pytester, monkeypatch):
    monkeypatch.setenv("WEBTABLE_HBASE_URL", hbase_url)
    pytester.makeconftest("pytest_plugins = ['webtable.testing']")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("time", [1, 2])
        def test_it(hbase_table, sample_pages, time):
            assert hbase_table.get("https://example.com/") is None
            with hbase_table.writer() as writer:
                writer.put_many(sample_pages)
            assert hbase_table.get("https://example.com/").title == "Welcome"
            assert hbase_table.name.startswith("hbase://")
        """
    )

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(passed=2)


def test_a_fresh_table_is_dropped_with_all_beside_it(hbase_url):
    with fresh_table(hbase_url) as table:
        there = tables_of(hbase_url, table.table)
        url = f"{hbase_url.partition('?')[0]}/{table.table}?{hbase_url.partition('?')[2]}"

    assert len(there) > 1
    assert tables_of(hbase_url, table.table) == []
    with pytest.raises(TableNotFound):
        webtable.open(url)


def test_a_fresh_table_is_dropped_where_the_block_fails(hbase_url):
    with pytest.raises(LookupError), fresh_table(hbase_url) as table:
        raise LookupError

    assert tables_of(hbase_url, table.table) == []

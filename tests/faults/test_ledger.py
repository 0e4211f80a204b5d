"""What compares a table with the ledger finds what is lost, and what was never written."""

from __future__ import annotations

import time

import pytest
from load import Findings, Ledger, Load, page_of, settled, url_of

import webtable
from webtable.store import Delete

pytestmark = pytest.mark.faults


@pytest.fixture
def written(tmp_path):
    """A table with all pages acknowledged at least once, and its ledger."""
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(tmp_path / "web.db", create=True) as table:
        with Load(table, ledger, pages=20):
            deadline = time.monotonic() + 60
            while set(ledger.read()[1]) != set(range(20)):
                assert time.monotonic() < deadline
                time.sleep(0.02)
        yield table, ledger


def test_a_table_that_nobody_hurt_is_clean(written):
    found = settled(*written, Findings())

    assert found.is_clean, str(found)


def test_a_row_that_was_removed_by_hand_is_found(written):
    table, ledger = written
    table.store.write(table.table, [Delete(table.key.encode(url_of(7)), 2**62)])

    found = settled(table, ledger, Findings())

    assert url_of(7) in found.lost[0]


def test_a_page_that_nobody_has_put_is_found(written):
    table, ledger = written
    table.put(page_of(7, 80_000))

    found = settled(table, ledger, Findings())

    assert "nobody has put" in found.wrong[0]


def test_an_index_that_lacks_an_entry_is_found(written):
    table, ledger = written
    status = table._context.indexes.read()["status"].table
    row = next(iter(table.store.scan(status, [webtable.rowkey.KeyRange()])))
    table.store.write(status, [Delete(row.key, 2**62)])

    found = settled(table, ledger, Findings())

    assert "index status" in found.lost[0]

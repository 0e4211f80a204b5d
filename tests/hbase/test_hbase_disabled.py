"""A disabled table is told as what it is, within the deadline, and nothing is sent to it in vain."""

from __future__ import annotations

import pytest
from gateways import HOST, page_keys, put

from webtable.errors import StoreRefused
from webtable.rowkey import KeyRange
from webtable.store.hbase import HBaseStore
from webtable.store.rows import Wanted

pytestmark = pytest.mark.hbase


@pytest.fixture
def disabled(gateways, with_thrift2, disabled_table):
    """A store with a short deadline, and a table of 16 regions that is disabled."""
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1] if with_thrift2 else None, timeout=4.0) as store:
        yield store, disabled_table


def test_a_batch_to_a_disabled_table_is_refused(disabled):
    store, table = disabled

    outcomes = store.write(table, [put(key) for key in page_keys()[:200]])

    assert all(isinstance(outcome, StoreRefused) for outcome in outcomes)
    assert all(f"table '{table}' is disabled" in str(outcome) for outcome in outcomes)


def test_reading_many_rows_of_a_disabled_table_is_refused(disabled):
    store, table = disabled

    with pytest.raises(StoreRefused, match="is disabled; in the HBase shell: enable 'hbase_"):
        store.read(table, page_keys()[:50], Wanted())


def test_a_scan_of_a_disabled_table_is_refused(disabled):
    store, table = disabled

    with pytest.raises(StoreRefused, match="is disabled; in the HBase shell: enable 'hbase_"):
        list(store.scan(table, [KeyRange()], Wanted()))

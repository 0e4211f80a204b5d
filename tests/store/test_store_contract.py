"""The contract of stores (`webtable.testing.store_contract`) on every adapter, and what some of them do otherwise."""

from __future__ import annotations

import pytest

from nightly import examples
from store_differences import differs, on_every_store
from webtable.errors import CapabilityError
from webtable.schema import FamilySchema
from webtable.store import Delete, NewCell, Put
from webtable.testing.store_contract import *  # noqa: F403 - its tests and fixtures

pytestmark = on_every_store


@pytest.fixture(scope="session")
def property_examples(adapter: str) -> int:
    return 8 if differs(adapter, "slow calls") else examples(by_day=40, by_night=80)


def test_each_store_is_what_its_tests_are_named_for(store, adapter):
    kinds = {
        "sqlite": "SQLiteStore",
        "sqlite-wrapped": "ListeningStore",
        "memory": "MemoryStore",
        "hbase-native": "NativeStore",
    }

    assert type(store).__name__ == kinds.get(adapter, "HBaseStore")


def test_a_store_can_do_what_is_not_listed_as_a_difference(store, table, space, new_table, adapter):
    def refuses(*families: FamilySchema, **options) -> bool:
        try:
            new_table(*families, **options)
        except CapabilityError:
            return True
        return False

    with store.transaction() as transaction:
        pass
    [deleted] = store.write(table, [Delete(space(b"k"), 1000, [b"one:a"], exact=True)])
    try:
        compares = store.check_and_put(table, Put(space(b"new"), [NewCell(b"one:a", 1, b"")]), b"one:a", None)
    except CapabilityError:
        compares = False

    assert {
        "no transactions": transaction is None,
        "no exact delete": isinstance(deleted, CapabilityError),
        "no check and put": not compares,
        "no change of a family": not store.capabilities.changes_families,
        "no split keys": refuses(FamilySchema("f"), split_keys=(b"8",)),
        "no min_versions": refuses(FamilySchema("f", versions=3, min_versions=2)),
    } == {
        name: differs(adapter, name)
        for name in (
            *("no transactions", "no exact delete", "no check and put", "no change of a family", "no split keys"),
            "no min_versions",
        )
    }


def test_the_space_of_a_file_and_of_memory_is_there(store, adapter):
    has_space = adapter.startswith("sqlite") or adapter == "memory"  # which is a database of SQLite, too

    assert (store.space() is not None) == has_space

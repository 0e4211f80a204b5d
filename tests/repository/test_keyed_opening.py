"""Creating and opening tables of records: the key's declaration is stored, checked and never guessed."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

import webtable
from store_differences import on_native
from webtable import KeyedTable
from webtable.errors import InvalidArgument, LayoutMismatch, NewerFormat, SchemaDrift, TableNotFound
from webtable.maintenance import regions_of
from webtable.repository.keyed_table import table as keyed
from webtable.rowkey import (
    CompositeKey,
    Hash,
    HashedKey,
    RandomSalt,
    ReverseTimestamp,
    Text,
    Timestamp,
    UInt,
    WebKey,
)
from webtable.schema import LAYOUT_COLUMN, LAYOUT_ROW, FamilySchema, KeyLayout, TableSchema
from webtable.store import NewCell, Put, open_store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATEST_FIRST = CompositeKey(Text("sensor", terminator=b"\0"), ReverseTimestamp("time"))
USER_APP = CompositeKey(UInt("user", 4), UInt("app", 4))
SPREAD_LOG = CompositeKey(RandomSalt(("a-", "b-", "c-", "d-")), Timestamp("time"), Text("id"))


def first_letter(name: str) -> str:
    return name[:1]


def made_here() -> Callable[[str], str]:
    def of(name: str) -> str:
        return name[:1]

    return of


LETTERED = CompositeKey(Hash(of="id", through=first_letter, first=2), Text("id"))


def test_what_is_not_there_is_not_created_unasked(new_url):
    url = new_url()

    with pytest.raises(TableNotFound, match="create=True"):
        KeyedTable.open(url, USER_APP)
    with pytest.raises(TableNotFound):
        KeyedTable.open(url, USER_APP)


def test_a_table_is_opened_with_the_key_that_it_was_created_with(new_url):
    url = new_url()
    with KeyedTable.open(url, USER_APP, create=True, families=("d", FamilySchema("e", versions=3))) as apps:
        apps.put({"user": 1, "app": 2}, {"e:x": b"1"})

    for options in ({}, {"create": True}):
        with KeyedTable.open(url, CompositeKey(UInt("user", 4), UInt("app", 4)), **options) as apps:
            assert apps.get(user=1, app=2).cells == {"e:x": b"1"}
            assert apps.store.describe(apps.table).schema.family("e").versions == 3


def test_another_key_is_an_error_that_shows_both(new_url):
    url = new_url()
    KeyedTable.open(url, USER_APP, create=True).close()

    for options in ({}, {"create": True}):
        with pytest.raises(LayoutMismatch) as raised:
            KeyedTable.open(url, LATEST_FIRST, **options)
        assert USER_APP.declaration in str(raised.value)
        assert LATEST_FIRST.declaration in str(raised.value)


def test_a_web_table_is_no_table_of_records_and_the_other_way_round(new_url):
    web, records = new_url(), new_url()
    webtable.create(web)
    KeyedTable.open(records, USER_APP, create=True).close()

    with pytest.raises(LayoutMismatch, match=r"web table.*this call has the keys CompositeKey.*webtable\.open"):
        KeyedTable.open(web, USER_APP, create=True)
    with pytest.raises(LayoutMismatch, match=r"not a web table.*CompositeKey.*KeyedTable\.open"):
        webtable.open(records, create=True)
    with pytest.raises(LayoutMismatch, match="not a web table"):
        webtable.create(records)


@pytest.mark.parametrize("stored", [b"{", b"[]", b'{"kind":"keyed","format":2,"key":"x"}', b'{"kind":"graph"}'])
def test_a_layout_of_another_version_is_an_error(new_url, stored):
    url = new_url()
    KeyedTable.open(url, USER_APP, create=True).close()
    store, name = open_store(url)
    with store:
        store.write(f"{name}_meta", [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, 2**62, stored)])])

    with pytest.raises(LayoutMismatch):
        KeyedTable.open(url, USER_APP)


def test_of_records_with_a_layout_of_a_later_format_nothing_is_guessed(new_url):
    url = new_url()
    KeyedTable.open(url, USER_APP, create=True).close()
    store, name = open_store(url)
    with store:
        layout = b'{"kind":"keyed","format":2,"parts":[]}'
        store.write(f"{name}_meta", [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, 2**62, layout)])])

    with pytest.raises(NewerFormat, match="layout format 2"):
        KeyedTable.open(url, USER_APP)


def test_a_creation_that_was_cut_short_is_completed(new_url):
    url = new_url()
    store, name = open_store(url, create=True)
    with store:
        store.create_table(TableSchema(name, (FamilySchema("d"),)))

    with pytest.raises(TableNotFound):
        KeyedTable.open(url, USER_APP)
    with KeyedTable.open(url, USER_APP, create=True) as apps:
        apps.put({"user": 1, "app": 2}, {"d:x": b"1"})


def test_other_families_that_are_there_already_are_drift(new_url):
    url = new_url()
    store, name = open_store(url, create=True)
    with store:
        store.create_table(TableSchema(name, (FamilySchema("other"),)))

    with pytest.raises(SchemaDrift, match="add family 'd'") as raised:
        KeyedTable.open(url, USER_APP, create=True)
    assert "webtable create" not in str(raised.value)


@on_native
def test_regions_begin_at_the_split_keys(new_url):
    with KeyedTable.open(new_url(), SPREAD_LOG, create=True, split_keys=[b"b-", b"c-", b"d-"]) as log:
        assert [region.keys.start for region in log.store.regions(log.table)] == [b"", b"b-", b"c-", b"d-"]


def test_several_may_create_the_same_table_at_once(new_url):
    urls = [new_url() for _ in range(3)]

    def create(number):
        with KeyedTable.open(urls[number // 6], USER_APP, create=True) as apps:
            apps.put({"user": 1, "app": number}, {"d:x": b"1"})

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(create, range(18)))

    with KeyedTable.open(urls[1], USER_APP) as apps:
        assert [record.values["app"] for record in apps.scan(user=1)] == list(range(6, 12))


def test_of_two_keys_that_are_stored_at_once_the_first_stays(tmp_path, monkeypatch):
    url = tmp_path / "records.db"
    read = keyed.layout_cells

    def somebody_is_faster(store, name):
        monkeypatch.setattr(keyed, "layout_cells", read)
        KeyedTable.open(url, LATEST_FIRST, create=True).close()
        time.sleep(0.002)
        return {}

    monkeypatch.setattr(keyed, "layout_cells", somebody_is_faster)

    with pytest.raises(LayoutMismatch):
        KeyedTable.open(url, USER_APP, create=True)
    KeyedTable.open(url, LATEST_FIRST).close()


@pytest.mark.parametrize(
    "key",
    [
        CompositeKey(Hash(of="id", through=lambda name: name[:1]), Text("id")),
        CompositeKey(Hash(of="id", through=partial(first_letter)), Text("id")),
        CompositeKey(Hash(of="id", through=made_here()), Text("id")),
        HashedKey(CompositeKey(Hash(of="id", through=lambda name: name[:1]), Text("id"))),
    ],
)
def test_a_key_with_a_function_that_nobody_else_can_name_is_refused(tmp_path, key):
    with pytest.raises(InvalidArgument, match="module-level function"):
        KeyedTable.open(tmp_path / "x.db", key, create=True)

    assert list(tmp_path.iterdir()) == []


def test_a_key_with_a_function_of_a_module_is_part_of_the_layout():
    assert "test_keyed_opening.first_letter" in KeyLayout.of(LETTERED).key


@pytest.mark.parametrize(
    "options",
    [
        {"families": ()},
        {"families": "data"},
        {"families": ("d", "d")},
        {"families": ("a:b",)},
        {"split_keys": [b"b", b"a"]},
        {"split_keys": [b""]},
    ],
)
def test_an_impossible_table_is_refused_and_nothing_is_created(tmp_path, options):
    with pytest.raises(InvalidArgument):
        KeyedTable.open(tmp_path / "x.db", USER_APP, create=True, **options)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["columns", "limit", "reverse", "after"])
def test_a_field_with_the_name_of_an_option_is_refused(tmp_path, name):
    with pytest.raises(InvalidArgument, match=name):
        KeyedTable.open(tmp_path / "x.db", CompositeKey(Text(name)), create=True)

    assert list(tmp_path.iterdir()) == []


def test_a_field_may_have_the_name_of_an_argument_of_put(tmp_path):
    with KeyedTable.open(
        tmp_path / "x.db", CompositeKey(Text("values", terminator=b"\0"), Timestamp("timestamp")), create=True
    ) as events:
        events.put({"values": "a", "timestamp": NOON}, {"d:x": b"1"}, timestamp=NOON + timedelta(minutes=1))

        assert events.latest(values="a").values == {"values": "a", "timestamp": NOON}


@pytest.mark.parametrize("key", [WebKey(), Text("id"), "id"])
def test_what_is_no_key_is_refused(tmp_path, key):
    with pytest.raises(InvalidArgument, match="CompositeKey"):
        KeyedTable.open(tmp_path / "x.db", key, create=True)

    assert list(tmp_path.iterdir()) == []


def test_a_table_that_is_there_with_other_families_is_drift(new_url):
    url = new_url()
    KeyedTable.open(url, USER_APP, create=True).close()

    with pytest.raises(SchemaDrift, match="add family 'q'"):
        KeyedTable.open(url, USER_APP, families=["q"], create=True)
    KeyedTable.open(url, USER_APP, families=["q"]).close()


def test_split_keys_that_are_text_are_refused_before_anything_is_there(new_url):
    with pytest.raises(InvalidArgument, match="must be bytes"):
        KeyedTable.open(new_url(), USER_APP, create=True, split_keys=["a"])


def test_the_regions_of_a_table_of_records_are_compared_with_what_the_caller_wanted(new_url):
    with KeyedTable.open(new_url(), USER_APP, create=True) as apps:
        assert regions_of(apps, wanted=[]).as_wanted
        with pytest.raises(InvalidArgument, match="give the split points"):
            regions_of(apps)

"""Tables of records: any declared key, put, found, scanned and deleted, alike on every store."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from sites import with_limit

from store_differences import with_thrift1
from webtable import ALL, KeyedTable
from webtable.errors import (
    CellTooLarge,
    ExpiredCapture,
    FieldError,
    FullScanNeeded,
    HiddenByDelete,
    InvalidArgument,
    NoRange,
    StoreError,
    StoreRefused,
    UnknownColumn,
    UnknownField,
    WriteFailed,
)
from webtable.repository.keyed_table import writer as clocks
from webtable.repository.page_storage import cells as stored_cells
from webtable.repository.reading import scan as scanning
from webtable.rowkey import (
    CompositeKey,
    Date,
    Hash,
    HashedKey,
    HashSalt,
    RandomSalt,
    ReverseTimestamp,
    RoundRobinSalt,
    Text,
    Timestamp,
    UInt,
    below,
    between,
    starting_with,
)
from webtable.rowkey.examples import WEB_KEY
from webtable.schema import FamilySchema
from webtable.store import NewCell, Put, Store
from webtable.testing.stores import counted_store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATEST_FIRST = CompositeKey(Text("sensor", terminator=b"\0"), ReverseTimestamp("time"))
LATEST_LAST = CompositeKey(Text("sensor", terminator=b"\0"), Timestamp("time"))
USER_APP = CompositeKey(UInt("user", 4), UInt("app", 4))
SALTED_TIME = CompositeKey(HashSalt(of="time", buckets=16, algorithm="crc32"), Timestamp("time"), Text("id"))
SPREAD_LOG = CompositeKey(RandomSalt(("a-", "b-", "c-", "d-")), Timestamp("time"), Text("id"))
SALTED_BY_ID = CompositeKey(Hash(of="id", first=1), Text("id"))
HASHED = HashedKey(CompositeKey(Text("url")))


def minutes(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


@pytest.fixture
def table(new_url) -> Iterator[Callable[..., KeyedTable]]:
    """Make a new table with a key."""
    tables: list[KeyedTable] = []

    def make(key, **options) -> KeyedTable:
        tables.append(KeyedTable.open(new_url(), key, create=True, **options))
        return tables[-1]

    yield make
    for made in tables:
        made.close()


@pytest.fixture(scope="module")
def moments() -> list[tuple[datetime, str]]:
    """The rows of `salted`, in the order of time and id; some moments have several."""
    draw = random.Random(20260301)
    times = [minutes(draw.randrange(3_000) / 10) for _ in range(300)]
    return sorted({(at, f"{draw.randrange(10**6):x}") for at in times + times[:40]})


@pytest.fixture(scope="module")
def salted(new_url, moments) -> Iterator[KeyedTable]:
    with KeyedTable.open(new_url(), SALTED_TIME, create=True) as made:
        shuffled = random.Random(1).sample(moments, len(moments))
        made.put_many(({"time": at, "id": name}, {"d:name": name.encode()}) for at, name in shuffled)
        yield made


@pytest.fixture(scope="module")
def shared_apps(new_url) -> Iterator[KeyedTable]:
    with KeyedTable.open(with_limit(new_url()), USER_APP, create=True) as made:
        yield made


class TestPutAndGet:
    @with_thrift1
    def test_a_row_comes_back_with_its_values_and_cells(self, table):
        readings = table(LATEST_FIRST, families=("d", "raw"))

        readings.put({"sensor": "a", "time": NOON}, {"d:celsius": b"21.5", "raw:x": b"1"}, timestamp=minutes(1))

        record = readings.get(sensor="a", time=NOON)
        assert record.values == {"sensor": "a", "time": NOON}
        assert record.cells == {"d:celsius": b"21.5", "raw:x": b"1"}
        assert record.timestamp == minutes(1)
        assert record.timestamp.tzinfo is UTC
        assert record.key == LATEST_FIRST.encode(sensor="a", time=NOON)
        assert readings.get(sensor="a", time=minutes(1)) is None

    def test_a_later_value_replaces_an_earlier_one_and_other_columns_stay(self, table):
        readings = table(LATEST_FIRST)
        row = {"sensor": "a", "time": NOON}

        readings.put(row, {"d:x": b"1", "d:y": b"1"}, timestamp=minutes(1))
        readings.put(row, {"d:x": b"2"}, timestamp=minutes(2))
        readings.put(row, {"d:x": b"late"}, timestamp=minutes(0))

        assert readings.get(**row).cells == {"d:x": b"2", "d:y": b"1"}
        assert readings.get(**row).timestamp == minutes(2)

    def test_a_put_without_a_timestamp_is_of_now(self, table):
        readings = table(LATEST_FIRST)
        before = datetime.now(UTC) - timedelta(milliseconds=1)

        readings.put({"sensor": "a", "time": NOON}, {"d:x": b"1"})

        assert before <= readings.get(sensor="a", time=NOON).timestamp <= datetime.now(UTC)

    def test_many_rows_are_written_in_batches_and_counted(self, table, monkeypatch):
        monkeypatch.setattr(clocks, "BATCH_ROWS", 40)
        apps = table(USER_APP)
        write, sizes = apps.store.write, []
        monkeypatch.setattr(apps.store, "write", lambda name, some: (sizes.append(len(some)), write(name, some))[1])

        count = apps.put_many(({"user": 1, "app": app}, {"d:x": b"%d" % app}) for app in range(100))

        assert count == 100
        assert sizes == [40, 40, 20]
        assert [record.values["app"] for record in apps.scan(user=1)] == list(range(100))
        assert apps.put_many([]) == 0

    def test_a_row_that_cannot_be_kept_is_raised_once_the_rows_in_front_of_it_are_stored(self, table):
        apps = table(USER_APP)
        rows = iter([({"user": 1, "app": app}, {"d:x": b"1"}) for app in (1, 2, -3, 4)])

        with pytest.raises(FieldError, match="app=-3"):
            apps.put_many(rows)

        assert [record.values["app"] for record in apps.scan(user=1)] == [1, 2]
        assert next(rows)[0] == {"user": 1, "app": 4}

    def test_rows_that_the_store_refuses_are_raised_with_their_values(self, table, monkeypatch):
        apps = table(USER_APP)
        write = apps.store.write

        def refuse_the_second(name, mutations):
            return [
                StoreRefused("too bad") if place == 1 else error for place, error in enumerate(write(name, mutations))
            ]

        monkeypatch.setattr(apps.store, "write", refuse_the_second)

        with pytest.raises(WriteFailed, match=r"1 row not stored: user=1, app=2: too bad") as raised:
            apps.put_many(({"user": 1, "app": app}, {"d:x": b"1"}) for app in (1, 2, 3))

        (failure,) = raised.value.failures
        assert failure.values == {"user": 1, "app": 2}
        assert isinstance(failure.error, StoreError)

    @pytest.mark.parametrize(
        ("values", "cells", "options", "error"),
        [
            ({"user": 1}, {"d:x": b"1"}, {}, FieldError),
            ({"user": 1, "app": "x"}, {"d:x": b"1"}, {}, FieldError),
            ({"user": 1, "app": 2, "colour": 3}, {"d:x": b"1"}, {}, UnknownField),
            ((1, 2), {"d:x": b"1"}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {"x": b"1"}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {":x": b"1"}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {"d:": b"1"}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {b"d:x": b"1"}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {"d:x": "1"}, {}, InvalidArgument),
            ({"user": 1, "app": 2}, {"d:x": b"1", "e:x": b"1"}, {}, UnknownColumn),
            ({"user": 1, "app": 2}, {"d:x": bytes(10 * 2**20)}, {}, CellTooLarge),
            ({"user": 1, "app": 2}, {"d:x": b"1"}, {"timestamp": datetime(2026, 1, 1)}, InvalidArgument),
            ({"user": 1, "app": 2}, {"d:x": b"1"}, {"timestamp": datetime(1969, 1, 1, tzinfo=UTC)}, InvalidArgument),
            ({"user": 1, "app": 2}, {"d:x": b"1"}, {"timestamp": 7}, InvalidArgument),
        ],
    )
    def test_a_bad_row_is_an_error_before_anything_is_written(
        self, shared_apps, values, cells, options, error, monkeypatch
    ):
        monkeypatch.setattr(shared_apps.store, "write", lambda *_: pytest.fail("something was written"))

        with pytest.raises(error):
            shared_apps.put(values, cells, **options)

    def test_a_cell_that_its_family_would_not_keep_is_an_error(self, table):
        apps = table(USER_APP, families=[FamilySchema("d", ttl=3600)])

        with pytest.raises(ExpiredCapture, match="'d'"):
            apps.put({"user": 1, "app": 2}, {"d:x": b"1"}, timestamp=datetime.now(UTC) - timedelta(hours=2))

        apps.put({"user": 1, "app": 2}, {"d:x": b"1"}, timestamp=datetime.now(UTC) - timedelta(minutes=2))
        assert apps.get(user=1, app=2) is not None

    def test_qualifiers_of_other_programs_come_back_as_they_are(self, table):
        apps = table(USER_APP)
        row = USER_APP.encode(user=1, app=2)
        apps.store.write(apps.table, [Put(row, [NewCell(b"d:\xff:\x80", 1, b"theirs")])])

        (column,) = apps.get(user=1, app=2).cells
        apps.put({"user": 1, "app": 2}, {column: b"ours"})

        assert apps.get(user=1, app=2).cells == {column: b"ours"}
        assert [record.cells for record in apps.scan(user=1, columns=[column])] == [{column: b"ours"}]


class TestDelete:
    @with_thrift1
    def test_a_deleted_row_is_gone_and_can_be_put_again_at_once(self, table):
        apps = table(USER_APP)
        row = {"user": 1, "app": 2}

        for _ in range(5):
            apps.put(row, {"d:x": b"1"})
            assert apps.delete(**row) is True
            assert apps.get(**row) is None
        apps.put(row, {"d:x": b"again"})

        assert apps.get(**row).cells == {"d:x": b"again"}
        assert apps.delete(user=1, app=3) is False

    @with_thrift1
    def test_a_put_that_the_delete_hides_is_an_error_and_no_other_row_is(self, table):
        apps, rows = table(USER_APP), [({"user": 1, "app": app}, {"d:x": b"1", "d:y": b"2"}) for app in (1, 2)]
        before = datetime.now(UTC) - timedelta(hours=1)
        apps.put_many(rows)
        apps.delete(user=1, app=1)
        apps.put({"user": 1, "app": 1}, {"d:x": b"again"})

        with pytest.raises(WriteFailed, match="1 row not stored: user=1, app=1: a delete hides cells of ") as failed:
            apps.put_many(rows, timestamp=before)

        ((values, error),) = failed.value.failures
        assert (values, type(error)) == (rows[0][0], HiddenByDelete)
        assert apps.get(user=1, app=1).cells == {"d:x": b"again"}
        assert apps.get(user=1, app=2).cells == rows[1][1]
        apps.put(*rows[0], timestamp=datetime.now(UTC))

    def test_other_rows_stay(self, table):
        apps = table(USER_APP)
        apps.put_many(({"user": 1, "app": app}, {"d:x": b"1"}) for app in (1, 2, 3))

        apps.delete(user=1, app=2)

        assert [record.values["app"] for record in apps.scan(user=1)] == [1, 3]

    def test_all_values_must_be_given(self, table):
        apps = table(USER_APP)

        with pytest.raises(FieldError, match="app"):
            apps.delete(user=1)
        with pytest.raises(FieldError, match="app"):
            apps.get(user=1, app=between(1, 2))


class TestTheNewest:
    @pytest.mark.parametrize("key", [LATEST_FIRST, LATEST_LAST])
    @with_thrift1
    def test_the_latest_row_of_a_key_is_one_row_of_one_range(self, table, key):
        readings = table(key)
        readings.put_many(
            ({"sensor": sensor, "time": minutes(at)}, {"d:x": b"%d" % at})
            for sensor in ("a", "ab", "b")
            for at in (3, 1, 9, 4)
        )

        record = readings.latest(sensor="a")

        assert record.values == {"sensor": "a", "time": minutes(9)}
        assert record.cells == {"d:x": b"9"}
        assert readings.latest(sensor="c") is None

    def test_rows_come_newest_first_or_last_and_between_two_moments(self, table):
        readings = table(LATEST_FIRST)
        readings.put_many(({"sensor": "a", "time": minutes(at)}, {"d:x": b"1"}) for at in range(10))

        def times(**question):
            return [(record.values["time"] - NOON) // timedelta(minutes=1) for record in readings.scan(**question)]

        assert times(sensor="a") == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
        assert times(sensor="a", reverse=True, limit=3) == [0, 1, 2]
        assert times(sensor="a", time=between(minutes(2), minutes(5))) == [4, 3, 2]
        assert times(sensor="a", time=between(minutes(2), minutes(5)), reverse=True) == [2, 3, 4]

    def test_below_a_salt_the_newest_of_all_buckets_is_the_latest(self, salted, moments):
        assert salted.latest().values["time"] == moments[-1][0]

    def test_a_salt_between_the_fields_does_not_hide_the_latest(self, table):
        readings = table(CompositeKey(UInt("user", 4), HashSalt(of="time", buckets=8), ReverseTimestamp("time")))
        readings.put_many(({"user": 1, "time": minutes(at)}, {"d:x": b"1"}) for at in range(30))

        assert readings.latest(user=1).values["time"] == minutes(29)

    def test_where_no_time_is_behind_the_values_no_row_is_the_latest(self, table):
        apps = table(USER_APP)

        with pytest.raises(NoRange, match="ReverseTimestamp"):
            apps.latest(user=1)


class TestScan:
    @with_thrift1
    def test_leading_fields_and_a_condition_on_the_next_are_a_range(self, table):
        apps = table(USER_APP)
        apps.put_many(({"user": user, "app": app}, {"d:x": b"1"}) for user in (1, 2, 3) for app in range(5))

        def found(**question):
            return [(record.values["user"], record.values["app"]) for record in apps.scan(**question)]

        assert found(user=2) == [(2, app) for app in range(5)]
        assert found(user=2, reverse=True) == [(2, app) for app in (4, 3, 2, 1, 0)]
        assert found(user=2, app=3) == [(2, 3)]
        assert found(user=2, app=between(1, 3)) == [(2, 1), (2, 2)]
        assert found(user=2, app=between(2)) == [(2, 2), (2, 3), (2, 4)]
        assert found(user=2, app=between(2, 2)) == []
        assert found(user=between(2, 3), limit=2) == [(2, 0), (2, 1)]
        assert found(user=9) == []
        assert found(user=2, limit=0) == []

    def test_only_the_wanted_columns_come(self, table):
        apps = table(USER_APP, families=("d", "e"))
        apps.put({"user": 1, "app": 1}, {"d:x": b"1", "d:y": b"2", "e:x": b"3"})
        apps.put({"user": 1, "app": 2}, {"d:y": b"4"})

        assert [record.cells for record in apps.scan(user=1, columns=["d:x", "e:"])] == [{"d:x": b"1", "e:x": b"3"}]
        assert [record.cells for record in apps.scan(user=1, columns=["d:"])] == [
            {"d:x": b"1", "d:y": b"2"},
            {"d:y": b"4"},
        ]

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("columns", [None, ["d:name"]])
    def test_across_salts_rows_come_in_the_order_of_their_keys(self, salted, moments, reverse, columns):
        found = salted.scan(time=between(minutes(50), minutes(250)), reverse=reverse, columns=columns)

        wanted = [moment for moment in moments if minutes(50) <= moment[0] < minutes(250)]
        given = [(record.values["time"], record.values["id"], record.cells["d:name"].decode()) for record in found]
        assert given == [(at, name, name) for at, name in (wanted[::-1] if reverse else wanted)]

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize(("merge_rows", "body_rows"), [(8_192, 64), (16, 3), (48, 7)])
    def test_whatever_the_pieces_a_scan_gives_its_limit_and_goes_on(
        self, salted, moments, reverse, merge_rows, body_rows, monkeypatch
    ):
        monkeypatch.setattr(scanning, "MERGE_ROWS", merge_rows)
        monkeypatch.setattr(scanning, "BODY_ROWS", body_rows)
        monkeypatch.setattr(stored_cells, "BODY_ROWS", body_rows)
        question = {"time": between(minutes(100)), "reverse": reverse}
        wanted = [moment for moment in moments if moment[0] >= minutes(100)][:: -1 if reverse else 1]
        given, after = [], None

        for size in (1, 2, 60, 7, 500):
            piece = list(salted.scan(**question, limit=size, after=after))
            assert len(piece) == min(size, len(wanted) - len(given))
            given += [(record.values["time"], record.values["id"]) for record in piece]
            after = piece[-1].key

        assert given == wanted
        assert list(salted.scan(**question, after=after)) == []

    def test_one_moment_is_one_range(self, salted, moments):
        at = moments[0][0]

        found = [record.values["id"] for record in salted.scan(time=at)]

        assert found == [name for moment, name in moments if moment == at]

    def test_a_scan_asks_nothing_before_its_first_row_and_no_more_than_it_gives(self, salted, moments):
        store, calls = counted_store(salted.store)

        records = KeyedTable(store, salted.table, salted.key).scan(time=between(minutes(0)))
        first = [record.values["id"] for record in islice(records, 2)]

        assert first == [name for _, name in moments[:2]]
        # 2 moves on either store; on Thrift1 a move is a few calls a range.
        assert 0 < calls.total() <= 2 + 4 * 16

    def test_a_scan_goes_on_behind_a_row_that_was_deleted(self, table):
        apps = table(USER_APP)
        apps.put_many(({"user": 1, "app": app}, {"d:x": b"1"}) for app in range(4))
        key = USER_APP.encode(user=1, app=1)

        apps.delete(user=1, app=1)

        assert [record.values["app"] for record in apps.scan(user=1, after=key)] == [2, 3]
        assert [record.values["app"] for record in apps.scan(user=1, after=key, reverse=True)] == [0]

    @pytest.mark.usefixtures("large_store")
    def test_every_row_of_a_large_table_comes_only_where_it_is_asked_for(self, salted, moments):
        for question in ({}, {"time": between()}):
            with pytest.raises(FullScanNeeded, match="give ALL for every row"):
                salted.scan(**question)

        in_storage_order = list(salted.scan(ALL))
        in_key_order = list(salted.scan(ALL, time=between()))

        keys = [record.key for record in in_storage_order]
        assert keys == sorted(keys)
        assert len(keys) == len(moments)
        assert [(record.values["time"], record.values["id"]) for record in in_key_order] == moments
        assert [record.key for record in salted.scan(ALL, after=keys[20], limit=30)] == keys[21:51]
        assert [record.key for record in salted.scan(ALL, after=keys[20], reverse=True)] == keys[:20][::-1]

    def test_every_row_of_a_small_file_needs_no_permission(self, tmp_path):
        with KeyedTable.open(tmp_path / "small.db", USER_APP, create=True) as apps:
            apps.put({"user": 1, "app": 1}, {"d:x": b"1"})

            assert [record.values for record in apps.scan()] == [{"user": 1, "app": 1}]

    @pytest.mark.usefixtures("large_store")
    def test_a_scan_with_a_limit_needs_no_permission(self, salted):
        assert len(list(salted.scan(limit=3))) == 3

    @pytest.mark.usefixtures("large_store")
    @pytest.mark.parametrize("question", [{"user": between()}, {"user": between(), "app": between()}, {}])
    def test_open_conditions_are_a_full_scan_too(self, shared_apps, question):
        with pytest.raises(FullScanNeeded):
            shared_apps.scan(**question)

    @pytest.mark.usefixtures("large_store")
    def test_an_open_beginning_is_a_full_scan_too(self, table):
        readings = table(LATEST_FIRST)

        with pytest.raises(FullScanNeeded, match="sensor"):
            readings.scan(sensor=starting_with(""))

    @pytest.mark.parametrize(
        ("question", "error"),
        [
            ({"app": 1}, NoRange),
            ({"user": between(1, 2), "app": 1}, NoRange),
            ({"user": starting_with("1")}, NoRange),
            ({"user": between(2, 1)}, FieldError),
            ({"user": "x"}, FieldError),
            ({"colour": 1}, UnknownField),
            ({"user": 1, "limit": -1}, InvalidArgument),
            ({"user": 1, "limit": "x"}, InvalidArgument),
            ({"user": 1, "after": ""}, InvalidArgument),
            ({"user": 1, "after": b""}, InvalidArgument),
            ({"user": 1, "columns": "d:x"}, InvalidArgument),
            ({"user": 1, "columns": ["x"]}, InvalidArgument),
        ],
    )
    def test_a_question_that_cannot_be_answered_is_an_error_of_the_call(self, shared_apps, question, error):
        with pytest.raises(error):
            shared_apps.scan(**question)

    def test_a_family_that_is_not_there_is_an_error_of_the_reading(self, shared_apps):
        records = shared_apps.scan(user=1, columns=["e:x"])

        with pytest.raises(UnknownColumn, match="there is no family 'e'; the table has d"):
            list(records)

    def test_an_empty_table_has_no_rows(self, table):
        log = table(SALTED_TIME)

        assert list(log.scan(time=between(NOON))) == []
        assert list(log.scan(time=between(NOON), reverse=True)) == []
        assert list(log.scan(ALL)) == []
        assert log.latest() is None
        assert log.get(time=NOON, id="x") is None
        assert log.delete(time=NOON, id="x") is False

    def test_a_row_that_has_no_such_key_is_left_out_and_told_of(self, table):
        apps = table(USER_APP)
        apps.put({"user": 1, "app": 2}, {"d:x": b"1"})
        apps.store.write(apps.table, [Put(b"alien", [NewCell(b"d:x", 1, b"1")])])

        found = apps.scan(ALL)

        assert [record.values for record in found] == [{"user": 1, "app": 2}]
        assert [error.row for error in found.damaged] == [b"alien"]
        assert apps.metrics.damaged == 1

    def test_a_domain_with_its_subtree_is_found_below_every_salt(self, table):
        pages = table(WEB_KEY)
        hosts = ["example.com", "a.example.com", "example.org", "b.a.example.com", "c.example.com"]
        pages.put_many(({"host": host, "rest": "x"}, {"d:x": b"1"}) for host in hosts)

        found = [record.values["host"] for record in pages.scan(host=below("example.com"))]
        backwards = [record.values["host"] for record in pages.scan(host=below("example.com"), reverse=True)]

        # By the bytes of `com.example.a.b/`, `com.example.a/`, …: what is below a host stands in front of it.
        assert found == ["b.a.example.com", "a.example.com", "c.example.com", "example.com"]
        assert backwards == found[::-1]


class TestRandomSalts:
    def test_a_row_is_found_in_whichever_bucket_it_is(self, table):
        log = table(SPREAD_LOG)
        log.put_many(({"time": minutes(at), "id": "x"}, {"d:x": b"%d" % at}) for at in range(40))

        assert len({record.key[:2] for record in log.scan(ALL)}) == 4
        assert [log.get(time=minutes(at), id="x").cells["d:x"] for at in range(40)] == [b"%d" % at for at in range(40)]
        assert [record.values["time"] for record in log.scan(time=between(minutes(10), minutes(30)))] == [
            minutes(at) for at in range(10, 30)
        ]
        assert log.latest().values["time"] == minutes(39)

    @pytest.mark.parametrize("newest", [0, 1, 2, 3])
    def test_of_a_row_that_is_there_several_times_the_newest_is_found_and_all_are_deleted(self, table, newest):
        log = table(CompositeKey(RoundRobinSalt(4), Timestamp("time")))
        ages = [(place - newest) % 4 for place in range(4)]

        for age in ages:
            log.put({"time": NOON}, {"d:age": b"%d" % age}, timestamp=minutes(60 - age))

        assert log.get(time=NOON).cells == {"d:age": b"0"}
        assert log.latest().cells == {"d:age": b"0"}
        assert [record.key[0] for record in log.scan(time=between(NOON))] == [0, 1, 2, 3]
        assert log.delete(time=NOON) is True
        assert log.get(time=NOON) is None
        assert list(log.scan(ALL)) == []

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_scan_goes_on_between_rows_that_differ_in_their_salt_only(self, table, reverse):
        log = table(CompositeKey(RoundRobinSalt(4), Timestamp("time")))
        log.put_many(({"time": minutes(at)}, {"d:x": b"1"}) for at in (1, 2, 3) for _ in range(4))
        question = {"time": between(NOON), "reverse": reverse}
        in_one_go = [record.key for record in log.scan(**question)]

        one_by_one, after = [], None
        while piece := list(log.scan(**question, limit=1, after=after)):
            after = piece[0].key
            one_by_one.append(after)

        assert len(in_one_go) == 12
        assert one_by_one == in_one_go

    def test_salts_that_are_not_visited_one_by_one_leave_the_order_of_the_rows(self, table):
        log = table(CompositeKey(HashSalt(of="id", buckets=2), Hash(of="owner", first=8), RandomSalt(4), UInt("id")))
        log.put_many(({"owner": "me", "id": number}, {"d:x": b"1"}) for number in range(40))

        keys = [record.key for record in log.scan(owner="me")]

        assert keys == sorted(keys)
        assert len(keys) == 40
        assert [record.key for record in log.scan(owner="me", after=keys[17])] == keys[18:]


class TestHashedKeys:
    def test_a_row_is_found_by_all_its_values_and_keeps_them(self, table):
        pages = table(HASHED)
        pages.put({"url": "https://example.com/"}, {"d:x": b"1"})

        record = pages.get(url="https://example.com/")

        assert record.cells == {"d:x": b"1"}
        assert record.values == {"url": "https://example.com/"}
        assert pages.get(url="https://example.org/") is None
        assert pages.delete(url="https://example.com/") is True

    @pytest.mark.usefixtures("large_store")
    def test_there_are_no_ranges_and_a_full_scan_has_no_values(self, table):
        pages = table(HASHED)
        pages.put({"url": "https://example.com/"}, {"d:x": b"1"})

        with pytest.raises(NoRange, match="hash"):
            pages.scan(url=starting_with("https://example.com"))
        with pytest.raises(NoRange, match="ReverseTimestamp"):
            pages.latest()
        with pytest.raises(FullScanNeeded):
            pages.scan()
        (record,) = pages.scan(ALL)
        assert (record.values, record.key) == ({}, HASHED.encode(url="https://example.com/"))


def test_records_are_found_through_a_store_that_is_open_already(open_store: Callable[[], Store], new_table):
    name = new_table(FamilySchema("f"))
    with KeyedTable(open_store(), name, SALTED_BY_ID) as letters:
        letters.put_many(({"id": f"{letter}{number}"}, {"f:x": b"1"}) for letter in "ab" for number in range(3))

        assert [record.values["id"] for record in letters.scan(id=starting_with("b"))] == ["b0", "b1", "b2"]
        assert letters.name.endswith(name)
        assert "CompositeKey" in repr(letters)


def test_a_moment_that_a_day_stands_for_in_front_is_still_asked_to_the_second(table):
    by_day = CompositeKey(Date("time"), Text("sensor", terminator=b"\0"), Timestamp("time", "s"))
    days = table(by_day)
    hours = [datetime(2026, 1, day, hour, tzinfo=UTC) for day in (1, 2) for hour in (6, 12, 18)]
    for hour in hours:
        days.put({"time": hour, "sensor": "a"}, {"d:v": b"1"})

    asked = between(hours[1], hours[4])

    assert [record.values["time"] for record in days.scan(time=asked)] == hours[1:4]
    assert [record.values["time"] for record in days.scan(time=asked, limit=2, reverse=True)] == hours[3:1:-1]
    assert [record.values["time"] for record in days.scan(time=hours[2])] == [hours[2]]


@pytest.fixture
def clock(monkeypatch):
    """The clock of a table, and of the machine: `clock.moment` is what it says."""

    class Frozen(clocks.Clock):
        moment = 1_000_000

    monkeypatch.setattr(clocks, "now_in_milliseconds", lambda: Frozen.moment)
    yield Frozen()
    Frozen.moment = 1_000_000


def test_rows_of_one_millisecond_take_a_time_that_grows_with_their_number(clock):
    began = time.process_time()

    for number in range(40_000):
        clock.now(b"%d" % number)

    # Where each row looks at all others it is minutes.
    assert time.process_time() - began < 10


def test_a_clock_remembers_so_many_rows_and_no_more(clock):
    tracemalloc.start()

    for number in range(60_000):
        clock.now(b"a row key of some length %d" % number)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held < 4 * 2**20


def test_the_timestamps_of_a_row_grow_also_where_it_was_forgotten_and_the_clock_is_set_back(clock):
    given = []

    for back in (0, 100, 3_600_000, 0):
        given += [clock.now(b"row"), clock.now(b"row")]
        type(clock).moment += 10
        for number in range(12_000):
            clock.now(b"%d other %d" % (number, back))
        type(clock).moment -= back
        given.append(clock.now(b"row"))

    assert given == sorted(set(given))
    assert given[-1] < 1_000_000 + 100


def test_of_two_puts_in_one_millisecond_the_later_one_is_found_below_whichever_salt_it_is(table):
    spread = table(CompositeKey(RandomSalt(4), UInt("id")))
    for number in range(40):
        spread.put({"id": number}, {"d:v": b"old"})
        spread.put({"id": number}, {"d:v": b"new"})

    assert {spread.get(id=number).cells["d:v"] for number in range(40)} == {b"new"}


def test_what_is_no_pair_of_values_and_cells_is_refused(table):
    spread = table(CompositeKey(UInt("id")))

    with pytest.raises(InvalidArgument, match="pair of values and cells"):
        spread.put_many([({"id": 1},)])

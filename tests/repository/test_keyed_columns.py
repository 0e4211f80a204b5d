"""Keyed tables as whole tables: typed columns, conditions on them, frames, outcomes, versions, counters, copies."""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from store_differences import differs, on_every_store, with_thrift1
from webtable import ALL, KeyedTable
from webtable.errors import (
    CapabilityError,
    DamagedRow,
    ExpiredCapture,
    FieldError,
    FullScanNeeded,
    HiddenByDelete,
    InvalidArgument,
    InvalidToken,
    LayoutMismatch,
    StoreRefused,
    StoreUnavailable,
    UnknownColumn,
    WriteFailed,
)
from webtable.formats import read_records, write
from webtable.records import RecordOutcome, RecordVersion, TypedColumn, layout_of
from webtable.rowkey import (
    Bytes,
    CompositeKey,
    Date,
    HashedKey,
    HashSalt,
    RandomSalt,
    Text,
    Timestamp,
    UInt,
    below,
    between,
    starting_with,
)
from webtable.schema import FamilySchema
from webtable.store import NewCell, Put

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROOM = CompositeKey(Text("room", terminator=b"\0"), UInt("number", 4))
CHAT = [
    TypedColumn("text", "text"),
    TypedColumn("size", "int"),
    TypedColumn("score", "float"),
    TypedColumn("sent", "time"),
    TypedColumn("data", "json"),
    TypedColumn("raw", "bytes", "b"),
]
MESSAGE = {
    "text": "Grüße",
    "size": -3,
    "score": 0.5,
    "sent": NOON + timedelta(milliseconds=7),
    "data": {"tags": ["a", None, 1.5]},
    "raw": b"\xff\x00",
}


@pytest.fixture
def table(new_url) -> Iterator[Callable[..., KeyedTable]]:
    """Make a new table with a key."""
    tables: list[KeyedTable] = []

    def make(key=ROOM, **options) -> KeyedTable:
        tables.append(KeyedTable.open(new_url(), key, create=True, **options))
        return tables[-1]

    yield make
    for made in tables:
        made.close()


@pytest.fixture
def chat(table) -> KeyedTable:
    return table(columns=CHAT, families=("d", "b"))


def row(number: int = 1, room: str = "r") -> dict:
    return {"room": room, "number": number}


def filled(chat: KeyedTable, rows: int = 6) -> KeyedTable:
    chat.put_many((row(number), {"text": f"t{number}", "size": number % 3}) for number in range(rows))
    return chat


def numbers(records) -> list[int]:
    return [record.values["number"] for record in records]


class TestTypes:
    @on_every_store
    def test_values_of_every_type_come_back_and_are_stored_as_hbase_stores_them(self, chat):
        chat.put(row(), MESSAGE)

        assert chat.get(**row()).cells == MESSAGE
        assert [record.cells for record in chat.scan(room="r")] == [MESSAGE]
        (stored,) = chat.store.read(chat.table, [ROOM.encode(**row())])
        assert {name: cells[0].value for name, cells in stored.cells.items()} == {
            b"d:text": "Grüße".encode(),
            b"d:size": b"\xff" * 7 + b"\xfd",
            b"d:score": struct.pack(">d", 0.5),
            b"d:sent": struct.pack(">q", 1772366400007),
            b"d:data": b'{"tags":["a",null,1.5]}',
            b"b:raw": b"\xff\x00",
        }

    @pytest.mark.parametrize(
        "cells",
        [
            {"text": b"x"},
            {"text": "\ud800"},
            {"size": 2**63},
            {"size": -(2**63) - 1},
            {"size": 1.0},
            {"size": True},
            {"size": "1"},
            {"score": "1"},
            {"score": 10**400},
            {"sent": datetime(2026, 1, 1)},
            {"sent": "2026-01-01T00:00Z"},
            {"data": object()},
            {"raw": "x"},
            {"size": None},
            {"d:size": b"12"},
            {"d:size": 3},
            {"size": 1, "d:size": bytes(8)},
            {"sise": 3},
        ],
    )
    def test_a_value_of_another_type_is_refused_before_anything_is_written(self, chat, cells, monkeypatch):
        monkeypatch.setattr(chat.store, "write", lambda *_: pytest.fail("something was written"))

        with pytest.raises(InvalidArgument, match=next(iter(cells)).partition(":")[2] or next(iter(cells))):
            chat.put(row(), cells)

    @pytest.mark.parametrize("size", [-(2**63), 2**63 - 1, 0])
    def test_the_limits_of_an_int_are_kept(self, chat, size):
        chat.put(row(), {"size": size})

        assert chat.get(**row()).cells == {"size": size}

    def test_untyped_cells_stand_beside_typed_ones_and_bytes_of_a_typed_cell_are_its_value(self, chat):
        chat.put(row(), {"size": 1, "b:other": b"o"})
        chat.put(row(), {"d:text": "é".encode()})

        assert chat.get(**row()).cells == {"size": 1, "b:other": b"o", "text": "é"}

    def test_a_cell_that_is_no_such_value_is_a_damaged_row_with_the_name_of_its_column(self, chat):
        filled(chat, 2)
        chat.store.write(chat.table, [Put(ROOM.encode(**row(9)), [NewCell(b"d:size", 1, b"12")])])

        records = chat.scan(room="r")

        assert numbers(records) == [0, 1]
        assert [damage.row for damage in records.damaged] == [ROOM.encode(**row(9))]
        assert "the cell of column 'size' is no int" in str(records.damaged[0])
        with pytest.raises(DamagedRow, match="size"):
            chat.get(**row(9))


class TestDeclaration:
    @with_thrift1
    def test_another_process_knows_the_columns_without_naming_them(self, new_url):
        url = new_url()
        with KeyedTable.open(url, ROOM, columns=CHAT, families=("d", "b"), create=True) as chat:
            chat.put(row(), MESSAGE)

        with KeyedTable.open(url, ROOM) as chat:
            assert chat.get(**row()).cells == MESSAGE
            assert [str(column) for column in chat.columns] == [
                "data: json in d",
                "raw: bytes in b",
                "score: float in d",
                "sent: time in d",
                "size: int in d",
                "text: text in d",
            ]
            layout = layout_of(chat.store, chat.table)
            assert layout is not None
            assert layout.columns == chat.columns
        with KeyedTable.open(url, ROOM, columns=CHAT[:2]) as chat:
            assert len(chat.columns) == 6

    def test_columns_are_added_to_a_table_and_what_is_stored_already_is_read_by_them(self, new_url):
        url = new_url()
        with KeyedTable.open(url, ROOM, create=True) as chat:
            chat.put(row(), {"d:size": (5).to_bytes(8, "big")})
        with pytest.raises(LayoutMismatch, match=r"has no column size: int.* create=True\) adds it"):
            KeyedTable.open(url, ROOM, columns=CHAT[1:2])

        for _ in range(2):
            KeyedTable.open(url, ROOM, columns=CHAT[1:2], create=True).close()
        KeyedTable.open(url, ROOM, columns=CHAT[:1], create=True).close()

        with KeyedTable.open(url, ROOM) as chat:
            assert [column.name for column in chat.columns] == ["size", "text"]
            assert chat.get(**row()).cells == {"size": 5}

    @pytest.mark.parametrize("create", [False, True])
    @pytest.mark.parametrize("column", [TypedColumn("size", "text"), TypedColumn("size", "int", "b")])
    def test_another_type_or_family_of_a_column_is_an_error_that_shows_both(self, new_url, column, create):
        url, families = new_url(), ("d", "b")
        KeyedTable.open(url, ROOM, columns=CHAT, families=families, create=True).close()

        with pytest.raises(LayoutMismatch, match=f"the table has size: int in d, this call has {column}"):
            KeyedTable.open(url, ROOM, columns=[column], families=families, create=create)

    @pytest.mark.parametrize(
        ("columns", "reason"),
        [
            ([TypedColumn("room", "text")], "a field of the key"),
            ([TypedColumn("a", "text"), TypedColumn("a", "int")], "given twice"),
            ([TypedColumn("a", "text", "x")], "the families of the table are d"),
            (["a"], "a list of typed columns"),
            ("size", "a list of typed columns"),
            (TypedColumn("a", "text"), "a list of typed columns"),
        ],
    )
    def test_impossible_columns_are_refused_and_nothing_is_created(self, tmp_path, columns, reason):
        with pytest.raises(InvalidArgument, match=reason):
            KeyedTable.open(tmp_path / "t.db", ROOM, columns=columns, create=True)

        assert not (tmp_path / "t.db").exists()

    @pytest.mark.parametrize("arguments", [("key", "int"), ("a b", "int"), ("a", "integer"), ("a", "int", "x:y")])
    def test_an_impossible_column_is_refused(self, arguments):
        with pytest.raises(InvalidArgument):
            TypedColumn(*arguments)

    def test_a_column_of_a_later_version_is_an_error(self, new_url):
        url = new_url()
        with KeyedTable.open(url, ROOM, columns=CHAT[:1], create=True) as chat:
            meta = f"{chat.table}_meta"
            cells = [NewCell(b"layout:column.size", 2**62, b'{"name":"size","type":"decimal","crc32":"K`HJichH"}')]
            chat.store.write(meta, [Put(b"layout", cells)])

        with pytest.raises(LayoutMismatch, match="does not know a stored column"):
            KeyedTable.open(url, ROOM)

    def test_a_table_of_another_program_is_read_with_columns_that_are_not_stored(self, table):
        theirs = table()
        theirs.put(row(), {"d:size": bytes(8)})

        ours = KeyedTable(theirs.store, theirs.table, ROOM, columns=[TypedColumn("size", "int", "d")])

        assert ours.get(**row()).cells == {"size": 0}
        with pytest.raises(InvalidArgument, match="family= is needed"):
            KeyedTable(theirs.store, theirs.table, ROOM, columns=CHAT)


class TestConditions:
    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"size": 2}, [2, 5]),
            ({"size": between(1)}, [1, 2, 4, 5]),
            ({"size": between(1, 2)}, [1, 4]),
            ({"size": between(until=1), "text": "t3"}, [3]),
            ({"text": starting_with("t")}, [0, 1, 2, 3, 4, 5]),
            ({"text": starting_with("x")}, []),
            ({"score": 1.0}, []),
        ],
    )
    def test_only_rows_whose_columns_meet_the_conditions_come(self, chat, where, expected):
        filled(chat)

        assert numbers(chat.scan(room="r", where=where)) == expected
        assert numbers(chat.scan(room="r", where=where, reverse=True, limit=2)) == expected[::-1][:2]
        assert chat.count(room="r", where=where) == len(expected)
        assert sorted(
            numbers(record for part in chat.scan(ALL, where=where).partitions(3) for record in part.pages())
        ) == sorted(expected)

    def test_times_json_and_bytes_are_compared_as_they_are_stored(self, chat):
        chat.put(row(), MESSAGE)

        for where in (
            {"sent": NOON + timedelta(milliseconds=7, microseconds=999)},
            {"sent": between(NOON, NOON + timedelta(seconds=1))},
            {"data": {"tags": ["a", None, 1.5]}},
            {"raw": starting_with(b"\xff")},
        ):
            assert numbers(chat.scan(room="r", where=where)) == [1]

    @pytest.mark.parametrize(
        ("where", "error"),
        [
            ({"colour": 1}, UnknownColumn),
            ({"size": "x"}, InvalidArgument),
            ({"size": between("x")}, InvalidArgument),
            ({"size": starting_with("1")}, InvalidArgument),
            ({"text": starting_with(b"1")}, InvalidArgument),
            ({"text": below("example.com")}, InvalidArgument),
            ({"data": between(1)}, InvalidArgument),
            ("size", InvalidArgument),
        ],
    )
    def test_an_impossible_condition_is_an_error_of_the_call(self, chat, where, error):
        with pytest.raises(error):
            chat.scan(room="r", where=where)

    def test_columns_of_conditions_are_read_beside_those_that_are_named(self, chat):
        filled(chat)

        (record, _) = chat.scan(room="r", columns=["text"], where={"size": 1})

        assert record.cells == {"text": "t1", "size": 1}
        assert chat.scan(room="r", columns=["d:"], limit=1).first().cells == {"text": "t0", "size": 0}
        with pytest.raises(UnknownColumn, match="the table has text, size, score"):
            KeyedTable(chat.store, chat.table, ROOM, columns=[c.in_family("d") for c in CHAT]).scan(columns=["no"])


class TestTokens:
    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("key", [ROOM, CompositeKey(HashSalt(of="number", buckets=4), UInt("number", 4))])
    def test_pages_of_a_scan_go_on_by_tokens_in_both_directions(self, table, key, reverse):
        chat = table(key, columns=CHAT[:2])
        fields = row if "room" in key.names else lambda number: {"number": number}
        chat.put_many((fields(number), {"size": number}) for number in range(10))
        question = {"reverse": reverse} | ({"room": "r"} if "room" in key.names else {"number": between(0)})

        given, token = [], None
        while True:
            page = chat.scan(**question, after=token).page(4)
            given += numbers(page)
            token = page.next_token
            if token is None:
                break

        assert given == sorted(range(10), reverse=reverse)

    def test_a_token_of_another_scan_or_a_damaged_one_is_refused(self, chat):
        token = filled(chat).scan(room="r").page(2).next_token

        for question in ({"room": "s"}, {"room": "r", "reverse": True}, {"room": "r", "where": {"size": 1}}):
            with pytest.raises(InvalidToken):
                chat.scan(**question, after=token)
        with pytest.raises(InvalidToken):
            chat.scan(room="r", after=token[:-1])


class TestCount:
    @with_thrift1
    def test_rows_are_counted_without_their_values(self, table):
        chat = filled(table(columns=CHAT[:2]))
        chat.put(row(1, "s"), {"text": "x"})
        chat.store.write(chat.table, [Put(b"alien", [NewCell(b"d:x", 1, b"1")])])

        assert chat.count(ALL) == 7
        assert chat.count(room="r") == 6
        assert chat.count(room="r", number=between(2, 4)) == 2
        assert chat.count(room="none") == 0
        assert chat.scan(ALL).count() == 7
        assert table(HashedKey(CompositeKey(Text("url")))).count(ALL) == 0

    def test_conditions_that_ranges_are_wider_than_are_counted_exactly(self, table):
        key = CompositeKey(Date("time"), Text("id", terminator=b"\0"), Timestamp("time"))
        log = table(key)
        log.put_many(({"time": NOON + timedelta(hours=hour), "id": "x"}, {"d:x": b"1"}) for hour in range(-3, 3))

        assert log.count(time=between(NOON, NOON + timedelta(hours=2))) == 2

    @pytest.mark.usefixtures("large_store")
    def test_a_limit_is_no_permission_to_read_a_large_table_for_a_condition_on_columns(self, chat):
        filled(chat)

        with pytest.raises(FullScanNeeded):
            chat.scan(where={"size": 7}, limit=1)

        assert numbers(chat.scan(ALL, where={"size": 2}, limit=1)) == [2]

    @pytest.mark.usefixtures("large_store")
    def test_to_count_a_large_table_needs_a_permission(self, chat):
        with pytest.raises(FullScanNeeded):
            chat.count()


class TestFrames:
    def test_a_frame_has_the_fields_of_the_key_and_the_typed_columns(self, chat):
        pandas = pytest.importorskip("pandas")
        filled(chat, 2)
        chat.put(row(2), {**MESSAGE, "d:other": b"o"}, timestamp=NOON)

        frame = chat.scan(room="r").to_pandas()

        names = ["room", "number", "data", "raw", "score", "sent", "size", "text", "timestamp", "cells"]
        assert list(frame.columns) == names
        assert frame["number"].tolist() == [0, 1, 2]
        assert frame["size"].tolist() == [0, 1, -3]
        assert str(frame["size"].dtype) == "Int64"
        assert frame["sent"].tolist()[2] == pandas.Timestamp(MESSAGE["sent"])
        assert frame["data"].tolist()[2] == '{"tags":["a",null,1.5]}'
        assert frame["cells"].tolist() == [[], [], [("d:other", b"o")]]
        assert chat.scan(room="r").to_polars(["number", "text"]).rows() == [(0, "t0"), (1, "t1"), (2, "Grüße")]
        assert chat.scan(room="r", columns=["text"]).to_dicts(["text"])[0] == {"text": "t0"}
        with pytest.raises(UnknownColumn, match="size"):
            chat.scan(room="r", columns=["text"]).to_arrow(["size"])

    def test_fields_of_every_kind_have_a_type(self, table):
        key = CompositeKey(Bytes("raw", size=2), Date("day"), Timestamp("at"), Text("timestamp"))
        log = table(key)
        log.put({"raw": b"ab", "day": date(2026, 3, 1), "at": NOON, "timestamp": "t"}, {"d:x": b"1"}, timestamp=NOON)

        schema = log.scan(ALL).to_arrow().schema
        assert [(field.name, str(field.type)) for field in schema][:4] == [
            ("raw", "binary"),
            ("day", "string"),
            ("at", "timestamp[us, tz=UTC]"),
            ("values.timestamp", "string"),
        ]
        (line,) = log.scan(ALL).to_dicts()
        assert (line["day"], line["values.timestamp"], line["timestamp"]) == ("2026-03-01", "t", NOON)

    def test_columns_may_have_the_names_of_those_of_pages(self, table, tmp_path, monkeypatch):
        parquet = pytest.importorskip("pyarrow.parquet")
        monkeypatch.setattr("webtable.repository.answers.arrow.GROUP_ROWS", 2)
        monkeypatch.setattr("webtable.repository.answers.arrow.BATCH_ROWS", 2)
        columns = [TypedColumn("url", "text"), TypedColumn("body", "bytes"), TypedColumn("title", "int")]
        source, target = (table(columns=columns) for _ in range(2))
        source.put_many((row(number), {"body": b"\xff" if number else b"text"}) for number in range(5))
        source.put(row(5), {"url": "b", "title": 1})

        assert source.scan(ALL).to_parquet(tmp_path / "t.parquet") == 6
        write(source.scan(ALL), tmp_path / "t.jsonl")

        assert target.put_many(read_records(tmp_path / "t.jsonl", target)) == 6
        assert list(target.scan(ALL)) == list(source.scan(ALL))
        assert parquet.read_table(tmp_path / "t.parquet")["body"].to_pylist() == [b"text", *[b"\xff"] * 4, None]

    def test_batches_of_records_are_bounded_by_the_bytes_of_their_cells(self, chat, monkeypatch):
        monkeypatch.setattr("webtable.repository.answers.arrow.BATCH_BYTES", 1_000)
        chat.put_many((row(number), {"text": "x" * 400}) for number in range(9))

        assert [batch.num_rows for batch in chat.scan(ALL).to_arrow()] == [3, 3, 3]

    def test_a_qualifier_that_is_not_text_is_escaped_in_frames_and_files(self, chat):
        chat.store.write(chat.table, [Put(ROOM.encode(**row()), [NewCell(b"d:\xff", 1, b"x")])])

        (line,) = chat.scan(ALL).to_dicts(["cells"])
        assert line == {"cells": {"d:\\xff": b"x"}}
        assert chat.scan(ALL).to_arrow(["cells"]).read_all().to_pylist() == [{"cells": [("d:\\xff", b"x")]}]

    @pytest.mark.parametrize("form", ["dicts", "pandas", "polars", "arrow", "scan"])
    def test_what_a_frame_has_is_put_as_it_was(self, table, chat, form):
        chat.put(row(2), {**MESSAGE, "d:other": b"o"}, timestamp=NOON)
        chat.put(row(3), {"text": "t"}, timestamp=NOON + timedelta(hours=1))
        scan = chat.scan(ALL)
        target = table(columns=CHAT, families=("d", "b"))

        rows = scan if form == "scan" else getattr(scan, f"to_{form}")()
        assert target.put_many(rows) == 2

        assert list(target.scan(ALL)) == list(scan)


class TestOutcomes:
    def test_each_row_has_its_outcome_also_one_that_the_table_cannot_keep(self, chat, monkeypatch):
        write = chat.store.write

        def refuse_the_second(name, mutations):
            return [StoreRefused("bad") if place == 1 else error for place, error in enumerate(write(name, mutations))]

        monkeypatch.setattr(chat.store, "write", refuse_the_second)
        outcomes: list[RecordOutcome] = []
        rows = [(row(1), {"size": 1}), (row(-1), {"size": 1}), (row(2), {"size": 1}), (row(3), {"size": "x"}), "odd"]

        assert chat.put_many([*rows, {"room": "r", "number": 5, "size": 5}], on_outcome=outcomes.append) == 2

        assert [(outcome.values.get("number"), type(outcome.error)) for outcome in outcomes] == [
            (-1, FieldError),
            (3, InvalidArgument),
            (None, InvalidArgument),
            (1, type(None)),
            (2, StoreRefused),
            (5, type(None)),
        ]

    def test_a_writer_stores_what_was_put_also_after_an_exception(self, chat):
        def interrupted():
            with chat.writer() as writer:
                writer.put(row(1), {"size": 1})
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()

        assert chat.get(**row(1)).cells == {"size": 1}

    def test_rows_of_a_writer_that_is_left_open_are_lost_with_a_warning(self, chat):
        writer = chat.writer()
        writer.put(row(1), {"size": 1})

        with pytest.warns(ResourceWarning, match="left open, and 1 of its rows are not stored"):
            del writer

        assert chat.get(**row(1)) is None

    def test_a_forked_child_has_no_rows_of_the_writer_of_its_parent(self, chat):
        writer = chat.writer()
        writer.put(row(1), {"size": 1})

        writer.after_fork()
        writer.flush()

        assert chat.get(**row(1)) is None

    def test_a_writer_raises_for_a_row_and_goes_on(self, chat):
        with chat.writer() as writer:
            with pytest.raises(FieldError):
                writer.put(row(-1), {"size": 1})
            writer.put(row(2), {"size": 1}, timestamp=NOON)
            assert writer.stored == 0
            writer.flush()
            assert (writer.stored, writer.failed) == (1, 0)
            assert chat.get(**row(2)).timestamp == NOON

    def test_rows_have_timestamps_of_their_own(self, chat):
        chat.delete(**row(1))
        chat.put(row(1), {"size": 1})
        chat.delete(**row(1))
        outcomes: list[RecordOutcome] = []

        rows = [(row(1), {"size": 1}, NOON), (row(2), {"size": 1}, NOON), (row(3), {"size": 1})]
        stored = chat.put_many(rows, timestamp=NOON + timedelta(hours=1), on_outcome=outcomes.append)

        assert stored == 2
        assert [type(outcome.error) for outcome in outcomes] == [HiddenByDelete, type(None), type(None)]
        assert [chat.get(**row(number)).timestamp.hour for number in (2, 3)] == [12, 13]


class TestVersions:
    def test_a_family_keeps_its_versions_and_they_are_read_newest_first(self, table):
        chat = table(columns=CHAT[:2], families=[FamilySchema("d", versions=2)])
        for hour in range(3):
            chat.put(row(), {"size": hour}, timestamp=NOON + timedelta(hours=hour))

        assert chat.history("size", **row()) == [
            RecordVersion(NOON + timedelta(hours=2), 2),
            RecordVersion(NOON + timedelta(hours=1), 1),
        ]
        assert chat.history("d:text", **row()) == []
        assert [version.value for version in chat.history("size", limit=1, **row())] == [2]
        for arguments in ({"limit": 0}, {"column": "no"}, {"column": "e:x"}):
            with pytest.raises(InvalidArgument):
                chat.history(arguments.pop("column", "size"), **arguments, **row())

    def test_the_limits_of_a_family_are_changed(self, table, adapter):
        chat = table(columns=CHAT[:2])
        family = FamilySchema("d", versions=1, ttl=3600)
        if differs(adapter, "no change of a family"):
            with pytest.raises(CapabilityError):
                chat.set_family(family)
            return
        chat.put(row(), {"size": 1}, timestamp=datetime.now(UTC) - timedelta(minutes=2))

        chat.set_family(family)

        with pytest.raises(ExpiredCapture):
            chat.put(row(2), {"size": 1}, timestamp=datetime.now(UTC) - timedelta(hours=2))
        assert chat.count(ALL) == 1
        assert chat.store.describe(chat.table).schema.families == (family,)


ADDING = """
import sys
from webtable import KeyedTable
from webtable.rowkey import CompositeKey, Text, UInt
key = CompositeKey(Text("room", terminator=b"\\0"), UInt("number", 4))
with KeyedTable.open(sys.argv[1], key) as chat:
    for _ in range(50):
        chat.increment({"room": "r", "number": 1}, "size", 2)
"""


class TestAtOnce:
    @on_every_store
    def test_a_cell_is_put_only_if_a_column_has_the_expected_value(self, table, adapter):
        chat = table(columns=CHAT[:2])
        if differs(adapter, "no check and put"):
            with pytest.raises(CapabilityError):
                chat.check_and_put(row(), {"size": 1}, column="size", expected=None)
            return

        assert chat.check_and_put(row(), {"size": 1, "text": "a"}, column="size", expected=None) is True
        assert chat.check_and_put(row(), {"size": 9}, column="size", expected=None) is False
        assert chat.check_and_put(row(), {"size": 9}, column="size", expected=2) is False
        assert chat.check_and_put(row(), {"d:x": b"y"}, column="size", expected=1) is True
        assert chat.check_and_put(row(), {"size": 2}, column="d:x", expected=b"y") is True
        assert chat.get(**row()).cells == {"size": 2, "text": "a", "d:x": b"y"}

    def test_a_value_that_is_dated_in_the_future_does_not_hide_the_new_one(self, table, adapter):
        if differs(adapter, "no check and put"):
            return
        chat = table(columns=CHAT[:2])
        chat.put(row(), {"size": 1}, timestamp=datetime.now(UTC) + timedelta(days=1))

        assert chat.increment(row(), "size", -5) == -4
        assert chat.get(**row()).cells == {"size": -4}

    def test_a_counter_begins_at_0_and_again_after_a_delete(self, table, adapter):
        if differs(adapter, "no check and put"):
            return
        chat = table(columns=CHAT[:2])

        assert [chat.increment(row(), "size", amount) for amount in (2, 3, 1)] == [2, 5, 6]
        chat.delete(**row())
        assert chat.increment(row(), "size") == 1
        with pytest.raises(InvalidArgument, match="2\\*\\*63"):
            chat.increment(row(), "size", 2**63 - 1)
        assert chat.get(**row()).cells == {"size": 1}

    def test_of_increments_by_threads_and_processes_each_is_added(self, tmp_path):
        url = tmp_path / "t.db"
        with KeyedTable.open(url, ROOM, columns=CHAT[:2], create=True) as chat:
            processes = [subprocess.Popen([sys.executable, "-c", ADDING, str(url)]) for _ in range(2)]
            threads = [
                threading.Thread(target=lambda: [chat.increment(row(), "size") for _ in range(50)]) for _ in range(3)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [process.wait() for process in processes] == [0, 0]

            assert chat.get(**row()).cells == {"size": 2 * 50 * 2 + 3 * 50}

    def test_a_counter_that_others_keep_changing_is_given_up_and_nothing_is_added(self, tmp_path, monkeypatch):
        with KeyedTable.open(tmp_path / "t.db", ROOM, columns=CHAT[:2], create=True) as chat:
            chat.put(row(), {"size": 7})
            calls = []
            monkeypatch.setattr(chat.store, "check_and_put", lambda *call: calls.append(call))

            with pytest.raises(StoreUnavailable, match="100 times meanwhile, and nothing was added"):
                chat.increment(row(), "size")

            assert len(calls) == 100
            assert chat.get(**row()).cells == {"size": 7}

    def test_what_cannot_be_compared_or_added_is_refused(self, chat, table):
        for column, amount, reason in (("text", 1, "only an int"), ("no", 1, "no typed column"), ("size", 1.5, "1.5")):
            with pytest.raises(InvalidArgument, match=reason):
                chat.increment(row(), column, amount)
        with pytest.raises(InvalidArgument, match="expected="):
            chat.check_and_put(row(), {"size": 1}, column="d:x", expected="text")
        spread = table(CompositeKey(RandomSalt(4), Text("id")), columns=CHAT[1:2])
        with pytest.raises(InvalidArgument, match="random salt"):
            spread.increment({"id": "x"}, "size")


class TestCopy:
    @with_thrift1
    def test_a_copy_has_all_versions_and_may_be_repeated(self, table, monkeypatch):
        monkeypatch.setattr("webtable.repository.keyed_table.table.BATCH_ROWS", 3)
        families = [FamilySchema("d", versions=5)]
        source, target = (table(columns=CHAT[:2], families=families) for _ in range(2))
        for hour in range(3):
            source.put(row(), {"size": hour}, timestamp=NOON + timedelta(hours=hour))
        filled(source, 8)
        target.put(row(100), {"size": 1})

        assert [source.copy(target) for _ in range(2)] == [8, 8]

        assert target.history("size", **row()) == source.history("size", **row())
        assert len(target.history("size", **row())) == 4
        assert list(target.scan(room="r", number=between(until=100))) == list(source.scan(ALL))
        assert target.count(ALL) == 9

    def test_a_target_with_other_columns_or_another_key_is_refused(self, chat, table):
        for target in (table(), table(CompositeKey(Text("room")), columns=CHAT, families=("d", "b"))):
            with pytest.raises(LayoutMismatch, match="has another key, or other columns"):
                chat.copy(target)

    def test_rows_that_the_target_refuses_are_named(self, chat, table, monkeypatch):
        filled(chat, 2)
        target = table(columns=CHAT, families=("d", "b"))
        monkeypatch.setattr(target.store, "write", lambda _, puts: [StoreRefused("full") for _ in puts])

        with pytest.raises(WriteFailed, match="2 rows not stored: key="):
            chat.copy(target)

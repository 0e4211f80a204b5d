"""Rows under a declared key, on the command line."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Run

from webtable.store import open_store

KEY = "keys_of_rows:READINGS"
DECLARED = """
from webtable.rowkey import Bytes, CompositeKey, Text, Timestamp, UInt

READINGS = CompositeKey(UInt("device", 4), Timestamp("time"))
NAMED = CompositeKey(Text("name"), separator=":")
"""
ROWS = [
    {"values": {"device": device, "time": f"2026-11-2{day}T10:00:00Z"}, "cells": {"d:celsius": f"{device}.{day}"}}
    for device in (7, 8)
    for day in range(3)
]


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("keys_of_rows.py").write_text(DECLARED)
    monkeypatch.setenv("WEBTABLE_STORE", "readings.db")


@pytest.fixture
def stored(run: Run) -> None:
    done = run("rows", "put", KEY, "-", "--create", stdin="\n".join(map(json.dumps, ROWS)))
    assert (done.code, done.out) == (0, "stored\t6\n")


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def without_place(row: dict) -> dict:
    return {"values": row["values"], "cells": row["cells"]}


@pytest.mark.usefixtures("stored")
def test_a_row_comes_back_as_it_was_put(run: Run):
    (row,) = lines(run("rows", "get", KEY, json.dumps(ROWS[1]["values"])).out)

    assert without_place(row) == ROWS[1]
    assert row.keys() == {"values", "cells", "key", "timestamp"}


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('{"device": 7}', ROWS[:3]),
        ('{"device": 8, "time": {"since": "2026-11-21T00:00Z"}}', ROWS[4:]),
        ('{"device": 8, "time": {"since": "2026-11-20T10:00Z", "until": "2026-11-21T10:00Z"}}', ROWS[3:4]),
        ('{"device": {"since": 8}}', ROWS[3:]),
    ],
)
def test_a_scan_takes_values_and_a_condition(run: Run, asked, found):
    assert [without_place(row) for row in lines(run("rows", "scan", KEY, asked).out)] == found


@pytest.mark.usefixtures("stored")
def test_a_scan_goes_on_where_its_limit_has_ended(run: Run):
    first = run("rows", "scan", KEY, "all", "--limit", "4")
    after = first.err.removeprefix("more: --after ").strip().strip("'")

    rest = run("rows", "scan", KEY, "all", "--limit", "4", "--after", after)

    assert [without_place(row) for row in lines(first.out + rest.out)] == ROWS
    assert rest.err == ""


@pytest.mark.usefixtures("stored")
def test_what_a_scan_writes_can_be_put(run: Run):
    written = run("rows", "scan", KEY, "all").raw

    done = run("-s", "copy.db", "rows", "put", KEY, "-", "--create", stdin=written)

    assert done.code == 0
    copied = lines(run("-s", "copy.db", "rows", "scan", KEY, "all").out)
    assert [without_place(row) for row in copied] == ROWS


def test_cells_that_are_no_text_and_prefixes_are_kept(run: Run):
    row = {"values": {"name": "a/b"}, "cells": {"d:raw": {"base64": "/wD/"}}}
    key = "keys_of_rows:NAMED"
    run("rows", "put", key, "-", "--create", stdin=json.dumps(row))

    found = lines(run("rows", "scan", key, '{"name": {"starting_with": "a/"}}').out)

    assert [without_place(one) for one in found] == [row]


@pytest.mark.usefixtures("stored")
def test_info_tells_how_the_keys_are_declared(run: Run):
    told = run("info").lines
    objects = lines(run("info", "--schema", "--format", "jsonl").out)

    assert ("layout.key\t" + next(one["key"] for one in objects if one["what"] == "layout")) in told
    by_kind = {one["what"]: one for one in objects}
    assert by_kind["layout"]["key"].startswith("CompositeKey(UInt(name='device', size=4)")
    assert list(by_kind) == ["table", "space", "layout", "family", "region"]
    assert by_kind["family"]["name"] == "d"


def test_a_table_that_is_not_there_is_made_by_a_put(run: Run):
    done = run("rows", "scan", KEY, "all")

    told = f"webtable: readings.db: no such table; `rows put {KEY} FILE --create` makes it\n"
    assert (done.code, done.err) == (3, told)


@pytest.mark.usefixtures("stored")
def test_a_row_that_is_not_there_is_told(run: Run):
    done = run("rows", "get", KEY, '{"device": 9, "time": "2026-11-20T10:00Z"}')

    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("not stored\n")
    assert run("rows", "scan", KEY, '{"device": 9}').err == "no rows\n"


WRONG = {
    "no JSON": (["get", KEY, "device=7"], 2, "VALUES is not a JSON object"),
    "a field that is none": (["scan", KEY, '{"colour": 1}'], 2, "colour"),
    "a condition that is none": (["scan", KEY, '{"device": {"from": 1}}'], 2, "must be since and until"),
    "a time that is none": (["scan", KEY, '{"device": 7, "time": "noon"}'], 2, "noon"),
    "no conditions": (["scan", KEY], 2, "ALL for every row"),
    "a key that is none": (["scan", "keys_of_rows:Text", "all"], 2, "MODULE:KEY 'keys_of_rows:Text'"),
    "another key": (["scan", "keys_of_rows:NAMED", "all"], 3, "READINGS"),
}


@pytest.mark.usefixtures("stored", "large_store")
@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_one_line(run: Run, case):
    arguments, code, told = WRONG[case]

    done = run("rows", *arguments)

    assert (done.code, len(done.errors)) == (code, 1), done.err
    assert told in done.err or code == 3


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{}", '"values" and "cells"'),
        ('{"values": {"device": 1}, "cells": {"d:a": 1}}', "cells['d:a'] must be a string"),
        ('{"values": {"device": 1}, "cells": {"d:a": {"base64": "?"}}}', "cells['d:a']"),
        ("[]", "not a JSON object"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_those_in_front_are_stored(run: Run, line, told):
    good = '{"values": {"device": 1, "time": "2026-11-20T10:00Z"}, "cells": {"d:a": "1"}}'

    done = run("rows", "put", KEY, "-", stdin=f"{good}\n{line}\n")

    assert done.code != 0
    assert "-, line 2" in done.err
    assert told in done.err
    assert run("rows", "get", KEY, '{"device": 1, "time": "2026-11-20T10:00Z"}').code == 0


@pytest.fixture
def on_hbase(hbase_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The store of the commands is a table of an HBase, which is not there yet."""
    name = f"rows_{uuid.uuid4().hex[:8]}"
    base, _, query = hbase_url.partition("?")
    monkeypatch.setenv("WEBTABLE_STORE", f"{base.rstrip('/')}/{name}?{query}")
    yield
    with open_store(hbase_url)[0] as tables:
        for table in tables.tables():
            if table.startswith(name):
                tables.drop_table(table)


@pytest.mark.hbase
@pytest.mark.usefixtures("on_hbase")
def test_rows_are_put_got_and_scanned_in_pieces_on_hbase(run: Run):
    stored = run("rows", "put", KEY, "-", "--create", stdin="\n".join(map(json.dumps, ROWS)))
    (got,) = lines(run("rows", "get", KEY, json.dumps(ROWS[1]["values"])).out)
    first = run("rows", "scan", KEY, "all", "--limit", "4")
    after = first.err.removeprefix("more: --after ").strip().strip("'")
    rest = run("rows", "scan", KEY, "all", "--limit", "4", "--after", after)

    assert stored.out == "stored\t6\n"
    assert without_place(got) == ROWS[1]
    assert [without_place(row) for row in lines(first.out + rest.out)] == ROWS


TYPED_ROWS = [
    {"values": {"device": 7, "time": f"2026-11-2{day}T10:00:00Z"}, "cells": {"celsius": 20.5 + day, "note": f"n{day}"}}
    for day in range(3)
]
TYPED = "celsius:float,note:text,seen:time,more:json,raw:bytes:b"


@pytest.fixture
def typed(run: Run) -> None:
    extra = {"seen": "2026-11-20T10:00:00.007000Z", "more": {"a": [1]}, "raw": {"base64": "/wD/"}, "d:x": "y"}
    rows = [*TYPED_ROWS[:2], {**TYPED_ROWS[2], "cells": TYPED_ROWS[2]["cells"] | extra}]
    stdin = "\n".join(map(json.dumps, rows))
    done = run("rows", "put", KEY, "-", "--create", "--families", "d,b", "--typed", TYPED, stdin=stdin)
    assert (done.code, done.out) == (0, "stored\t3\n"), done.err


@pytest.mark.usefixtures("typed")
def test_typed_cells_are_json_values_and_come_back(run: Run):
    rows = lines(run("rows", "scan", KEY, "all").out)

    assert [without_place(row) for row in rows[:2]] == TYPED_ROWS[:2]
    assert rows[2]["cells"]["seen"] == "2026-11-20T10:00:00.007000Z"
    assert rows[2]["cells"]["more"] == {"a": [1]}
    assert rows[2]["cells"]["raw"] == {"base64": "/wD/"}
    assert "layout.columns\t" in run("info").out


@pytest.mark.usefixtures("typed")
@pytest.mark.parametrize(
    ("where", "days"),
    [
        ('{"celsius": {"since": 21.5}}', [1, 2]),
        ('{"celsius": {"since": 21.5, "until": 22}, "note": {"starting_with": "n"}}', [1]),
        ('{"seen": {"since": "2026-11-20T10:00Z"}}', [2]),
        ('{"more": {"a": [1]}}', [2]),
        ('{"raw": {"base64": "/wD/"}}', [2]),
    ],
)
def test_rows_are_listed_and_counted_by_conditions_on_columns(run: Run, where, days):
    listed = lines(run("rows", "scan", KEY, "all", "--where", where).out)

    assert [row["values"]["time"] for row in listed] == [TYPED_ROWS[day]["values"]["time"] for day in days]
    assert run("rows", "count", KEY, "all", "--where", where).out == f"rows\t{len(days)}\n"


@pytest.mark.usefixtures("stored")
def test_rows_are_counted(run: Run):
    assert run("rows", "count", KEY, "all").out == "rows\t6\n"
    assert run("rows", "count", KEY, '{"device": 7, "time": {"since": "2026-11-21T00:00Z"}}').out == "rows\t2\n"


@pytest.mark.usefixtures("typed")
def test_an_export_is_imported_as_it_was_and_may_be_repeated(run: Run):
    written = run("rows", "scan", KEY, "all", "--out", "rows.jsonl")
    arguments = ("-s", "copy.db", "rows", "import", KEY, "rows.jsonl", "--create", "--families", "d,b")

    done = [run(*arguments, "--typed", TYPED) for _ in range(2)]

    assert written.err == "written: rows.jsonl, 3 rows\n"
    assert [(one.code, one.out) for one in done] == [(0, "stored\t3\n")] * 2
    assert run("-s", "copy.db", "rows", "scan", KEY, "all").out == run("rows", "scan", KEY, "all").out


@pytest.mark.usefixtures("typed")
def test_rows_are_written_in_the_formats_of_listings(run: Run):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = run("rows", "scan", KEY, "all", "--format", "csv", "--limit", "2")
    run("rows", "scan", KEY, "all", "--out", "rows.parquet", "--columns", "celsius")

    head, first, _ = table.lines
    assert head == "device,time,celsius,more,note,raw,seen,timestamp,cells"
    assert first.startswith("7,2026-11-20T10:00:00.000Z,20.5,,n0,,,20")
    assert table.err.startswith("more: --after '")
    assert parquet.read_table("rows.parquet")["celsius"].to_pylist() == [20.5, 21.5, 22.5]


WRONG_TYPED = {
    "a value of another type": (["put", KEY, "wrong.jsonl"], 2, "celsius='warm' must be a number"),
    "a line that is no row": (["import", KEY, "wrong.jsonl"], 1, "wrong.jsonl, line 2: it is no row of this table"),
    "a type that is none": (
        ["put", KEY, "rows.jsonl", "--create", "--typed", "a:integer"],
        2,
        "must be one of text, int",
    ),
    "a column without a type": (["put", KEY, "x", "--create", "--typed", "a"], 2, "must be a name and a type"),
    "another type of a column": (
        ["put", KEY, "wrong.jsonl", "--typed", "celsius:int"],
        3,
        "the table has celsius: float",
    ),
    "a condition on no column": (["scan", KEY, "all", "--where", '{"colour": 1}'], 2, "no typed column"),
    "a directory to write to": (["scan", KEY, "all", "--out", "."], 2, "must end with"),
    "a file in no directory": (["scan", KEY, "all", "--out", "none/rows.csv"], 1, "none"),
    "a file without a format": (["scan", KEY, "all", "--out", "rows.xyz"], 2, "rows.xyz"),
}


@pytest.mark.usefixtures("typed")
@pytest.mark.parametrize("case", WRONG_TYPED)
def test_wrong_usage_of_typed_columns_is_one_line(run: Run, case):
    arguments, code, told = WRONG_TYPED[case]
    wrong = {"values": TYPED_ROWS[0]["values"], "cells": {"celsius": "warm"}}
    Path("wrong.jsonl").write_text(f"\n{json.dumps(wrong)}\n")

    done = run("rows", *arguments)

    assert (done.code, len(done.errors)) == (code, 1), done.err
    assert told in done.err

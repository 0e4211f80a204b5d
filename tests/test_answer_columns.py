"""Every answer in every format: the same columns, in the same order, with the same values."""

from __future__ import annotations

import asyncio
import base64
import csv
import inspect
import io
import json
import math
import re
import subprocess
import sys
import typing
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

import pandas as pd
import pyarrow.parquet as pq
import pytest

import webtable
import webtable.aio
from listing_examples import ask_example
from webtable import Link, Page
from webtable.errors import DamagedRow
from webtable.formats import read_pages, write
from webtable.questions import LISTINGS
from webtable.repository.answers.tabular import Tabular
from webtable.repository.table.groups import TableLinks

NOW = datetime.now(UTC).replace(microsecond=0)
HOME, MOVED, GONE = "https://example.com/", "https://example.com/moved", "https://example.com/gone"
WORDS = b" ".join(b"word%d" % n for n in range(99))
HTML = b"<title>Home of salt</title><p>Some salt<a href=/gone rel=nofollow>gone</a><a href=/new>new</a><p>" + WORDS
ELEMENTS = (
    b"<link rel=canonical href=/copy><link rel=alternate hreflang=de href=/copy><link rel=next href=/copy>"
    b"<title>Not found</title>"
    b'<h1>One</h1><img alt="" srcset="/1.png 1x, /2.png 2x" width=1 src=http://a.example/1.png>'
    b'<script type=application/ld+json>{"@type": "Car"}</script><script type=application/ld+json>{,}</script>'
)
READ = ["body", "outlinks", "link_counts"]

ANSWERS = {
    **{listing.method: partial(ask_example, listing=listing) for listing in LISTINGS.values()},
    "history": lambda table: table.history(HOME),
    "diff": lambda table: table.diff(HOME),
    "stats": lambda table: table.stats("example.com"),
    "pages with all that is asked for": lambda table: table.pages("example.com", columns=READ),
    "links.most_linked with its counts": lambda table: table.links.most_linked(columns=["link_counts"]),
    "a batch": lambda table: table.pages("example.com").page(2),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    with webtable.open(tmp_path_factory.mktemp("answers") / "crawl.db", create=True) as table:
        for age, html in ((5, b"<title>Old</title>"), (1, HTML)):
            table.put(Page(url=HOME, body=html, headers={"ETag": '"7"'}, fetched_at=NOW - timedelta(days=age)))
        for url, status in ((GONE, 404), (f"{GONE}2", 404)):
            table.put(Page(url=url, body=b"n\xf6", charset="latin-1", status=status, fetched_at=NOW))
        table.put(Page(url=f"{HOME}long", body=b"<title>" + b"long " * 30 + b"</title>", fetched_at=NOW))
        table.put(Page(url=f"{HOME}elements", body=ELEMENTS, fetched_at=NOW))
        table.put(Page(url=MOVED, status=301, redirect_to=HOME, fetched_at=NOW - timedelta(days=2)))
        for path, html in {"copy": HTML, "like": HTML + b" more <a href=/>home</a>"}.items():
            table.put(Page(url=HOME + path, body=html, fetched_at=NOW))
        table.put(Page(url=f"{HOME}again", same_as="https://nowhere.example/", fetched_at=NOW))
        table.put_failed(f"{HOME}down", "timeout", at=NOW, detail="no answer in 30 s")
        table.indexes.add("similarity")
        table.links.refresh()
        yield table


def test_all_answers_of_a_table_are_among_these():
    groups = {"": webtable.WebTable, "links.": TableLinks}
    methods = [(of + name, one) for of, group in groups.items() for name, one in inspect.getmembers(group, is_method)]
    returned = {name: one.__annotations__.get("return", "") for name, one in methods}
    public = {**vars(webtable.answers), **vars(webtable.maintenance)}
    kinds = {name: public.get(re.split(r"\W", text)[0], object) for name, text in returned.items()}
    answers = {name for name, kind in kinds.items() if issubclass(typing.get_origin(kind) or kind, Tabular)}

    assert answers == {name for name in ANSWERS if " " not in name}


@pytest.mark.parametrize("name", ANSWERS)
def test_frames_have_the_columns_and_values_of_dicts(table, tmp_path, name):
    answer = ANSWERS[name](table)
    expected = rows_of(answer)

    answer.to_parquet(tmp_path / "answer.parquet")

    assert expected
    assert rows_as_plain(answer.to_arrow().read_all().to_pylist()) == expected
    assert rows_as_plain(answer.to_polars().to_arrow().to_pylist()) == expected
    assert rows_as_plain(answer.to_pandas().to_dict("records")) == expected
    assert rows_as_plain(pq.read_table(tmp_path / "answer.parquet").to_pylist()) == expected


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("chosen", ["csv_raw", "csv", "tsv_raw", "tsv"])
def test_files_of_text_have_the_columns_and_values_of_dicts(table, name, chosen):
    answer = ANSWERS[name](table)
    out = io.StringIO(newline="")

    count = write(answer, out, format=chosen)

    out.seek(0)
    dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if chosen.startswith("tsv") else {}
    heading, *lines = csv.reader(out, **dialect)
    expected = [list(row.items()) for row in rows_of(answer)]
    types = {field.name: str(field.type) for field in answer.to_arrow().schema}
    found = [[(name, from_text(types[name], text)) for name, text in zip(heading, row, strict=True)] for row in lines]
    assert found == [[(name, None if value == "" else value) for name, value in row] for row in expected]
    assert count == len(expected)


@pytest.mark.parametrize("name", ANSWERS)
def test_lines_of_json_have_the_columns_and_values_of_dicts(table, name):
    answer = ANSWERS[name](table)
    out = io.BytesIO()

    write(answer, out, format="jsonl")

    found = [json.loads(line) for line in out.getvalue().splitlines()]
    expected = rows_of(answer, answer._columns.usual)
    # A page has its headers as well, so that it is read from the line as it is.
    beside = ["headers"] if "fetched_at" in expected[0] and "digest" in expected[0] else []
    assert [list(row) for row in found] == [[*map(as_in_json, row.items()), *beside] for row in expected]
    types = {field.name: str(field.type) for field in answer.to_arrow(answer._columns.usual).schema}
    assert [from_json(row, types) for row in found] == expected


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_for_asyncio_have_the_columns_and_values_of_dicts(table, name):
    async def asked():
        answer = ANSWERS[name](webtable.aio.WebTable(table))
        answer = await answer if hasattr(answer, "__await__") else answer
        found = answer.to_dicts()
        return await found if hasattr(found, "__await__") else found

    if name == "a batch":
        pytest.skip("a batch is awaited before it is one")

    assert rows_as_plain(asyncio.run(asked())) == rows_of(ANSWERS[name](table))


@pytest.mark.parametrize("name", ANSWERS)
def test_records_by_themselves_have_the_columns_of_their_answer(table, name):
    answer = ANSWERS[name](table)
    if "counts" in name or name in ("links.most_linked", "pages with all that is asked for"):
        pytest.skip("a page does not tell what it was asked for with")
    one, other = io.StringIO(), io.StringIO()

    write(list(answer), one, format="csv_raw")
    write(answer, other, format="csv_raw")

    assert one.getvalue() == other.getvalue()


@pytest.mark.parametrize("name", ANSWERS)
def test_what_notebooks_show_are_columns(table, name):
    answer = ANSWERS[name](table)
    if name in ("diff", "stats"):
        pytest.skip("it is shown in a form of its own")

    assert set(answer._shown().columns) <= set(answer.to_arrow().schema.names)


def is_method(value):
    return inspect.isfunction(value) and not value.__name__.startswith("_")


def rows_of(answer, columns=None):
    return rows_as_plain(answer.to_dicts(columns))


def rows_as_plain(rows):
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def plain(value):
    """Return a value of any format as the one that all have in common."""
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    match value:
        case pd.Timestamp() | datetime():
            return value.isoformat()
        case webtable.page.LinkCounts():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Link():
            return list(value)
        case Mapping() if set(value) == set(Link._fields):
            return list(value.values())
        case Mapping() if set(value) == {"key", "value"}:
            return [value["key"], value["value"]]
        case Mapping() if "inlinks" in value:
            return {name: plain(one) for name, one in value.items()}
        case Mapping():
            return [list(pair) for pair in value.items()]
        case list() | tuple():
            return list(map(plain, value))
        case _ if hasattr(value, "tolist"):
            return plain(value.tolist())
        case _:
            return value


def from_text(kind, text):
    if text == "" or kind == "string":
        return text or None
    if kind == "int64":
        return int(text)
    if kind == "double":
        return float(text)
    if kind == "bool":
        return text == "true"
    if kind.startswith("timestamp"):
        return datetime.fromisoformat(text).isoformat()
    if kind == "binary":
        return text.encode("latin-1")
    return text.split(" ") if kind == "list<item: string>" and text != "[]" else from_json_value(kind, json.loads(text))


def from_json(row, types):
    return {
        name.removesuffix("_base64"): from_json_value(types[name.removesuffix("_base64")], value, name)
        for name, value in row.items()
        if name != "headers"
    }


def from_json_value(kind, value, name=""):
    if value is None:
        return None
    if kind.startswith("timestamp"):
        return datetime.fromisoformat(value).isoformat()
    if kind == "binary":
        return base64.b64decode(value) if name.endswith("_base64") else value.encode()
    if kind.startswith("struct"):
        counts = {"inlinks": 0, "internal": 0, "external": 0, "self_links": 0, **value}
        return {**counts, "counted_at": datetime.fromisoformat(value["counted_at"]).isoformat()}
    return value


def as_in_json(item):
    name, value = item
    return "body_base64" if name == "body" and value is not None and b"\xf6" in value else name


def csv_of(*records):
    written = io.StringIO()
    write(records, written, format="csv_raw")
    return written.getvalue().splitlines()


def test_pages_have_the_same_columns_in_a_process_that_has_opened_no_table():
    program = (
        "import sys, webtable, webtable.formats\n"
        "webtable.formats.write([webtable.Page(url='https://example.com/')], sys.stdout, format='csv_raw')"
    )

    written = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout

    assert written.splitlines()[0] == csv_of(Page(url=HOME))[0]


def test_a_page_that_repeats_another_does_so_in_lines_of_json(tmp_path):
    page = Page(url=HOME, same_as=MOVED, fetched_at=NOW)

    with (tmp_path / "pages.jsonl").open("wb") as file:
        write([page], file, format="jsonl")

    assert [page.same_as for page in read_pages(tmp_path / "pages.jsonl")] == [MOVED]


def test_damaged_rows_and_resolutions_are_records_too(table):
    assert csv_of(DamagedRow(b"key", HOME, "no")) == ["row,url,reason", f"key,{HOME},no"]
    assert csv_of(table.resolve(MOVED)) == ["hops,url,problem", f"{MOVED} {HOME},{HOME},"]

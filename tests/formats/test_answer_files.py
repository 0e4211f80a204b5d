"""Answers into files: every format by its name, from a notebook as from the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from operator import itemgetter

import pyarrow.parquet
import pytest

import webtable
from webtable._messages import Message
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.formats import FORMATS, read_pages, write, write_rows
from webtable.formats.answer_files import BINARY
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.questions import column
from webtable.rowkey.examples import LATEST_KEY

FETCHED = datetime(2026, 3, 1, 10, 20, 30, 123_000, tzinfo=UTC)
PAGE = Page(
    url="https://example.com/a",
    body=b"\xff<p>",
    title='=1+1 "q", \r\n\ttab \\t é \x1b[31m\u202e',
    headers={"ETag": '"x"'},
    fetched_at=FETCHED,
    outlinks=(Link("https://a.example/", "A\tB"),),
    truncated=True,
)

TEXTS = sorted(set(FORMATS) - BINARY)


def written(records, chosen, **options):
    out = io.BytesIO()
    count = write(records, out, format=chosen, **options)
    return out.getvalue(), count


def rows(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_csv_has_a_heading_and_values_that_come_back_whole():
    data, count = written([PAGE, PAGE], "csv_raw", columns=["url", "title", "etag", "truncated", "fetched_at", "body"])

    heading, first, second = rows(data)
    assert heading == ["url", "title", "etag", "truncated", "fetched_at", "body"]
    assert first == second == [PAGE.url, PAGE.title, "", "true", "2026-03-01T10:20:30.123Z", "\ufffd<p>"]
    assert count == 2


def value_read(data, form):
    """Return the value of the only row and column, as a spreadsheet reads a file with this ending."""
    lines = io.StringIO(data.decode(), newline="")
    _, [value] = csv.reader(lines, delimiter="\t" if form.startswith("tsv") else ",")
    return value


@pytest.mark.parametrize("form", ["csv", "tsv"])
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", '"=', '""@', '"＝'])
def test_a_spreadsheet_does_not_run_what_a_page_says(form, start):
    title = f"{start}cmd|' /C calc'!A0\""

    data, _ = written([Page(url="https://example.com/", title=title)], form, columns=["title"])

    assert value_read(data, form)[0] in "'\""
    assert form == "csv" or value_read(data, form)[0] == "'"


@pytest.mark.parametrize("form", ["csv", "tsv"])
@pytest.mark.parametrize("title", ["-5.5", "+3", "Home", "a=b", '"Home" and more'])
def test_a_number_and_a_text_are_no_formulas(form, title):
    data, _ = written([Page(url="https://example.com/", title=title)], form, columns=["title"])

    assert (rows(data)[1] if form == "csv" else data.decode().splitlines()[1:]) == [title]


@pytest.mark.parametrize("form", ["csv_raw", "tsv_raw"])
def test_a_raw_file_leaves_a_formula_as_the_page_has_it(form):
    title = "=cmd|' /C calc'!A0"

    data, _ = written([Page(url="https://example.com/", title=title)], form, columns=["title"])

    assert value_read(data, form) == title


def test_tab_separated_values_are_a_line_a_record_and_come_back_whole():
    data, _ = written([PAGE, PAGE], "tsv_raw", columns=["url", "title", "etag"])

    heading, *lines = (line.split("\t") for line in data.decode().removesuffix("\n").split("\n"))
    assert heading == ["url", "title", "etag"]
    assert lines == [[PAGE.url, '=1+1 "q", \\r\\n\\ttab \\\\t é \x1b[31m\u202e', ""]] * 2
    plain = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    assert re.sub(r"\\(.)", lambda found: plain[found[1]], lines[0][1]) == PAGE.title


def test_links_and_headers_are_json_in_a_value():
    data, _ = written([PAGE], "csv", columns=["headers", "outlinks"])

    assert list(map(json.loads, rows(data)[1])) == [{"ETag": '"x"'}, [["https://a.example/", "A\tB", "", "a", "", 1]]]


def test_json_lines_without_columns_come_back_as_pages():
    data, _ = written([PAGE], "jsonl")

    (page,) = read_pages(io.BytesIO(data), types=None, extract=False)
    assert (page.url, page.body, page.title, page.outlinks) == (PAGE.url, PAGE.body, PAGE.title, PAGE.outlinks)


@pytest.mark.parametrize("chosen", sorted(set(TEXTS) - {"jsonl"}))
def test_without_columns_a_page_has_what_every_listing_reads(chosen):
    data, _ = written([PAGE], chosen)

    heading = data.split(b"\n")[0].decode()
    assert heading.startswith("url")
    assert "fetched_at" in heading
    assert "body" not in heading.replace("\t", ",").split(",")


@pytest.mark.parametrize("chosen", TEXTS)
def test_a_stream_of_text_gets_what_one_of_bytes_gets(chosen):
    text = io.StringIO(newline="")

    write([PAGE], text, format=chosen)

    assert text.getvalue().encode() == written([PAGE], chosen)[0]


@pytest.mark.parametrize("chosen", TEXTS)
def test_nothing_commands_a_terminal(chosen):
    data, _ = written([PAGE], chosen, columns=["title"], for_terminal=True)

    assert b"\x1b" not in data
    assert "\u202e" not in data.decode()


@pytest.mark.parametrize("chosen", TEXTS)
def test_records_are_written_as_they_come(chosen):
    out = io.BytesIO()

    def pages():
        yield PAGE
        assert b"example.com/a" in out.getvalue()

    write(pages(), out, format=chosen)


def test_parquet_has_the_rows_and_no_file_of_text_takes_it():
    data, count = written([PAGE, PAGE], "parquet", columns=["url", "status", "fetched_at"])

    rows = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    assert (rows, count) == ([{"url": PAGE.url, "status": PAGE.status, "fetched_at": PAGE.fetched_at}] * 2, 2)
    with pytest.raises(InvalidArgument, match="open for bytes, not for text"):
        write([PAGE], io.StringIO(), format="parquet")


def test_parquet_is_written_a_row_group_at_a_time(monkeypatch):
    monkeypatch.setattr("webtable.repository.answers.arrow.BATCH_ROWS", 10)
    out, sizes = io.BytesIO(), []

    def pages():
        for number in range(50):
            sizes.append(len(out.getvalue()))
            yield Page(url=f"https://example.com/{number}")

    write(pages(), out, format="parquet")

    assert len(set(sizes)) == 5
    assert pyarrow.parquet.read_table(io.BytesIO(out.getvalue())).num_rows == 50


@pytest.mark.parametrize("chosen", TEXTS)
def test_a_message_with_a_command_is_text_in_every_format(chosen):
    out = io.BytesIO()
    checks = [{"fix": Message("ask for the counts: ", "links refresh")}]

    write_rows(checks, [column("fix", of=itemgetter("fix"))], out, chosen)

    assert b"ask for the counts: links refresh" in out.getvalue()


@pytest.mark.parametrize("name", ["pages.csv", "pages.tsv", "pages.jsonl", "PAGES.PARQUET"])
def test_the_name_of_a_file_says_its_format(tmp_path, name):
    chosen = name.rpartition(".")[2].lower()

    assert write([PAGE], tmp_path / name) == 1
    assert (tmp_path / name).read_bytes() == written([PAGE], chosen)[0]
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_name_that_says_no_format_is_refused_and_a_format_wins(tmp_path):
    with pytest.raises(InvalidArgument, match=r"pages.txt: its name must end with .csv"):
        write([PAGE], tmp_path / "pages.txt")
    assert write([PAGE], tmp_path / "pages.txt", format="csv") == 1


@pytest.mark.parametrize("chosen", FORMATS)
def test_an_empty_answer_is_an_empty_file(chosen):
    assert written([], chosen) == (b"", 0)


@pytest.mark.parametrize("chosen", FORMATS)
def test_an_unknown_column_is_named(chosen):
    with pytest.raises(UnknownColumn, match="'tilte'"):
        written([PAGE], chosen, columns=["url", "tilte"])


def test_what_is_no_format_is_refused():
    with pytest.raises(InvalidArgument, match=r"xls.*csv"):
        write([PAGE], io.BytesIO(), format="xls")


def test_a_column_may_be_named_without_a_list():
    assert written([PAGE], "csv", columns="url") == written([PAGE], "csv", columns=["url"])


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        body = b"<title>Salt</title><a href=/b>next</a> <p>some salt"
        table.put(Page(url="https://example.com/", body=body, fetched_at=FETCHED))
        table.put(Page(url="https://example.com/b", status=404, fetched_at=FETCHED))
        table.links.refresh()
        yield table


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda table: table.hosts(), ["name,pages,bytes,counted_at", "example.com,2,"]),
        (
            lambda table: table.links.to("https://example.com/b"),
            [
                "source,anchor,rel,at,is_current,source_status,source_title",
                "https://example.com/,next,,2026-03-01T10:20:30.123Z,true,200,Salt",
            ],
        ),
        (
            lambda table: table.links.broken(),
            ["source,target,status,anchor,rel", "https://example.com/,https://example.com/b,404,next,"],
        ),
        (
            lambda table: table.search("salt", "example.com"),
            [
                "url,matches,title,excerpts,status,fetched_at",
                "https://example.com/,2,Salt,next some [salt],200,2026",
            ],
        ),
    ],
    ids=["hosts", "inlinks", "broken links", "hits"],
)
def test_other_answers_have_their_fields_as_columns(table, ask, expected):
    data, _ = written(ask(table), "csv")

    lines = data.decode().splitlines()
    assert len(lines) == len(expected)
    assert all(line.startswith(begin) for line, begin in zip(lines, expected, strict=True))


def test_a_column_may_be_one_of_the_page_in_a_record(table):
    data, _ = written(table.links.to("https://example.com/b"), "jsonl", columns=["source", "status", "title"])

    assert json.loads(data) == {"source": "https://example.com/", "status": 200, "title": "Salt"}


def test_rows_under_other_keys_are_written_too(tmp_path):
    with webtable.KeyedTable.open(tmp_path / "records.db", LATEST_KEY, create=True) as records:
        records.put({"key": "sensor", "time": FETCHED}, {"d:celsius": b"8"}, timestamp=FETCHED)

        data, _ = written(records.scan(key="sensor"), "csv", columns=["timestamp", "cells"])

    assert rows(data)[1] == ["2026-03-01T10:20:30.123Z", '{"d:celsius":"OA=="}']


def test_a_body_is_text_by_the_charset_of_its_page():
    page = Page(url="https://example.com/", body="né".encode("latin-1"), charset="latin-1")

    assert written([page], "csv", columns=["body"])[0] == "body\nné\n".encode()


def test_an_answer_becomes_the_parquet_file_that_it_writes_itself(table, tmp_path):
    assert write(table.pages(), tmp_path / "a.parquet", columns=["url", "status"]) == 2
    table.pages().to_parquet(tmp_path / "b.parquet", ["url", "status"])

    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()

"""`webtable adopt`: a table of another program, brought into a web table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, open_store

COUNT = 300
MOMENT = int((datetime.now(UTC) - timedelta(days=400)).timestamp()) * 1000
COLUMNS = "url=metadata:url,body=content:html,status=metadata:status_code,title=metadata:title"


def foreign(path: str, rows: Mapping[str, Mapping[str, bytes]]) -> str:
    store, table = open_store(path, create=True)
    with store:
        families = [FamilySchema(name) for name in ("content", "metadata", "outlinks", "inlinks")]
        store.create_table(TableSchema(table, families))
        puts = [
            Put(key.encode(), [NewCell(column.encode(), MOMENT, value) for column, value in cells.items()])
            for key, cells in rows.items()
        ]
        store.write(table, puts)
    return path


@pytest.fixture
def source() -> str:
    rows = [
        ("com.example_", "https://example.com/", "Home", "200"),
        ("com.example_about", "https://example.com/about", "About", "200"),
        ("com.example_gone", "https://example.com/gone", "", "404"),
    ]
    return foreign(
        "old.db",
        {
            key: {
                "content:html": f"<title>{title}</title><a href=/about>a</a>".encode(),
                "metadata:url": url.encode(),
                "metadata:title": title.encode(),
                "metadata:status_code": status.encode(),
            }
            for key, url, title, status in rows
        },
    )


def test_a_table_written_by_hand_is_brought_into_a_new_one(run: Run, source: str) -> None:
    done = run("adopt", source, "new.db", "--columns", COLUMNS)

    assert done.code == 0, done.err
    assert "3 pages with 3 versions copied from old.db to new.db" in done.out
    assert run("-s", "new.db", "pages", "all", "--columns", "url,status,title").cells == [
        ["https://example.com/", "200", "Home"],
        ["https://example.com/about", "200", "About"],
        ["https://example.com/gone", "404", ""],
    ]
    assert len(run("-s", "new.db", "linking-to", "https://example.com/about").lines) == 3
    with webtable.open("new.db") as table:
        assert table.layout.ttl is None
    assert "3 unchanged" in run("adopt", source, "new.db", "--columns", COLUMNS).out


def test_keys_have_the_urls(run: Run, source: str) -> None:
    done = run("adopt", source, "new.db", "--key", "{reversed_host}_{path}", "--columns", "body=content:html")

    assert done.code == 0, done.err
    assert run("-s", "new.db", "pages", "all", "--columns", "url").urls == [
        "https://example.com/",
        "https://example.com/about",
        "https://example.com/gone",
    ]


def test_what_would_be_stored_is_reported_without_a_new_table(run: Run, source: str) -> None:
    done = run("adopt", source, "new.db", "--columns", COLUMNS, "--dry-run")

    assert done.code == 0, done.err
    assert "3 pages with 3 versions would be copied" in done.out
    assert not Path("new.db").exists()


def test_what_cannot_be_read_is_named(run: Run) -> None:
    url = {"metadata:url": b"https://example.com/a", "content:html": b"x"}
    rows = {
        "a": {**url, "metadata:title": b"\xff"},
        "b": {**url, "metadata:status_code": b"gone"},
        "c": {"metadata:url": b"https://example.com/never"},
    }

    done = run("adopt", foreign("old.db", rows), "new.db", "--columns", COLUMNS)

    assert done.code == 1
    assert "1 page with 1 version copied" in done.out
    assert "1 row without a capture" in done.err
    assert "not read: 1 value of title" in done.err
    assert "1 damaged row left out" in done.err
    assert "its status (metadata:status_code): it is no number" in done.err


def test_columns_that_no_row_has_are_a_mistake(run: Run, source: str) -> None:
    done = run("adopt", source, "new.db", "--columns", "body=content:body,url=metadata:address")

    assert "no row of SRC has one of these columns" in done.err


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["none.db", "new.db", "--columns", COLUMNS], 3, "none.db"),
        (["old.db", "old.db", "--columns", COLUMNS], 2, "DST is SRC itself"),
        (["old.db", "new.db", "--columns", "body"], 2, "FIELD=COLUMN"),
        (["old.db", "new.db", "--columns", "body=cf:html", "--key", "{url}"], 2, "no family 'cf'"),
        (["old.db", "new.db", "--columns", "body=content:html", "--key", "{page}{url}"], 2, "--key"),
        (["old.db", "new.db", "--columns", COLUMNS, "--dry-run", "--resume"], 2, "exclude each other"),
    ],
)
@pytest.mark.usefixtures("source")
def test_what_leads_to_no_page_is_refused(run: Run, words: list[str], code: int, why: str) -> None:
    done = run("adopt", *words)

    assert (done.code, why in done.err) == (code, True), done.err


def test_a_source_that_is_missing_makes_no_table(run: Run) -> None:
    run("adopt", "none.db", "new.db", "--columns", COLUMNS)

    assert not Path("new.db").exists()


def test_other_commands_propose_to_adopt_such_a_table(run: Run, source: str) -> None:
    Path("x.jsonl").write_text('{"url": "https://example.com/", "body": "x"}\n', encoding="utf-8")

    for command in ("pages all", "info", "doctor", "create", "ingest x.jsonl", f"copy {source} x.db"):
        done = run("-s", source, *command.split())

        assert done.code
        assert "webtable adopt SRC DST" in done.out + done.err


@pytest.mark.slow
def test_a_signal_ends_it_in_good_order_and_the_journal_goes_on(run: Run) -> None:
    source = foreign("old.db", {f"https://example.com/{at:03}": {"content:html": b"%d" % at} for at in range(COUNT)})
    words = ["adopt", source, "new.db", "--key", "{url}", "--columns", "body=content:html", "--resume"]
    command = [sys.executable, "-m", "webtable.cli", *words, "--rate", "50"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        end = time.monotonic() + 60
        while not Path("new.db.adopt").exists() or not Path("new.db.adopt").stat().st_size:
            assert time.monotonic() < end, "nothing was stored"
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    rest = run(*words)

    assert process.returncode == 128 + signal.SIGTERM, err
    assert b"copied from old.db" in out
    assert rest.code == 0, rest.err
    assert "unchanged" not in rest.out
    with webtable.open("new.db") as table:
        assert sum(1 for _ in table.pages()) == COUNT

"""What the commands tell of damaged rows, and the command that looks for them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.store import Delete, NewCell, Put, Wanted

URLS = [f"https://example.com/{number}" for number in range(8)]
BODY = b"<title>Salt</title><p>A word of salt.<a href=/0>first</a>"


@pytest.fixture(autouse=True)
def site(empty_directory: Path) -> None:
    """Eight pages in the default store; the row of one of them cannot be read, and the body of another."""
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    with webtable.open("webtable.db", create=True) as table:
        with table.writer() as writer:
            for url in URLS:
                writer.put(webtable.Page(url=url, body=BODY + url.encode(), fetched_at=now))
        damage(table, URLS[2], b"metadata:page")
        damage(table, URLS[5], b"content:html")


def damage(table: webtable.WebTable, url: str, column: bytes) -> None:
    row = table.key.encode(url)
    (found,) = table.store.read(table.table, [row], Wanted([column]))
    at, value = found.cells[column][0]
    table.store.write(table.table, [Put(row, [NewCell(column, at, value[:-9] + b"\xff" + value[-8:])])])


@pytest.mark.parametrize("command", ["pages example.com", "fetched", "with-status 200", "search salt all"])
def test_a_listing_names_the_damaged_rows_that_it_leaves_out_and_exits_with_1(run: Run, command: str) -> None:
    listed = run(*command.split())

    left_out = {URLS[2], URLS[5]} if command.startswith("search") else {URLS[2]}
    assert set(listed.urls) == set(URLS) - left_out
    assert listed.code == 1
    first, *named = listed.err.splitlines()
    assert first == f"webtable: {len(left_out)} damaged row{'s'[: len(left_out) > 1]} left out"
    assert {line.split(": ")[1] for line in named} == left_out
    assert "metadata:page" in listed.err


def test_a_listing_without_damage_says_nothing_of_it(run: Run) -> None:
    listed = run("pages", "https://example.com/nothing/")

    assert (listed.code, listed.err) == (0, "no pages below https://example.com/nothing/\n")


def test_a_damaged_page_that_is_asked_for_is_exit_code_1(run: Run) -> None:
    shown = run("get", URLS[2])

    assert shown.code == 1
    assert shown.err.startswith(f"webtable: {URLS[2]}: the stored row is damaged: metadata:page")


def test_stats_tell_of_damaged_rows(run: Run) -> None:
    counted = run("stats", "example.com", "--by", "status")

    assert counted.code == 1
    assert counted.out.splitlines()[0].split("\t")[:3] == ["all", "", "7"]
    assert "1 damaged row left out" in counted.err


def test_verify_counts_and_names_what_is_damaged(run: Run) -> None:
    verified = run("verify", "example.com", "--format", "jsonl")

    assert verified.code == 1
    found = json.loads(verified.out)
    assert (found["pages"], found["damaged"], found["lost"]) == (6, 2, 0)
    assert URLS[2] in verified.err
    assert URLS[5] in verified.err


def test_verify_of_a_sound_table_is_exit_code_0(run: Run) -> None:
    assert run("delete", "--yes", URLS[2], URLS[5]).code == 0

    verified = run("verify", "all")

    assert verified.code == 0
    assert verified.out.split("\t")[0] == "6"
    assert verified.err == ""


def test_verify_counts_the_pages_that_are_missing_and_names_their_hosts(run: Run) -> None:
    assert run("delete", "--yes", URLS[2], URLS[5]).code == 0
    assert run("links", "refresh", "--also-unfinished").code == 0
    with webtable.open("webtable.db") as table:
        table.store.write(table.table, [Delete(table.key.encode(URLS[0]), 2**62)])

    verified = run("verify", "all", "--format", "jsonl")

    assert (verified.code, json.loads(verified.out)["missing"]) == (1, 1)
    assert verified.err == "webtable: 1 page missing\nwebtable: example.com: 6 pages expected, 5 found\n"


@pytest.mark.usefixtures("large_store")
def test_verify_of_a_large_table_must_be_asked_for(run: Run) -> None:
    assert run("verify").code == 2


def test_the_commands_of_indexes_tell_of_damaged_rows(run: Run) -> None:
    verified, repaired = run("index", "verify", "time"), run("index", "repair", "time")
    rebuilt, refreshed = run("index", "rebuild", "time"), run("links", "refresh")

    assert [one.code for one in (verified, repaired, rebuilt, refreshed)] == [1, 1, 1, 1]
    assert all("1 damaged row left out" in one.err for one in (verified, repaired, rebuilt, refreshed))
    assert "nothing was changed" not in repaired.err


def test_a_history_tells_of_a_damaged_version(run: Run) -> None:
    with webtable.open("webtable.db") as table:
        damage(table, URLS[0], b"content:capture")

    listed = run("history", URLS[0])

    assert (listed.code, listed.out) == (1, "")
    assert "1 damaged version left out" in listed.err


def test_info_counts_no_damaged_row_and_says_so_as_stats_does(run: Run) -> None:
    held, counted = run("info", "--count"), run("stats", "all", "--format", "jsonl")

    assert "summary.pages\t7" in held.lines
    assert json.loads(counted.lines[0])["pages"] == 7
    assert (held.code, counted.code) == (1, 1)
    assert held.err == "webtable: 1 damaged row left out\n"

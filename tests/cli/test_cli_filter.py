"""`--include` and `--exclude`: wherever addresses are listed, and for files."""

from __future__ import annotations

import json

import pytest

import webtable
from webtable import Link, Page
from webtable.questions import LISTINGS


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "crawl.db"
    monkeypatch.setenv("WEBTABLE_STORE", str(path))
    with webtable.open(path, create=True) as table:
        links = [Link(f"https://example.com/{path}") for path in ("calendar/9", "new", "list?sort=a")]
        table.put(Page(url="https://example.com/", body=b"<title>A</title>", outlinks=links))
        table.put(Page(url="https://example.com/calendar/1", body=b"<title>B</title>"))
    return path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["discovered", "--exclude", "/calendar/**", "--exclude", "re:[?&]sort="], ["https://example.com/new"]),
        (
            ["discovered", "--include", "/calendar", "--include", "/list"],
            ["https://example.com/calendar/9", "https://example.com/list?sort=a"],
        ),
        (["pages", "--exclude", "/calendar"], ["https://example.com/"]),
        (
            ["outdated", "--not-fetched-since", "2999-01-01", "--include", "/calendar"],
            ["https://example.com/calendar/1"],
        ),
        (["orphans", "--include", "//*.example.com"], []),
    ],
)
def test_a_command_that_lists_addresses_takes_patterns(store, run, words, found):
    command, *rest = words

    assert [row[0] for row in run(command, "example.com", "--columns", "url", *rest).cells] == found


def test_every_listing_of_addresses_has_the_options_and_no_other():
    have = {name for name, listing in LISTINGS.items() if {"include", "exclude"} <= listing.takes}

    assert have >= {"discovered", "outdated", "pages", "orphans", "dead_ends", "errors", "changes", "fetched", "search"}
    assert not have & {"hosts", "crawls", "duplicate_groups", "edges", "linking_to", "redirect_chains"}


def test_a_file_is_stored_as_far_as_its_addresses_are_wanted(store, run, tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_text(
        "".join(json.dumps({"url": f"https://example.org/{path}", "body": "x"}) + "\n" for path in ("a", "b/c"))
    )

    result = run("ingest", str(file), "--include", "//example.org", "--exclude", "/b")

    assert result.code == 0
    assert "1 page left out by their URLs (exclude='/b' 1)" in result.err + result.out
    assert [row[0] for row in run("pages", "example.org", "--columns", "url").cells] == ["https://example.org/a"]


def test_a_pattern_that_is_none_is_a_mistake_in_the_use_of_the_command(store, run):
    result = run("pages", "example.com", "--exclude", "*.pdf")

    assert result.code == 2
    assert "a pattern begins with / (a path)" in result.err

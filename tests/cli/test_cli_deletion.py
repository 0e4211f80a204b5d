"""The command `delete` where it is told which pages by what they are."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable import Link, Page

OLD = datetime.now(UTC) - timedelta(days=500)
PAGES = {
    "https://a.example/": Page(url="https://a.example/", html=b"<title>A</title>"),
    "https://a.example/gone": Page(url="https://a.example/gone", html=b"", status_code=404),
    "https://www.a.example/old": Page(url="https://www.a.example/old", html=b"old", fetched_at=OLD),
    "https://b.example/": Page(url="https://b.example/", html=b"B", outlinks=(Link("https://a.example/", "to A"),)),
}


@pytest.fixture(autouse=True)
def stored() -> None:
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for page in PAGES.values():
            writer.put(page)


def left() -> set[str]:
    with webtable.open("webtable.db") as table:
        return {page.url for page in table.pages(full_scan=True)}


def test_without_yes_it_says_what_it_would_delete_and_deletes_nothing(run: Run):
    done = run("delete", "--domain", "a.example")

    assert (done.code, done.out) == (1, "3 pages of 3 versions, 19 B would be deleted\n")
    assert done.err == "webtable: nothing was deleted: give --yes to delete them\n"
    assert left() == set(PAGES)


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        (["--domain", "a.example"], {"https://a.example/", "https://a.example/gone", "https://www.a.example/old"}),
        (["--domain", "a.example", "--host-only", "--status", "404"], {"https://a.example/gone"}),
        (["--older-than", "400d", "--full-scan"], {"https://www.a.example/old"}),
        (["--status", "404", "--status", "500", "--full-scan"], {"https://a.example/gone"}),
    ],
)
def test_what_is_chosen_is_deleted_with_yes(run: Run, options, gone):
    done = run("delete", *options, "--yes")

    assert done.code == 0
    assert done.out.endswith(" deleted\n")
    assert left() == set(PAGES) - gone


def test_a_receipt_has_a_line_for_each_page_and_the_sums(run: Run):
    run("delete", "--domain", "a.example", "--and-links", "--receipt", "receipt.jsonl", "--yes")

    lines = [json.loads(line) for line in Path("receipt.jsonl").read_text().splitlines()]
    *pages, total = lines
    assert {page["url"] for page in pages} == {url for url in PAGES if "a.example" in url}
    assert {page["what"] for page in pages} == {"page"}
    assert total.pop("at").startswith(datetime.now(UTC).date().isoformat())
    assert total == {
        "what": "total",
        "pages": 3,
        "versions": 3,
        "bytes": 19,
        "links": 1,
        "inlinks": 0,
        "damaged": 0,
    }


def test_a_receipt_is_a_new_file(run: Run):
    Path("receipt.jsonl").write_text("of something else")

    done = run("delete", "--domain", "a.example", "--receipt", "receipt.jsonl", "--yes")

    assert done.code == 2
    assert left() == set(PAGES)


def test_on_a_terminal_it_asks_when_it_has_counted(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("webtable.cli.deletion.can_ask", lambda: True)

    refused = run("delete", "--domain", "a.example", stdin=b"n\n")
    agreed = run("delete", "--domain", "a.example", stdin=b"y\n")

    assert (refused.code, agreed.code) == (1, 0)
    assert "Delete them?" in refused.err
    assert left() == {"https://b.example/"}


def test_urls_are_read_from_standard_input(run: Run):
    done = run(
        "delete", "--yes", "-", stdin="https://a.example/\nhttps://a.example/none\n\n# a remark\nhttps://b.example\n"
    )

    assert done.code == 1
    assert done.lines == ["deleted\thttps://a.example/", "deleted\thttps://b.example"]
    assert done.err == "webtable: https://a.example/none: not stored\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ([], "name the URLs of pages, or say which"),
        (["https://a.example/", "--domain", "a.example"], "one of both"),
        (["https://a.example/", "--receipt", "x"], "--receipt goes with"),
        (["--status", "404"], "full-scan"),
        (["--domain", "a.example", "--status", "404", "--and-links"], "--and-links"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(run: Run, command, told):
    done = run("delete", "--yes", *command)

    assert done.code == 2
    assert told in done.err
    assert left() == set(PAGES)

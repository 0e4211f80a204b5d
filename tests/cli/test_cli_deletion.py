"""The command `delete-pages`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from running import Run

import webtable
from webtable import Link, Page
from webtable.repository.maintenance import delete
from webtable.repository.maintenance.delete import Deletion

if TYPE_CHECKING:
    from collections.abc import Callable

OLD = datetime.now(UTC) - timedelta(days=500)
PAGES = {
    "https://a.example/": Page(url="https://a.example/", body=b"<title>A</title>"),
    "https://a.example/gone": Page(url="https://a.example/gone", body=b"", status=404),
    "https://www.a.example/old": Page(url="https://www.a.example/old", body=b"old", fetched_at=OLD),
    "https://b.example/": Page(url="https://b.example/", body=b"B", outlinks=(Link("https://a.example/", "to A"),)),
}


@pytest.fixture(autouse=True)
def stored() -> None:
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for page in PAGES.values():
            writer.put(page)


def left() -> set[str]:
    with webtable.open("webtable.db") as table:
        return {page.url for page in table.pages(webtable.ALL)}


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        (["a.example"], {"https://a.example/", "https://a.example/gone", "https://www.a.example/old"}),
        (["https://a.example/", "--status", "404"], {"https://a.example/gone"}),
        (["--older-than", "400d", "all"], {"https://www.a.example/old"}),
        (["--status", "4XX", "all"], {"https://a.example/gone"}),
        (["--status", "404", "--status", "500", "all"], {"https://a.example/gone"}),
    ],
)
def test_what_is_chosen_is_deleted_with_yes(run: Run, options, gone):
    done = run("delete-pages", *options, "--yes")

    assert done.code == 0
    assert done.out.endswith(" deleted\n")
    assert left() == set(PAGES) - gone


def test_ctrl_c_says_how_many_pages_are_gone(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(delete, "PAGES_AT_ONCE", 1)
    given = iter([None, None, KeyboardInterrupt])

    def deleted(self: Deletion, *args: Any, of: Callable[..., Any] = Deletion.of, **more: Any) -> list[bool]:
        if error := next(given):
            raise error
        return of(self, *args, **more)

    monkeypatch.setattr(Deletion, "of", deleted)
    done = run("delete-pages", "a.example", "--yes")

    assert done.code == 130
    assert done.err == "webtable: interrupted: 2 pages deleted; the same command deletes the rest\n"
    assert len(left()) == len(PAGES) - 2


def test_a_page_that_is_fetched_again_in_between_stays_and_is_not_counted(run: Run, monkeypatch):
    def of(self: Deletion, row: bytes, is_meant: object, **_: object) -> bool:
        return deleted(self, row, lambda row: b"gone" not in row.key)

    deleted = Deletion.of
    monkeypatch.setattr(Deletion, "of", of)

    done = run("delete-pages", "a.example", "--yes")

    assert done.out == "2 pages with 2 versions, 19 B deleted\n"
    assert left() == {"https://a.example/gone", "https://b.example/"}


@pytest.mark.parametrize(
    ("listing", "condition"),
    [
        (["pages", "a.example", "--status", "404"], ["--status", "404"]),
        (["fetched", "a.example", "--until", "400d"], ["--older-than", "400d"]),
    ],
)
def test_a_listing_before_a_delete_names_what_it_deletes(run: Run, listing, condition):
    run(*listing, "--out", "deleted.jsonl")

    done = run("delete-pages", "a.example", *condition, "--yes")

    listed = {json.loads(line)["url"] for line in Path("deleted.jsonl").read_text().splitlines()}
    assert done.code == 0
    assert listed == set(PAGES) - left()
    assert len(listed) == 1


def test_on_a_terminal_it_asks_when_it_has_counted(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("webtable.cli.progress.is_interactive", lambda: True)

    refused = run("delete-pages", "a.example", stdin=b"n\n")
    agreed = run("delete-pages", "a.example", stdin=b"y\n")

    assert (refused.code, agreed.code) == (1, 0)
    assert "Delete 3 pages from ./webtable.db/pages?" in refused.err
    assert left() == {"https://b.example/"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["delete-pages", "a.example"], "3 pages with 3 versions, 19 B would be deleted\n"),
        (["delete", "https://a.example/"], "would be deleted\thttps://a.example/\n"),
    ],
)
def test_a_dry_run_reports_and_deletes_nothing(run: Run, command, said):
    done = run(*command, "--dry-run")

    assert (done.code, done.out, done.err) == (0, said, "")
    assert left() == set(PAGES)


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
        (["delete-pages"], "SITE"),
        (["delete"], "URL"),
        (["delete-pages", "all"], "--status"),
        (["delete-pages", "--status", "404"], "SITE"),
        (["delete-pages", "a.example", "--status", "404", "--and-links"], "--and-links"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(run: Run, command, told):
    done = run(*command, "--yes")

    assert done.code == 2
    assert told in done.err
    assert left() == set(PAGES)


def test_many_urls_are_deleted_together_and_each_is_answered(run: Run, monkeypatch):
    calls = []
    of = Deletion.of

    def counted(self, rows, *given, **named):
        calls.append(len(rows))
        return of(self, rows, *given, **named)

    monkeypatch.setattr(Deletion, "of", counted)

    done = run("delete", "--yes", *PAGES, "https://a.example/missing", next(iter(PAGES)))

    assert done.code == 1
    assert done.lines == [f"deleted\t{url}" for url in PAGES]
    assert len(done.errors) == 2  # the second time it is gone
    assert calls == [len(PAGES) + 1]
    assert left() == set()

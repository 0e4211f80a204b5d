"""The confirmation of commands that do what cannot be undone: they ask in a terminal, and elsewhere need --yes."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from running import Run

import webtable
from webtable import Page

URL = "https://a.example/"
DESTRUCTIVE = {
    "delete": ["delete", URL],
    "delete-pages": ["delete-pages", "a.example"],
    "index drop": ["index", "drop", "size"],
    "alter": ["alter", "--ttl", "9000d", "--versions", "1"],
    "create": ["create", "--alter-families"],
    "compact": ["compact", "--forget-deletes"],
}


@pytest.fixture(params=DESTRUCTIVE.values(), ids=DESTRUCTIVE)
def command(request: pytest.FixtureRequest) -> list[str]:
    with webtable.open("webtable.db", create=True, versions=5) as table:
        table.put(Page(url=URL, body=b"<title>A</title>"))
        table.put(Page(url="https://b.example/", body=b"B"))
        table.delete("https://b.example/")
    found: list[str] = request.param
    if found[0] == "create":  # which alters families that others have changed
        with webtable.open("webtable.db") as table:
            (content,) = [f for f in table.store.describe(table.table).schema.families if f.name == "content"]
            table.store.set_family(table.table, type(content)("content", versions=9))
    return found


def _state() -> list[str]:
    with closing(sqlite3.connect("webtable.db")) as connection:
        return list(connection.iterdump())


def test_without_a_terminal_it_needs_yes_and_changes_nothing(run: Run, command: list[str]):
    before = _state()

    done = run(*command)

    assert (done.code, done.out, len(done.errors)) == (2, "", 1)
    assert "nothing was changed: give --yes to" in done.err
    assert _state() == before


def test_in_a_terminal_it_asks_and_no_changes_nothing(run: Run, command: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("webtable.cli.progress.is_interactive", lambda: True)
    before = _state()

    done = run(*command, stdin=b"n\n")

    assert done.code == 1
    assert "? " in done.err
    assert "[y/N]" in done.err
    assert "nothing was changed" in done.err
    assert _state() == before


def test_a_dry_run_asks_nothing_and_changes_nothing(run: Run, command: list[str]):
    before = _state()

    done = run(*command, "--dry-run")

    assert (done.code, done.err) == (0, "")
    assert done.out
    assert _state() == before


@pytest.mark.slow
@pytest.mark.parametrize("yes", ["--yes", "-y"])
def test_with_yes_it_asks_nothing(run: Run, command: list[str], yes: str):
    before = _state()

    done = run(*command, yes)

    assert done.code == 0
    assert "[y/N]" not in done.err
    assert _state() != before

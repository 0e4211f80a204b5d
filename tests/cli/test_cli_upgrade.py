"""`webtable upgrade`: what is older than in a new table is said, and done when it is asked for."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import webtable
from webtable.cli.app import app
from webtable.store import open_store


@pytest.fixture
def path(tmp_path):
    """Make a table whose links are kept in two versions, as they once were, and which lacks an index."""
    path = tmp_path / "crawl.db"
    webtable.create(path, indexes=["time", "size", "link", "status", "url", "host"])
    store, table = open_store(path)
    with store:
        (outlinks,) = (one for one in store.describe(table).schema.families if one.name == "outlinks")
        store.set_family(table, replace(outlinks, versions=2))
    return path


def versions(path):
    store, table = open_store(path)
    with store:
        return {one.name: one.versions for one in store.describe(table).schema.families}["outlinks"]


def run(path, *arguments):
    return CliRunner().invoke(app, ["-s", str(path), "upgrade", *arguments])


def test_without_apply_it_says_what_it_would_do_and_ends_with_one(path):
    result = run(path)

    assert result.exit_code == 1
    assert "to do   families: table 'pages': change family 'outlinks': versions 2 -> 3" in result.stdout
    assert f"→ webtable -s {path} index add NAME" in result.stdout
    assert f"nothing was changed; to do it: webtable -s {path} upgrade --apply" in result.stderr
    assert versions(path) == 2


def test_with_apply_it_is_done_and_a_second_time_there_is_nothing_to_do(path):
    first = run(path, "--apply")
    second = run(path, "--apply")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "done    families" in first.stdout
    assert "stays   indexes: not there, and in a new table: digest" in first.stdout
    assert "nothing to do" in second.stderr
    assert versions(path) == 3


def test_a_file_of_a_later_webtable_is_left_as_it_is(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")

    result = run(path, "--apply")

    assert result.exit_code == 3
    assert "file format 99, of a later webtable" in result.stderr

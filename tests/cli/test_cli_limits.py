"""The limits of `ingest`: as options, and in what it says at the end."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import webtable
from hostile import page
from webtable.cli import app

NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of three pages: one of 5,000 bytes, one with three links, one with a long header."""
    path = tmp_path / "crawl.warc"
    pages = [
        page(b"<title>Large</title>" + b"x" * 5_000, url="https://example.com/large"),
        page(b"<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>", url="https://example.com/links"),
        page(b"<title>Head</title>", "A: " + "b" * 1_000, url="https://example.com/head"),
    ]
    path.write_bytes(b"".join(pages).replace(b"2026-03-01T10:20:30Z", NOW))
    return path


def ingest(file: Path, *limits: str):
    options = [part for limit in limits for part in ("--limit", limit)]
    return CliRunner().invoke(app, ["-s", str(file.with_suffix(".db")), "ingest", str(file), *options])


def test_what_is_over_a_limit_is_named_and_the_rest_is_stored(file):
    done = ingest(file, "parsed=2kB", "links=2", "head=500")

    assert done.exit_code == 1
    assert done.stdout.startswith("2 pages stored")
    assert "over a limit: 1 record skipped (head 1)" in done.stderr
    assert "over a limit: 1 page stored without title and links (parsed 1)" in done.stderr
    assert "over a limit: 1 page stored with the first links only (links 1)" in done.stderr
    with webtable.open(file.with_suffix(".db")) as table:
        assert len(table.get("https://example.com/links").outlinks) == 2
        assert len(table.get("https://example.com/large").body) == 5_020


def test_pages_within_the_limits_are_stored_without_a_word_of_them(file):
    done = ingest(file)

    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("limit", ["parsed", "size=1MB", "parsed=much", "parsed=0", "seconds=soon", "seconds=-1"])
def test_a_limit_that_is_none_is_refused_before_anything_is_read(file, limit):
    done = ingest(file, limit)

    assert done.exit_code == 2
    assert limit.partition("=")[0] in done.stderr
    assert not file.with_suffix(".db").exists()

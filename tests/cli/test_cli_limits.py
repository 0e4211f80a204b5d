"""The limits of `ingest`: as options, and in what it says at the end."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import webtable
from hostile import EMPTY_MEMBER, page
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


def ingest(file: Path, *limits: str, options: Sequence[str] = ()):
    given = [*options, *(part for limit in limits for part in ("--limit", limit))]
    return CliRunner().invoke(app, ["-s", str(file.with_suffix(".db")), "ingest", str(file), *given])


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


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_file_over_a_limit_is_not_called_damaged_and_the_option_that_reads_it_is_named(file, workers):
    packed = file.with_name("crawl.warc.gz")
    packed.write_bytes(gzip.compress(file.read_bytes()) + EMPTY_MEMBER * 30)
    options = ["--workers", workers, "--dry-run"]

    limited = ingest(packed, "members=20", options=options)
    (option,) = re.findall(r"--limit (members)=", limited.stderr)
    read = ingest(packed, f"{option}=40", options=options)

    assert (limited.exit_code, read.exit_code) == (1, 0)
    assert "over a limit: " in limited.stderr
    assert "1 file over a limit" in limited.stdout
    assert "damaged" not in limited.output


def test_pages_within_the_limits_are_stored_without_a_word_of_them(file):
    done = ingest(file)

    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("limit", ["parsed", "size=1MB", "parsed=much", "parsed=0", "seconds=soon", "seconds=-1"])
def test_a_limit_that_is_none_is_refused_before_anything_is_read(file, limit):
    done = ingest(file, limit)

    assert done.exit_code == 2
    assert limit.partition("=")[0] in done.stderr
    assert not file.with_suffix(".db").exists()

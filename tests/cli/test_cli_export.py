"""The command `export`: archives that `ingest` takes back."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def crawl(empty_directory):
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for url in ("https://example.com/", "https://example.com/docs/a", "https://other.example/"):
            writer.put(webtable.Page(url=url, body=b"<title>T</title>", content_type="text/html", fetched_at=AT))


def names(folder="out"):
    return sorted(path.name for path in Path(folder).iterdir())


def test_what_is_exported_is_ingested_again(run):
    done = run("export", "out", "all")

    assert (done.code, done.lines[0].partition(" of ")[0]) == (0, "3 pages, 3 captures in 1 file")
    assert names() == ["manifest.json", "webtable-00001.warc.gz"]
    again = run("-s", "again.db", "ingest", "out/webtable-00001.warc.gz")
    assert again.code == 0
    assert run("-s", "again.db", "pages", "all").raw == run("pages", "all").raw


def test_an_index_comes_with_cdxj_and_a_file_ends_where_it_is_told(run):
    done = run("export", "out", "all", "--format", "cdxj", "--max-file", "1")

    assert done.code == 0
    assert names() == ["index.cdxj", *(f"webtable-0000{number}.warc.gz" for number in (1, 2, 3))]


def test_a_name_that_ends_with_wacz_is_one_and_a_directory_of_a_host_is_chosen(run):
    done = run("export", "docs.wacz", "https://example.com/docs/")

    assert (done.code, done.lines[0].partition(",")[0]) == (0, "1 page")
    assert "indexes/index.cdx" in zipfile.ZipFile("docs.wacz").namelist()


@pytest.mark.usefixtures("large_store")
def test_a_large_table_is_written_only_when_that_is_said(run):
    done = run("export", "out")

    assert done.code == 2
    assert "ALL for every page" in done.err
    assert not Path("out").exists()


def test_a_directory_with_files_in_it_is_refused(run):
    done = run("export", ".", "all")

    assert done.code == 2
    assert "name a new or empty one" in done.err
    assert names(".") == ["webtable.db"]


@pytest.mark.parametrize("form", ["warc", "cdxj"])
def test_captures_that_are_too_long_for_warc_are_counted_and_the_exit_code_says_so(run, form):
    links = tuple(webtable.Link(f"https://other.example/{'x' * 400}/{number}") for number in range(1_000))
    with webtable.open("webtable.db") as table:
        table.put(webtable.Page(url="https://example.com/a.pdf", body=b"%PDF", content_type="x/y", outlinks=links))

    done = run("export", "out", "all", "--format", form)

    assert done.code == 1
    assert "1 capture without all of its links or texts" in done.err
    if form == "warc":
        assert json.loads(Path("out/manifest.json").read_bytes())["incomplete"] == 1

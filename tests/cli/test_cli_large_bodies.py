"""Bodies over a limit: named page by page, with the options of the command that it was; the others are stored."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from running import Run

import webtable
from hostile import record, response
from webtable import Page
from webtable.store import open_store

NOW = datetime.now(UTC).replace(microsecond=0)
PDF = "application/pdf"
BODIES = {"a": 12_000_000, "b": 100, "c": 13_000_000}
URLS = {name: f"https://example.com/{name}.pdf" for name in BODIES}


@pytest.fixture
def crawl() -> str:
    """A store of three pages in a file, two of them over the limit of HBase."""
    with webtable.open("crawl.db", create=True) as table, table.writer() as writer:
        for name, size in BODIES.items():
            writer.put(Page(url=URLS[name], body=os.urandom(size), content_type=PDF, fetched_at=NOW))
    return "crawl.db"


@pytest.fixture
def warc() -> str:
    """A WARC file with the same pages."""
    blocks = (
        record(response(os.urandom(size)).replace(b"text/html", PDF.encode()), URLS[name])
        for name, size in BODIES.items()
    )
    Path("crawl.warc").write_bytes(
        b"".join(blocks).replace(b"2026-03-01T10:20:30Z", f"{NOW:%Y-%m-%dT%H:%M:%SZ}".encode())
    )
    return "crawl.warc"


@pytest.fixture(params=["file", pytest.param("hbase", marks=pytest.mark.hbase)])
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a table that is not there yet, with the limit of HBase."""
    if request.param == "file":
        yield "sqlite:target.db?max_cell=10MiB"
        return
    url, name = request.getfixturevalue("hbase_url"), f"bodies_{uuid.uuid4().hex[:8]}"
    base, _, query = url.partition("?")
    yield f"{base.rstrip('/')}/{name}?{query}"
    with open_store(url)[0] as store:
        for table in store.tables():
            if table.startswith(name):
                store.drop_table(table)


def stored(url: str) -> list[str]:
    with webtable.open(url) as table:
        return [page.url for page in table.pages(webtable.ALL)]


def refused(run_err: str) -> list[str]:
    return [line for line in run_err.splitlines() if line.startswith("not stored: ")]


def test_ingest_stores_large_pdfs_in_a_file(run: Run, warc: str):
    done = run("-s", "new.db", "ingest", warc, "--types", "all")

    assert (done.code, done.err) == (0, "")
    with webtable.open("new.db") as table:
        assert {page.url: page.size for page in table.pages(webtable.ALL)} == {
            URLS[name]: size for name, size in BODIES.items()
        }


def test_ingest_names_each_page_over_the_limit_and_its_own_option(run: Run, warc: str, target: str):
    run("-s", target, "create")

    done = run("-s", target, "ingest", warc, "--types", "all")

    assert done.code == 1
    first, second = refused(done.err)
    assert first.startswith(f"not stored: 2 pages (CellTooLarge), the first: {URLS['a']}: ")
    assert second.startswith(f"not stored: {URLS['c']}: ")
    assert all(line.endswith("the limit is 10,420,224; ingest --max-body cuts long bodies") for line in (first, second))
    assert stored(target) == [URLS["b"]]
    assert run("-s", target, "ingest", warc, "--types", "all", "--max-body", "5MB").code == 0
    assert stored(target) == list(URLS.values())


def test_copy_names_each_page_over_the_limit_and_copies_the_others(run: Run, crawl: str, target: str):
    done = run("copy", crawl, target)

    assert done.code == 1
    lines = refused(done.err)
    assert [line.split(": ")[1] for line in lines] == [URLS["a"], URLS["c"]]
    assert all("; the limit is 10,420,224; " in line for line in lines)
    assert "2 not stored" in done.out
    assert stored(target) == [URLS["b"]]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "warc"])
def test_import_names_each_page_over_the_limit_and_stores_the_others(run: Run, crawl: str, target: str, form: str):
    run("-s", crawl, "export", "out", "all", "--format", form)

    done = run("-s", target, "import", "out")

    assert done.code == 1
    first, second = refused(done.err)
    assert first.startswith(f"not stored: 2 pages (CellTooLarge), the first: {URLS['a']}: ")
    assert second.startswith(f"not stored: {URLS['c']}: ")
    assert all("; the limit is 10,420,224; " in line for line in (first, second))
    assert stored(target) == [URLS["b"]]


@pytest.mark.slow
def test_import_takes_a_limit_for_the_export_of_a_stranger(run: Run, crawl: str):
    run("-s", crawl, "export", "out", "all", "--format", "warc")

    done = run("-s", "again.db", "import", "out", "--limit", "record=5MB")

    assert done.code == 1
    assert "over a limit: 2 records skipped (record 2); --limit record=… sets another one" in done.err
    assert stored("again.db") == [URLS["b"]]


def test_a_record_over_the_limit_of_readers_is_skipped_and_the_option_is_named(run: Run):
    block = response(bytes(25_200_000)).replace(b"text/html", PDF.encode())
    Path("large.warc").write_bytes(record(block, "https://example.com/large.pdf"))

    done = run("-s", "new.db", "ingest", "large.warc", "--types", "all")
    again = run("-s", "new.db", "ingest", "large.warc", "--types", "all", "--limit", "record=64MB")

    assert "over a limit: 1 record skipped (record 1); --limit record=… sets another one" in done.err
    assert (done.code, again.code) == (1, 0)
    assert stored("new.db") == ["https://example.com/large.pdf"]


def test_a_url_that_looks_like_the_option_is_left_as_it_is(run: Run):
    url = "https://example.com/?max_body=1"
    block = response(os.urandom(2_000_000)).replace(b"text/html", PDF.encode())
    Path("one.warc").write_bytes(record(block, url))

    done = run("-s", "sqlite:small.db?max_cell=1MiB", "ingest", "one.warc", "--types", "all")

    assert refused(done.err)[0].split(": ")[2] == url

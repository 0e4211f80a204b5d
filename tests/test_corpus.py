"""The real web corpus, ingested into every store and held against the files, which are read without webtable."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

import webtable
from nightly import NIGHTLY
from webtable import Page, WebTable
from webtable.formats import ReadReport, read_pages
from webtable.indexes import WEB_INDEXES
from webtable.rowkey import canonical_url

pytestmark = pytest.mark.corpus


@dataclass(frozen=True)
class Record:
    """A response as it is in a WARC file."""

    status: int
    body: bytes
    fetched_at: datetime
    last_modified: datetime | None
    etag: str | None


@pytest.fixture(scope="module")
def records(warc_files: list[Path]) -> dict[str, Record]:
    """What went in, by canonical URL."""
    from warcio.archiveiterator import ArchiveIterator

    found: dict[str, Record] = {}
    for file in warc_files:
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    modified = record.http_headers.get_header("Last-Modified")
                    found[canonical_url(record.rec_headers.get_header("WARC-Target-URI"))] = Record(
                        int(record.http_headers.get_statuscode()),
                        record.content_stream().read(),
                        datetime.fromisoformat(record.rec_headers.get_header("WARC-Date")),
                        parsedate_to_datetime(modified) if modified else None,
                        record.http_headers.get_header("ETag"),
                    )
    assert {record.status for record in found.values()} == {200, 404}
    return found


@pytest.fixture(scope="module")
def table(adapter: str, warc_files: list[Path], request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[WebTable]:
    """The sites, ingested."""
    name = f"corpus_{uuid.uuid4().hex[:8]}"
    if adapter == "sqlite":
        url = str(tmp_path_factory.mktemp("store") / "corpus.db")
    else:
        base, _, query = request.getfixturevalue("hbase_url").partition("?")
        url = f"{base.rstrip('/')}/{name}" + f"?{query}"
    with webtable.open(url, create=True, indexes=tuple(WEB_INDEXES)) as table:
        report = ReadReport()
        with table.writer() as writer:
            for file in warc_files:
                for page in read_pages(file, report=report):
                    writer.put(page)
        assert (report.damaged_count, report.left_out.total()) == (0, 0)
        assert report.skipped + report.unparsed + report.shortened == {}
        yield table
        for made in [one for one in table.store.tables() if one.startswith(name)]:
            table.store.drop_table(made)


def of_host(records: dict[str, Record], host: str, path: str = "/") -> dict[str, Record]:
    return {url: record for url, record in records.items() if url.startswith(f"https://{host}{path}")}


def as_recorded(page: Page) -> Record:
    return Record(page.status, page.body or b"", page.fetched_at, page.last_modified, page.etag)


@pytest.fixture(scope="module")
def hosts(records: dict[str, Record]) -> list[str]:
    return sorted({url.split("/")[2] for url in records})


def test_every_page_of_a_host_comes_out_byte_for_byte(table: WebTable, records: dict[str, Record], hosts: list[str]):
    assert len(hosts) >= 2
    for host in hosts if NIGHTLY else hosts[:2]:
        found = list(table.pages(host, columns=["body"]))

        assert [page.url for page in found] == sorted((page.url for page in found), key=table.key.encode)
        assert {page.url: as_recorded(page) for page in found} == of_host(records, host)


def test_directories_hold_their_pages_and_no_others(table: WebTable, records: dict[str, Record]):
    directories = {url.rpartition("/")[0] + "/" for url in records}
    assert len(directories) >= 4
    for directory in sorted(directories):
        _, _, host, path = directory.split("/", 3)

        found = list(table.pages(f"https://{host}/{path}", columns=["body"]))

        assert len(found) == len({page.url for page in found})
        assert {page.url: as_recorded(page) for page in found} == of_host(records, host, f"/{path}")


def test_titles_and_links_are_those_of_the_pages(table: WebTable, records: dict[str, Record], hosts: list[str]):
    pages = [page for host in hosts for page in table.pages(host, columns=["body", "outlinks"])]

    assert [page.url for page in pages if page.title is None] == [
        page.url for page in pages if not re.search(rb"<title>\s*[^<\s]", page.body or b"")
    ]
    assert all(page.outlink_count == len(page.outlinks or ()) for page in pages)
    # The corpus has a record of its own for each link that leads nowhere.
    linked = {link.url for page in pages for link in page.outlinks or ()}
    missing = {url for url, record in records.items() if record.status == 404}
    assert missing
    assert missing <= linked


def test_a_listing_leaves_the_bodies_out(table: WebTable, records: dict[str, Record], hosts: list[str]):
    for host in hosts:
        found = list(table.pages(host))

        assert {page.url for page in found} == set(of_host(records, host))
        assert all(page.body is None and page.outlinks is None for page in found)
        assert {page.url: page.size for page in found} == {
            url: len(record.body) for url, record in of_host(records, host).items()
        }


def test_batches_put_together_are_the_whole_host(table: WebTable, records: dict[str, Record]):
    urls: list[str] = []
    after = None
    while True:
        batch = table.pages("git-scm.com", after=after).page(size=37)
        urls += [page.url for page in batch]
        after = batch.next_token
        if after is None:
            break

    assert urls == sorted(of_host(records, "git-scm.com"), key=table.key.encode)


def test_every_url_is_found_by_itself(table: WebTable, records: dict[str, Record]):
    urls = list(records)[::17]

    found = list(table.get_many(urls))

    assert [page and as_recorded(page) for page in found] == [records[url] for url in urls]
    assert table.get("https://git-scm.com/docs/no-such-page.html") is None


def test_a_second_ingest_changes_nothing(table: WebTable, warc_files: list[Path], hosts: list[str]):
    before = [list(table.pages(host, columns=["body", "outlinks"])) for host in hosts]

    with table.writer() as writer:
        for page in read_pages(min(warc_files, key=lambda file: file.stat().st_size)):
            writer.put(page)

    assert [list(table.pages(host, columns=["body", "outlinks"])) for host in hosts] == before
    assert all(page.fetched_at < datetime.now(UTC) for pages in before for page in pages)

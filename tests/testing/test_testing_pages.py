"""The sample pages and the WARC files for users' tests."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime

import msgspec
import pytest
from warcio.archiveiterator import ArchiveIterator

import webtable
from webtable import Page
from webtable.errors import InvalidArgument
from webtable.formats import ReadReport, read_pages
from webtable.testing import sample_pages, write_warc

URL = "https://example.com/"
HTML = {"Content-Type": "text/html"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.warc.gz"


def read(path):
    """Return the pages of the file, which must be whole and as its digests say."""
    report = ReadReport()
    pages = list(read_pages(path, types=None, report=report, verify_digests=True))
    assert report.damaged_count == 0, report
    return pages


def test_sample_pages_are_read_from_a_warc_file_as_they_were_written(path):
    pages = sample_pages()

    found = read(write_warc(path, pages))

    told = ("url", "status", "body", "headers", "content_type", "charset", "fetched_at")
    told += ("etag", "last_modified", "redirect_to", "truncated", "same_as")
    expected = [{name: getattr(page, name) for name in told} for page in pages]
    assert [{name: getattr(page, name) for name in told} for page in found] == expected


def test_sample_pages_can_be_stored_and_the_304_keeps_the_content_of_the_first(tmp_path):
    pages = sample_pages()

    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        with table.writer() as writer:
            writer.put_many(pages)
        home = table.get(URL)
        russian = table.get("https://example.com/privet")
        statuses = sorted(page.status for page in table.pages("example.com"))
        cut = table.get("https://example.com/long")

    assert home.body == pages[0].body
    assert home.fetched_at == pages[-1].fetched_at
    assert len(home.outlinks) == 5
    assert russian.title == "Привет"
    assert statuses == [200, 200, 200, 200, 200, 301, 404]
    assert cut.truncated


def test_sample_pages_end_at_the_moment_that_is_given():
    until = datetime(2026, 3, 1, 12, tzinfo=UTC)

    pages = sample_pages(until)

    assert pages[-1].fetched_at == until
    assert [page.fetched_at for page in pages] == sorted({page.fetched_at for page in pages})


def test_each_record_is_a_gzip_member_of_its_own(path):
    data = write_warc(path, sample_pages()).read_bytes()

    members = []
    while data:
        member = zlib.decompressobj(31)
        members.append(member.decompress(data))
        data = member.unused_data

    assert [member[:9] for member in members] == [b"WARC/1.1\r"] * len(sample_pages())


def test_warcio_reads_the_records_and_their_digests(path):
    write_warc(path, sample_pages())

    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests=True):
            record.content_stream().read()
            status = record.http_headers.get_statuscode()
            found.append((record.rec_type, int(status), record.digest_checker.passed))

    *responses, last = found
    assert responses == [("response", page.status, True) for page in sample_pages()[:-1]]
    assert last[:2] == ("revisit", 304)
    assert last[2] is not False  # of a record without a body warcio checks nothing


def test_a_tuple_is_written_as_it_is(path):
    headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("Vary", "a"), ("Vary", "b")]
    body = gzip.compress(b"<title>Packed</title>")

    (found,) = read(write_warc(path, [(URL, 203, headers, body)]))

    assert (found.status, found.title, found.headers["vary"]) == (203, "Packed", "a, b")
    assert body in gzip.decompress(path.read_bytes())


def test_a_tuple_can_be_a_response_whose_body_is_not_what_its_headers_say(path):
    report = ReadReport()
    write_warc(path, [(URL, 200, HTML | {"Content-Encoding": "gzip"}, b"no gzip"), (f"{URL}a", 999, HTML, b"<p>")])

    pages = [(page.status, page.body, page.truncated) for page in read_pages(path, report=report)]

    assert pages == [(200, b"no gzip", True), (999, b"<p>", False)]
    assert report.truncated.total() == 1


def test_a_page_of_an_encoded_response_is_written_without_the_encoding(path):
    headers = {"Content-Type": "application/pdf", "content-encoding": "gzip", "Content-Length": "7", "Server": "x"}

    (found,) = read(write_warc(path, [Page(url=URL, headers=headers, body=b"%PDF-1.4")]))

    assert found.body == b"%PDF-1.4"
    assert found.headers == {"Content-Type": "application/pdf", "Server": "x"}


def test_what_only_the_fields_of_a_page_tell_is_in_its_headers(path):
    modified = datetime(2026, 3, 1, 12, tzinfo=UTC)
    page = Page(url=URL, content_type="text/html", charset="koi8-r", etag='"7"', last_modified=modified, body=b"<p>")
    moved = Page(url=f"{URL}old", status=308, redirect_to=URL)

    found, leads = read(write_warc(path, [page, moved]))

    assert (found.content_type, found.charset, found.etag, found.last_modified) == (
        "text/html",
        "koi8-r",
        '"7"',
        modified,
    )
    assert leads.redirect_to == URL


def test_a_page_that_repeats_another_one_is_a_revisit(path):
    page = Page(url=f"{URL}copy", headers=HTML, same_as=URL)

    (found,) = read(write_warc(path, [page]))

    assert (found.status, found.same_as, found.body) == (200, URL, None)


def test_a_page_whose_body_was_not_asked_for_is_refused_and_no_file_is_made(path):
    page = msgspec.structs.replace(sample_pages()[0], body=None, has_body=True)

    with pytest.raises(InvalidArgument, match="asked for"):
        write_warc(path, [page])

    assert not path.exists()

"""ARC files, versions 1 and 2: read like WARC, and what is wrong in them is counted and never becomes a body."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime

import pytest
from warcio.archiveiterator import ArchiveIterator

from webtable.errors import FormatError
from webtable.formats import ReadLimits, ReadReport, read_pages

URL = "http://example.com/"
VERSION_1 = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
VERSION_2 = (
    b"2 0 InternetArchive\n"
    b"URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n"
)


def answer(title: str = "A page", *headers: str, status: str = "200 OK", line_end: str = "\r\n") -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: text/html", *headers, "", ""]
    return line_end.join(head).encode() + f"<title>{title}</title>".encode()


def version_block(block: bytes = VERSION_1, size: int | None = None) -> bytes:
    length = len(block) if size is None else size
    return f"filedesc://crawl.arc 0.0.0.0 20200101000000 text/plain {length}\n".encode() + block + b"\n"


def record(
    path: str = "",
    block: bytes | None = None,
    date: str = "20200102030405",
    wrong_by: int = 0,
    media: str = "text/html",
) -> bytes:
    block = answer() if block is None else block
    url = path if ":" in path else URL + path
    return f"{url} 192.0.2.1 {date} {media} {len(block) + wrong_by}\n".encode() + block + b"\n"


def record_2(path: str = "", location: str = "-", status: str = "200") -> bytes:
    block = answer()
    fields = f"{URL}{path} 192.0.2.1 20200102030405 text/html {status} 0a1b {location} 1234 crawl.arc {len(block)}"
    return f"{fields}\n".encode() + block + b"\n"


def read(data: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, **options)), report


def paths(pages) -> list[str]:
    return [page.url.removeprefix(URL) for page in pages]


FILE = (
    version_block() + b"".join(map(record, "abc")) + record("dns:example.com", b"20200101 192.0.2.1", media="text/dns")
)


@pytest.mark.parametrize(
    "data",
    [
        FILE,
        gzip.compress(FILE),
        b"".join(map(gzip.compress, [version_block(), *map(record, "abc"), record("dns:example.com", b"1")])),
        FILE.replace(b"\n\n", b"\n"),
        FILE + b"\n\n",
    ],
    ids=["plain", "one member", "a member a record", "without empty lines", "with more of them"],
)
def test_the_pages_of_an_arc_file_are_read_and_the_other_records_counted(data):
    pages, report = read(data)

    assert paths(pages) == ["a", "b", "c"]
    assert (pages[0].title, pages[0].status, pages[0].content_type) == ("A page", 200, "text/html")
    assert pages[0].fetched_at == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (report.records, report.damaged_count, report.left_out) == (5, 0, {"filedesc": 1, "dns": 1})


@pytest.mark.parametrize(
    "line",
    [
        f"{URL}a 192.0.2.1 20200102030405 text/html",
        f"{URL}a b 192.0.2.1 20200102030405 text/html",
        f"{URL}a 192.0.2.1 202001020304 text/html",
        f"{URL}a 0.0.0.0 20200102030405 no-type",
        f"{URL}a - 20200102030405 text/html",
    ],
)
def test_version_1_is_read_as_warcio_reads_it(line):
    block = answer()
    data = version_block() + f"{line} {len(block)}\n".encode() + block + b"\n"

    (page,), _ = read(data)

    _, expected = list_with_warcio(data)
    assert (page.url, f"{page.fetched_at:%Y-%m-%dT%H:%M:%SZ}", page.body) == expected


def list_with_warcio(data: bytes):
    return [
        (
            record.rec_headers.get_header("WARC-Target-URI"),
            record.rec_headers.get_header("WARC-Date"),
            record.content_stream().read(),
        )
        for record in ArchiveIterator(io.BytesIO(data), arc2warc=True)
    ]


# warcio takes the fields before the last four for the URL.
@pytest.mark.parametrize("location", ["-", "http://example.com/there"])
def test_version_2_is_read_by_its_specification(location):
    data = version_block(VERSION_2) + record_2("a", location, "301") + record_2("b c", location)

    pages, report = read(data)

    assert paths(pages) == ["a", "b%20c"]
    assert (pages[0].title, pages[0].fetched_at.year, report.damaged_count) == ("A page", 2020, 0)


@pytest.mark.parametrize("size", [None, 0, 20, len(VERSION_1) + 1], ids=["all", "nothing", "one line", "the end too"])
@pytest.mark.parametrize("metadata", [b"", b"<?xml version='1.0'?>\n<arcmetadata>\n</arcmetadata>\n"])
def test_the_length_of_the_first_record_counts_from_any_of_its_lines(size, metadata):
    block = VERSION_1 + metadata if size is None else VERSION_1

    pages, report = read(version_block(block, size) + record("a"))

    assert (paths(pages), report.damaged_count) == (["a"], 0)


@pytest.mark.parametrize("wrong_by", [-30, 30, 150, 1_000_000])
@pytest.mark.parametrize(
    "packed",
    [b"".join, lambda parts: gzip.compress(b"".join(parts)), lambda parts: b"".join(map(gzip.compress, parts))],
    ids=["plain", "one member", "a member a record"],
)
def test_after_a_wrong_length_the_next_record_is_read_and_no_wrong_body(wrong_by, packed):
    data = packed([version_block(), record("a", wrong_by=wrong_by), *map(record, "bcdef")])

    pages, report = read(data)

    assert paths(pages) == ["b", "c", "d", "e", "f"]
    assert report.records == 7
    assert {page.body for page in pages} == {b"<title>A page</title>"}
    assert report.damaged_count == 1
    assert "does not lead to the next record" in report.damaged[0].reason


def test_what_is_no_record_is_skipped_and_its_bytes_are_counted():
    junk = b"some bytes\nof something else\n" * 1_000

    pages, report = read(version_block() + record("a") + junk + record("b"))

    assert paths(pages) == ["a", "b"]
    assert (report.damaged_count, report.bytes_skipped) == (1, len(junk))


def test_after_a_damaged_member_the_next_one_is_read():
    members = list(map(gzip.compress, [version_block(), *map(record, "abc")]))
    members[2] = members[2][:20] + b"\xff" * 20 + members[2][40:]

    pages, report = read(b"".join(members))

    assert paths(pages) == ["a", "c"]
    assert (report.damaged_count, report.bytes_skipped) == (1, len(members[2]))


@pytest.mark.parametrize("cut", [-3, -40, -110])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_cut_file_gives_the_pages_before_and_an_error(cut, packed):
    pages = []

    with pytest.raises(FormatError, match=r"ends inside|no record begins|damaged"):
        for page in read_pages(io.BytesIO(packed(version_block() + record("a") + record("b"))[:cut])):
            pages.append(page)

    assert paths(pages) in ([], ["a"])


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_reading_goes_on_at_any_record(packed):
    data = b"".join(map(packed, [version_block(), *map(record, "abc")]))
    report = ReadReport()
    pages = read_pages(io.BytesIO(data), report=report)

    first = next(pages)

    assert paths([first]) == ["a"]
    assert report.place.offset > 0
    assert paths(read_pages(io.BytesIO(data), start=report.place)) == ["b", "c"]


@pytest.mark.parametrize(
    ("block", "body"),
    [
        (
            answer("x", "Content-Encoding: gzip").partition(b"<")[0] + gzip.compress(b"<title>x</title>"),
            b"<title>x</title>",
        ),
        (answer("x", line_end="\n"), b"<title>x</title>"),
        (b"<html><title>x</title>", b"<html><title>x</title>"),
    ],
    ids=["in gzip", "line feeds", "HTTP/0.9"],
)
def test_a_response_is_read_as_one_in_a_warc_file(block, body):
    (page,), _ = read(version_block() + record("a", block))

    assert (page.body, page.title, page.status) == (body, "x", 200)


@pytest.mark.parametrize("date", ["20200199000000", "20201301000000", "20200101996161"])
def test_an_impossible_date_is_damage(date):
    pages, report = read(version_block() + record("a", date=date) + record("b"))

    assert (paths(pages), report.damaged_count) == (["b"], 1)
    assert f"its date '{date}' is not a date" in str(report.damaged[0])


def test_an_impossible_date_has_a_date_for_it():
    fallback = datetime(2009, 3, 6, tzinfo=UTC)

    pages, report = read(version_block() + record("a", date="20200199000000"), date_fallback=fallback)

    assert ([page.fetched_at for page in pages], report.redated) == ([fallback], 1)


def test_a_list_of_addresses_in_a_document_of_a_wrong_length_begins_no_record():
    lines = b"".join(b"http://example.com/%d 20200101 word\n" % number for number in range(1_000))
    data = version_block() + record("list", answer() + lines, wrong_by=-3_000) + record("a")

    pages, report = read(data)

    assert (paths(pages), report.damaged_count) == (["a"], 1)


def test_a_large_document_of_a_wrong_length_takes_no_record_with_it():
    film = answer().replace(b"text/html", b"video/mp4") + bytes(3 << 20)
    data = version_block() + record("film", film, wrong_by=70_000) + b"".join(map(record, "abc"))

    pages, report = read(data)

    assert (paths(pages), report.damaged_count) == (["a", "b", "c"], 1)


def test_a_record_over_a_limit_is_skipped_and_the_next_one_read():
    large = answer("x" * 10_000)

    pages, report = read(version_block() + record("a", large) + record("b"), limits=ReadLimits(record=5_000))

    assert (paths(pages), report.skipped) == (["b"], {"record": 1})


def test_lines_that_promise_more_than_there_is_are_not_read_again_and_again():
    line = f"{URL} 192.0.2.1 20200102030405 text/html 900000\n".encode()
    report = ReadReport()

    with pytest.raises(FormatError, match=r"ends inside|no record begins"):
        list(read_pages(io.BytesIO(version_block() + line * 15_000), report=report))

    assert report.pages == 0

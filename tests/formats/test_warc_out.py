"""Tables out as WARC files: read again they make the same table, and other readers find nothing wrong in them."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from fastwarc.warc import ArchiveIterator as FastArchiveIterator
from fastwarc.warc import WarcRecordType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_warc import record, response
from warc_folder import write_warc
from warcio.archiveiterator import ArchiveIterator

import webtable
from nightly import examples
from webtable import Link, Page
from webtable.errors import FullScanNeeded
from webtable.formats import ReadReport, read_pages
from webtable.page.json_lines import values_of
from webtable.repository.answers.columns import PAGE_COLUMNS

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
SECOND, MILLISECOND = timedelta(seconds=1), timedelta(milliseconds=1)
URL = "https://example.com/page"
# The first capture of all may be one that is not kept, and hints are dated by what was written before.
NOT_KEPT = {"first_seen", "inlinks_at", "hints_at", "link_counts", "unchanged", "has_late"}


def new_table():
    return webtable.open(f"memory:{uuid.uuid4().hex}", create=True, ttl=None, versions=50, indexes=[])


def stored(table, pages):
    """Put *pages* into *table* in the order of their dates, as they were crawled."""
    with table.writer() as writer:
        writer.put_many(pages)
    return table


def content(table):
    """Return all that a table tells of its pages and their versions."""
    columns = [name for name in PAGE_COLUMNS if name not in NOT_KEPT]
    everything = table.pages(webtable.ALL, columns=["body", "outlinks"])
    return {
        page.url: (
            values_of(page, columns),
            [values_of(version, columns) for version in table.history(page.url, columns=["body", "outlinks"])],
        )
        for page in everything
    }


def out_and_in(table, folder, **options):
    """Return a new table of what is read from the WARC files of *table*."""
    write_warc(table, folder, webtable.ALL, **options)
    again = new_table()
    for file in sorted(folder.glob("*.warc.gz")):
        stored(again, read_pages(file, types=None, verify_digests=True))
    return again


def checked_by_warcio(folder):
    """Return the types of all records, each with its target; raises where a digest is wrong or a record is cut."""
    found = []
    for file in sorted(folder.glob("*.warc.gz")):
        with file.open("rb") as stream:
            for one in ArchiveIterator(stream, check_digests="raise"):
                one.content_stream().read()
                assert one.digest_checker.passed is not False
                found.append((one.rec_type, one.rec_headers.get_header("WARC-Target-URI")))
    return found


def page_of(block, at=START, **fields):
    (page,) = read_pages_of(record(block, WARC_Date=at.isoformat(), **fields))
    return page


def read_pages_of(data):
    return list(read_pages(io.BytesIO(data), types=None))


def test_versions_repeats_redirects_errors_and_304s_come_back_as_they_were(tmp_path):
    url, other = "https://example.com/a", "https://example.com/b"
    pages = [
        page_of(response(b"<title>one</title><a href=/x>x</a>", 'ETag: "1"', "Vary: a"), START, url=url),
        page_of(response(b"", "Location: /a", status="301 Moved", media=None), START, url=other),
        page_of(response(b"<title>two</title>", 'ETag: "2"'), START + SECOND, url=url),
        page_of(response(b"<title>two</title>", "Date: x"), START + 2 * SECOND + MILLISECOND, url=url),
        page_of(response(b"gone", status="404 Not Found"), START + 3 * SECOND, url=url),
        page_of(response(b"", status="304 Not Modified", media=None), START + 4 * SECOND, url=url),
        page_of(response(b"", "Age: 1", status="304 Not Modified", media=None), START + 5 * SECOND, url=url),
        page_of(response(b"", status="304 Not Modified", media=None), START, url="https://example.com/only-304"),
        page_of(
            response(b"<title>cu", "Content-Length: 99"), START, url="https://example.com/cut", WARC_Truncated="time"
        ),
    ]
    table = stored(new_table(), pages)

    again = out_and_in(table, tmp_path / "out")

    assert content(again) == content(table)
    assert [page.status for page in table.history(url)] == [200, 404, 200, 200]
    assert checked_by_warcio(tmp_path / "out") == [
        ("warcinfo", None),
        *[("response", url)] * 4,
        ("revisit", url),
        ("response", other),
        ("response", "https://example.com/cut"),
        ("response", "https://example.com/only-304"),
    ]


def test_a_charset_stays_that_a_304_has_left_out(tmp_path):
    pages = [
        page_of(response(b"<p>\xe9", media="text/html; charset=latin1"), START),
        page_of(response(b"", status="304 Not Modified", media="text/html"), START + SECOND),
    ]
    table = stored(new_table(), pages)

    again = out_and_in(table, tmp_path / "out")

    assert [one.get(URL).charset for one in (table, again)] == ["windows-1252"] * 2
    assert content(again) == content(table)


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["ETag", "Vary", "X-é", "set-cookie", "Content-Length"]),
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=10),
    ),
    max_size=3,
)
BODIES = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"<title>a</title>", b"<p><a href=/n>n</a>", b"\x1f\x8b", b""])
)
CAPTURES = st.lists(
    st.tuples(
        st.sampled_from(["https://example.com/", "http://www.example.com:8080/é?b=2&a", URL]),
        st.sampled_from(["200 OK", "200", "204 No", "301 Moved", "304 Not Modified", "404 Not Found", "999 What"]),
        BODIES,
        HEADERS,
        st.sampled_from(["text/html", "text/html; charset=latin1", None]),
        st.sampled_from([None, "gzip", "cut", "revisit"]),
        st.integers(1, 2_000),
    ),
    max_size=8,
)


def crawled(captures):
    """Return the WARC file of a crawl, its records in the order of their dates; only what is there is revisited."""
    at, records, last, without_type = START, [], {}, set()
    for url, status, body, headers, media, kind, after in captures:
        at += MILLISECOND * after
        is_revisit = kind == "revisit" and last.get(url) == status
        if "304" not in status:
            last[url] = status
        elif url in without_type:
            # A body that became HTML by a 304 is looked through for links when it is read again.
            media = None
        if media is None:
            without_type.add(url)
        lines = [f"{name}: {value}" for name, value in headers if kind == "cut" or name != "Content-Length"]
        encoded = [f"Content-Encoding: {kind}"] if kind == "gzip" else []
        sent = b"" if is_revisit or "304" in status else gzip.compress(body) if encoded else body
        block = response(sent, *lines, *encoded, status=status, media=media)
        fields = {"WARC_Truncated": "length"} if kind == "cut" else {}
        records.append(record(block, url, "revisit" if is_revisit else "response", WARC_Date=at.isoformat(), **fields))
    return b"".join(records)


@pytest.mark.slow
@settings(max_examples=examples(by_day=20, by_night=50), suppress_health_check=list(HealthCheck))
@given(CAPTURES, st.sampled_from([1, 10**9]))
def test_whatever_was_crawled_comes_back_as_it_was(tmp_path_factory, captures, file_bytes):
    folder = tmp_path_factory.mktemp("warc") / "out"
    table = stored(new_table(), read_pages_of(crawled(captures)))

    again = out_and_in(table, folder, file_bytes=file_bytes)

    assert content(again) == content(table)
    checked_by_warcio(folder)


@pytest.mark.slow
def test_the_sample_web_comes_back_as_it_was(small_web, tmp_path):
    with (
        webtable.open(small_web.store) as table,
        webtable.open(tmp_path / "again.db", create=True, indexes=[]) as again,
    ):
        archived = write_warc(table, tmp_path / "out", webtable.ALL, file_bytes=20_000)
        for file in archived.files:
            stored(again, read_pages(tmp_path / "out" / file, types=None))

        assert content(again) == content(table)
        assert len(checked_by_warcio(tmp_path / "out")) == archived.records + len(archived.files)
    assert archived.files == sorted(archived.files)
    assert len(archived.files) > 2


@pytest.mark.corpus
@pytest.mark.nightly
def test_real_pages_come_back_as_they_were(tmp_path, warc_files):
    table = stored(new_table(), read_pages(warc_files[0], types=None))

    again = out_and_in(table, tmp_path / "out")

    assert content(again) == content(table)
    checked_by_warcio(tmp_path / "out")


def test_a_body_is_written_decoded_and_its_headers_keep_their_names_for_webtable_alone(tmp_path):
    encoded = response(gzip.compress(b"<p>a"), "Content-Encoding: gzip", "Content-Length: 24", "X-A: 1")
    table = stored(new_table(), [page_of(encoded)])

    again = out_and_in(table, tmp_path / "out")

    data = gzip.decompress(next((tmp_path / "out").glob("*.warc.gz")).read_bytes())
    assert (
        b"\r\nX-Archive-Orig-Content-Encoding: gzip\r\nX-Archive-Orig-Content-Length: 24\r\nX-A: 1\r\n\r\n<p>a" in data
    )
    assert dict(again.get(URL).headers) == dict(table.get(URL).headers)


def records_of(folder):
    """Return the records of captures as fastwarc reads them, which needs none of webtable: headers and payload."""
    return [
        (dict(one.headers), one.http_headers.status_code, dict(one.http_headers), one.reader.read())
        for file in sorted(folder.glob("*.warc.gz"))
        for one in FastArchiveIterator(
            io.BytesIO(file.read_bytes()), record_types=WarcRecordType.response | WarcRecordType.revisit
        )
    ]


def test_a_header_cannot_begin_another_one_and_comes_back_as_it_was(tmp_path):
    headers = {"A": "b\r\nSet-Cookie: c\r\n\r\nd"}
    table = stored(new_table(), [Page(url=URL, body=b"x", headers=headers, fetched_at=START)])

    again = out_and_in(table, tmp_path / "out")

    assert again.get(URL).headers == headers
    ((_, _, written, body),) = records_of(tmp_path / "out")
    assert (written, body) == ({"A": "b Set-Cookie: c d"}, b"x")


def test_a_version_without_a_body_is_no_repeat_of_the_one_before_it(tmp_path):
    digest = "blake3:" + "ab" * 32
    pages = [
        Page(url=URL, body=b"<p>old", headers={"Content-Type": "text/html"}, fetched_at=START),
        Page(url=URL, status=404, headers={"X-A": "1"}, fetched_at=START + SECOND),
        Page(url=URL, digest=digest, size=7, fetched_at=START + 2 * SECOND),
        Page(url=URL, body=b"<p>new", headers={"Content-Type": "text/html"}, fetched_at=START + 3 * SECOND),
        Page(url=URL, same_as=URL, fetched_at=START + 4 * SECOND),
    ]
    table = stored(new_table(), pages)

    again = out_and_in(table, tmp_path / "out")

    assert [again.get(URL, as_of=page.fetched_at).body for page in pages] == [b"<p>old", None, None, *[b"<p>new"] * 2]
    _, missing, known, new, repeat = records_of(tmp_path / "out")
    assert (missing[0]["WARC-Type"], missing[0]["WARC-Truncated"]) == ("response", "unspecified")
    assert (missing[1], missing[2], missing[3]) == (404, {"X-A": "1"}, b"")
    assert (known[0]["WARC-Type"], known[0]["WARC-Payload-Digest"]) == ("revisit", digest)
    assert known[0]["WARC-Profile"].endswith("/identical-payload-digest")
    assert [name for name in known[0] if name.startswith("WARC-Refers-To")] == []
    assert (repeat[0]["WARC-Type"], repeat[0]["WARC-Refers-To"]) == ("revisit", new[0]["WARC-Record-ID"])
    assert repeat[0]["WARC-Refers-To-Date"] == new[0]["WARC-Date"]


def test_what_is_not_in_a_body_or_its_headers_comes_back(tmp_path):
    links = (Link("https://other.example/", "elsewhere", "nofollow"),)
    pdf = Page(url=URL, body=b"%PDF", content_type="application/pdf", title="Tïtle", outlinks=links, fetched_at=START)
    table = stored(new_table(), [pdf])

    again = out_and_in(table, tmp_path / "out")

    assert content(again) == content(table)
    assert again.get(URL).outlinks == links


def test_an_ordinary_record_has_no_field_of_webtable(tmp_path):
    html = b'<html lang=en><title>T</title><a href="/x">x</a>'
    headers = {"Content-Type": "text/html; charset=utf-8", "Location": "/y", "ETag": '"1"', "Content-Length": "48"}
    pages = [
        Page(url=f"{URL}/{status}", body=body, status=status, headers=headers, fetched_at=START)
        for status, body in ((200, html), (404, html), (301, html))
    ]

    write_warc(stored(new_table(), pages), tmp_path / "out", webtable.ALL)

    assert [name for one in records_of(tmp_path / "out") for name in one[0] if name.startswith("WebTable")] == []


def test_what_is_too_long_for_a_record_is_left_out_and_counted(tmp_path):
    links = tuple(Link(f"https://other.example/{'x' * 400}/{n}") for n in range(1_000))
    pages = [
        Page(url=URL, body=b"%PDF", content_type="application/pdf", title="T", outlinks=links, fetched_at=START),
        Page(url=f"{URL}/2", body=b"%PDF", content_type="application/pdf", outlinks=links[:9], fetched_at=START),
    ]
    table = stored(new_table(), pages)

    archived = write_warc(table, tmp_path / "out", webtable.ALL)
    again = stored(new_table(), read_pages(tmp_path / "out" / archived.files[0], types=None))

    assert (archived.records, archived.incomplete) == (2, 1)
    assert (again.get(URL).title, again.get(URL).body, again.get(URL).outlinks) == ("T", b"%PDF", None)
    assert again.get(f"{URL}/2").outlinks == links[:9]


@pytest.mark.parametrize(
    "told",
    [
        "",
        "{",
        "[]",
        "1",
        '{"status": 1000}',
        '{"outlinks": [1]}',
        '{"content_at": "2026-01-01T00:00:00"}',
        "[" * 9_999,
    ],
)
def test_a_field_that_cannot_be_read_is_a_damaged_record(told):
    report = ReadReport()

    found = list(read_pages(io.BytesIO(record(response(), WebTable_Page=told)), types=None, report=report))

    assert (found, report.damaged_count) == ([], 1)


def test_a_page_without_a_body_stays_one(tmp_path):
    table = stored(new_table(), [Page(url=URL, headers={"Content-Type": "text/html"}, fetched_at=START)])

    again = out_and_in(table, tmp_path / "out")

    assert (again.get(URL).has_body, again.get(URL).body) == (False, None)


def test_the_pages_are_chosen_as_in_a_listing(tmp_path, large_store):
    urls = ["https://example.com/a/1", "https://example.com/b", "https://sub.example.com/a/2", "https://other.example/"]
    table = stored(new_table(), [Page(url=url, body=b"x", fetched_at=START) for url in urls])

    write_warc(table, tmp_path / "domain", "example.com")
    write_warc(table, tmp_path / "path", "https://example.com/a/")

    assert {url for _, url in checked_by_warcio(tmp_path / "domain")} == {None, *urls[:3]}
    assert {url for _, url in checked_by_warcio(tmp_path / "path")} == {None, urls[0]}
    with pytest.raises(FullScanNeeded):
        write_warc(table, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_damaged_version_is_left_out_and_told(tmp_path):
    from webtable.store import NewCell, Put

    table = stored(new_table(), [Page(url=f"{URL}/{n}", body=b"x" * 99, fetched_at=START) for n in range(3)])
    key, column = table.key.encode(f"{URL}/1"), table._context.codec.columns.body
    (cell,) = table.store.read(table.table, [key])[0].cells[column]
    table.store.write(table.table, [Put(key, [NewCell(column, cell.timestamp, cell.value[:-1] + b"\0\0")])])

    archived = write_warc(table, tmp_path / "out", webtable.ALL)

    assert (archived.pages, archived.records, archived.damaged) == (2, 2, 1)
    assert archived.examples[0].url == f"{URL}/1"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_bodies_that_are_written(tmp_path):
    body = bytes(range(256)) * 4096
    with webtable.open(tmp_path / "large.db", create=True, compression="none", ttl=None, versions=20) as table:
        for number in range(60):
            stored(
                table, [Page(url=f"{URL}/{number % 4}", body=body + b"%d" % number, fetched_at=START + number * SECOND)]
            )
        tracemalloc.start()
        try:
            archived = write_warc(table, tmp_path / "out", webtable.ALL)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert archived.records == 60
    assert peak < 24 * 2**20


def test_a_type_that_only_the_crawler_knew_comes_back(tmp_path):
    table = stored(new_table(), [Page(url=URL, body=b"%PDF", content_type="application/pdf", fetched_at=START)])

    again = out_and_in(table, tmp_path / "out")

    assert (again.get(URL).content_type, dict(again.get(URL).headers)) == ("application/pdf", {})

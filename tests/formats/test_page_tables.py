"""Pages in the files of other crawlers: their columns become fields, and what is wrong in them is named."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import UTC, datetime

import openpyxl
import pandas as pd
import pytest

import webtable
from hostile import workbook
from webtable import ALL, Link, Page
from webtable.errors import FormatError, MissingExtra
from webtable.formats import ReadLimits, ReadReport, read_pages, write

AT = datetime(2026, 11, 1, 10, 0, tzinfo=UTC)
# The names are those of Internal: All, in English.
FROG = [
    {
        "Address": "https://example.com/",
        "Content Type": "text/html; charset=UTF-8",
        "Status Code": 200,
        "Status": "OK",
        "Indexability": "Indexable",
        "Title 1": 'Home, "sweet"\nhome',
        "Title 1 Length": 18,
        "Meta Description 1": "All of it",
        "H1-1": "Welcome",
        "Meta Robots 1": "NOINDEX, follow",
        "X-Robots-Tag 1": "googlebot: nofollow",
        "Canonical Link Element 1": "https://example.com/home",
        "Size (bytes)": 1200,
        "Crawl Depth": 0,
        "Response Time": 0.123,
        "Last Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
        "Redirect URL": "",
        "Language": "en-GB",
        "HTTP Version": "1.1",
        "Crawl Timestamp": "2026-11-01 10:00:00",
    },
    {
        "Address": "https://example.com/old",
        "Content Type": "text/html",
        "Status Code": 301,
        "Status": "Moved Permanently",
        "Redirect URL": "https://example.com/",
        "Crawl Timestamp": "2026-11-01 10:00:00",
    },
    {
        "Address": "https://example.com/away",
        "Content Type": "text/html",
        "Status Code": 200,
        "Redirect URL": "https://example.com/by-script",
        "Crawl Timestamp": "2026-11-01 10:00:00",
    },
]
UNKNOWN = {"Indexability": 1, "Title 1 Length": 1}
LINE = {
    "url": "https://example.com/new",
    "title": "First@@Second",
    "meta_desc": "All of it",
    "h1": "One@@Two",
    "canonical": "/new@@/other",
    "status": 200,
    "size": 512,
    "depth": 2,
    "download_latency": 0.25,
    "links_url": "https://example.com/a@@https://example.com/b",
    "links_text": " A \n link@@B",
    "links_nofollow": "False@@True",
    "header_links_url": "https://example.com/a",
    "header_links_text": "A link",
    "redirect_urls": "http://example.org/new@@https://example.com/moved@@https://example.com/refreshed",
    "redirect_reasons": "301@@302@@meta refresh",
    "resp_headers_Content-Type": "text/html; charset=utf-8",
    "resp_headers_X-Robots-Tag": "noindex",
    "ip_address": "192.0.2.1",
    "crawl_time": "2026-11-01 10:00:00",
    "body_text": "words",
}


def in_csv(rows, delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8-sig")


def in_excel(rows) -> bytes:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append([row.get(name) or None if name != "Crawl Depth" else row.get(name) for name in rows[0]])
    book.create_sheet("notes").append(["url"])
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def read(data: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, **options)), report


FILES = {
    "CSV": in_csv(FROG),
    "CSV of a German Excel": in_csv(FROG, ";"),
    "TSV": in_csv(FROG, "\t"),
    "Excel": in_excel(FROG),
}


@pytest.mark.parametrize("name", FILES)
class TestARowOfScreamingFrog:
    def test_is_a_page_with_all_that_was_found_out_about_it(self, name):
        (home, _, _), report = read(FILES[name])

        assert home.url == "https://example.com/"
        assert (home.status, home.content_type, home.charset) == (200, "text/html", "utf-8")
        assert (home.title, home.description, home.h1) == ('Home, "sweet"\nhome', "All of it", "Welcome")
        assert (home.robots, home.robots_by_bot) == ("noindex, follow", "googlebot: nofollow")
        assert home.robots_for("googlebot") == "noindex, nofollow"
        assert home.canonical == "https://example.com/home"
        assert (home.size, home.depth, home.duration, home.protocol) == (1200, 0, 123, "http/1.1")
        assert home.last_modified == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
        assert home.language == "en-GB"
        assert home.fetched_at == AT
        assert home.body is None
        assert (report.records, report.pages, report.damaged_count) == (3, 3, 0)
        assert report.unknown_fields == UNKNOWN

    def test_has_the_target_of_a_redirect_but_not_that_of_a_script(self, name):
        (_, old, away), _ = read(FILES[name])

        assert (old.status, old.redirect_to) == (301, "https://example.com/")
        assert (away.status, away.redirect_to) == (200, None)

    def test_is_read_again_from_where_reading_stopped(self, name):
        report = ReadReport()
        first = next(read_pages(io.BytesIO(FILES[name]), report=report))

        rest, _ = read(FILES[name], start=report.place)

        assert [first, *rest] == read(FILES[name])[0]


def test_a_row_of_sitebulb_is_a_page_of_the_date_that_is_given():
    row = {"URL": "https://example.com/a", "HTTP Status Code": "404", "HTTP Status": "Not Found", "Title": "Gone"}

    [page], report = read(in_csv([row | {"First Parent URL": "https://example.com/"}]), date_fallback=AT)

    assert (page.status, page.title, page.referrer, page.fetched_at) == (404, "Gone", "https://example.com/", AT)
    assert report.redated == 1


class TestALineOfAdvertools:
    def test_is_a_page_after_the_redirects_that_led_to_it(self):
        pages, report = read(json.dumps(LINE).encode())
        *redirects, page = pages

        assert [(hop.url, hop.status, hop.redirect_to) for hop in redirects] == [
            ("http://example.org/new", 301, "https://example.com/moved"),
            ("https://example.com/moved", 302, "https://example.com/refreshed"),
            ("https://example.com/refreshed", 200, None),
        ]
        assert redirects[2].outlinks == (Link("https://example.com/new", kind="refresh"),)
        assert (page.title, page.description, page.h1) == ("First", "All of it", "One")
        assert (page.canonical, page.other_canonical) == ("https://example.com/new", "https://example.com/other")
        assert page.outlinks == (
            Link("https://example.com/a", "A link", position="header"),
            Link("https://example.com/b", "B", "nofollow"),
        )
        assert (page.robots, page.headers["x-robots-tag"]) == ("noindex", "noindex")
        assert (page.content_type, page.charset) == ("text/html", "utf-8")
        assert (page.size, page.depth, page.duration, page.server_address) == (512, 2, 250, "192.0.2.1")
        assert {capture.fetched_at for capture in pages} == {AT}
        assert (report.records, report.pages) == (1, 4)
        assert report.unknown_fields == {"body_text": 1}

    def test_is_the_same_page_in_the_csv_of_its_data_frame(self):
        frame = pd.read_json(io.StringIO(json.dumps(LINE)), lines=True)

        pages, _ = read(frame.to_csv(index=False).encode())

        assert pages == read(json.dumps(LINE).encode())[0]

    def test_has_for_each_link_the_landmark_that_all_links_to_its_url_are_in(self):
        def joined(names: str) -> str:
            return "@@".join(f"https://example.com/{name}" for name in names)

        landmarks = {"nav_links_url": "bc", "header_links_url": "abcc", "footer_links_url": "d"}
        links = {"links_url": joined("abccde"), "links_text": "A@@B@@C@@C again@@D@@E"}

        [*_, page], report = read(
            json.dumps(LINE | links | {name: joined(names) for name, names in landmarks.items()}).encode()
        )

        assert [(link.anchor, link.position) for link in page.outlinks] == [
            ("A", "header"),
            ("B", "nav"),  # which is in the header
            ("C", ""),  # of the two one is in the navigation
            ("C again", ""),
            ("D", "footer"),
            ("E", ""),
        ]
        assert report.unknown_fields.keys() == {"body_text"}

    def test_without_the_anchor_of_each_link_has_links_without_anchors(self):
        [*_, page], _ = read(json.dumps(LINE | {"links_text": "A@@ @@B"}).encode())

        assert [link.anchor for link in page.outlinks] == ["", ""]

    def test_is_read_again_if_reading_stopped_between_its_redirects(self):
        data = json.dumps(LINE).encode()
        report = ReadReport()
        next(read_pages(io.BytesIO(data), report=report))

        assert read(data, start=report.place)[0] == read(data)[0]

    def test_of_webtable_with_text_like_it_stays_a_page_of_webtable(self):
        line = {"url": "https://example.com/", "fetched_at": "2026-11-01T10:00:00Z", "crawl_time": "2025-01-01"}

        [page], report = read(json.dumps(line).encode())

        assert page.fetched_at == AT
        assert report.unknown_fields == {"crawl_time": 1}

    @pytest.mark.parametrize(("error", "reason"), [("DNSLookupError('x')", "dns"), ("TimeoutError()", "timeout")])
    def test_without_a_response_is_a_failed_fetch(self, error, reason, tmp_path):
        file = tmp_path / "crawl.jl"
        file.write_text(json.dumps({"url": "https://example.com/", "crawl_time": "2026-11-01 10:00", "errors": error}))

        with webtable.open(tmp_path / "crawl.db", create=True) as table:
            report = table.ingest(file)
            [failure] = table.failed(ALL)

        assert (report.stored, report.read.failed_fetches, report.read.pages) == (0, 1, 0)
        assert (failure.url, failure.reason, failure.failed_at) == ("https://example.com/", reason, AT)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_pages_that_webtable_wrote_come_back(ending, tmp_path):
    page = Page(
        url="https://example.com/",
        title='=1+2 "x"\ty',
        description="a\nb\\n",
        headers={"ETag": '"1"', "X-Robots-Tag": "noindex"},
        outlinks=(Link("https://example.com/a", "A", "nofollow"), Link("https://example.com/f", kind="frame")),
        fetched_at=AT,
        truncated=True,
        size=99,
        priority=0.5,
        language="de",
    )
    fields = ("title", "description", "headers", "outlinks", "fetched_at", "truncated", "size", "priority", "language")
    file = tmp_path / f"pages.{ending}"
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(page)
        write(table.pages(ALL), file, columns=["url", *fields, "robots", "change_count", "has_body", "link_counts"])

    [again], report = read(file.read_bytes())

    assert [getattr(again, name) for name in fields] == [getattr(page, name) for name in fields]
    assert again.robots == "noindex"
    assert not report.unknown_fields


class TestATable:
    def test_without_dates_is_refused_with_the_option_that_gives_one(self):
        with pytest.raises(FormatError, match=r"without the dates.*--date-fallback TIME.*date_fallback="):
            read(b"url,title\nhttps://example.com/,T\n")

    @pytest.mark.parametrize("date", ["", "yesterday"])
    def test_names_the_row_whose_date_cannot_be_read(self, date):
        data = f"url,fetched_at\nhttps://example.com/a,{date}\nhttps://example.com/b,2026-11-01\n".encode()

        [page], report = read(data)
        pages, redated = read(data, date_fallback=AT)

        assert page.url == "https://example.com/b"
        assert "line 2" in str(report.damaged[0])
        assert "--date-fallback" in report.damaged[0].reason
        assert [page.fetched_at for page in pages] == [AT, datetime(2026, 11, 1, tzinfo=UTC)]
        assert redated.redated == 1

    def test_without_urls_is_refused_with_the_one_to_take(self, tmp_path):
        file = tmp_path / "all_inlinks.csv"
        file.write_text('"Type","Source","Destination"\n')

        with pytest.raises(FormatError, match="take an export with a row for each page, as Screaming Frog's Internal"):
            list(read_pages(file))

    def test_costs_a_damaged_row_only_that_row(self):
        rows = [
            b'"https://example.com/a","2026-11-01","two\nlines"',
            b"https://example.com/b,2026-11-01",
            b"no URL,2026-11-01,x",
            b"https://example.com/c,2026-11-01,\xff",
            b"https://example.com/d,2026-11-01,x",
            b'https://example.com/e,2026-11-01,"x',
        ]

        pages, report = read(b"url,fetched_at,h1\n" + b"\n".join(rows))

        assert [page.url for page in pages] == ["https://example.com/a", "https://example.com/d"]
        assert [record.offset for record in report.damaged] == [4, 5, 6, 8]
        assert report.records == 6

    def test_has_rows_with_quotes_and_line_ends_in_them(self):
        rows = b'https://example.com/a,2026-11-01,"a ""b""\n""c"" ""\n"\n' + b"https://example.com/b,2026-11-01,x"

        pages, _ = read(b"url,fetched_at,h1\n" + rows)

        assert [page.h1 for page in pages] == ['a "b"\n"c" "\n', "x"]

    def test_goes_on_at_the_line_of_which_it_says_the_number_after_a_row_over_a_limit(self):
        data = b'url,fetched_at,h1\nhttps://example.com/a,2026-11-01,"\n%b\nx\nbroken\n' % (b"x\n" * 500)

        pages, report = read(data, limits=ReadLimits(record=500))

        assert not pages
        assert report.over_limits[0].offset == 2
        assert report.damaged[-1].offset == data.count(b"\n")

    def test_goes_on_after_a_row_over_a_limit(self):
        data = b"url,fetched_at,h1\nhttps://example.com/a,2026-11-01,%b\nhttps://example.com/b,2026-11-01,x\n"

        [page], report = read(data % (b"x" * 2_000), limits=ReadLimits(record=1_000))

        assert page.url == "https://example.com/b"
        assert report.skipped == {"record": 1}

    def test_keeps_as_many_links_as_the_limit(self):
        [*_, page], report = read(json.dumps(LINE).encode(), limits=ReadLimits(links=1))

        assert [link.url for link in page.outlinks] == ["https://example.com/a"]
        assert report.shortened == {"links": 1}


class TestAnExcelFile:
    def test_needs_openpyxl(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "openpyxl", None)

        with pytest.raises(MissingExtra, match=r"hbase-webtable\[excel\]"):
            read(FILES["Excel"])

    def test_that_is_damaged_gives_its_rows_and_then_the_reason(self):
        with pytest.raises(FormatError, match="its sheet cannot be read"):
            read(FILES["Excel"][:200] + bytes(200) + FILES["Excel"][400:])

    def test_reads_no_other_file(self, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text("SECRET")
        doctype = b"<!DOCTYPE x [<!ENTITY i SYSTEM '%b'>]>" % secret.as_uri().encode()
        row = b'<row><c t="inlineStr"><is><t>https://example.com/&i;</t></is></c></row>'

        with pytest.raises(FormatError) as error:
            read(workbook(row, 1, head=doctype))

        assert "SECRET" not in str(error.value)

    def test_comes_as_a_file_and_not_as_a_pipe(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", Pipe(FILES["Excel"]))

        with pytest.raises(FormatError, match="give it as a file"):
            list(read_pages("-"))


class Pipe:
    """Standard input that cannot be sought."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)
        self.buffer.seekable = lambda: False

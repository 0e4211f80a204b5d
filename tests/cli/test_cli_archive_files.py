"""What `ingest` is given: files, directories, patterns, and what it cannot read."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import msgspec
import pytest
import test_arc as arc
import test_har as har
from test_warc import record, response

import webtable


def write(name, *urls):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(record(response(), url) for url in urls)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


@pytest.fixture
def crawls():
    write("crawls/b/CC-MAIN-20260301-00001.warc.gz", "https://example.com/b")
    write("crawls/a/CC-MAIN-20260301-00000.warc.gz", "https://example.com/a")
    write("crawls/a/CC-MAIN-20260301-00000.warc.wat.gz", "https://example.com/wat")
    write("crawls/a/more.warc", "https://example.com/more")
    Path("crawls/a/notes.txt").write_text("no archive")


def urls(run):
    return run("pages", "all", "--columns", "url").urls


def test_a_directory_gives_its_archives_alone(run, crawls):
    done = run("ingest", "crawls/a")

    assert done.code == 0
    assert "from 2 files" in done.out
    assert urls(run) == ["https://example.com/a", "https://example.com/more"]


def test_a_pattern_in_quotes_gives_what_matches(run, crawls):
    done = run("ingest", "crawls/**/CC-MAIN-*.warc.gz")

    assert done.code == 0
    assert urls(run) == ["https://example.com/a", "https://example.com/b"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(run):
    write("a[1].warc.gz", "https://example.com/a")

    assert run("ingest", "a[1].warc.gz").code == 0
    assert urls(run) == ["https://example.com/a"]


def test_an_empty_standard_input_is_said_to_be_empty(run):
    done = run("ingest", "-", stdin=b"")

    assert done.code == 1
    assert done.err == "webtable: standard input: it is empty\n"


def test_an_empty_file_is_said_to_be_empty_and_the_others_are_stored(run):
    Path("empty.warc.gz").touch()
    write("full.warc.gz", "https://example.com/a")

    done = run("ingest", "empty.warc.gz", "full.warc.gz")

    assert (done.code, done.errors) == (1, ["webtable: empty.warc.gz: it is empty"])
    assert urls(run) == ["https://example.com/a"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "crawls/a/CC-MAIN-20260301-00000.warc.wat.gz",
            "a WAT file, which has the metadata of pages and none of their",
        ),
        ("nowhere/*.warc.gz", "no file matches it"),
        ("crawls", "a directory without a WARC, WACZ, ARC, HAR, JSON Lines or Parquet file in it"),
        ("none.warc.gz", "none.warc.gz: no such file"),
        ("s3://bucket/a.warc.gz", "aws s3 cp s3://bucket/a.warc.gz - | webtable ingest -"),
        ("https://example.com/a.warc.gz", "curl -sL https://example.com/a.warc.gz | webtable ingest -"),
        ("ftp://example.com/a.warc.gz", "reads files and fetches nothing; fetch it first, and name the file"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_is_stored(run, crawls, given, told):
    done = run("ingest", "crawls/b/CC-MAIN-20260301-00001.warc.gz", given)

    assert done.code == 2
    assert told in done.err
    assert not Path("webtable.db").exists()


def test_a_directory_of_wat_files_is_told_by_what_they_are(run):
    write("wat/CC-MAIN-20260301-00000.warc.wat.gz", "https://example.com/wat")

    done = run("ingest", "wat")

    assert (done.code, "a WAT file" in done.err) == (2, True)


def write_wacz(name, *files):
    """Write a WACZ file whose WARC files have these URLs, a record each; None is a damaged file."""
    with zipfile.ZipFile(name, "w") as zipped:
        for number, urls in enumerate(files):
            data = b"".join(gzip.compress(record(response(), url)) for url in urls or ())
            zipped.writestr(f"archive/{number}.warc.gz", data if urls else b"damaged")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_warc_files_of_a_wacz_file_are_read_as_files_of_their_own(run, workers):
    write_wacz("crawl.wacz", ["https://example.com/a"], None, ["https://example.com/b", "https://example.com/c"])

    done = run("ingest", ".", "--workers", workers)

    assert (done.code, "crawl.wacz from byte " in done.err) == (1, True)
    assert urls(run) == ["https://example.com/a", "https://example.com/b", "https://example.com/c"]


def test_a_wacz_file_is_resumed_within_it(run):
    write_wacz("crawl.wacz", ["https://example.com/a"], None)
    first = run("ingest", "crawl.wacz", "--resume")
    journal = Path("webtable.db.ingest").read_text()

    again = run("ingest", "crawl.wacz", "--resume")

    assert "1 page stored" in first.out
    assert "0 pages stored" in again.out
    assert '"is_done":true' in journal
    assert urls(run) == ["https://example.com/a"]


def test_a_wacz_file_that_cannot_be_read_is_named_with_the_reason(run):
    write_wacz("crawl.wacz", ["https://example.com/a"])
    data = Path("crawl.wacz").read_bytes()
    Path("crawl.wacz").write_bytes(data[:-10])

    done = run("ingest", "crawl.wacz")

    assert (done.code, "crawl.wacz, byte 0" in done.err, "its zip cannot be read" in done.err) == (1, True, True)


@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--resume",), ("--limit", "record=1MB")])
def test_arc_and_har_files_are_read_as_warc_files_are(run, options):
    Path("crawl").mkdir()
    Path("crawl/a.arc").write_bytes(arc.version_block() + arc.record("a"))
    Path("crawl/b.arc.gz").write_bytes(b"".join(map(gzip.compress, (arc.version_block(), arc.record("b")))))
    Path("crawl/c.har").write_bytes(har.har(har.entry("c"), har.entry("post", method="POST")))
    Path("crawl/d.HAR.gz").write_bytes(gzip.compress(har.har(har.entry("d"))))
    with zipfile.ZipFile("zip.zip", "w") as zipped:
        zipped.writestr("e.arc", arc.version_block() + arc.record("e"))
        zipped.writestr("f.har", har.har(har.entry("f")))
        zipped.writestr("g.warc", record(response(), "https://example.com/g"))

    done = run("ingest", "crawl", "zip.zip", *options)
    again = run("ingest", "crawl", "zip.zip", *options)

    assert (done.code, done.err) == (0, "")
    assert "7 pages stored" in done.out
    assert "from 5 files" in done.out
    assert "POST 1" in done.out
    assert [url.rpartition("/")[2] for url in urls(run)] == list("abcdefg")
    assert ("0 pages stored" in again.out) == ("--resume" in options)


@pytest.mark.parametrize("name", ["crawl.arc", "crawl.arc.gz", "crawl.har", "a pattern"])
def test_arc_and_har_files_are_read_from_standard_input_and_by_a_pattern(run, name):
    data = har.har(har.entry("a")) if "har" in name else arc.version_block() + arc.record("a")
    data = gzip.compress(data) if name.endswith(".gz") else data
    Path("crawl.arc").write_bytes(data)

    done = run("ingest", "*.arc") if name == "a pattern" else run("ingest", "-", stdin=data)

    assert (done.code, len(urls(run))) == (0, 1)


def test_a_damaged_record_of_an_arc_and_of_a_har_file_is_named(run):
    Path("a.arc").write_bytes(arc.version_block() + arc.record("a", wrong_by=30) + arc.record("b"))
    Path("b.har").write_bytes(har.har({}, har.entry("c"))[:-1])

    done = run("ingest", "a.arc", "b.har")

    assert done.code == 1
    assert "a.arc, byte" in done.err
    assert "b.har, byte" in done.err
    assert "the file ends inside its JSON" in done.err
    assert len(urls(run)) == 2


LIST = b'{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}\n'
LISTED = b'{"id": "1", "url": "https://example.com/a", "title": "Old", "ts": "2022-01-02T03:04:05Z"}\n'


@pytest.mark.parametrize("first", [LIST, b"\xef\xbb\xbf" + LIST, LIST.replace(b" ", b""), b"\n" + LIST])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_the_list_of_pages_of_a_wacz_file_is_refused_with_the_command_that_reads_the_archive(run, first, packed):
    write("coll/archive/a.warc", "https://example.com/a")
    Path("coll/pages").mkdir()
    Path("coll/pages/pages.jsonl").write_bytes(packed(first + LISTED))

    done = run("ingest", "coll/*/*")

    assert done.code == 1
    assert "coll/pages/pages.jsonl, byte " in done.err
    assert "webtable ingest crawl.wacz" in done.err
    assert "1 page stored" in done.out
    with webtable.open("webtable.db") as table:
        assert [(page.fetched_at.year, page.title) for page in table.history("https://example.com/a")] == [
            (2026, "A page")
        ]


def test_a_page_that_only_mentions_such_a_list_is_read(run):
    Path("pages.jsonl").write_bytes(msgspec.json.encode({"url": "https://example.com/a", "body": LIST.decode()}))

    assert "1 page stored" in run("ingest", "pages.jsonl").out


def test_the_columns_of_a_table_that_pages_do_not_have_are_one_short_line(run):
    columns = ",".join(f"Column {number}" for number in range(20))
    Path("internal_all.csv").write_text(
        f"Address,Crawl Timestamp,{columns}\nhttps://example.com/,2026-11-01 10:00:00{',x' * 20}\n"
    )

    done = run("ingest", "internal_all.csv")

    assert done.code == 0
    [line] = [line for line in done.err.splitlines() if line.startswith("ignored fields")]
    assert line.endswith("Column 7 1, and 12 more")


def test_a_table_without_dates_is_stored_with_the_date_that_is_given(run):
    Path("urls.csv").write_text("URL,HTTP Status Code,Title\nhttps://example.com/,200,Home\n")

    refused = run("ingest", "urls.csv")
    done = run("ingest", "urls.csv", "--date-fallback", "2026-11-01")

    assert (refused.code, done.code) == (1, 0)
    assert "--date-fallback TIME" in refused.err
    assert run("pages", "all", "--columns", "title,fetched_at").out == "Home\t2026-11-01T00:00:00.000Z\n"

"""Files that have pages, or say something of pages, and are not read: each is named, with what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest
from test_warc import record, response

from webtable.errors import FormatError, InvalidArgument
from webtable.formats import read_pages
from webtable.ingest.files import archive_files

WARC = record(response())
CDX = b"com,example)/a 20260301102030 https://example.com/a text/html 200 3I42H3S6NNFQ2MSV - - 99 0 a.warc.gz\n"
MHTML = (
    b"From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.com/\r\nSubject: =?utf-8?Q?x?=\r\n"
    b'MIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="----x"\r\n\r\n'
)
INFO = record(b"software: x\r\n", kind="warcinfo", media="application/warc-fields")


def packed(mode: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        entry = tarfile.TarInfo("crawl.warc")
        entry.size = len(WARC)
        archive.addfile(entry, io.BytesIO(WARC))
    return data.getvalue()


def zipped(name: str, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        archive.writestr(name, WARC)
    return data.getvalue()


def sqlite() -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE page (url)")
        return database.serialize()


FILES = {
    "WET": (INFO + record(b"text", kind="conversion", media="text/plain"), "a WET file", "take the WARC file"),
    "WAT": (INFO + record(b"{}", kind="metadata", media="application/json"), "a WAT file", "take the WARC file"),
    "Excel of before 2007": (
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504),
        "an Excel file in the format of",
        "as CSV",
    ),
    "MHTML": (MHTML, "an MHTML file", "HAR"),
    "MHTML of Firefox": (
        b"From: x\nMIME-Version: 1.0\nContent-Type: multipart/related; type=x\n",
        "an MHTML file",
        "HAR",
    ),
    "ZIM": (b"ZIM\x04\x06\x00" + bytes(80), "a ZIM file", "take the WARC or WACZ file"),
    "CDX": (b" CDX N b a m s k r M S V g\n" + CDX, "an index (CDX)", "webtable ingest archive"),
    "CDX without its first line": (CDX, "an index (CDX)", "webtable ingest archive"),
    "CDXJ": (b'com,example)/a 20260301102030 {"url": "https://example.com/a"}\n', "an index (CDXJ)", "webtable ingest"),
    "CDXJ of OpenWayback": (b"!OpenWayback-CDXJ 1.0\n" + CDX, "an index (CDXJ)", "webtable ingest archive"),
    "ZipNum": (b"com,example)/ 20260301102030\tcdx-00000.gz\t0\t9\t1\n", "ZipNum", "webtable ingest archive"),
    "a part of a segment": (b"SEQ\x06\x19org.apache.hadoop.io.Text", "Nutch", "nutch warc"),
    "bzip2": (bz2.compress(WARC), "a bzip2 file", "bzip2 -dc 'a file' | webtable ingest -"),
    "xz": (lzma.compress(WARC), "an xz file", "xz -dc 'a file' | webtable ingest -"),
    "tar": (packed("w"), "a tar file", "tar -xf 'a file'"),
    "tar.gz": (packed("w:gz"), "a tar file", "tar -xf 'a file'"),
    "gzip in gzip": (gzip.compress(gzip.compress(WARC)), "compressed again", "gzip -dc 'a file' | webtable ingest -"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(32), "a 7z file", "7z x 'a file'"),
    "RAR": (b"Rar!\x1a\x07\x01\x00", "a RAR file", "unrar x"),
    "a zip of a WARC file": (zipped("crawl.warc"), "is compressed by the zip", "unzip"),
    "a zip of a HAR file": (zipped("har.har"), "is compressed by the zip", "unzip"),
    "a zip of something": (zipped("a.txt"), "a zip without a WARC, ARC or HAR file", ""),
    "an empty zip": (b"PK\x05\x06" + bytes(18), "an empty zip", ""),
    "HTTrack's zip": (zipped("http://example.com/"), "HTTrack", "proxytrack --convert"),
    "MAFF": (zipped("1/index.rdf"), "a MAFF file", "HAR"),
    "HTML": (b"<!doctype html><title>x</title>", "a page of HTML without its URL", "wget --warc-file"),
    "an array": (b'[{"url": "https://example.com/"}]', "an array of JSON", "jq -c '.[]'"),
    "URLs": (b"https://example.com/a\nhttps://example.com/b\n", "a list of URLs", "wget --warc-file=crawl -i"),
    "a sitemap": (
        b'<?xml version="1.0"?>\n<?xml-stylesheet href="x"?><urlset xmlns="s"><url><loc>https://example.com/</loc></url>',
        "a sitemap, which has URLs and no pages",
        "`webtable crawl https://example.com/ --sitemaps`",
    ),
    "UTF-16": ('{"log": {}}'.encode("utf-16"), "a text in UTF-16", "iconv"),
    "SQLite": (sqlite(), "an SQLite file", "webtable -s 'a file' copy"),
}


# In gzip as well, but for a zip, which is read from its end.
IN_GZIP = [kind for kind, (data, *_) in FILES.items() if not data.startswith((b"PK", b"\x1f\x8b"))]


@pytest.mark.parametrize(
    ("kind", "packing"), [*((kind, bytes) for kind in FILES), *((kind, gzip.compress) for kind in IN_GZIP)]
)
def test_a_file_that_is_not_read_is_named_with_what_to_do(kind, packing, tmp_path, monkeypatch):
    data, what, advice = FILES[kind]
    monkeypatch.chdir(tmp_path)
    Path("a file").write_bytes(packing(data))

    with pytest.raises(FormatError, match=re.escape(what)) as raised:
        list(read_pages("a file"))

    assert str(raised.value).startswith("a file, byte 0")
    assert advice in str(raised.value)


@pytest.mark.parametrize(
    ("names", "what", "advice"),
    [
        (["hts-cache/new.zip", "index.html"], "HTTrack", "proxytrack --convert"),
        (["example.com/index.html", "example.com/a.css"], "wget --mirror", "wget --mirror --warc-file"),
        (["httpcache/spider/ab/abcd/pickled_meta"], "Scrapy", "HTTPCACHE_ENABLED=1"),
        (
            [f"spider/ab/abcd/{name}" for name in ("pickled_meta", "response_body", "response_headers")],
            "Scrapy",
            "scrapy",
        ),
        (["segments/2026/content/part-00000/data", "segments/2026/crawl_fetch/part-00000/data"], "Nutch", "nutch warc"),
        (["notes.txt"], "a directory without a WARC, WACZ, ARC, HAR, JSON Lines or Parquet file in it", ""),
        (["archive/a.warc.gz", "pages/index.html"], "a directory without a WARC", ""),
    ],
)
def test_a_directory_that_is_not_read_is_named_with_what_to_do(names, what, advice, tmp_path):
    for name in names:
        (tmp_path / "there" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / name).touch()

    with pytest.raises(InvalidArgument, match=re.escape(what)) as raised:
        archive_files(tmp_path / "there")

    assert advice in str(raised.value)


@pytest.mark.parametrize("name", [".scrapy/httpcache/spider.db", "spider/ab/abcd/pickled_meta"])
def test_a_file_of_scrapys_cache_is_named(name, tmp_path):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"\x80\x04\x95")

    with pytest.raises(FormatError, match="Scrapy's cache"):
        list(read_pages(tmp_path / name))


def test_links_in_a_directory_are_not_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "loop").symlink_to(tmp_path / "there")

    with pytest.raises(InvalidArgument, match="a directory without"):
        archive_files(tmp_path / "there")

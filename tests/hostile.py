"""Files that are made to hurt a reader: under 1 MB each, and up to gigabytes when they are unpacked."""

from __future__ import annotations

import gzip
import io
import zipfile
from base64 import b64encode

import brotli
import zstandard

from nightly import examples

EMPTY_MEMBER = gzip.compress(b"")


def record(block: bytes, url: str = "https://example.com/page", kind: str = "response") -> bytes:
    """Return a WARC record."""
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-03-01T10:20:30Z\r\n"
    return b"%bContent-Length: %d\r\n\r\n%b\r\n\r\n" % (head.encode(), len(block), block)


def response(body: bytes, *headers: str) -> bytes:
    """Return an HTTP response."""
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/html", *headers, "", ""]).encode() + body


def page(body: bytes, *headers: str, url: str = "https://example.com/page") -> bytes:
    """Return a WARC record with a page."""
    return record(response(body, *headers), url)


def arc_record(block: bytes, url: str = "https://example.com/page", length: int | None = None) -> bytes:
    """Return an ARC record."""
    size = len(block) if length is None else length
    return f"{url} 192.0.2.1 20260301102030 text/html {size}\n".encode() + block + b"\n"


def arc(*records: bytes) -> bytes:
    """Return an ARC file."""
    version = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
    return b"filedesc://crawl.arc 0.0.0.0 20260301000000 text/plain %d\n%b\n" % (len(version), version) + b"".join(
        records
    )


def har(*entries: bytes, beside: bytes = b"") -> bytes:
    """Return a HAR file, with other members *beside* its entries."""
    return b'{"log":{' + beside + b'"entries":[' + b",".join(entries) + b"]}}"


def entry(text: bytes = b"", rest: bytes = b"") -> bytes:
    """Return an entry of HAR; with *rest* more members follow."""
    return (
        b'{"request":{"url":"https://example.com/page"},"startedDateTime":"2026-03-01T10:20:30Z","response":{"status":200,'
        b'"content":{"mimeType":"text/html","text":"%b"}}%b}' % (text, rest)
    )


def line(rest: bytes = b"") -> bytes:
    """Return a page as a line of JSON."""
    return b'{"url":"https://example.com/page","content_type":"text/html"' + rest + b"}\n"


def fonts(count: int, paragraphs: int) -> bytes:
    """Return HTML of which the parser makes *count* times *paragraphs* elements."""
    return b"<p>" + b"".join(b"<font a=%d>" % number for number in range(count)) + b"<p>x" * paragraphs


def with_a_long_base(links: int) -> bytes:
    """Return a page with links that are each 16 KB long."""
    return (
        b"<base href='https://example.com/"
        + b"x" * 16_000
        + b"/'>"
        + b"".join(b"<a href=%d>x</a>" % number for number in range(links))
    )


def _dictionary() -> bytes:
    packed = zstandard.compress(bytes(500_000_000))
    return b"\x5d\x2a\x4d\x18" + len(packed).to_bytes(4, "little") + packed


# What it is, the file, and what the report counts it under.
def workbook(row: bytes, count: int, *, around: bytes = b"", head: bytes = b"", strings: bytes = b"") -> bytes:
    """Return an Excel file whose sheet has *row* so many times, under a header with a URL and a date."""
    names = b"".join(b'<c t="inlineStr"><is><t>%b</t></is></c>' % name for name in (b"url", b"fetched_at"))
    rows = b"<%b>%b</%b>" % (around, row * count, around) if around else row * count
    parts = {
        "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        b'<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        b'spreadsheetml.sheet.main+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.'
        b'openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>',
        "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        b'relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        b'relationships/worksheet" Target="sheet.xml"/></Relationships>',
        "xl/workbook.xml": b'<workbook %b xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        b'<sheets><sheet name="s" sheetId="1" r:id="r"/></sheets></workbook>' % _SHEET,
        "xl/sheet.xml": head
        + b"<worksheet %b><sheetData><row>%b</row>%b</sheetData></worksheet>" % (_SHEET, names, rows),
        "xl/sharedStrings.xml": b"<sst %b>%b</sst>" % (_SHEET, strings),
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, content in parts.items():
            zipped.writestr(name, content)
    return data.getvalue()


_SHEET = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_ENTITIES = (
    b"<!DOCTYPE x [<!ENTITY a '"
    + b"x" * 100
    + b"'>"
    + b"".join(b"<!ENTITY %c '%b'>" % (name + 1, b"&%c;" % name * 10) for name in range(ord("a"), ord("i")))
    + b"]>"
)
FILES = {
    "a body of <p>": (lambda: gzip.compress(page(b"<p>" * 10_000_000)), "record"),
    "a smaller body of <p>": (lambda: gzip.compress(page(b"<p>" * 5_000_000)), "memory"),
    "a title of 100 MB": (lambda: gzip.compress(page(b"<title>" + b"x" * 100_000_000), 6), "record"),
    "a title of 20 MB": (lambda: gzip.compress(page(b"<title>" + b"x" * 20_000_000)), "parsed"),
    "zeros": (lambda: gzip.compress(page(bytes(250_000_000)), 6), "record"),
    "a line of 200 MB": (lambda: zstandard.compress(line(b',"body":"' + b"x" * 200_000_000 + b'"')), "record"),
    "a line that takes four bytes for each": (
        lambda: zstandard.compress(line(',"body":"\U0001f600'.encode() + b"x" * 25_000_000 + b'"') * 4),
        "parsed",
    ),
    "a line of names": (lambda: zstandard.compress(line(b',"aaaa":0' * 2_500_000)), "fields"),
    "a line of headers": (
        lambda: zstandard.compress(line(b',"headers":{"":""' + b',"a":""' * 3_000_000 + b"}")),
        "head",
    ),
    "a line of links": (
        lambda: zstandard.compress(line(b',"outlinks":[["","",""]' + b',["","",""]' * 2_000_000 + b"]")),
        "link_text",
    ),
    "a table with a cell of 200 MB": (
        lambda: zstandard.compress(b'url,fetched_at\nhttps://example.com/,"' + b"x" * 200_000_000 + b'"'),
        "record",
    ),
    "a table whose quotes never end": (
        lambda: zstandard.compress(b'url,fetched_at,h1\nhttps://example.com/,2026-01-01,"\n' + b"x\n" * 15_000_000),
        "record",
    ),
    "a table of quotes": (
        lambda: zstandard.compress(
            b'url,fetched_at,h1\nhttps://example.com/,2026-01-01,"\n' + b'"a"\n' * examples(1_000_000, 6_000_000)
        ),
        None,
    ),
    "a table of columns": (
        lambda: zstandard.compress(b"url,fetched_at\n" + (b"," * 20_000_000 + b"\n") * 5),
        None,
    ),
    "a row of links": (
        lambda: zstandard.compress(
            b"url,fetched_at,links_url\nhttps://example.com/,2026-01-01," + b"@@" * 10_000_000 + b"\n"
        ),
        "link_text",
    ),
    "a row of brackets": (
        lambda: zstandard.compress(
            b'url,fetched_at,headers\nhttps://example.com/,2026-01-01,"' + b"[" * 20_000_000 + b'"\n'
        ),
        "head",
    ),
    "an Excel file of rows": (lambda: workbook(b"<row>" + b"<c><v>1</v></c>" * 20 + b"</row>", 500_000), None),
    "an Excel file with one row": (lambda: workbook(b"<c><v>1</v></c>", 10_000_000, around=b"row"), None),
    "an Excel file of strings": (lambda: workbook(b"", 0, strings=b"<si><t>x</t></si>" * 20_000_000), None),
    "an Excel file of empty rows": (lambda: workbook(b'<row r="999999999999"/>', 1), None),
    "an Excel file of entities": (lambda: workbook(b"<row><c><v>&i;</v></c></row>", 1, head=_ENTITIES), None),
    "a line of brackets": (lambda: zstandard.compress(line(b',"a":' + b"[" * 20_000_000)), None),
    "a large window": (
        lambda: zstandard.ZstdCompressor(
            compression_params=zstandard.ZstdCompressionParameters.from_level(1, window_log=27)
        ).compress(page(b"x" * 24_000_000) * 8),
        "parsed",
    ),
    "a dictionary": (_dictionary, None),
    "a body of empty members": (
        lambda: gzip.compress(page(EMPTY_MEMBER * 200_000, "Content-Encoding: gzip")),
        "members",
    ),
    "a body of empty frames": (
        lambda: gzip.compress(page(zstandard.compress(b"") * 200_000, "Content-Encoding: zstd")),
        "members",
    ),
    "zstd in zstd": (
        lambda: zstandard.compress(page(zstandard.compress(bytes(500_000_000)), "Content-Encoding: zstd")),
        "record",
    ),
    "Brotli": (
        lambda: zstandard.compress(page(brotli.compress(bytes(200_000_000), quality=3), "Content-Encoding: br")),
        "record",
    ),
    "chunks": (lambda: gzip.compress(page(b"1\r\nx\r\n" * 4_000_000, "Transfer-Encoding: chunked")), None),
    "header lines": (lambda: gzip.compress(page(b"x", *["A: b"] * 160_000)), "head"),
    "header names": (lambda: gzip.compress(page(b"x", *[f"A{number}: b" for number in range(5_000)])), "fields"),
    "interim responses": (lambda: gzip.compress(record(b"HTTP/1.1 100 C\r\n\r\n" * 1_000_000 + response(b"x"))), None),
    "elements in elements": (lambda: gzip.compress(page(b"<div>" * 100_000)), "seconds"),
    "formatting that every paragraph repeats": (lambda: gzip.compress(page(fonts(2_000, 5_000))), "memory"),
    "long host names": (
        lambda: zstandard.compress(b"".join(page(b"", url=f"https://h{n}{'x' * 60_000}/") for n in range(2_000))),
        None,
    ),
    "long kinds": (
        lambda: zstandard.compress(b"".join(record(b"", kind=f"k{n}{'x' * 60_000}") for n in range(2_000))),
        None,
    ),
    "ARC: zeros": (lambda: gzip.compress(arc(arc_record(response(bytes(250_000_000)))), 6), "record"),
    "ARC: a dictionary": (lambda: _dictionary() + zstandard.compress(arc()), None),
    "ARC: a line of 200 MB": (lambda: zstandard.compress(arc() + b"http://e.example/" + b"x" * 200_000_000), None),
    "ARC: elements in elements": (lambda: gzip.compress(arc(arc_record(response(b"<div>" * 100_000)))), "seconds"),
    "ARC: many records": (lambda: zstandard.compress(arc(*[arc_record(b"")] * 200_000)), None),
    "ARC: lengths that are too long": (
        lambda: zstandard.compress(arc(*[arc_record(response(b"x"), length=900_000)] * 20_000)),
        None,
    ),
    "ARC: header lines": (lambda: gzip.compress(arc(arc_record(response(b"x", *["A: b"] * 160_000)))), "head"),
    "HAR: a text of 200 MB": (lambda: zstandard.compress(har(entry(b"x" * 200_000_000))), "record"),
    "HAR: a smaller text of <p>": (lambda: zstandard.compress(har(entry(b"<p>" * 5_000_000))), "memory"),
    "HAR: gzip in base64": (
        lambda: zstandard.compress(
            har(
                entry(b64encode(gzip.compress(bytes(200_000_000)))).replace(
                    b'"content":{',
                    b'"headers":[{"name":"Content-Encoding","value":"gzip"}],"content":{"encoding":"base64",',
                )
            )
        ),
        None,
    ),
    "HAR: a dictionary": (lambda: _dictionary() + zstandard.compress(har()), None),
    "HAR: a name of 200 MB": (lambda: zstandard.compress(har(beside=b'"%b":1,' % (b"x" * 200_000_000))), None),
    "HAR: brackets in an entry": (lambda: zstandard.compress(har(entry(rest=b',"a":' + b"[" * 200_000_000))), None),
    "HAR: pairs of brackets": (
        lambda: zstandard.compress(har(entry(rest=b',"a":[' + b"[]," * 80_000_000 + b"0]"))),
        "record",
    ),
    "HAR: brackets in brackets": (
        lambda: zstandard.compress(har(beside=b'"a":[' + b"[[[[]]],{}]," * 20_000_000 + b"0],")),
        None,
    ),
    "HAR: many texts": (lambda: zstandard.compress(har(beside=b'"a":[' + b'"",' * 60_000_000 + b"0],")), None),
    "HAR: many entries": (lambda: zstandard.compress(har(*[b"{}"] * 300_000)), None),
    "HAR: many members": (lambda: zstandard.compress(har(beside=b'"a":1,' * 500_000)), None),
    "HAR: headers": (
        lambda: zstandard.compress(
            har(entry().replace(b'"content":', b'"headers":[%b{}],"content":' % (b'{"name":"a"},' * 1_500_000)))
        ),
        "head",
    ),
    "long links": (lambda: zstandard.compress(page(with_a_long_base(2_000)) * 50), "link_text"),
}

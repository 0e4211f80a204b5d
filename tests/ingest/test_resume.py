"""Reading a file that was read in part goes on behind any of its records."""

from __future__ import annotations

import gzip
import io
import json

import pytest
import zstandard

from webtable.formats import ReadReport, read_pages

RECORDS = 30


def warc_record(number):
    body = f"<title>page {number}</title>".encode() * (number % 7)
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    kind = "metadata" if number % 5 == 4 else "response"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://example.com/{number}\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def json_line(number):
    blank = b"\n" if number % 4 == 0 else b""
    return json.dumps({"url": f"https://example.com/{number}", "body": "x" * number}).encode() + b"\n" + blank


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


def cut(data, size=97):
    return b"".join(gzip.compress(data[at : at + size]) for at in range(0, len(data), size))


FORMS = {
    "warc": b"".join(map(warc_record, range(RECORDS))),
    "warc.gz": b"".join(gzip.compress(warc_record(number)) for number in range(RECORDS)),
    "warc.gz of one member": gzip.compress(b"".join(map(warc_record, range(RECORDS)))),
    "warc.gz of members of five records": b"".join(
        gzip.compress(b"".join(map(warc_record, range(first, first + 5)))) for first in range(0, RECORDS, 5)
    ),
    "warc.zst": b"".join(zstd(warc_record(number)) for number in range(RECORDS)),
    "jsonl": b"".join(map(json_line, range(RECORDS))),
    "jsonl with a byte order mark": b"\xef\xbb\xbf" + b"".join(map(json_line, range(RECORDS))),
    "jsonl.gz": gzip.compress(b"".join(map(json_line, range(RECORDS)))),
    "jsonl.gz of members that begin anywhere": cut(b"".join(map(json_line, range(RECORDS)))),
    "warc.gz of members that begin anywhere": cut(b"".join(map(warc_record, range(RECORDS)))),
    "jsonl.zst of several frames": b"".join(zstd(json_line(number)) for number in range(RECORDS)),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_reading_goes_on_behind_any_page(data):
    report = ReadReport()
    found = [(page.url, report.place) for page in read_pages(io.BytesIO(data), types=None, report=report)]
    urls = [url for url, _ in found]

    for at, (_, place) in enumerate(found):
        rest = [page.url for page in read_pages(io.BytesIO(data), types=None, start=place)]
        assert rest == urls[at + 1 :]
    assert len(urls) in (24, RECORDS)


@pytest.mark.parametrize("form", ["warc", "warc.gz", "warc.zst", "jsonl", "jsonl.zst of several frames"])
def test_what_was_read_is_not_read_again(form):
    report, rest = ReadReport(), ReadReport()
    places = [report.place for _ in read_pages(io.BytesIO(FORMS[form]), report=report)]

    assert list(read_pages(io.BytesIO(FORMS[form]), report=rest, start=places[-1])) == []

    assert rest.bytes_read < len(FORMS[form]) / 8


def test_a_place_outlives_damage_in_front_of_it():
    lines = [b"no json\n" if number == 3 else json_line(number) for number in range(RECORDS)]
    report, rest = ReadReport(), ReadReport()
    places = [report.place for _ in read_pages(io.BytesIO(b"".join(lines)), report=report)]
    lines[20] = b"x" * (len(lines[20]) - 1) + b"\n"

    found = list(read_pages(io.BytesIO(b"".join(lines)), report=rest, start=places[9]))

    assert len(found) == RECORDS - 11 - 1
    assert (rest.damaged[0].unit, rest.damaged[0].offset) == ("byte", sum(map(len, lines[:20])))


@pytest.mark.parametrize(
    "form", ["warc.gz", "warc.gz of members of five records", "jsonl.gz of members that begin anywhere"]
)
def test_reading_goes_on_at_any_page_beside_a_damaged_member(tmp_path, form):
    data = bytearray(FORMS[form])
    at = data.index(b"\x1f\x8b", len(data) // 2)
    data[at + 20 : at + 24] = b"\xff\xff\xff\xff"
    report = ReadReport()
    file = tmp_path / f"pages.{form.partition(' ')[0]}"
    file.write_bytes(data)
    found = [(page.url, report.place) for page in read_pages(file, types=None, report=report)]
    urls = [url for url, _ in found]

    for number, (_, place) in enumerate(found):
        assert [page.url for page in read_pages(file, types=None, start=place)] == urls[number + 1 :]
    assert report.damaged_count == 1
    assert report.bytes_skipped == data.index(b"\x1f\x8b", at + 1) - at
    assert 24 - 8 <= len(urls) < RECORDS

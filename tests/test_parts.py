"""A large WARC file is read in parts."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from webtable.errors import FormatError
from webtable.formats import ReadReport, read_pages
from webtable.formats.read import FilePart, parts_of
from webtable.formats.read_report import Place

RECORDS = 60


def record(number: int, *, second: int | None = None, kind: str = "response") -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + f"<title>page {number}</title>".encode()
    date = f"2026-01-01T00:00:{number if second is None else second:02}Z"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://example.com/{number}\r\n"
        f"WARC-Date: {date}\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def written(path: Path, *members: bytes) -> str:
    path.write_bytes(b"".join(members))
    return str(path)


def urls_of(part: FilePart) -> list[str]:
    with part.opened() as source:
        return [page.url for page in read_pages(source, start=Place(part.begin))]


def whole(file: str) -> list[str]:
    return [page.url for page in read_pages(file)]


@pytest.mark.parametrize("packed", [gzip.compress, zstd])
def test_the_parts_of_a_file_hold_its_pages_in_their_order(tmp_path, packed):
    file = written(tmp_path / "crawl.warc.gz", *(packed(record(number)) for number in range(RECORDS)))

    parts = list(parts_of(file, size=1_000))

    assert len(parts) > 5
    assert [url for part in parts for url in urls_of(part)] == whole(file)


def test_what_is_no_page_is_counted_in_one_part_alone(tmp_path):
    kinds = ["metadata" if number % 3 == 0 else "response" for number in range(RECORDS)]
    file = written(tmp_path / "crawl.warc.gz", *(gzip.compress(record(n, kind=kind)) for n, kind in enumerate(kinds)))
    report = ReadReport()

    for part in parts_of(file, size=1_000):
        with part.opened() as source:
            list(read_pages(source, start=Place(part.begin), report=report))

    assert (report.records, report.left_out["metadata"]) == (RECORDS, RECORDS / 3)
    assert report.bytes_read == Path(file).stat().st_size


def test_records_of_one_date_stay_together(tmp_path):
    records = [record(number, second=number // 20) for number in range(RECORDS)]
    file = written(tmp_path / "crawl.warc.gz", *map(gzip.compress, records))

    parts = list(parts_of(file, size=1))

    assert [len(urls_of(part)) for part in parts] == [20, 20, 20]


@pytest.mark.parametrize(
    "data",
    [
        b"".join(map(record, range(RECORDS))),
        gzip.compress(b"".join(map(record, range(RECORDS)))),
        b"".join(gzip.compress(b"".join(map(record, range(RECORDS)))[at : at + 97]) for at in range(0, 12_000, 97)),
        gzip.compress(b'{"url": "https://example.com/"}\n') * 100,
        b"",
        b"no archive",
    ],
    ids=["no members", "one member", "members that begin anywhere", "JSON Lines", "empty", "anything"],
)
def test_other_files_are_one_part(tmp_path, data):
    file = written(tmp_path / "crawl", data)

    assert list(parts_of(file, size=1)) == [FilePart(file)]


def test_a_cut_file_is_parted_up_to_there_and_the_last_part_says_what_it_is(tmp_path):
    data = b"".join(gzip.compress(record(number)) for number in range(RECORDS))
    file = written(tmp_path / "crawl.warc.gz", data[:-20])

    *parts, last = parts_of(file, size=1_000)

    assert parts
    found = [url for part in parts for url in urls_of(part)]
    with pytest.raises(FormatError, match=r"crawl.warc.gz from byte .+ ends inside a gzip member"):
        urls_of(last)
    assert found == [f"https://example.com/{number}" for number in range(len(found))]


@pytest.mark.slow
def test_parts_beside_a_damaged_member_are_read_as_the_atomic_file_is(tmp_path):
    members = [gzip.compress(record(number)) for number in range(RECORDS)]
    begins = [sum(map(len, members[:number])) for number in range(RECORDS)]
    for damaged in (7, 8, 20):
        data = bytearray(b"".join(members))
        data[begins[damaged] + 30] ^= 1
        file = written(tmp_path / f"crawl{damaged}.warc.gz", bytes(data))
        whole, report = ReadReport(), ReadReport()
        urls = [page.url for page in read_pages(file, types=None, report=whole)]

        for size in (100, 1_000, 4_000):
            report, found = ReadReport(), []
            for part in parts_of(file, size=size):
                with part.opened() as source:
                    found += [
                        page.url for page in read_pages(source, types=None, report=report, start=Place(part.begin))
                    ]

            assert found == urls
            assert report.bytes_skipped == whole.bytes_skipped == len(members[damaged])
            assert report.damaged_count == whole.damaged_count == 1

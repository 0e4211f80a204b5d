"""How a file that is read may be wrapped: the first byte of an input says it, so that engines get past checksums."""

from __future__ import annotations

import gzip
import io
from zlib import crc32

import zstandard
from fastwarc.stream_io import Lz4Writer

from webtable import Page
from webtable.errors import FormatError
from webtable.formats import ReadLimits, ReadReport, read_pages
from webtable.page.json_lines import page_to_json
from webtable.rowkey import canonical_url

LIMITS = ReadLimits(record=1 << 20, head=1 << 14, fields=50, members=50, parsed=1 << 18, links=500, seconds=1.0)


def _lz4(data: bytes) -> bytes:
    made = io.BytesIO()
    writer = Lz4Writer(made)
    writer.write(data)
    writer.flush()
    return made.getvalue()


def _members(data: bytes) -> bytes:
    half = len(data) // 2
    return gzip.compress(data[:half], 1, mtime=0) + gzip.compress(data[half:], 1, mtime=0)


_WRAPPED = [
    lambda data: data,
    lambda data: gzip.compress(data, 1, mtime=0),
    zstandard.ZstdCompressor(level=1, write_checksum=True).compress,
    _members,
    lambda data: gzip.compress(data, 1, mtime=0)[: -1 - len(data) % 20],
    lambda data: zstandard.compress(data)[: -1 - len(data) % 20],
    _lz4,
    lambda data: zstandard.compress(zstandard.compress(data)),
]
PLAIN, GZIP, ZSTD, MEMBERS = (bytes([number]) for number in range(4))


def file_of(data: bytes) -> bytes:
    """Return the file that the input *data* stands for."""
    return _WRAPPED[data[0] % len(_WRAPPED)](data[1:]) if data else b""


def check_file(data: bytes) -> None:
    """Reading the file gives pages that are whole values, a count of what is damaged, or a `FormatError`."""
    file, report, pages = file_of(data), ReadReport(), []
    which = crc32(data)  # what takes long is done for some
    try:
        for page in read_pages(io.BytesIO(file), report=report, limits=LIMITS, verify_digests=not which & 16):
            pages.append(page)
            _check_page(page, with_line=not which & 3)
    except FormatError:
        pass
    assert report.pages == len(pages)
    left_out = report.left_out.total() + report.other_methods.total()
    assert report.records == len(pages) + report.damaged_count + report.skipped.total() + left_out
    if not which & 12:
        _check_place(file, report, len(pages))


def _check_page(page: Page, *, with_line: bool) -> None:
    assert canonical_url(page.url) is not None
    for moment in (page.fetched_at, page.last_modified):
        assert moment is None or moment.utcoffset() is not None
    if with_line and page.same_as is None:
        _check_line(page)


def _check_line(page: Page) -> None:
    """A page that was read can be written as a line, and read again from it, the same."""
    line = page_to_json(page)
    (again,) = read_pages(io.BytesIO(line), types=None, extract=False)
    assert page_to_json(again) == line


def _check_place(file: bytes, report: ReadReport, pages: int) -> None:
    """Where the reading stopped it can go on, and gives nothing twice."""
    rest = ReadReport()
    try:
        again = list(read_pages(io.BytesIO(file), report=rest, start=report.place, limits=LIMITS, extract=False))
    except FormatError:
        return
    assert not again, f"{len(again)} pages come behind the end, after {pages}"

"""Reading of pages from files or parts of them: opening, recognising the format, and errors."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.completion import filled
from webtable._page.page import Page, with_facts
from webtable.errors import FormatError, InvalidArgument
from webtable.formats.compressed.members import pieces_of
from webtable.formats.compressed.stream import BLOCK, ByteStream, DamagedMember
from webtable.formats.jsonl import read_jsonl
from webtable.formats.parquet import MAGIC, read_parquet
from webtable.formats.read_report import DEFAULT_TYPES, DamagedFile, DamagedRecord, Place, ReadReport
from webtable.formats.warc import MEMBER_START, read_warc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_JSON_LINES = (".jsonl", ".ndjson")


def read_pages(
    source: str | Path | BinaryIO,
    *,
    types: Collection[str] | None = DEFAULT_TYPES,
    report: ReadReport | None = None,
    extract: bool = True,
    verify_digests: bool = False,
    limits: ReadLimits = DEFAULT_LIMITS,
    start: Place | None = None,
) -> Iterator[Page]:
    """Return the pages of a WARC, JSON Lines or Parquet file, one by one, as they are read.

    `source` is a path, an open binary file, or "-" for standard input; gzip, zstd and LZ4 are recognised by their first
    bytes. Parquet needs a seekable file, and `hbase-webtable[arrow]`. `types` are the media types that are returned
    (None or {"*"}: all), `extract` fills in title and links of HTML pages that come without, `verify_digests` verifies
    the digests of WARC blocks. `report` is kept up to date while reading.
    `limits` bounds memory and time; a record over a limit is skipped, or returned without title and links, and counted.
    With `start`, a `place` of the report of an earlier read, reading begins after that record; this needs a seekable
    file with the same content.

    A damaged record is reported and skipped, and so is a damaged gzip or zstd member, or row group of Parquet, with the
    number of bytes. A file that cannot be read further, or is truncated, gives the pages up to there, then raises
    `FormatError` with the place and the number of good records; so does a file in an unknown format. `InvalidArgument`
    is raised for *types* that are one string, and for a file that is open for text.
    """
    if isinstance(types, str):
        raise InvalidArgument(f"types={types!r} is one string; give a collection, as in {{{types!r}}}")
    wanted = None if types is None or "*" in types else frozenset(map(str.lower, types))
    report = ReadReport() if report is None else report
    report.place = start or Place()
    return _pages(source, wanted, report, limits, with_extract=extract, verify_digests=verify_digests)


def _pages(
    source: str | Path | BinaryIO,
    types: Collection[str] | None,
    report: ReadReport,
    limits: ReadLimits,
    *,
    with_extract: bool,
    verify_digests: bool,
) -> Iterator[Page]:
    already = report.records - report.damaged_count
    begin, skip = report.place
    with _opened(source) as (file, name):
        _add_total(file, report, begin)
        stream = None
        try:
            if begin:
                file.seek(begin)
            stream = ByteStream(_blocks(file, name, report), limits, begin=begin)
            pages = _read(stream, file, name, report, types, limits, verify_digests=verify_digests, skip=skip)
            yield from (_filled(page, report, limits) if with_extract else with_facts(page) for page in pages)
        except DamagedFile as exc:
            offset = begin + exc.offset if exc.offset is not None else stream.mark if stream else begin
            count = report.records - report.damaged_count - already
            raise FormatError(f"{name}, byte {offset:,}, after {count:,} good records: {exc}") from exc


def _read(
    stream: ByteStream,
    file: BinaryIO,
    name: str,
    report: ReadReport,
    types: Collection[str] | None,
    limits: ReadLimits,
    *,
    verify_digests: bool,
    skip: int,
) -> Iterator[Page]:
    """Yield the pages in the order of the file; go on after each damaged member."""
    is_lines: bool | None = None
    while True:
        try:
            if stream.peek(4) == MAGIC:
                yield from read_parquet(_from_its_end(file), name, report, types, limits, skip=skip)
                return
            is_lines = _is_json_lines(name, stream.peek(64)) if is_lines is None else is_lines
            if is_lines:
                yield from read_jsonl(stream, name, report, types, limits, skip=skip)
            else:
                stream.member_start = MEMBER_START
                yield from read_warc(stream, name, report, types, limits, verify_digests=verify_digests, skip=skip)
        except DamagedMember as exc:
            report.add_gap(DamagedRecord(name, stream.begin + exc.begin, None, str(exc)), exc.skipped)
            skip = 0  # the records to skip are before it
        else:
            return


@contextmanager
def _opened(source: str | Path | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    if source == "-":
        yield sys.stdin.buffer, "standard input"
    elif isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            yield file, str(source)
    else:
        yield source, str(getattr(source, "name", "the open file"))


def _add_total(file: BinaryIO, report: ReadReport, begin: int) -> None:
    try:
        total = os.fstat(file.fileno()).st_size
    except (OSError, AttributeError):
        return
    if total:
        report.total_bytes = (report.total_bytes or 0) + max(total - begin, 0)


def _blocks(file: BinaryIO, name: str, report: ReadReport) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        if not isinstance(block, bytes):
            raise InvalidArgument(f"source={name!r} gives {type(block).__name__}: open it in binary mode")
        report.bytes_read += len(block)
        yield block


def _from_its_end(file: BinaryIO) -> BinaryIO:
    """Return *file* if it is seekable; raises `DamagedFile` for a pipe."""
    if not file.seekable():
        raise DamagedFile("a Parquet file is read from its end, and a pipe cannot be: give it as a file", 0)
    file.seek(0)
    return file


def _is_json_lines(name: str, start: bytes) -> bool:
    """Whether the file is JSON Lines: by its first bytes, or by its name if those are inconclusive."""
    if start.startswith(b"WARC/"):
        return False
    stem = name.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".lz4")
    return stem.endswith(_JSON_LINES) or start.lstrip(b"\xef\xbb\xbf\t\r\n ").startswith(b"{")


def _filled(page: Page, report: ReadReport, limits: ReadLimits) -> Page:
    """Return *page* with the fields extracted from its HTML, and count a limit that it is over."""
    page, found = filled(page, limits)
    if found is not None and found.over is not None:
        (report.shortened if found.is_parsed else report.unparsed)[found.over] += 1
    return page


PART_BYTES = 1 << 23
"""The smallest size of a part, in bytes of the file."""
_DATE = re.compile(rb"^warc-date:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)


class FilePart(NamedTuple):
    """The bytes of *file* from `begin` to `stop`, or to its end if that is None; a whole file is a part as well."""

    file: str
    begin: int = 0
    stop: int | None = None

    @property
    def name(self) -> str:
        """The name of the file, and where the part begins unless that is 0."""
        if self.file == "-":
            return "standard input"
        return f"{self.file} from byte {self.begin:,}" if self.begin else self.file

    @contextmanager
    def opened(self) -> Iterator[str | BinaryIO]:
        """Give the source from which `read_pages` reads the part."""
        if not self.begin and self.stop is None:
            yield self.file
            return
        with Path(self.file).open("rb") as file:
            yield _Bounded(file, self)  # type: ignore[misc]  # as much of a file as readers need


class _Bounded:
    """A file that ends where its part ends."""

    def __init__(self, file: BinaryIO, part: FilePart) -> None:
        self._file = file
        self._stop = part.stop
        self.name = part.name
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        return self._file.read(size if self._stop is None else min(size, self._stop - self._file.tell()))


def parts_of(file: str, size: int = PART_BYTES, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[FilePart]:
    """Yield the parts of *file* as they are found; together they are read as the whole file is.

    A part begins with a record that begins its compressed member, as in every regular .warc.gz and .warc.zst; any other
    file is one part. To find them, the file is decompressed up to where it is damaged.
    """
    begin = 0
    try:
        for offset in _records(file, limits):
            if offset - begin >= size:
                yield FilePart(file, begin, offset)
                begin = offset
    except (DamagedFile, OSError):
        pass  # the reader of the last part meets the damage too, and reports it
    yield FilePart(file, begin)


def _records(file: str, limits: ReadLimits) -> Iterator[int]:
    """Yield where records begin that have another date than the record before them.

    Captures of one URL and one date, such as a redirect and its target, are stored in the order of the file, so they
    must not be in two parts.
    """
    member = -1
    date: bytes | None = None
    with Path(file).open("rb") as opened:
        pieces, offsets = pieces_of(iter(lambda: opened.read(BLOCK), b""), limits, lambda: MEMBER_START)
        if not (offsets.are_of_members and offsets.can_begin):
            return
        for piece in pieces:
            if piece.gap is not None:
                date = None  # no part ends with it, which would not know where reading goes on
            if piece.gap is not None or piece.offset == member:
                continue
            if not piece.data.startswith(MEMBER_START):
                return
            member, before, date = piece.offset, date, _date(piece.data)
            if date != before and before is not None:
                yield member


def _date(record: bytes) -> bytes | None:
    found = _DATE.search(record, 0, max(record.find(b"\r\n\r\n"), 0))
    return found and found[1]

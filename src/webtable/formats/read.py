"""Reader of JSON Lines, the parts of a file that several processes read, and the reader of files of any format."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import msgspec

from webtable._clock import clock
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.errors import FormatError, InvalidArgument, InvalidURL
from webtable.formats.arc import ARC_RECORD, FIRST_LINE, is_arc, read_arc
from webtable.formats.compressed import BLOCK, EMPTY_LINE, ByteStream, DamagedMember, TooLong, pieces_of
from webtable.formats.har import FIRST as HAR
from webtable.formats.har import read_har
from webtable.formats.http import parse_record_fields
from webtable.formats.other_files import DERIVED, LOOKED_AT, description_of
from webtable.formats.page_rows import captures_of_row, counted, fields_of
from webtable.formats.page_tables import ENDINGS as TABLES
from webtable.formats.page_tables import delimiter_of, is_workbook, read_excel, read_table
from webtable.formats.parquet import MAGIC, read_parquet
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    OverLimit,
    Place,
    ReadReport,
    check_fields,
    count,
    decoded_json,
)
from webtable.formats.wacz import MAGIC as ZIP
from webtable.formats.wacz import ByteRange, is_wacz, warc_ranges
from webtable.formats.warc import MEMBER_START, MOST_OF_PIPE, WARC_RECORD, Exchanges, Record, WARCOptions, read_warc
from webtable.page.facts import filled
from webtable.page.headers import DEFAULT_TYPES
from webtable.page.json_lines import ATTRIBUTES, TIMES, headers_in_row, page_with, time_in_row, values_of
from webtable.page.methods import DEFAULT_METHODS, wanted_methods
from webtable.page.page import STORED_NAMES, Page, with_header_fields
from webtable.page.parts import Status  # noqa: TC001 - msgspec reads the annotation
from webtable.repository.arguments import given_moment
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterator

    from webtable.repository.failed_fetches import FailedFetch
    from webtable.url_filter import URLFilter


# --- JSON Lines -------------------------------------------------------------------------------------------------------


_LONG = 1 << 20
"""The size above which a line is checked before it is decoded: a two-letter name takes 200 bytes of memory."""
_MAX_NAMES = 100_000
_BLANK = re.compile(rb"[\t\r\n ]+")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# In the first line of pages.jsonl of WACZ; a quotation mark within a value of a page is escaped.
_LIST_OF_PAGES = re.compile(rb'"format"\s*:\s*"json-pages-')
_FIRST_BYTES = 1 << 10
_FIELDS = tuple(ATTRIBUTES)


_IN_LINES = {**STORED_NAMES, "status": "status", "body": "body_base64", "body_text": "body"}


class _PageLine(Page, frozen=True, kw_only=True, rename=_IN_LINES):
    """A page as it is in a line: its body is text, or bytes under another name, and its times may lack a zone."""

    body: bytes | None = None
    body_text: str | None = None
    headers: Any = None
    # Declared here as well, for the field of a page has the name that is stored.
    status: Status = 200
    fetched_at: datetime = msgspec.field(default_factory=clock.now)
    last_modified: datetime | None = None
    first_seen: datetime | None = None
    changed_at: datetime | None = None
    _content_at: datetime | None = None
    _inlinks_at: datetime | None = None
    _hints_at: datetime | None = None
    _repeats_at: datetime | None = None


class _Raw(msgspec.Struct):
    """The values of a line that may be large, undecoded."""

    body: msgspec.Raw = msgspec.Raw()
    body_base64: msgspec.Raw = msgspec.Raw()
    headers: msgspec.Raw = msgspec.Raw()
    outlinks: msgspec.Raw = msgspec.Raw()


_KNOWN = frozenset(_PageLine.__struct_encode_fields__)
_decoder = msgspec.json.Decoder(_PageLine)
_raw_decoder = msgspec.json.Decoder(_Raw)
_names_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_value_decoder = msgspec.json.Decoder(str | int | float | bool | None)
_CRAWL_TIME = b'"crawl_time"'


def read_jsonl(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page | FailedFetch]:
    """Yield the captures of a JSON Lines file after the first *skip* of its lines.

    A line that is not a page is skipped, and reported with its number, or with its place in bytes if the file was not
    read from its beginning or a part of it is lost. Raises `DamagedFile` for the list of pages of a web archive.
    """
    limits, number = options.limits, 1
    if (stream.gaps or stream.begin) and stream.peek(1) not in b"{\t\r\n ":
        stream.skip_to(b"\n")  # the end of a line whose beginning is in a damaged member
    if stream.peek(3) == _BYTE_ORDER_MARK:
        stream.skip(3)
    while True:
        number += stream.skip_run(_BLANK)[0]
        stream.mark = stream.offset
        if not stream.peek(1):
            return
        if skip:
            skip, number = skip - 1, number + 1
            stream.skip_to(b"\n")
            continue
        place, unit = (number, "line") if not (stream.begin or stream.gaps) else (stream.mark, "byte")
        yield from counted(
            lambda: _captures(_line(stream, limits), report, options),
            lambda reason: DamagedRecord(source, place, None, reason, unit),  # noqa: B023 - called at once
            report,
            options,
            stream.restart,
        )
        number += 1


def _line(stream: ByteStream, limits: ReadLimits) -> bytes:
    try:
        return stream.read_line(limits.record)
    except TooLong as exc:
        raise OverLimit("record", f"it has over {limits.record:,} bytes") from exc


def _captures(line: bytes, report: ReadReport, options: WARCOptions) -> list[Page | FailedFetch]:
    """Return the captures of a *line*, which has a page as webtable or as advertools writes it."""
    try:
        if len(line) > _LONG:
            _check_long(line, options.limits)
        if _CRAWL_TIME in line:
            line, values = decoded_json(_names_decoder, line, report)
            if "crawl_time" in values and "fetched_at" not in values:
                fields = fields_of(values, report)
                row = {name: _value_decoder.decode(values[name]) for name in fields}
                return captures_of_row(row, fields, report, options)
    except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
        raise Damaged(str(exc)) from exc
    return [_page(line, report, options.limits)]


def _page(line: bytes, report: ReadReport, limits: ReadLimits) -> Page:
    try:
        line, read = decoded_json(_decoder, line, report)
        report.add_unknown_fields(_names_decoder.decode(line).keys() - _KNOWN)
        values = values_of(read, _FIELDS)
        line = line[:_FIRST_BYTES]  # it may be large, and so may what follows
        if read.body_text is not None:
            values["body"] = read.body_text.encode()
        values["headers"] = {} if values["headers"] is None else headers_in_row(values["headers"])
        for name in TIMES:
            if values[name] is not None and values[name].tzinfo is not UTC:
                values[name] = time_in_row(values[name])
        canonical_url(read.url)
    except (msgspec.MsgspecError, InvalidURL, ValueError, TypeError, OverflowError, RecursionError) as exc:
        if _LIST_OF_PAGES.search(line[:_FIRST_BYTES]):
            raise DamagedFile(
                "it is the list of pages of a web archive (json-pages), without their content: read the archive, as in "
                "`webtable ingest crawl.wacz`, or the folder of its WARC files, as in `webtable ingest archive`"
            ) from exc
        raise Damaged(str(exc)) from exc
    check_fields(values, limits)
    if len(values["outlinks"] or ()) > limits.links:
        values["outlinks"] = values["outlinks"][: limits.links]
        report.shortened["links"] += 1
    return page_with(values)


def _check_long(line: bytes, limits: ReadLimits) -> None:
    """Raise `OverLimit` for a line whose names and links would take many times its size when decoded."""
    raw = _raw_decoder.decode(line)
    values = [bytes(value) for value in (raw.headers, raw.outlinks)]
    if len(values[0]) > limits.head:
        raise OverLimit("head", f"its headers have over {limits.head:,} bytes")
    if len(values[1]) > 4 * limits.link_text:  # a character has up to four bytes
        raise OverLimit("link_text", f"its outlinks have over {4 * limits.link_text:,} bytes")
    # Each name is followed by a colon; there may be more colons.
    inside = sum(bytes(value).count(b":") for value in (raw.body, raw.body_base64, raw.headers, raw.outlinks))
    if line.count(b":") - inside > _MAX_NAMES:
        raise OverLimit("fields", f"it has over {_MAX_NAMES:,} names")


# --- Parts of files ---------------------------------------------------------------------------------------------------


# The WARC files of a WACZ file are ranges of its bytes, because the zip stores them as they are: so workers share them,
# a journal resumes within them, and nothing is unpacked.
PART_BYTES = 1 << 23
"""The smallest size of a part, in bytes of the file."""
_MOST_BETWEEN = 16
"""Bytes of empty lines that may close a record."""


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
        self.seek, self.tell = file.seek, file.tell
        file.seek(part.begin)

    def read(self, size: int) -> bytes:
        return self._file.read(size if self._stop is None else min(size, self._stop - self._file.tell()))


def whole_parts(file: str) -> list[FilePart]:
    """Return the parts of *file* that are files of their own: the WARC files of a WACZ file, else all of it.

    A WACZ file that cannot be read is one part, whose reader reports the reason.
    """
    if not Path(file).is_file():  # standard input, or a pipe that is not to be opened twice
        return [FilePart(file)]
    try:
        with Path(file).open("rb") as opened:
            return [FilePart(file, *part) for part in warc_ranges(opened)] if is_wacz(opened) else [FilePart(file)]
    except (DamagedFile, OSError):
        return [FilePart(file)]


def parts_of(file: str, size: int = PART_BYTES, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[FilePart]:
    """Yield the parts of *file* as they are found; together they are read as the whole file is.

    A part begins with a record that begins its compressed member, as in every regular .warc.gz and .warc.zst; any other
    file is one part. To find them, the file is decompressed up to where it is damaged.
    """
    for whole in whole_parts(file):
        begin = whole.begin
        for offset in _records(whole, limits):
            if offset - begin >= size:
                yield FilePart(file, begin, offset)
                begin = offset
        yield FilePart(file, begin, whole.stop)


def _records(whole: FilePart, limits: ReadLimits) -> Iterator[int]:
    """Yield where records begin that have another date than the record before them.

    Captures of one URL and one date, such as a redirect and its target, are stored in the order of the file, so they
    must not be in two parts. Nor must a response and its request, by which the reader of the part knows its method.
    """
    exchanges = Exchanges()
    date: str | None = None
    for record in chain(_members(whole, limits), [None]):
        for taken in exchanges.rest() if record is None else exchanges.add(record):
            before, date = date, taken.date
            if taken.is_start and before not in (None, date):
                yield whole.begin + taken.offset
        if record is None:
            date = None  # no part ends with a gap: it would not know where reading goes on


def _members(whole: FilePart, limits: ReadLimits) -> Iterator[Record | None]:
    """Yield the records of a file that begin its compressed members, and None for what is damaged.

    They end before a member of several records: the second one may be the request of a response elsewhere.
    """
    member = -1
    remaining = 0
    # What cannot be read is reported by the reader of the last part, which meets it too.
    with suppress(DamagedFile, OSError), Path(whole.file).open("rb") as opened:
        bounded = _Bounded(opened, whole)
        pieces, offsets = pieces_of(iter(lambda: bounded.read(BLOCK), b""), limits, lambda: WARC_RECORD.starts)
        if not (offsets.are_of_members and offsets.can_begin):
            return
        for piece in pieces:
            if piece.gap is not None:
                yield None
            elif piece.offset == member:
                remaining -= len(piece.data)
            else:
                if piece.data[: len(MEMBER_START)].upper() != MEMBER_START:
                    return
                member = piece.offset
                end = EMPTY_LINE.search(piece.data)
                head = piece.data[: end.end() if end else 0]
                headers = parse_record_fields(head)
                length = headers.get("content-length", "")
                size = int(length) if length.isascii() and length.isdecimal() and len(length) < 16 else 0
                remaining = len(head) + size + _MOST_BETWEEN - len(piece.data)
                yield Record(headers, size, piece.offset)
            if remaining < 0:
                return


# --- Files of any format ----------------------------------------------------------------------------------------------


_JSON_LINES = (".jsonl", ".ndjson", ".jl")


def read_pages(
    source: str | Path | BinaryIO,
    *,
    types: Collection[str] | None = DEFAULT_TYPES,
    report: ReadReport | None = None,
    extract: bool = True,
    detect_language: bool = False,
    verify_digests: bool = False,
    date_fallback: datetime | None = None,
    methods: Collection[str] | None = DEFAULT_METHODS,
    urls: URLFilter | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
    start: Place | None = None,
) -> Iterator[Page]:
    """Return the pages of a WARC, WACZ, ARC, HAR, JSON Lines, Parquet, CSV or Excel file, one by one, as they are read.

    `source` is a path, an open binary file, or "-" for standard input; gzip, zstd and LZ4 are recognised by their first
    bytes. WACZ, Parquet and Excel need a seekable file, Parquet also `hbase-webtable[arrow]`, Excel
    `hbase-webtable[excel]`. CSV, TSV and Excel files have a page a row, without its body: those of Screaming Frog,
    Sitebulb, advertools and of webtable (docs/seo_files.md). `types` are the media types that are returned (None or
    {"*"}: all), `extract` fills in title and links of HTML pages that come without, `detect_language` finds the
    language of pages that do not say it, as a writer does, `verify_digests` verifies the digests of WARC records, of
    their blocks and payloads, and `date_fallback`, with a timezone, is the date of WARC records and of rows that have
    none, or an impossible one. `methods` are those of requests whose responses are returned from WARC and HAR files
    (None or {"*"}: all). The URL of an answer to another method than GET has the method and what was sent in its query,
    as in `__wb_method=POST&name=value`; a response without a request counts as one to GET. Pages whose URL the filter
    `urls` refuses are left out, and counted by its rule; the URL of a page stays as it is in the file. `report` is kept
    up to date while reading. `limits` bounds memory and time; a record over a limit is skipped, or returned without
    title and links, and counted. With `start`, a `place` of the report of an earlier read, reading begins after that
    record; this needs a seekable file with the same content.

    A damaged record is reported and skipped, and so is a damaged gzip or zstd member, a row group of Parquet, or what
    follows a WARC record of a wrong length up to the next record, with the number of bytes. A file that cannot be read
    further, or is truncated, gives the pages up to there, then raises `FormatError` with the place and the number of
    good records; so does a file in an unknown format, and one that is over a limit (`FormatError.limit`).
    `InvalidArgument` is raised for *types* or *methods* that are one string, and for a file that is open for text.
    """
    captures = captures_of(
        source,
        types=types,
        report=report,
        extract=extract,
        detect_language=detect_language,
        verify_digests=verify_digests,
        date_fallback=date_fallback,
        methods=methods,
        urls=urls,
        limits=limits,
        start=start,
    )
    return cast("Iterator[Page]", captures)


def read_failed(source: str | Path | BinaryIO, *, report: ReadReport | None = None) -> Iterator[FailedFetch]:
    """Yield the failed fetches of a WARC file that webtable has written, as of the file failed.warc.gz of an export.

    *source*, *report* and what is raised are as for `read_pages`.
    """
    # No page has this type, so that no body is read.
    captures = captures_of(source, types=(), report=report, extract=False, with_failed=True)
    return (capture for capture in captures if not isinstance(capture, Page))


def captures_of(
    source: str | Path | BinaryIO,
    *,
    types: Collection[str] | None,
    report: ReadReport | None,
    extract: bool = True,
    detect_language: bool = False,
    verify_digests: bool = False,
    date_fallback: datetime | None = None,
    methods: Collection[str] | None = DEFAULT_METHODS,
    urls: URLFilter | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
    start: Place | None = None,
    with_failed: bool = False,
) -> Iterator[Page | FailedFetch]:
    """Yield what `read_pages` does, and *with_failed* the fetches that failed."""
    if isinstance(types, str):
        raise InvalidArgument(f"types={types!r} is one string; give a collection, as in {{{types!r}}}")
    wanted = None if types is None or "*" in types else frozenset(map(str.lower, types))
    report = ReadReport() if report is None else report
    report.place = start or Place()
    warc = WARCOptions(
        types=wanted,
        methods=wanted_methods(methods),
        limits=limits,
        verify_digests=verify_digests,
        date_fallback=given_moment("date_fallback", date_fallback),
        with_failed=with_failed,
    )
    complete = partial(_filled, report=report, limits=limits, detect_language=detect_language)
    completed = complete if extract else with_header_fields
    if with_failed:
        return _pages(source, report, warc, partial(_unless_failed, completed), _wanted(urls, report))
    return _pages(source, report, warc, completed, _wanted(urls, report))


def _unless_failed(complete: Callable[[Page], Page], capture: Page | FailedFetch) -> Page | FailedFetch:
    return complete(capture) if isinstance(capture, Page) else capture


def _wanted(urls: URLFilter | None, report: ReadReport) -> Callable[[Page | FailedFetch], bool] | None:
    """Return a test whether a page is of the wanted *urls*, which counts those that are not; None if all are."""
    if urls is None:
        return None
    from webtable.url_filter import checked_filter  # it imports RE2

    explain = checked_filter(urls).explain

    def is_wanted(page: Page | FailedFetch) -> bool:
        decision = explain(page.url)
        if not decision.is_allowed:
            count(report.other_urls, decision.rule)
            report.pages -= isinstance(page, Page)
        return decision.is_allowed

    return is_wanted


def _pages(
    source: str | Path | BinaryIO,
    report: ReadReport,
    options: WARCOptions,
    completed: Callable[[Any], Page | FailedFetch],
    is_wanted: Callable[[Page | FailedFetch], bool] | None,
) -> Iterator[Page | FailedFetch]:
    already = report.good_records  # of earlier reads, as a report adds up
    begin, skip = report.place
    with _opened(source) as (file, name):
        _add_total(file, report, begin)
        if _is_pipe(file):
            options = replace(options, most_between=MOST_OF_PIPE)
        stream = None
        try:
            for part in _parts(file, begin):
                blocks = _blocks(file, part, name, report)
                stream = ByteStream(blocks, options.limits, begin=part.begin, probe=_probe(file, part))
                pages = _read(stream, file, name, report, options, skip=skip)
                yield from map(completed, pages if is_wanted is None else filter(is_wanted, pages))
                skip = 0
        except DamagedFile as exc:
            begin = stream.begin if stream else begin
            offset = begin + exc.offset if exc.offset is not None else stream.mark if stream else begin
            count = report.good_records - already
            message = f"{name}, byte {offset:,}, after {count:,} good records: {exc}"
            raise FormatError(message, limit=exc.limit) from exc


def _parts(file: BinaryIO, begin: int) -> Iterator[ByteRange]:
    """Yield what is to be read of *file* from *begin* on, which is at its beginning: of a WACZ file each WARC file."""
    if is_wacz(file) and not is_workbook(file):
        for part in warc_ranges(file):
            if begin < part.stop:
                file.seek(max(begin, part.begin))
                yield ByteRange(max(begin, part.begin), part.stop)
        return
    if begin:
        file.seek(begin)
    yield ByteRange(begin, sys.maxsize)


def _read(
    stream: ByteStream, file: BinaryIO, name: str, report: ReadReport, options: WARCOptions, *, skip: int
) -> Iterator[Page | FailedFetch]:
    """Yield the pages in the order of the file; go on after each damaged member."""
    reader: Callable[..., Iterator[Page | FailedFetch]] | None = None
    source: object = file
    is_whole = not (skip or stream.begin or isinstance(source, _Bounded))
    records, left_out = report.records, report.left_out.copy()
    while True:
        try:
            reader = reader or _reader(stream, file, name)
            yield from reader(stream, name, report, options, skip=skip)
            if reader is read_warc and is_whole:
                _check_derived(report.left_out - left_out, report.records - records)
        except DamagedMember as exc:
            report.add_gap(DamagedRecord(name, stream.begin + exc.begin, None, str(exc)), exc.skipped)
            skip = 0  # the records to skip are before it
        else:
            return


def _check_derived(left_out: Counter[str], records: int) -> None:
    """Raise `DamagedFile` if *records* are those of a WAT or a WET file, by what was *left_out*."""
    for kind, what in DERIVED.items():
        if left_out[kind] and left_out[kind] + left_out["warcinfo"] == records:
            raise DamagedFile(what, 0)


def _reader(stream: ByteStream, file: BinaryIO, name: str) -> Callable[..., Iterator[Page | FailedFetch]]:
    """Return the function that reads the file, by its first bytes, or by its name if those are inconclusive."""
    start = stream.peek(64)
    if start.startswith(ZIP):
        if not file.seekable():
            raise DamagedFile(
                "WACZ and Excel files are read from their end, and a pipe cannot be: give it as a file", 0
            )
        return lambda _, name, report, options, skip: read_excel(file, name, report, options, skip=skip)
    if start.startswith(MAGIC):
        return lambda _, name, report, options, skip: read_parquet(
            _from_its_end(file), name, report, options.types, options.limits, skip=skip
        )
    stem = name.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".lz4")
    is_json = start.lstrip(b"\xef\xbb\xbf\t\r\n ").startswith(b"{")
    if not stem.endswith(_JSON_LINES) and (HAR.match(start) or (is_json and stem.endswith(".har"))):
        return read_har
    if not start.startswith(MEMBER_START) and (is_json or stem.endswith(_JSON_LINES)):
        return read_jsonl
    # More is looked at only here: the first page of a pipe is not to wait for the next one.
    if not start.startswith(MEMBER_START):
        if is_arc(start) or is_arc(stream.peek(FIRST_LINE)):
            stream.expect(ARC_RECORD)
            return read_arc
        if stem.endswith(TABLES) or delimiter_of(stream.peek(LOOKED_AT)):
            return read_table
        if not stream.begin and (what := description_of(stream.peek(LOOKED_AT), name)):
            raise DamagedFile(what, 0)
    stream.expect(WARC_RECORD)
    return read_warc


@contextmanager
def _opened(source: str | Path | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    if source == "-":
        yield sys.stdin.buffer, "standard input"
    elif isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            yield file, str(source)
    else:
        yield source, str(getattr(source, "name", "the open file"))


def _is_pipe(file: BinaryIO) -> bool:
    """Whether *file* may give its bytes late; a part of a file can be sought, and has no method that says so."""
    return not file.seekable() if hasattr(file, "seekable") else not hasattr(file, "seek")


def _add_total(file: BinaryIO, report: ReadReport, begin: int) -> None:
    try:
        total = os.fstat(file.fileno()).st_size
    except (OSError, AttributeError):
        return
    if total:
        report.total_bytes = (report.total_bytes or 0) + max(total - begin, 0)


def _probe(file: BinaryIO, part: ByteRange) -> Callable[[int, int], bytes] | None:
    """Return what reads bytes of *part* at an offset of *file*, which stays where it is; None for a pipe."""
    if _is_pipe(file):
        return None

    def probe(offset: int, size: int) -> bytes:
        place = file.tell()
        file.seek(offset)
        try:
            return file.read(max(min(size, part.stop - offset), 0))
        finally:
            file.seek(place)

    return probe


def _blocks(file: BinaryIO, part: ByteRange, name: str, report: ReadReport) -> Iterator[bytes]:
    remaining = part.stop - part.begin
    while block := file.read(min(BLOCK, remaining)):
        remaining -= len(block)
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


def _filled(page: Page, report: ReadReport, limits: ReadLimits, *, detect_language: bool) -> Page:
    """Return *page* with the fields extracted from its HTML, and count a limit that it is over."""
    page, extracted = filled(page, limits, detect_language=detect_language)
    if extracted is not None and extracted.over is not None:
        (report.shortened if extracted.is_parsed else report.unparsed)[extracted.over] += 1
    return page

"""Reader of ARC files, the format before WARC (Internet Archive, "Arc File Format", 1996): versions 1 and 2.

A record is a line and a document of as many bytes as the last field of the line says. In version 1 the line is URL, IP
address, date, media type, length; in version 2 URL, IP address, date, media type, status, checksum, location, offset,
file name, length. Which one it is shows in each line, so reading can begin at any record.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from webtable.formats.compressed import RecordStart, TooLong
from webtable.formats.read_report import DamagedFile, DamagedRecord, LeftOut, ReadReport
from webtable.formats.warc import Record, WARCOptions, read_block, reported_page, skip_rest, wrong_length
from webtable.page.body import looks_like_html
from webtable.page.headers import header_text, media_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.formats.compressed import ByteStream
    from webtable.page.page import Page

FIRST_LINE: Final = 1 << 12
"""The most bytes in which the first line of a file is looked for."""
_MOST_OF_LINE: Final = 1 << 16
_VERSION = b"filedesc:"
_SCHEMES = b"http https ftp dns whois metadata filedesc gopher news nntp mailto file rtsp mms screenshot"
# A line with a scheme, a date after it, and a digit at its end; whether it is one of a record, `_record` says.
ARC_RECORD: Final = RecordStart(
    tuple(scheme + b":" for scheme in _SCHEMES.upper().split()),
    re.compile(
        rb"(?<![^\r\n])[A-Za-z][A-Za-z0-9+.-]{0,20}+:"
        rb"(?=[^\r\n]{1,4096}? \d{8}(?:\d\d){0,3}(?:\d{3})? )[^\r\n]{8,4096}+(?<=\d)\r?\n"
    ),
    FIRST_LINE + 32,
)
_LINE_ENDS = re.compile(rb"[\r\n]+")
_LINE_END = re.compile(rb"\n")
_SHOWN: Final = 16
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Seconds are missing in some of 2001; 17 digits are with milliseconds.
_DATE = re.compile(r"\d{8}(?:\d\d){0,3}|\d{17}", re.ASCII)
_LAST = "99991231235959"


class _ARCRecord(Record):
    __slots__ = ()
    date_name = "date"


def is_arc(start: bytes) -> bool:
    """Whether a file, or a part of one, that begins with *start* is an ARC file."""
    line, end, _ = start.lstrip(b"\r\n").partition(b"\n")
    return line.startswith(_VERSION) or (bool(end) and _record(line, 0) is not None)


def read_arc(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page]:
    """Yield the pages of an ARC file after the first *skip* records; a damaged one is reported.

    Where no record begins, reading goes on with the next that does, and the bytes before it are counted. Raises
    `DamagedFile` where none follows, and for a file that ends within a record.
    """
    while True:
        stream.skip_run(_LINE_ENDS)
        stream.mark = stream.offset
        if not stream.peek(1):
            return
        try:
            line = stream.read_head(_MOST_OF_LINE, _LINE_END)
        except TooLong:
            line = stream.read(_SHOWN)
        record = _record(line, stream.mark)
        if record is None:
            reason = f"no record begins where one should: {line[:_SHOWN]!r}"
            skipped, is_found = stream.skip_to_record(len(line))
            if not is_found:
                raise DamagedFile(f"{reason}, nor does one later", stream.mark - stream.begin)
            if not skip:
                report.add_gap(DamagedRecord(source, stream.mark, None, reason), skipped)
            continue
        if line.startswith(_VERSION):
            _skip_version_block(stream, record)
        else:
            record.passed = len(line)
            _read_block(stream, record, options)
        if skip:
            skip -= 1
            stream.restart()
            continue
        report.add_record(stream.restart())
        if (page := reported_page(record, source, report, options)) is not None:
            report.pages += 1
            yield page


def _record(line: bytes, offset: int) -> Record | None:
    """Return the record that begins with *line* at *offset*; None if that is no such line."""
    # A URL may have spaces, and so may a type that was copied with its parameters.
    fields = header_text("", line.rstrip(b"\r\n")).split(" ")
    if len(fields) < 5 or not _URL.match(fields[0]) or not (fields[-1].isascii() and fields[-1].isdecimal()):
        return None
    if len(fields) > 9 and _DATE.fullmatch(fields[-8]) and fields[-3].isdecimal() and len(fields[-6]) <= 3:
        at, media = len(fields) - 8, fields[-7]
    else:
        dates = (at for at in range(len(fields) - 3, 1, -1) if _DATE.fullmatch(fields[at]))
        at = next(dates, 0)
        media = " ".join(fields[at + 1 : -1])
    if not at or len(fields[-1]) > 15:
        return None
    headers = {
        "warc-type": "response",
        "warc-target-uri": "%20".join(fields[: at - 1]),
        "warc-date": _date(fields[at]),
        "content-type": media,
    }
    if fields[at - 1] != "0.0.0.0":  # noqa: S104 - which is written where it is not known
        headers["warc-ip-address"] = fields[at - 1]
    if media_type(media)[0] not in (None, "no-type"):
        headers["warc-identified-payload-type"] = media
    return _ARCRecord(headers, int(fields[-1]), offset)


def _date(digits: str) -> str:
    """Return the date in ISO 8601; of what is missing, the last moment, as warcio reads it. *digits* if it is none."""
    try:
        moment = datetime.strptime(digits[:14] + _LAST[len(digits) :], "%Y%m%d%H%M%S")
    except ValueError:
        return digits
    return f"{moment.isoformat()}.{digits[14:] or '000'}Z"


def _skip_version_block(stream: ByteStream, record: Record) -> None:
    """Skip the block of the first record: its length counts from its first, second or third line on."""
    record.failure = LeftOut("filedesc")
    skipped, is_found = stream.skip_to_record(0)
    if not is_found and skipped < record.size:
        raise DamagedFile("the file ends inside its first record")


def _read_block(stream: ByteStream, record: Record, options: WARCOptions) -> None:
    """Read the block of *record*; if it does not end where it says, go on to where the next record begins."""
    size = min(record.size, 1 << 11)
    if not stream.missing(size) and looks_like_html(stream.loaded(size)):
        record.kind = "resource"  # the answer of a server of HTTP/0.9, which has no head
    block = read_block(stream, record, options)
    if not record.wrong and stream.settle() is None and not _ends_here(stream.loaded(FIRST_LINE)):
        record.wrong = wrong_length(record)
    if record.wrong:
        skip_rest(stream, record, block)
    elif record.failure is None:
        record.block = block


def _ends_here(following: bytes) -> bool:
    """Whether a record may end before *following*: its line end, or the next record, of whatever scheme."""
    line, end, _ = following.partition(b"\n")
    return following[:1] in b"\r\n" or (end != b"" and _record(line, 0) is not None)

"""Reader of ARC files, the format before WARC (Internet Archive, "Arc File Format", 1996): versions 1 and 2.

A record is a line and a document of as many bytes as the last field of the line says. In version 1 the line is URL, IP
address, date, media type, length; in version 2 URL, IP address, date, media type, status, checksum, location, offset,
file name, length. Which one it is shows in each line, so reading can begin at any record.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from webtable.formats.compressed import TooLong
from webtable.formats.read_report import Damaged, DamagedFile, DamagedRecord, LeftOut, ReadReport
from webtable.formats.warc import Record, WARCOptions, check_block, reported_page
from webtable.page.body import looks_like_html
from webtable.page.headers import header_text, media_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable._limits import ReadLimits
    from webtable.formats.compressed import ByteStream
    from webtable.page.page import Page

MEMBER_START: Final = b"http"
"""The beginning of the members of a compressed file at which reading goes on after a damaged one."""
FIRST_LINE: Final = 1 << 12
"""The most bytes in which the first line of a file is looked for."""
_MOST_OF_LINE: Final = 1 << 16
_ALWAYS_AGAIN: Final = 1 << 24
_VERSION = b"filedesc:"
_LINE_ENDS = re.compile(rb"[\r\n]+")
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*+(?:\Z|:)")
_MAY_BEGIN = re.compile(rb"\n(?:https?|ftp|dns|whois|metadata|filedesc):[^\r\n]{8,4096}+\r?\n")
"""Where a record may begin after bytes that belong to none."""
_IN_VERSION_BLOCK = re.compile(rb"\d+ \d+|URL[ -]")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Seconds are missing in some of 2001; 17 digits are with milliseconds.
_DATE = re.compile(r"\d{8}(?:\d\d){0,3}|\d{17}", re.ASCII)
_LAST = "99991231235959"


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
    again = _Again()
    unread: tuple[int, bytes] | None = None  # where no record begins, and what is there
    while True:
        stream.skip_run(_LINE_ENDS)
        stream.mark = stream.offset
        if not stream.peek(1):
            break
        line = _line(stream)
        record = _record(line, stream.mark)
        if record is None:
            unread = unread or (stream.mark, line[:16])
            if not _SCHEME.match(stream.peek(64)):
                stream.skip_before(_MAY_BEGIN, FIRST_LINE)
            continue
        if unread is not None:
            damaged = DamagedRecord(source, unread[0], None, f"no record begins where one should: {unread[1]!r}")
            report.add_gap(damaged, stream.mark - unread[0])
            unread = None
        if line.startswith(_VERSION):
            _skip_version_block(stream, record, options.limits)
        else:
            record.is_skipped = skip > 0
            _read_block(stream, record, options, again)
        if skip:
            skip -= 1
            stream.restart()
            continue
        report.add_record(stream.restart())
        if (page := reported_page(record, source, report, options)) is not None:
            report.pages += 1
            yield page
    if unread is not None:
        raise DamagedFile(f"no record begins where one should, nor later: {unread[1]!r}", unread[0] - stream.begin)


class _Again:
    """How many bytes were read again, after wrong lengths: no more than the file has, and 16 MiB."""

    def __init__(self) -> None:
        self.read = self.again = 0

    def may(self, size: int) -> bool:
        self.again += size
        return self.again <= self.read + _ALWAYS_AGAIN


def _line(stream: ByteStream) -> bytes:
    try:
        line = stream.read_to(b"\n", _MOST_OF_LINE)
    except TooLong:
        return b""
    if not line.endswith(b"\n"):
        raise DamagedFile("the file ends inside the header of a record")
    return line


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
    headers = {"warc-type": "response", "warc-target-uri": "%20".join(fields[: at - 1]), "content-type": media}
    if media_type(media)[0] not in (None, "no-type"):
        headers["warc-identified-payload-type"] = media
    record = Record(headers, int(fields[-1]), offset)
    try:
        headers["warc-date"] = _date(fields[at])
    except ValueError:
        record.failure = Damaged(f"its date {fields[at]!r} is not a date")
    return record


def _date(digits: str) -> str:
    """Return the date in ISO 8601; of what is missing, the last moment, as warcio reads it. Raises `ValueError`."""
    whole = digits[:14] + _LAST[len(digits) :]
    moment = datetime.strptime(whole, "%Y%m%d%H%M%S")
    return f"{moment.isoformat()}.{digits[14:] or '000'}Z"


def _skip_version_block(stream: ByteStream, record: Record, limits: ReadLimits) -> None:
    """Skip the block of the first record: its length counts from its first, second or third line on."""
    record.failure = LeftOut("filedesc")
    remaining = record.size
    while remaining > 0 or _IN_VERSION_BLOCK.match(stream.loaded(8)):
        # What is ahead of a member may be damaged, and nothing of it is needed here.
        ahead = stream.peek(1) and (stream.loaded if stream.is_of_members else stream.peek)(FIRST_LINE)
        line, end, _ = ahead.partition(b"\n")
        if end and _record(line, 0) is not None:
            return
        if not ahead:
            if remaining > 2:
                raise DamagedFile("the file ends inside its first record")
            return
        remaining -= len(stream.read_to(b"\n", limits.record))


def _read_block(stream: ByteStream, record: Record, options: WARCOptions, again: _Again) -> None:
    """Read the block of *record*, of which `failure` says why it is none."""
    size = record.size
    if not stream.is_of_members and size <= options.limits.record:
        ahead = stream.peek(size + FIRST_LINE)
        if not _ends(ahead, size) and (following := _next(ahead)) is not None and again.may(size):
            record.failure = _wrong_length(size)
            stream.skip(following)
            again.read += following
            return
    again.read += size
    try:
        if record.failure is None and not record.is_skipped:
            if looks_like_html(stream.peek(min(size, 1 << 11))):
                record.kind = "resource"  # the answer of a server of HTTP/0.9, which has no head
            check_block(stream, record, options)
            record.block = stream.read(size)
        else:
            stream.skip(size)
    except (Damaged, LeftOut) as reason:
        record.failure = reason
        stream.skip(size)
    stream.settle()
    if record.failure is None and not _ends(stream.loaded(FIRST_LINE), 0):
        record.failure = _wrong_length(size)


def _wrong_length(size: int) -> Damaged:
    return Damaged(f"its length of {size:,} bytes does not lead to the next record")


def _ends(data: bytes, at: int) -> bool:
    """Whether a record may end *at* this place of *data*: its line end, the next record, or nothing known follows."""
    if at > len(data):
        return False
    rest = data[at:]
    line, end, _ = rest.partition(b"\n")
    return rest[:1] in b"\r\n" or (_record(line, 0) is not None if end else _SCHEME.match(rest) is not None)


def _next(data: bytes) -> int | None:
    """Return where the next record begins in *data*; None if none does."""
    for match in _MAY_BEGIN.finditer(data):
        if _record(match[0][1:], 0) is not None:
            return match.start()
    return None

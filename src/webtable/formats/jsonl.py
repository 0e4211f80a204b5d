"""Reader of pages in JSON Lines, one object per line, as `webtable.formats.answer_files` writes them."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.errors import InvalidURL
from webtable.formats.compressed import TooLong
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    OverLimit,
    ReadReport,
    check_announced,
    check_fields,
)
from webtable.page.json_lines import ATTRIBUTES, TIMES, page_with, values_of
from webtable.page.page import Page
from webtable.page.parts import Status  # noqa: TC001 - msgspec reads the annotation
from webtable.page.row_values import headers_in_row, time_in_row
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from webtable.formats.compressed import ByteStream

_LONG = 1 << 20
"""The size above which a line is checked before it is decoded: a two-letter name takes 200 bytes of memory."""
_MAX_NAMES = 100_000
_BLANK = re.compile(rb"[\t\r\n ]+")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
"""An escape in JSON; its group is a surrogate that is not half of a pair."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# In the first line of pages.jsonl of WACZ; a quotation mark within a value of a page is escaped.
_LIST_OF_PAGES = re.compile(rb'"format"\s*:\s*"json-pages-')
_FIRST_BYTES = 1 << 10
_FIELDS = tuple(ATTRIBUTES)


class _PageLine(Page, frozen=True, kw_only=True, rename={"body": "body_base64", "body_text": "body"}):
    """A page as it is in a line: its body is text, or bytes under another name."""

    body: bytes | None = None
    body_text: str | None = None
    headers: Any = None
    # Declared here as well, for the field of a page has the name that is stored.
    status: Status = 200


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


def read_jsonl(
    stream: ByteStream,
    source: str,
    report: ReadReport,
    types: Collection[str] | None,
    limits: ReadLimits = DEFAULT_LIMITS,
    *,
    skip: int = 0,
) -> Iterator[Page]:
    """Yield the pages of a JSON Lines file after the first *skip* of its lines.

    A line that is not a page is skipped, and reported with its number, or with its place in bytes if the file was not
    read from its beginning or a part of it is lost. Raises `DamagedFile` for the list of pages of a web archive.
    """
    number = 1
    if (stream.gaps or stream.begin) and stream.peek(1) not in b"{\t\r\n ":
        stream.skip_to(b"\n")  # the end of a line whose beginning is in a damaged member
    if stream.peek(3) == _BYTE_ORDER_MARK:
        stream.skip(3)
    while True:
        number += sum(part.count(b"\n") for part in stream.skip_run(_BLANK))
        stream.mark = stream.offset
        if not stream.peek(1):
            return
        if skip:
            skip, number = skip - 1, number + 1
            stream.skip_to(b"\n")
            continue
        place, unit = (number, "line") if not (stream.begin or stream.gaps) else (stream.mark, "byte")
        page = report.attempt(
            lambda: check_announced(types, _page(_line(stream, limits), report, limits)),
            lambda reason: DamagedRecord(source, place, None, reason, unit),  # noqa: B023 - called at once
        )
        report.add_record(stream.restart())
        number += 1
        if page is not None:
            report.pages += 1
            yield page


def _line(stream: ByteStream, limits: ReadLimits) -> bytes:
    try:
        return stream.read_to(b"\n", limits.record)
    except TooLong as exc:
        stream.skip_to(b"\n")
        raise OverLimit("record", f"it has over {limits.record:,} bytes") from exc


def _page(line: bytes, report: ReadReport, limits: ReadLimits) -> Page:
    try:
        if len(line) > _LONG:
            _check_long(line, limits)
        line, read = _decoded(line, report)
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


def _decoded(line: bytes, report: ReadReport) -> tuple[bytes, _PageLine]:
    try:
        return line, _decoder.decode(line)
    except msgspec.DecodeError:
        # JavaScript writes half of a character where a text was cut inside one; other readers accept it.
        whole = _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], line)
        if whole == line:
            raise
        read = _decoder.decode(whole)
        report.replaced += 1
        return whole, read


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

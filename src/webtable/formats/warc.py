"""Reader of pages in WARC files (ISO 28500, WARC 1.0 and 1.1)."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.body import looks_like_html
from webtable._page.fields import attributes
from webtable._page.headers import Headers, media_type
from webtable._page.page import BLANK, Page
from webtable.errors import InvalidURL
from webtable.formats.http import Response, decoded_body, parse_headers, parse_response
from webtable.formats.page_field import extra_fields
from webtable.formats.read_report import Damaged, DamagedFile, DamagedRecord, LeftOut, OverLimit, ReadReport, check_type
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from webtable.formats.compressed.stream import ByteStream

# How much of a large record is read to see whether its type is wanted; the rest of a film is skipped.
_PROBE = 1 << 20
_PAGE_KINDS = frozenset({"response", "resource", "revisit"})
_DIGESTS = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})
_SEPARATOR = b"\r\n\r\n"
MEMBER_START = b"WARC/"
"""The beginning of records, and so of the members of a compressed file."""
_GAP = re.compile(rb"[\r\n]+")
_IDENTIFIED = "warc-identified-payload-type"
ORIGINAL = "X-Archive-Orig-"
"""The prefix of the names of headers that do not fit the body as webtable writes it."""
RENAMED = "WebTable-Renamed"
"""The field of a record that lists the names of those headers."""


class _RecordHead(NamedTuple):
    offset: int
    headers: dict[str, str]
    length: int

    @property
    def kind(self) -> str:
        return self.headers.get("warc-type", "unknown").lower()

    @property
    def url(self) -> str:
        # Some writers put the URI in <>, as the grammar of WARC 1.0 says.
        return self.headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")


def read_warc(
    stream: ByteStream,
    source: str,
    report: ReadReport,
    types: Collection[str] | None,
    limits: ReadLimits = DEFAULT_LIMITS,
    *,
    verify_digests: bool = False,
    skip: int = 0,
) -> Iterator[Page]:
    """Yield the pages of a WARC file after the first *skip* records.

    Raises `DamagedFile` if the file cannot be read further.

    A page is yielded after its record was read to the last byte and, if its gzip or zstd member ends with it (as in
    every regular .warc.gz), after the member's checksum was verified.
    """
    is_first = True
    while skip and (record := _next_record(stream, limits, is_first=is_first)) is not None:
        is_first, skip = False, skip - 1
        stream.skip(record.length)
        stream.settle(_SEPARATOR, MEMBER_START)
    while (record := _next_record(stream, limits, is_first=is_first)) is not None:
        is_first = False
        page = None
        try:
            block = _block(stream, record, types, limits)
            if verify_digests:
                _verify(record, block)
            page = _page(record, block, types, limits)
        except LeftOut as what:
            report.add_left_out(str(what))
        except (Damaged, InvalidURL) as reason:
            limit = reason.limit if isinstance(reason, OverLimit) else None
            report.add_damaged(DamagedRecord(source, record.offset, record.url or None, str(reason)), limit)
        report.add_record(stream.restart())
        if page is not None:
            report.pages += 1
            yield page


def _next_record(stream: ByteStream, limits: ReadLimits, *, is_first: bool) -> _RecordHead | None:
    """Return the next record with its header (section 4 of WARC 1.1), or None at the end of the file."""
    gap = b""
    for part in stream.skip_run(_GAP):
        gap = (gap + part)[-len(_SEPARATOR) :]
    stream.mark, start = stream.offset, stream.peek(16)
    if not start:
        if not (is_first or gap.endswith((_SEPARATOR, b"\n\n"))):
            raise DamagedFile("the file ends before the empty lines that close a record")
        return None
    if not start.startswith(MEMBER_START):
        if is_first:
            raise DamagedFile(f"not a WARC file (nor JSON Lines): it begins with {start!r}")
        stream.skip_member(f"no record begins where one should: {start!r}")
    head = stream.read_to(_SEPARATOR, limits.head)
    headers = parse_headers(head.removesuffix(_SEPARATOR)).folded()
    length = headers.get("content-length", "")
    if not head.endswith(_SEPARATOR):
        raise DamagedFile("the file ends inside the header of a record")
    if not (length.isascii() and length.isdecimal() and len(length) < 16):
        raise DamagedFile(f"the length of a record is not known: its Content-Length is {length!r}")
    return _RecordHead(stream.mark, headers, int(length))


def _block(stream: ByteStream, record: _RecordHead, types: Collection[str] | None, limits: ReadLimits) -> bytes:
    """Return the block of *record*; one that is left out is skipped without being held in memory."""
    try:
        _check_kind(record)
        if record.length > _PROBE and record.kind != "resource":
            media, _ = media_type(parse_response(stream.peek(_PROBE), limits).headers.get("content-type"))
            if media is not None:
                check_type(types, media)
        if record.length > limits.record:
            reason = f"its {record.length:,} bytes are over the limit of {limits.record:,} for a record"
            raise OverLimit("record", reason)
    except (Damaged, LeftOut):
        stream.skip(record.length)
        stream.settle(_SEPARATOR, MEMBER_START)
        raise
    block = stream.read(record.length)
    stream.settle(_SEPARATOR, MEMBER_START)
    return block


def _check_kind(record: _RecordHead) -> None:
    if record.kind not in _PAGE_KINDS:
        raise LeftOut(record.kind)
    if not record.url:
        raise Damaged("it has no WARC-Target-URI")
    scheme = record.url.partition(":")[0].lower()
    if scheme not in {"http", "https"}:
        raise LeftOut(scheme)
    if "warc-segment-number" in record.headers:
        raise Damaged("it is one of several segments, which are not supported")


def _page(record: _RecordHead, block: bytes, types: Collection[str] | None, limits: ReadLimits) -> Page:
    url = canonical_url(record.url)
    extra = extra_fields(record.headers)
    response = _response(record, block, limits)
    headers, status = response.headers, response.status
    same_as = extra["same_as"] if "same_as" in extra else _same_as(record, url, status)
    cut = same_as is None and "warc-truncated" in record.headers
    # The type that the crawler found in the body replaces one that the server did not send.
    media = media_type(headers.get("content-type"))[0] or media_type(record.headers.get(_IDENTIFIED))[0]
    if same_as is None and "body" not in extra:
        body, media = _body(types, response, media, limits, cut=cut)
    else:
        body = None
        if media is not None:
            check_type(types, media)
    page = replace(
        BLANK,
        url=url,
        body=body,
        status=status,
        content_type=media,
        headers=_with_their_names(headers, record),
        fetched_at=_fetched_at(record),
        truncated=cut,
        same_as=same_as,
    )
    return replace(page, **attributes(extra)) if extra else page


def page_of_record(fields: Iterable[tuple[str, str]], block: bytes) -> Page:
    """Return the page that `read_warc` makes of a record with these *fields* and this *block*.

    Raises `LeftOut`, `Damaged` and `InvalidURL` if it makes none.
    """
    headers = {name.lower(): value for name, value in fields}
    return _page(_RecordHead(0, headers, len(block)), block, None, DEFAULT_LIMITS)


def _with_their_names(headers: Headers, record: _RecordHead) -> Headers:
    """Return *headers* with the original names of those that were renamed in *record*."""
    names = {name.strip() for name in record.headers.get(RENAMED.lower(), "").split(",")} - {""}
    if not names:
        return headers
    renamed = {f"{ORIGINAL}{name}".lower() for name in names}
    pairs = ((name[len(ORIGINAL) :] if name.lower() in renamed else name, value) for name, value in headers.items())
    return Headers(list(pairs))


def _body(
    types: Collection[str] | None, response: Response, media: str | None, limits: ReadLimits, *, cut: bool
) -> tuple[bytes, str | None]:
    """Return the decoded body and its type; raises `LeftOut` unless that is one of *types*.

    Redirects and errors without a body are returned whatever their type; a body without a type may be HTML by its look.
    """
    if not response.body and not 200 <= response.status < 300:
        return b"", media
    if media is not None:
        check_type(types, media)
        return decoded_body(response, limits, cut=cut), media
    body = decoded_body(response, limits, cut=cut)
    found = "text/html" if looks_like_html(body) else None
    check_type(types, found or "unknown")
    return body, found


def _response(record: _RecordHead, block: bytes, limits: ReadLimits) -> Response:
    """Return the response of *record*; for a resource and a revisit without one, an empty response is made."""
    if record.kind == "resource":
        media = record.headers.get("content-type")
        return Response(200, Headers({"content-type": media} if media else {}), block)
    if record.kind == "revisit" and not block.strip():
        return Response(304 if _not_modified(record) else 200, Headers(), b"")
    return parse_response(block, limits)


def _not_modified(record: _RecordHead) -> bool:
    return "server-not-modified" in record.headers.get("warc-profile", "")


def _same_as(record: _RecordHead, url: str, status: int) -> str | None:
    """Return the URL whose content the record repeats (section 6.7 of WARC 1.1), None if it has its own content."""
    if status == 304 or _not_modified(record):
        return url
    if record.kind != "revisit":
        return None
    try:
        return canonical_url(record.headers["warc-refers-to-target-uri"].removeprefix("<").removesuffix(">"))
    except (KeyError, InvalidURL):
        return url


def _fetched_at(record: _RecordHead) -> datetime:
    value = record.headers.get("warc-date", "")
    try:
        parsed = datetime.fromisoformat(value)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Damaged(f"its WARC-Date {value!r} is not a date") from exc
    return parsed.replace(microsecond=parsed.microsecond // 1_000 * 1_000)


def _verify(record: _RecordHead, block: bytes) -> None:
    """Verify the WARC-Block-Digest of *block*, unless it is missing or of an unknown kind (section 5.8 of WARC 1.1)."""
    algorithm, _, expected = record.headers.get("warc-block-digest", "").partition(":")
    name = algorithm.lower().replace("-", "")
    if name not in _DIGESTS:
        return
    digest = hashlib.new(name, block, usedforsecurity=False)
    if expected.lower() != digest.hexdigest() and expected.upper() != base64.b32encode(digest.digest()).decode():
        raise Damaged(f"its block does not match its {algorithm} digest")

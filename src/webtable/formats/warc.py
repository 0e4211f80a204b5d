"""Reader of WARC files (ISO 28500, WARC 1.0 and 1.1): their records, which request a response answers, and its page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.errors import InvalidURL
from webtable.formats import http
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    LeftOut,
    OverLimit,
    Place,
    ReadReport,
    check_type,
    count,
)
from webtable.page.body import looks_like_html, payload_digest
from webtable.page.headers import Headers, media_type
from webtable.page.json_lines import TYPES, attributes
from webtable.page.methods import DEFAULT_METHODS, GET, GET_REQUEST, Request, is_wanted, request_of, stored_url
from webtable.page.page import BLANK, Page
from webtable.repository.page_storage.state import GIVEN
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from webtable.formats.compressed import ByteStream


# --- Records, and the exchanges of responses and requests -------------------------------------------------------------
#
# A response is held until its request is known, or until so many records follow that it counts as one to a GET
# without a request. Its request is the one that it names, or that names it (WARC-Concurrent-To); where neither names
# any, the one next to it with its URI, or else the first one with its URI and date. It is held undecoded, so memory is
# bounded by bytes of the file; a first pass would find requests anywhere, and would inflate the file twice.
#
# Reading can go on only where no exchange is torn, or what is read from there would be taken for something else. So
# each record is told whether it begins at such a place.


MOST_RECORDS = 1_000
"""How many records lie between a response and its request at most."""
MOST_OF_PIPE = 16
"""The same in a pipe: its pages are not to wait for a long time, as what follows may."""
MOST_BYTES = 1 << 24
"""How many bytes of records lie between them at most, which are held in memory."""
_MOST_NAMED: Final = 16
_ID: Final = re.compile(r"<[^<>]*>|[^\s,<>]+")
_RESPONSES: Final = frozenset({"response", "revisit"})
_METHOD_FIELD = re.compile("warc-(?:[a-z]+-)*method")
_NO_PLACE = Place()


class Record:
    """A record with these *headers*, by their names in lower case, and *size* bytes, which begins at *offset*."""

    # Two are made for each page of a crawl: a dataclass with all of these as arguments takes three times as long.
    __slots__ = (
        *("before", "block", "failure", "headers", "id", "is_open", "is_request", "is_response", "is_skipped"),
        *("is_start", "kind", "named", "number", "offset", "place", "reach", "request", "size", "url"),
    )

    def __init__(self, headers: Mapping[str, str], size: int, offset: int = 0) -> None:
        self.headers = headers
        self.size = size
        self.offset = offset
        self.kind: str = headers.get("warc-type", "unknown").lower()
        # Some writers put the URI in <>, as the grammar of WARC 1.0 says.
        self.url: str = headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
        self.is_request: bool = self.kind == "request"
        self.is_response: bool = self.kind in _RESPONSES
        self.request: Request | None = None
        """Of a request, what it asks; of a response, what its request asked, None as long as that is not known."""
        self.block = b""
        self.failure: Damaged | LeftOut | None = None
        """Why the block is not read."""
        self.place = _NO_PLACE
        """The place after it, if reading can go on there."""
        self.is_skipped = False
        """Whether it is before the place where reading begins."""
        self.is_open = False
        """Whether the other record of its exchange was not read yet, and may follow."""
        self.is_start = True
        """Whether no exchange is torn by reading from this record on."""
        self.number = self.reach = 0
        """Its number in the file from 1, and that of the later record of its exchange."""
        self.before = 0
        """Bytes of the records before it."""
        self.id: str = ""
        self.named: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        """When it was made, as the record has it."""
        return self.headers.get("warc-date", "")

    @property
    def moment(self) -> tuple[str, str]:
        """The URI and the date, which a response and its request have in common."""
        return self.url, self.date

    @property
    def assumed_request(self) -> Request:
        """What its request asked: without one, what a field such as WARC-Request-Method says, or else GET."""
        if self.request is not None or not self.is_response:
            return self.request or GET_REQUEST
        hints = (
            value for name, value in self.headers.items() if name.endswith("method") and _METHOD_FIELD.fullmatch(name)
        )
        return request_of(next(hints, GET), None, None, b"")

    def read_ids(self) -> None:
        """Find its ID and those that it names in its headers."""
        self.id = self.headers.get("warc-record-id", "").strip("<> ")
        if named := self.headers.get("warc-concurrent-to"):
            self.named = tuple(dict.fromkeys(name.strip("<>") for name in _ID.findall(named)[:_MOST_NAMED]))


class Exchanges:
    """The records of a file, in their order, each given back once its request is known.

    Requests are looked for among *most_between* records before and after a response.
    """

    def __init__(self, most_between: int = MOST_RECORDS) -> None:
        self._most_between = most_between
        self._held: deque[Record] = deque()
        self._last: Record | None = None
        """The record before, if it is open. It is in none of the indexes below: in most files the next is its other."""
        self._open: dict[int, Record] = {}
        """The other open ones, which are no more than *most_between*, by their numbers, in the order of these."""
        self._by_id: dict[str, Record] = {}
        self._naming: dict[str, list[Record]] = {}
        self._by_moment: dict[tuple[str, str], list[Record]] = {}
        self.count: int = 0
        """How many were added."""
        self._bytes = self._reach = 0
        self._is_whole = True

    def add(self, record: Record) -> list[Record]:
        """Add the next record of the file, and return those up to the first response whose request may follow."""
        record.number = record.reach = self.count = self.count + 1
        record.before = self._bytes
        self._bytes += record.size
        self._held.append(record)
        last, self._last = self._last, None
        if record.is_request or record.is_response:
            record.read_ids()
            if last is not None and self._is_other(last, record):
                last.is_open = False
                self._join(last, record)
            else:
                self._index(last)
                if (other := self._other_of(record)) is not None:
                    self._forget(other)
                    self._join(other, record)
                else:
                    record.is_open, self._last = True, record
        else:
            self._index(last)
        self._expire()
        return self._taken()

    def rest(self) -> list[Record]:
        """Return all records that are held: nothing follows."""
        for record in (*self._open.values(), *([] if self._last is None else [self._last])):
            record.is_open = False
        self._last = None
        for index in (self._open, self._by_id, self._naming, self._by_moment):
            index.clear()
        return self._taken()

    def _taken(self) -> list[Record]:
        taken = []
        while self._held and not (self._held[0].is_open and self._held[0].is_response):
            record = self._held.popleft()
            taken.append(record)
            record.is_start = self._is_whole
            self._reach = max(self._reach, record.reach)
            first = next(iter(self._open), 0 if self._last is None else self._last.number)
            self._is_whole = self._reach <= record.number and not 0 < first <= record.number
        return taken

    def _is_other(self, last: Record, record: Record) -> bool:
        """Whether *record* is the other record of the exchange of *last*, the one before it, and of no earlier one.

        It is also False where that has to be looked for in the indexes.
        """
        if last.is_request == record.is_request:
            return False
        if not record.named and not last.named:
            # A request may be dated before its response. One behind a response with another date is that of the next.
            return last.url == record.url and (last.is_request or last.date == record.date)
        if self._open:  # an earlier one may name the same
            return False
        return record.id in last.named or (last.id != "" and last.id in record.named)

    def _other_of(self, record: Record) -> Record | None:
        """Return the open record of the exchange of *record*; None if it was not read yet."""
        if not record.named:
            others = self._by_moment.get(record.moment, [])
            if others and others[0].is_request != record.is_request:
                return others[0]
        for name in (record.id, *record.named):
            # All of a list are requests, or all are responses: two that fit would have been joined.
            others = self._naming.get(name, [])[:1]
            if name in record.named and (other := self._by_id.get(name)) is not None:
                others = [*others, other]
            for other in others:
                if other.is_request != record.is_request:
                    return other
        return None

    def _join(self, other: Record, record: Record) -> None:
        response, request = (other, record) if other.is_response else (record, other)
        response.request = request.request
        other.reach = record.number
        if not self._held or other.number < self._held[0].number:  # it was taken already
            self._reach = max(self._reach, record.number)

    def _index(self, record: Record | None) -> None:
        if record is None:
            return
        self._open[record.number] = record
        if record.id:
            self._by_id.setdefault(record.id, record)
        for name in record.named:
            self._naming.setdefault(name, []).append(record)
        if not record.named:
            self._by_moment.setdefault(record.moment, []).append(record)

    def _forget(self, record: Record) -> None:
        record.is_open = False
        del self._open[record.number]
        if self._by_id.get(record.id) is record:
            del self._by_id[record.id]
        for name in record.named:
            _remove(self._naming, name, record)
        if not record.named:
            _remove(self._by_moment, record.moment, record)

    def _expire(self) -> None:
        while self._open:
            first = next(iter(self._open.values()))
            if self.count - first.number < self._most_between and self._bytes - first.before - first.size <= MOST_BYTES:
                return
            self._forget(first)


def _remove(lists: dict[Any, list[Record]], key: str | tuple[str, str], record: Record) -> None:
    lists[key].remove(record)
    if not lists[key]:
        del lists[key]


# --- Pages ------------------------------------------------------------------------------------------------------------


# How much of a large record is read to see whether its type is wanted; the rest of a film is skipped.
_PROBE = 1 << 20
# The method of a request is in its first line.
_LINE = 1 << 6
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
FIELD = "WebTable-Page"
"""The field with what a reader would not find in the rest of a record that webtable has written, as JSON."""
MOST_OF_FIELD = 200_000
"""Bytes of its value: readers skip a record with a head over `ReadLimits.head`."""
FIELD_NAMES = tuple(name for name in GIVEN if name not in ("url", "fetched_at"))
"""The fields of a page that it may have; `body` is null if no body is stored, not even an empty one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WARCOptions:
    """How WARC files are read: the media *types* and the *methods* of requests that are wanted, None for all."""

    types: Collection[str] | None
    methods: frozenset[str] | None = DEFAULT_METHODS
    limits: ReadLimits = DEFAULT_LIMITS
    verify_digests: bool = False
    most_between: int = MOST_RECORDS
    """How many records may lie between a response and its request."""


def read_warc(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page]:
    """Yield the pages of a WARC file after the first *skip* records.

    Raises `DamagedFile` if the file cannot be read further.

    A page is yielded after its record was read to the last byte and, if its gzip or zstd member ends with it (as in
    every regular .warc.gz), after the member's checksum was verified; and after its request was read, if it has one.
    """
    exchanges = Exchanges(options.most_between)
    place = Place(report.place.offset, report.place.records - skip)
    begin, number = place, 0  # the last place at which no exchange is torn, and the number of the record before it

    def page_of(record: Record) -> Page | None:
        nonlocal begin, number
        if record.is_start and record.place.records == 1:
            begin, number = Place(record.place.offset), record.number - 1
        if record.is_skipped:
            return None
        page = reported_page(record, source, report, options)
        report.records += 1
        report.place = Place(begin.offset, begin.records + record.number - number)
        report.pages += page is not None
        return page

    try:
        while (record := _next_record(stream, options.limits, is_first=not exchanges.count)) is not None:
            record.is_skipped = exchanges.count < skip
            _read_block(stream, record, options)
            record.place = place = place.after(stream.restart())
            yield from filter(None, map(page_of, exchanges.add(record)))
    except (DamagedFile, KeyboardInterrupt):  # the latter while waiting for standard input
        yield from filter(None, map(page_of, exchanges.rest()))
        raise
    yield from filter(None, map(page_of, exchanges.rest()))


_ExtraFields = msgspec.defstruct(
    "_ExtraFields", [(name, kind | UnsetType, UNSET) for name, kind in TYPES.items() if name in FIELD_NAMES]
)
_decode_extra = msgspec.json.Decoder(_ExtraFields).decode


def extra_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields of the page from the *fields* of a record, by their names in lower case; raises `Damaged`."""
    value = fields.get(FIELD.lower())
    if value is None:
        return {}
    try:
        decoded = msgspec.structs.asdict(_decode_extra(value))
    except (ValueError, RecursionError) as exc:
        raise Damaged(f"its {FIELD} cannot be read: {exc}") from exc
    extra = {name: value for name, value in decoded.items() if value is not UNSET}
    for name in ("last_modified", "content_at", "repeats_at"):
        if extra.get(name) is not None and extra[name].tzinfo is None:
            raise Damaged(f"its {FIELD} has a {name} without a time zone")
    return extra


def reported_page(record: Record, source: str, report: ReadReport, options: WARCOptions) -> Page | None:
    """Return the page of *record*; None if it has none, which is counted."""
    if record.is_request:
        report.add_left_out(record.kind)
        return None
    request = record.assumed_request
    if record.is_response and not is_wanted(options.methods, request.method):
        count(report.other_methods, request.method)
        return None

    def read() -> Page:
        if record.failure is not None:
            raise record.failure
        if options.verify_digests:
            _verify(record)
        page, problem = _page(record, request, options.types, options.limits)
        if problem is not None:
            count(report.truncated, problem)
        return page

    return report.attempt(read, lambda reason: DamagedRecord(source, record.offset, record.url or None, reason))


def _next_record(stream: ByteStream, limits: ReadLimits, *, is_first: bool) -> Record | None:
    """Return the next record with its header (section 4 of WARC 1.1), or None at the end of the file."""
    _, gap = stream.skip_run(_GAP)
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
    headers = http.parse_record_fields(head.removesuffix(_SEPARATOR))
    length = headers.get("content-length", "")
    if not head.endswith(_SEPARATOR):
        raise DamagedFile("the file ends inside the header of a record")
    if not (length.isascii() and length.isdecimal() and len(length) < 16):
        raise DamagedFile(f"the length of a record is not known: its Content-Length is {length!r}")
    return Record(headers, int(length), stream.mark)


def _read_block(stream: ByteStream, record: Record, options: WARCOptions) -> None:
    """Read the block of *record*; one that is left out is skipped without being held in memory."""
    if record.kind == "request":
        record.request = _request(stream, record, options)
    elif not record.is_skipped:
        try:
            check_block(stream, record, options)
            record.block = stream.read(record.size)
        except (Damaged, LeftOut) as reason:
            record.failure = reason
            stream.skip(record.size)
    else:
        stream.skip(record.size)
    stream.settle(_SEPARATOR, MEMBER_START)


def _request(stream: ByteStream, record: Record, options: WARCOptions) -> Request | None:
    """The request in *record*, with the query that stands for its content if responses to it are wanted.

    It is left out like the other records that are no pages.
    """
    method = http.method_of(stream.peek(_LINE)[: record.size]) or GET
    if method != GET and is_wanted(options.methods, method) and record.size <= options.limits.record:
        return http.parse_request(stream.read(record.size), options.limits)
    stream.skip(record.size)
    return GET_REQUEST if method == GET else Request(method)


def check_block(stream: ByteStream, record: Record, options: WARCOptions) -> None:
    """Raise `Damaged` or `LeftOut` if the block of *record* need not be read."""
    _check_kind(record)
    if record.size > _PROBE and record.kind != "resource":
        media, _ = media_type(http.parse_response(stream.peek(_PROBE), options.limits).headers.get("content-type"))
        if media is not None:
            check_type(options.types, media)
    if record.size > options.limits.record:
        reason = f"its {record.size:,} bytes are over the limit of {options.limits.record:,} for a record"
        raise OverLimit("record", reason)


def _check_kind(record: Record) -> None:
    if record.kind not in _PAGE_KINDS:
        raise LeftOut(record.kind)
    if not record.url:
        raise Damaged("it has no WARC-Target-URI")
    scheme = record.url.partition(":")[0].lower()
    if scheme not in {"http", "https"}:
        raise LeftOut(scheme)
    if "warc-segment-number" in record.headers:
        raise Damaged("it is one of several segments, which are not supported")


def _page(
    record: Record, request: Request, types: Collection[str] | None, limits: ReadLimits
) -> tuple[Page, str | None]:
    """Return the page of *record*, and why its body is not what its headers say, if that is so."""
    own = canonical_url(record.url)
    url = own if request.method == GET else stored_url(own, request)
    extra = extra_fields(record.headers)
    response = _response(record, limits)
    headers, status = response.headers, response.status
    same_as = extra["same_as"] if "same_as" in extra else _same_as(record, own, status)
    cut = same_as is None and "warc-truncated" in record.headers
    # The type that the crawler found in the body replaces one that the server did not send.
    media = media_type(headers.get("content-type"))[0] or media_type(record.headers.get(_IDENTIFIED))[0]
    problem = "WARC-Truncated" if cut else None
    if same_as is None and "body" not in extra:
        if request.method == "HEAD":  # the headers are those of a body that was not asked for
            response = response._replace(headers=Headers())
        (body, problem), media = body_of(types, response, media, limits, cut=cut)
    else:
        body = None
        if media is not None:
            check_type(types, media)
    names = _names(record, headers, same_as) if "content_at" not in extra else {}
    page = replace(
        BLANK,
        url=url,
        body=body,
        status=status,
        content_type=media,
        headers=_with_their_names(headers, record),
        fetched_at=_fetched_at(record),
        truncated=problem is not None,
        same_as=url if same_as == own else same_as,
        **names,
    )
    return (replace(page, **attributes(extra)) if extra else page), problem


def page_of_record(fields: Iterable[tuple[str, str]], block: bytes) -> Page:
    """Return the page that `read_warc` makes of a record with these *fields* and this *block*.

    Raises `LeftOut`, `Damaged` and `InvalidURL` if it makes none.
    """
    record = Record({name.lower(): value for name, value in fields}, len(block))
    record.block = block
    _check_kind(record)
    return _page(record, GET_REQUEST, None, DEFAULT_LIMITS)[0]


def _with_their_names(headers: Headers, record: Record) -> Headers:
    """Return *headers* with the original names of those that were renamed in *record*."""
    names = {name.strip() for name in record.headers.get(RENAMED.lower(), "").split(",")} - {""}
    if not names:
        return headers
    renamed = {f"{ORIGINAL}{name}".lower() for name in names}
    pairs = ((name[len(ORIGINAL) :] if name.lower() in renamed else name, value) for name, value in headers.items())
    return Headers(list(pairs))


def body_of(
    types: Collection[str] | None, response: http.Response, media: str | None, limits: ReadLimits, *, cut: bool
) -> tuple[http.Decoded, str | None]:
    """Return the decoded body and its type; raises `LeftOut` unless that is one of *types*.

    Redirects and errors without a body are returned whatever their type; a body without a type may be HTML by its look.
    """
    if not response.body and not 200 <= response.status < 300:
        return http.Decoded(b"", "WARC-Truncated" if cut else None), media
    if media is not None:
        check_type(types, media)
        return http.decoded_body(response, limits, cut=cut), media
    body = http.decoded_body(response, limits, cut=cut)
    sniffed = "text/html" if looks_like_html(body.body) else None
    check_type(types, sniffed or "unknown")
    return body, sniffed


def _response(record: Record, limits: ReadLimits) -> http.Response:
    """Return the response of *record*; for a resource and a revisit without one, an empty response is made."""
    block = record.block
    if record.kind == "resource":
        media = record.headers.get("content-type")
        return http.Response(200, Headers({"content-type": media} if media else {}), block)
    if record.kind == "revisit" and not block.strip():
        return http.Response(304 if _not_modified(record) else 200, Headers(), b"")
    return http.parse_response(block, limits)


def _not_modified(record: Record) -> bool:
    return "server-not-modified" in record.headers.get("warc-profile", "")


def _same_as(record: Record, url: str, status: int) -> str | None:
    """Return the URL whose content the record repeats (section 6.7 of WARC 1.1), None if it has its own content."""
    if status == 304 or _not_modified(record):
        return url
    if record.kind != "revisit":
        return None
    try:
        return canonical_url(record.headers["warc-refers-to-target-uri"].removeprefix("<").removesuffix(">"))
    except (KeyError, InvalidURL):
        return url


def _names(record: Record, headers: Headers, same_as: str | None) -> dict[str, Any]:
    """The digest of the payload that the record names and, if it repeats another one, the date of that.

    The digest of a payload that is not encoded is that of the body, and is not kept.
    """
    named: dict[str, Any] = {}
    if same_as is not None or "content-encoding" in headers or "transfer-encoding" in headers:
        named["_payload_digest"] = payload_digest(record.headers.get("warc-payload-digest"))
    if same_as is not None and (moment := record.headers.get("warc-refers-to-date")):
        with suppress(Damaged):
            named["_repeats_at"] = _moment("WARC-Refers-To-Date", moment)
    return named


def _fetched_at(record: Record) -> datetime:
    return _moment("WARC-Date", record.date)


def _moment(name: str, value: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(value)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Damaged(f"its {name} {value!r} is not a date") from exc
    return parsed.replace(microsecond=parsed.microsecond // 1_000 * 1_000)


def _verify(record: Record) -> None:
    """Verify the WARC-Block-Digest of *record*, unless it is missing or of an unknown kind (WARC 1.1, section 5.8)."""
    algorithm, _, expected = record.headers.get("warc-block-digest", "").partition(":")
    name = algorithm.lower().replace("-", "")
    if name not in _DIGESTS:
        return
    digest = hashlib.new(name, record.block, usedforsecurity=False)
    if expected.lower() != digest.hexdigest() and expected.upper() != base64.b32encode(digest.digest()).decode():
        raise Damaged(f"its block does not match its {algorithm} digest")

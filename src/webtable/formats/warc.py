"""Reader of pages in WARC files (ISO 28500, WARC 1.0 and 1.1)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec.structs import replace

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.errors import InvalidURL
from webtable.formats.http import (
    Decoded,
    Response,
    decoded_body,
    method_of,
    parse_headers,
    parse_request,
    parse_response,
)
from webtable.formats.parquet import extra_fields
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
from webtable.page.json_lines import attributes
from webtable.page.methods import DEFAULT_METHODS, GET, GET_REQUEST, Request, is_wanted, request_of, stored_url
from webtable.page.page import BLANK, Page
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.formats.compressed import ByteStream


# --- Responses of a WARC file and their requests, which may come before or after them ---------------------------------
#
# A response is held until its request is known, or until so many records follow that it counts as one to a GET
# without a request. Its request is the one that it names, or that names it (WARC-Concurrent-To); where neither names
# any, the one next to it with its URI, or else the first one with its URI and date.
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


@dataclass(slots=True, eq=False)
class ExchangeRecord:
    """A record of this *kind*, with these *headers* by their names in lower case, of *size* bytes."""

    kind: str
    headers: Mapping[str, str]
    size: int
    request: Request | None = None
    """Of a request, what it asks; of a response, what its request asked, None as long as that is not known."""
    is_request: bool = False
    is_response: bool = False
    is_open: bool = False
    """Whether the other record of its exchange was not read yet, and may follow."""
    number: int = 0
    before: int = 0
    """Bytes of the records before it."""
    reach: int = 0
    """The number of the later record of its exchange."""
    is_start: bool = True
    """Whether no exchange is torn by reading from this record on."""
    uri: str = ""
    moment: tuple[str, str] = ("", "")
    id: str = ""
    named: tuple[str, ...] = ()


K = TypeVar("K")
R = TypeVar("R", bound=ExchangeRecord)


def kind_of(headers: Mapping[str, str]) -> str:
    """Return the kind of the record with these *headers*."""
    return headers.get("warc-type", "unknown").lower()


class Exchanges(Generic[R]):
    """The records of a file, in their order: put each with `add`, and take those whose request is known with `taken`.

    Requests are looked for among *most* records before and after a response.
    """

    def __init__(self, most_between: int = MOST_RECORDS) -> None:
        self._most_between = most_between
        self._held: deque[R] = deque()
        self._open: dict[int, R] = {}
        """The open ones, which are no more than *most*, by their numbers, in the order of these."""
        self._by_id: dict[str, R] = {}
        self._naming: dict[str, list[R]] = {}
        self._by_moment: dict[tuple[str, str], list[R]] = {}
        self._last: R | None = None
        self.count: int = 0
        """How many were put."""
        self._bytes = self._reach = 0
        self._is_whole = True

    def add(self, record: R) -> None:
        """Add the next record of the file."""
        record.number = record.reach = self.count = self.count + 1
        record.before = self._bytes
        self._bytes += record.size
        self._held.append(record)
        record.is_request, record.is_response = record.kind == "request", record.kind in _RESPONSES
        if record.is_request or record.is_response:
            _identify(record)
            other = self._other_of(record)
            if other is None:
                self._keep(record)
            else:
                self._join(other, record)
        self._last = record
        self._expire()

    def taken(self) -> Iterator[R]:
        """Yield and remove the records up to the first response whose request may follow."""
        while self._held and not (self._held[0].is_open and self._held[0].is_response):
            yield self._take()

    def rest(self) -> Iterator[R]:
        """Yield and remove all records: nothing follows."""
        for record in list(self._open.values()):
            self._forget(record)
        self._last = None
        while self._held:
            yield self._take()

    def _take(self) -> R:
        record = self._held.popleft()
        record.is_start = self._is_whole
        self._reach = max(self._reach, record.reach)
        first = next(iter(self._open), None)
        self._is_whole = self._reach <= record.number and (first is None or first > record.number)
        return record

    def _other_of(self, record: R) -> R | None:
        """Return the open record of the exchange of *record*; None if it was not read yet."""
        last = self._last
        if not record.named:
            if last is not None and last.is_open and not last.named and _are_neighbours(last, record):
                return last
            others = self._by_moment.get(record.moment, [])
            if others and _fits(others[0], record):
                return others[0]
        for name in (record.id, *record.named):
            # All of a list are requests, or all are responses: two that fit would have been joined.
            others = self._naming.get(name, [])[:1]
            if name in record.named and (other := self._by_id.get(name)) is not None:
                others = [*others, other]
            for other in others:
                if _fits(other, record):
                    return other
        return None

    def _join(self, other: R, record: R) -> None:
        self._forget(other)
        response, request = (other, record) if other.is_response else (record, other)
        response.request = request.request
        other.reach = record.number
        if not self._held or other.number < self._held[0].number:  # it was taken already
            self._reach = max(self._reach, record.number)

    def _keep(self, record: R) -> None:
        record.is_open = True
        self._open[record.number] = record
        if record.id:
            self._by_id.setdefault(record.id, record)
        for name in record.named:
            self._naming.setdefault(name, []).append(record)
        if not record.named:
            self._by_moment.setdefault(record.moment, []).append(record)

    def _forget(self, record: R) -> None:
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


def _identify(record: ExchangeRecord) -> None:
    headers = record.headers
    record.uri = headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    record.moment = (record.uri, headers.get("warc-date", ""))
    record.id = headers.get("warc-record-id", "").strip("<> ")
    named = headers.get("warc-concurrent-to")
    if named:
        record.named = tuple(dict.fromkeys(name.strip("<>") for name in _ID.findall(named)[:_MOST_NAMED]))


def _fits(first: ExchangeRecord, other: ExchangeRecord) -> bool:
    return first.is_request != other.is_request


def _are_neighbours(last: ExchangeRecord, record: ExchangeRecord) -> bool:
    # A request may be dated before its response. One behind a response with another date is that of the next one.
    return _fits(last, record) and last.uri == record.uri and (last.is_request or last.moment == record.moment)


def _remove(lists: dict[K, list[R]], key: K, record: R) -> None:
    records = lists[key]
    records.remove(record)
    if not records:
        del lists[key]


# ----------------------------------------------------------------------------------------------------------------------


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
_METHOD_FIELD = re.compile("warc-(?:[a-z]+-)*method")
_IDENTIFIED = "warc-identified-payload-type"
ORIGINAL = "X-Archive-Orig-"
"""The prefix of the names of headers that do not fit the body as webtable writes it."""
RENAMED = "WebTable-Renamed"
"""The field of a record that lists the names of those headers."""


_NO_PLACE = Place()


@dataclass(slots=True, eq=False)
class _Record(ExchangeRecord):
    """A record that is held until its request is known: its block, or why that is not read."""

    offset: int = 0
    block: bytes = b""
    failure: Damaged | LeftOut | None = None
    place: Place = _NO_PLACE
    """The place after it, if reading can go on there."""
    is_skipped: bool = False
    """Whether it is before the place where reading begins."""

    @property
    def url(self) -> str:
        # Some writers put the URI in <>, as the grammar of WARC 1.0 says.
        return self.headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")

    @property
    def assumed_request(self) -> Request:
        """What its request asked: without one, what a field such as WARC-Request-Method says, or else GET."""
        if self.request is not None or not self.is_response:
            return self.request or GET_REQUEST
        hints = (
            value for name, value in self.headers.items() if name.endswith("method") and _METHOD_FIELD.fullmatch(name)
        )
        return request_of(next(hints, GET), None, None, b"")


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
    exchanges: Exchanges[_Record] = Exchanges(options.most_between)
    place = Place(report.place.offset, report.place.records - skip)
    begin, number = place, 0  # the last place at which no exchange is torn, and the number of the record before it

    def pages(records: Iterable[_Record]) -> Iterator[Page]:
        nonlocal begin, number
        for record in records:
            if record.is_start and record.place.records == 1:
                begin, number = record.place._replace(records=0), record.number - 1
            if record.is_skipped:
                continue
            page = _reported(record, source, report, options)
            report.records += 1
            report.place = begin._replace(records=begin.records + record.number - number)
            if page is not None:
                report.pages += 1
                yield page

    try:
        while (record := _next_record(stream, options.limits, is_first=not exchanges.count)) is not None:
            record.is_skipped = exchanges.count < skip
            _read_block(stream, record, options)
            record.place = place = place.after(stream.restart())
            exchanges.add(record)
            yield from pages(exchanges.taken())
    except (DamagedFile, KeyboardInterrupt):  # the latter while waiting for standard input
        yield from pages(exchanges.rest())
        raise
    yield from pages(exchanges.rest())


def _reported(record: _Record, source: str, report: ReadReport, options: WARCOptions) -> Page | None:
    """Return the page of *record*; None if it has none, which is counted."""
    request = record.assumed_request
    if record.is_response and not is_wanted(options.methods, request.method):
        count(report.other_methods, request.method)
        return None
    try:
        if record.failure is not None:
            raise record.failure
        if options.verify_digests:
            _verify(record)
        page, problem = _page(record, request, options.types, options.limits)
    except LeftOut as what:
        report.add_left_out(str(what))
    except (Damaged, InvalidURL) as reason:
        limit = reason.limit if isinstance(reason, OverLimit) else None
        report.add_damaged(DamagedRecord(source, record.offset, record.url or None, str(reason)), limit)
    else:
        if problem is not None:
            count(report.truncated, problem)
        return page
    return None


def _next_record(stream: ByteStream, limits: ReadLimits, *, is_first: bool) -> _Record | None:
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
    return _Record(kind_of(headers), headers, int(length), offset=stream.mark)


def _read_block(stream: ByteStream, record: _Record, options: WARCOptions) -> None:
    """Read the block of *record*; one that is left out is skipped without being held in memory."""
    if record.kind == "request":
        record.request = _request(stream, record, options)
    elif not record.is_skipped:
        try:
            _check_block(stream, record, options)
            record.block = stream.read(record.size)
        except (Damaged, LeftOut) as reason:
            record.failure = reason
            stream.skip(record.size)
    else:
        stream.skip(record.size)
    stream.settle(_SEPARATOR, MEMBER_START)


def _request(stream: ByteStream, record: _Record, options: WARCOptions) -> Request | None:
    """Return what the request *record* asks, with the query that stands for its content if responses to it are wanted.

    It is left out like the other records that are no pages.
    """
    record.failure = LeftOut("request")
    method = method_of(stream.peek(_LINE)[: record.size]) or GET
    if method != GET and is_wanted(options.methods, method) and record.size <= options.limits.record:
        return parse_request(stream.read(record.size), options.limits)
    stream.skip(record.size)
    return GET_REQUEST if method == GET else Request(method)


def _check_block(stream: ByteStream, record: _Record, options: WARCOptions) -> None:
    """Raise `Damaged` or `LeftOut` if the block of *record* need not be read."""
    _check_kind(record)
    if record.size > _PROBE and record.kind != "resource":
        media, _ = media_type(parse_response(stream.peek(_PROBE), options.limits).headers.get("content-type"))
        if media is not None:
            check_type(options.types, media)
    if record.size > options.limits.record:
        reason = f"its {record.size:,} bytes are over the limit of {options.limits.record:,} for a record"
        raise OverLimit("record", reason)


def _check_kind(record: _Record) -> None:
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
    record: _Record, request: Request, types: Collection[str] | None, limits: ReadLimits
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
        (body, problem), media = _body(types, response, media, limits, cut=cut)
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
    headers = {name.lower(): value for name, value in fields}
    record = _Record(kind_of(headers), headers, len(block), block=block)
    _check_kind(record)
    return _page(record, GET_REQUEST, None, DEFAULT_LIMITS)[0]


def _with_their_names(headers: Headers, record: _Record) -> Headers:
    """Return *headers* with the original names of those that were renamed in *record*."""
    names = {name.strip() for name in record.headers.get(RENAMED.lower(), "").split(",")} - {""}
    if not names:
        return headers
    renamed = {f"{ORIGINAL}{name}".lower() for name in names}
    pairs = ((name[len(ORIGINAL) :] if name.lower() in renamed else name, value) for name, value in headers.items())
    return Headers(list(pairs))


def _body(
    types: Collection[str] | None, response: Response, media: str | None, limits: ReadLimits, *, cut: bool
) -> tuple[Decoded, str | None]:
    """Return the decoded body and its type; raises `LeftOut` unless that is one of *types*.

    Redirects and errors without a body are returned whatever their type; a body without a type may be HTML by its look.
    """
    if not response.body and not 200 <= response.status < 300:
        return Decoded(b"", "WARC-Truncated" if cut else None), media
    if media is not None:
        check_type(types, media)
        return decoded_body(response, limits, cut=cut), media
    body = decoded_body(response, limits, cut=cut)
    sniffed = "text/html" if looks_like_html(body.body) else None
    check_type(types, sniffed or "unknown")
    return body, sniffed


def _response(record: _Record, limits: ReadLimits) -> Response:
    """Return the response of *record*; for a resource and a revisit without one, an empty response is made."""
    block = record.block
    if record.kind == "resource":
        media = record.headers.get("content-type")
        return Response(200, Headers({"content-type": media} if media else {}), block)
    if record.kind == "revisit" and not block.strip():
        return Response(304 if _not_modified(record) else 200, Headers(), b"")
    return parse_response(block, limits)


def _not_modified(record: _Record) -> bool:
    return "server-not-modified" in record.headers.get("warc-profile", "")


def _same_as(record: _Record, url: str, status: int) -> str | None:
    """Return the URL whose content the record repeats (section 6.7 of WARC 1.1), None if it has its own content."""
    if status == 304 or _not_modified(record):
        return url
    if record.kind != "revisit":
        return None
    try:
        return canonical_url(record.headers["warc-refers-to-target-uri"].removeprefix("<").removesuffix(">"))
    except (KeyError, InvalidURL):
        return url


def _names(record: _Record, headers: Headers, same_as: str | None) -> dict[str, Any]:
    """Return what the record says of its payload: its digest and, if it repeats another one, the date of that.

    The digest of a payload that is not encoded is that of the body, and is not kept.
    """
    named: dict[str, Any] = {}
    if same_as is not None or "content-encoding" in headers or "transfer-encoding" in headers:
        named["_payload_digest"] = payload_digest(record.headers.get("warc-payload-digest"))
    if same_as is not None and (moment := record.headers.get("warc-refers-to-date")):
        with suppress(Damaged):
            named["_repeats_at"] = _moment("WARC-Refers-To-Date", moment)
    return named


def _fetched_at(record: _Record) -> datetime:
    return _moment("WARC-Date", record.headers.get("warc-date", ""))


def _moment(name: str, value: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(value)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Damaged(f"its {name} {value!r} is not a date") from exc
    return parsed.replace(microsecond=parsed.microsecond // 1_000 * 1_000)


def _verify(record: _Record) -> None:
    """Verify the WARC-Block-Digest of *record*, unless it is missing or of an unknown kind (WARC 1.1, section 5.8)."""
    algorithm, _, expected = record.headers.get("warc-block-digest", "").partition(":")
    name = algorithm.lower().replace("-", "")
    if name not in _DIGESTS:
        return
    digest = hashlib.new(name, record.block, usedforsecurity=False)
    if expected.lower() != digest.hexdigest() and expected.upper() != base64.b32encode(digest.digest()).decode():
        raise Damaged(f"its block does not match its {algorithm} digest")

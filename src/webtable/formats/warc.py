"""Reader of WARC files (ISO 28500, WARC 1.0 and 1.1): their records, which request a response answers, and its page."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.errors import InvalidURL, WebTableError
from webtable.formats import http
from webtable.formats.compressed import EndsInside, RecordStart, TooLong
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    LeftOut,
    OverLimit,
    Place,
    ReadReport,
    WrongDigest,
    check_type,
    count,
)
from webtable.page.body import looks_like_html, payload_digest, payload_digest_of
from webtable.page.headers import Headers, address_of, media_type, protocol_of
from webtable.page.json_lines import TYPES, attributes
from webtable.page.methods import DEFAULT_METHODS, GET, GET_REQUEST, Request, is_wanted, request_of, stored_url
from webtable.page.page import BLANK, Page
from webtable.repository.page_storage.state import GIVEN
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from webtable.formats.compressed import ByteStream
    from webtable.repository.failed_fetches import FailedFetch


# --- Records, and the exchanges of responses and requests -------------------------------------------------------------
#
# A response is held until its request is known, or until so many records follow that it counts as one to a GET
# without a request. Its request is the one that it names, or that names it (WARC-Concurrent-To); where neither names
# any, the one next to it with its URI, or else the first one with its URI and date. It is held undecoded, so memory is
# bounded by bytes of the file; a first pass would find requests anywhere, and would inflate the file twice.
#
# A `metadata` record that names a response says more of its fetch. It is read before the response or while that is
# held, which is until the record that follows its exchange: there crawlers write it.
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
_NO_FIELDS: Final[Mapping[str, Any]] = {}
_SEPARATOR = b"\r\n\r\n"


def _target_uri(value: str) -> str:
    """Return the URI *value*, which some writers put in <>, as the grammar of WARC 1.0 says."""
    return value[1:-1] if value[:1] == "<" and value[-1:] == ">" else value


class Record:
    """A record with these *headers*, by their names in lower case, and *size* bytes, which begins at *offset*."""

    date_name = "WARC-Date"
    """What its format calls the date."""

    # Two are made for each page of a crawl: a dataclass with all of these as arguments takes three times as long.
    __slots__ = (
        *("before", "block", "failure", "cut", "headers", "id", "is_open", "is_request", "is_response"),
        *("fetch", "is_metadata", "is_skipped", "is_start", "kind", "lost", "named", "number", "offset", "passed"),
        *("place", "reach", "request", "separator", "size", "url", "wrong"),
    )

    def __init__(self, headers: Mapping[str, str], size: int, offset: int = 0) -> None:
        self.headers = headers
        self.size = size
        self.offset = offset
        self.kind: str = headers.get("warc-type", "unknown").lower()
        self.url: str = _target_uri(headers.get("warc-target-uri", ""))
        self.is_request: bool = self.kind == "request"
        self.is_response: bool = self.kind in _RESPONSES
        self.is_metadata: bool = self.kind == "metadata" and "warc-concurrent-to" in headers
        """Whether it says something of another record."""
        self.fetch: Mapping[str, Any] = _NO_FIELDS
        """What such a record says of a fetch, as fields of a page; of a response, what those about it say."""
        self.request: Request | None = None
        """Of a request, what it asks; of a response, what its request asked, None as long as that is not known."""
        self.block = b""
        self.failure: Damaged | LeftOut | None = None
        """Why the block is not read."""
        self.lost: int = 0
        """How many bytes were skipped to the next record, if it does not end where it says."""
        self.wrong: Damaged | None = None
        """Why it is not known where it ends."""
        self.cut = ""
        """What to say if no other record follows: the file is cut."""
        self.passed = 0
        """How many of its bytes were read or skipped."""
        self.separator = _SEPARATOR
        """The line ends that close it."""
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
        self._describing: dict[str, list[Record]] = {}
        """The open `metadata` records, by the IDs that they name."""
        self._latest: Record | None = None
        """The response whose exchange was completed by the record before: a record that says more of it may follow."""
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
        latest, self._latest = self._latest, None
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
            if self._describing and record.is_response:
                for metadata in [*self._describing.get(record.id, ())]:
                    self._forget(metadata)
                    self._describe(record, metadata)
        else:
            self._index(last)
            if record.is_metadata:
                self._add_metadata(record, latest)
        self._expire()
        return self._taken()

    def rest(self) -> list[Record]:
        """Return all records that are held: nothing follows."""
        for record in (*self._open.values(), *([] if self._last is None else [self._last])):
            record.is_open = False
        self._last = self._latest = None
        for index in (self._open, self._by_id, self._naming, self._by_moment, self._describing):
            index.clear()
        return self._taken()

    def _taken(self) -> list[Record]:
        taken = []
        while self._held and not (self._held[0].is_open and self._held[0].is_response):
            if self._held[0] is self._latest:
                break
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
        self._latest = response
        self._reach_to(other, record)

    def _reach_to(self, other: Record, record: Record) -> None:
        other.reach = record.number
        if not self._held or other.number < self._held[0].number:  # it was taken already
            self._reach = max(self._reach, record.number)

    def _add_metadata(self, record: Record, latest: Record | None) -> None:
        """Give what *record* says to the response that it names: *latest*, or one that is open, or one to come."""
        record.read_ids()
        record.id = ""  # no request or response is looked for by it
        for name in record.named:
            response = latest if latest is not None and latest.id == name else self._by_id.get(name)
            if response is not None and response.is_response:
                self._describe(response, record)
                return
        if record.named:
            record.is_open = True
            self._index(record)

    def _describe(self, response: Record, metadata: Record) -> None:
        response.fetch = {**response.fetch, **metadata.fetch}
        self._reach_to(*((response, metadata) if response.number < metadata.number else (metadata, response)))

    def _index(self, record: Record | None) -> None:
        if record is None:
            return
        self._open[record.number] = record
        if record.id:
            self._by_id.setdefault(record.id, record)
        for name in record.named:
            self._named_by(record).setdefault(name, []).append(record)
        if not record.named:
            self._by_moment.setdefault(record.moment, []).append(record)

    def _named_by(self, record: Record) -> dict[str, list[Record]]:
        return self._describing if record.is_metadata else self._naming

    def _forget(self, record: Record) -> None:
        record.is_open = False
        del self._open[record.number]
        if self._by_id.get(record.id) is record:
            del self._by_id[record.id]
        for name in record.named:
            _remove(self._named_by(record), name, record)
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
MEMBER_START = b"WARC/"
"""The beginning of records, in upper case, and so of the members of a compressed file."""
WARC_RECORD = RecordStart(
    (MEMBER_START,), re.compile(rb"WARC/\d\.\d{1,2}[ \t]{0,20}\r?\n[A-Z][A-Z0-9-]{0,60}:", re.IGNORECASE)
)
_GAP = re.compile(rb"[\r\n]+")
_IDENTIFIED = "warc-identified-payload-type"
ORIGINAL = "X-Archive-Orig-"
"""The prefix of the names of headers that do not fit the body as webtable writes it."""
RENAMED = "WebTable-Renamed"
"""The field of a record that lists the names of those headers."""
FIELD = "WebTable-Page"
"""The field with what a reader would not find in the rest of a record that webtable has written, as JSON."""
FAILED = "WebTable-Failed"
"""The field of a metadata record about a fetch that failed, with why, how often and when to try again, as JSON."""
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
    date_fallback: datetime | None = None
    """The date of records that have none, or one that does not exist."""
    most_between: int = MOST_RECORDS
    """How many records may lie between a response and its request."""
    with_failed: bool = False
    """Whether fetches that failed are read as well."""


def read_warc(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page | FailedFetch]:
    """Yield the pages of a WARC file after the first *skip* records, and the failed fetches if those are asked for.

    Raises `DamagedFile` if the file cannot be read further.

    A page is yielded after its record was read to the last byte and, if its gzip or zstd member ends with it (as in
    every regular .warc.gz), after the member's checksum was verified; and after its request was read, if it has one.
    """
    exchanges = Exchanges(options.most_between)
    place = Place(report.place.offset, report.place.records - skip)
    begin, number = place, 0  # the last place at which no exchange is torn, and the number of the record before it

    def page_of(record: Record) -> Page | FailedFetch | None:
        nonlocal begin, number
        if record.is_start and record.place.records == 1:
            begin, number = Place(record.place.offset), record.number - 1
        if record.is_skipped:
            return None
        page: Page | FailedFetch | None
        is_failure = record.kind == "metadata" and options.with_failed and FAILED.lower() in record.headers
        if is_failure and record.wrong is None:
            page = reported_failure(record, source, report)
        else:
            page = reported_page(record, source, report, options)
        report.records += 1
        report.place = Place(begin.offset, begin.records + record.number - number)
        report.pages += page is not None and not is_failure
        return page

    try:
        while (record := _next_record(stream, options.limits, is_first=not exchanges.count)) is not None:
            record.is_skipped = exchanges.count < skip
            _read_record(stream, record, source, report, options)
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
    return {name: value for name, value in decoded.items() if value is not UNSET}


def reported_page(record: Record, source: str, report: ReadReport, options: WARCOptions) -> Page | None:
    """Return the page of *record*; None if it has none, which is counted."""

    def damaged(reason: str) -> DamagedRecord:
        return DamagedRecord(source, record.offset, record.url or None, reason)

    if record.wrong is not None:
        limit = record.wrong.limit if isinstance(record.wrong, OverLimit) else None
        report.bytes_skipped += record.lost if limit is None else 0
        report.add_damaged(damaged(f"{record.wrong}: {record.lost:,} bytes skipped"), limit)
        return None
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
            report.verified += _verify(record, options.limits)
        page, problem = _page(record, request, options.types, options.limits, options.date_fallback)
        if problem is not None:
            count(report.truncated, problem)
        report.redated += options.date_fallback is not None and _date(record.date) is None
        return page

    return report.attempt(read, damaged)


def reported_failure(record: Record, source: str, report: ReadReport) -> FailedFetch | None:
    """Return the failed fetch of *record*; None if it cannot be read, which is counted."""
    failure = report.attempt(
        lambda: failed_of(record), lambda reason: DamagedRecord(source, record.offset, record.url or None, reason)
    )
    report.failed_fetches += failure is not None
    return failure


def failed_of(record: Record) -> FailedFetch:
    """Return the failed fetch of *record*; raises `Damaged`."""
    from webtable.repository.failed_fetches import FailedFetch, checked

    try:
        values = msgspec.json.decode(record.headers[FAILED.lower()])
        failure = {**values, "url": record.url, "failed_at": _fetched_at(record, None)}
        return checked(msgspec.convert(failure, FailedFetch))
    except (msgspec.MsgspecError, WebTableError, TypeError, ValueError, RecursionError) as exc:
        raise Damaged(f"its {FAILED} cannot be read: {exc}") from exc


# --- Records as they follow one another -------------------------------------------------------------------------------
#
# A record ends where its Content-Length says only if there the next one begins, or the file or its member ends. Else
# the record is damaged, as its body would be another one, and the next record is looked for from its header on. What
# looks like a record inside of a damaged one is taken for one: nothing tells it from one that follows.


def _next_record(stream: ByteStream, limits: ReadLimits, *, is_first: bool) -> Record | None:
    """Return the next record with its header (section 4 of WARC 1.1), or None at the end of the file."""
    stream.skip_run(_GAP)
    stream.mark, start = stream.offset, stream.peek(16)
    if not start:
        return None
    if start[:5].upper() != MEMBER_START:
        if is_first:
            raise DamagedFile(f"not a WARC file (nor JSON Lines): it begins with {start!r}")
        stream.skip_member(f"no record begins where one should: {start!r}")
    try:
        head = stream.read_head(limits.head)
    except TooLong:
        stream.skip(len(MEMBER_START))
        record = Record({}, 0, stream.mark)
        record.wrong = OverLimit("head", f"its header has over {limits.head:,} bytes")
        record.passed = len(MEMBER_START)
        return record
    headers = http.parse_record_fields(head)
    length = headers.get("content-length", "")
    is_number = length.isascii() and length.isdecimal() and len(length) < 16
    record = Record(headers, int(length) if is_number else 0, stream.mark)
    record.passed = len(head)
    if not head.endswith(_SEPARATOR):
        record.separator = b"\n\n"
        if not head.endswith((b"\n\n", b"\n\r\n")):
            record.cut, record.wrong = "the file ends inside the header of a record", Damaged("its header does not end")
    if not (is_number or record.wrong):
        record.wrong = Damaged(f"its length is not known, as its Content-Length is {length[:100]!r}")
    return record


def _read_record(stream: ByteStream, record: Record, source: str, report: ReadReport, options: WARCOptions) -> None:
    """Read the rest of *record*; if it does not end where it says, go on to where the next one begins."""
    block = b"" if record.wrong else read_block(stream, record, options)
    right: bytes | None = block
    if not record.wrong:
        closing = stream.settle()
        if closing != record.separator:
            right = _right_block(record, block, closing, is_usual=source in report.unclosed)
            if right is None:
                record.wrong = wrong_length(record)
            elif closing is None:
                stream.skip_run(_GAP)
                stream.mark = stream.offset
                skipped, _ = stream.skip_to_record(0)
                if not record.is_skipped:
                    reason = "no record begins where one should"
                    report.add_gap(DamagedRecord(source, stream.mark, None, reason), skipped)
                stream.mark = record.offset
            elif len(closing) < len(record.separator):
                count(report.unclosed, source)
    if record.wrong:
        skip_rest(stream, record, block)
    elif record.is_request:
        record.request = record.request or _request(block, options)
    elif record.is_metadata:
        record.fetch = fetch_fields(right or b"")
    elif record.failure is None:
        record.block = right or b""


def wrong_length(record: Record) -> Damaged:
    """The reason why *record* is damaged, if no other one follows it where it ends."""
    return Damaged(f"its length of {record.size:,} bytes does not lead to the next record")


def skip_rest(stream: ByteStream, record: Record, block: bytes) -> None:
    """Go to the record that follows *record*, whose end is not known, and of which *block* was read last.

    Raises `DamagedFile` if it is cut and none follows.
    """
    if block and stream.go_back(block):
        record.passed -= len(block)
    record.lost, is_found = stream.skip_to_record(record.passed)
    if record.cut and not is_found:
        raise DamagedFile(record.cut)


def read_block(stream: ByteStream, record: Record, options: WARCOptions) -> bytes:
    """Return the block of *record*; a large one that is left out is skipped without being held in memory."""
    size = record.size
    is_read = _is_read(stream, record, options)
    if size <= _PROBE:
        missing = stream.missing(size)
        if missing:
            record.cut, record.wrong = str(EndsInside(missing)), wrong_length(record)
            return b""
    elif not stream.is_before_record(size):
        record.wrong = wrong_length(record)
        return b""
    try:
        record.passed += size
        if size <= _PROBE or is_read:
            return stream.read(size)
        stream.skip(size)
    except EndsInside as exc:
        if exc.is_file:
            raise
        record.wrong = wrong_length(record)
    return b""


def _is_read(stream: ByteStream, record: Record, options: WARCOptions) -> bool:
    """Whether the block of *record* is wanted; else its failure, or the method of its request, is set."""
    if record.is_request:
        is_held = record.size <= options.limits.record
        if not is_held:
            record.request = Request(http.method_of(stream.peek(_LINE)) or GET)
        return is_held
    try:
        check_block(stream, record, options)
    except (Damaged, LeftOut) as reason:
        record.failure = reason
    return record.failure is None


def _right_block(record: Record, block: bytes, closing: bytes | None, *, is_usual: bool) -> bytes | None:
    """Return the block of *record*, though other line ends than usual close it, or none; None if its length is wrong.

    Its digest decides if there is one. Without one a record is too long whose last bytes would close it, unless it
    *is_usual* in the file that records are closed by less, or its response says where it ends: some versions of wget
    wrote lengths that are too long by one or two.
    """
    missing = len(record.separator) - len(closing or b"")
    shorter = block[: len(block) - missing]
    is_long = closing is not None and missing > 0 and (block[-4:] + closing).endswith(record.separator)
    if len(block) == record.size and (digest := record.headers.get("warc-block-digest")) is not None:
        candidates: list[bytes] = [block, shorter] if is_long else [block]
        for candidate in candidates:
            if (matches := _matches(digest, [candidate])) is None:
                break
            if matches:
                return candidate
        else:
            return None
    if closing is None:
        return None
    if is_usual or not is_long or record.kind not in _PAGE_KINDS:
        return block
    if record.kind == "resource":
        return None
    try:
        _, headers, body = http.parse_response(block)
    except Damaged:
        return block  # and it is not stored
    length = headers.get("content-length")
    if length == str(len(body) - missing):
        return shorter
    # Encodings say where they end, and the line ends of a head alone do not close the record.
    is_known = "transfer-encoding" in headers or "content-encoding" in headers or len(body) < missing
    return block if is_known or length == str(len(body)) else None


def _request(block: bytes, options: WARCOptions) -> Request | None:
    """The request in *block*, with the query that stands for its content if responses to it are wanted.

    It is left out like the other records that are no pages.
    """
    method = http.method_of(block) or GET
    if method != GET and is_wanted(options.methods, method):
        return http.parse_request(block, options.limits)
    return GET_REQUEST if method == GET else Request(method)


_MOST_OF_METADATA = 1 << 16
# The kinds of the last 50 links to a page, a letter each; before them the number of those before these, as Heritrix
# writes it.
_HOPS = re.compile(r"(?:(\d{1,9})\+)?([^\s+]*)", re.ASCII)


def fetch_fields(block: bytes) -> dict[str, Any]:
    r"""What the *block* of a `metadata` record (application/warc-fields) says of a fetch, as fields of a page.

    >>> fetch_fields(b"via: https://example.com/\r\nhopsFromSeed: LL\r\nfetchTimeMs: 42\r\n")
    {'depth': 2, 'referrer': 'https://example.com/', 'duration': 42}
    """
    fields = http.parse_record_fields(b"\n" + block[:_MOST_OF_METADATA])
    facts: dict[str, Any] = {}
    hops = _HOPS.fullmatch(fields.get("hopsfromseed", "" if "seed" in fields else "+"))
    if hops is not None:
        facts["depth"] = int(hops[1] or 0) + len(hops[2])
    if (via := _target_uri(fields.get("via", ""))).lower().startswith(("http://", "https://")):
        facts["referrer"] = via
    duration = fields.get("fetchtimems", "")
    if duration.isascii() and duration.isdecimal() and len(duration) < 16:
        facts["duration"] = int(duration)
    return facts


def check_block(stream: ByteStream, record: Record, options: WARCOptions) -> None:
    """Raise `Damaged` or `LeftOut` if the block of *record* need not be read."""
    _check_kind(record)
    if record.size > _PROBE and record.kind != "resource":
        media, _ = media_type(http.parse_response(stream.peek(_PROBE), options.limits).headers.get("content-type"))
        if media is not None:
            check_type(options.types, media)
    if record.size > options.limits.record:
        reason = f"its {record.size:,} bytes are over the limit of {options.limits.record:,} for a record"
        raise OverLimit("record", reason, record.size)


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
    record: Record,
    request: Request,
    types: Collection[str] | None,
    limits: ReadLimits,
    date_fallback: datetime | None = None,
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
        fetched_at=_fetched_at(record, date_fallback),
        truncated=problem is not None,
        same_as=url if same_as == own else same_as,
        server_address=address_of(record.headers.get("warc-ip-address")),
        protocol=protocol_of(record.headers.get("warc-protocol")),
        **record.fetch,
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
        return canonical_url(_target_uri(record.headers["warc-refers-to-target-uri"]))
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
        named["_repeats_at"] = _date(moment)
    return named


def _fetched_at(record: Record, fallback: datetime | None) -> datetime:
    moment = _date(record.date) or fallback
    if moment is None:
        name = record.date_name
        which = f"its {name} {record.date!r} is not a date" if record.date else f"it has no {name}"
        raise Damaged(f"{which}: --date-fallback TIME (in Python date_fallback=) stores such records with another")
    return moment


# Years and months, which `fromisoformat` does not know; 24:00 and leap seconds, which no `datetime` has; and the 14
# digits of ARC files and indexes.
_MONTH = re.compile(r"\d{4}(?:-\d\d)?")
_BEYOND = re.compile(r"(.{10}[T ])(24:00(?::00)?|\d\d:\d\d:60)(?![\d:])(?:[.,]0+)?(.*)")
_DIGITS = re.compile(r"(\d{8})(\d{6})")


def _date(value: str) -> datetime | None:
    """Return the moment *value* in a form of WARC 1.1, section 5.4, to the millisecond; None if it is not a date.

    >>> _date("2016-09"), _date("2016-12-31T23:59:60Z").isoformat()
    (datetime.datetime(2016, 9, 1, 0, 0, tzinfo=datetime.timezone.utc), '2017-01-01T00:00:00+00:00')
    """
    try:
        parsed = _parsed(value)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return parsed.replace(microsecond=parsed.microsecond // 1_000 * 1_000)


def _parsed(value: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        if _MONTH.fullmatch(value):
            return datetime.fromisoformat(f"{value}-01-01"[:10])
        if digits := _DIGITS.fullmatch(value):
            return datetime.fromisoformat(f"{digits[1]}T{digits[2]}")
        if (beyond := _BEYOND.fullmatch(value)) is None:
            raise
        day, time, zone = beyond.groups()
        if time.startswith("24"):
            return datetime.fromisoformat(f"{day}00:00:00{zone}") + timedelta(days=1)
        return datetime.fromisoformat(f"{day}{time[:6]}59{zone}") + timedelta(seconds=1)


def _verify(record: Record, limits: ReadLimits) -> bool:
    """Return whether *record* has a digest that can be verified; raises `WrongDigest` if one does not match.

    That of a payload is not, where the record does not have all of it (WARC 1.1, sections 5.8 and 5.9).
    """
    outcomes = [_checked(record, "WARC-Block-Digest", [record.block])]
    if record.kind == "resource":
        outcomes.append(_checked(record, "WARC-Payload-Digest", [record.block]))
    elif record.kind == "response" and "warc-truncated" not in record.headers:
        outcomes.append(_checked(record, "WARC-Payload-Digest", http.payloads(record.block, limits)))
    return any(outcomes)


def _checked(record: Record, field: str, candidates: Iterable[bytes]) -> bool:
    value = record.headers.get(field.lower())
    matches = _matches(value, candidates)
    if matches is False:
        raise WrongDigest(field, (value or "").partition(":")[0])
    return matches is True


def _matches(value: str | None, candidates: Iterable[bytes]) -> bool | None:
    """Whether the digest *value* is that of one of *candidates*; None if it cannot be verified."""
    digest = payload_digest(value)
    if digest is None:
        return None
    algorithm = digest.partition(":")[0]
    return any(payload_digest_of(candidate, algorithm) == digest for candidate in candidates)

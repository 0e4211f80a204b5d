"""The report of a read, errors of records and files, and checks of pages, which the readers of all formats share."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from webtable.errors import InvalidURL
from webtable.page.headers import media_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from webtable._limits import ReadLimits
    from webtable.page.page import Page

T = TypeVar("T")

# A report stays small whatever is read: names and texts come out of files, which may have a million of them.
MAX_DAMAGED = 1_000
"""How many damaged records a report lists; all are counted."""
LISTS = ("damaged", "over_limits")
"""The fields of a report that are lists of records."""
MAX_IN_A_ROW = 1_000_000
"""How many damaged records may follow one another: reading a file then ends. One may have two bytes, and takes as long
as others."""
MAX_NAMES = 1_000
"""How many names a report counts separately; further names are counted as `OTHERS`."""
OTHERS = "others"
_MAX_NAME = 100
_MAX_TEXT = 1_000


class Place(NamedTuple):
    """The place from which reading of a file can go on: *records* records after the byte `offset` of the file.

    In a compressed file `offset` is where a member begins; 0 if a member cannot be read without those before it.
    """

    offset: int = 0
    records: int = 0

    def after(self, offset: int) -> Place:
        """The place after the next record, which can be reached from *offset*."""
        return Place(offset, self.records + 1 if self.offset == offset else 1)


class DamagedRecord(NamedTuple):
    """A record that was skipped because it cannot be read."""

    source: str
    offset: int
    """Where it begins: the byte of the file (of its member, in a compressed one), or the line of JSON Lines
    and CSV, the row of Parquet and Excel."""
    url: str | None
    reason: str
    unit: str = "byte"

    def __str__(self) -> str:
        url = f" ({self.url})" if self.url else ""
        return f"{self.source}, {self.unit} {self.offset:,}{url}: {self.reason}"


@dataclass
class ReadReport:
    """Counts of what was read and skipped so far; given to several reads in turn, it adds up."""

    records: int = 0
    """Records (or lines) that were read to their end."""
    pages: int = 0
    bytes_read: int = 0
    """Bytes of the files themselves, before decompression."""
    total_bytes: int | None = None
    """The length of the files in bytes, if it is known; that of a pipe is not."""
    place: Place = field(default_factory=Place)
    """The place after the last record that was read: `read_pages` goes on there if this is given as `start`."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Counts of sound records that are not pages, or not of the wanted types, by media type, scheme or kind."""
    failed_fetches: int = 0
    """Count of records that say that a fetch failed, and are read if that is asked for."""
    other_methods: Counter[str] = field(default_factory=Counter)
    """Counts of responses that were left out since their request was no GET, by its method."""
    other_urls: Counter[str] = field(default_factory=Counter)
    """Counts of pages that were left out by a filter of URLs, by its rule."""
    truncated: Counter[str] = field(default_factory=Counter)
    """Counts of pages that are marked `truncated`, by what says so: `WARC-Truncated`, `Content-Length`, `chunked`, or
    the content encoding that the body does not have, or that breaks off."""
    unknown_fields: Counter[str] = field(default_factory=Counter)
    """Counts of fields in JSON Lines that a page does not have, by name; those of columns of a table, once a file."""
    damaged_count: int = 0
    damaged: list[DamagedRecord] = field(default_factory=list)
    """The first 1,000 damaged records, their URLs and reasons cut to 1,000 characters."""
    unclosed: Counter[str] = field(default_factory=Counter)
    """Counts of WARC records without the two line ends that close a record, or with a length that includes these, by
    the name of the file. They are read."""
    redated: int = 0
    """Count of pages that have the date of `date_fallback`, because their record or row has none, or an impossible
    one."""
    verified: int = 0
    """Count of records of which a digest was verified, and all that could be were right."""
    mismatched: Counter[str] = field(default_factory=Counter)
    """Counts of the damaged records whose digest is wrong, by its field: WARC-Block-Digest or WARC-Payload-Digest."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Counts of sound records that are over a limit, by its name in `ReadLimits`."""
    over_limits: list[DamagedRecord] = field(default_factory=list)
    """The first 1,000 of these, each with the option that reads it."""
    unparsed: Counter[str] = field(default_factory=Counter)
    """Counts of pages over a limit that were returned without title and links, by its name."""
    bytes_skipped: int = 0
    """Bytes of the files that were skipped because a gzip or zstd member, a row group, or the length of a WARC record
    is damaged (bytes of its data, if that is inside a member). How many records they held is not known: each such place
    counts as one damaged record."""
    shortened: Counter[str] = field(default_factory=Counter)
    """Counts of pages over a limit that were returned with their first links only, by its name."""

    replaced: int = 0
    """Count of lines of JSON Lines with half of a character (a lone surrogate), in whose place is U+FFFD."""
    _in_a_row: int = field(default=0, init=False, repr=False, compare=False)

    def add_record(self, offset: int) -> None:
        """Count a record that was read to its end and began at *offset*."""
        self.records += 1
        self.place = self.place.after(offset)

    @property
    def good_records(self) -> int:
        """How many records were read that are neither damaged nor over a limit."""
        return self.records - self.damaged_count - self.skipped.total()

    def add_damaged(self, record: DamagedRecord, limit: str | None = None) -> None:
        """Count *record*, which is over *limit* or else damaged, and list it, unless the list is full.

        Raises `DamagedFile` after `MAX_IN_A_ROW` of them.
        """
        self._end_of_damage()
        self._in_a_row += 1
        if limit is None:
            self.damaged_count += 1
        else:
            self.skipped[limit] += 1
        listed = self.damaged if limit is None else self.over_limits
        if len(listed) < MAX_DAMAGED:
            url = record.url and record.url[:_MAX_TEXT]
            listed.append(record._replace(url=url, reason=record.reason[:_MAX_TEXT]))

    def add_gap(self, record: DamagedRecord, skipped: int, limit: str | None = None) -> None:
        """Count *record*, after which *skipped* bytes of the file are damaged, or else over *limit*."""
        self.records += 1
        self.bytes_skipped += skipped
        self.add_damaged(record._replace(reason=f"{record.reason}: {skipped:,} bytes skipped"), limit)

    def attempt(self, read: Callable[[], T | None], damaged: Callable[[str], DamagedRecord]) -> T | None:
        """Return the page that *read* returns; None if it raises, which is counted.

        *damaged* makes the listed record of the reason. Raises `DamagedFile` after `MAX_IN_A_ROW` damaged records.
        """
        self._end_of_damage()
        try:
            page = read()
            self._in_a_row = 0
            return page
        except LeftOut as what:
            self.add_left_out(str(what))
        except (Damaged, InvalidURL) as reason:
            if isinstance(reason, WrongDigest):
                self.mismatched[reason.field] += 1
            self.add_damaged(damaged(str(reason)), reason.limit if isinstance(reason, OverLimit) else None)
        return None

    def _end_of_damage(self) -> None:
        if self._in_a_row >= MAX_IN_A_ROW:
            self._in_a_row = 0  # the next file may be sound
            raise DamagedFile(f"{MAX_IN_A_ROW:,} records in a row are damaged")

    def add_left_out(self, what: str) -> None:
        """Count a record that was left out for being *what*."""
        count(self.left_out, what)

    def add_unknown_fields(self, names: Iterable[str]) -> None:
        """Count the fields *names*, which a page does not have."""
        for name in names:
            count(self.unknown_fields, name)


def count(counter: Counter[str], name: str) -> None:
    """Count *name*, which a stranger may have chosen, in *counter*."""
    name = name[:_MAX_NAME]
    counter[name if name in counter or len(counter) < MAX_NAMES else OTHERS] += 1


# An escape in JSON; its group is a surrogate that is not half of a pair.
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)


def decoded_json(decoder: msgspec.json.Decoder[T], data: bytes, report: ReadReport) -> tuple[bytes, T]:
    """Return the JSON *data* and what *decoder* makes of it, with U+FFFD in place of halves of characters.

    Raises `msgspec.MsgspecError` where it cannot be decoded.
    """
    try:
        return data, decoder.decode(data)
    except msgspec.DecodeError:
        # JavaScript writes half of a character where a text was cut inside one; other readers accept it.
        whole = _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], data)
        if whole == data:
            raise
        value = decoder.decode(whole)
        report.replaced += 1
        return whole, value


class Damaged(Exception):
    """The reason why one record cannot be read; it becomes a `DamagedRecord`."""


class WrongDigest(Damaged):
    """The record does not match the digest in its *field*."""

    def __init__(self, field: str, algorithm: str) -> None:
        super().__init__(f"it does not match its {field}, by {algorithm}")
        self.field = field


class OverLimit(Damaged):
    """The reason why a record is over the limit named *limit* in `ReadLimits`, which would have to be *needed*."""

    def __init__(self, limit: str, reason: str, needed: int | None = None) -> None:
        super().__init__(_with_option(reason, limit, "…" if needed is None else f"{-(-needed // 1_000_000)}MB"))
        self.limit = limit


def _with_option(reason: str, limit: str, value: str = "…") -> str:
    return f"{reason}: --limit {limit}={value} (in Python ReadLimits({limit}=…)) reads it"


class LeftOut(Exception):
    """The name under which a sound record is counted that is not a page, or not of the wanted types."""


def check_fields(values: Mapping[str, Any], limits: ReadLimits) -> None:
    """Raise `OverLimit` for a page with a text, or with headers, over *limits*."""
    html = values.get("html_facts")
    for name, value in (*values.items(), *(html.items() if isinstance(html, dict) else ())):
        if isinstance(value, str) and name != "body" and len(value) > limits.head:
            raise OverLimit("head", f"its {name} has over {limits.head:,} characters")
    if len(values.get("headers") or ()) > limits.fields:
        raise OverLimit("fields", f"it has over {limits.fields:,} headers")


class DamagedFile(Exception):
    """The reason why a file cannot be read further, and where if that is known; it becomes a `FormatError`."""

    limit: str | None = None
    """The name in `ReadLimits` of the limit that the file is over; None if it is damaged."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.offset = offset


class FileOverLimit(DamagedFile):
    """The reason why a file, which may be sound, is over the limit named *limit* and not read further."""

    def __init__(self, limit: str, reason: str, offset: int | None = None) -> None:
        super().__init__(_with_option(reason, limit), offset)
        self.limit: str | None = limit


def check_announced(types: Collection[str] | None, page: Page) -> Page:
    """Return *page*; raises `LeftOut` if its declared type is not one of *types*."""
    announced = page.content_type or page.headers.get("content-type")
    if announced is not None:
        check_type(types, media_type(announced)[0] or announced)
    return page


def check_type(types: Collection[str] | None, name: str) -> None:
    """Raise `LeftOut` unless the media type *name* is one of *types*; None means all types."""
    if types is not None and name not in types:
        raise LeftOut(name)

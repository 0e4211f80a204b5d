"""What the readers of all formats share: the types that pass, and the report of what did not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from webtable._page.headers import media_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from webtable._page.page import Page

DEFAULT_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""The media types that `read_pages` lets pass when it is told nothing else."""

MAX_DAMAGED = 1_000
"""Damaged records that a report lists; all are counted."""
MAX_NAMES = 1_000
"""Names that a report counts each for itself; what comes with others is counted as `OTHERS`."""
OTHERS = "others"
_MAX_NAME = 100
_MAX_TEXT = 1_000


class Place(NamedTuple):
    """Where the reading of a file goes on: so many `records` behind the byte `offset` of the file.

    In a compressed file that is where a member begins, and 0 where a member cannot be read without those before it.
    """

    offset: int = 0
    records: int = 0


class DamagedRecord(NamedTuple):
    """A record that was skipped because it cannot be read."""

    source: str
    offset: int
    """Where it begins: the byte of the file (of its member, in a compressed one), or the line of JSON Lines."""
    url: str | None
    reason: str
    unit: str = "byte"

    def __str__(self) -> str:
        url = f" ({self.url})" if self.url else ""
        return f"{self.source}, {self.unit} {self.offset:,}{url}: {self.reason}"


@dataclass
class ReadReport:
    """What was read so far, and what became of it; given to several reads in turn, it adds up."""

    records: int = 0
    """Records (or lines) that were read to their end."""
    pages: int = 0
    bytes_read: int = 0
    """Bytes of the files themselves, before decompression."""
    total_bytes: int | None = None
    """The length of the files in bytes, where it is known: not that of a pipe."""
    place: Place = field(default_factory=Place)
    """Behind which record of the file the reading is: given to `read_pages` as `start`, it goes on from there."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Sound records that are no pages or of a type that was not asked for: how many, by media type, scheme or kind."""
    unknown_fields: Counter[str] = field(default_factory=Counter)
    """Fields of JSON Lines that a page does not have."""
    damaged_count: int = 0
    damaged: list[DamagedRecord] = field(default_factory=list)
    """The first 1,000 damaged records, their URLs and reasons cut to 1,000 characters."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Those of the damaged records that are over a limit: how many, by its name in `ReadLimits`."""
    unparsed: Counter[str] = field(default_factory=Counter)
    """Pages over a limit that were passed on without the title and links that they may have, by its name."""
    bytes_skipped: int = 0
    """Bytes of the files that were passed over because a gzip or zstd member, or a row group, is damaged. How many
    records they held is not known: each such place counts as one damaged record."""
    shortened: Counter[str] = field(default_factory=Counter)
    """Pages over a limit of which only the first links were passed on, by its name."""

    def add_record(self, offset: int) -> None:
        """Count a record that was read to its end and began at *offset*."""
        self.records += 1
        self.place = Place(offset, self.place.records + 1 if self.place.offset == offset else 1)

    def add_damaged(self, record: DamagedRecord, limit: str | None = None) -> None:
        """Count *record*, which may be over *limit*, and list it, unless the list is full."""
        self.damaged_count += 1
        if limit is not None:
            self.skipped[limit] += 1
        if len(self.damaged) < MAX_DAMAGED:
            url = record.url and record.url[:_MAX_TEXT]
            self.damaged.append(record._replace(url=url, reason=record.reason[:_MAX_TEXT]))

    def add_gap(self, record: DamagedRecord, skipped: int) -> None:
        """Count *record*, after which *skipped* bytes of the file could not be read."""
        self.records += 1
        self.bytes_skipped += skipped
        self.add_damaged(record._replace(reason=f"{record.reason}: {skipped:,} bytes skipped"))

    def taken(self, read: Callable[[], Page], damaged: Callable[[str], DamagedRecord]) -> Page | None:
        """Return the page that *read* returns, None where it says why there is none: that is counted.

        *damaged* makes of such a reason what is listed.
        """
        try:
            return read()
        except LeftOut as what:
            self.add_left_out(str(what))
        except Damaged as reason:
            self.add_damaged(damaged(str(reason)), reason.limit if isinstance(reason, OverLimit) else None)
        return None

    def add_left_out(self, what: str) -> None:
        """Count a record that was left out for being *what*."""
        _count(self.left_out, what)

    def add_unknown_fields(self, names: Iterable[str]) -> None:
        """Count the fields *names*, which a page does not have."""
        for name in names:
            _count(self.unknown_fields, name)


def _count(counter: Counter[str], name: str) -> None:
    name = name[:_MAX_NAME]
    counter[name if name in counter or len(counter) < MAX_NAMES else OTHERS] += 1


class Damaged(Exception):
    """The reason why one record cannot be read; it ends up in a `DamagedRecord`."""


class OverLimit(Damaged):
    """The reason why a record is over a limit, which is called *limit* in `ReadLimits`."""

    def __init__(self, limit: str, reason: str) -> None:
        super().__init__(reason)
        self.limit = limit


class LeftOut(Exception):
    """What a sound record is counted under that is no page or was not asked for."""


class DamagedFile(Exception):
    """The reason why a file cannot be read further, and where if that is known; it ends up in a `FormatError`."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.offset = offset


def check_announced(types: Collection[str] | None, page: Page) -> Page:
    """Return *page*; raises `LeftOut` where it says of which type it is, and that is none of *types*."""
    announced = page.content_type or page.headers.get("content-type")
    if announced is not None:
        check_type(types, media_type(announced)[0] or announced)
    return page


def check_type(types: Collection[str] | None, name: str) -> None:
    """Raise `LeftOut` unless the media type *name* is one of *types*; None is all types."""
    if types is not None and name not in types:
        raise LeftOut(name)

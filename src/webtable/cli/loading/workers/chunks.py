"""What travels between the processes: some pages of a part, and what became of its records."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from webtable._page.page import Page
from webtable.cli.loading.load import Failures
from webtable.errors import WebTableError
from webtable.formats import Place, ReadReport
from webtable.formats.base import MAX_DAMAGED
from webtable.formats.parts import FilePart
from webtable.repository.writing.outcomes import Dropped

if TYPE_CHECKING:
    from collections import Counter


CHUNK_PAGES = 100
CHUNK_BYTES = 1 << 20
"""A chunk is so many pages, or so many bytes of memory and one page more, at most."""
NUMBERS = ("records", "pages", "bytes_read", "bytes_skipped", "damaged_count")
COUNTERS = ("left_out", "unknown_fields", "skipped", "unparsed", "shortened")


@dataclass
class Tally:
    """What became of some records."""

    report: ReadReport = field(default_factory=ReadReport)
    stored: int = 0
    unchanged: int = 0
    dropped: Dropped = field(default_factory=Dropped)
    refused: Failures = field(default_factory=Failures)
    failed: Failures = field(default_factory=Failures)


class Counted(Protocol):
    """What counts as a `Tally` does, and may have more to tell."""

    report: ReadReport
    stored: int
    unchanged: int
    dropped: Dropped
    refused: Failures
    failed: Failures


def add_tally(to: Counted, tally: Tally) -> None:
    """Add to *to* what *tally* has counted."""
    add_report(to.report, tally.report)
    to.stored += tally.stored
    to.unchanged += tally.unchanged
    to.dropped.add(tally.dropped)
    to.refused.add_all(tally.refused)
    to.failed.add_all(tally.failed)


@dataclass
class Chunk:
    """Some pages of the part that was given as *number*, which is read up to *place* with them."""

    number: int
    place: Place
    records: int
    pages: list[Page]
    repeats: list[Page]
    """Pages that repeat what is stored, by then: a revisit may be read before what it repeats."""
    tally: Tally
    is_last: bool = False
    damage: str | None = None
    """Why the part cannot be read further."""
    is_stored: bool = False

    @property
    def ends_part(self) -> bool:
        """Whether nothing more of the part comes."""
        return self.is_last or self.damage is not None


class Given(NamedTuple):
    """A part to be read, behind so many records of it."""

    number: int
    part: FilePart
    place: Place
    records: int


class Wanted(NamedTuple):
    """A worker has nothing to read."""


class Ended(NamedTuple):
    """A worker comes to its end; `tally` is of what it has not told in chunks."""

    tally: Tally
    lost: WebTableError | None = None
    """The error that ended it, where the store is gone."""
    broken: str | None = None
    """What else has ended it."""


class Reading:
    """The report of a part that is being read, of which is taken what is new in it."""

    def __init__(self, place: Place) -> None:
        self.report = ReadReport(place=place)
        self._taken = ReadReport()

    def taken(self) -> ReadReport:
        """Return what was reported since this was called last."""
        report, before, new = self.report, self._taken, ReadReport()
        for name in NUMBERS:
            setattr(new, name, getattr(report, name) - getattr(before, name))
            setattr(before, name, getattr(report, name))
        for name in COUNTERS:
            setattr(new, name, getattr(report, name) - getattr(before, name))
            setattr(before, name, copy(getattr(report, name)))
        new.damaged = report.damaged[len(before.damaged) :]
        before.damaged = list(report.damaged)
        return new


def add_report(report: ReadReport, other: ReadReport) -> None:
    """Add to *report* what *other* has counted and listed."""
    for name in NUMBERS:
        setattr(report, name, getattr(report, name) + getattr(other, name))
    for name in COUNTERS:
        counter: Counter[str] = getattr(report, name)
        counter.update(getattr(other, name))
    report.damaged += other.damaged[: MAX_DAMAGED - len(report.damaged)]

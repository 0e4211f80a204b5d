"""The counts of a load: what became of the records that were read, which add up whoever has read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from webtable.errors import WebTableError
from webtable.formats import ReadReport
from webtable.formats.read_report import MAX_DAMAGED
from webtable.repository.writing.outcomes import Dropped

SHOWN_ERRORS = 10
"""At most this many errors of one kind are shown."""
NUMBERS = ("records", "pages", "bytes_read", "bytes_skipped", "damaged_count", "replaced")
COUNTERS = ("left_out", "other_methods", "truncated", "unknown_fields", "skipped", "unparsed", "shortened")
_NOTHING_READ = ReadReport()


@dataclass
class Failures:
    """Pages that were not stored: their number by kind of error, and the first errors of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    first: defaultdict[str, list[WebTableError]] = field(default_factory=lambda: defaultdict(list))

    def add(self, error: WebTableError) -> None:
        """Count one page."""
        kind = type(error).__name__
        self.counts[kind] += 1
        if len(self.first[kind]) < SHOWN_ERRORS:
            self.first[kind].append(error)

    def add_all(self, others: Failures) -> None:
        """Count the pages of *others* as well."""
        self.counts.update(others.counts)
        for kind, errors in others.first.items():
            self.first[kind] = [*self.first[kind], *errors][:SHOWN_ERRORS]


@dataclass
class LoadCounts:
    """The results for some records."""

    report: ReadReport = field(default_factory=ReadReport)
    stored: int = 0
    unchanged: int = 0
    """How many of the stored pages brought no new content."""
    dropped: Dropped = field(default_factory=Dropped)
    """What the limits of the table dropped."""
    refused: Failures = field(default_factory=Failures)
    failed: Failures = field(default_factory=Failures)

    def add(self, counts: LoadCounts) -> None:
        """Count the records of *counts* as well."""
        # If this process reads, its reader fills the report in another thread, and *counts* brings an empty one.
        if counts.report != _NOTHING_READ:
            add_report(self.report, counts.report)
        self.stored += counts.stored
        self.unchanged += counts.unchanged
        self.dropped.add(counts.dropped)
        self.refused.add_all(counts.refused)
        self.failed.add_all(counts.failed)


def add_report(report: ReadReport, other: ReadReport) -> None:
    """Add the counts and the damaged records of *other* to *report*."""
    for name in NUMBERS:
        setattr(report, name, getattr(report, name) + getattr(other, name))
    for name in COUNTERS:
        counter: Counter[str] = getattr(report, name)
        counter.update(getattr(other, name))
    report.damaged += other.damaged[: MAX_DAMAGED - len(report.damaged)]

"""The report of a load of files: what became of their records, which adds up whoever has read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from signal import Signals
from typing import TYPE_CHECKING, Any

import msgspec

from webtable.display.text import plural, size_text
from webtable.errors import WebTableError
from webtable.formats.read_report import LISTS, MAX_DAMAGED, ReadReport
from webtable.page.json_lines import ATTRIBUTES
from webtable.page.parts import meant
from webtable.repository.upkeep.recounts import Recount
from webtable.repository.upkeep.revisits import number_text
from webtable.repository.writing.outcomes import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_ERRORS = 10
"""At most this many errors of one kind are kept."""
_SHOWN_FIELDS = 8
_SHOWN_NAMES = 5
_NOTHING_READ = ReadReport()


@dataclass
class Failures:
    """Pages that were not stored: `counts` by the name of their error, and the `first` ten errors of each name."""

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
class IngestCounts:
    """What became of some records."""

    read: ReadReport = field(default_factory=ReadReport)
    """What was read: records, pages, bytes, and what was left out, damaged or over a limit."""
    stored: int = 0
    """How many pages are stored."""
    unchanged: int = 0
    """How many of them brought no new content."""
    dropped: Dropped = field(default_factory=Dropped)
    """What the limits of the table dropped."""
    refused: Failures = field(default_factory=Failures)
    """Pages that the table cannot keep, such as those without a valid URL."""
    failed: Failures = field(default_factory=Failures)
    """Pages that the store did not take."""

    def add(self, counts: IngestCounts) -> None:
        """Count the records of *counts* as well."""
        # If this process reads, its reader fills the report in another thread, and *counts* brings an empty one.
        if counts.read != _NOTHING_READ:
            add_report(self.read, counts.read)
        self.stored += counts.stored
        self.unchanged += counts.unchanged
        self.dropped.add(counts.dropped)
        self.refused.add_all(counts.refused)
        self.failed.add_all(counts.failed)


def add_report(report: ReadReport, other: ReadReport) -> None:
    """Add the counts and the damaged records of *other* to *report*."""
    for name, value in vars(other).items():
        if isinstance(value, Counter):
            getattr(report, name).update(value)
        elif isinstance(value, int) and name != "total_bytes":
            setattr(report, name, getattr(report, name) + value)
    for name in LISTS:
        listed = getattr(report, name)
        listed += getattr(other, name)[: MAX_DAMAGED - len(listed)]


class ReportPieces:
    """Gives a *report* that is being filled in pieces, which `add_report` puts together again."""

    # A worker that dies has reported the batches that are stored, and no record of those that another one reads again.

    def __init__(self, report: ReadReport) -> None:
        self._report = report
        self._before = ReadReport()

    def taken(self) -> ReadReport:
        """The counts since the last call."""
        before, new, now = self._before, ReadReport(), ReadReport()
        add_report(now, self._report)
        for name, value in vars(now).items():
            if isinstance(value, Counter | int):
                setattr(new, name, value - getattr(before, name))
        for name in LISTS:
            setattr(new, name, getattr(now, name)[len(getattr(before, name)) :])
        self._before = now
        return new


@dataclass(repr=False)
class IngestReport(IngestCounts):
    """What `WebTable.ingest` has done; `to_dict()` is the same in types that JSON has."""

    files: int = 0
    """How many files were named."""
    files_stored_before: int = 0
    """How many of them an earlier run with the same journal has stored."""
    damaged_files: list[str] = field(default_factory=list)
    """The files that could not be read (further), each with the reason."""
    files_over_limits: list[str] = field(default_factory=list)
    """The files that were not read to their end since they are over a limit, each with the option that reads it."""
    unfinished: list[str] = field(default_factory=list)
    """The places that reading had reached when it was interrupted, or when the store was gone."""
    worker_deaths: list[str] = field(default_factory=list)
    """How each dead worker died; what it had not stored was read again."""
    seconds: float = 0.0
    is_dry_run: bool = False
    unresolved: int = 0
    """How many revisits of the table wait for their originals at the end, a million at most."""
    recount: Recount | None = None
    """The counting of links at the end, if that was done."""
    interrupted_by: Signals | None = None
    """The signal that interrupted it."""
    lost: WebTableError | None = None
    """The error that ended it, if the store is gone."""
    uncounted: WebTableError | None = None
    """Why the links were not counted."""

    @property
    def not_stored(self) -> int:
        """How many pages were refused or failed."""
        return self.refused.counts.total() + self.failed.counts.total()

    @property
    def is_sound(self) -> bool:
        """Whether everything that was to be stored is stored, and everything could be read."""
        ended = self.interrupted_by or self.lost or self.uncounted
        unread = self.read.damaged_count or self.read.skipped or self.damaged_files or self.files_over_limits
        return not (ended or unread or self.not_stored)

    def text(self, store: str = "") -> str:
        """Return one line with all that was counted; *store* is named in it."""
        read, done = self.read, "would be stored" if self.is_dry_run else "stored"
        place = f" in {store}" if store else ""
        gone = self.dropped.older + self.dropped.late + self.dropped.replaced
        counted = [
            f"{plural(self.stored, 'page')} {done}{place} from {plural(self.files, 'file')} "
            f"in {self.seconds:,.1f} s ({rates(self.stored, read.bytes_read, self.seconds)})",
            self.files_stored_before and f"{plural(self.files_stored_before, 'file')} stored before",
            self.unchanged and f"{self.unchanged:,} of them unchanged",
            read.left_out and f"{read.left_out.total():,} left out ({names_text(read.left_out)})",
            read.other_methods
            and f"{plural(read.other_methods.total(), 'answer')} to other methods left out "
            f"({names_text(read.other_methods)})",
            read.other_urls
            and f"{plural(read.other_urls.total(), 'page')} left out by their URLs ({names_text(read.other_urls)})",
            read.failed_fetches and plural(read.failed_fetches, "failed fetch", "es"),
            read.truncated
            and f"{plural(read.truncated.total(), 'page')} marked truncated ({names_text(read.truncated)})",
            read.redated and f"{plural(read.redated, 'page')} with the date of date_fallback",
            read.verified and f"{plural(read.verified, 'record')} verified by a digest",
            read.damaged_count and plural(read.damaged_count, "damaged record"),
            read.mismatched and f"{read.mismatched.total():,} of them by a digest ({names_text(read.mismatched)})",
            read.skipped and f"{plural(read.skipped.total(), 'record')} over a limit ({names_text(read.skipped)})",
            read.bytes_skipped and f"{plural(read.bytes_skipped, 'damaged byte')} skipped",
            self.damaged_files and plural(len(self.damaged_files), "damaged file"),
            self.files_over_limits and f"{plural(len(self.files_over_limits), 'file')} over a limit",
            gone and f"{gone:,} dropped",
            self.not_stored and f"{self.not_stored:,} not stored",
            self.unresolved and f"{number_text(self.unresolved)} waiting for the originals (unresolved lists them)",
            self.recount and self.recount.batches and f"links to {plural(self.recount.pages, 'page')} counted",
        ]
        return "; ".join(filter(None, map(str, filter(None, counted))))

    def to_dict(self) -> dict[str, Any]:
        """All of it in types that JSON has: errors and damaged records are texts, a signal is its number."""
        report: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        report["read"]["damaged"] = list(map(str, self.read.damaged))
        return report

    def __repr__(self) -> str:
        return f"<IngestReport: {self.text()}>"


def rates(pages: int, size: int, seconds: float) -> str:
    """Return pages and bytes per second, as text."""
    return f"{pages / max(seconds, 1e-6):,.0f} pages/s, {size_text(size / max(seconds, 1e-6))}/s"


def names_text(counts: Counter[str]) -> str:
    """Return the most common of *counts*, by their names."""
    shown = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(_SHOWN_NAMES))
    return f"{shown}, …" if len(counts) > _SHOWN_NAMES else shown


def ignored_fields(fields: Counter[str]) -> Iterator[str]:
    """Yield the most common *fields* of rows that pages do not have, with their numbers and those probably meant."""
    for name, number in fields.most_common(_SHOWN_FIELDS):
        suggestion = meant(name, ATTRIBUTES).removeprefix("; ")
        yield f"{name} {number:,} ({suggestion})" if suggestion else f"{name} {number:,}"
    if len(fields) > _SHOWN_FIELDS:
        yield f"and {len(fields) - _SHOWN_FIELDS:,} more"

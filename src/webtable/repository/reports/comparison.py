"""A comparison of a site at two moments: which pages are new, gone or changed, with their former values."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable.display.markup import shares, tag
from webtable.progress import counting
from webtable.repository.arguments import moments
from webtable.repository.questions.changes import CHANGE_KINDS, CHANGED
from webtable.repository.questions.crawls import Crawl
from webtable.repository.reading.site import site_text
from webtable.repository.reports.page import moment_text, report_page
from webtable.repository.reports.section import Found, Heading, Pair, Report, Section, check_most, nothing_of

if TYPE_CHECKING:
    from webtable.page.page import Page
    from webtable.repository.arguments import Moment, Progress
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.reading.site import Site
    from webtable.repository.reports.section import AskedTable

MOST = 200
"""How many pages of each kind a comparison lists, by default."""
_URL, _TITLE = Heading("url", "url"), Heading("title", "text")
_STATUS, _SIZE = Heading("status", "status"), Heading("size", "size")
_OUTLINES: dict[ChangeKind, tuple[str, str, tuple[Heading, ...]]] = {
    "new": ("New", "Pages whose first capture came in between.", (_URL, _STATUS, _TITLE, _SIZE)),
    "gone": (
        "Gone",
        "Pages whose status was below 400 before, and is 400 or above after.",
        (_URL, _STATUS, _TITLE, Heading("size_before", "size")),
    ),
    "changed": (
        "Changed",
        "Pages whose content, status or redirect target is not the same as before.",
        (_URL, Heading("what", "text"), _STATUS, _TITLE, _SIZE),
    ),
}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Report):
    """The changes of a site between two moments; `webtable.reports.compare` makes it.

    `counts` has the numbers of new, gone, changed and unchanged pages; `sections` list the first of all but the
    unchanged ones.
    """

    site: str
    made_at: datetime
    since: datetime
    until: datetime
    counts: dict[str, int]
    damaged: int
    """How many rows were skipped because they cannot be read."""
    listing: str
    """The command that lists the changes."""
    sections: tuple[Section, ...]
    _empty: str = ""

    def command(self, kind: ChangeKind) -> str:
        """Return the command that lists the pages of one kind."""
        return f"{self.listing} --kind {kind}"

    def html(self) -> str:
        """Return the report as one self-contained HTML page; crawled text is escaped."""
        title, times = f"Changes of {self.site}", f"{moment_text(self.since)} to {moment_text(self.until)}"
        lead = tag("p", f"{self.subject}, from {times}", class_="muted")
        facts = [(kind, f"{count:,}") for kind, count in self.counts.items()]
        if self.damaged:
            facts.append(("damaged rows, left out", f"{self.damaged:,}"))
        if not any(self.counts.values()):
            empty = tag("p", self._empty or f"{self.subject}: none was stored then.", class_="lead")
            return report_page(title, [lead, empty], facts, "", ())
        return report_page(title, lead, facts, shares(self.counts), self.sections)


def compare(
    table: AskedTable,
    site: Site,
    *,
    since: Moment | Crawl,
    until: Moment | Crawl | None = None,
    most: int = MOST,
    program: str = "webtable",
    on_progress: Progress | None = None,
) -> Comparison:
    """Return the changes of the pages of *site*, as in `WebTable.pages`, from *since* to *until*.

    *until* is now by default. A row of `WebTable.crawls` stands for the moment when that crawl ended.
    `WebTable.changes` defines new, gone and changed; the first *most* pages of each are listed with their former
    values. *program* is the name of the command line, for the commands that list the rest. *on_progress* is called with
    the number of pages compared. Raises `InvalidURL`, `InvalidArgument` and `StoreError`; `DamagedRow` if the table is
    strict.
    """
    check_most(most)
    now = clock.now()
    named, damaged, counts = site_text(site), table.metrics.damaged, Counter[str]()
    first, last = moments(since=_end_of(since), until=_end_of(until)).values()
    found = {kind: Found(most) for kind in CHANGED}
    answer = table.changes(site, since=first, until=last, kind=CHANGE_KINDS)  # type: ignore[arg-type]
    for change in counting(answer, on_progress):
        counts[change.kind] += 1
        if change.kind != "unchanged":
            found[change.kind].add(*_row(change))
    times = _times(first or now, last)
    command = f"{program} changes {shlex.quote(named)} {times}"
    sections = tuple(_section(kind, some, f"{command} --kind {kind}") for kind, some in found.items())
    return Comparison(
        site=named,
        made_at=now,
        since=first or now,
        until=last or now,
        counts={kind: counts[kind] for kind in CHANGE_KINDS},
        damaged=table.metrics.damaged - damaged,
        listing=command,
        sections=sections,
        _empty="" if counts else nothing_of(table, site),
    )


def _end_of(given: Moment | Crawl | None) -> Moment | None:
    return given.end if isinstance(given, Crawl) else given


def _section(kind: ChangeKind, found: Found, command: str) -> Section:
    title, about, headings = _OUTLINES[kind]
    return Section(kind, title, about, headings, command).filled(found)


def _times(since: datetime, until: datetime | None) -> str:
    given = {"since": since, "until": until}
    return " ".join(f"--{name} {time.astimezone(UTC).isoformat()}" for name, time in given.items() if time is not None)


def _row(change: Change) -> tuple[object, ...]:
    before, after = change.before, change.after
    match change.kind:
        case "new":
            return change.url, after and after.status, after and after.title, after and after.size
        case "gone":
            return change.url, _pair("status", before, after), before and before.title, before and before.size
    pairs = [_pair(name, before, after) for name in ("status", "title", "size")]
    return change.url, _what(before, after), *pairs


def _pair(name: str, before: Page | None, after: Page | None) -> object:
    """Return the values of both pages, or one value if they are equal; None for a page that is not kept."""
    one, other = getattr(before, name, None), getattr(after, name, None)
    return other if before is None or one == other else Pair(one, other)


def _what(before: Page | None, after: Page | None) -> str:
    if before is None or after is None:
        return "the former version is no longer kept"
    names = {"digest": "content", "status": "status", "redirect_to": "redirect"}
    return ", ".join(said for name, said in names.items() if getattr(before, name) != getattr(after, name))

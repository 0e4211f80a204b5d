"""An audit of a site: how many pages it has and of what kind, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable.display.markup import tag
from webtable.display.text import size_text
from webtable.progress import counting
from webtable.repository.arguments import MOST_FINDINGS
from webtable.repository.reading.site import site_text
from webtable.repository.reports.findings import Findings
from webtable.repository.reports.page import chart, moment_text, report_page
from webtable.repository.reports.section import Report, Section, check_most, nothing_of
from webtable.repository.reports.site_counts import NamedGroup, SiteCounts, SizeCount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.reading.site import Site
    from webtable.repository.reports.asked import AskedTable

_SHOWN_GROUPS = 8


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Report):
    """The findings of an audit; `WebTable.audit` makes it.

    `sections` has a list for each kind of problem, with the first findings and their number.
    """

    site: str
    made_at: datetime
    pages: int
    bytes: int
    hosts: int
    oldest: datetime | None
    newest: datetime | None
    """The dates of the oldest and the newest capture."""
    damaged: int
    """How many rows were skipped because they cannot be read."""
    statuses: tuple[NamedGroup, ...]
    types: tuple[NamedGroup, ...]
    languages: tuple[NamedGroup, ...]
    sizes: tuple[SizeCount, ...]
    sections: tuple[Section, ...]
    _empty: str = ""

    def html(self) -> str:
        """Return the report as one self-contained HTML page; crawled text is escaped."""
        title, written = f"Audit of {self.site}", moment_text(self.made_at)
        lead = tag("p", f"{self.subject}, on {written}", class_="muted")
        damage = [("damaged rows, left out", f"{self.damaged:,}")] if self.damaged else []
        if not self.pages:
            empty = tag("p", self._empty or f"{self.subject}: none is stored.", class_="lead")
            return report_page(title, [lead, empty], damage, "", ())
        charts = (
            chart("Status", "status", _largest(self.statuses)),
            chart("Types", "type", _largest(self.types)),
            chart("Languages", "language", _largest(self.languages)),
            chart("Sizes of bodies", "size", [(one.name, one.pages, None) for one in self.sizes]),
        )
        return report_page(title, lead, [*_facts(self), *damage], tag("div", charts, class_="charts"), self.sections)


def audit(
    table: AskedTable,
    site: Site,
    *,
    most: int = MOST_FINDINGS,
    program: str = "webtable",
    on_progress: Progress | None = None,
) -> Audit:
    """Return an audit of the pages of *site*, as in `WebTable.pages`.

    It has the first *most* findings of each kind. A section whose index the table lacks is left out and says so.
    *program* is the name of the command line, for the commands that list the rest. *on_progress* is called with the
    number of pages counted. Raises `InvalidURL`, `InvalidArgument` and `StoreError`; `DamagedRow` if the table is
    strict.
    """
    check_most(most)
    named = site_text(site)
    counts, damaged = SiteCounts(most), table.metrics.damaged
    for page in counting(table.pages(site), on_progress):
        counts.take(page)
    return Audit(
        site=named,
        made_at=clock.now(),
        pages=counts.pages,
        bytes=counts.bytes,
        hosts=counts.hosts,
        oldest=counts.oldest,
        newest=counts.newest,
        damaged=table.metrics.damaged - damaged,
        statuses=counts.statuses,
        types=counts.types,
        languages=counts.languages,
        sizes=counts.sizes,
        sections=tuple(Findings(table, site, named, most, program).sections(counts)),
        _empty="" if counts.pages else nothing_of(table, site),
    )


def _facts(audit: Audit) -> list[tuple[str, str]]:
    facts = [("pages", f"{audit.pages:,}"), ("hosts", f"{audit.hosts:,}"), ("bodies", size_text(audit.bytes))]
    if audit.oldest is not None and audit.newest is not None:
        facts += [("fetched first", moment_text(audit.oldest)), ("fetched last", moment_text(audit.newest))]
    return facts


def _largest(groups: Sequence[NamedGroup]) -> Sequence[NamedGroup]:
    """Return the first of *groups*, those with the most pages, and the others as one."""
    rest = groups[_SHOWN_GROUPS:]
    if not rest:
        return groups
    others = NamedGroup(f"{len(rest):,} more", sum(one.pages for one in rest), sum(one.bytes for one in rest))
    return [*groups[:_SHOWN_GROUPS], others]

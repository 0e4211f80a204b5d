"""An audit of a site: how many pages it has and of what kind, and what is wrong with them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from webtable.reports.audit_page import page
from webtable.reports.section import Found, Heading, Section, check_most
from webtable.reports.totals import Group, SizeClass, Totals
from webtable.repository import WebTable
from webtable.rowkey.urls import canonical_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository import Progress

MOST = 50
"""How many findings of each kind a report has, unless it is told otherwise."""
_SOURCES = 3
"""How many of the pages that link to an error page are named."""
_URL, _TITLE, _STATUS = Heading("url", "url"), Heading("title", "text"), Heading("status", "status")


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit has found; `webtable.reports.audit` makes it.

    `sections` are the lists of what is wrong, each with its first findings and their number.
    """

    domain: str
    made_at: datetime
    pages: int
    bytes: int
    hosts: int
    oldest: datetime | None
    newest: datetime | None
    """The dates of the captures that were fetched first and last."""
    damaged: int
    """How many rows cannot be read, and are left out."""
    statuses: tuple[Group, ...]
    types: tuple[Group, ...]
    sizes: tuple[SizeClass, ...]
    sections: tuple[Section, ...]

    def html(self) -> str:
        """Return it as one HTML page that needs no other file; what was crawled is text in it."""
        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON has, but for moments."""
        return {
            "domain": self.domain,
            "made_at": self.made_at,
            "pages": self.pages,
            "bytes": self.bytes,
            "hosts": self.hosts,
            "oldest": self.oldest,
            "newest": self.newest,
            "damaged": self.damaged,
            "statuses": [group._asdict() for group in self.statuses],
            "types": [group._asdict() for group in self.types],
            "sizes": [one._asdict() for one in self.sizes],
            "sections": [section.to_dict() for section in self.sections],
        }


def audit(
    table: WebTable,
    domain: str,
    *,
    most: int = MOST,
    program: str = "webtable",
    on_progress: Progress | None = None,
) -> Audit:
    """Return an audit of the pages of *domain* and of all hosts below it.

    It has the first *most* findings of each kind. A section whose index the table does not have is left out and says
    so. *program* is how the command line is called, for the commands that list the rest. *on_progress* is told how many
    pages were counted. Raises `InvalidURL`, `InvalidArgument` and `StoreError`; `DamagedRow` where the table is strict.
    """
    check_most(most)
    host = canonical_host(domain)
    totals, damaged = Totals(most), table.metrics.damaged
    totals.count(table.pages(host), on_progress)
    return Audit(
        domain=host,
        made_at=datetime.now(UTC),
        pages=totals.pages,
        bytes=totals.bytes,
        hosts=totals.hosts,
        oldest=totals.oldest,
        newest=totals.newest,
        damaged=table.metrics.damaged - damaged,
        statuses=totals.statuses.groups(),
        types=totals.types.groups(),
        sizes=totals.sizes,
        sections=tuple(_Asking(table, host, most, program).sections(totals)),
    )


@dataclass(frozen=True, slots=True)
class _Asking:
    """The questions of an audit, a section each."""

    table: WebTable
    domain: str
    most: int
    program: str

    def sections(self, totals: Totals) -> Iterator[Section]:
        """Yield the sections: what the questions answer, then what was found in the pass over all pages."""
        yield self._section(
            "broken-links",
            "Broken links",
            "Error pages that pages of the site link to, on the site or elsewhere, as far as they are stored.",
            [_STATUS, Heading("target", "url"), Heading("links", "number"), Heading("linked_from", "urls")],
            f"broken-links --domain {self._quoted}",
        ).asked(self._broken, self.most, self.program)
        yield self._section(
            "errors",
            "Pages with an error",
            "Pages of the site whose last capture has a status of 400 or above, whether anybody links there or not.",
            [_STATUS, _URL, Heading("fetched", "time")],
            f"errors --domain {self._quoted}",
        ).asked(self._errors, self.most, self.program)
        yield self._section(
            "orphans",
            "Orphans",
            "Pages that no other stored page links to.",
            [_URL, _STATUS, _TITLE],
            f"orphans {self._quoted}",
        ).asked(self._orphans, self.most, self.program)
        yield from self._of_the_head(totals)
        yield self._section(
            "largest",
            "Largest pages",
            "Those with the largest bodies, by the bytes that were sent.",
            [_URL, _TITLE, Heading("size", "size")],
            f"largest --domain {self._quoted}",
        ).filled(totals.largest)

    def _of_the_head(self, totals: Totals) -> Iterator[Section]:
        listing = f"pages {self._quoted} --format csv --columns url,"
        yield self._section(
            "no-description",
            "Without a description",
            "HTML pages without a description in their head.",
            [_URL, _TITLE],
            f"{listing}description",
        ).filled(totals.undescribed)
        yield self._section(
            "no-h1",
            "Without a heading",
            "HTML pages without a heading of the first level (h1).",
            [_URL, _TITLE],
            f"{listing}h1",
        ).filled(totals.without_h1)
        yield self._section(
            "canonical-elsewhere",
            "Canonical elsewhere",
            "Pages that name another URL as the one for their content.",
            [_URL, Heading("canonical", "url")],
            f"{listing}canonical",
        ).filled(totals.elsewhere)
        yield self._section(
            "noindex",
            "Not to be indexed",
            "Pages that tell search engines not to list them (robots: noindex or none).",
            [_URL, Heading("robots", "text")],
            f"{listing}robots",
        ).filled(totals.not_indexed)

    def _section(self, name: str, title: str, about: str, headings: list[Heading], command: str) -> Section:
        return Section(name, title, about, tuple(headings), f"{self.program} {command}")

    @property
    def _quoted(self) -> str:
        return shlex.quote(self.domain)

    def _broken(self) -> Iterator[tuple[object, ...]]:
        links = self.table.broken_links(domain=self.domain)
        for (status, target), some in groupby(links, attrgetter("status_code", "target")):
            sources = Found(_SOURCES)
            for link in some:
                sources.add(link.source)
            yield status, target, sources.count, tuple(source for (source,) in sources.rows)

    def _errors(self) -> Iterator[tuple[object, ...]]:
        return ((one.status_code, one.url, one.fetched_at) for one in self.table.errors(domain=self.domain))

    def _orphans(self) -> Iterator[tuple[object, ...]]:
        return ((one.url, one.status_code, one.title) for one in self.table.orphans(self.domain))

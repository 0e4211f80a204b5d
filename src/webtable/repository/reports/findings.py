"""The sections of an audit: answers of the table to questions, and findings of the pass over all pages."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from webtable.repository.indexes.index import LIKENESS
from webtable.repository.reading.page_counts import UNKNOWN, language_of
from webtable.repository.reading.site import Site
from webtable.repository.reports.asked import AskedTable
from webtable.repository.reports.section import Found, Heading, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.reports.site_counts import SiteCounts

_EXAMPLES = 3
"""How many of the pages that link to an error page, or that are the same, are named."""
_URL, _TITLE, _STATUS = Heading("url", "url"), Heading("title", "text"), Heading("status", "status")
_PAGES, _SIZE, _URLS = Heading("pages", "number"), Heading("size", "size"), Heading("urls", "urls")


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of an audit, the first `most` of each kind; `program` is the name of the command line."""

    table: AskedTable
    site: Site
    named: str
    most: int
    program: str

    def sections(self, counts: SiteCounts) -> Iterator[Section]:
        """Yield the sections: the answers to questions, then the findings of the pass over all pages."""
        yield self._section(
            "broken-links",
            "Broken links",
            "Error pages that pages of the site link to, on the site or elsewhere, as far as they are stored.",
            [_STATUS, Heading("target", "url"), Heading("links", "number"), Heading("linked_from", "urls")],
            f"broken-links {self._quoted}",
        ).asked(self._broken, self.most, self.program)
        yield self._section(
            "errors",
            "Pages with an error",
            "Pages of the site whose last capture has a status of 400 or above, whether anybody links there or not.",
            [_STATUS, _URL, Heading("fetched", "time")],
            f"errors {self._quoted}",
        ).asked(self._errors, self.most, self.program)
        yield self._section(
            "redirect-chains",
            "Redirects that lead astray",
            "Chains of two redirects or more, loops, and redirects whose end is an error or is not stored.",
            [Heading("redirects", "number"), Heading("end", "text"), _URLS],
            f"redirect-chains {self._quoted}",
        ).asked(self._chains, self.most, self.program)
        yield self._section(
            "orphans",
            "Orphans",
            "Pages that no other stored page links to.",
            [_URL, _STATUS, _TITLE],
            f"orphans {self._quoted}",
        ).asked(self._orphans, self.most, self.program)
        yield from self._of_the_same()
        yield self._section(
            "titles",
            "Titles",
            "HTML pages without a title, or with one of over 60 characters, which search engines cut.",
            [Heading("problem", "text"), _URL, _TITLE],
            f"titles {self._quoted}",
        ).asked(self._titles, self.most, self.program)
        yield from self._of_the_head(counts)
        yield self._section(
            "largest",
            "Largest pages",
            "Those with the largest bodies, by the bytes that were sent.",
            [_URL, _TITLE, Heading("size", "size")],
            f"largest {self._quoted}",
        ).filled(counts.largest)

    def _of_the_same(self) -> Iterator[Section]:
        yield self._section(
            "same-content",
            "Same content",
            "Groups of pages whose bodies are the same, byte for byte, the group with the most pages first.",
            [_PAGES, _SIZE, _URLS],
            f"duplicate-groups {self._quoted}",
        ).asked(self._same_content, self.most, self.program)
        if LIKENESS.name in self.table.indexes.states():  # who has not added it is not told so in every audit
            yield self._section(
                "near-duplicates",
                "Nearly the same text",
                "Groups of pages that share 80 % of their text or more, the group with the most pages first.",
                [_PAGES, _SIZE, _URLS],
                f"near-duplicate-groups {self._quoted}",
            ).asked(self._near_duplicates, self.most, self.program)
        yield self._section(
            "same-title",
            "Same title",
            "Groups of pages with one title, the group with the most pages first.",
            [_PAGES, _TITLE, _URLS],
            f"duplicate-groups {self._quoted} --by title",
        ).asked(self._same_title, self.most, self.program)

    def _of_the_head(self, counts: SiteCounts) -> Iterator[Section]:
        listing = f"pages {self._quoted} --format csv --columns url,"
        yield self._section(
            "no-description",
            "Without a description",
            "HTML pages without a description in their head.",
            [_URL, _TITLE],
            f"{listing}description",
        ).filled(counts.undescribed)
        yield self._section(
            "no-h1",
            "Without a heading",
            "HTML pages without a heading of the first level (h1).",
            [_URL, _TITLE],
            f"{listing}h1",
        ).filled(counts.without_h1)
        yield self._section(
            "canonical-elsewhere",
            "Canonical elsewhere",
            "Pages that name another URL as the one for their content.",
            [_URL, Heading("canonical", "url")],
            f"{listing}canonical",
        ).filled(counts.elsewhere)
        yield self._section(
            "noindex",
            "Not to be indexed",
            "Pages that tell search engines not to list them (robots: noindex or none).",
            [_URL, Heading("robots", "text")],
            f"{listing}robots",
        ).filled(counts.not_indexed)
        yield self._language(counts)

    def _language(self, counts: SiteCounts) -> Section:
        main = counts.main_language
        which = f" ({main})" if main else ", which has none"
        section = self._section(
            "other-language",
            "Another language",
            f"Pages in another language than the site{which}: it is in that of four fifths of its pages that have one.",
            [_URL, Heading("language", "text"), Heading("told_by", "text"), _TITLE],
            f"pages {self._quoted} --format csv --columns url,language,language_detected",
        )
        if main is None or all(one.name in (main, UNKNOWN) for one in counts.languages):
            return section
        return section.asked(lambda: self._in_others(main), self.most, self.program)

    def _in_others(self, main: str) -> Iterator[tuple[object, ...]]:
        for page in self.table.pages(self.site):
            if 200 <= page.status < 300 and language_of(page) not in (main, None):
                yield page.url, page.language, "the text" if page.language_detected else "the page", page.title

    def _section(self, name: str, title: str, about: str, headings: list[Heading], command: str) -> Section:
        return Section(name, title, about, tuple(headings), f"{self.program} {command}")

    @property
    def _quoted(self) -> str:
        return shlex.quote(self.named)

    def _broken(self) -> Iterator[tuple[object, ...]]:
        links = self.table.links.broken(self.site)
        for (status, target), some in groupby(links, attrgetter("status", "target")):
            sources = Found(_EXAMPLES)
            for link in some:
                sources.add(link.source)
            yield status, target, sources.count, tuple(source for (source,) in sources.rows)

    def _errors(self) -> Iterator[tuple[object, ...]]:
        return ((one.status, one.url, one.fetched_at) for one in self.table.errors(self.site))

    def _orphans(self) -> Iterator[tuple[object, ...]]:
        return ((one.url, one.status, one.title) for one in self.table.links.orphans(self.site))

    def _chains(self) -> Iterator[tuple[object, ...]]:
        for chain in self.table.redirect_chains(self.site):
            is_wrong = chain.is_loop or chain.length > 1 or chain.end is None or chain.end >= 400
            if is_wrong:
                end = "a loop" if chain.is_loop else "not stored" if chain.end is None else str(chain.end)
                yield chain.length, end, chain.urls

    def _same_content(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.duplicate_groups(self.site):
            yield group.pages, group.bytes, group.urls[:_EXAMPLES]

    def _near_duplicates(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.near_duplicate_groups(self.site):
            yield group.pages, group.bytes, group.urls[:_EXAMPLES]

    def _same_title(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.duplicate_groups(self.site, by="title"):
            yield group.pages, group.value, group.urls[:_EXAMPLES]

    def _titles(self) -> Iterator[tuple[object, ...]]:
        found = self.table.titles(self.site)
        return ((one.problem, one.url, one.title) for one in found if one.problem != "duplicate")

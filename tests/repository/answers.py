"""What every question must answer, worked out in plain Python from the pages as the store has them."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from webtable import Page, WebTable
from webtable._clock import clock
from webtable.indexes import page_id
from webtable.rowkey import canonical_url
from webtable.rowkey.fields.domain import reversed_host

FAR = datetime(9_000, 1, 1, tzinfo=UTC)
INDEXES = ("time", "size", "link", "url", "status", "host", "digest")


def host_of_url(url: str) -> str:
    return url.split("/", 3)[2]


class Expected:
    """The answers to the questions about a domain, as its pages say."""

    def __init__(self, table: WebTable, domain: str) -> None:
        self.table, self.domain = table, domain
        found = list(table.pages(domain, columns=["outlinks", "link_counts"], order="storage"))
        self.pages = sorted(found, key=lambda page: self.key(page.url))
        self.by_url = {page.url: page for page in found}
        self.links: dict[str, dict[str, tuple[str, str]]] = {
            page.url: {canonical_url(link.url): (link.anchor, link.rel) for link in reversed(page.outlinks or ())}
            | ({canonical_url(page.redirect_to): ("", "")} if page.redirect_to and not self.has_expired(page) else {})
            for page in found
        }

    def has_expired(self, page: Page) -> bool:
        """Whether the content of *page* has expired, and its links with it; a redirect is one of them."""
        ttl = self.table.layout.ttl
        return ttl is not None and page.fetched_at < clock.now() - timedelta(seconds=ttl)

    def key(self, url: str) -> bytes:
        return self.table.key.unsalted(self.table.key.encode(url))

    def urls(self, *by: Any, chosen: Any = None, backwards: bool = False) -> list[str]:
        """Return the URLs of the chosen pages, sorted by some functions of them and then by their keys."""
        pages = [page for page in self.pages if chosen is None or chosen(page)]
        pages.sort(key=lambda page: (*(one(page) for one in by), self.key(page.url)), reverse=backwards)
        return [page.url for page in pages]

    def sources(self, target: str) -> dict[str, tuple[str, str]]:
        return {source: links[target] for source, links in sorted(self.links.items()) if target in links}

    def targets(self) -> list[str]:
        return sorted({target for links in self.links.values() for target in links})

    def inlinks(self, url: str, *, of_its_host: bool = False) -> int:
        others = self.sources(url).keys() - {url}
        return sum(not of_its_host or host_of_url(other) == host_of_url(url) for other in others)

    def leads_nowhere(self, page: Page) -> bool:
        if page.outlink_count is None or page.redirect_to or self.links[page.url].keys() - {page.url}:
            return False
        return page.outlink_count == 0 or bool(page.outlinks)  # links expire with the content

    def answers(self) -> dict[str, Any]:
        broken = [
            (self.by_url[target].status, self.key(target), source, target)
            for target in self.targets()
            if target in self.by_url and self.by_url[target].status >= 400
            for source in self.sources(target)
        ]
        same: dict[str | None, list[str]] = defaultdict(list)
        for page in self.pages:
            same[page.digest].append(page.url)
        return {
            "fetched": self.urls(_fetched, backwards=True),
            "fetched oldest": self.urls(_fetched),
            "modified": self.urls(_modified, chosen=_modified, backwards=True),
            "outdated": self.urls(_fetched),
            "largest": self.urls(lambda page: -page.size, chosen=lambda page: page.size is not None),
            "errors": self.urls(_status, chosen=lambda page: page.status >= 400),
            "redirects": self.urls(_status, chosen=lambda page: page.status in _REDIRECTS),
            "with_status": {
                status: self.urls(chosen=lambda page, status=status: page.status == status)
                for status in _statuses(self.pages)
            },
            "by_id": {page.url: page.url for page in self.pages},
            "duplicates": {
                page.url: [url for url in same[page.digest] if url != page.url and page.digest] for page in self.pages
            },
            "redirects to": {
                target: self.urls(chosen=lambda page, target=target: page.redirect_to == target)
                for target in {page.redirect_to for page in self.pages if page.redirect_to}
            },
            "hosts": sorted({host_of_url(page.url) for page in self.pages}, key=lambda host: reversed_host(host) + "/"),
            "dead_ends": self.urls(chosen=self.leads_nowhere),
            "orphans": self.urls(chosen=lambda page: not self.inlinks(page.url)),
            "orphans within their hosts": self.urls(chosen=lambda page: not self.inlinks(page.url, of_its_host=True)),
            "linking_to": {target: self.sources(target) for target in self.targets()},
            "broken_links": [(source, target, status) for status, _, source, target in sorted(broken)],
            "discovered": sorted(
                (url for url in self.targets() if url not in self.by_url and host_of_url(url).endswith(self.domain)),
                key=self.key,
            ),
        }

    def counts(self) -> dict[str, int]:
        """Return how many pages link to each page that others link to, the most first."""
        linked = self.urls(lambda page: -self.inlinks(page.url), chosen=lambda page: self.inlinks(page.url))
        return {url: self.inlinks(url) for url in linked}


def given(expected: Expected) -> dict[str, Any]:
    """Return what the table answers to the same questions as `Expected.answers`."""
    table, domain, pages = expected.table, expected.domain, expected.pages

    def urls(found: Any) -> list[str]:
        return [page.url for page in found]

    return {
        "fetched": urls(table.fetched(domain)),
        "fetched oldest": urls(table.fetched(domain, order="oldest")),
        "modified": urls(table.modified(domain)),
        "outdated": urls(table.outdated(domain, not_fetched_since=FAR)),
        "largest": urls(table.largest(domain)),
        "errors": urls(table.errors(domain)),
        "redirects": urls(table.redirects(domain)),
        "with_status": {status: urls(table.with_status(status, domain)) for status in _statuses(pages)},
        "by_id": {page.url: _url(table.by_id(page_id(page.url))) for page in pages},
        "duplicates": {page.url: urls(table.duplicates(page.url, domain)) for page in pages},
        "redirects to": {
            target: urls(table.redirects(domain, to=target))
            for target in {page.redirect_to for page in pages if page.redirect_to}
        },
        "hosts": [host.name for host in table.hosts(domain)],
        "dead_ends": urls(table.links.dead_ends(domain)),
        "orphans": urls(table.links.orphans(domain)),
        "orphans within their hosts": urls(table.links.orphans(domain, within_host=True)),
        "linking_to": {
            target: {link.source: (link.anchor, link.rel) for link in table.links.to(target, domain)}
            for target in expected.targets()
        },
        "broken_links": [(link.source, link.target, link.status) for link in table.links.broken(domain)],
        "discovered": list(table.links.discovered(domain)),
    }


def check_questions(table: WebTable, domain: str, *, without: tuple[str, ...] = ()) -> Expected:
    """Ask every question about *domain*, but those *without*, and hold the answers against the pages as they are."""
    expected = Expected(table, domain)
    wanted, answers = expected.answers(), given(expected)
    for question in wanted.keys() - set(without):
        assert answers[question] == wanted[question], f"{question}: {answers[question]}, and not {wanted[question]}"
    return expected


def check_counts(table: WebTable, domain: str) -> None:
    """Count the links, and hold the counts and their order against the pages as they are."""
    table.links.refresh(also_unfinished=True)
    expected = Expected(table, domain).counts()
    most = list(table.links.most_linked(domain))

    counts = {page.url: page.link_counts.inlinks for page in most}
    assert counts == expected, f"{counts}, and not {expected}"
    assert [page.url for page in most] == list(expected)


def drifts(table: WebTable, *, repair: bool = False) -> dict[str, Any]:
    """Return how each index of the table differs from its pages."""
    return {name: table.indexes.repair(name, dry_run=not repair, settle=0) for name in table.indexes.states()}


def missing(table: WebTable) -> dict[str, list[str]]:
    """Return what is missing in each index, where anything is."""
    return {name: drift.examples for name, drift in drifts(table).items() if drift.missing}


def _fetched(page: Page) -> datetime:
    return page.fetched_at


def _modified(page: Page) -> datetime | None:
    return page.last_modified or page.changed_at


_REDIRECTS = set(range(300, 400)) - {304}


def _status(page: Page) -> int:
    return page.status


def _statuses(pages: list[Page]) -> list[int]:
    return sorted({page.status for page in pages} | {418})


def _url(page: Page | None) -> str | None:
    return page and page.url

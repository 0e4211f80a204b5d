"""A small web table in memory, with links, errors, redirects and deletes, and what is asked of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import webtable
from webtable import Link, Page, WebTable
from webtable.indexes import page_id
from webtable.store.memory import MemoryStore

DOMAIN = "site.example"
HOME = f"https://{DOMAIN}/"
_HTML = b"<title>word</title><p>a word and another</p>" * 5


def url(path: str) -> str:
    """Return the URL of a path of the site."""
    return f"https://{DOMAIN}{path}"


@functools.cache
def table() -> WebTable:
    """Return the table, which all inputs share; whoever changes something of it puts it back."""
    MemoryStore.forget("fuzz")
    made = webtable.open("memory:fuzz", create=True)
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    with made.writer() as writer:
        for page in _pages(now):
            writer.put(page)
        writer.flush()
        writer.put(Page(url=HOME, body=_HTML + b"!", fetched_at=now + timedelta(hours=2), outlinks=_links()))
    made.delete(url("/deleted"))
    made.links.refresh()
    with made.writer() as writer:  # what waits to be counted
        writer.put(Page(url=url("/late"), body=_HTML, fetched_at=now, outlinks=_links()))
    return made


def _links() -> tuple[Link, ...]:
    return tuple(Link(url(path), f"to {path}", "nofollow") for path in ("/a", "/b", "/gone", "/new", "/moved"))


def _pages(now: datetime) -> list[Page]:
    headers = {"ETag": '"x"', "Content-Type": "text/html; charset=utf-8"}
    return [
        Page(url=HOME, body=_HTML, fetched_at=now, outlinks=_links(), title="home", headers=headers),
        Page(url=url("/a"), body=_HTML + b"a", fetched_at=now, outlinks=_links()[:2], last_modified=now),
        Page(url=url("/b"), body=_HTML, fetched_at=now, outlinks=()),
        Page(url=url("/gone"), body=b"gone", fetched_at=now, status=404),
        Page(url=url("/moved"), fetched_at=now, status=301, redirect_to=url("/a")),
        Page(url=url("/deleted"), body=_HTML, fetched_at=now, outlinks=_links()[:1]),
        Page(url=f"http://www.{DOMAIN}:8080/x?y=z", body=_HTML + b"www", fetched_at=now, outlinks=_links()[1:3]),
    ]


Question = Callable[[WebTable, str | None], Any]
_BODIES = ["body", "outlinks", "link_counts"]

# Answers that are cut into batches.
QUESTIONS: list[Question] = [
    lambda t, after: t.pages(DOMAIN, after=after),
    lambda t, after: t.pages(DOMAIN, columns=_BODIES, after=after),
    lambda t, after: t.pages(DOMAIN, order="storage", after=after),
    lambda t, after: t.fetched(DOMAIN, after=after),
    lambda t, after: t.modified(DOMAIN, order="oldest", after=after),
    lambda t, after: t.outdated(DOMAIN, not_fetched_since=datetime(2026, 1, 2, 4, tzinfo=UTC), after=after),
    lambda t, after: t.largest(DOMAIN, after=after),
    lambda t, after: t.with_status(200, DOMAIN, after=after),
    lambda t, after: t.errors(DOMAIN, after=after),
    lambda t, after: t.redirects(DOMAIN, after=after),
    lambda t, after: t.redirects(to=url("/a"), after=after),
    lambda t, after: t.duplicates(url("/b"), after=after),
    lambda t, after: t.links.to(url("/b"), after=after),
    lambda t, after: t.links.to(url("/b"), past=True, after=after),
    lambda t, after: t.links.of(HOME, after=after),
    lambda t, after: t.links.most_linked(DOMAIN, after=after),
    lambda t, after: t.links.dead_ends(DOMAIN, after=after),
    lambda t, after: t.links.broken(DOMAIN, after=after),
    lambda t, after: t.links.orphans(DOMAIN, after=after),
    lambda t, after: t.links.discovered(DOMAIN, after=after),
    lambda t, after: t.duplicate_groups(DOMAIN, after=after),
    lambda t, after: t.duplicate_groups(DOMAIN, by="title", order="bytes", after=after),
    lambda t, after: t.titles(DOMAIN, max_length=5, after=after),
    lambda t, after: t.redirect_chains(DOMAIN, after=after),
    lambda t, after: t.headings(DOMAIN, after=after),
    lambda t, after: t.structured_data(DOMAIN, order="storage", after=after),
    lambda t, after: t.sitemaps(DOMAIN, after=after),
    lambda t, after: t.canonicals(DOMAIN, after=after),
    lambda t, after: t.hreflang(DOMAIN, after=after),
    lambda t, after: t.pagination(DOMAIN, after=after),
    lambda t, after: t.soft_404s(DOMAIN, after=after),
    lambda t, after: t.depths(DOMAIN, after=after),
    lambda t, after: t.crawls(DOMAIN, gap="1h", after=after),
    lambda t, after: t.crawls(webtable.ALL, gap="1h", order="oldest", after=after),
    lambda t, after: t.search("word", DOMAIN, after=after),
    lambda t, after: t.hosts(DOMAIN, after=after),
]

# Answers that are one value.
OTHERS: list[Callable[[WebTable], Any]] = [
    lambda t: t.get(HOME, columns=_BODIES),
    lambda t: t.get(HOME, columns=_BODIES, as_of=datetime(2026, 1, 2, 4, tzinfo=UTC)),
    lambda t: list(t.history(HOME)),
    lambda t: t.get(url("/a"), columns=["body"], verify=True),
    lambda t: t.validators(HOME),
    lambda t: t.by_id(page_id(url("/a"))),
    lambda t: t.resolve(url("/moved")),
    lambda t: t.stats(DOMAIN),
    lambda t: t.maintenance.verify(DOMAIN),
    lambda t: t.links.freshness(),
    lambda t: t.indexes.states(),
    lambda t: t.indexes.verify("status", settle=0),
    lambda t: t.indexes.verify("link", settle=0),
    lambda t: t.indexes.verify("host", settle=0),
    lambda t: webtable.open("memory:fuzz").layout,
]

"""The questions that an index answers, each as ours and as a user of HappyBase asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.crawl import HOSTS, SUBJECT, Crawl, domain
from benchmarks.plain_questions import (
    DIGEST,
    FETCHED,
    HANDLE,
    INLINK_COUNT,
    MODIFIED,
    OUTLINK_COUNT,
    SIZE,
    STATUS,
    PlainQuestions,
    as_it_is,
    descending,
    newest_first,
    shown,
    where,
)
from webtable import Page, WebTable
from webtable.indexes import page_id
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

ROWS = 20
"""How many results are asked for."""
SITE = domain(3)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, ours and as the peer asks it; *lean* is a second way of the peer, where there is one."""

    name: str
    ours: Callable[[WebTable, Crawl], list[Any]]
    peer: Callable[[PlainQuestions, Crawl], list[Any]] | None
    against: str = ""
    lean: Callable[[PlainQuestions, Crawl], list[Any]] | None = None


def _named(pages: Iterable[Page]) -> list[tuple[str, str | None]]:
    return [(page.url, page.title) for page in pages]


def _at(moment: datetime) -> str:
    return f"binary:{moment.isoformat()}"


def _middle(crawl: Crawl) -> str:
    """Return a page in the middle of the table, to which a scan comes half way."""
    key = WebKey()
    return sorted(map(crawl.url, range(HOSTS)), key=key.encode)[HOSTS // 2]


def _handle(crawl: Crawl) -> str:
    return page_id(_middle(crawl))


def _others(rows: Iterable[tuple[str, str]], crawl: Crawl) -> list[tuple[str, str]]:
    return [(url, title) for url, title in rows if url != _subject(crawl)]


def _subject(crawl: Crawl) -> str:
    return crawl.url(SUBJECT % crawl.count)


def _digest(crawl: Crawl) -> str:
    return f"binary:{crawl.page(SUBJECT % crawl.count).digest}"


def _filtered(
    name: str,
    ours: Callable[[WebTable, Crawl], Iterable[Page]],
    condition: Callable[[Crawl], str],
    column: bytes,
    order: Callable[[bytes], Any],
) -> Question:
    """Return a question that a filter bounds: what it lets through comes with its metadata, or in two steps."""
    return Question(
        name,
        lambda table, crawl: _named(ours(table, crawl)),
        lambda plain, crawl: shown(plain.matching(condition(crawl), column, order)),
        f"SingleColumnValueFilter on {column.decode()}, 12 metadata columns of what it lets through",
        lambda plain, crawl: shown(plain.in_two_steps(condition(crawl), column, order)),
    )


def _sorted(
    name: str, ours: Callable[[WebTable, Crawl], Iterable[Page]], column: bytes, order: Callable[[bytes], Any]
) -> Question:
    """Return a question that no filter bounds, since none can sort: the peer takes the column of all rows."""
    return Question(
        name,
        lambda table, crawl: _named(ours(table, crawl)),
        lambda plain, _: shown(plain.in_two_steps(None, column, order)),
        f"a scan of {column.decode()} of all rows and a heap, then a read of {ROWS} rows",
    )


QUESTIONS = (
    Question("pages of a domain", lambda table, _: _named(table.pages(SITE, limit=ROWS)), None),
    _sorted("fetched last", lambda table, _: table.fetched(limit=ROWS), FETCHED, newest_first),
    _filtered(
        "fetched in a range",
        lambda table, crawl: table.fetched(since=crawl.ago(0.53), until=crawl.ago(0.5), limit=ROWS),
        lambda crawl: f"{where(FETCHED, '>=', _at(crawl.ago(0.53)))} AND {where(FETCHED, '<', _at(crawl.ago(0.5)))}",
        FETCHED,
        newest_first,
    ),
    _filtered(
        "modified since",
        lambda table, crawl: table.modified(since=crawl.ago(0.03), limit=ROWS),
        lambda crawl: where(MODIFIED, ">=", _at(crawl.ago(0.03))),
        MODIFIED,
        newest_first,
    ),
    _filtered(
        "outdated",
        lambda table, crawl: table.outdated(not_fetched_since=crawl.ago(0.97), limit=ROWS),
        lambda crawl: where(FETCHED, "<", _at(crawl.ago(0.97))),
        FETCHED,
        as_it_is,
    ),
    _sorted("largest", lambda table, _: table.largest(limit=ROWS), SIZE, descending),
    _filtered(
        "errors",
        lambda table, _: table.errors(limit=ROWS),
        lambda _: where(STATUS, ">=", "binary:400"),
        STATUS,
        as_it_is,
    ),
    _filtered(
        "with status 404",
        lambda table, _: table.with_status(404, limit=ROWS),
        lambda _: where(STATUS, "=", "binary:404"),
        STATUS,
        as_it_is,
    ),
    _filtered(
        "redirects",
        lambda table, _: table.redirects(limit=ROWS),
        lambda _: f"{where(STATUS, '>=', 'binary:300')} AND {where(STATUS, '<', 'binary:400')}",
        STATUS,
        as_it_is,
    ),
    Question(
        "a page by its id",
        lambda table, crawl: _named(page for page in [table.by_id(_handle(crawl))] if page),
        lambda plain, crawl: shown(plain.one(where(HANDLE, "=", f"binary:{_handle(crawl)}"), HANDLE)),
        "SingleColumnValueFilter on metadata:handle up to that row, in the middle of the table, 12 metadata columns",
    ),
    Question(
        "duplicates of a page",
        lambda table, crawl: _named(table.duplicates(_subject(crawl), limit=ROWS)),
        lambda plain, crawl: _others(
            shown(plain.matching(where(DIGEST, "=", _digest(crawl)), DIGEST, as_it_is)), crawl
        ),
        "SingleColumnValueFilter on metadata:digest, 12 metadata columns of what it lets through",
        lambda plain, crawl: _others(
            shown(plain.in_two_steps(where(DIGEST, "=", _digest(crawl)), DIGEST, as_it_is)), crawl
        ),
    ),
    Question(
        "hosts of a domain",
        lambda table, _: [(host.name, host.pages, host.bytes) for host in table.hosts(SITE, limit=ROWS)],
        lambda plain, _: plain.hosts(SITE),
        "RowFilter on the keys of the domain, the sizes of its pages",
    ),
    _sorted("most linked", lambda table, _: table.links.most_linked(limit=ROWS), INLINK_COUNT, descending),
    _filtered(
        "dead ends",
        lambda table, _: table.links.dead_ends(limit=ROWS),
        lambda _: where(OUTLINK_COUNT, "=", "binary:0"),
        OUTLINK_COUNT,
        as_it_is,
    ),
    Question(
        "links to a page",
        lambda table, crawl: [
            (link.source, link.anchor, link.page and link.page.title)
            for link in table.links.to(_subject(crawl), limit=ROWS)
        ],
        lambda plain, crawl: plain.linking_to(_subject(crawl)),
        "SingleColumnValueFilter on outlinks:urls (a substring), 12 metadata columns of what it lets through",
    ),
    Question(
        "broken links",
        lambda table, _: [(link.source, link.target, link.status) for link in table.links.broken(limit=ROWS)],
        lambda plain, _: plain.broken_links(),
        "SingleColumnValueFilter on metadata:status_code, then a scan of outlinks:urls of all rows",
    ),
)

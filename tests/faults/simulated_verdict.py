"""What must hold of a table when all is quiet again, beside what its ledger says."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from crawl_ledger import Ledger, number_of, targets_of, url_of
from simulated_store import World

from webtable import ALL, WebTable


def verdict(table: WebTable, ledger: Ledger, world: World) -> Iterator[str | None]:
    """Yield what is wrong, or None, step by step: as it was left, when links are counted, and when it is repaired."""
    yield from _pages(table, ledger)
    yield from _indexes(table, ledger)
    yield from _links_of_settled(table, ledger)
    yield from _histories(table, ledger, settled=True)
    table.links.refresh()
    yield from _counts(table, at_least=True)
    world.clock.sleep(3)
    for name in table.indexes.states():
        table.indexes.repair(name)
    for name in table.indexes.states():
        drift = table.indexes.verify(name, settle=0)
        left = [line for line in drift.examples if not _may_be_hidden(line, ledger)]
        yield f"{name} is not clean after its repair: {left}" if left or drift.damaged else None
    yield from _pages(table, ledger)
    yield from _histories(table, ledger)
    yield from _links(table, ledger)
    table.links.refresh()
    # Inlinks of a capture that was never stored stay until the next capture of their page, and are counted.
    yield from _counts(table, at_least=table.indexes.verify("link", settle=0).pending > 0)
    if "clock jumps" in world.injected:
        table.indexes.rebuild("host")
        table.links.refresh()
    yield from _hosts(table)


def _pages(table: WebTable, ledger: Ledger) -> Iterator[str | None]:
    for number in list(ledger.captures):
        page = table.get(url_of(number), verify=True)
        yield ledger.lost(number, page, by=1 << 59)
        yield page and ledger.wrong_in(page)
        for version in table.history(url_of(number), columns=["body"]):
            yield ledger.wrong_in(version)
    for page in table.pages(ALL, columns=["body"]):
        yield ledger.wrong_in(page)


def _histories(table: WebTable, ledger: Ledger, *, settled: bool = False) -> Iterator[str | None]:
    """The newest capture of a page has the content that its history begins with.

    Before the repair that holds of pages each of whose captures was acknowledged (*settled*), whoever crossed whom.
    A 304 without content may stand above an error.
    """
    for number in list(ledger.captures):
        page, history = table.get(url_of(number)), table.history(url_of(number), columns=["body"])
        if page is None or ledger.deletes[number] or (page.status == 304 and page.body is None):
            continue
        if settled and not ledger.is_settled(number):
            continue
        found = [(one.body, one.status, one.redirect_to) for one in history[:1]]
        is_so = found in ([], [(page.body, page.status, page.redirect_to)])
        yield None if is_so else f"{page.url} of {page.fetched_at} is {page.status}; its history begins {found}"


def _indexes(table: WebTable, ledger: Ledger) -> Iterator[str | None]:
    """Entries come before their pages, so none is ever missing; inlinks may be, of captures that failed or were killed.

    Where a page that is dated ahead of the clock is deleted while it is stored, the entry of one capture may go with
    that of the other, or stay hidden under its date: that is not promised.
    """
    for name in table.indexes.states():
        drift = table.indexes.verify(name, settle=0)
        missing = [line for line in drift.examples if line.startswith("missing") and not _may_be_hidden(line, ledger)]
        if missing and name != "link":
            yield f"{name}: {missing}"
        yield f"{name}: damaged: {drift}" if drift.damaged else None


def _links_of_settled(table: WebTable, ledger: Ledger) -> Iterator[str | None]:
    """A page each of whose captures was acknowledged, whoever crossed whom, is found by its links."""
    for number in list(ledger.captures):
        page = ledger.certain(number, since=1 << 59)
        if page is None or ledger.deletes[number] or not ledger.is_settled(number):
            continue
        for target in targets_of(page):
            found = [one.source for one in table.links.to(target)]
            yield f"{page.url} links to {target}, and {found} are told to" if page.url not in found else None


def _may_be_hidden(line: str, ledger: Ledger) -> bool:
    """Whether a difference is of a page whose entries and links a delete may have hidden."""
    return ledger.may_be_hidden(int(re.findall(r"/p/(\d+)", line)[-1]))


def _links(table: WebTable, ledger: Ledger) -> Iterator[str | None]:
    """All links are there; but those of a page that was deleted while it was stored may be hidden under their dates."""
    sources: dict[str, set[str]] = defaultdict(set)
    pages = list(table.pages(ALL, columns=["outlinks"]))
    for page in pages:
        for target in sorted(targets_of(page)):  # so that a seed makes the same calls in any process
            sources[target].add(page.url)
    for target, expected in sources.items():
        found = {one.source for one in table.links.to(target)}
        wrong = {source for source in found ^ expected if not ledger.may_be_hidden(number_of(source))}
        yield f"to {target} link {found}, and not {expected}" if wrong else None
    expected = sources.keys() - {page.url for page in pages}
    found = set(table.links.discovered(ALL))
    hidden = {number for number in list(ledger.captures) if ledger.may_be_hidden(number)}
    excused = {target for target, some in sources.items() if hidden & set(map(number_of, some))}
    yield f"discovered are {found}, and not {expected}" if (found ^ expected) - excused else None


def _counts(table: WebTable, *, at_least: bool = False) -> Iterator[str | None]:
    """Compare the counts of links with the links; *at_least* so many where more may have been counted."""
    counts = {page.url: page.link_counts.inlinks for page in table.links.most_linked() if page.link_counts}
    for page in table.pages(ALL):
        actual = len({one.source for one in table.links.to(page.url)} - {page.url})
        count = counts.get(page.url, 0)
        if count < actual or (count > actual and not at_least):
            row = table.store.read(table.table, [table.key.encode(page.url)])[0]
            yield f"{page.url} has a count of {count} links, and {actual} lead there: {row and sorted(row.cells)}"


def _hosts(table: WebTable) -> Iterator[str | None]:
    expected: Counter[str] = Counter(page.url.split("/")[2] for page in table.pages(ALL))
    found = {host.name: host.pages for host in table.hosts()}
    yield f"hosts are {found}, and not {dict(expected)}" if found != expected else None

"""The questions of a simulated reader, each with what is wrong in its answer: None where that may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crawl_ledger import Ledger, number_of, targets_of, twice, url_of
from simulated_store import World

from webtable import ALL, Page, WebTable
from webtable.indexes import page_id

Question = Callable[[WebTable, Ledger, int, World], str | None]


def _get(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since = world.step
    page = table.get(url_of(number))
    return ledger.lost(number, page, since) or (page and ledger.wrong_in(page))


def _history(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    found = table.history(url_of(number), columns=["body"])
    return next(filter(None, map(ledger.wrong_in, found)), None)


def _pages(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since = world.step
    found = list(table.pages(ALL, columns=["body"]))
    return _all_there(ledger, found, since, lambda _: True) or _no_wrong(ledger, found)


def _fetched(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since = world.step
    found = list(table.fetched())
    # A page that changes meanwhile may be given where its old entry is met.
    quiet = [page.fetched_at for page in found if ledger.certain(number_of(page.url), since) is not None]
    if quiet != sorted(quiet, reverse=True):
        return f"not in order: {found}"
    return _all_there(ledger, found, since, lambda _: True) or _no_wrong(ledger, found, html=False)


def _errors(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since = world.step
    found = list(table.errors(columns=["body"]))
    if any(page.status < 400 for page in found):
        return f"no errors: {found}"
    return _all_there(ledger, found, since, lambda page: page.status >= 400) or _no_wrong(ledger, found)


def _redirects(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since, target = world.step, url_of(number)
    found = list(table.redirects(to=target))
    if any(page.redirect_to != target for page in found):
        return f"redirects to {target}: {found}"
    return _all_there(ledger, found, since, lambda page: page.redirect_to == target)


def _duplicates(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    return _no_wrong(ledger, list(table.duplicates(url_of(number))), html=False)


def _by_handle(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since = world.step
    page = table.by_id(page_id(url_of(number)))
    if page is not None and page.url != url_of(number):
        return f"{page.url} is not {url_of(number)}"
    expected = ledger.certain(number, since)
    return f"{expected.url} has no id" if expected is not None and page is None else None


def _linking_to(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since, target = world.step, url_of(number)
    found = [one.source for one in table.links.to(target)]
    for source in found:
        if not ledger.may_link(number_of(source), target):
            return f"{source} never linked to {target}"
    for other in list(ledger.captures):
        page = ledger.certain(other, since)
        if page is not None and (target in targets_of(page)) != (page.url in found):
            return f"{page.url} links to {sorted(targets_of(page))}; linking to {target} are {found}"
    return f"twice: {found}" if len(found) != len(set(found)) else None


def _discovered(table: WebTable, ledger: Ledger, number: int, world: World) -> str | None:
    since = world.step
    found = list(table.links.discovered(ALL))
    if len(found) != len(set(found)):
        return f"twice: {found}"
    for url in found:
        if ledger.certain(number_of(url), since) is not None:
            return f"{url} is stored"
    return None


QUESTIONS: dict[str, Question] = {
    "get": _get,
    "history": _history,
    "pages": _pages,
    "fetched": _fetched,
    "errors": _errors,
    "redirects": _redirects,
    "duplicates": _duplicates,
    "by_id": _by_handle,
    "linking_to": _linking_to,
    "discovered": _discovered,
}


def _no_wrong(ledger: Ledger, found: Iterable[Page], *, html: bool = True) -> str | None:
    """Return what was never put, or stands twice in *found*; of a listing without bodies, *body* is False."""
    again = twice((page.url, page.fetched_at) for page in found)
    if again:
        return f"twice: {again}"
    for page in found:
        if html and (wrong := ledger.wrong_in(page)):
            return wrong
        if not html and page.fetched_at not in ledger.captures[number_of(page.url)]:
            return f"{page.url} of {page.fetched_at} was never put"
    return None


def _all_there(ledger: Ledger, found: Iterable[Page], since: int, wanted: Callable[[Page], bool]) -> str | None:
    """Return which page is not *found*, although it is certain that it is there since a step, and *wanted*."""
    urls = {page.url: page.fetched_at for page in found}
    for number in list(ledger.captures):
        page = ledger.certain(number, since)
        if page is not None and wanted(page) and urls.get(page.url) != page.fetched_at:
            return f"{page.url} of {page.fetched_at} is not in the answer, but {urls.get(page.url)}"
    return None

"""What was put into a table and what was acknowledged, and so what any answer may hold and must hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webtable import Link, Page

HOSTS = 3
NEVER = 1 << 60
AHEAD = timedelta(hours=5)
"""So far some captures are dated ahead of the clock."""


def url_of(number: int) -> str:
    return f"https://h{number % HOSTS}.simulated.example/p/{number}"


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2])


def page_of(number: int, content: int, fetched_at: datetime) -> Page:
    """Return the capture of a page with the *content* of that number, which decides all but the date."""
    targets = [(number * 7 + content * 3 + n) % 40 for n in range((number + content) % 4)]
    status = (200, 200, 404, 301, 200)[(number + content) % 5]
    return Page(
        url=url_of(number),
        body=f"<title>page {number} {content}</title><p>{'x' * (content * 11)}".encode(),
        fetched_at=fetched_at,
        status=status,
        redirect_to=url_of(number + 1) if status == 301 else None,
        content_type="text/html",
        headers={"x-content": str(content)},
        outlinks=[Link(url_of(target), f"to {target}") for target in targets],
    )


def unmodified(number: int, fetched_at: datetime) -> Page:
    return Page(url=url_of(number), status=304, same_as=url_of(number), fetched_at=fetched_at)


@dataclass
class Try:
    """A call that puts a page or deletes one: from the step when it was made to the one when it ended, however."""

    began: int
    ended: int = NEVER
    is_acknowledged: bool = False


@dataclass(kw_only=True)
class TriedDelete(Try):
    """A delete, and what its clock said when it began."""

    clock: datetime

    def crosses(self, put: Try) -> bool:
        """Whether both were under way at one moment."""
        return put.began <= self.ended and self.began <= put.ended


@dataclass
class Tried:
    """A capture, and each time that it was put."""

    page: Page
    puts: list[Try] = field(default_factory=list)


class Ledger:
    """All captures and deletes of one run."""

    def __init__(self) -> None:
        self.captures: dict[int, dict[datetime, Tried]] = defaultdict(dict)
        self.deletes: dict[int, list[TriedDelete]] = defaultdict(list)
        self.acknowledged = 0

    def put(self, page: Page, step: int) -> Try:
        one = Try(step)
        self.captures[number_of(page.url)].setdefault(page.fetched_at, Tried(page)).puts.append(one)
        return one

    def stays(self, number: int, by: int) -> list[datetime]:
        """Return the dates of the captures that were acknowledged *by* a step, and that no delete can have removed.

        A delete takes along what is put while it runs; what is put when it has ended, however it ended, is either
        refused or stays.
        """
        last = max((one.ended for one in self.deletes[number]), default=-1)
        return [
            date
            for date, tried in self.captures[number].items()
            if any(put.is_acknowledged and put.ended <= by and put.began > last for put in tried.puts)
        ]

    def certain(self, number: int, since: int) -> Page | None:
        """Return the capture that is the page's newest since a step, where nothing else can be; a 304 never is."""
        tried = self.captures[number]
        if not tried or any(put.ended > since for one in tried.values() for put in one.puts):
            return None
        newest = max(tried)
        page = tried[newest].page
        return page if newest in self.stays(number, since) and page.status != 304 else None

    def wrong_in(self, page: Page) -> str | None:
        """Return what of *page* was never put, None where all of it was."""
        number = number_of(page.url)
        tried = self.captures[number].get(page.fetched_at)
        if tried is None:
            return f"{page.url} of {page.fetched_at} was never put"
        if tried.page.status != 304:
            sources = [tried.page]
        else:
            every = self.captures[number].items()
            sources = [one.page for date, one in every if date <= page.fetched_at and one.page.status != 304]
            if page.body is None and page.status == 304:
                return None
        # A delete that was cut short, or is under way, takes the page cell by cell; it may take a body that a repeat,
        # which it leaves, refers to.
        is_repeat = tried.page.status == 304 and self.deletes[number]
        if page.body is None and (is_repeat or any(one.ended >= tried.puts[0].began for one in self.deletes[number])):
            return None
        found = (page.body, page.status, page.redirect_to)
        if all(found != (one.body, one.status, one.redirect_to) for one in sources):
            return f"{page.url} of {page.fetched_at} has {found}"
        return None

    def lost(self, number: int, page: Page | None, by: int) -> str | None:
        """Return what is missing where *page* is the newest one: it was acknowledged *by* a step."""
        dates = self.stays(number, by)
        if not dates or (page is not None and page.fetched_at >= max(dates)):
            return None
        found = "nothing" if page is None else f"the capture of {page.fetched_at}"
        return f"{url_of(number)}: {found} is there; acknowledged was that of {max(dates)}"

    def may_link(self, source: int, target: str) -> bool:
        return any(target in targets_of(one.page) for one in self.captures[source].values())

    def may_be_hidden(self, number: int) -> bool:
        """Whether the page was stored while it was deleted, and was dated ahead of the delete's clock by then.

        A delete goes as far as the newest capture that it sees, and takes along what another one, that is on its way,
        has under a date before that: entries and links are given up where that capture's page comes through.
        """
        every = self.captures[number].items()
        return any(
            any(date > delete.clock for date in self.captures[number])
            and any(delete.crosses(put) for _, tried in every for put in tried.puts)
            for delete in self.deletes[number]
        )

    def is_settled(self, number: int) -> bool:
        """Whether each capture was acknowledged in the end."""
        return all(any(put.is_acknowledged for put in one.puts) for one in self.captures[number].values())


def targets_of(page: Page) -> set[str]:
    return {link.url for link in page.outlinks or ()} | ({page.redirect_to} if page.redirect_to else set())


def twice(found: Iterable[tuple[str, datetime]]) -> Sequence[tuple[str, datetime]]:
    """Return what is in *found* more than once."""
    seen: set[tuple[str, datetime]] = set()
    return [one for one in found if one in seen or seen.add(one)]  # type: ignore[func-returns-value]

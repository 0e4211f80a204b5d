"""What one of several processes writes that crawl the same pages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import webtable
from webtable import Link, Page

PAGES = 60
MOMENTS = 10


def url(number: int) -> str:
    return f"https://h{number % 5}.many.example/{number}"


def capture(number: int, moment: int, begin: datetime) -> Page:
    """The capture of a page at a moment; its body and its links are of no other."""
    drawn = random.Random(f"{number} {moment}")
    links = [Link(url(target), f"at {moment}") for target in drawn.sample(range(PAGES), 4) if target != number]
    return Page(
        url=url(number),
        body=f"<title>{number} at {moment}</title>".encode(),
        title=f"{number} at {moment}",
        outlinks=tuple(links),
        fetched_at=begin + timedelta(minutes=moment),
    )


def captures(begin: datetime) -> Iterator[Page]:
    """All captures of all processes: of most pages not at all moments."""
    for number in range(PAGES):
        for moment in range(MOMENTS):
            if random.Random(f"{number}/{moment}").random() < 0.6:
                yield capture(number, moment, begin)


def crawl(store: str, process: int, processes: int, begin: datetime) -> int:
    """Be a process: store every so many of the captures, in an order of its own."""
    mine = [page for at, page in enumerate(captures(begin)) if at % processes == process]
    random.Random(process).shuffle(mine)
    with webtable.open(store) as table, table.writer(buffer_pages=20) as writer:
        writer.put_many(mine)
    return len(mine)

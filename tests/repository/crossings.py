"""Several writers that store captures of one page, prepared and stored in a given order, and what is there then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

from webtable import Link, Page, WebTable
from webtable.page.facts import filled
from webtable.repository.writing.batch import BatchWriter
from webtable.repository.writing.capture_checks import checked, keyed
from webtable.repository.writing.plan import Prepared

BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=20)
TARGETS = ("/a", "/b", "/c")

Step = tuple[str, int]
"""`("prepare", 1)` or `("store", 1)`: of the writer with that number."""


class Crossing:
    """The page `url`, and writers that store a capture of it each."""

    def __init__(self, tables: Sequence[WebTable], site: str) -> None:
        self._tables = tables
        self.site = site
        self.url = f"{site}/page"

    def page(self, day: float, content: str, links: str = "", **fields: Any) -> Page:
        """Return the capture of a day: a body, or one of the `content` that stands for what has none."""
        given: dict[str, Any] = {
            "502": {"status": 502, "body": b"bad gateway"},
            "304": {"status": 304, "same_as": self.url},
            "301": {"status": 301, "redirect_to": f"{self.site}/a"},
        }.get(content, {"body": content.encode()})
        if "same_as" not in given:
            given["outlinks"] = tuple(Link(f"{self.site}/{name}") for name in links)
        return Page(**{"url": self.url, "fetched_at": BEGAN + timedelta(days=day), **given, **fields})

    def play(self, batches: Sequence[Sequence[Page]], steps: Iterable[Step]) -> None:
        """Let the writer of each of *batches* prepare and store it as *steps* say; all have to be acknowledged."""
        prepared: dict[int, Prepared] = {}
        with _writers(self._tables, len(batches)) as writers:
            for what, number in steps:
                writer = writers[number]
                if what == "prepare":
                    batch = [_taken(writer, page) for page in batches[number]]
                    prepared[number] = writer.prepare(batch)
                    continue
                outcomes = writer.store(prepared[number])
                while prepared[number].rest:
                    prepared[number] = writer.prepare(prepared[number].rest)
                    outcomes += writer.store(prepared[number])
                assert [one.error for one in outcomes] == [None] * len(batches[number])

    def seen(self) -> dict[str, Any]:
        """Return what questions answer about the page, and how many pages link to each that it may link to."""
        table = self._tables[-1]
        table.links.refresh(also_unfinished=True)
        page = table.get(self.url)
        days = sorted({one.fetched_at for one in table.history(self.url)} | ({page.fetched_at} if page else set()))
        change = table.diff(self.url)
        return {
            "page": page and (_day(page), page.status, page.body, [one.url[-2:] for one in page.outlinks or ()]),
            "first_seen": page and page.first_seen and (page.first_seen - BEGAN).days,
            "history": [(_day(one), *_told(one)) for one in table.history(self.url, columns=["body"])],
            "as_of": [_told(found) for day in days if (found := table.get(self.url, as_of=day))],
            "diff": change and (_day(change.old), _told(change.old), _day(change.new), _told(change.new)),
            "changed": page and page.changed_at and (page.changed_at - BEGAN).days,
            "count": page and page.change_count,
            "inlinks": [path for path in TARGETS if [one.source for one in table.links.to(self.site + path)]],
            "counts": self._counts(),
        }

    def _counts(self) -> dict[str, int]:
        table, rows = self._tables[-1], {path: self._tables[-1].key.encode(self.site + path) for path in TARGETS}
        found = table.store.read(table.table, list(rows.values()))
        counts = {path: row and table._context.codec.counts(row) for path, row in zip(rows, found, strict=True)}
        return {path: one.inlinks for path, one in counts.items() if one and one.inlinks}


def serial(count: int) -> Iterator[list[Step]]:
    """Yield every order in which *count* writers can store one after another."""
    for order in permutations(range(count)):
        yield [(what, number) for number in order for what in ("prepare", "store")]


def crossed(count: int) -> Iterator[list[Step]]:
    """Yield every order in which *count* writers can prepare and store."""
    numbers = [number for number in range(count) for _ in range(2)]
    for order in sorted(set(permutations(numbers))):
        begun: set[int] = set()
        yield [("store" if number in begun or begun.add(number) else "prepare", number) for number in order]  # type: ignore[func-returns-value]


@contextmanager
def _writers(tables: Sequence[WebTable], count: int) -> Iterator[list[BatchWriter]]:
    with ExitStack() as stack:
        made = [BatchWriter(tables[number % len(tables)]._context, None) for number in range(count)]
        for one in made:
            stack.callback(one.close)
        yield made


def _taken(writer: BatchWriter, page: Page) -> tuple[bytes, Page]:
    context = writer.context
    return keyed(context.key, checked(filled(page)[0], context.layouts))


def _day(page: Page) -> int:
    return (page.fetched_at - BEGAN).days


def _told(page: Page) -> tuple[int, bytes | None]:
    return page.status, page.body

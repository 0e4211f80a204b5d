"""Work for a table that is being hurt: writers and readers, and a ledger of what was acknowledged, outside of them.

A page is made of its number and its version and of nothing else, so whatever a reader is given can be compared byte by
byte with what can have been written.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import webtable
from webtable import Link, Page, WebTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable import WebTable
    from webtable.writing import PageOutcome

HOSTS = 7
BEGAN = datetime.fromtimestamp(int(os.environ.setdefault("WEBTABLE_FAULT_BEGAN", f"{time.time() - 86_400:.0f}")), UTC)
"""The date of version 0, the same in the processes that this one starts."""
OVER = 1.2
"""A call may take this many times its deadline."""


def url_of(number: int) -> str:
    return f"https://h{number % HOSTS}.faults.example/p/{number}"


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2])


def page_of(number: int, version: int) -> Page:
    """Return the one page with this number and version."""
    chance = random.Random(number * 1_000 + version)
    text = "".join(chance.choices("abcdefgh \n", k=chance.randrange(50, 3_000)))
    links = [Link(url_of(chance.randrange(10 * (number + 1))), f"to {n}") for n in range(number % 5)]
    return Page(
        url=url_of(number),
        body=f"<title>page {number} {version}</title><p>{text}".encode(),
        fetched_at=BEGAN + timedelta(seconds=version),
        status=(200, 404, 500)[number % 3],
        content_type="text/html",
        headers={"x-number": str(number), "x-version": str(version)},
        outlinks=links,
    )


def version_of(page: Page) -> int:
    return round((page.fetched_at - BEGAN).total_seconds())


class Ledger:
    """What was tried and what was acknowledged, a line each, in a file: it outlives the process that writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tried(self, number: int, version: int) -> None:
        os.write(self._file, b"tried %d %d\n" % (number, version))

    def acknowledged(self, number: int, version: int) -> None:
        os.write(self._file, b"stored %d %d\n" % (number, version))

    def read(self) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
        """Return the versions that were tried, and those that were acknowledged, by number."""
        found: dict[str, dict[int, set[int]]] = {"tried": defaultdict(set), "stored": defaultdict(set)}
        for line in self._path.read_text().splitlines():
            kind, number, version = line.split()
            found[kind][int(number)].add(int(version))
        return found["tried"], found["stored"]


@dataclass
class Findings:
    """What came of it: how much was acknowledged, and all that may not happen, each with an example."""

    acknowledged: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """Errors of webtable's own, by their kind: those may happen."""
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    untyped: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.wrong or self.late or self.untyped)

    def __str__(self) -> str:
        bad = {name: getattr(self, name) for name in ("lost", "wrong", "late", "untyped")}
        said = ", ".join(f"{len(found)} {name}" for name, found in bad.items())
        examples = "".join(f"\n  {name}: {found[0]}" for name, found in bad.items() if found)
        return f"{self.acknowledged:,} acknowledged, {said}; errors {dict(self.errors)}{examples}"


class Load:
    """Threads that write to and read from *table* until they are stopped."""

    def __init__(
        self,
        table: WebTable,
        ledger: Ledger,
        *,
        writers: int = 2,
        readers: int = 2,
        pages: int = 300,
        last_version: int = 0,
    ) -> None:
        self._last_version = last_version
        self.table = table
        self.ledger = ledger
        self.findings = Findings()
        self._pages = pages
        self._indexed = bool(table.indexes.states())
        self._stop = threading.Event()
        self._threads = [
            *(threading.Thread(target=self._write, args=(turn, writers), daemon=True) for turn in range(writers)),
            *(threading.Thread(target=self._read, args=(turn,), daemon=True) for turn in range(readers)),
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                self.findings.late.append(f"{thread.name} did not end within 120 s")

    def _write(self, turn: int, writers: int) -> None:
        """Write the pages of this *turn*: no page has two writers, so the newest version is known."""
        version = self._last_version
        while not self._stop.is_set():
            version += 1
            numbers = range(turn, self._pages, writers)
            for first in range(0, len(numbers), 40):
                self._timed("write", lambda: self._batch(numbers[first : first + 40], version))  # noqa: B023
                if self._stop.is_set():
                    return

    def _batch(self, numbers: range, version: int) -> None:
        def outcome(of: PageOutcome) -> None:
            if of.error is None:
                self.ledger.acknowledged(number_of(of.url), version)
                self.findings.acknowledged += 1
            else:
                self._failed(of.error)

        with self.table.writer(on_outcome=outcome) as writer:
            for number in numbers:
                self.ledger.tried(number, version)
                writer.put(page_of(number, version))

    def _read(self, turn: int) -> None:
        chance = random.Random(turn)
        while not self._stop.is_set():
            number = chance.randrange(self._pages)
            host = f"h{number % HOSTS}.faults.example"
            name, ask = chance.choice(
                [
                    ("get", lambda: self._check([self.table.get(url_of(number))])),  # noqa: B023
                    ("pages", lambda: self._each(self.table.pages(host, columns=["body"], limit=60))),  # noqa: B023
                    ("history", lambda: self._check(self.table.history(url_of(number)))),  # noqa: B023
                    *(self._by_index(url_of(number)) if self._indexed else ()),
                ]
            )
            self._timed(name, ask)

    def _by_index(self, url: str) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("fetched", lambda: self._each(self.table.fetched(limit=40))),
            ("errors", lambda: self._each(self.table.errors(limit=40, columns=["body"]))),
            ("linking_to", lambda: self._inlinks(url)),
        ]

    def _each(self, pages: Iterator[Page] | object) -> None:
        found = iter(pages)  # type: ignore[call-overload]
        while some := list(islice(found, 1)):
            self._check(some)

    def _inlinks(self, url: str) -> None:
        for inlink in self.table.links.to(url, limit=20):
            if inlink.page is not None and inlink.page.url != inlink.source:
                self.findings.wrong.append(f"an inlink of {url}: {inlink.source} has the page {inlink.page.url}")

    def _check(self, pages: list[Page | None] | list[Page]) -> None:
        for page in pages:
            if page is not None and (what := wrong_in(page)):
                self.findings.wrong.append(what)

    def _timed(self, name: str, call: Callable[[], None]) -> None:
        began = time.monotonic()
        self.findings.calls[name] += 1
        try:
            call()
        except Exception as exc:  # noqa: BLE001 - that it is one of webtable's is what is tested
            self._failed(exc)
        took, timeout = time.monotonic() - began, self.table.store.timeout
        # Leaving a writer waits for what was put and for what is put last; a question has a deadline for each piece.
        allowed = {"get": 1, "history": 1, "write": 2}.get(name)
        if allowed is not None and took > allowed * timeout * OVER:
            self.findings.late.append(f"{name} took {took:.1f} s, where {allowed * timeout:g} s were given")

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, ExceptionGroup):
            for one in error.exceptions:
                self._failed(one)
        elif isinstance(error, WebTableError):
            self.findings.errors[type(error).__name__] += 1
        else:
            self.findings.untyped.append(repr(error))


def wrong_in(page: Page) -> str | None:
    """Return what of *page* was never written, None where all of it was."""
    number, version = number_of(page.url), version_of(page)
    made = page_of(number, version)
    told = f"{page.url} version {version}"
    if page.title != f"page {number} {version}" or page.headers.get("x-version") != str(version):
        return f"{told} has the title {page.title!r} and the headers {dict(page.headers)}"
    if page.body is not None and page.body != made.body:
        return f"{told} has the body {page.body[:60]!r}"
    if page.status != made.status or page.size != len(made.body or b""):
        return f"{told} has the status {page.status} and {page.size} bytes"
    return None


def settled(table: WebTable, ledger: Ledger, findings: Findings) -> Findings:
    """Compare what *table* has now with the ledger: what was acknowledged is there, and nothing else than was put."""
    tried, stored = ledger.read()
    for number, versions in stored.items():
        page = table.get(url_of(number))
        if page is None:
            findings.lost.append(f"{url_of(number)} is not there; acknowledged was version {max(versions)}")
            continue
        if what := wrong_in(page):
            findings.wrong.append(what)
        if version_of(page) < max(versions):
            findings.lost.append(f"{page.url} has version {version_of(page)}; acknowledged was {max(versions)}")
        if version_of(page) not in tried[number]:
            findings.wrong.append(f"{page.url} has version {version_of(page)}, which nobody has put")
    for page in table.pages(webtable.ALL, columns=["body"]):
        if what := wrong_in(page):
            findings.wrong.append(what)
        if number_of(page.url) not in tried:
            findings.wrong.append(f"{page.url} was put by nobody")
    for name in table.indexes.states():
        drift = table.indexes.repair(name, settle=0)
        if name != "link" and drift.missing:
            findings.lost.append(f"the index {name} lacks {drift.missing} entries")
    return findings


def write_on(url: str, path: Path, pages: int) -> None:
    """Write the next versions of all pages until somebody ends the process."""
    ledger = Ledger(path)
    tried, _ = ledger.read()
    last = max((version for versions in tried.values() for version in versions), default=0)
    with webtable.open(url) as table, Load(table, ledger, readers=0, pages=pages, last_version=last):
        while True:
            time.sleep(1)


if __name__ == "__main__":
    write_on(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))

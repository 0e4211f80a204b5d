"""What must hold of a ring of pages when all its writers are done, and all that does not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ring_pages import Ring

from webtable import ALL, Page, WebTable

AT_ONCE = 8
"""How many pages are asked for their inlinks at once."""
EXAMPLES = 3


@dataclass
class Verdict:
    """All that may not be, by what it is, and what a killed writer may leave until it is repaired."""

    pages: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)
    stale: int = 0
    """Entries that hold no more: a writer that was killed, or cut off, had not removed them yet."""
    pending: int = 0
    """Entries of captures that are not there; a ring has none, for each was put again until it was there."""

    @property
    def is_clean(self) -> bool:
        return not self.wrong

    def check(self, kind: str, found: Iterable[str]) -> None:
        """Take what was *found* to be wrong."""
        if some := list(found):
            self.wrong[kind] = some

    def __str__(self) -> str:
        said = "".join(f"\n  {len(some):,} {kind}: {some[:EXAMPLES]}" for kind, some in self.wrong.items())
        return f"{self.pages:,} pages, {self.stale} stale and {self.pending} pending before the repair{said}"


def verdict(table: WebTable, url: str, ring: Ring) -> Verdict:
    """Compare *table*, which *url* leads to, with the *ring*; nobody writes to it any more.

    Its indexes are compared by the command `index verify --all`: nothing may be missing, and what is stale is counted.
    They are repaired then, and compared again: now there is no difference at all. Counts of links may be too high until
    that is done, and never too low. Everything else is asked before the repair.
    """
    found = Verdict()
    expected = ring.expected()
    table.links.refresh(also_unfinished=True)  # their writers are dead
    asked = list(table.pages(ALL, columns=["body", "outlinks", "link_counts"], order="storage"))
    pages = {page.url: page for page in asked}
    found.pages = len(asked)
    found.check("told twice", [f"{len(asked) - len(pages)} pages"] if len(asked) > len(pages) else [])
    found.check("not there", expected.keys() - pages.keys())
    found.check("put by nobody", pages.keys() - expected.keys())
    found.check("not as put", _changed(pages, expected))
    found.check("gaps in the ring", _gaps(pages, ring))
    found.check("counted too low", (page.url for page in pages.values() if _count(page) < 1))
    found.check("linked to and missing", table.links.discovered(ALL))
    found.check("without an inlink", (page.url for page in table.links.orphans(ALL)))
    found.check("with other inlinks", _other_inlinks(table, expected))
    _compared(table, url, found)
    table.links.refresh(also_unfinished=True)
    found.check("miscounted", _miscounted(table, expected))
    return found


def _changed(pages: Mapping[str, Page], expected: Mapping[str, Page]) -> Iterable[str]:
    names = ("body", "fetched_at", "status", "outlinks")
    for url in pages.keys() & expected.keys():
        for name in names:
            there, put = getattr(pages[url], name), getattr(expected[url], name)
            if (list(there or ()) != list(put)) if name == "outlinks" else there != put:
                yield f"{url}: {name} is {there!r}, and not {put!r}"


def _gaps(pages: Mapping[str, Page], ring: Ring) -> Iterable[str]:
    """Follow the links of each ring once around: it ends where it began, and nowhere sooner."""
    for writer in range(ring.writers):
        at = start = ring.url(writer, 0, 0)
        for step in range(1, ring.rounds * ring.width + 1):
            page = pages.get(at)
            if page is None or not page.outlinks:
                yield f"{at} leads nowhere"
                break
            at = page.outlinks[0].url
            if (at == start) != (step == ring.rounds * ring.width):
                yield f"after {step} steps from {start} comes {at}"
                break


def _other_inlinks(table: WebTable, expected: Mapping[str, Page]) -> Iterable[str]:
    """Ask each page who links to it, and compare that with what was put."""
    sources = {link.url: page.url for page in expected.values() for link in page.outlinks or ()}

    def asked(url: str) -> str | None:
        answer = [inlink.source for inlink in table.links.to(url)]
        return None if answer == [sources[url]] else f"to {url} link {answer}, and not {sources[url]}"

    with ThreadPoolExecutor(AT_ONCE if table.store.capabilities.writes_concurrently else 1) as asking:
        yield from filter(None, asking.map(asked, expected))


def _compared(table: WebTable, url: str, found: Verdict) -> None:
    """Compare all indexes by the command, and once more those of which it told something, when they are repaired."""
    command = [sys.executable, "-m", "webtable.cli", "--store", url, "index", "verify", "--all", "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    drifts = {drift["index"]: drift for drift in map(json.loads, done.stdout.splitlines())}
    found.stale = sum(drift["stale"] for drift in drifts.values())
    found.pending = sum(drift["pending"] for drift in drifts.values())
    missing = [str(drift) for drift in drifts.values() if drift["missing"]]
    found.check("lacking in an index", missing)
    if drifts.keys() != table.indexes.states().keys() or done.returncode != bool(found.stale or missing):
        found.check("wrong with the command", [f"{list(drifts)} with the exit code {done.returncode}: {done.stderr}"])
    found.check("drift behind the repair", _left(table, [name for name, drift in drifts.items() if _told(drift)]))


def _told(drift: Mapping[str, int]) -> bool:
    return any(drift[kind] for kind in ("missing", "stale", "pending"))


def _left(table: WebTable, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        table.indexes.repair(name)
        drift = table.indexes.verify(name)
        if drift.pending or not drift.is_empty:
            yield str(drift)


def _miscounted(table: WebTable, expected: Mapping[str, Page]) -> Iterable[str]:
    for page in table.pages(ALL, columns=["link_counts"], order="storage"):
        if _count(page) != 1:
            yield f"{page.url} has {page.link_counts}"
    hosts = Counter(url.split("/")[2] for url in expected)
    counted = {host.name: host.pages for host in table.hosts()}
    if counted != hosts:
        yield f"hosts are {counted}, and not {dict(hosts)}"


def _count(page: Page) -> int:
    return page.link_counts.inlinks if page.link_counts else 0

"""What do the indexes cost a writer on HBase, and what do 60 links a page cost on top?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from random import Random
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from benchmarks.material import digest_of, made_up_pages
from benchmarks.measuring import Result, Run, compare, compared, stopwatch, wait_until_idle
from benchmarks.setting import REGIONS, Setting
from webtable import Link, Page, WebTable
from webtable.repository.indexes.index import WEB_INDEXES
from webtable.testing.stores import ListeningStore, counted_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store import Mutation
    from webtable.store.observed import Call

NEEDS = frozenset({"hbase"})
DOMAIN = "ingested.example"
HOSTS = [f"h{number}.{DOMAIN}" for number in range(40)]
BODY_BYTES = 6_000
NAVIGATION = 30
"""How many of its links a page shares with all others of its host."""
OTHERS = 30
RAW_PAGES = 5_000


class Ingested(NamedTuple):
    """A side that has run: the writer alone, then also with the counts refreshed; and the calls of the writer."""

    written: Run
    refreshed: Run
    calls: Counter[str]


@dataclass(frozen=True, slots=True)
class Side:
    """What is ingested, and into a table with which indexes."""

    name: str
    pages: Sequence[Page]
    indexes: Sequence[str]

    @property
    def links(self) -> int:
        """How many links the pages have."""
        return sum(len(page.outlinks or ()) for page in self.pages)

    def run(self, setting: Setting) -> Ingested:
        """Ingest into a fresh table, and count its links and pages then, as `webtable ingest` does."""
        with setting.hbase_table(self.indexes) as table:
            if not setting.quick:
                wait_until_idle()
            _, made = counted_store(table.store)
            with stopwatch() as watch, table.writer() as writer:
                for page in self.pages:
                    writer.put(page)
            calls, written = made.copy(), Run(watch.seconds, 0, None)
            with stopwatch() as refreshing:
                table.links.refresh()
            stored = list(table.pages(DOMAIN, columns=["body"], order="storage"))
            assert sum(page.outlink_count or 0 for page in stored) == self.links
            if self.links:
                home = self.pages[0].url
                found = {link.source for link in table.links.to(home)}
                assert found == {page.url for page in self.pages if home in {link.url for link in page.outlinks or ()}}
            elif self.indexes:
                assert sum(1 for _ in table.links.dead_ends(order="storage")) == len(self.pages)
            digest = digest_of((page.url, page.body or b"") for page in stored)
        written = dataclass_replace(written, items=len(stored), proof=digest)
        return Ingested(written, Run(watch.seconds + refreshing.seconds, len(stored), digest), calls)


def run(setting: Setting) -> list[Result]:
    """Ingest the same pages without indexes, with all of them, and with links too, in turn."""
    pages = list(made_up_pages(setting.scaled(10_000), HOSTS, body_bytes=BODY_BYTES))
    none = Side("no index", pages, [])
    indexed = Side("all seven indexes", pages, tuple(WEB_INDEXES))
    with_links = Side(
        f"all seven indexes and {NAVIGATION + OTHERS} links a page", list(linked(pages)), tuple(WEB_INDEXES)
    )
    sides = (none, indexed, with_links)
    turns = [_turn(sides, number, setting) for number in range(setting.pairs(3))]
    return [
        *(
            compared(
                f"ingest of {len(pages):,} generated pages with bodies ({BODY_BYTES / 1000:.0f} KB each) into HBase: "
                f"{side.name}{', links refresh counted' if counted else ''}",
                "the same pages without an index",
                [(turn[place].refreshed if counted else turn[place].written, turn[0].written) for turn in turns],
                target=target,
                warm_up=False,
                note=f"fresh tables of {REGIONS} regions, one writer, each side once first, second and last "
                f"of a turn; {_entries(side)}",
            )
            for counted in (False, True)
            for place, side, target in ((1, indexed, 0.5), (2, with_links, 0.33))
        ),
        _beside_raw(with_links, setting),
        *(_calls(side, [turn[place].calls for turn in turns]) for place, side in enumerate(sides)),
    ]


def _beside_raw(side: Side, setting: Setting) -> Result:
    """Compare *side* with the store alone, which is given what the writer gave it, in the same batches: the floor."""
    pages = setting.scaled(RAW_PAGES)
    side = dataclass_replace(side, pages=side.pages[:pages])
    batches: list[tuple[str, Sequence[Mutation]]] = []
    with setting.hbase_table(side.indexes) as table:

        def listen(call: Call) -> None:
            if call.name == "write":
                batches.append((call.table.removeprefix(table.table), call.arguments["mutations"]))

        listening = WebTable(ListeningStore(table.store, listen), table.table, table.layout)
        with listening.writer() as writer:
            for page in side.pages:
                writer.put(page)
    count = sum(len(mutations) for _, mutations in batches)

    def ours() -> Run:
        return dataclass_replace(side.run(setting).written, proof=count)

    def raw() -> Run:
        with setting.hbase_table(side.indexes) as table:
            if not setting.quick:
                wait_until_idle()
            with stopwatch() as watch:
                for name, mutations in batches:
                    errors = table.store.write(table.table + name, mutations)
                    assert not any(errors)
        return Run(watch.seconds, len(side.pages), count)

    return compare(
        f"ingest of {len(side.pages):,} generated pages into HBase: {side.name}",
        f"the same {count / len(side.pages):.0f} rows a page put raw, in the same batches",
        target=0.8,
        ours=ours,
        peer=raw,
        pairs=setting.pairs(3),
        warm_up=False,
    )


def _turn(sides: Sequence[Side], number: int, setting: Setting) -> list[Ingested]:
    """Return what came of each of *sides*, in their order; they run in another one each time.

    What a side leaves behind (files to be written and removed) slows down the one after it, and links leave most.
    """
    runs = {}
    for place in range(len(sides)):
        side = sides[(number + place) % len(sides)]
        runs[side.name] = side.run(setting)
    return [runs[side.name] for side in sides]


def linked(pages: Sequence[Page]) -> Iterator[Page]:
    """Yield *pages* with links as a site has them: its navigation on each page, and others within the site."""
    for number, page in enumerate(pages):
        site = pages[number % len(HOSTS) :: len(HOSTS)]
        others = Random(number).sample(site, min(OTHERS, len(site)))
        found = {one.url: Link(one.url, one.title or "") for one in (*site[:NAVIGATION], *others)}
        # Where both are the same page, further ones make up for it.
        for one in site[NAVIGATION:]:
            if len(found) >= NAVIGATION + OTHERS:
                break
            found.setdefault(one.url, Link(one.url, one.title or ""))
        yield replace(page, outlinks=tuple(found.values()))


def _entries(side: Side) -> str:
    return f"{side.links:,} links, each an inlink of another page" if side.links else "the pages have no links"


def _calls(side: Side, turns: Sequence[Counter[str]]) -> Result:
    """Return how many calls of the gateways 500 pages took."""
    each = median(calls.total() for calls in turns) * 500 / len(side.pages)
    kinds = ", ".join(f"{kind} {count * 500 / len(side.pages):.1f}" for kind, count in turns[-1].most_common())
    return Result(
        f"calls of the gateways for 500 pages: {side.name}",
        "–",
        f"{each:.0f} calls",
        "–",
        each,
        None,
        unit=" calls",
        note=kinds,
    )

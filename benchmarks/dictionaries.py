"""What do dictionaries for sites save, and what do they cost, beside plain zstd and beside HBase's own compression?"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import webtable
from benchmarks import space
from benchmarks.material import corpus_pages, digest_of
from benchmarks.measuring import LeftOut, Result, stopwatch, wait_until_idle
from webtable.repository.training import PAGES
from webtable.rowkey import KeyRange
from webtable.store import Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.setting import Setting
    from webtable import Page, WebTable

NEEDS = frozenset({"corpus"})
LIKES = frozenset({"hbase"})
PAIRS = 3
NEVER_SLOWER, NEVER_LARGER = 1.1, 1.0
QUICK_PAGES = PAGES + 20
FAMILY_COMPRESSIONS = (("GZ", "NONE"), ("GZ", "FAST_DIFF"), ("ZSTD", "FAST_DIFF"))
"""Of HBase, with its DATA_BLOCK_ENCODING."""


class Cost(NamedTuple):
    """What pages took: the bytes of their bodies and of the dictionary, seconds in and out, what came out."""

    bytes: int
    dictionary: int
    seconds_in: float
    seconds_out: float
    digest: object


class Way(NamedTuple):
    """A way to store bodies: what webtable compresses them by, and what HBase does to the blocks of their family."""

    compression: str
    family: str = "NONE"
    encoding: str = "NONE"

    def __str__(self) -> str:
        return self.compression if self.family == "NONE" else f"plain HTML, {self.family}, {self.encoding}"


def run(setting: Setting) -> list[Result | LeftOut]:
    """Store each site of the corpus both ways in files, and all of them in HBase by its own compression."""
    sites: defaultdict[str, list[Page]] = defaultdict(list)
    for page in corpus_pages(setting.warc_files):
        sites[urlsplit(page.url).hostname or ""].append(page)
    results: list[Result | LeftOut] = []
    for site, pages in sorted(sites.items()):
        results += _of_site(setting, site, pages[:QUICK_PAGES] if setting.quick else pages)
    return results + _on_hbase(setting, [page for pages in sites.values() for page in pages])


def _of_site(setting: Setting, site: str, pages: Sequence[Page]) -> list[Result | LeftOut]:
    # As in a crawl, which is slower than a dictionary is made: that is there before the pages that are measured.
    first, pages = pages[:PAGES], pages[PAGES:]
    if not pages:
        return [LeftOut(f"{site}, {len(first)} pages", "too few pages for a dictionary")]
    alone, shared = [], []
    for _ in range(setting.pairs(PAIRS)):
        alone.append(_in_file(setting.new_file(), first, pages, "zstd"))
        shared.append(_in_file(setting.new_file(), first, pages, "zstd-site"))
    one, other = _best(alone), _best(shared)
    assert one.digest == other.digest, f"{site}: not the same pages"
    count = len(pages)
    told = f"{site}, {count:,} pages behind the first {PAGES}"
    return [
        Result(
            f"{told}: bytes a page",
            "zstd",
            f"{other.bytes / count:,.0f} bytes",
            f"{one.bytes / count:,.0f} bytes",
            other.bytes / one.bytes,
            NEVER_LARGER,
            at_most=True,
            note=f"bodies, SQLite; the dictionary is {other.dictionary / 1000:.0f} KB more",
        ),
        *(
            Result(
                f"{told}: processor time of pages {way}",
                "zstd",
                f"{count / new:,.0f} pages/s",
                f"{count / old:,.0f} pages/s",
                new / old,
                NEVER_SLOWER,
                at_most=True,
                note="prepared pages" if way == "in" else "with bodies",
            )
            for way, new, old in (
                ("in", other.seconds_in, one.seconds_in),
                ("out", other.seconds_out, one.seconds_out),
            )
        ),
    ]


def _best(costs: Sequence[Cost]) -> Cost:
    return Cost(
        costs[0].bytes,
        costs[0].dictionary,
        min(one.seconds_in for one in costs),
        min(one.seconds_out for one in costs),
        costs[0].digest,
    )


def _in_file(file: Path, first: Sequence[Page], pages: Sequence[Page], compression: str) -> Cost:
    with webtable.open(file, create=True, compression=compression, indexes=[]) as table:  # type: ignore[arg-type]
        _store(table, first)
        before = _stored_bytes(table, "", b"content:html")
        began = time.process_time()
        _store(table, pages)
        stored = time.process_time()
        found = {page.url: page.html or b"" for page in table.pages(columns=["html"], full_scan=True)}
        read = time.process_time()
        bodies = _stored_bytes(table, "", b"content:html") - before
        dictionary = _stored_bytes(table, "_meta", b"layout:dictionary")
    return Cost(bodies, dictionary, stored - began, read - stored, digest_of(found.items()))


def _store(table: WebTable, pages: Sequence[Page]) -> None:
    with table.writer() as writer:
        for page in pages:
            writer.put(page)


def _stored_bytes(table: WebTable, beside: str, column: bytes) -> int:
    rows = table.store.scan(f"{table.table}{beside}", [KeyRange()], Wanted([column]))
    return sum(len(row.cells[column][0].value) for row in rows)


def _on_hbase(setting: Setting, pages: Sequence[Page]) -> list[Result | LeftOut]:
    what = "HBase"
    if setting.hbase is None:
        return [LeftOut(what, setting.missing.get("hbase", "no HBase"))]
    chosen = pages[:500] if setting.quick else pages
    ways = [Way("zstd-site"), Way("zstd"), *(Way("none", *pair) for pair in FAMILY_COMPRESSIONS)]
    costs: defaultdict[Way, list[Cost]] = defaultdict(list)
    for _ in range(setting.pairs(PAIRS)):
        for way in ways:
            wait_until_idle()
            cost = _in_hbase(setting, chosen, way)
            if cost is None:
                return [LeftOut(what, f"{setting.hbase} is no container of docker/hbase here, to look at its files")]
            costs[way].append(cost)
    ours = _best(costs.pop(ways[0]))
    return [row for way, found in costs.items() for row in _beside(str(way), len(chosen), ours, _best(found))]


def _beside(peer: str, count: int, ours: Cost, theirs: Cost) -> list[Result | LeftOut]:
    assert ours.digest == theirs.digest, f"{peer}: not the same pages"
    told = f"HBase, {count:,} pages of all sites"
    return [
        Result(
            f"{told}: bytes a page",
            peer,
            f"{ours.bytes / count:,.0f} bytes",
            f"{theirs.bytes / count:,.0f} bytes",
            ours.bytes / theirs.bytes,
            NEVER_LARGER,
            at_most=True,
            note="the files of all families after a flush",
        ),
        *(
            Result(
                f"{told}: time of pages {way}",
                peer,
                f"{count / new:,.0f} pages/s",
                f"{count / old:,.0f} pages/s",
                new / old,
                NEVER_SLOWER,
                at_most=True,
                note="prepared pages; client and HBase on the same cores" if way == "in" else "with bodies, from files",
            )
            for way, new, old in (
                ("in", ours.seconds_in, theirs.seconds_in),
                ("out", ours.seconds_out, theirs.seconds_out),
            )
        ),
    ]


def _in_hbase(setting: Setting, pages: Sequence[Page], way: Way) -> Cost | None:
    with (
        setting.hbase_table_url() as url,
        webtable.open(url, create=True, regions=1, indexes=[], compression=way.compression) as table,  # type: ignore[arg-type]
    ):
        if way.family != "NONE":
            table.alter(families={"content": {"compression": way.family, "block_encoding": way.encoding}})
        container = space.container_of(table.table)
        if container is None:
            return None
        with stopwatch() as storing:
            _store(table, pages)
        setting.flush(table.table)
        tables = {"pages": table.table, "meta": f"{table.table}_meta"}
        size = sum(space.on_hbase(container, tables).values())
        with stopwatch() as reading:
            found = {page.url: page.html or b"" for page in table.pages(columns=["html"], full_scan=True)}
    return Cost(size, 0, storing.seconds, reading.seconds, digest_of(found.items()))

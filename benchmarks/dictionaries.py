"""What do dictionaries for sites save, and what do they cost, beside plain zstd and beside HBase's own compression?"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import webtable
from benchmarks import space
from benchmarks.material import corpus_pages, digest_of
from benchmarks.measuring import LeftOut, Result
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


class Cost(NamedTuple):
    """What a site took: the bytes of its bodies and its dictionary, processor seconds in and out, what came out."""

    bytes: int
    dictionary: int
    seconds_in: float
    seconds_out: float
    digest: object


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
    what = "store files of HBase"
    if setting.hbase is None:
        return [LeftOut(what, setting.missing.get("hbase", "no HBase"))]
    chosen = pages[:500] if setting.quick else pages
    ours = _in_hbase(setting, chosen, "zstd-site", {})
    if ours is None:
        return [LeftOut(what, f"{setting.hbase} is no container of docker/hbase here, in which to look at the files")]
    peers = {"zstd": _in_hbase(setting, chosen, "zstd", {})}
    for compression, encoding in FAMILY_COMPRESSIONS:
        options = {"compression": compression, "block_encoding": encoding}
        try:
            peers[f"plain HTML, {compression}, {encoding}"] = _in_hbase(setting, chosen, "none", options)
        except webtable.WebTableError as exc:
            peers[f"plain HTML, {compression}: {str(exc)[:80]}"] = None
    return [
        LeftOut(f"{what} beside {name}", "this HBase cannot do it")
        if size is None
        else Result(
            f"{what}, bytes a page of {len(chosen):,}",
            name,
            f"{ours / len(chosen):,.0f} bytes",
            f"{size / len(chosen):,.0f} bytes",
            ours / size,
            NEVER_LARGER,
            at_most=True,
            note="all families after a flush",
        )
        for name, size in peers.items()
    ]


def _in_hbase(setting: Setting, pages: Sequence[Page], compression: str, options: dict[str, str]) -> int | None:
    with (
        setting.hbase_table_url() as url,
        webtable.open(url, create=True, regions=1, indexes=[], compression=compression) as table,  # type: ignore[arg-type]
    ):
        if options:
            table.alter(families={"content": options})
        _store(table, pages)
        container = space.container_of(table.table)
        if container is None:
            return None
        setting.flush(table.table)
        tables = {"pages": table.table, "meta": f"{table.table}_meta"}
        return sum(space.on_hbase(container, tables).values())

"""How much processor time of the writer do the indexes and the links of a page take, without the store?"""

from __future__ import annotations

import time
import uuid
from statistics import median
from typing import TYPE_CHECKING

import webtable
from benchmarks.hbase_indexed_ingest import HOSTS, linked
from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, tidied
from benchmarks.writer_time import DroppingStore
from webtable.repository.indexes.index import WEB_INDEXES
from webtable.schema import index_table, queue_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.setting import Setting
    from webtable import Page

NEEDS = frozenset[str]()

PAGES = 5_000
BODY_BYTES = 1_000


def run(setting: Setting) -> list[Result]:
    """Write the same pages without indexes, with all of them, and with links too, in turn."""
    pages = list(made_up_pages(setting.scaled(PAGES), HOSTS, body_bytes=BODY_BYTES))
    sides: dict[str, tuple[Sequence[Page], Sequence[str]]] = {
        "no index": (pages, ()),
        "all seven indexes": (pages, tuple(WEB_INDEXES)),
        "all seven indexes and 60 links a page": (list(linked(pages)), tuple(WEB_INDEXES)),
    }
    turns = [{name: _written(*side) for name, side in sides.items()} for _ in range(setting.pairs(5))]
    none = median(turn["no index"] for turn in turns)
    return [
        Result(
            f"writer, processor time a page: {len(pages):,} made-up pages of {BODY_BYTES // 1000} KB into a store that "
            f"drops them: {name}",
            "the same pages without an index",
            f"{spent:.0f} µs",
            f"{none:.0f} µs",
            spent - none,
            None,
            unit=" µs",
            note="user and system time of all threads; the figure is what is beyond that of the pages without an index",
        )
        for name in list(sides)[1:]
        for spent in [median(turn[name] for turn in turns)]
    ]


def _written(pages: Sequence[Page], indexes: Sequence[str]) -> float:
    """Return the microseconds of processor time a page that it took to write *pages*."""
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=indexes) as kept:
        others = [queue_table(kept.table), *(index_table(kept.table, name) for name in indexes)]
        store = DroppingStore(kept.store, kept.table, *(one.name for one in others))
        with webtable.WebTable(store, kept.table, kept.layout) as table, tidied():
            began = time.process_time()
            with table.writer() as writer:
                writer.put_many(pages)
            spent = time.process_time() - began
    assert store.taken > len(pages) * len(indexes) // 2
    return spent / len(pages) * 1e6

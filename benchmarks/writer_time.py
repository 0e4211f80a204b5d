"""How much processor time of its own does a writer need for a page, without the store?"""

from __future__ import annotations

import time
import uuid
from statistics import median
from typing import TYPE_CHECKING

import webtable
from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, tidied
from webtable.page.body import digest_of
from webtable.repository.page_storage.cells import pack
from webtable.store import Put
from webtable.store.observed import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.setting import Setting
    from webtable import Page
    from webtable.errors import StoreError
    from webtable.store import Mutation, Row, Store
    from webtable.store.rows import Wanted

NEEDS = frozenset[str]()

PAGES = 20_000
BODY_BYTES = 24_000
BATCH = 256
"""How many bodies are worked on at once, about as many as are in a batch of the writer."""
MOST_MICROSECONDS = 50


class DroppingStore(WrappedStore):
    """A store that takes all rows of some tables, keeps none and finds none; its other tables are as they are."""

    def __init__(self, store: Store, *tables: str) -> None:
        super().__init__(store)
        self._tables = frozenset(tables)
        self.taken = 0
        """How many rows it was given."""

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        if table not in self._tables:
            return super()._write(table, mutations)
        self.taken += sum(isinstance(one, Put) for one in mutations)
        return [None] * len(mutations)

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        return [None] * len(rows) if table in self._tables else super()._read(table, rows, wanted)


def run(setting: Setting) -> list[Result]:
    """Write pages into a store that drops them, and compress and digest their bodies by themselves."""
    pages = list(made_up_pages(setting.scaled(PAGES), ["made-up.example"], body_bytes=BODY_BYTES))
    bodies = [page.body or b"" for page in pages]
    batches = [bodies[at : at + BATCH] for at in range(0, len(bodies), BATCH)]
    whole, taking, packing, digests = [], [], [], []
    for _ in range(setting.pairs(5)):
        spent, in_put = _written(pages)
        whole.append(spent)
        taking.append(in_put)
        packing.append(_spent(lambda: [pack(batch) for batch in batches], len(pages)))
        digests.append(_spent(lambda: [digest_of(body) for body in bodies], len(pages)))
    own = median(one - two - three for one, two, three in zip(whole, packing, digests, strict=True))
    return [
        Result(
            f"writer, its own processor time a page: {len(pages):,} made-up pages of {BODY_BYTES // 1000} KB, "
            "without indexes, into a store that drops them",
            "compression and digest of the same bodies",
            f"{median(whole):.0f} µs",
            f"{median(packing):.0f} and {median(digests):.0f} µs",
            own,
            MOST_MICROSECONDS,
            at_most=True,
            unit=" µs",
            note="user and system time of all threads; the figure is what the writer needs beside the two, of which "
            f"{median(taking):.0f} µs are in put: checks, completion and receipt",
        )
    ]


def _written(pages: Sequence[Page]) -> tuple[float, float]:
    """Return the microseconds a page that it took to write *pages*: of all threads, and of the one that put them."""
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=[]) as kept:
        store = DroppingStore(kept.store, kept.table)
        with webtable.WebTable(store, kept.table, kept.layout) as table, tidied():
            began, mine = time.process_time(), time.thread_time()
            with table.writer() as writer:
                for page in pages:
                    writer.put(page)
                mine = time.thread_time() - mine
            spent = time.process_time() - began
    assert store.taken == len(pages)
    return spent / len(pages) * 1e6, mine / len(pages) * 1e6


def _spent(work: Callable[[], object], count: int) -> float:
    """Return the microseconds of processor time a page that *work* on *count* of them takes."""
    with tidied():
        began = time.process_time()
        work()
        return (time.process_time() - began) / count * 1e6

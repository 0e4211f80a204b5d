"""How fast does a writer store prepared pages in the embedded store?"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import webtable
from benchmarks import bare
from benchmarks.material import prepared_pages
from benchmarks.measuring import Result, Run, compare, stopwatch
from webtable.repository.indexes.index import WEB_INDEXES

if TYPE_CHECKING:
    from benchmarks.setting import Setting

NEEDS = frozenset[str]()
LIKES = frozenset({"corpus"})


def run(setting: Setting) -> list[Result]:
    """Write pages through a writer, and what it made of them by bare SQLite, into fresh files."""
    pages, what = prepared_pages(setting)
    with webtable.open(setting.new_file(), create=True, indexes=[]) as table:
        with table.writer() as writer:
            for page in pages:
                writer.put(page)
        batches = bare.batches_of(pages, table)
        puts = [bare.puts_of(batch) for batch in batches]

    def cells() -> Run:
        file = setting.new_file()
        with webtable.open(file, create=True, indexes=[]) as table:
            with stopwatch() as watch:
                for batch in puts:
                    table.store.write(table.table, batch)
            stored = [cell for row in bare.stored_rows(table) for cell in bare.cells_of(row)]
        file.unlink()
        return Run(watch.seconds, len(pages), _digest(stored))

    def ours() -> Run:
        file = setting.new_file()
        with webtable.open(file, create=True, indexes=[]) as table:
            with stopwatch() as watch, table.writer() as writer:
                for page in pages:
                    writer.put(page)
            cells = [cell for row in bare.stored_rows(table) for cell in bare.cells_of(row)]
        file.unlink()
        return Run(watch.seconds, len(pages), _digest(cells))

    def sqlite() -> Run:
        file = setting.new_file()
        with bare.database(file) as connection:
            with stopwatch() as watch:
                bare.insert(connection, batches)
            cells = connection.execute("SELECT * FROM cells").fetchall()
        file.unlink()
        return Run(watch.seconds, len(pages), _digest(cells))

    def written(*indexes: str) -> Run:
        file = setting.new_file()
        with webtable.open(file, create=True, indexes=indexes) as table:
            with stopwatch() as watch, table.writer() as writer:
                for page in pages:
                    writer.put(page)
            stored = [f"{page.url} {page.digest}" for page in table.pages(webtable.ALL)]
        file.unlink()
        return Run(watch.seconds, len(pages), _digest(stored))

    note = "tables without indexes; the same transactions, WAL mode, synced at each commit"
    return [
        compare(
            f"embedded, ingest of the cells: {what}, through the store port",
            "the same cells by bare sqlite3 executemany",
            target=0.5,
            ours=cells,
            peer=sqlite,
            pairs=setting.pairs(5),
            note=note,
        ),
        compare(
            f"embedded, ingest of the pages: {what}, through a writer, digests and compression included",
            "the cells that come of it, compressed beforehand, by bare sqlite3 executemany",
            target=0.5,
            ours=ours,
            peer=sqlite,
            pairs=setting.pairs(5),
            note=note,
        ),
        compare(
            f"embedded, ingest of the pages with all seven indexes: {what}, through a writer",
            "the same without an index",
            target=None,
            ours=lambda: written(*WEB_INDEXES),
            peer=written,
            pairs=setting.pairs(5),
        ),
    ]


def _digest(stored: list[bare.Cell] | list[str]) -> str:
    return hashlib.sha256(repr(sorted(stored)).encode()).hexdigest()

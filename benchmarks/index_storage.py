"""How much space do the indexes of a real corpus take, beside the pages?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import webtable
from benchmarks import space
from benchmarks.measuring import LeftOut, Result
from webtable.formats import read_pages
from webtable.repository.indexes.index import WEB_INDEXES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.setting import Setting
    from webtable import WebTable

NEEDS = frozenset({"corpus"})
LIKES = frozenset({"hbase"})
TARGET = 25.0


def run(setting: Setting) -> list[Result | LeftOut]:
    """Ingest the corpus with all indexes, count its links, and look at the files."""
    return [_on_hbase(setting), _on_sqlite(setting)]


def _on_hbase(setting: Setting) -> Result | LeftOut:
    what = "storage of all indexes on HBase"
    if setting.hbase is None:
        return LeftOut(what, setting.missing.get("hbase", "no HBase"))
    with setting.hbase_table(tuple(WEB_INDEXES)) as table:
        container = space.container_of(table.table)
        if container is None:
            return LeftOut(what, f"{setting.hbase} is no container of docker/hbase here, in which to look at the files")
        _ingest(setting, table)
        setting.flush(table.table)
        sizes = space.on_hbase(container, space.tables_of(table))
    return _result(what, sizes, "the store files of all families after a flush")


def _on_sqlite(setting: Setting) -> Result | LeftOut:
    what = "storage of all indexes on SQLite"
    file = setting.new_file()
    with webtable.open(file, create=True) as table:
        _ingest(setting, table)
        names = space.tables_of(table)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")
    try:
        sizes = space.in_file(file, names)
    except sqlite3.OperationalError as exc:
        return LeftOut(what, f"this SQLite does not tell the sizes of tables: {exc}")
    return _result(what, sizes, "the pages of the file that belong to each table (dbstat), after VACUUM")


def _ingest(setting: Setting, table: WebTable) -> None:
    with table.writer() as writer:
        for file in _files(setting):
            for page in read_pages(file):
                writer.put(page)
    table.links.refresh()


def _files(setting: Setting) -> list[Path]:
    files = setting.warc_files
    return sorted(files, key=lambda file: file.stat().st_size)[:2] if setting.quick else files


def _result(what: str, sizes: Mapping[str, int], measured: str) -> Result:
    main, queue = sizes["pages"], sizes["queue"]
    indexes = {name: size for name, size in sizes.items() if name not in ("pages", "queue")}
    total = sum(indexes.values())
    assert all(sizes.values()), f"{what}: nothing was stored in one of {sizes}"
    each = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in indexes.items())
    return Result(
        f"{what}, in percent of the pages, their links and inlinks",
        "–",
        f"{total / 1e6:.1f} MB",
        f"{main / 1e6:.1f} MB of pages",
        100 * total / main,
        TARGET,
        at_most=True,
        unit=" %",
        note=f"{measured}; bodies are compressed; {each}; the queue of counts {queue / 1e6:.2f} MB",
    )

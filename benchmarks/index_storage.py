"""How much space do the indexes of a real corpus take, beside the pages?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import webtable
from benchmarks.measuring import LeftOut, Result
from webtable.formats import read_pages
from webtable.repository.indexes import WEB_INDEXES
from webtable.schema import index_table, queue_table
from webtable.testing.hbase import IMAGE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from docker.models.containers import Container

    from benchmarks.setting import Setting
    from webtable import WebTable

NEEDS = frozenset({"corpus"})
LIKES = frozenset({"hbase"})
TARGET = 25.0
FOLDER = "/data/hbase/data/default"
"""Where HBase keeps the tables of its default namespace, in a container of `docker/hbase`."""


def run(setting: Setting) -> list[Result | LeftOut]:
    """Ingest the corpus with all indexes, count its links, and look at the files."""
    return [_on_hbase(setting), _on_sqlite(setting)]


def _on_hbase(setting: Setting) -> Result | LeftOut:
    what = "storage of all indexes on HBase"
    if setting.hbase is None:
        return LeftOut(what, setting.missing.get("hbase", "no HBase"))
    with setting.hbase_table(tuple(WEB_INDEXES)) as table:
        container = container_of(table.table)
        if container is None:
            return LeftOut(what, f"{setting.hbase} is no container of docker/hbase here, in which to look at the files")
        _ingest(setting, table)
        setting.flush(table.table)
        sizes = {what: bytes_in(container, name) for what, name in _names(table).items()}
    return _result(what, sizes, "the store files of all families after a flush")


def _on_sqlite(setting: Setting) -> Result | LeftOut:
    what = "storage of all indexes on SQLite"
    file = setting.new_file()
    with webtable.open(file, create=True) as table:
        _ingest(setting, table)
        names = _names(table)
    with closing(sqlite3.connect(file)) as connection:
        try:
            connection.execute("VACUUM")
            sizes = {what: _pages_of(connection, name) for what, name in names.items()}
        except sqlite3.OperationalError as exc:
            return LeftOut(what, f"this SQLite does not tell the sizes of tables: {exc}")
    return _result(what, sizes, "the pages of the file that belong to each table (dbstat), after VACUUM")


def _ingest(setting: Setting, table: WebTable) -> None:
    with table.writer() as writer:
        for file in _files(setting):
            for page in read_pages(file):
                writer.put(page)
    table.refresh_links()


def _files(setting: Setting) -> list[Path]:
    files = setting.warc_files
    return sorted(files, key=lambda file: file.stat().st_size)[:2] if setting.quick else files


def _names(table: WebTable) -> dict[str, str]:
    """Return the names of the tables by what they are: the main one, the queue, and each index."""
    indexes = {name: index_table(table.table, name).name for name in WEB_INDEXES}
    return {"pages": table.table, "queue": queue_table(table.table).name, **indexes}


def container_of(table: str) -> Container | None:
    """Return the container of our own image that has *table* among its files, or None where there is none."""
    try:
        from docker.client import DockerClient
        from docker.errors import DockerException
    except ImportError:
        return None
    try:
        engine = DockerClient.from_env()
    except DockerException:
        return None
    for container in engine.containers.list():
        is_ours = any(tag.startswith(f"{IMAGE}:") for tag in container.image.tags)
        if is_ours and container.exec_run(["test", "-d", f"{FOLDER}/{table}"]).exit_code == 0:
            return container
    return None


def bytes_in(container: Container, table: str) -> int:
    """Return the bytes of the store files of *table*: those in the folders of its families."""
    command = ["find", f"{FOLDER}/{table}", "-mindepth", "3", "-type", "f", "-not", "-name", ".*", "-printf", "%s\n"]
    code, output = container.exec_run(command)
    assert code == 0, output.decode(errors="replace")
    return sum(map(int, output.split()))


def _pages_of(connection: sqlite3.Connection, table: str) -> int:
    """Return the bytes of the pages that the families of *table* take."""
    families = connection.execute(
        "SELECT families.id FROM tables JOIN families ON table_id = tables.id WHERE tables.name = ?", (table,)
    )
    names = [name for (number,) in families for name in (f"cells_{number}", f"deletes_{number}")]
    question = f"SELECT sum(pgsize) FROM dbstat WHERE name IN ({', '.join('?' * len(names))})"
    (size,) = connection.execute(question, names).fetchone()
    return int(size or 0)


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

"""How many bytes the tables of a web table take, on either store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from webtable.schema import index_table, queue_table
from webtable.testing.hbase import IMAGE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from docker.models.containers import Container

    from webtable import WebTable

FOLDER = "/data/hbase/data/default"
"""Where HBase keeps the tables of its default namespace, in a container of `docker/hbase`."""


def tables_of(table: WebTable) -> dict[str, str]:
    """Return the names of the tables by what they are: the main one, the queue, and each index that there is."""
    indexes = {name: index_table(table.table, name).name for name in table.indexes.states()}
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


def on_hbase(container: Container, tables: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes of the store files of *tables*, which are named by what they are."""
    return {what: _bytes_in(container, name) for what, name in tables.items()}


def in_file(file: Path, tables: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes of the pages of a SQLite file that belong to each of *tables*, named by what they are.

    Raises `sqlite3.OperationalError` where SQLite was built without dbstat.
    """
    with closing(sqlite3.connect(file)) as connection:
        return {what: _pages_of(connection, name) for what, name in tables.items()}


def regions(container: Container, command: str, table: str) -> list[tuple[str, ...]]:
    """Return the lines that `docker/hbase/Regions.java` answers to *command*, each taken apart at its tabs."""
    code, output = container.exec_run(["bash", "/opt/hbase/java.sh", "Regions", command, table], demux=True)
    printed, complaints = (part.decode(errors="replace") if part else "" for part in output)
    assert code == 0, f"{command} {table}: {complaints}"
    return [tuple(line.split("\t")) for line in printed.splitlines()]


def _bytes_in(container: Container, table: str) -> int:
    # The files of regions that were split lie there too until they are compacted; they are links of a few bytes.
    command = ["find", f"{FOLDER}/{table}", "-mindepth", "3", "-type", "f", "-not", "-name", ".*", "-printf", "%s\n"]
    code, output = container.exec_run(command)
    assert code == 0, output.decode(errors="replace")
    return sum(map(int, output.split()))


def _pages_of(connection: sqlite3.Connection, table: str) -> int:
    families = connection.execute(
        "SELECT families.id FROM tables JOIN families ON table_id = tables.id WHERE tables.name = ?", (table,)
    )
    names = [name for (number,) in families for name in (f"cells_{number}", f"deletes_{number}")]
    question = f"SELECT sum(pgsize) FROM dbstat WHERE name IN ({', '.join('?' * len(names))})"
    (size,) = connection.execute(question, names).fetchone()
    return int(size or 0)

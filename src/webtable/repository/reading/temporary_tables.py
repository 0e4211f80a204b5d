"""Temporary tables on disk, in which questions sort and join more than fits into memory."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MEMORY_BYTES = 16 * 2**20
"""How much SQLite keeps in memory, and uses for sorting."""


class TemporaryTables:
    """Tables that last as long as the question, and that need not fit into memory.

    They are in a SQLite database without a name. It is in memory up to MEMORY_BYTES, beyond that in a file in the
    directory for temporary files (`TMPDIR`). That file is removed as soon as it is open, so nothing is left however the
    process ends. Raises `OSError` if the file cannot be written.
    """

    def __init__(self, *statements: str) -> None:
        # An answer may be begun in one thread and finished in another.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        memory = f"PRAGMA cache_size = -{MEMORY_BYTES // 1024}"
        for statement in (memory, "PRAGMA journal_mode = OFF", *statements):
            self.run(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute *statement*."""
        with _as_os_error():
            self._connection.execute(statement, values).close()

    def fill(self, table: str, rows: Iterable[Sequence[Any]], columns: int) -> None:
        """Insert *rows* with this number of *columns* into *table*, except those whose key exists already."""
        self.run("BEGIN")
        with _as_os_error():
            marks = ", ".join("?" * columns)
            self._connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
        self.run("COMMIT")

    def rows(self, select: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of *select*, reading as they are taken."""
        with _as_os_error():
            # `yield from` would close the cursor of abandoned rows, perhaps after the database is closed.
            for row in self._connection.execute(select, values):  # noqa: UP028
                yield row

    def first(self, select: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of *select*, or None."""
        return next(self.rows(select, values), None)


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as exc:
        raise OSError(f"could not write temporary tables to the directory of TMPDIR: {exc}") from exc

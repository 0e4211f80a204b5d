"""What a question has found so far, sorted on disk: as much of it as there is, in the same memory."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MEMORY_BYTES = 16 * 2**20
"""How much of what was found SQLite keeps in memory, and in how much it sorts."""


class Scratch:
    """Tables that end with the question, and that need not fit into memory.

    They are those of a SQLite database without a name. It is in memory up to MEMORY_BYTES, beyond that in the directory
    for temporary files (`TMPDIR`), in a file that is removed as soon as it is open: whatever becomes of the process,
    nothing is left. What cannot be written there is an `OSError`.
    """

    def __init__(self, *statements: str) -> None:
        # An answer may be begun in one thread and ended in another.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        memory = f"PRAGMA cache_size = -{MEMORY_BYTES // 1024}"
        for statement in (memory, "PRAGMA journal_mode = OFF", *statements):
            self.run(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Do what *statement* says."""
        with _as_os_error():
            self._connection.execute(statement, values).close()

    def fill(self, table: str, rows: Iterable[Sequence[Any]], columns: int) -> None:
        """Put *rows* of so many *columns* into *table* as they come, but for those whose key is there already."""
        self.run("BEGIN")
        with _as_os_error():
            marks = ", ".join("?" * columns)
            self._connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
        self.run("COMMIT")

    def rows(self, select: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what *select* finds, as it is taken."""
        with _as_os_error():
            # `yield from` would close the cursor of rows that nobody wants any more, perhaps behind the database's own.
            for row in self._connection.execute(select, values):  # noqa: UP028
                yield row

    def first(self, select: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row that *select* finds."""
        return next(self.rows(select, values), None)


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as exc:
        raise OSError(f"what the question has found could not be kept in the directory of TMPDIR: {exc}") from exc

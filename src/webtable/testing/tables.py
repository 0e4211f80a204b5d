"""A web table on a server for the time of one test."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import webtable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable import WebTable


@contextmanager
def fresh_table(server: str) -> Iterator[WebTable]:
    """Create a web table with a name of its own on *server*, to be dropped with all in it when the block ends.

    *server* is a store URL without a table, as `hbase_server()` gives it; other tables there are left alone.

        with hbase_server() as server, fresh_table(server) as table:
            ...
    """
    name = f"test_{uuid.uuid4().hex}"
    base, mark, options = server.partition("?")
    with webtable.open(f"{base.rstrip('/')}/{name}{mark}{options}", create=True) as table:
        try:
            yield table
        finally:
            _drop(table, name)


def _drop(table: WebTable, name: str) -> None:
    """Drop the table *name* and those beside it, which all begin with that."""
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(table.store.drop_table, [one for one in table.store.tables() if one.startswith(name)]))

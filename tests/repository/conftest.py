"""Web tables on every store: one that the tests share, each below a registered domain of its own, or a fresh one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sites import Site

import webtable
from webtable import WebTable
from webtable.repository import unclosed
from webtable.store import Store


@pytest.fixture(scope="session")
def new_url(adapter: str, request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[Callable[[], str]]:
    """Make the URL of a table that does not exist yet; it is dropped at the end."""
    if adapter == "sqlite":
        folder = tmp_path_factory.mktemp("webtables")
        yield lambda: str(folder / f"{uuid.uuid4().hex[:8]}.db")
        return

    open_store = request.getfixturevalue("open_store")
    base, _, query = request.getfixturevalue("hbase_url").partition("?")
    names: list[str] = []

    def new() -> str:
        names.append(f"web_{uuid.uuid4().hex[:8]}")
        return f"{base.rstrip('/')}/{names[-1]}" + (f"?{query}" if adapter == "hbase-thrift2" else "")

    yield new
    if "WEBTABLE_HBASE_URL" not in os.environ:
        return  # a server of this session's own goes with all its tables
    with open_store() as store:
        tables = [table for table in store.tables() if table.startswith(tuple(names))] if names else []
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(store.drop_table, tables))


@pytest.fixture(scope="session")
def shared_table(new_url) -> Iterator[WebTable]:
    with webtable.open(new_url(), create=True) as table:
        yield table


@pytest.fixture
def site(shared_table) -> Site:
    now = datetime.now(UTC).replace(microsecond=0)
    return Site(shared_table, f"{uuid.uuid4().hex[:10]}.example", now)


class SpyStore(Store):
    """A store that hands everything on, after telling a listener what it is asked."""

    def __init__(self, store: Store, listener: Callable[..., None]) -> None:
        self._store, self._listener = store, listener
        self.name, self.timeout = store.name, store.timeout
        self.writes_side_by_side = store.writes_side_by_side
        self.scans_range_by_range = store.scans_range_by_range

    def together(self):
        return self._store.together()

    def write(self, table, mutations):
        self._listener("write", table, mutations)
        return self._store.write(table, mutations)

    def _read(self, table, rows, wanted):
        self._listener("read", table, wanted.columns)
        return self._store.read(table, rows, wanted)

    def _read_cells(self, table, rows, family, qualifiers, limit, *, keys_only):
        self._listener("read_cells", table, [family + b":"])
        return self._store.read_cells(table, rows, family, qualifiers, limit=limit, keys_only=keys_only)

    def _scan(self, table, ranges, wanted, limit, *, reverse):
        self._listener("scan", table, wanted.columns)
        return self._store.scan(table, ranges, wanted, limit=limit, reverse=reverse)

    def _first_rows(self, table, ranges, limit, wanted, *, reverse):
        self._listener("first_rows", table, wanted.columns)
        return self._store.first_rows(table, ranges, limit, wanted, reverse=reverse)

    def describe_calls(self, table, ranges, **options):
        return self._store.describe_calls(table, ranges, **options)

    def tables(self):
        return self._store.tables()

    def describe(self, table):
        return self._store.describe(table)

    def create_table(self, schema):
        self._store.create_table(schema)

    def set_family(self, table, family):
        self._store.set_family(table, family)

    def drop_table(self, table):
        self._store.drop_table(table)

    def regions(self, table):
        return self._store.regions(table)

    def compact(self, tables):
        return self._store.compact(tables)

    def close(self):
        self._store.close()


@pytest.fixture
def spied(site):
    """The site again, over a store that calls `spied.listener` before each call; it may raise."""

    class Spied:
        listener = staticmethod(lambda *_: None)

    store = SpyStore(site.table.store, lambda *call: Spied.listener(*call))
    Spied.site = Site(WebTable(store, site.table.table, site.table.layout), site.domain, site.now)
    return Spied


@pytest.fixture(autouse=True, scope="session")
def killed_writers_stay_dead() -> Iterator[None]:
    """A writer that a test has killed is not closed when the interpreter ends."""
    yield
    unclosed._open.clear()

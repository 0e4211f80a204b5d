"""Web tables on every store: one that the tests share, each below a registered domain of its own, or a fresh one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sites import Site, with_limit

import webtable
from webtable import WebTable
from webtable.repository.writing import writer
from webtable.testing import Call, ListeningStore, WrappedStore


@pytest.fixture(scope="session")
def new_url(adapter: str, request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[Callable[[], str]]:
    """Make the URL of a table that does not exist yet; it is dropped at the end."""
    if adapter == "memory":
        yield lambda: f"memory:{uuid.uuid4().hex[:8]}"
        return
    if adapter in ("sqlite", "sqlite-wrapped"):
        folder = tmp_path_factory.mktemp("webtables")
        yield lambda: str(folder / f"{uuid.uuid4().hex[:8]}.db")
        return

    open_store = request.getfixturevalue("open_store")
    server = request.getfixturevalue("native_url" if adapter == "hbase-native" else "hbase_url")
    base, _, query = server.partition("?")
    names: list[str] = []

    def new() -> str:
        names.append(f"web_{uuid.uuid4().hex[:8]}")
        return f"{base.rstrip('/')}/{names[-1]}" + ("" if adapter == "hbase-thrift1" else f"?{query}")

    yield new
    if "WEBTABLE_HBASE_URL" not in os.environ:
        return  # a server of this session's own goes with all its tables
    with open_store() as store:
        tables = [table for table in store.tables() if table.startswith(tuple(names))] if names else []
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(store.drop_table, tables))


@pytest.fixture(scope="session")
def shared_table(new_url, adapter: str) -> Iterator[WebTable]:
    with webtable.open(with_limit(new_url()), create=True, versions=3) as table:
        if adapter == "sqlite-wrapped":
            wrapped = ListeningStore(WrappedStore(table.store), lambda _: None)
            yield WebTable(wrapped, table.table, table.layout)
        else:
            yield table


@pytest.fixture
def site(shared_table) -> Site:
    now = datetime.now(UTC).replace(microsecond=0)
    return Site(shared_table, f"{uuid.uuid4().hex[:10]}.example", now)


def told(listener: Callable[..., object]) -> Callable[[Call], None]:
    """Tell *listener* of the calls that read and write pages: the name, the table, and mutations or columns."""

    def tell(call: Call) -> None:
        if call.name == "write":
            listener(call.name, call.table, call.arguments["mutations"])
        elif call.name == "read_cells":
            listener(call.name, call.table, [call.arguments["family"] + b":"])
        elif "wanted" in call.arguments:
            listener(call.name, call.table, call.arguments["wanted"].columns)

    return tell


@pytest.fixture
def spied(site):
    """The site again, over a store that calls `spied.listener` before each call; it may raise."""

    class Spied:
        listener = staticmethod(lambda *_: None)

    store = ListeningStore(site.table.store, told(lambda *call: Spied.listener(*call)))
    Spied.site = Site(WebTable(store, site.table.table, site.table.layout), site.domain, site.now)
    return Spied


@pytest.fixture(autouse=True, scope="session")
def killed_writers_stay_dead() -> Iterator[None]:
    """A writer that a test has killed is not closed when the interpreter ends."""
    yield
    writer._open.clear()

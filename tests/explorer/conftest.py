"""The explorer of the sample web, as a browser on this machine sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest
import uvicorn

import webtable
from webtable import WebTable
from webtable.demo import sample_table
from webtable.explorer import Access, create_app
from webtable.testing import ListeningStore

TOKEN = "the-token"


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebTable]:
    """The sample web: three crawls of several hosts. It is only read."""
    path = tmp_path_factory.mktemp("explorer") / "sample.db"
    with sample_table(path) as table:
        yield table


@pytest.fixture
def table() -> Iterator[WebTable]:
    """An empty table, in memory, for the pages of a test."""
    with webtable.open(f"memory:{uuid4().hex}", create=True) as table:
        yield table


@contextmanager
def explored(table: WebTable) -> Iterator[httpx.Client]:
    """Serve the explorer of *table*, and give a client that has the token."""
    config = uvicorn.Config(create_app(table, Access(TOKEN)), port=0, log_level="warning", timeout_graceful_shutdown=1)
    server, sock = uvicorn.Server(config), config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        address, headers = f"http://127.0.0.1:{sock.getsockname()[1]}", {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


@pytest.fixture
def client(table: WebTable) -> Iterator[httpx.Client]:
    """The explorer of `table`."""
    with explored(table) as client:
        yield client


@pytest.fixture(scope="module")
def sample_client(sample: WebTable) -> Iterator[httpx.Client]:
    """The explorer of `sample`."""
    with explored(sample) as client:
        yield client


@pytest.fixture(scope="session")
def client_of_many() -> Iterator[httpx.Client]:
    """The explorer of a table with one page of 300 versions, an hour apart."""
    with webtable.open("memory:many-versions", create=True, versions=500) as table:
        with table.writer() as writer:
            for hour in range(300):
                moment = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=hour)
                body = f"<title>{hour}</title>".encode()
                writer.put(webtable.Page(url="https://example.com/docs/a", body=body, fetched_at=moment))
        with explored(table) as client:
            yield client


@pytest.fixture
def begins_without_the_store() -> Callable[[WebTable, str], bool]:
    """Whether a page of a table begins while its store does not answer, and ends once it does."""

    def begins(table: WebTable, path: str) -> bool:
        answers = threading.Event()
        slow = WebTable(ListeningStore(table.store, lambda _: answers.wait(20)), table.table, table.layout)
        with explored(slow) as client, client.stream("GET", path) as response:
            pieces = response.iter_text()
            first = next(pieces)
            has_waited = not answers.is_set()
            answers.set()
            return has_waited and "<h1>" in first and "</html>" in "".join(pieces)

    return begins


@pytest.fixture
def serving() -> Callable[[WebTable], AbstractContextManager[httpx.Client]]:
    """The function `explored`, which tests cannot import."""
    return explored

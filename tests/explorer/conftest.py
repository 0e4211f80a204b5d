"""The explorer of the sample web, as a browser on this machine sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest
from exploring import begins, explored

import webtable
from webtable import WebTable
from webtable.demo import Sample
from webtable.explorer import counts
from webtable.explorer.views import questions


@pytest.fixture(autouse=True, scope="session")
def no_haste() -> Iterator[None]:
    """Counting that takes as long as it takes: on a busy machine a sample would be shown, or "at least" so many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counts, "MOST_SECONDS", 3_600.0)
        patched.setattr(questions, "FURTHER_SECONDS", 3_600.0)
        yield


@pytest.fixture(scope="session")
def sample(sample_web: Sample) -> Iterator[WebTable]:
    """The sample web: three crawls of several hosts. It is only read."""
    with webtable.open(sample_web.store) as table:
        yield table


@pytest.fixture
def table() -> Iterator[WebTable]:
    """An empty table, in memory, for the pages of a test."""
    with webtable.open(f"memory:{uuid4().hex}", create=True) as table:
        yield table


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
def serving() -> Callable[[WebTable], AbstractContextManager[httpx.Client]]:
    """The function `explored`, which tests cannot import."""
    return explored


@pytest.fixture
def begins_without_the_store() -> Callable[[WebTable, str], bool]:
    """The function `begins`."""
    return begins

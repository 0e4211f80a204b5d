"""The fixtures of `webtable.testing`, which pytest loads; nothing else there needs pytest.

PYTEST_DONT_REWRITE: there is no assert here.
"""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

import webtable
from webtable.store.memory import MemoryStore
from webtable.testing.hbase import NoHBase, fresh_table, shared_hbase
from webtable.testing.pages import sample_pages as pages_of_many_kinds
from webtable.testing.pages import write_warc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from webtable import Page, WebTable
    from webtable.testing.pages import MakeWarc, RawResponse

# Its tests are no test module of pytest's own finding, and an assert there should say what was compared.
pytest.register_assert_rewrite("webtable.testing.store_contract")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[WebTable]:
    """An empty web table for one test, in the file `crawl.db` of its `tmp_path`."""
    with webtable.open(tmp_path / "crawl.db", create=True) as made:
        yield made


@pytest.fixture
def memory_url() -> Iterator[str]:
    """URL of a store in memory for one test, without a table; it is dropped at the end."""
    name = uuid.uuid4().hex
    yield f"memory:{name}"
    MemoryStore.forget(name)


@pytest.fixture(scope="session")
def hbase_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a running HBase, without a table; skips the test if there is none."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # of pytest-xdist, where all workers share the parent folder
        folder = folder.parent
    with ExitStack() as stack:
        try:
            url = stack.enter_context(shared_hbase(folder))
        except NoHBase as exc:
            if os.environ.get("WEBTABLE_REQUIRE_HBASE", "0") not in ("", "0"):
                pytest.fail(f"WEBTABLE_REQUIRE_HBASE is set, but {exc}", pytrace=False)
            pytest.skip(str(exc))
        yield url


@pytest.fixture
def hbase_table(hbase_url: str) -> Iterator[WebTable]:
    """An empty web table for one test on a running HBase, dropped at the end; skips the test if there is no HBase."""
    with fresh_table(hbase_url) as made:
        yield made


@pytest.fixture
def sample_pages() -> list[Page]:
    """A few pages of many kinds, the last of them fetched now."""
    return pages_of_many_kinds()


@pytest.fixture
def make_warc(tmp_path: Path) -> MakeWarc:
    """A function that writes pages, or tuples (URL, status, headers, body), as a WARC file in the test's `tmp_path`."""

    def make(pages: Iterable[Page | RawResponse], name: str = "crawl.warc.gz") -> Path:
        return write_warc(tmp_path / name, pages)

    return make

"""Parts of an answer are ranges of keys: they stay what they are while the regions of the table split."""

from __future__ import annotations

import time
import uuid

import pytest

import webtable
from webtable import Page
from webtable.errors import StoreRefused

PAGES = 400


@pytest.fixture(params=["hbase_url", "native_url"])
def address(request):
    """The address of a new table, by a gateway or by HBase's own protocol."""
    base, _, query = request.getfixturevalue(request.param).partition("?")
    return f"{base.rstrip('/')}/parts_{uuid.uuid4().hex[:8]}?{query}"


def regions_of(table) -> int:
    try:
        return len(table.store.regions(table.table))
    except StoreRefused:  # Thrift2's getAllRegionLocations has an internal error until the split is done
        return 0


def test_parts_have_all_pages_once_though_the_region_splits_between_and_during_their_reading(address, shell):
    with webtable.open(address, create=True) as table:
        with table.writer() as writer:
            for number in range(PAGES):
                writer.put(Page(url=f"https://h{number % 40}.example/{number}", body=b"x"))
        stored = sorted(page.url for page in table.pages(webtable.ALL))
        first, *rest = table.pages(webtable.ALL).partitions(4)
        found = [page.url for page in first.pages()]
        during = rest[0].pages()
        found.append(next(during).url)

        name = table.table
        shell.run(f"split '{name}', '80:'")
        end = time.monotonic() + 60
        while regions_of(table) < 2:
            assert time.monotonic() < end
            time.sleep(0.2)

        found += [page.url for page in during]
        found += [page.url for part in rest[1:] for page in part.pages()]
        assert sorted(found) == stored
        assert [sum(1 for _ in part.pages()) for part in (first, *rest)] == [PAGES // 4] * 4

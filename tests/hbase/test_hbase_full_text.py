"""Full text of a table in HBase, in a directory beside it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import ALL, Page


@pytest.fixture(params=["hbase_url", "native_url"])
def table(request, tmp_path, monkeypatch):
    monkeypatch.setenv("WEBTABLE_SEARCH", str(tmp_path))
    base, _, query = request.getfixturevalue(request.param).partition("?")
    name = f"text_{uuid.uuid4().hex[:8]}"
    with webtable.open(f"{base.rstrip('/')}/{name}?{query}", create=True, indexes=["time", "link"]) as opened:
        yield opened


def store(table, *numbers, word="salt", age=60):
    at = datetime.now(UTC) - timedelta(seconds=age)
    with table.writer() as writer:
        for n in numbers:
            body = f"<p>{word} number{n}".encode()
            writer.put(Page(url=f"https://h{n % 7}.example/{n:03}", body=body, fetched_at=at))


def found(table, text, site=ALL):
    return sorted(int(hit.page.url[-3:]) for hit in table.search(text, site, order="relevance"))


def test_pages_of_all_salts_are_found_and_later_captures_after_a_refresh(table):
    store(table, *range(200))
    created = table.search_index.create()
    store(table, 200, 201)
    store(table, 0, word="pepper", age=30)
    table.delete("https://h1.example/001")
    before = found(table, "salt")
    refreshed = table.search_index.refresh()

    assert (created.pages, created.written) == (200, 200)
    assert before == list(range(2, 200))
    assert refreshed.written == 3
    assert found(table, "salt") == list(range(2, 202))
    assert found(table, "pepper") == [0]
    assert found(table, "salt number7*", "h0.example") == [7, 70, 77]
    assert table.search_index.refresh(every=True).removed == 1
    assert table.search_index.drop()
    assert table.search_index.state() is None

"""Which batches count as stored, where a store loses some pages or is gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import Page, WebTable
from webtable.errors import StoreFull, StoreRefused, StoreUnavailable
from webtable.formats import Place
from webtable.formats.read import FilePart
from webtable.ingest.batches import BatchStorer, IngestOptions, PageBatch, UnreadPart
from webtable.ingest.report import IngestCounts
from webtable.testing import ListeningStore

NOW = datetime.now(UTC) - timedelta(days=1)
UNREAD = UnreadPart(FilePart("crawl.warc.gz"), Place(), 0)


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        yield table


def batch(number: int, *paths: str) -> PageBatch:
    pages = [Page(url=f"https://example.com{path}", body=b"x", fetched_at=NOW) for path in paths]
    return PageBatch(number, UNREAD, pages, IngestCounts())


def test_batches_are_told_in_their_order_with_what_became_of_their_pages(table):
    told: list[PageBatch] = []
    storing = BatchStorer(table, IngestOptions(batch=2), told.append, lambda _: None)

    for one in (batch(1, "/a", "/b", "/c"), batch(2), batch(3, "/d"), batch(4, "/a")):
        storing.put(one)
    rest = storing.close()

    assert [(one.number, one.counts.stored, one.counts.unchanged, one.is_stored) for one in told] == [
        (1, 3, 0, True),
        (2, 0, 0, True),
        (3, 1, 0, True),
        (4, 1, 1, True),
    ]
    assert rest == IngestCounts()


def test_pages_that_are_refused_for_what_they_are_hold_nothing_up(table):
    told: list[PageBatch] = []
    storing = BatchStorer(table, IngestOptions(batch=2), told.append, lambda _: None)
    future = Page(url="https://example.com/", body=b"x", fetched_at=NOW + timedelta(days=9))

    storing.put(PageBatch(1, UNREAD, [Page(url="no URL", fetched_at=NOW), future], IngestCounts()))
    storing.put(batch(2, "/a"))
    storing.close()

    assert [one.number for one in told] == [1, 2]
    assert told[0].counts.refused.counts == {"InvalidURL": 1, "FutureCapture": 1}
    assert storing.lost is None


@pytest.mark.slow
def test_nothing_counts_as_stored_behind_the_moment_when_the_store_is_gone(table):
    told: list[PageBatch] = []
    written = 0

    def fail(call):
        nonlocal written
        if call.name == "write" and call.table == table.table:
            written += 1
            if written > 1:
                raise StoreUnavailable("the disk is gone")

    away = WebTable(ListeningStore(table.store, fail), table.table, table.layout)
    storing = BatchStorer(away, IngestOptions(batch=1, wait=1.0), told.append, lambda _: None)

    for number in range(1, 5):
        storing.put(batch(number, f"/{number}"))
    rest = storing.close()

    assert [one.number for one in told] == [1]
    assert str(storing.lost) == "the disk is gone"
    assert (rest.stored, list(rest.failed.counts)) == (0, ["StoreUnavailable"])


@pytest.mark.slow
def test_a_store_that_comes_back_is_waited_for_and_both_are_reported(table, manual_clock):
    told: list[PageBatch] = []
    waits: list[str | None] = []

    def fail(call):
        if call.name == "write" and manual_clock.passed < 100:
            raise StoreUnavailable("HBase is restarted")

    away = WebTable(ListeningStore(table.store, fail), table.table, table.layout)
    storing = BatchStorer(away, IngestOptions(batch=1), told.append, waits.append)

    storing.put(batch(1, "/a"))
    storing.close()

    assert ([one.number for one in told], storing.lost) == ([1], None)
    assert (waits[0], waits[-1], len(waits) > 2) == ("HBase is restarted", None, True)


@pytest.mark.parametrize(("refused", "is_lost"), [(range(100), True), (range(5, 100), False)])
def test_a_refusal_of_all_pages_from_the_first_ends_it_at_once(table, refused, is_lost):
    written = []

    def fail(call):
        if call.name == "write" and call.table == table.table:
            written.append(call)
            if len(written) - 1 in refused:
                raise StoreRefused("crawl.db: the file is read-only")

    storing = BatchStorer(
        WebTable(ListeningStore(table.store, fail), table.table, table.layout),
        IngestOptions(batch=1),
        lambda _: None,
        lambda _: None,
    )
    for number in range(50):
        storing.put(batch(number, f"/{number}"))
    storing.close()

    assert (isinstance(storing.lost, StoreRefused), len(written) < 10) == (is_lost, is_lost)


def test_a_full_disk_ends_it_at_once(table, manual_clock):
    written = []

    def fail(call):
        if call.name == "write" and call.table == table.table:
            written.append(call)
            raise StoreFull("crawl.db: the disk is full")

    full = WebTable(ListeningStore(table.store, fail), table.table, table.layout)
    storing = BatchStorer(full, IngestOptions(batch=1), lambda _: None, lambda _: None)

    for number in range(100):
        storing.put(batch(number, f"/{number}"))
    storing.close()

    assert isinstance(storing.lost, StoreFull)
    assert len(written) < 10
    assert manual_clock.passed < 1

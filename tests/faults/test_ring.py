"""A ring of pages has no gap when the processes that wrote it were killed; and a gap in one is found."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest
import ring
from ring_pages import Ring, write_on
from ring_verdict import verdict

import webtable
from nightly import examples
from webtable import Page
from webtable.rowkey import KeyRange
from webtable.schema import index_table
from webtable.store import Delete

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
PAGES = int(os.environ.get("WEBTABLE_FAULT_RING", examples(1_000, 200_000)))
"""How many pages the ring has."""
KILLS = 3 + PAGES // 10_000
NOW = round(time.time() * 1000)
SMALL = Ring(writers=1, rounds=4, width=5)
VICTIM = SMALL.url(0, 2, 3)
LINKS_THERE = SMALL.url(0, 3, 3)


# By gateways writers are killed by day in test_kills.
BY_GATEWAYS = pytest.param("hbase", marks=[pytest.mark.hbase, pytest.mark.nightly])


@pytest.fixture(params=["sqlite", BY_GATEWAYS, pytest.param("native", marks=pytest.mark.hbase)])
def url(request, tmp_path):
    """The URL of a table that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ring.db")
    server, _, options = request.getfixturevalue(f"{request.param}_url").partition("?")
    return f"{server}/ring_{os.getpid()}_{time.monotonic_ns()}?{options}"


@pytest.mark.slow
def test_a_ring_has_no_gap_behind_writers_that_were_killed(url):
    found = ring.survives(url, PAGES, kills=KILLS)

    # A batch of the embedded store is there as a whole or not at all, also what it removes.
    assert found.stale == 0 or url.startswith("hbase")


@pytest.fixture
def table(url, tmp_path):
    """A table with a small ring."""
    with webtable.open(url, create=True) as table:
        write_on(url, tmp_path / "ledger", SMALL, 0)
        yield table


def removed(table, name, row, columns=None):
    assert table.store.write(name, [Delete(row, NOW, columns)]) == [None]


def page_without_its_inlinks(table):
    """Remove all of a page but the links that lead to it, which are in its row."""
    row = table.key.encode(VICTIM)
    (found,) = table.store.read(table.table, [row])
    removed(table, table.table, row, [column for column in found.cells if not column.startswith(b"inlinks:")])


def row_as_a_whole(table):
    removed(table, table.table, table.key.encode(VICTIM))


def inlink(table):
    removed(table, table.table, table.key.encode(VICTIM), [f"inlinks:{LINKS_THERE}".encode()])


def entry(table):
    """Remove an entry of the time index."""
    name = index_table(table.table, "time").name
    removed(table, name, next(table.store.scan(name, [KeyRange()])).key)


def content(table):
    """Put a later capture of a page with another body."""
    page = table.get(VICTIM)
    later = page.fetched_at + timedelta(seconds=1)
    table.put(Page(url=VICTIM, body=b"another", fetched_at=later, status=page.status, outlinks=page.outlinks))


@pytest.mark.slow
@pytest.mark.usefixtures("manual_clock")
@pytest.mark.parametrize("url", ["sqlite", pytest.param("hbase", marks=pytest.mark.hbase)], indirect=True)
@pytest.mark.parametrize(
    ("taken", "told"),
    [
        # No question finds a row without its inlinks: that it is gone the ledger says, and the link index.
        (row_as_a_whole, {"not there": 1, "gaps in the ring": 1, "without an inlink": 1, "lacking in an index": 1}),
        (page_without_its_inlinks, {"not there": 1, "gaps in the ring": 1, "linked to and missing": 1}),
        (inlink, {"counted too low": 1, "without an inlink": 1, "with other inlinks": 1, "lacking in an index": 1}),
        (entry, {"lacking in an index": 1}),
        (content, {"not as put": 2}),
    ],
)
def test_what_was_taken_by_hand_is_found(table, url, taken, told):
    taken(table)

    found = verdict(table, url, SMALL)

    assert {kind: len(some) for kind, some in found.wrong.items() if kind in told} == told

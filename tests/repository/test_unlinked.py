"""Pages that nobody links to: counted as such by a refresh, and found by `orphans`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import Link, LinkCounts, Page
from webtable.repository.links.queue import RecountQueue

COUNTS = ("link_counts",)
ASKED = {
    "get": lambda table, url: table.get(url, columns=COUNTS),
    "get_many": lambda table, url: next(table.get_many([url], columns=COUNTS)),
    "pages": lambda table, url: next(iter(table.pages("a.example", columns=COUNTS))),
    "pages in the order of the store": lambda table, url: next(
        iter(table.pages("a.example", columns=COUNTS, order="storage"))
    ),
    "fetched": lambda table, url: next(iter(table.fetched(columns=COUNTS))),
    "search": lambda table, url: next(iter(table.search("word", domain="a.example", columns=COUNTS))).page,
    "search in titles": lambda table, url: (
        next(iter(table.search("t", domain="a.example", in_="title", columns=COUNTS))).page
    ),
    "dead_ends": lambda table, url: next(iter(table.dead_ends(columns=COUNTS))),
}


@pytest.fixture
def own(new_url):
    with webtable.open(new_url(), create=True) as table:
        yield table


def page(path="/", *, seconds=3600.0, links=(), host="a.example"):
    """Return a capture of *seconds* ago that links to the URLs *links*."""
    return Page(
        url=f"https://{host}{path}",
        html=b"<title>t</title>word %d" % len(links),
        title="t",
        content_type="text/html",
        fetched_at=datetime.now(UTC) - timedelta(seconds=seconds),
        outlinks=tuple(map(Link, links)),
    )


def counts_of(table, path="/"):
    return table.get(f"https://a.example{path}", columns=COUNTS).link_counts


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_page_that_nobody_links_to_has_no_inlinks_once_links_were_counted(own, ask):
    own.put(page())
    assert ask(own, "https://a.example/").link_counts is None

    began = datetime.now(UTC)
    own.refresh_links()

    counts = ask(own, "https://a.example/").link_counts
    assert counts == LinkCounts(counted_at=counts.counted_at)
    assert abs(counts.counted_at - began) < timedelta(seconds=5)


def test_a_page_that_was_fetched_after_the_last_count_is_not_counted(own):
    own.put(page("/old"))
    own.refresh_links()

    own.put(page("/new", seconds=-60))

    assert counts_of(own, "/new") is None
    assert counts_of(own, "/old") is not None


def test_a_page_is_not_counted_whose_writer_did_not_come_to_its_end(own):
    queue = RecountQueue(own.store, own.table)
    own.put(page("/before", seconds=60))
    queue.write([queue.entered([own.key.encode("https://a.example/after")])])
    own.put(page("/after", seconds=-0.5))

    own.refresh_links(also_unfinished=True)

    assert counts_of(own, "/before") is not None
    assert counts_of(own, "/after") is None


def test_what_a_refresh_writes_does_not_grow_with_the_pages_that_nobody_links_to(own):
    with own.writer() as writer:
        for number in range(300):
            writer.put(page(f"/{number}"))
    before = {name: sum(1 for _ in own.store.scan(name, [webtable.KeyRange()])) for name in own.store.tables()}

    own.refresh_links()

    after = {name: sum(1 for _ in own.store.scan(name, [webtable.KeyRange()])) for name in own.store.tables()}
    grown = {name: count - before[name] for name, count in after.items() if count > before[name]}
    assert list(grown.values()) == [1], "the mark of the refresh, and nothing else"


def test_a_page_has_a_count_where_its_links_went_away(own):
    own.put(page("/", seconds=100, links=["https://a.example/b"]))
    own.put(page("/b"))
    own.refresh_links()
    assert counts_of(own, "/b").inlinks == 1

    own.put(page("/", seconds=50))
    own.refresh_links()

    assert counts_of(own, "/b").inlinks == 0


def test_a_mark_that_cannot_be_read_is_no_mark_until_the_next_refresh(own):
    own.put(page())
    own.refresh_links()
    meta = webtable.schema.meta_table(own.table).name
    (row,) = own.store.read(meta, [b"links"])
    ((column, (cell, *_)),) = row.cells.items()
    damaged = cell.value.replace(b"20", b"19", 1)
    own.store.write(meta, [webtable.store.Put(b"links", [webtable.store.NewCell(column, cell.timestamp, damaged)])])
    own.refreshed._known = 0.0, None

    assert counts_of(own) is None
    own.refresh_links()
    assert counts_of(own) is not None


def test_the_index_of_links_has_nothing_to_repair_for_a_page_that_nobody_links_to(own):
    own.put(page())
    own.refresh_links()

    assert own.verify_index("link").is_empty
    assert [one.url for one in own.indexed("link", columns=COUNTS)] == ["https://a.example/"]
    assert list(own.most_linked()) == list(own.most_linked(order="fewest")) == []

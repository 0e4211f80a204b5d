"""Pages that nobody links to: counted as such by a refresh, and found by `orphans`; and those that link to nobody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import webtable
from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import FullScanNeeded, IndexNeeded, InvalidArgument, InvalidToken, UnknownColumn
from webtable.page import LinkCounts
from webtable.repository.links.unlinked import FIRST_SOURCES
from webtable.repository.upkeep.queue import RecountQueue

COUNTS = ("link_counts",)
ASKED = {
    "get": lambda table, url: table.get(url, columns=COUNTS),
    "get_many": lambda table, url: next(table.get_many([url], columns=COUNTS)),
    "pages": lambda table, url: next(iter(table.pages("a.example", columns=COUNTS))),
    "pages in the order of the store": lambda table, url: next(
        iter(table.pages("a.example", columns=COUNTS, order="storage"))
    ),
    "fetched": lambda table, url: next(iter(table.fetched(columns=COUNTS))),
    "search": lambda table, url: next(iter(table.search("word", "a.example", columns=COUNTS))).page,
    "search in titles": lambda table, url: next(iter(table.search("t", "a.example", in_="title", columns=COUNTS))).page,
    "dead_ends": lambda table, url: next(iter(table.links.dead_ends(columns=COUNTS))),
}


@pytest.fixture
def own(new_url):
    with webtable.open(new_url(), create=True) as table:
        yield table


def page(path="/", *, seconds=3600.0, links=(), host="a.example"):
    """Return a capture of *seconds* ago that links to the URLs *links*."""
    return Page(
        url=f"https://{host}{path}",
        body=b"<title>t</title>word %d" % len(links),
        title="t",
        content_type="text/html",
        fetched_at=datetime.now(UTC) - timedelta(seconds=seconds),
        outlinks=tuple(map(Link, links)),
    )


def counts_of(table, path="/"):
    return table.get(f"https://a.example{path}", columns=COUNTS).link_counts


def sizes_of(table):
    """Return how many rows each table of the web table has."""
    names = [name for name in table.store.tables() if name.startswith(table.table)]
    return {name: sum(1 for _ in table.store.scan(name, [webtable.rowkey.KeyRange()])) for name in names}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_page_that_nobody_links_to_has_no_inlinks_once_links_were_counted(own, ask):
    own.put(page())
    assert ask(own, "https://a.example/").link_counts is None

    began = datetime.now(UTC)
    own.links.refresh()

    counts = ask(own, "https://a.example/").link_counts
    assert counts == LinkCounts(counted_at=counts.counted_at)
    assert abs(counts.counted_at - began) < timedelta(seconds=5)


def test_a_page_that_was_fetched_after_the_last_count_is_not_counted(own):
    own.put(page("/old"))
    own.links.refresh()

    own.put(page("/new", seconds=-60))

    assert counts_of(own, "/new") is None
    assert counts_of(own, "/old") is not None


def test_a_page_is_not_counted_whose_writer_did_not_come_to_its_end(own):
    queue = RecountQueue(own.store, own.table)
    own.put(page("/before", seconds=60))
    queue.write([queue.entered([own.key.encode("https://a.example/after")])])
    own.put(page("/after", seconds=-0.5))

    own.links.refresh(also_unfinished=True)

    assert counts_of(own, "/before") is not None
    assert counts_of(own, "/after") is None


def test_what_a_refresh_writes_does_not_grow_with_the_pages_that_nobody_links_to(own):
    with own.writer() as writer:
        for number in range(300):
            writer.put(page(f"/{number}"))
    before = sizes_of(own)

    own.links.refresh()

    grown = {name: count - before[name] for name, count in sizes_of(own).items() if count > before[name]}
    assert list(grown.values()) == [1], "the mark of the refresh, and nothing else"


def test_a_page_has_a_count_where_its_links_went_away(own):
    own.put(page("/", seconds=100, links=["https://a.example/b"]))
    own.put(page("/b"))
    own.links.refresh()
    assert counts_of(own, "/b").inlinks == 1

    own.put(page("/", seconds=50))
    own.links.refresh()

    assert counts_of(own, "/b").inlinks == 0


def test_a_mark_that_cannot_be_read_is_no_mark_until_the_next_refresh(own):
    own.put(page())
    own.links.refresh()
    meta = webtable.schema.meta_table(own.table).name
    (row,) = own.store.read(meta, [b"links"])
    ((column, (cell, *_)),) = row.cells.items()
    damaged = cell.value.replace(b"20", b"19", 1)
    own.store.write(meta, [webtable.store.Put(b"links", [webtable.store.NewCell(column, cell.timestamp, damaged)])])
    own._context.refreshed._cached.forget()

    assert counts_of(own) is None
    own.links.refresh()
    assert counts_of(own) is not None


def test_the_index_of_links_has_nothing_to_repair_for_a_page_that_nobody_links_to(own):
    own.put(page())
    own.links.refresh()

    assert own.indexes.verify("link").is_empty
    assert [one.url for one in own.indexed("link", columns=COUNTS)] == ["https://a.example/"]
    assert list(own.links.most_linked()) == list(own.links.most_linked(order="fewest")) == []


def urls(found):
    return [one.url for one in found]


def site_of(site):
    """Store pages of two hosts, and return the URLs of those that no other page links to, and none of their host."""
    home, other = site.url(), f"https://www.{site.domain}/"
    site.store(
        site.page("/", outlinks=(Link(site.url("/a")), Link(site.url("/c")))),
        site.page("/a", outlinks=(Link(site.url("/a")), Link(other))),
        site.page("/away"),
        site.page("/c"),
        site.page("/self", outlinks=(Link(site.url("/self")),)),
        site.page("/", host="www", outlinks=(Link(site.url("/away")), Link(site.url("/c")))),
        site.page("/alone", host="www"),
    )
    alone = [other + "alone", home, site.url("/self")]
    within = [other, other + "alone", home, site.url("/away"), site.url("/self")]
    return {False: alone, True: within}


@pytest.mark.parametrize("within_host", [False, True])
@on_every_store
def test_orphans_are_the_pages_that_no_other_page_links_to(site, within_host):
    expected = site_of(site)[within_host]

    assert urls(site.table.links.orphans(site.domain, within_host=within_host)) == expected
    stored = urls(site.table.links.orphans(site.domain, within_host=within_host, order="storage"))
    assert stored == sorted(expected, key=site.table.key.encode)


def test_orphans_are_the_other_end_of_the_pages_that_are_linked_most(site):
    site_of(site)
    site.table.links.refresh()

    orphans = list(site.table.links.orphans(site.domain, columns=COUNTS))
    most, fewest = (urls(site.table.links.most_linked(site.domain, order=order)) for order in ("most", "fewest"))

    assert [page.link_counts.inlinks for page in orphans] == [0, 0, 0]
    assert most == fewest[::-1]
    assert sorted(urls(orphans) + fewest) == sorted(urls(site.table.pages(site.domain)))


def test_a_page_is_an_orphan_whenever_links_were_counted_last(site):
    site.store(site.page("/", age=900, body=b"1", outlinks=(Link(site.url("/b")),)), site.page("/b", age=900))
    site.table.links.refresh()

    site.store(site.page("/", age=100, body=b"2"), site.page("/new", age=100, outlinks=(Link(site.url()),)))

    assert urls(site.table.links.orphans(site.domain)) == [site.url("/b"), site.url("/new")]


@pytest.mark.parametrize("others", [1, FIRST_SOURCES, 3 * FIRST_SOURCES])
def test_links_of_a_pages_own_host_are_found_behind_those_of_many_others(site, others):
    hosts = [f"a{number}" for number in range(others)]
    target, near = (Link(f"https://www.{site.domain}/{path}") for path in ("target", "near"))
    site.store(*(site.page("/", host=host, outlinks=(target, near)) for host in hosts))
    site.store(site.page("/target", host="www"), site.page("/near", host="www"))
    site.store(Page(url=f"http://www.{site.domain}:8080/z", outlinks=(near, target._replace(url=target.url + "er"))))

    own = urls(site.table.links.orphans(f"www.{site.domain}", within_host=True))

    assert own == [target.url, f"http://www.{site.domain}:8080/z"]
    assert urls(site.table.links.orphans(f"www.{site.domain}")) == own[1:]


@pytest.mark.parametrize("order", ["url", "storage"])
@pytest.mark.parametrize("within_host", [False, True])
def test_orphans_are_limited_and_go_on_behind_a_token(site, within_host, order):
    site_of(site)

    def ask(**asking):
        return site.table.links.orphans(site.domain, within_host=within_host, order=order, **asking)

    expected, found, token = urls(ask()), [], None
    while token or not found:
        batch = ask(after=token).page(1)
        found += urls(batch)
        token = batch.next_token

    assert found == expected
    assert urls(ask(limit=2)) == expected[:2]
    assert list(ask(limit=0)) == []
    with pytest.raises(InvalidToken):
        site.table.links.orphans(site.domain, within_host=not within_host, after=ask().page(1).next_token)


def test_orphans_come_with_the_columns_that_are_asked_for(site):
    site_of(site)
    columns = ["body", "outlinks", "link_counts"]

    found = list(site.table.links.orphans(site.domain, columns=columns))

    assert found == list(site.table.get_many(urls(found), columns=columns))
    assert {page.outlinks for page in site.table.links.orphans(site.domain)} == {None}


def test_orphans_of_many_pages_take_few_calls(spied):
    site, calls = spied.site, []
    links = tuple(Link(site.url(f"/{number:03d}")) for number in range(300))
    site.store(*(site.page(f"/{number:03d}", outlinks=links) for number in range(20)))
    site.store(*(site.page(f"/{number:03d}") for number in range(20, 400)))
    spied.listener = lambda call, *_: calls.append(call)

    assert urls(site.table.links.orphans(site.domain)) == [site.url(f"/{number:03d}") for number in range(300, 400)]
    assert len(calls) <= 16


def test_orphans_need_a_domain_and_the_index_of_links(tmp_path, own, large_store):
    with pytest.raises(FullScanNeeded):
        own.links.orphans()
    with pytest.raises(UnknownColumn):
        own.links.orphans("a.example", columns=["bodies"])
    with pytest.raises(InvalidArgument, match="order"):
        own.links.orphans("a.example", order="most")
    assert list(own.links.orphans(webtable.ALL)) == []
    assert "inlinks" in str(own.links.orphans("a.example").explain())
    with webtable.open(tmp_path / "bare.db", create=True, indexes=["time"]) as bare, pytest.raises(IndexNeeded):
        list(bare.links.orphans("a.example"))


def test_a_page_whose_links_all_lead_to_itself_is_a_dead_end(site):
    home = site.url()
    spelled = (Link(home), Link(home.replace("https", "HTTPS")), Link(home + "x/.."))
    site.store(
        site.page("/", outlinks=spelled),
        site.page("/away", outlinks=(Link(site.url("/away")), Link(home))),
        site.page("/none"),
        site.page("/self", outlinks=(Link(site.url("/self")),)),
        site.page("/unread", outlinks=None),
    )

    assert urls(site.table.links.dead_ends(site.domain)) == [home, site.url("/none"), site.url("/self")]
    assert site.table.get(home).outlink_count == 3


def test_a_dead_end_stays_one_as_long_as_its_content_does(site):
    def store(days, html, *paths, **fields):
        links = tuple(Link(site.url(path)) for path in paths)
        site.store(site.page("/a", age=days * 86_400, body=html, outlinks=links, **fields))
        return urls(site.table.links.dead_ends(site.domain)) == [site.url("/a")]

    assert store(9, b"1", "/a")
    assert store(8, b"1", "/a")
    site.table.put_not_modified(site.url("/a"), site.now - timedelta(days=7))
    assert urls(site.table.links.dead_ends(site.domain)) == [site.url("/a")]
    assert not store(6, b"2", "/a", "/b")
    assert store(5, b"3", "/a")
    assert store(6.5, b"4", "/b"), "it is late, and the page has other content since"
    site.store(site.page("/copy", age=86_400, body=None, outlinks=None, same_as=site.url("/a"), status=200))
    assert urls(site.table.links.dead_ends(site.domain)) == [site.url("/a")]

"""Crawling a page again: what is kept and renewed, what is history, and what becomes of its links."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from deaths import Killed, Town, listening

import webtable
from nightly import examples
from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import InvalidCapture, InvalidURL
from webtable.repository.page_storage.decisions import decide
from webtable.repository.page_storage.state import Capture, Stored, Version
from webtable.store import NewCell, Put, Wanted

DAY = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def town(site):
    return Town(site.table, site.domain, site.now)


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "own.db", create=True) as table:
        yield table


def linked(town, *paths, **fields):
    return town.page("/", body=b"home", outlinks=town.links(*paths), **fields)


class Writes:
    """Counts what is written to a table, by table and by the family of the column."""

    def __init__(self, table):
        self.cells = Counter()
        self.table = listening(table, self._listen)

    def _listen(self, call, table, *given):
        for change in given[0] if call == "write" else ():
            for cell in change.cells if isinstance(change, Put) else ():
                self.cells[cell.column.partition(b":")[0].decode()] += 1

    def store(self, *pages):
        """Store the pages and return how many cells went to each family."""
        self.cells.clear()
        with self.table.writer() as writer:
            for page in pages:
                writer.put(page)
        return dict(self.cells)


def test_the_validators_are_what_the_server_gave(town):
    modified = datetime(2026, 3, 1, 8, 0, 5, tzinfo=UTC)
    town.store(
        town.page("/both", body=b"x", etag='W/"1"', last_modified=modified),
        town.page("/etag", body=b"x", etag='"2"'),
        town.page("/date", body=b"x", headers={"last-modified": "Sun, 01 Mar 2026 08:00:05 GMT"}),
        town.page("/none", body=b"x"),
    )

    def asked(path):
        return town.table.validators(town.url(path))

    assert asked("/both") == {"If-None-Match": 'W/"1"', "If-Modified-Since": format_datetime(modified, usegmt=True)}
    assert asked("/etag") == {"If-None-Match": '"2"'}
    assert asked("/date") == {"If-Modified-Since": "Sun, 01 Mar 2026 08:00:05 GMT"}
    assert asked("/none") == asked("/nowhere") == {}


def test_a_page_of_which_a_304_would_be_of_no_use_has_no_validators(town):
    town.store(
        town.page("/error", body=b"x", etag='"1"', status=500),
        town.page("/moved", etag='"1"', status=301, redirect_to=town.url("/")),
        town.page("/bodiless", etag='"1"'),
        town.page("/cut", body=b"x", etag='"1"', truncated=True),
    )

    for path in ("/error", "/moved", "/bodiless", "/cut"):
        assert town.table.validators(town.url(path)) == {}, path


def test_a_page_whose_body_has_expired_has_no_validators(tmp_path, manual_clock):
    with webtable.open(tmp_path / "ttl.db", create=True, ttl=1) as table:
        town = Town(table, now=manual_clock.now)
        town.store(town.page("/", body=b"x", etag='"1"', days=-1 / DAY))
        assert table.validators(town.url()) == {"If-None-Match": '"1"'}

        manual_clock.passed += 2.5

        assert table.validators(town.url()) == {}
        assert table.get(town.url()).etag == '"1"'


def test_a_304_keeps_what_the_page_has(town):
    town.store(linked(town, "/a", "/b", etag='"1"', headers={"x-old": "1", "date": "then"}, days=3))
    before = town.table.get(town.url())

    town.table.put_not_modified(town.url(), town.now - timedelta(days=1), {"date": "now", "etag": '"1"'})

    after = town.table.get(town.url())
    assert (after.body, after.outlinks, after.title, after.digest) == (
        before.body,
        before.outlinks,
        before.title,
        before.digest,
    )
    assert (after.status, after.etag) == (200, '"1"')
    assert after.headers == {"x-old": "1", "date": "now", "etag": '"1"'}
    assert after.fetched_at == town.now - timedelta(days=1)
    assert after.changed_at == before.fetched_at
    assert after.change_count == 0
    assert [page.fetched_at for page in town.table.history(town.url())] == [before.fetched_at]


def test_a_writer_puts_a_304_of_a_page_that_it_may_have_put_itself(town):
    page = linked(town, "/a", "/b", days=3)
    with town.table.writer() as writer:
        writer.put(page)

        receipt = writer.put_not_modified(page.url, town.now, {"date": "now"})

        assert not receipt.result().is_new
    after = town.table.get(page.url)
    assert (after.body, after.status, after.fetched_at) == (page.body, 200, town.now)


def test_a_304_of_what_is_not_stored_is_refused(town):
    with pytest.raises(InvalidCapture, match="not stored"):
        town.table.put_not_modified(town.url("/nowhere"))
    with pytest.raises(InvalidURL):
        town.table.put_not_modified("nothing")
    assert town.table.get(town.url("/nowhere")) is None


def test_a_304_after_an_error_brings_the_content_back(town):
    town.store(linked(town, "/a", etag='"1"', days=3))
    town.store(town.page("/", status=503, body=b"sorry", days=2))
    assert list(town.table.links.to(town.url("/a"))) == []

    town.table.put_not_modified(town.url(), town.now - timedelta(days=1))

    page = town.table.get(town.url())
    assert (page.status, page.body, page.change_count) == (200, b"home", 2)
    assert [link.source for link in town.table.links.to(town.url("/a"))] == [town.url()]
    assert list(town.table.errors(town.domain)) == []


def test_a_304_after_an_error_brings_back_nothing_that_was_fetched_later():
    def at(hour: int) -> datetime:
        return datetime(2026, 1, 1, hour, tzinfo=UTC)

    # A late capture that crossed a delete leaves its content above what is the page then.
    versions = [Version(at(9), Capture("late")), Version(at(5), Capture("error", status=404))]
    versions.append(Version(at(3), Capture("good")))
    error = Page(url="https://a.example/", fetched_at=at(5), status=404, digest="error", _content_at=at(5))
    again = Page(url=error.url, fetched_at=at(7), status=304, same_as=error.url)

    (write,) = decide(again, Stored(error, versions), None)

    assert write.page.digest == "good"


def test_an_unchanged_body_is_no_change(town):
    for days in (5, 4, 3):
        town.store(linked(town, "/a", days=days))
    town.store(town.page("/", body=b"other", days=2))
    town.store(town.page("/", body=b"other", days=1))

    page = town.table.get(town.url())
    history = town.table.history(town.url())

    assert (page.change_count, page.changed_at) == (1, town.now - timedelta(days=2))
    assert page.fetched_at == town.now - timedelta(days=1)
    assert [version.fetched_at for version in history] == [town.now - timedelta(days=2), town.now - timedelta(days=5)]


def test_the_changes_of_a_page_are_counted(town):
    for days, body in enumerate([b"a", b"b", b"b", b"c", b"a"]):
        town.store(town.page("/", body=body, days=9 - days))

    assert town.table.get(town.url()).change_count == 3
    assert len(town.table.history(town.url())) == 3  # as many as are kept


def test_outdated_is_the_list_of_what_to_fetch_again(town):
    town.store(*(town.page(f"/{days}", body=b"x", days=days) for days in (9, 8, 7, 2, 1)))
    week = {"not_fetched_since": town.now - timedelta(days=5), "site": town.domain}
    assert [page.url for page in town.table.outdated(**week)] == [town.url(path) for path in ("/9", "/8", "/7")]

    town.table.put_not_modified(town.url("/8"), town.now - timedelta(hours=1))
    town.store(town.page("/9", body=b"x", days=0.1))

    assert [page.url for page in town.table.outdated(**week)] == [town.url("/7")]
    modified = town.table.outdated(town.domain, not_modified_since=town.now - timedelta(days=5))
    assert [page.url for page in modified] == [town.url(path) for path in ("/9", "/8", "/7")]


def test_content_and_links_are_renewed_before_half_of_their_time_is_over(tmp_path):
    with webtable.open(tmp_path / "ttl.db", create=True, ttl=10 * DAY) as table:
        town = Town(table)
        town.store(linked(town, "/a", days=9.9))

        contents = []
        for days in (8, 6, 5, 4.8, 4, 2, 0, -0.25):
            table.put_not_modified(town.url(), town.now - timedelta(days=days))
            contents.append((table.get(town.url()).stored.content_at - town.now) / timedelta(days=1))

        assert contents == pytest.approx([-9.9, -9.9, -9.9, -4.8, -4.8, -4.8, -4.8, 0.25])


@pytest.mark.parametrize("again", ["304", "body", "other body"])
def test_what_is_alive_never_expires(tmp_path, manual_clock, again):
    with webtable.open(tmp_path / "ttl.db", create=True, ttl=2) as table:
        town = Town(table, now=manual_clock.now)
        town.store(linked(town, "/a", days=0))

        for number in range(26):
            now = manual_clock.now
            if again == "304":
                table.put_not_modified(town.url(), now)
            else:
                body = b"%d" % number if again == "other body" else b"home"
                table.put(Page(url=town.url(), body=body, title="t", outlinks=town.links("/a"), fetched_at=now))
            page = table.get(town.url())
            assert page.body is not None
            assert page.outlinks == town.links("/a")
            assert [link.source for link in table.links.to(town.url("/a"))] == [town.url()]
            manual_clock.passed += 0.25


def test_a_recrawl_that_changes_no_link_writes_no_inlinks(town):
    town.store(linked(town, "/a", "/b", days=9))
    writes = Writes(town.table)

    assert "inlinks" not in writes.store(linked(town, "/a", "/b", days=8))
    assert "inlinks" not in writes.store(town.page("/", body=b"new", outlinks=town.links("/a", "/b"), days=7))
    assert "inlinks" not in writes.store(town.page("/", body=b"new", outlinks=town.links("/b", "/a"), days=6))
    assert writes.store(town.page("/", body=b"newer", outlinks=town.links("/a", "/b", "/c"), days=5))["inlinks"] == 1
    assert [link.source for link in town.table.links.to(town.url("/a"))] == [town.url()]


def test_inlinks_are_renewed_once_in_half_of_the_contents_time(tmp_path):
    with webtable.open(tmp_path / "ttl.db", create=True, ttl=10 * DAY) as table:
        town, writes = Town(table), Writes(table)
        town.store(linked(town, "/a", "/b", days=9.9))

        written = [
            writes.store(town.page("/", body=b"%d" % day, outlinks=town.links("/a", "/b"), days=day)).get("inlinks", 0)
            for day in (9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
        ]

        assert written == [0, 0, 0, 0, 0, 2, 0, 0, 0, 0]
        renewed = [
            cell.timestamp
            for row in table.store.scan("pages", [webtable.rowkey.KeyRange()], Wanted([b"inlinks:"]))
            for cells in row.cells.values()
            for cell in cells
        ]
        assert renewed == [(town.now - timedelta(days=4) - EPOCH) // timedelta(milliseconds=1)] * 2


def test_a_page_that_is_put_again_leaves_its_inlinks_their_dates(town):
    captures = [
        linked(town, "/a", "/gone", days=9),
        town.page("/", body=b"new", outlinks=town.links("/a", "/b"), days=7),
        town.page("/", body=b"new", outlinks=town.links("/a", "/b"), days=5),
    ]

    found = []
    for capture in (*captures, captures[-1], captures[-1]):
        town.store(capture)
        links = [link for path in "ab" for link in town.table.links.to(town.url(f"/{path}"))]
        past = town.table.links.to(town.url("/gone"), past=True)
        found.append([(town.now - link.at).days for link in (*links, *past)])

    assert found == [[9], [9, 7, 7], [9, 7, 7], [9, 7, 7], [9, 7, 7]]


@on_every_store
def test_links_that_went_away_are_past_links_with_their_anchors(town):
    town.store(linked(town, "/a", "/b", days=5))
    town.store(town.page("/", body=b"new", outlinks=town.links("/b"), days=4))

    assert list(town.table.links.to(town.url("/a"))) == []
    (past,) = town.table.links.to(town.url("/a"), past=True)

    assert (past.source, past.anchor, past.is_current, past.at) == (
        town.url(),
        "to /a",
        False,
        town.now - timedelta(days=4),
    )
    assert list(town.table.links.to(town.url("/b"), past=True)) == []


def test_a_link_that_comes_back_is_no_past_link(town):
    for days, paths in ((5, ["/a"]), (4, []), (3, ["/a"])):
        town.store(town.page("/", body=b"%d" % days, outlinks=town.links(*paths), days=days))

    assert [link.source for link in town.table.links.to(town.url("/a"))] == [town.url()]
    assert list(town.table.links.to(town.url("/a"), past=True)) == []


def test_a_url_that_nobody_links_to_any_more_is_not_discovered(town):
    town.store(linked(town, "/a", "/b", days=5))
    assert list(town.table.links.discovered(town.domain)) == [town.url("/a"), town.url("/b")]

    town.store(town.page("/", body=b"new", outlinks=town.links("/b"), days=4))

    assert list(town.table.links.discovered(town.domain)) == [town.url("/b")]


def test_rows_that_others_link_to_are_no_pages(town):
    town.store(linked(town, "/a", "/b"))
    town.table.links.refresh()

    assert [page.url for page in town.table.pages(town.domain)] == [town.url()]
    assert town.table.get(town.url("/a")) is None
    assert list(town.table.links.most_linked(town.domain)) == []
    assert [page.url for page in town.table.fetched(town.domain)] == [town.url()]
    assert [(host.name, host.pages) for host in town.table.hosts(town.domain)] == [(town.domain, 1)]


def test_anchors_and_rel_are_kept(town):
    links = (
        Link(town.url("/a"), "Ein Anker \u00fc", "nofollow ugc"),
        Link(town.url("/b"), "", "nofollow"),
        Link(town.url("/c")),
        Link(town.url("/a"), "again"),
        Link("mailto:x@example.com", "mail"),
    )
    town.store(town.page("/", body=b"x", outlinks=links, days=5))

    def given(path):
        return [(link.anchor, link.rel) for link in town.table.links.to(town.url(path))]

    assert given("/a") == [("Ein Anker \u00fc", "nofollow ugc"), ("again", "")]
    assert given("/b") == [("", "nofollow")]
    assert given("/c") == [("", "")]

    town.store(town.page("/", body=b"x2", outlinks=(Link(town.url("/a"), "new", ""),), days=4))
    assert given("/a") == [("new", "")]


def test_self_links_are_counted_apart_and_links_of_the_domain_from_others(town):
    other = Town(town.table)
    town.store(
        town.page("/", body=b"x", outlinks=town.links("/", "/a")),
        town.page("/", host="sub", body=b"x", outlinks=town.links("/", "/a")),
    )
    town.store(Page(url=other.url(), outlinks=(Link(town.url()),), fetched_at=town.now - timedelta(days=1)))

    town.table.links.refresh()

    counts = town.table.get(town.url(), columns=["link_counts"]).link_counts
    assert (counts.inlinks, counts.internal, counts.external, counts.self_links) == (2, 1, 1, 1)
    assert counts.counted_at is not None


def test_a_hot_target_is_counted_once_a_run(table):
    town = Town(table)
    for number in range(30):
        town.store(town.page(f"/{number}", outlinks=town.links("/hot")))
    assert table.links.freshness().waiting == 30
    progress, writes = [], Writes(table)

    recount = writes.table.links.refresh(on_progress=progress.append)

    assert (recount.pages, recount.hosts, recount.batches) == (1, 1, 30)
    assert progress == [1, 31]  # the one for its links, then all thirty for their host
    assert writes.cells["metadata"] == 1
    assert table.links.freshness().waiting == 0
    assert table.links.refresh().pages == 0


def test_counts_that_did_not_change_are_right_after_many_runs(table):
    town = Town(table).build()
    for _ in range(3):
        table.links.refresh()
        town.store(town.page("/a", days=1, body=b"a" * 1_000, outlinks=town.links("/", "/b", "/never")))

    assert [page.link_counts.inlinks for page in table.links.most_linked()] == [3, 2, 2, 2]


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_call_is_done_again_by_the_next(table):
    town = Town(table).build()
    table.links.refresh()
    for calls in range(100):
        town.store(town.page(f"/{calls}", days=1, outlinks=town.links("/b", "/twin")))
        left = iter(range(calls))

        def dying(*_, left=left):
            if next(left, None) is None:
                raise Killed

        try:
            listening(table, dying).links.refresh()
        except Killed:
            is_done = False
        else:
            is_done = True
        table.links.refresh()

        counts = {page.url: page.link_counts.inlinks for page in table.links.most_linked()}
        assert counts[town.url("/twin")] == calls + 1
        assert counts[town.url("/b")] == calls + 3
        if is_done:
            assert calls > 4
            return
    raise AssertionError("it never comes to its end")


@pytest.mark.slow
def test_a_page_with_very_many_inlinks_is_read_counted_and_listed_in_bounded_memory(table):
    inlinks = examples(by_day=20_000, by_night=200_000)
    town = Town(table)
    town.store(town.page("/popular", body=b"x", outlinks=()))
    row = table.key.encode(town.url("/popular"))
    when = (town.now - EPOCH) // timedelta(milliseconds=1)
    for piece in range(inlinks // 10_000):
        cells = [
            NewCell(f"inlinks:https://{number % 97}.example/{number}".encode(), when, b"an anchor")
            for number in range(piece * 10_000, (piece + 1) * 10_000)
        ]
        assert table.store.write("pages", [Put(row, cells)]) == [None]
    sources = (town.page(f"/{number}", outlinks=town.links("/popular")) for number in range(200))
    town.store(*sources)
    tracemalloc.start()

    page = table.get(town.url("/popular"))
    listed = [found.url for found in table.pages(town.domain)]
    assert list(table.links.discovered(town.domain)) == []
    table.links.refresh()
    links = table.links.to(town.url("/popular"), town.domain)
    given = [link.source for link in links]
    first = links.page(5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert page.body == b"x"
    assert len(listed) == 201
    assert table.get(town.url("/popular"), columns=["link_counts"]).link_counts.inlinks == inlinks + 200
    assert given == sorted(town.url(f"/{number}") for number in range(200))
    assert [link.source for link in first] == given[:5]
    assert peak < 40 * 2**20


def test_the_links_of_a_page_with_many_sources_go_on_behind_a_token(town):
    town.store(*(town.page(f"/{number:03}", outlinks=town.links("/hub"), days=2) for number in range(150)))
    everything = [link.source for link in town.table.links.to(town.url("/hub"))]

    token, found, sizes = None, [], []
    while token or not found:
        batch = town.table.links.to(town.url("/hub"), after=token).page(40)
        found += [link.source for link in batch]
        sizes.append(len(batch))
        town.store(town.page(f"/000{len(sizes)}", outlinks=town.links("/hub")))
        token = batch.next_token

    assert found == everything == sorted(everything)
    assert sizes == [40, 40, 40, 30]

"""A row that cannot be read is one damaged row: answers go on without it and tell of it, and it can be mended."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
import zstandard
from damaging import CAPTURE, COUNTS, HTML, PAGE, URLS, Web, cell_of, damage, flipped, found, write
from sites import Site

import webtable
from store_differences import on_every_store
from webtable import ALL, Link, Page, WebTable, WriteFailed
from webtable._checksums import place, with_checksum
from webtable.errors import DamagedRow, HiddenByDelete, LayoutMismatch
from webtable.indexes import page_id
from webtable.repository.upkeep.queue import RecountQueue
from webtable.rowkey import CompositeKey, Text
from webtable.schema import LAYOUT_COLUMN, LAYOUT_ROW
from webtable.store import NewCell, Put, Wanted


@pytest.fixture(scope="module")
def damaged_table(new_url):
    with webtable.open(new_url(), create=True) as table:
        yield table


@pytest.fixture
def web(damaged_table):
    """A site in a table that other modules do not use: some of what is damaged here stays."""
    now = datetime.now(UTC).replace(microsecond=0)
    return Web(Site(damaged_table, f"{uuid.uuid4().hex[:10]}.example", now))


def domain_of(web: Web) -> str:
    return web.site.domain


def strict(table: WebTable) -> WebTable:
    return WebTable(table.store, table.table, table.layout, strict=True)


LISTINGS = {
    "pages": lambda table, web: table.pages(domain_of(web)),
    "pages in storage order": lambda table, web: table.pages(domain_of(web), order="storage"),
    "pages with bodies": lambda table, web: table.pages(domain_of(web), columns=["body", "outlinks"]),
    "pages with a filter": lambda table, web: table.pages(domain_of(web), status=200),
    "fetched": lambda table, web: table.fetched(domain_of(web)),
    "largest": lambda table, web: table.largest(domain_of(web)),
    "with_status": lambda table, web: table.with_status(200, domain_of(web)),
}


@pytest.mark.parametrize(
    ("listing", "column"), [*((listing, PAGE) for listing in LISTINGS), ("pages with bodies", HTML)]
)
@on_every_store
def test_a_listing_leaves_a_damaged_row_out_and_tells_of_it(web, listing, column):
    damage(web.table, web.url("/a"), column, None)
    before = web.table.metrics.damaged

    answer = LISTINGS[listing](web.table, web)
    urls = found(answer)

    whole = {web.url(path) for path in ("/", "/b", "/gone")}
    assert set(urls) == whole - ({web.url("/gone")} if listing in ("with_status", "pages with a filter") else set())
    (error,) = answer.damaged
    assert (error.row, error.url) == (web.table.key.encode(web.url("/a")), web.url("/a"))
    assert column.decode() in error.reason
    assert web.table.metrics.damaged == before + 1


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_strict_table_raises_the_damaged_row_behind_the_results_in_front_of_it(web, listing):
    damage(web.table, web.url("/a"))

    given = []
    with pytest.raises(DamagedRow) as caught:
        given += [page.url for page in LISTINGS[listing](strict(web.table), web)]

    assert caught.value.url == web.url("/a")


def test_a_listing_that_goes_well_again_forgets_the_damage_of_the_last_time(web):
    damage(web.table, web.url("/a"))
    answer = web.table.pages(domain_of(web))
    list(answer)
    web.table.put(web.site.page("/a", age=60))

    assert len(list(answer)) == 4
    assert answer.damaged == []


@pytest.mark.parametrize("order", ["url", "storage"])
def test_limits_and_batches_are_exact_beside_damaged_rows(web, order):
    web.site.store(*(web.site.page(f"/more/{number:02d}") for number in range(20)))
    for number in (0, 3, 4, 5, 19):
        damage(web.table, web.url(f"/more/{number:02d}"))
    whole = found(web.table.pages(domain_of(web), order=order))

    limited = found(web.table.pages(domain_of(web), order=order, limit=7))
    batches, token = [], None
    while True:
        batch = web.table.pages(domain_of(web), order=order, after=token).page(3)
        batches.append(found(batch))
        if (token := batch.next_token) is None:
            break

    assert len(whole) == 4 + 15
    assert limited == whole[:7]
    assert [url for batch in batches for url in batch] == whole
    assert [len(batch) for batch in batches[:-1]] == [3] * 6


def test_get_raises_for_a_damaged_row_and_for_no_other(web):
    damage(web.table, web.url("/a"))

    with pytest.raises(DamagedRow, match="metadata:page"):
        web.table.get(web.url("/a"))
    assert web.table.get(web.url("/b")) is not None


def test_get_many_raises_in_the_place_of_a_damaged_row_and_goes_on_behind_it(web):
    damage(web.table, web.url("/a"))

    pages, given = web.table.get_many(web.urls("/", "/a", "/nowhere", "/b")), []
    for _ in range(4):
        try:
            given.append(next(pages))
        except DamagedRow as exc:
            given.append(exc.url)

    assert [one.url if isinstance(one, Page) else one for one in given] == [
        web.url("/"),
        web.url("/a"),
        None,
        web.url("/b"),
    ]
    assert list(pages) == []


def test_the_other_pages_of_a_batch_are_stored_where_the_row_of_one_is_damaged(web):
    damage(web.table, web.url("/a"))
    older = web.site.page("/a", age=9_000, body=b"older")
    others = [web.site.page(f"/more/{number}", body=b"x") for number in range(5)]

    with pytest.raises(WriteFailed) as caught:
        web.site.store(*others, older)

    assert [(outcome.url, type(outcome.error)) for outcome in caught.value.failures] == [(older.url, DamagedRow)]
    assert all(web.table.get(page.url) for page in others)
    with pytest.raises(DamagedRow):
        web.table.get(older.url)


@pytest.mark.parametrize("age", [3600, 60], ids=["of the same date", "newer"])
def test_a_capture_that_is_not_older_mends_a_damaged_row(web, age):
    damage(web.table, web.url("/a"))

    web.site.store(web.site.page("/a", age=age, body=b"again", outlinks=(Link(web.url("/b"), "b"),)))

    page = web.table.get(web.url("/a"))
    assert page is not None
    assert (page.body, page.change_count) == (b"again", 0)
    assert web.url("/a") in found(web.table.fetched(domain_of(web)))
    assert [link.source for link in web.table.links.to(web.url("/b"))] == web.urls("/", "/a")


def test_a_damaged_row_can_be_deleted(web):
    damage(web.table, web.url("/a"))

    assert web.table.delete(web.url("/a"))

    assert web.table.get(web.url("/a")) is None
    assert set(found(web.table.fetched(domain_of(web)))) == set(web.urls("/", "/b", "/gone"))
    assert web.table.metrics.damaged == 0 or web.table.fetched(domain_of(web)).damaged == []


def test_a_damaged_mark_of_a_delete_still_tells_what_it_hides(web):
    url, column = web.url("/a"), b"metadata:deleted"
    web.table.delete(url)
    damage(web.table, url, column)

    with pytest.raises(WriteFailed) as caught:
        web.site.store(web.site.page("/a", age=1800))

    assert isinstance(caught.value.failures[0].error, HiddenByDelete)


@pytest.mark.parametrize("column", [HTML, URLS, CAPTURE, COUNTS])
def test_a_page_with_any_damaged_cell_can_be_deleted(web, column):
    web.table.links.refresh(also_unfinished=True)
    url = web.url("/a")
    damage(web.table, url, column)

    assert web.table.delete(url)

    assert web.table.get(url) is None
    assert [link.source for link in web.table.links.to(web.url("/b"))] == [web.url("/")]


def test_damaged_links_do_not_stop_a_newer_capture(web):
    damage(web.table, web.url("/"), URLS)
    links = (Link(web.url("/b"), "only b"),)

    web.site.store(web.site.page("/", age=60, body=b"new home", outlinks=links))

    page = web.table.get(web.url("/"))
    assert page is not None
    assert (page.body, page.outlinks) == (b"new home", links)
    assert [link.source for link in web.table.links.to(web.url("/gone"))] == []


def test_a_damaged_version_is_left_out_of_the_history_and_stops_no_capture(web):
    url = web.url("/b")
    web.site.store(web.site.page("/b", age=60, body=b"second"))
    damage(web.table, url, CAPTURE)
    before = web.table.metrics.damaged

    web.site.store(web.site.page("/b", age=30, body=b"third"))

    assert [version.size for version in web.table.history(url)] == [5, web.pages[2].body and len(web.pages[2].body)]
    assert web.table.metrics.damaged == before + 1
    page = web.table.get(url)
    assert page is not None
    assert (page.body, page.change_count) == (b"third", 2)


def test_a_damaged_version_is_never_replaced_by_an_older_one(web):
    url = web.url("/b")
    web.site.store(web.site.page("/b", age=60, body=b"second"), web.site.page("/b", age=30, body=b"third"))
    at = web.site.now - timedelta(seconds=60)
    (row,) = web.table.store.read(web.table.table, [web.table.key.encode(url)], Wanted([CAPTURE], versions=3))
    write(web.table, web.table.table, row.key, CAPTURE, row.cells[CAPTURE][1].timestamp, b"\xff")

    with pytest.raises(DamagedRow):
        web.table.get(url, as_of=at)
    with pytest.raises(DamagedRow):
        web.table.diff(url)
    assert web.table.get(url, as_of=web.site.now) is not None


def test_a_renewal_of_a_damaged_body_fails_for_its_page_alone_and_stores_nothing(new_url):
    now = datetime.now(UTC)
    with webtable.open(new_url(), create=True, ttl=40 * 86_400, indexes=[]) as table:
        urls = [f"https://renewed.example/{number}" for number in range(3)]
        with table.writer() as writer:
            for url in urls:
                old = now - timedelta(days=30)
                writer.put(Page(url=url, body=b"<p>long lived</p>" * 20, outlinks=(), fetched_at=old))
        before = cell_of(table, urls[1], HTML)
        damage(table, urls[1], HTML, None)

        with pytest.raises(WriteFailed) as caught, table.writer() as writer:
            for url in urls:
                writer.put(Page(url=url, status=304, same_as=url, fetched_at=now))

        assert [(outcome.url, type(outcome.error)) for outcome in caught.value.failures] == [(urls[1], DamagedRow)]
        assert cell_of(table, urls[1], HTML).timestamp == before.timestamp
        assert [table.get(url).fetched_at.date() == now.date() for url in (urls[0], urls[2])] == [True, True]


def test_a_304_after_an_error_does_not_bring_back_a_damaged_body(web):
    url = web.url("/a")
    damage(web.table, url, HTML, None)
    web.site.store(web.site.page("/a", age=60, status=500))

    with pytest.raises(WriteFailed) as caught:
        web.table.put_not_modified(url)

    assert isinstance(caught.value.failures[0].error, DamagedRow)
    page = web.table.get(url)
    assert page is not None
    assert page.status == 500


def test_a_304_after_an_error_brings_back_the_body_before_it(web):
    url = web.url("/a")
    web.site.store(web.site.page("/a", age=60, status=500, body=b"error"))

    web.table.put_not_modified(url)

    page = web.table.get(url, verify=True)
    assert page is not None
    assert (page.status, page.body) == (200, web.pages[1].body)


def test_a_capture_that_repeats_a_damaged_page_fails_alone(web):
    damage(web.table, web.url("/a"), HTML, None)
    copy = web.site.page("/copy", age=60, same_as=web.url("/a"))

    with pytest.raises(WriteFailed) as caught:
        web.site.store(copy, web.site.page("/fine", body=b"fine"))

    assert [outcome.url for outcome in caught.value.failures] == [copy.url]
    assert web.table.get(copy.url) is None
    assert web.table.get(web.url("/fine")) is not None


def test_links_are_answered_beside_damaged_pages_and_inlinks(web):
    family, row = b"inlinks:", web.table.key.encode(web.url("/b"))
    for junk in (b"\xff\xfe", b"no url", b"https://[/"):
        write(web.table, web.table.table, row, family + junk, cell_of(web.table, web.url("/"), PAGE).timestamp, b"x")
    damage(web.table, web.url("/a"))

    answer = web.table.links.to(web.url("/b"))
    sources = [link.source for link in answer]
    broken = [(link.source, link.target) for link in web.table.links.broken(domain_of(web))]
    discovered = list(web.table.links.discovered(domain_of(web)))

    assert sources == [web.url("/")]
    assert {error.url for error in answer.damaged} == set(web.urls("/a", "/b"))
    assert broken == [(web.url("/"), web.url("/gone"))]
    assert discovered == [web.url("/new")]


def test_links_of_a_damaged_page_are_an_error_and_not_none(web):
    damage(web.table, web.url("/a"), URLS)

    with pytest.raises(DamagedRow):
        list(web.table.links.of(web.url("/a")))


def test_a_handle_of_a_damaged_page_is_an_error_and_not_none(web):
    damage(web.table, web.url("/a"))

    with pytest.raises(DamagedRow):
        web.table.by_id(page_id(web.url("/a")))


@pytest.mark.parametrize("columns", [(), ("body",)])
@pytest.mark.parametrize("in_", ["all", "title"])
def test_a_search_goes_on_behind_damaged_rows(web, columns, in_):
    web.site.store(*(web.site.page(f"/s/{number:02d}", title="salt", body=b"<p>salt") for number in range(40)))
    for number in (0, 17, 33):
        damage(web.table, web.url(f"/s/{number:02d}"))

    answer = web.table.search("salt", f"https://{domain_of(web)}/s/", in_=in_, columns=columns)
    hits = [hit.page.url for hit in answer]

    assert hits == [web.url(f"/s/{number:02d}") for number in range(40) if number not in (0, 17, 33)]
    assert {error.url for error in answer.damaged} == {web.url(f"/s/{number:02d}") for number in (0, 17, 33)}


def test_stats_count_damaged_rows_apart(web):
    damage(web.table, web.url("/a"))

    stats = web.table.stats(domain_of(web))

    assert (stats.pages, stats.damaged) == (3, 1)
    assert stats.by["status"]["200"].pages == 2
    assert "damaged: 1" in str(stats)


def test_entries_that_are_none_are_left_out_of_every_answer(web):
    table = web.table
    now = cell_of(table, web.url("/"), PAGE).timestamp
    for index, junk in (
        ("status", b"3:200_\xff\xfe"),
        ("status", b"3:200_no page"),
        ("status", b"3:"),
        ("time", b"0:fetched_20260101T000000000_\xff"),
        ("host", b"0:\xff/"),
        ("host", b"0:a b/"),
    ):
        write(table, f"{table.table}_{index}_idx", junk, b"ref:e", now, b"")

    assert set(found(table.with_status(200))) >= set(web.urls("/", "/a", "/b"))
    assert set(found(table.fetched())) >= set(web.urls("/", "/a", "/b", "/gone"))
    assert domain_of(web) in [host.name for host in table.hosts()]
    assert found(table.pages(domain_of(web)))
    assert table.indexes.repair("status", settle=0).repaired >= 3
    assert table.indexes.verify("status", settle=0).stale == 0


def test_hosts_with_unreadable_counts_have_none(web):
    table, host = web.table, domain_of(web)
    table.links.refresh(also_unfinished=True)
    entry = next(
        row.key
        for row in table.store.scan(f"{table.table}_host_idx", [webtable.rowkey.KeyRange()])
        if row.key[2:] == b"example." + host.split(".")[0].encode() + b"/"
    )
    at = table.store.read(f"{table.table}_host_idx", [entry], Wanted([b"ref:counts"]))[0].cells[b"ref:counts"][0]
    write(table, f"{table.table}_host_idx", entry, b"ref:counts", at.timestamp, b"{}")

    answer = table.hosts(host)

    assert [(found.name, found.pages) for found in answer] == [(host, None)]
    assert len(answer.damaged) == 1


def test_counting_goes_on_beside_damaged_rows_and_mends_counts(web):
    table = web.table
    table.links.refresh(also_unfinished=True)
    damage(table, web.url("/b"), COUNTS)
    damage(table, web.url("/gone"))
    write(table, table.table, table.key.encode(web.url("/b")), b"inlinks:no url", 1, b"")
    queue = RecountQueue(table.store, table.table)
    entered = queue.entered(
        [table.key.encode(web.url("/b")), b"\xff no key"], pages=[b"\xff no key"], hosts=[domain_of(web), "no host"]
    )
    queue.write([entered, queue.done(entered)])

    recount = table.links.refresh()

    assert recount.damaged >= 3
    page = table.get(web.url("/b"), columns=["link_counts"])
    assert page is not None
    assert page.link_counts is not None
    assert (page.link_counts.inlinks, page.link_counts.external) == (2, 0)
    assert [host.pages for host in table.hosts(domain_of(web))] == [3]


def test_a_damaged_batch_of_the_queue_is_removed_and_counted(web):
    table = web.table
    table.links.refresh(also_unfinished=True)
    queue = RecountQueue(table.store, table.table)
    entered = queue.entered([table.key.encode(web.url("/b"))])
    queue.write([entered, queue.done(entered)])
    for cell in entered.cells:
        write(table, queue.table, entered.row, cell.column, cell.timestamp, flipped(cell.value, len(cell.value) - 3))
    write(table, queue.table, b"no batch", b"queue:done", 5, b"")

    recount = table.links.refresh()

    assert (recount.batches, recount.damaged) == (2, 2)
    assert table.links.freshness() == (0, None)


def test_indexes_are_rebuilt_verified_and_repaired_beside_damaged_rows(new_url):
    with webtable.open(new_url(), create=True) as table:
        web = Web(Site(table, "verified.example", datetime.now(UTC).replace(microsecond=0)))
        damage(table, web.url("/a"))

        rebuilt = {name: table.indexes.rebuild(name) for name in table.indexes.states()}
        drifts = {name: table.indexes.verify(name, settle=0) for name in table.indexes.states()}
        repaired = table.indexes.repair("link", settle=0)

        assert set(rebuilt.values()) == {3}
        assert {name: (drift.damaged, drift.missing, drift.stale) for name, drift in drifts.items()} == dict.fromkeys(
            drifts, (1, 0, 0)
        )
        assert not drifts["time"].is_empty
        assert any(web.url("/a") in example for example in drifts["time"].examples)
        assert repaired.damaged == 1
        web.site.store(web.site.page("/a", age=60))
        assert table.indexes.verify("time", settle=0).damaged == 0


def test_rows_that_are_no_pages_are_left_out_of_a_full_scan(new_url):
    with webtable.open(new_url(), create=True) as table:
        web = Web(Site(table, "strays.example", datetime.now(UTC).replace(microsecond=0)))
        cell = cell_of(table, web.url("/a"), PAGE)
        for row in (b"\xff\xfe", b"stray", b"zz:com.example/", table.key.encode("https://elsewhere.example/")):
            write(table, table.table, row, PAGE, cell.timestamp, cell.value)

        assert len(found(table.pages(webtable.ALL))) == 4
        assert len(found(table.pages(webtable.ALL, order="storage"))) == 4
        stats = table.stats(webtable.ALL)
        assert (stats.pages, stats.damaged) == (4, 4)
        assert table.maintenance.verify(webtable.ALL).damaged == 4
        assert table.indexes.rebuild("time") == 4
        assert [type(hit.page) for hit in table.search("salt", webtable.ALL, order="storage")] == [Page, Page]
        assert len(table.stats(webtable.ALL, by="host", bytes=False).by["host"]) >= 1
        assert {link.source for link in table.links.broken()} == {web.url("/")}


def test_a_row_with_a_date_beyond_the_calendar_is_damaged(web):
    row = web.table.key.encode(web.url("/a"))
    for column in (PAGE, CAPTURE, COUNTS):
        write(web.table, web.table.table, row, column, 2**62, cell_of(web.table, web.url("/a"), PAGE).value)

    assert web.url("/a") not in found(web.table.pages(domain_of(web)))
    with pytest.raises(DamagedRow):
        web.table.get(web.url("/a"))
    assert len(web.table.history(web.url("/a"))) == 1
    assert web.table.delete(web.url("/a"))


def test_a_layout_that_is_damaged_is_a_mismatch(new_url):
    url = new_url()
    with webtable.open(url, create=True, indexes=[]) as table:
        (row,) = table.store.read(f"{table.table}_meta", [LAYOUT_ROW])
        cell = row.cells[LAYOUT_COLUMN][0]
        for value in (
            b"\xff",
            b"",
            cell.value.replace(b'"digits":2', b'"digits":3'),
            b"[" * 100_000,
            b'{"digits":9}',
            b'{"salt":"\xff"}',
            b'{"versions":-1}',
        ):
            write(table, f"{table.table}_meta", LAYOUT_ROW, LAYOUT_COLUMN, cell.timestamp, value)

            with pytest.raises(LayoutMismatch):
                webtable.open(url)


def test_a_state_of_an_index_that_is_damaged_is_a_mismatch(new_url):
    url = new_url()
    with webtable.open(url, create=True, indexes=["time"]) as table:
        (row,) = table.store.read(f"{table.table}_meta", [b"indexes"])
        column, (cell, *_) = next(iter(row.cells.items()))
        for value in (b"\xff", b"", b'{"position":"no hex"}', flipped(cell.value, 3), b"[" * 100_000):
            write(table, f"{table.table}_meta", b"indexes", column, cell.timestamp, value)

            with pytest.raises(LayoutMismatch):
                table.indexes.states()


def test_rows_of_a_table_that_cannot_be_read_are_left_out(new_url):
    key = CompositeKey(Text("user", terminator=b"/"), Text("id"))
    with webtable.KeyedTable.open(new_url(), key, create=True) as table:
        table.put_many([({"user": "u", "id": f"{number}"}, {"d:x": b"1"}) for number in range(6)])
        rows = [record.key for record in table.scan(ALL)]
        for row, timestamp in ((b"\xff\xff", 1), (b"alien", 1), (rows[2], 2**62)):
            assert table.store.write(table.table, [Put(row, [NewCell(b"d:x", timestamp, b"1")])]) == [None]

        scan = table.scan(ALL)
        assert [record.key for record in scan] == [*rows[:2], *rows[3:]]
        assert {error.row for error in scan.damaged} == {b"\xff\xff", b"alien", rows[2]}
        assert [record.key for record in table.scan(user="u", limit=3)] == [rows[0], rows[1], rows[3]]
        with pytest.raises(DamagedRow):
            table.get(user="u", id="2")
        with pytest.raises(DamagedRow):
            list(webtable.KeyedTable(table.store, table.table, key, strict=True).scan(ALL))
        with pytest.raises(webtable.WebTableError, match="after="):
            table.scan(ALL, after=b"\xff\xff")


def test_cells_without_checksums_are_damaged(web):
    url, row = web.url("/a"), web.table.key.encode(web.url("/a"))
    cell = cell_of(web.table, url, HTML)
    frame = zstandard.ZstdCompressor(level=1).compress(web.pages[1].body)

    write(web.table, web.table.table, row, HTML, cell.timestamp, frame)
    with pytest.raises(DamagedRow, match="without a checksum"):
        web.table.get(url)
    cell = cell_of(web.table, url, PAGE)
    value = msgspec.json.decode(cell.value)
    assert len(value.pop("crc32")) == 8
    write(web.table, web.table.table, row, PAGE, cell.timestamp, msgspec.json.encode(value))
    with pytest.raises(DamagedRow, match="it has no checksum"):
        web.table.get(url)


@pytest.mark.parametrize("columns", [None, ["link_counts"]])
def test_one_damaged_row_among_many_that_are_read_together_is_the_only_one_left_out(web, columns):
    paths = [f"/many/{number:03}" for number in range(150)]
    web.site.store(*(web.site.page(path, body=b"") for path in paths))
    damage(web.table, web.url(paths[70]), value=None)

    answer = web.table.pages(f"https://{domain_of(web)}/many/", columns=columns)

    assert [page.url for page in answer] == web.urls(*paths[:70], *paths[71:])
    assert [one.url for one in answer.damaged] == [web.url(paths[70])]


@pytest.mark.parametrize("member", [b'"last_modified":"%s"', b'"fetched_at":"%s"', b'"changed_at":"%s"'])
def test_a_time_without_a_zone_is_one_damaged_row_that_no_walk_stops_at(member):
    time = b"2026-01-01T00:00:00"
    with webtable.open(f"memory:{uuid.uuid4()}", create=True) as table:
        with table.writer() as writer:
            writer.put_many(Page(url=f"https://example.com/{name}", title=name) for name in "abc")
        url = "https://example.com/b"
        cell, row = cell_of(table, url, PAGE), table.key.encode(url)
        value = b'{"url":"%s","fetched_at":"%sZ",%s}' % (url.encode(), time, member % time)
        write(table, table.table, row, PAGE, cell.timestamp, with_checksum(value, place(row, cell.timestamp)))

        assert (len(list(table.pages(ALL))), table.stats(ALL).damaged, table.audit("example.com").damaged) == (2, 1, 1)
        with pytest.raises(DamagedRow):
            table.get(url, as_of="2020-01-01")
        table.indexes.repair("time")
        table.put(Page(url=url, title="again"))
        assert table.get(url).title == "again"

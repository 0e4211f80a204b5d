"""A page whose metadata name a body or links that are not there is damaged, unless something explains that."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from damaging import CAPTURE, HTML, URLS, Web, found
from sites import Site

import webtable
from webtable import Link, Page, WebTable
from webtable._clock import milliseconds
from webtable.errors import DamagedRow
from webtable.formats import write_export
from webtable.repository.page_storage.state import Deleted
from webtable.store import Delete, Put

NOW = datetime.now(UTC).replace(microsecond=0)
URL = "https://lost.example/"


@pytest.fixture(scope="module")
def own_table(new_url):
    with webtable.open(new_url(), create=True, versions=3, ttl=None) as table:
        yield table


@pytest.fixture
def web(own_table):
    return Web(Site(own_table, f"{uuid.uuid4().hex[:10]}.example", NOW))


@pytest.fixture
def fresh(new_url):
    """Open new tables with these options; they are closed at the end."""
    opened = []

    def make(**options) -> WebTable:
        opened.append(webtable.open(new_url(), create=True, **options))
        return opened[-1]

    yield make
    for table in opened:
        table.close()


def lose(table: WebTable, url: str, *columns: bytes) -> None:
    """Have the cells of *columns* vanish, as a damaged file loses them."""
    assert table.store.write(table.table, [Delete(table.key.encode(url), 2**62, columns)]) == [None]


def stored(table: WebTable, *ages: timedelta, **fields) -> None:
    """Store captures of one page, which were fetched so long ago."""
    for age in ages:
        table.put(Page(url=URL, fetched_at=NOW - age, **{"body": b"<p>here", "outlinks": (), **fields}))


def is_damaged(table: WebTable) -> bool:
    """Whether the page is reported: as `get` raises it, so a listing counts it and `verify` does."""
    answer = table.pages(webtable.ALL, columns=["body", "outlinks"])
    urls, lost = found(answer), table.maintenance.verify(webtable.ALL).lost
    try:
        table.get(URL)
    except DamagedRow:
        assert (urls, len(answer.damaged), lost) == ([], 1, 1)
        return True
    assert (urls, answer.damaged, lost) == ([URL], [], 0)
    return False


LISTINGS = {
    "pages": lambda web: web.table.pages(web.site.domain, columns=["body"]),
    "pages in storage order": lambda web: web.table.pages(web.site.domain, columns=["body"], order="storage"),
    "pages with a limit": lambda web: web.table.pages(web.site.domain, columns=["body"], limit=9),
    "pages with counts": lambda web: web.table.pages(web.site.domain, columns=["body", "link_counts"]),
    "an index": lambda web: web.table.fetched(web.site.domain, columns=["body"]),
}


@pytest.mark.parametrize("lost", [(HTML,), (HTML, CAPTURE)], ids=["body", "body and capture"])
@pytest.mark.parametrize("listing", LISTINGS)
def test_a_listing_with_bodies_leaves_out_a_page_that_has_lost_its_body_and_tells_of_it(web, listing, lost):
    lose(web.table, web.url("/a"), *lost)

    answer = LISTINGS[listing](web)

    assert set(found(answer)) == set(web.urls("/", "/b", "/gone"))
    (error,) = answer.damaged
    assert (error.url, "content:html: it is lost" in error.reason) == (web.url("/a"), True)


def test_a_page_that_has_lost_its_body_is_listed_where_no_body_is_asked_for(web):
    lose(web.table, web.url("/a"), HTML)

    answer = web.table.pages(web.site.domain)

    assert (len(found(answer)), answer.damaged) == (4, [])


def test_get_raises_for_a_page_that_has_lost_its_body_and_gives_its_metadata(web):
    lose(web.table, web.url("/a"), HTML)

    with pytest.raises(DamagedRow, match="content:html: it is lost"):
        web.table.get(web.url("/a"))
    assert web.table.get(web.url("/a"), columns=()) is not None
    assert [page.url for page in web.table.get_many(web.urls("/", "/b"))] == web.urls("/", "/b")


def test_a_strict_table_raises_a_lost_body(web):
    lose(web.table, web.url("/a"), HTML)
    strict = WebTable(web.table.store, web.table.table, web.table.layout, strict=True)

    with pytest.raises(DamagedRow):
        list(strict.pages(web.site.domain, columns=["body"]))
    with pytest.raises(DamagedRow):
        list(strict.search("salt", web.site.domain, in_="body"))


def test_a_search_in_bodies_counts_a_lost_body(web):
    lose(web.table, web.url("/a"), HTML)

    hits = web.table.search("salt", web.site.domain, in_="body")

    assert [hit.page.url for hit in hits] == [web.url("/b")]
    assert [error.url for error in hits.damaged] == [web.url("/a")]


@pytest.mark.parametrize("lost", [(HTML,), (HTML, CAPTURE)], ids=["body", "body and capture"])
def test_a_history_and_an_export_leave_out_a_version_that_has_lost_its_body_and_tell_of_it(web, lost, tmp_path):
    lose(web.table, web.url("/a"), *lost)
    before = web.table.metrics.damaged

    versions = web.table.history(web.url("/a"), columns=["body"])
    told = web.table.metrics.damaged - before
    exported = write_export(web.table, tmp_path / "backup", web.site.domain)

    assert (list(versions), told) == ([], 1)
    assert (exported.manifest.pages, [error.url for error in exported.examples]) == (3, [web.url("/a")])


def test_of_an_older_version_nobody_knows_whether_it_had_a_body(web):
    web.site.store(web.site.page("/a", age=60, body=b"newer"))
    at = milliseconds(NOW - timedelta(seconds=60))
    gone = Delete(web.table.key.encode(web.url("/a")), at - 1, [HTML])
    assert web.table.store.write(web.table.table, [gone]) == [None]

    versions = web.table.history(web.url("/a"), columns=["body"])

    assert [page.body for page in versions] == [b"newer", None]


def several(fresh) -> WebTable:
    """Pages of hosts with different salts, which a listing merges by their metadata."""
    table = fresh()
    for host in "abcd":
        table.put(Page(url=f"https://{host}.example/", body=b"<p>here"))
    return table


def test_a_row_that_a_scan_finds_and_its_key_does_not_is_damage(fresh, monkeypatch):
    table = several(fresh)
    read, hidden = table.store.read, table.key.encode("https://b.example/")
    monkeypatch.setattr(
        table.store,
        "read",
        lambda name, rows, wanted: [row and (None if row.key == hidden else row) for row in read(name, rows, wanted)],
    )

    answer = table.pages(webtable.ALL, columns=["body"])

    assert found(answer) == [f"https://{host}.example/" for host in "acd"]
    assert [error.url for error in answer.damaged] == ["https://b.example/"]


def test_a_row_that_is_deleted_while_it_is_listed_is_no_damage(fresh, monkeypatch):
    table = several(fresh)
    read = table.store.read

    def after_a_delete(name, rows, wanted):
        if HTML in (wanted.columns or ()):
            monkeypatch.undo()
            table.delete("https://b.example/")
        return read(name, rows, wanted)

    monkeypatch.setattr(table.store, "read", after_a_delete)
    answer = table.pages(webtable.ALL, columns=["body"])

    assert found(answer) == [f"https://{host}.example/" for host in "acd"]
    assert answer.damaged == []


def test_lost_links_are_damage(web):
    lose(web.table, web.url("/a"), URLS)

    inlinks = web.table.links.to(web.url("/b"))

    assert [link.source for link in inlinks] == [web.url("/")]
    assert [error.url for error in inlinks.damaged] == [web.url("/a")]
    with pytest.raises(DamagedRow, match="outlinks:urls: it is lost"):
        list(web.table.links.of(web.url("/a")))
    assert web.table.get(web.url("/a"), columns=["body"]).body is not None
    assert web.table.maintenance.verify(web.site.domain).lost == 1


def test_lost_links_of_a_page_without_a_body_are_damage(web):
    page = web.site.page("/links", outlinks=[Link(web.url("/b"))], status=301)
    web.site.store(page)
    lose(web.table, page.url, URLS)

    with pytest.raises(DamagedRow):
        web.table.get(page.url)


def test_content_that_is_written_again_is_not_written_as_none_where_it_is_lost(fresh):
    table = fresh(ttl=40 * 86_400)
    stored(table, timedelta(days=30))
    lose(table, URL, HTML)

    with pytest.raises(webtable.WriteFailed, match="it is lost"):
        table.put_not_modified(URL, NOW)


def test_a_copy_tells_of_lost_content(web, fresh):
    lose(web.table, web.url("/a"), HTML)

    copied = web.table.maintenance.copy(fresh())

    assert copied.damaged


# What explains that content is missing.


def test_a_page_without_a_body_and_links_is_none_that_has_lost_them(web):
    web.site.store(web.site.page("/bare", outlinks=None, outlink_count=3, size=7, digest="0" * 64))

    page = web.table.get(web.url("/bare"))

    assert (page.body, page.outlinks, page.outlink_count) == (None, None, 3)
    assert web.table.maintenance.verify(web.site.domain).is_sound


def test_content_that_has_expired_is_not_lost(fresh):
    table = fresh(ttl=40 * 86_400)
    stored(table, timedelta(days=40) - timedelta(hours=1))
    lose(table, URL, HTML, CAPTURE, URLS)

    assert not is_damaged(table)


def test_content_that_has_not_expired_is_lost(fresh):
    table = fresh(ttl=40 * 86_400)
    stored(table, timedelta(days=30))
    lose(table, URL, HTML, CAPTURE)

    assert is_damaged(table)


def test_content_of_before_the_ttl_was_altered_is_not_lost(fresh):
    table = fresh(ttl=None)
    stored(table, timedelta(days=30))
    table.maintenance.alter(ttl=40 * 86_400)
    table.maintenance.alter(ttl=None)
    lose(table, URL, HTML, CAPTURE)

    assert not is_damaged(table)


def push_out(table: WebTable, *ages: timedelta) -> None:
    """Store newer versions of the page as another writer does that has not seen its metadata."""
    codec, row = table._context.codec, table.key.encode(URL)
    for age in ages:
        page = Page(url=URL, fetched_at=NOW - age, body=b"late", digest=f"blake3:{age.days:064x}", size=4)
        (packed,) = codec.packed([page])
        cells = codec.content_cells(row, page, packed)
        assert table.store.write(table.table, [Put(row, cells)]) == [None]


def test_content_that_newer_versions_have_pushed_out_is_not_lost(fresh):
    table = fresh(versions=2, ttl=None)
    stored(table, timedelta(days=30), timedelta(days=10))
    push_out(table, timedelta(days=20), timedelta(days=19))

    assert not is_damaged(table)


def test_content_below_fewer_newer_versions_than_are_kept_is_lost(fresh):
    table = fresh(versions=3, ttl=None)
    stored(table, timedelta(days=30), timedelta(days=10))
    lose(table, URL, HTML, CAPTURE)
    push_out(table, timedelta(days=20))

    assert is_damaged(table)


def test_content_that_fewer_versions_of_once_may_have_dropped_is_not_lost(fresh):
    table = fresh(versions=1, ttl=None)
    stored(table, timedelta(days=30), timedelta(days=10))
    push_out(table, timedelta(days=20))
    table.maintenance.alter(versions=5)
    at = milliseconds(NOW - timedelta(days=30))
    gone = Delete(table.key.encode(URL), at, [HTML, CAPTURE, URLS])
    assert table.store.write(table.table, [gone]) == [None]

    assert not is_damaged(table)


def test_content_that_a_delete_has_hidden_is_not_lost(fresh):
    table = fresh(ttl=None)
    stored(table, timedelta(days=30), timedelta(days=10))
    row, until = table.key.encode(URL), NOW - timedelta(days=15)
    mark = table._context.codec.deleted_cell(row, Deleted(until))
    gone = Delete(row, milliseconds(until), [HTML, CAPTURE, URLS])
    assert table.store.write(table.table, [Put(row, [mark]), gone]) == [None, None]

    assert not is_damaged(table)


def test_content_that_has_expired_before_its_page_was_copied_is_not_lost_there(fresh):
    source, target = fresh(ttl=None), fresh(ttl=None)
    stored(source, timedelta(days=30))
    source.maintenance.alter(ttl=20 * 86_400)

    source.maintenance.copy(target)

    assert not is_damaged(target)
    assert source.maintenance.check_copy(target).is_sound
    assert source.maintenance.copy(target).pages == 0


def test_a_page_that_is_deleted_between_its_metadata_and_its_body_is_none(spied):
    site = spied.site
    site.store(site.page("/a", body=b"a"), site.page("/b", body=b"b"))

    def delete_once(name, table, columns):
        if name == "read" and HTML in columns:
            spied.listener = lambda *_: None
            site.table.delete(site.url("/a"))

    spied.listener = delete_once
    pages = list(site.table.get_many([site.url("/a"), site.url("/b")]))

    assert [page and page.body for page in pages] == [None, b"b"]


def test_expired_content_costs_no_further_read(fresh):
    table = fresh(ttl=40 * 86_400)
    stored(table, timedelta(days=40) - timedelta(hours=1))
    lose(table, URL, HTML, CAPTURE, URLS)
    list(table.pages(webtable.ALL, columns=["body", "outlinks"]))
    before = table.metrics.operations["read"].calls

    list(table.pages(webtable.ALL, columns=["body", "outlinks"]))

    assert table.metrics.operations["read"].calls == before

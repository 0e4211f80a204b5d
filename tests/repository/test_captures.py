"""What a capture becomes beside what is stored already, and what get, history and delete make of it."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta, timezone
from operator import attrgetter

import pytest
import zstandard

import webtable
from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import CellTooLarge, ExpiredCapture, FutureCapture, InvalidCapture, InvalidURL, WriteFailed
from webtable.page.body import digest_of
from webtable.repository.page_storage.codec import PageCodec
from webtable.rowkey import KeyRange
from webtable.store import NewCell, Put, Wanted
from webtable.testing import CountingStore

DAY = 86_400


def stored(site):
    """Everything that is stored below the site, as the store has it."""
    ranges = site.table.key.subtree_ranges(site.domain)
    rows = site.table.store.scan(site.table.table, ranges, Wanted(versions=9))
    return {row.key: {column: list(cells) for column, cells in row.cells.items()} for row in rows}


def seen(page):
    return page.body, page.title, page.fetched_at


@on_every_store
def test_a_page_comes_back_as_it_was_put(site):
    page = Page(
        url=f"HTTPS://{site.domain.upper()}/a b",
        body="<p>grüße</p>".encode(),
        title="Grüße \U0001f600",
        status=404,
        content_type="text/html",
        charset="utf-8",
        headers={"content-type": "text/html; charset=utf-8", "x-y": "1, 2"},
        fetched_at=(site.now - timedelta(microseconds=321_099)).astimezone(timezone(timedelta(hours=2))),
        last_modified=site.now - timedelta(days=400),
        etag='"abc"',
        redirect_to="https://example.com/",
        outlinks=(Link("https://example.com/x", "an ÿ anchor", "nofollow"), Link("https://example.com/y")),
    )

    site.store(page)
    found = site.table.get(page.url)

    assert found.url == f"https://{site.domain}/a%20b"
    assert found.fetched_at == site.now - timedelta(milliseconds=322)
    assert found.changed_at == found.stored.content_at == found.fetched_at
    assert found.size == len(page.body)
    assert found.digest == digest_of(page.body)
    assert found.outlink_count == 2
    for field in (
        "body",
        "title",
        "status",
        "content_type",
        "charset",
        "headers",
        "last_modified",
        "etag",
        "redirect_to",
        "outlinks",
    ):
        assert getattr(found, field) == getattr(page, field), field


def test_a_url_that_is_stored_nowhere_is_none(site):
    assert site.table.get(site.url("/nowhere")) is None
    assert site.table.history(site.url("/nowhere")) == []
    assert site.table.delete(site.url("/nowhere")) is False


def test_many_urls_come_in_the_order_asked_for(site):
    site.store(*(site.page(f"/{n}", body=str(n).encode()) for n in range(150)))
    asked = [site.url(f"/{n}") for n in (*range(149, -1, -1), 3, 3, 777)]

    found = list(site.table.get_many(asked))

    assert [page and page.body for page in found] == [*(str(n).encode() for n in (*range(149, -1, -1), 3, 3)), None]


def test_get_reads_only_the_columns_asked_for(site):
    site.store(site.page(body=b"x", outlinks=(Link("https://example.com/"),)))

    assert site.table.get(site.url(), columns=[]).body is None
    assert site.table.get(site.url(), columns=["body"]).outlinks is None
    assert site.table.get(site.url(), columns=["title", "outlinks"]).outlinks == (Link("https://example.com/"),)


def test_an_invalid_url_is_refused(site):
    for ask in (site.table.get, site.table.history, site.table.delete):
        with pytest.raises(InvalidURL):
            ask("ftp://example.com/")


def test_title_and_links_are_read_from_the_body_where_they_are_not_given(site):
    body = b"<html><title>Shop</title><a href='/cart'>Cart</a></html>"

    site.store(Page(url=site.url(), body=body, fetched_at=site.now))
    found = site.table.get(site.url())

    assert found.title == "Shop"
    assert found.outlinks == (Link(site.url("/cart"), "Cart", ""),)


@on_every_store
def test_the_same_capture_stored_twice_changes_nothing(site):
    pages = [site.page(f"/{n}", body=b"body") for n in range(5)]

    site.store(*pages)
    once = stored(site)
    site.store(*pages)
    site.store(*pages, *pages)

    assert stored(site) == once


def test_a_capture_that_finds_the_same_content_stores_no_second_body(site):
    site.store(site.page(body=b"same", age=9000), site.page(body=b"same", age=100, etag="2"))

    page = site.table.get(site.url())
    (row,) = stored(site).values()

    assert seen(page) == (b"same", "title of /", site.now - timedelta(seconds=100))
    assert page.etag == "2"
    assert page.changed_at == page.stored.content_at == site.now - timedelta(seconds=9000)
    assert page.change_count == 0
    assert len(row[b"content:html"]) == 1
    assert [version.fetched_at for version in site.table.history(site.url())] == [page.changed_at]


def test_the_histories_of_many_pages_are_read_in_a_few_calls(site):
    paths = [f"/{number}" for number in range(130)]
    for age in (1000, 500):
        site.store(*(site.page(path, body=f"{path} {age}".encode(), age=age) for path in paths))
    urls = [*map(site.url, paths), site.url("/nowhere")]
    counting = CountingStore(site.table.store)
    table = webtable.WebTable(counting, site.table.table, site.table.layout)

    histories = list(table.history_many(iter(urls)))

    assert counting.calls["read"] < 12
    assert histories == [table.history(url) for url in urls]
    assert {len(history) for history in histories[:-1]} == {2}


def test_pages_with_very_many_versions_are_read_with_few_others(site, monkeypatch):
    site.store(*(site.page(f"/{number}", body=b"x") for number in range(20)))
    monkeypatch.setattr("webtable.repository.questions.page.BODY_BYTES", 1)
    counting = CountingStore(site.table.store)
    table = webtable.WebTable(counting, site.table.table, site.table.layout)

    list(table.history_many(site.url(f"/{number}") for number in range(20)))

    assert counting.calls["read"] == 20


def test_changed_content_is_a_version_of_its_own(site):
    for number in range(5):
        site.store(site.page(body=str(number).encode(), title=f"v{number}", age=1000 - number * 100))

    history = site.table.history(site.url(), columns=["body"])

    assert [(version.body, version.title) for version in history] == [(b"4", "v4"), (b"3", "v3"), (b"2", "v2")]
    assert history[0].fetched_at == site.now - timedelta(seconds=600)
    assert {version.body for version in site.table.history(site.url())} == {None}
    assert site.table.get(site.url()).change_count == 4


def test_another_status_with_the_same_body_is_a_change(site):
    site.store(site.page(body=b"x", age=200), site.page(body=b"x", age=100, status=404))

    assert [version.status for version in site.table.history(site.url())] == [404, 200]


@on_every_store
def test_captures_that_come_in_any_order_take_their_places_by_date(site):
    ages = [300, 500, 100, 400, 200]
    site.store(*(site.page(body=str(age).encode(), age=age) for age in ages))

    page = site.table.get(site.url())

    assert page.body == b"100"
    assert [version.body for version in site.table.history(site.url(), columns=["body"])] == [b"100", b"200", b"300"]


@on_every_store
def test_a_late_capture_takes_its_place_in_the_history_and_is_not_the_latest(site):
    site.store(site.page(body=b"new", title="new", age=100))
    site.store(site.page(body=b"old", title="old", age=900))

    assert seen(site.table.get(site.url())) == (b"new", "new", site.now - timedelta(seconds=100))
    assert [version.title for version in site.table.history(site.url())] == ["new", "old"]


def test_a_late_capture_of_other_content_does_not_take_the_place_of_the_content_that_came_back(site):
    links = (Link("https://example.com/a"),)
    site.store(site.page(body=b"a", title="a", age=900, outlinks=links))
    site.store(site.page(body=b"a", title="a", age=100, outlinks=links))
    site.store(site.page(body=b"b", title="b", age=500))

    page = site.table.get(site.url())
    listed = list(site.table.pages(site.domain, columns=["body", "outlinks"]))

    assert seen(page) == (b"a", "a", site.now - timedelta(seconds=100))
    assert page.outlinks == links
    assert [(one.body, one.outlinks) for one in listed] == [(b"a", links)]
    assert [version.title for version in site.table.history(site.url())] == ["a", "b", "a"]


def test_a_late_capture_of_the_same_content_stores_no_content(site):
    site.store(site.page(body=b"a", age=900), site.page(body=b"a", age=100))
    before, page = history_of(site), site.table.get(site.url())
    site.store(site.page(body=b"a", age=500))

    now = site.table.get(site.url())
    assert history_of(site) == before
    assert now.with_stored(page.stored) == page


def history_of(site):
    return [(version.body, version.fetched_at) for version in site.table.history(site.url(), columns=["body"])]


def test_a_crawl_that_is_replayed_leaves_the_history_as_it_was(site):
    captures = [(b"z", 500), (b"a", 400), (b"a", 300), (b"a", 200), (b"b", 100)]
    crawl = [site.page(body=body, age=age) for body, age in captures]

    site.store(*crawl)
    before, cells = history_of(site), stored(site)
    site.store(*crawl)
    site.store(*reversed(crawl))

    assert [html for html, _ in before] == [b"b", b"a", b"z"]
    assert history_of(site) == before
    assert stored(site) == cells


def test_a_304_that_comes_late_changes_nothing(site):
    then = site.now - timedelta(seconds=400)
    not_modified = Page(url=site.url(), status=304, same_as=site.url(), fetched_at=then)
    site.store(site.page(body=b"a", age=500), not_modified, site.page(body=b"b", age=100))
    before = stored(site)

    site.store(not_modified)

    assert stored(site) == before


@on_every_store
def test_a_304_after_an_error_brings_back_the_content_before_it(site):
    links = (Link("https://example.com/"),)
    site.store(site.page(body=b"good", title="good", age=300, outlinks=links))
    site.store(site.page(body=b"oops", title="oops", age=200, status=500))
    site.store(Page(url=site.url(), status=304, same_as=site.url(), fetched_at=site.now))

    page = site.table.get(site.url())

    assert (page.body, page.title, page.status, page.outlinks) == (b"good", "good", 200, links)
    assert [version.status for version in site.table.history(site.url())] == [200, 500, 200]


def test_a_repeat_takes_no_content_that_the_other_url_came_to_have_later(site):
    site.store(
        site.page("/y", body=b"a", age=300),
        Page(url=site.url("/x"), same_as=site.url("/y"), fetched_at=site.now - timedelta(seconds=200)),
        site.page("/y", body=b"b", age=100),
        Page(url=site.url("/z"), same_as=site.url("/y"), fetched_at=site.now - timedelta(seconds=200)),
    )

    assert [site.table.get(site.url(path)).body for path in ("/x", "/z")] == [b"a", b"a"]


def test_a_whole_body_takes_the_place_of_a_cut_one_and_not_the_reverse(short_lived):
    site = short_lived
    for path, limits in (("/cut-first", (10, None)), ("/whole-first", (None, 10))):
        for age, limit in zip((90 * DAY, 89 * DAY), limits, strict=True):
            site.store(site.page(path, body=b"x" * 100, age=age), max_body=limit)
        site.store(site.page(path, body=b"x" * 100, age=10 * DAY), max_body=10)

        page = site.table.get(site.url(path))
        assert (len(page.body), page.truncated, page.change_count) == (100, False, 0), path


def test_a_body_is_stored_where_only_its_digest_was_known(site):
    digest = hashlib.sha256(b"a").hexdigest()
    site.store(site.page(body=None, outlinks=None, digest=digest, age=300))
    site.store(site.page(body=b"a", age=200))

    assert site.table.get(site.url()).body == b"a"


@on_every_store
def test_of_two_captures_in_one_millisecond_the_later_one_put_stands_alone(site):
    site.store(site.page(body=b"a", outlinks=(Link("https://example.com/"),)))
    site.store(site.page(body=None, outlinks=None, status=410))

    page = site.table.get(site.url())

    assert (page.status, page.body, page.outlinks, page.has_body) == (410, None, None, False)


def test_a_late_capture_leaves_the_plain_columns_alone(site):
    site.store(site.page(body=b"b", title=None, age=100), site.page(body=b"a", title="late", age=900))
    site.store(site.page("/x", body=b"b", title=None, age=100))
    site.store(site.page("/x", body=b"a", title="late", age=900))

    (row,) = site.table.store.read(site.table.table, [site.table.key.encode(site.url("/x"))])

    assert row.value(b"metadata:title") is None


def test_captures_without_a_body_that_say_the_same_are_one_version(site):
    for age in (300, 200, 100):
        site.store(site.page(body=None, outlinks=None, age=age, status=301, redirect_to=site.url("/b")))

    assert site.table.get(site.url()).change_count == 0
    assert len(site.table.history(site.url())) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "200"},
        {"title": 5},
        {"body": "text"},
        {"headers": {"a": 5}},
        {"headers": ["ab"]},
        {"outlinks": ("https://example.com/",)},
        {"outlinks": (Link("https://example.com/", 5),)},
        {"fetched_at": "2026-01-01"},
        {"last_modified": datetime(2026, 1, 1)},
        {"fetched_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))},
        {"fetched_at": datetime(1960, 1, 1, tzinfo=UTC)},
        {"status": 99},
        {"status": 1000},
        {"status": 2**63},
        {"size": -1},
        {"size": 2**63},
    ],
)
def test_a_value_of_another_type_or_out_of_bounds_is_refused_and_spoils_no_other_page(site, fields):
    good = site.page("/good", body=b"x")
    bad = Page(**{"url": site.url("/bad"), "body": b"x", "title": "t", "fetched_at": site.now, **fields})

    with site.table.writer() as writer:
        writer.put(good)
        with pytest.raises(InvalidCapture):
            writer.put(bad)

    assert [page.url for page in site.table.pages(site.domain)] == [good.url]


@on_every_store
def test_a_304_keeps_content_and_links_and_moves_the_date(site):
    links = (Link("https://example.com/"),)
    site.store(site.page(body=b"x", age=900, outlinks=links, content_type="text/html", etag="1"))
    site.store(Page(url=site.url(), status=304, same_as=site.url(), fetched_at=site.now, etag="2"))

    page = site.table.get(site.url())

    assert seen(page) == (b"x", "title of /", site.now)
    assert (page.status, page.content_type, page.etag, page.outlinks) == (200, "text/html", "2", links)
    assert page.change_count == 0


@on_every_store
def test_a_repeat_of_another_url_brings_its_content(site):
    site.store(site.page("/a", body=b"shared", title="shared"))
    site.store(Page(url=site.url("/b"), same_as=site.url("/a"), fetched_at=site.now))
    near = site.page("/c", body=b"in the same batch")
    site.store(near, Page(url=site.url("/d"), same_as=near.url, fetched_at=site.now))

    assert site.table.get(site.url("/b")).body == b"shared"
    assert site.table.get(site.url("/b")).title == "shared"
    assert site.table.get(site.url("/d")).body == b"in the same batch"


@pytest.mark.parametrize("same_as", ["/", "/nowhere", "ftp://x/"])
def test_a_repeat_of_what_is_not_stored_is_a_page_without_body(site, same_as):
    url = site.url(same_as) if same_as.startswith("/") else same_as
    site.store(Page(url=site.url(), same_as=url, fetched_at=site.now))

    page = site.table.get(site.url())

    assert (page.body, page.digest, page.fetched_at) == (None, None, site.now)


def test_a_capture_without_body_does_not_show_the_body_before_it(site):
    site.store(site.page(body=b"x", age=900, title="x"))
    site.store(site.page(body=None, age=100, status=301, title=None, outlinks=None, redirect_to=site.url("/b")))

    page = site.table.get(site.url())
    (listed,) = site.table.pages(site.domain, columns=["body", "outlinks"])

    assert (page.body, page.title, page.outlinks, page.status) == (None, None, None, 301)
    assert (listed.body, listed.outlinks) == (None, None)
    assert site.table.history(site.url(), columns=["body"])[1].body == b"x"
    row = stored(site)[site.table.key.encode(site.url())]
    assert row[b"metadata:title"][0].value == b""


def test_an_empty_body_is_a_body(site):
    site.store(site.page(body=b""))

    assert site.table.get(site.url()).body == b""
    assert site.table.get(site.url()).size == 0


@pytest.fixture
def short_lived(new_url, site):
    """A site in a table that keeps content for 100 days."""
    with webtable.open(new_url(), create=True, ttl=100 * DAY, indexes=[]) as table:
        yield type(site)(table, site.domain, site.now)


@pytest.mark.parametrize("again", ["body", "not modified"])
def test_content_is_written_anew_before_half_its_time_is_over(short_lived, again):
    site, links = short_lived, (Link("https://example.com/"),)
    site.store(site.page(body=b"x", age=90 * DAY, outlinks=links))

    site.store(site.page(body=b"x", age=60 * DAY, outlinks=links))
    early = site.table.get(site.url())
    if again == "body":
        site.store(site.page(body=b"x", age=30 * DAY, outlinks=links))
    else:
        site.store(site.page(body=None, outlinks=None, same_as=site.url(), status=304, age=30 * DAY))
    late = site.table.get(site.url())

    assert early.stored.content_at == site.now - timedelta(days=90)
    assert late.stored.content_at == site.now - timedelta(days=30)
    assert (late.body, late.outlinks, late.change_count) == (b"x", links, 0)
    assert late.changed_at == site.now - timedelta(days=90)
    assert [version.fetched_at for version in site.table.history(site.url())] == [site.now - timedelta(days=90)]


def test_content_is_written_anew_within_one_batch(short_lived):
    site = short_lived
    site.store(
        site.page(body=b"x", age=90 * DAY),
        site.page(body=None, outlinks=None, same_as=site.url(), status=304, age=30 * DAY),
    )

    assert site.table.get(site.url()).body == b"x"
    assert site.table.get(site.url()).stored.content_at == site.now - timedelta(days=30)


@pytest.mark.parametrize(
    ("age", "error", "text"),
    [(91 * DAY, ExpiredCapture, "90 days.*--ttl none"), (-2 * DAY, FutureCapture, "over a day from now")],
)
def test_a_capture_that_the_table_cannot_keep_is_refused_before_anything_is_written(new_url, site, age, error, text):
    with webtable.open(new_url(), create=True, ttl=90 * DAY, indexes=[]) as table:
        with table.writer() as writer, pytest.raises(error, match=text) as raised:
            writer.put(site.page(body=b"x", age=age))

        assert isinstance(raised.value, InvalidCapture)
        assert isinstance(raised.value, ValueError)
        assert list(table.store.scan(table.table, [KeyRange()])) == []


def test_a_page_of_which_nothing_but_its_url_is_known_is_refused(site):
    with pytest.raises(InvalidCapture, match="the page has only a URL"):
        site.table.put(Page(url=site.url("/unknown")))

    known = ({"body": b""}, {"status": 204}, {"headers": {"server": "x"}}, {"title": "moved"})
    for number, fields in enumerate(known):
        site.table.put(Page(url=site.url(f"/{number}"), **fields))
    assert len(list(site.table.pages(site.domain))) == len(known)


def test_a_date_without_a_timezone_is_refused(site):
    with pytest.raises(InvalidCapture, match="no timezone"):
        site.table.put(Page(url=site.url(), fetched_at=datetime(2026, 1, 1)))


def test_a_table_without_ttl_keeps_old_captures(new_url, site):
    with webtable.open(new_url(), create=True, ttl=None, indexes=[]) as table:
        table.put(site.page(body=b"x", age=5000 * DAY))

        assert table.get(site.url()).body == b"x"


def test_a_body_over_the_limit_is_refused_and_the_others_are_stored(site):
    noise = os.urandom(11 * 2**20)
    with pytest.raises(WriteFailed) as raised:
        site.store(site.page("/a", body=b"x"), site.page("/b", body=noise), site.page("/c", body=b"x"))

    assert [(failure.url, type(failure.error)) for failure in raised.value.failures] == [(site.url("/b"), CellTooLarge)]
    assert "max_body" in str(raised.value)
    assert [page.url for page in site.table.pages(site.domain)] == [site.url("/a"), site.url("/c")]


def test_a_body_over_max_body_is_cut_and_says_so(site):
    site.store(site.page("/a", body=b"0123456789"), site.page("/b", body=b"01234"), max_body=5)

    cut, whole = site.table.get(site.url("/a")), site.table.get(site.url("/b"))

    assert (cut.body, cut.truncated, cut.size) == (b"01234", True, 10)
    assert (whole.body, whole.truncated, whole.size) == (b"01234", False, 5)
    assert cut.digest != whole.digest


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_body_that_looks_like_a_compressed_one_comes_back_as_it_was(new_url, site, compression):
    bodies = [zstandard.compress(b"inside"), b"\x28\xb5\x2f\xfd", b"plain", b""]
    with webtable.open(new_url(), create=True, compression=compression, indexes=[]) as table:
        with table.writer() as writer:
            for number, body in enumerate(bodies):
                writer.put(site.page(f"/{number}", body=body))

        assert [page.body for page in table.pages(site.domain, columns=["body"])] == bodies


@on_every_store
def test_a_deleted_page_is_gone_from_every_answer(site):
    site.store(site.page("/a", body=b"1", age=900), site.page("/a", body=b"2", age=100), site.page("/b", body=b"x"))

    assert site.table.delete(site.url("/a")) is True

    assert site.table.get(site.url("/a")) is None
    assert site.table.history(site.url("/a")) == []
    assert [page.url for page in site.table.pages(site.domain)] == [site.url("/b")]
    assert site.table.delete(site.url("/a")) is False


def test_a_page_that_is_deleted_and_crawled_again_is_there_again(site):
    site.store(site.page(body=b"old", age=900))
    site.table.delete(site.url())
    later = site.page(body=b"new", age=-60)
    site.store(later)

    page = site.table.get(site.url())

    assert (page.body, page.change_count, page.changed_at) == (b"new", 0, later.fetched_at)
    assert len(site.table.history(site.url())) == 1


def test_titles_and_headers_that_are_no_unicode_are_made_so(site):
    links = (Link(site.url(), "\ud800"),)
    site.store(site.page(body=b"x", title="half \ud83d", headers={"x": "\udc80"}, outlinks=links))

    page = site.table.get(site.url())

    assert (page.title, page.headers, page.outlinks[0].anchor) == ("half ?", {"x": "?"}, "?")


def test_rows_that_are_no_pages_are_not_listed(site):
    site.store(site.page("/a", body=b"x"))
    inlink = NewCell(b"inlinks:https://example.com/", 1_000 * int(site.now.timestamp()), b"anchor")
    site.table.store.write(site.table.table, [Put(site.table.key.encode(site.url("/b")), [inlink])])

    assert [page.url for page in site.table.pages(site.domain)] == [site.url("/a")]
    assert site.table.get(site.url("/b")) is None


def test_a_redirect_that_leads_elsewhere_is_another_version(site):
    moved = {"body": b"moved", "status": 301}
    site.store(site.page("/", redirect_to=site.url("/a"), age=900, **moved))
    site.store(site.page("/", redirect_to=site.url("/b"), age=300, **moved))

    assert [page.redirect_to for page in site.table.history(site.url())] == [site.url("/b"), site.url("/a")]
    earlier = site.table.get(site.url(), as_of=site.now - timedelta(seconds=600))
    assert (earlier.redirect_to, earlier.body) == (site.url("/a"), b"moved")


def test_the_links_of_a_version_live_as_long_as_its_body(site):
    for number in range(4):
        links = (Link(site.url(f"/{number}")),)
        site.store(site.page("/", body=b"%d" % number, outlinks=links, age=1000 - number * 100))

    moments = [site.now - timedelta(seconds=950 - number * 100) for number in range(4)]
    found = [site.table.get(site.url(), as_of=moment) for moment in moments]
    listed = site.table.history(site.url(), columns=["body", "outlinks"])

    assert found[0] is None
    assert [(page.body, page.outlinks) for page in found[1:]] == [
        (b"%d" % number, (Link(site.url(f"/{number}")),)) for number in (1, 2, 3)
    ]
    assert [(page.body, page.outlinks) for page in listed] == [(page.body, page.outlinks) for page in found[:0:-1]]


def test_a_redirect_that_has_become_a_page_leads_where_it_led(site):
    moved = {"body": None, "outlinks": None, "status": 301}
    site.store(site.page("/", redirect_to=site.url("/a"), age=900, **moved))
    site.store(site.page("/", body=b"here", age=300))

    earlier = site.table.get(site.url(), as_of=site.now - timedelta(seconds=600))

    assert (earlier.status, earlier.redirect_to, earlier.body) == (301, site.url("/a"), None)


def test_a_late_redirect_to_another_target_takes_its_place_in_the_history(site):
    moved = {"body": b"moved", "status": 301}
    site.store(site.page("/", redirect_to=site.url("/a"), age=900, **moved))
    site.store(site.page("/", redirect_to=site.url("/a"), age=100, **moved))
    site.store(site.page("/", redirect_to=site.url("/b"), age=500, **moved))

    targets = [page.redirect_to for page in site.table.history(site.url())]

    assert targets == [site.url("/a"), site.url("/b"), site.url("/a")]


def test_a_capture_without_a_body_is_not_shown_with_that_of_another_one_of_its_millisecond(site):
    site.store(site.page("/", body=b"first", outlinks=(Link(site.url("/a")),)))
    site.store(site.page("/", body=None, outlinks=None, status=302, redirect_to=site.url("/b")))

    (version,) = site.table.history(site.url(), columns=["body", "outlinks"])

    assert (version.status, version.body, version.outlinks) == (302, None, None)


def test_a_304_after_an_error_brings_back_what_a_server_is_asked_with(site):
    headers = {"etag": '"1"', "x-powered-by": "steam"}
    modified = site.now - timedelta(days=3)
    site.store(site.page("/", body=b"x", age=900, headers=headers, etag='"1"', last_modified=modified))
    site.store(site.page("/", body=b"oh no", age=600, status=500))
    site.table.put_not_modified(site.url(), site.now - timedelta(seconds=300))

    page = site.table.get(site.url())

    assert (page.body, page.etag, page.last_modified, page.headers) == (b"x", '"1"', modified, headers)
    assert site.table.validators(site.url())["If-None-Match"] == '"1"'


@pytest.fixture
def long_lived(new_url, site):
    """A site in a table that keeps all versions, with a page that has 30 of them."""
    with webtable.open(new_url(), create=True, versions=None, ttl=None, indexes=[]) as table:
        site = type(site)(table, site.domain, site.now)
        with table.writer() as writer:
            for number in range(30):
                writer.put(site.page(body=b"%d" % number, age=4000 - number * 100))
        yield site


def versions_read(site, *pages):
    """Store *pages*, and return how many versions of pages were read for that at once, at most."""
    read, most = site.table.store.read, []

    def counting(*given, **options):
        rows = read(*given, **options)
        most.extend(len(row.cells.get(b"content:capture", ())) for row in rows if row)
        return rows

    site.table.store.read = counting
    try:
        site.store(*pages)
    finally:
        del site.table.store.read
    return max(most)


def test_a_capture_of_a_page_with_many_versions_reads_a_few_of_them(long_lived):
    site = long_lived

    assert versions_read(site, site.page(body=b"new", age=500), site.page(body=b"new", age=400)) < 10
    assert versions_read(site, site.page(body=b"late", age=450)) < 10
    assert versions_read(site, site.page(body=b"3", age=3650), site.page(body=b"4", age=3550)) < 10

    assert len(site.table.history(site.url())) == 33


def test_captures_of_one_page_are_stored_together(spied):
    site, calls = spied.site, []
    spied.listener = lambda call, *_: calls.append(call)

    with site.table.writer(max_age=3_600) as writer:
        for number in range(40):
            links = (Link(site.url(f"/{number}")), Link(site.url("/all")))
            writer.put(site.page("/", body=b"%d" % number, outlinks=links, age=4000 - number * 10))

    assert len(calls) < 40
    page = site.table.get(site.url())
    assert (page.body, page.change_count, len(site.table.history(site.url()))) == (b"39", 39, 3)
    (link,) = site.table.links.to(site.url("/all"))
    assert link.at == site.now - timedelta(seconds=4000)
    assert list(site.table.links.to(site.url("/38"))) == []
    (past,) = site.table.links.to(site.url("/38"), past=True)
    assert past.at == page.fetched_at


def test_of_captures_of_one_page_those_that_can_be_stored_are(site):
    bodies = [b"a", os.urandom(11 * 2**20), b"b", b"b"]

    with pytest.raises(WriteFailed) as raised:
        site.store(*(site.page("/", body=body, age=900 - place * 100) for place, body in enumerate(bodies)))

    assert [type(failure.error) for failure in raised.value.failures] == [CellTooLarge]
    page = site.table.get(site.url())
    assert (page.body, page.change_count, page.fetched_at) == (b"b", 1, site.now - timedelta(seconds=600))
    assert [version.body for version in site.table.history(site.url(), columns="body")] == [b"b", b"a"]


def test_a_late_capture_of_a_page_with_many_versions_is_compared_with_the_one_before_it(long_lived):
    site = long_lived
    site.store(site.page(body=b"3", age=3650), site.page(body=b"other", age=3550))

    history = site.table.history(site.url(), columns="body")

    assert len(history) == 31
    assert [page.body for page in history[24:28]] == [b"5", b"other", b"4", b"3"]


def test_a_304_after_many_error_pages_brings_the_content_back(long_lived):
    site = long_lived
    errors = [site.page(body=b"e%d" % number, status=500, age=900 - number * 10) for number in range(20)]
    site.store(*errors, not_modified(site, age=100))

    page = site.table.get(site.url())

    assert (page.status, page.body) == (200, b"29")


def not_modified(site, path="/", *, age):
    return Page(url=site.url(path), status=304, same_as=site.url(path), fetched_at=site.now - timedelta(seconds=age))


def test_a_304_of_a_url_that_is_not_stored_is_a_page_without_content(site):
    site.store(not_modified(site, age=300))

    page = site.table.get(site.url())

    assert (page.status, page.body, page.has_body) == (304, None, False)
    assert (page.stored.content_at, page.changed_at) == (None, None)
    assert [found.url for found in site.table.fetched(site.domain)] == [site.url()]
    for ask in ("modified", "redirects", "errors", "links.dead_ends", "largest"):
        assert list(attrgetter(ask)(site.table)(site.domain)) == [], ask
    assert site.table.history(site.url()) == []
    assert site.table.validators(site.url()) == {}


def test_another_304_of_a_url_that_is_not_stored_moves_the_date_alone(site):
    site.store(not_modified(site, age=300), not_modified(site, age=200))

    page = site.table.get(site.url())

    assert (page.status, page.stored.content_at, page.change_count) == (304, None, 0)
    assert page.fetched_at == site.now - timedelta(seconds=200)
    assert site.table.history(site.url()) == []


def test_what_follows_a_304_of_a_url_that_was_not_stored_is_its_first_content(site):
    site.store(not_modified(site, age=300), site.page(body=b"x", age=100))

    page = site.table.get(site.url())

    assert (page.status, page.body, page.change_count, page.changed_at) == (200, b"x", 0, page.fetched_at)


def test_a_late_page_is_what_a_304_said_was_not_modified(site):
    links = (Link(site.url("/b")),)
    site.store(not_modified(site, age=100), site.page(body=b"x", age=300, etag='"1"', outlinks=links))

    page = site.table.get(site.url())

    assert (page.status, page.body, page.etag, page.outlinks) == (200, b"x", '"1"', links)
    assert (page.fetched_at, page.changed_at) == (site.now - timedelta(seconds=100), site.now - timedelta(seconds=300))
    assert [version.body for version in site.table.history(site.url(), columns="body")] == [b"x"]
    assert [link.source for link in site.table.links.to(site.url("/b"))] == [site.url()]
    assert list(site.table.with_status(304, site.domain)) == []


def test_a_late_page_that_links_to_itself_alone_is_a_dead_end_below_a_304_too(site):
    url = site.url("/a")
    site.store(Page(url=url, status=304, same_as=url, fetched_at=site.now))

    site.store(site.page("/a", age=100, outlinks=(Link(url),)))

    assert [page.url for page in site.table.links.dead_ends(site.domain)] == [url]


def test_a_304_repeats_its_own_url_also_where_that_is_not_said(site):
    site.store(site.page(body=b"x", age=300), site.page(body=None, outlinks=None, status=304, age=100))

    page = site.table.get(site.url())

    assert (page.status, page.body, page.change_count) == (200, b"x", 0)


def test_a_304_is_no_redirect(site):
    site.store(
        site.page("/304", status=304, body=None),
        site.page("/301", status=301, body=None),
        site.page("/305", status=305, body=None),
    )

    assert [page.url for page in site.table.redirects(site.domain)] == [site.url("/301"), site.url("/305")]


@pytest.mark.parametrize(
    "ask",
    [
        lambda table, site: table.get(site.url(), columns="body"),
        lambda table, site: next(iter(table.get_many([site.url()], columns="body"))),
        lambda table, site: table.history(site.url(), columns="body")[0],
        lambda table, site: next(iter(table.pages(site.domain, columns="body"))),
        lambda table, site: next(iter(table.errors(site.domain, columns="body"))),
        lambda table, site: next(iter(table.largest(site.domain, columns="body"))),
        lambda table, site: table.by_id(webtable.indexes.page_id(site.url()), columns="body"),
    ],
)
def test_one_column_may_be_named_without_a_list(site, ask):
    site.store(site.page("/", body=b"x", status=404))

    assert ask(site.table, site).body == b"x"


def test_half_of_a_surrogate_pair_in_a_link_of_a_page_without_a_body_fails_no_batch(site):
    site.store(site.page("/a", body=None, outlinks=(Link(site.url("/b"), "an\udc80chor"),)), site.page("/b", body=b"x"))

    assert site.table.get(site.url("/a")).outlinks == (Link(site.url("/b"), "an?chor"),)
    assert site.table.get(site.url("/b")).body == b"x"


def test_a_page_keeps_the_date_of_its_first_capture_however_often_it_is_fetched_again(site):
    for age, html in ((90, b"a"), (60, b"b"), (30, b"b"), (20, b"c"), (10, b"c")):
        site.table.put(site.page(body=html, age=age))
    site.table.put_not_modified(site.url(), site.now - timedelta(seconds=5))

    page = site.table.get(site.url(), columns=[])

    assert page.first_seen == site.now - timedelta(seconds=90)
    assert page.fetched_at == site.now - timedelta(seconds=5)


@pytest.mark.parametrize("html", [b"old", b"new"])
def test_a_late_capture_that_is_older_than_all_others_is_the_first_one_and_changes_nothing_else(site, html):
    links = (Link(site.url("/b"), "b"),)
    site.store(site.page("/b"), site.page(body=b"new", outlinks=links, age=10))
    before = site.table.get(site.url())

    site.table.put(site.page(body=html, age=99, outlinks=()))
    site.table.put(site.page(body=b"in between", age=50, outlinks=()))
    page = site.table.get(site.url())

    assert page.first_seen == site.now - timedelta(seconds=99)
    assert (page.body, page.outlinks, page.fetched_at) == (before.body, before.outlinks, before.fetched_at)
    assert [link.source for link in site.table.links.to(site.url("/b"))] == [site.url()]


def test_a_first_capture_stays_what_it_is_whatever_a_page_says(site):
    site.table.put(site.page(age=60, first_seen=site.now - timedelta(days=9)))

    assert site.table.get(site.url()).first_seen == site.now - timedelta(seconds=60)


def test_a_body_that_comes_cut_has_the_digest_and_the_size_of_the_whole_one_where_these_are_told(site):
    whole = b"x" * 300
    cut = site.page(body=whole[:10], truncated=True, digest=digest_of(whole), size=300)
    silent = site.page("/silent", body=whole[:10], truncated=True)

    site.store(cut, silent)

    found = [site.table.get(page.url) for page in (cut, silent)]
    assert [(page.body, page.size, page.digest) for page in found] == [
        (whole[:10], 300, digest_of(whole)),
        (whole[:10], 10, digest_of(whole[:10])),
    ]


def repeat_of(page, age, **fields):
    """Return a capture that repeats the content of *page*, which it names by its date."""
    return Page(
        url=page.url,
        same_as=page.url,
        _content_at=page.fetched_at,
        fetched_at=page.fetched_at + timedelta(seconds=age),
        **fields,
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (2, 0, 1), (0, 2, 1), (1, 2, 0), (1, 0, 2)])
def test_a_repeat_that_names_the_date_of_its_content_waits_for_that(site, order):
    old, new = site.page(body=b"old", age=30), site.page(body=b"new", age=20, outlinks=(Link(site.url("/x")),))
    repeat = repeat_of(new, 10, digest=digest_of(b"new"), size=3, headers={"x": "y"})
    captures = (old, new, repeat)

    for at in order:
        site.store(captures[at])

    found = site.table.get(new.url)
    assert (found.body, found.fetched_at, found.stored.content_at) == (b"new", repeat.fetched_at, new.fetched_at)
    assert [page.body for page in site.table.history(new.url, columns=["body"])] == [b"new", b"old"]
    assert site.table.get(new.url, as_of=old.fetched_at).body == b"old"
    assert [link.source for link in site.table.links.to(site.url("/x"))] == [new.url]


def test_a_repeat_whose_content_never_comes_has_no_body_and_not_an_older_one(site):
    old = site.page(body=b"old", age=30)
    lost = site.page(body=b"lost", age=20)

    site.store(old, repeat_of(lost, 10, digest=digest_of(b"lost"), size=4))

    found = site.table.get(old.url)
    assert (found.body, found.digest, found.size, found.has_body) == (None, digest_of(b"lost"), 4, False)
    assert site.table.get(old.url, as_of=lost.fetched_at).body == b"old"


def test_a_repeat_of_older_content_brings_that_back_where_the_table_has_other_content_since(site):
    old, between = site.page(body=b"old", age=30), site.page(body=b"between", age=20)

    site.store(old, between, repeat_of(old, 20, digest=digest_of(b"old"), size=3))

    assert [page.body for page in site.table.history(old.url, columns=["body"])] == [b"old", b"between", b"old"]
    assert site.table.get(old.url).body == b"old"


def test_other_content_under_the_date_that_a_repeat_names_is_not_taken_for_its_own(site):
    named = site.page(body=b"named", age=20)
    site.store(repeat_of(named, 10, digest=digest_of(b"named"), size=5))

    site.store(site.page(body=b"another of that moment", age=20))

    assert (site.table.get(named.url).body, site.table.get(named.url).digest) == (None, digest_of(b"named"))


def test_a_304_whose_content_is_of_its_own_date_is_a_version_without_a_body(site):
    page = site.page(body=b"page", age=30)
    bare = Page(url=page.url, status=304, fetched_at=site.now, _content_at=site.now)

    site.store(page, bare)

    assert [one.status for one in site.table.history(page.url)] == [304, 200]
    assert site.table.get(page.url).body is None
    assert site.table.maintenance.verify(site.domain).inconsistent == 0


def test_the_date_of_content_must_name_a_time_zone(site):
    with pytest.raises(InvalidCapture, match="content_at"):
        site.table.put(site.page(body=b"x", _content_at=datetime(2026, 1, 1)))


@pytest.mark.parametrize("status", [301, 404])
def test_a_304_is_the_same_whether_the_redirect_or_the_error_before_it_comes_late_or_not(site, status):
    urls = [site.url("/in-order"), site.url("/late")]
    for url, order in zip(urls, ((0, 1), (1, 0)), strict=True):
        first = Page(url=url, status=status, body=b"", fetched_at=site.now - timedelta(seconds=9))
        captures = (first, Page(url=url, status=304, fetched_at=site.now))
        for at in order:
            site.store(captures[at])

    in_order, late = ([one.status for one in site.table.history(url)] for url in urls)
    assert in_order == late
    assert site.table.get(urls[0]).status == site.table.get(urls[1]).status


def test_a_version_of_its_own_is_stored_also_where_its_content_is_there_already(site):
    page = site.page(body=b"same", age=30)
    again = site.page(body=b"same", age=20)
    own = site.page(body=b"same", age=10, _content_at=site.now - timedelta(seconds=10))

    site.store(page, again, own)

    found = site.table.get(page.url)
    assert (found.fetched_at, found.stored.content_at, found.change_count) == (own.fetched_at, own.fetched_at, 0)
    assert [one.fetched_at for one in site.table.history(page.url)] == [page.fetched_at]
    site.store(site.page(body=b"other", age=5))
    before = site.table.get(page.url, as_of=site.now - timedelta(seconds=7))
    assert (before.fetched_at, before.body) == (page.fetched_at, b"same")


FRONT, START = "https://example.com/", datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def sixty_days():
    """A table with a version of `FRONT` of each of 60 days from `START` on, whose title is the number of its day."""
    with webtable.open("memory:versions", create=True, versions=60) as table:
        with table.writer() as writer:
            for day in range(60):
                html, at = b"<title>%d</title>" % day, START + timedelta(days=day)
                writer.put(Page(url=FRONT, body=html, content_type="text/html", fetched_at=at))
        yield table


def test_as_of_a_moment_few_of_many_versions_are_decoded(sixty_days, monkeypatch):
    decode, decoded = PageCodec.version, []
    monkeypatch.setattr(PageCodec, "version", lambda *args: decoded.append(args) or decode(*args))

    page = sixty_days.get(FRONT, as_of=START + timedelta(days=30, hours=1))

    assert page.body == b"<title>30</title>"
    assert len(decoded) == 3  # this one, the one before it, and this one with its body


def test_a_difference_reads_the_bodies_of_two_of_many_versions(sixty_days, monkeypatch):
    decode, bodies = PageCodec.version, []
    monkeypatch.setattr(PageCodec, "version", lambda *args: bodies.append(args[3]) or decode(*args))

    newest = sixty_days.diff(FRONT)
    between = sixty_days.diff(FRONT, START + timedelta(days=3, hours=1), START + timedelta(days=7))

    assert (newest.old.title, newest.new.title) == ("58", "59")
    assert (between.old.title, between.new.title, between.old.body) == ("3", "7", b"<title>3</title>")
    assert len([body for body in bodies if body is not None]) == 4

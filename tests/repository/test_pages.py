"""Pages of a domain, a host and a directory: what comes, in which order, and how it is taken up again."""

from __future__ import annotations

import random
import threading

import pytest

import webtable
from store_differences import on_every_store
from webtable import Page
from webtable.errors import InvalidArgument, InvalidToken, InvalidURL, UnknownColumn
from webtable.repository.page_storage import cells as stored_cells
from webtable.repository.reading import read_ahead
from webtable.repository.reading import scan as scanning
from webtable.rowkey import Salt


@pytest.fixture
def web(site):
    """A site with subdomains, and neighbours that look like it."""
    paths = ["/", "/docs/", "/docs/a", "/docs/b/c", "/docs-old", "/docs0", "/docs?q=1", "/z"]
    for host in ("", "www", "docs", "a.docs", "_x"):
        site.store(*(site.page(path, host=host, body=f"{host}{path}".encode()) for path in paths))
    name = site.domain.removesuffix(".example")
    lookalikes = [f"{name}-shop.example", f"x{site.domain}", f"{site.domain}.evil.example", f"{name}.example2"]
    site.store(*(webtable.Page(url=f"https://{host}/", body=b"x", fetched_at=site.now) for host in lookalikes))
    site.store(webtable.Page(url=f"http://{site.domain}:8080/docs/a", body=b"8080", fetched_at=site.now))
    return site


def urls(pages):
    return [page.url for page in pages]


def plain_key(url):
    return webtable.rowkey.WebKey(Salt.none()).encode(url)


def in_order(table, found):
    keys = [table.key.unsalted(table.key.encode(url)) for url in found]
    return keys == sorted(keys)


@on_every_store
def test_a_domain_brings_its_host_and_all_below_it_and_no_lookalikes(web):
    found = urls(web.table.pages(web.domain))

    assert len(found) == 5 * 8 + 1
    assert {url.split("/")[2].removesuffix(":8080") for url in found} == {
        f"{host}{web.domain}" for host in ("", "www.", "docs.", "a.docs.", "_x.")
    }
    assert in_order(web.table, found)


def test_host_only_leaves_out_the_hosts_below(web):
    found = urls(web.table.pages(webtable.HostOnly(web.domain)))

    assert len(found) == 9
    assert in_order(web.table, found)


@pytest.mark.parametrize("path", ["/docs/", "/docs"])
def test_a_directory_is_what_its_path_begins_with(web, path):
    found = urls(web.table.pages(f"https://{web.domain}{path}"))

    assert found == [
        web.url("/docs/"),
        web.url("/docs/a"),
        f"http://{web.domain}:8080/docs/a",
        web.url("/docs/b/c"),
    ]


def test_storage_order_brings_the_same_pages(web):
    found = urls(web.table.pages(web.domain, order="storage"))

    assert sorted(found) == sorted(urls(web.table.pages(web.domain)))
    assert [web.table.key.encode(url) for url in found] == sorted(map(web.table.key.encode, found))


@pytest.mark.parametrize("limit", [0, 1, 7, 41, 42, 1000])
@pytest.mark.parametrize("order", ["url", "storage"])
def test_a_limit_is_exact(web, limit, order):
    everything = urls(web.table.pages(web.domain, order=order))

    assert urls(web.table.pages(web.domain, order=order, limit=limit)) == everything[:limit]


def test_a_listing_reads_no_bodies_and_no_links(spied, web):
    columns = []
    spied.listener = lambda call, table, selected: table == web.table.table and columns.extend(selected)

    found = list(spied.site.table.pages(web.domain))

    assert set(columns) == {b"metadata:page"}
    assert {(page.body, page.outlinks) for page in found} == {(None, None)}
    assert found[0].title == "title of /"


@on_every_store
def test_a_listing_brings_bodies_and_links_where_they_are_asked_for(web):
    found = list(web.table.pages(web.domain, columns=["body", "outlinks"]))
    one_host = list(web.table.pages(webtable.HostOnly(web.domain), columns=["body"]))

    assert {page.body for page in found} >= {b"docs/docs/a", b"www/z", b"8080"}
    assert found[-1].outlinks == ()
    assert [page.body for page in one_host if page.url == web.url("/docs/a")] == [b"/docs/a"]
    assert one_host[0].outlinks is None
    assert in_order(web.table, urls(found))


@pytest.mark.parametrize("order", ["url", "storage"])
@pytest.mark.parametrize("size", [1, 7, 100])
@on_every_store
def test_batches_laid_end_to_end_are_the_whole(web, order, size):
    found, token = [], None
    while True:
        batch = web.table.pages(web.domain, order=order, after=token).page(size=size)
        found += urls(batch)
        token = batch.next_token
        if token is None:
            break

    assert found == urls(web.table.pages(web.domain, order=order))


@on_every_store
def test_a_token_finds_its_place_after_inserts_and_deletes(web):
    before = urls(web.table.pages(web.domain))
    batch = web.table.pages(web.domain).page(size=20)

    web.table.delete(batch[-1].url)  # the very page that the token is behind
    web.table.delete(before[20])
    web.store(web.page("/", host="0", body=b"new"), web.page("/zz", host="www", body=b"new"))
    after = urls(web.table.pages(web.domain, after=batch.next_token))

    assert after == sorted([*before[21:], f"https://www.{web.domain}/zz"], key=plain_key)


def test_the_last_batch_has_no_token(web):
    assert web.table.pages(web.domain).page(size=41).next_token is None
    assert web.table.pages(web.domain).page(size=40).next_token is not None
    assert web.table.pages(web.domain, limit=5).page(size=5).next_token is None
    assert len(web.table.pages(web.domain, limit=5).page(size=50)) == 5
    assert web.table.pages("nothing.example").page().next_token is None


@pytest.mark.parametrize("order", ["url", "storage"])
def test_a_listing_goes_on_behind_any_of_its_pages(web, order):
    pages = list(web.table.pages(web.domain, order=order))

    token = web.table.pages(web.domain, order=order).token_after(pages[12])

    assert urls(web.table.pages(web.domain, order=order, after=token)) == urls(pages[13:])


def test_a_token_of_another_question_is_refused(web):
    token = web.table.pages(web.domain).page(size=1).next_token

    for other in (webtable.HostOnly(web.domain), f"https://{web.domain}/docs/"):
        with pytest.raises(InvalidToken, match="another question"):
            web.table.pages(other, after=token)
    with pytest.raises(InvalidToken, match="another question"):
        web.table.pages(web.domain, after=token, order="storage")
    with pytest.raises(InvalidToken):
        web.table.pages("other.example", after=token)


@pytest.mark.parametrize("token", ["", "x", "ünicode", "AAAA", "kqNhYmPEA2Rl"])
def test_a_damaged_token_is_refused(site, token):
    with pytest.raises(InvalidToken):
        site.table.pages(site.domain, after=token)


def test_nothing_stored_is_an_empty_answer(site):
    assert list(site.table.pages(site.domain)) == []
    assert list(site.table.pages(f"https://{site.domain}/x/")) == []
    assert len(site.table.pages(site.domain).page()) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"limit": -1}, InvalidArgument, "limit=-1"),
        ({"order": "random"}, InvalidArgument, "order='random'"),
        ({"columns": ["bodies"]}, UnknownColumn, "'bodies'"),
        ({"columns": "links"}, UnknownColumn, "'links'"),
    ],
)
def test_an_argument_that_cannot_be_honoured_is_refused_at_once(site, arguments, error, text):
    with pytest.raises(error, match=text):
        site.table.pages(site.domain, **arguments)


@pytest.mark.parametrize("wrong", ["", "a b", "ftp://example.com/", "example.com:port", "https://"])
def test_a_site_that_is_no_host_and_no_directory_is_refused(site, wrong):
    with pytest.raises(InvalidURL):
        site.table.pages(wrong)


def test_asking_is_lazy_and_iterating_asks_anew(spied, web):
    calls = []
    spied.listener = lambda *call: calls.append(call)

    pages = spied.site.table.pages(web.domain)
    asked_before = len(calls)
    first, second = urls(pages), urls(pages)

    assert asked_before == 0
    assert first == second
    main = [call for call in calls if call[1] == web.table.table]
    assert main[: len(main) // 2] == main[len(main) // 2 :] != []


def test_explain_shows_ranges_without_reading_pages(spied, web):
    spied.listener = lambda call, table, *_: table != web.table.table or pytest.fail(f"asked {call}")

    everything = spied.site.table.pages(web.domain, columns=["body"]).explain()
    one_host = spied.site.table.pages(webtable.HostOnly(web.domain)).explain()

    assert 1 < len(everything.ranges) < 10  # a salt for each host
    assert everything.columns == ("metadata:page", "content:html")
    assert len(one_host.ranges) == 1
    assert f"ranges: {len(everything.ranges)}" in str(everything)


def test_a_subtree_without_a_host_index_is_looked_for_below_every_salt(new_url, web):
    with webtable.open(new_url(), create=True, indexes=["time"]) as table:
        table.put(Page(url=web.url("/docs/a"), body=b""))

        assert len(table.pages(web.domain).explain().ranges) == 256
        assert urls(table.pages(web.domain)) == [web.url("/docs/a")]


def test_a_merge_over_many_hosts_reads_on_where_a_range_runs_dry(site, monkeypatch):
    monkeypatch.setattr(scanning, "MERGE_ROWS", 300)
    monkeypatch.setattr(scanning, "BODY_ROWS", 16)
    monkeypatch.setattr(stored_cells, "BODY_ROWS", 16)
    site.store(*(site.page(f"/{n:03}", host=f"h{host}", body=b"") for host in range(12) for n in range(host * 10)))

    found = urls(site.table.pages(site.domain))

    assert len(found) == len(set(found)) == sum(host * 10 for host in range(12))
    assert in_order(site.table, found)
    assert urls(site.table.pages(site.domain, limit=333)) == found[:333]


def test_the_next_piece_is_read_while_the_caller_works_on_this_one(spied, site, monkeypatch):
    monkeypatch.setattr(read_ahead, "FIRST_ROWS", 4)
    monkeypatch.setattr(read_ahead, "PIECE_ROWS", 8)
    site.store(*(site.page(f"/{n:03}", body=b"") for n in range(40)))
    readers = set()
    make = spied.site.table._context.counted.each
    spied.site.table._context.counted.each = lambda *row: (readers.add(threading.current_thread().name), make(*row))[1]

    found = iter(spied.site.table.pages(webtable.HostOnly(site.domain), columns=["body"]))
    next(found)
    rest = list(found)

    assert len(rest) == 39
    assert any("read-ahead" in name for name in readers)


def test_pages_with_long_headers_are_all_listed(site):
    headers = {"set-cookie": "y" * 4_000}
    site.store(*(site.page(f"/{n:03}", host=host, body=b"", headers=headers) for host in "ab" for n in range(300)))

    assert len(list(site.table.pages(site.domain))) == 600


@pytest.mark.parametrize("arguments", [{"site": 5}, {"site": b"example.com"}, {"limit": "5"}])
def test_an_argument_of_another_type_is_refused(site, arguments):
    with pytest.raises(webtable.WebTableError):
        site.table.pages(**{"site": site.domain, **arguments})


def test_an_iteration_that_is_given_up_leaves_no_thread_behind(site, monkeypatch):
    monkeypatch.setattr(read_ahead, "FIRST_ROWS", 4)
    monkeypatch.setattr(read_ahead, "PIECE_ROWS", 8)
    site.store(*(site.page(f"/{n:03}", body=b"") for n in range(40)))
    others = set(threading.enumerate())

    found = iter(site.table.pages(site.domain))
    for _ in range(10):
        next(found)
    found.close()

    assert not [thread for thread in set(threading.enumerate()) - others if "read-ahead" in thread.name]


SALTS = [Salt.host(), Salt.domain(), Salt.url(), Salt.none(), Salt.host(digits=1)]


@pytest.mark.parametrize("salt", SALTS, ids=lambda salt: f"{salt.source}{salt.digits}")
def test_every_salt_gives_the_same_pages_in_the_same_order(new_url, site, salt):
    rng = random.Random(7)
    hosts = ["example.com", "www.example.com", "a.www.example.com", "example-shop.com", "b.co.uk", "127.0.0.1"]
    crawl = sorted({f"https://{rng.choice(hosts)}/{rng.randrange(40)}/{rng.randrange(5)}" for _ in range(150)})

    with webtable.open(new_url(), create=True, salt=salt, indexes=["host"]) as table:
        with table.writer() as writer:
            for url in crawl:
                writer.put(webtable.Page(url=url, body=b"x", fetched_at=site.now))
        expected = sorted(crawl, key=plain_key)

        assert urls(table.pages("example.com")) == [u for u in expected if "/example.com/" in u or ".example.com/" in u]
        assert urls(table.pages("com")) == [url for url in expected if ".com/" in url]
        assert urls(table.pages("https://b.co.uk/3/")) == [url for url in expected if "b.co.uk/3/" in url]
        assert urls(table.pages("127.0.0.1")) == [url for url in expected if "127.0.0.1" in url]
        assert {page.url for page in table.get_many(crawl)} == set(crawl)


@pytest.fixture
def partly_gone(site):
    """A site in which each twentieth page is gone, some of them behind a 200, or before it."""
    with site.table.writer() as writer:
        for number in range(200):
            gone = 404 if number % 20 == 7 else 200
            writer.put(site.page(f"/{number:03}", body=b"x", status=404 if number % 3 else 200, age=900))
            writer.put(site.page(f"/{number:03}", body=b"y", status=gone, age=600))
    return site


def rows_read(table):
    return sum(operation.rows for operation in table.metrics.operations.values())


@pytest.mark.parametrize("order", ["url", "storage"])
@on_every_store
def test_a_status_is_filtered_by_the_store_and_the_answer_is_that_of_a_loop(partly_gone, order):
    table, domain = partly_gone.table, partly_gone.domain
    wanted = [page.url for page in table.pages(domain, order=order) if page.status == 404]
    before = rows_read(table)

    found = urls(table.pages(domain, status=404, order=order))
    read = rows_read(table) - before
    batch = table.pages(domain, status=404, order=order, columns=["body"]).page(size=4)
    rest = table.pages(domain, status=404, order=order, columns=["body"], after=batch.next_token)
    first = table.pages(domain, status=404, order=order, limit=3)

    assert found == wanted
    assert len(found) == 10
    assert read < 60
    assert urls(batch) + urls(rest) == wanted
    assert {page.body for page in rest} == {b"y"}
    assert urls(first) == wanted[:3]
    assert "filter in the store: metadata:status_code is 404" in str(first.explain())


def test_a_status_is_filtered_by_the_store_for_tables_too(partly_gone):
    pytest.importorskip("pyarrow")
    table, domain = partly_gone.table, partly_gone.domain
    wanted = [page.url for page in table.pages(domain) if page.status == 404]
    before = rows_read(table)

    found = table.pages(domain, status=404).to_arrow(["url"]).read_all()["url"].to_pylist()
    read = rows_read(table) - before

    assert found == wanted
    assert read < 60
    for limit in (1, 3, 11):
        some = table.pages(domain, status=404, limit=limit).to_arrow(["url"]).read_all()["url"].to_pylist()
        assert some == wanted[:limit]


def test_a_status_that_no_page_or_nearly_each_has_is_right_too(partly_gone):
    table, domain = partly_gone.table, partly_gone.domain

    assert urls(table.pages(domain, status=40)) == []
    assert len(urls(table.pages(domain, status=200))) == 190
    assert len(urls(table.pages(domain, status=[200, 404]))) == 200

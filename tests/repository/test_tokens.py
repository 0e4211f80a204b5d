"""Page tokens: what was altered is refused, whatever it has become; a walk by them gives each page once."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from damaging import Web

import webtable
from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import InvalidToken
from webtable.schema import INDEX_COLUMN
from webtable.store import NewCell, Put


@pytest.fixture
def web(site):
    return Web(site)


@pytest.mark.parametrize(
    "ask",
    [
        lambda web, after: web.table.pages(web.site.domain, after=after),
        lambda web, after: web.table.fetched(web.site.domain, after=after),
        lambda web, after: web.table.links.of(web.url("/"), after=after),
        lambda web, after: web.table.links.to(web.url("/b"), after=after),
        lambda web, after: web.table.links.broken(web.site.domain, after=after),
        lambda web, after: web.table.changes(web.site.domain, since="2026-01-01", after=after),
    ],
    ids=["pages", "fetched", "links_of", "linking_to", "broken_links", "changes"],
)
def test_an_altered_token_is_always_refused(web, ask):
    web.site.store(web.site.page("/c", outlinks=(Link(web.url("/gone")),)))
    token = ask(web, None).page(1).next_token
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    rng = random.Random(3)

    altered = {token[:at] for at in range(len(token))} | {token + "A", token + "=", "", "é", "\ud800", "A" * 9}
    for _ in range(2_000):
        at, count = rng.randrange(len(token)), rng.randint(1, 3)
        altered.add(token[:at] + "".join(rng.choices(letters, k=count)) + token[at + count :])
    for one in altered - {token}:
        with pytest.raises(InvalidToken):
            ask(web, one)

    assert len(list(ask(web, token))) == len(list(ask(web, None))) - 1


def walked(ask, size):
    """Return the URLs that a walk by tokens gives, *size* pages at a time."""
    found, token = [], None
    while token or not found:
        batch = ask(token).page(size)
        found += [page.url for page in batch]
        token = batch.next_token
    return found


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("order", ["newest", "oldest"])
@on_every_store
def test_a_walk_gives_a_page_once_that_has_an_old_entry_further_on(site, order, size):
    for path, hours, body in [("/a", 1, b"A"), ("/a", 5, b"A"), ("/b", 3, b"x"), ("/c", 2, b"y"), ("/a", 4, b"B")]:
        # Dated ahead as well: no date of a capture tells whether it is there since the last batch.
        site.store(site.page(path, age=-timedelta(hours=hours).total_seconds(), body=body))

    found = walked(lambda token: site.table.modified(site.domain, order=order, after=token), size)

    expected = [site.url(path) for path in ("/a", "/b", "/c")]
    assert found == (expected if order == "newest" else expected[::-1])


@pytest.mark.parametrize("behind", [1, 2])
def test_a_token_right_behind_a_page_does_not_give_it_again(site, behind):
    site.store(*(site.page(path, body=b"x" * size) for path, size in [("/a", 2), ("/b", 5), ("/c", 9)]))
    index, key = (
        site.table._context.indexes.read()["size"],
        site.table.key.unsalted(site.table.key.encode(site.url("/a"))),
    )
    for size in (1, 3, 7, 11):
        (entry,) = index.index.entries(Page(url="", size=size), key)
        site.table.store.write(index.table, [Put(entry, [NewCell(INDEX_COLUMN, 1_000, b"")])])

    for order, expected in [("largest", "/c /b /a"), ("smallest", "/a /b /c")]:
        first = site.table.largest(site.domain, order=order).page(behind)
        rest = list(site.table.largest(site.domain, order=order, after=first.next_token))

        assert [page.url for page in (*first, *rest)] == [site.url(path) for path in expected.split()]


def test_links_to_one_target_come_once_each_by_tokens(tmp_path):
    hosts = ("gone.example", "kept.example")
    body = b"".join(b"<a href=https://%s/%d>x</a>" % (hosts[at % 2].encode(), at) for at in range(12))
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(Page(url="https://a.example/", body=body))
        table.put(Page(url="https://gone.example/1", body=b"x"))
        table.delete_pages("gone.example", and_links=True)  # leaves several links to about:blank
        whole = list(table.links.of("https://a.example/"))

        walked, token = [], None
        while token is not None or not walked:
            batch = table.links.of("https://a.example/", after=token).page(size=3)
            walked, token = [*walked, *batch], batch.next_token

    assert [link.url for link in whole].count("about:blank") > 1
    assert walked == whole

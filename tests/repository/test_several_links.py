"""Several links of one page to another: all are kept, in every answer, and a linking page counts once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import InvalidToken
from webtable.page.parts import different_links
from webtable.repository.answers import tokens

# A followed text link stands behind an image link that is not followed.
HTML = (
    b"<nav><a href=/p rel=nofollow><img src=i alt=Logo></a></nav>"
    b"<main><a href=/p#a>Product</a> <a href='/p#b'>Product</a> <a href=/q>Q</a> <a href=/p/../p>Details</a></main>"
)
LINKS = [("Logo", "nofollow", "nav", 1), ("Product", "", "main", 2), ("Details", "", "main", 1)]


def shape(links):
    return [(link.anchor, link.rel, link.position, link.times) for link in links]


def html(site, path, body, days=0, **fields):
    return Page(
        url=site.url(path),
        body=body,
        content_type="text/html",
        fetched_at=site.now + timedelta(days=days - 2),
        **fields,
    )


@pytest.fixture
def shop(site):
    site.store(html(site, "/", HTML), html(site, "/p", b"gone", status=404), html(site, "/other", b"<a href=/p>P</a>"))
    site.table.links.refresh()
    return site


@on_every_store
def test_every_answer_about_links_has_all_of_them(shop):
    table, home, product = shop.table, shop.url("/"), shop.url("/p")

    of_home = list(table.links.of(home))

    assert shape(link for link in of_home if link.url == product) == LINKS
    assert shape(of_home)[2] == ("Q", "", "main", 1)  # in the order of the page
    assert shape(link for link in table.links.to(product) if link.source == home) == LINKS
    assert shape(edge for edge in table.edges(home) if (edge.source, edge.target) == (home, product)) == LINKS
    assert shape(link for link in table.links.broken(shop.domain) if link.source == home) == LINKS


@on_every_store
def test_a_page_that_links_several_times_counts_once(shop):
    (product,) = shop.table.links.most_linked(shop.domain, limit=1)
    home = shop.table.get(shop.url("/"))

    assert product.link_counts.inlinks == 2
    assert home.outlink_count == len(home.outlinks) == 4
    assert list(shop.table.links.discovered(shop.domain)) == [shop.url("/q")]
    assert shop.table.indexes.verify("link", settle=0).missing == 0


@on_every_store
@pytest.mark.parametrize("question", ["to", "broken", "edges", "of"])
def test_answers_go_on_between_two_links_of_one_page(shop, question):
    table = shop.table
    ask, subject = {
        "to": (table.links.to, shop.url("/p")),
        "broken": (table.links.broken, shop.domain),
        "edges": (table.edges, shop.domain),
        "of": (table.links.of, shop.url("/")),
    }[question]
    whole = list(ask(subject))

    for number, link in enumerate(whole, 1):
        assert list(ask(subject, after=ask(subject).token_after(link))) == whole[number:]
        assert list(ask(subject, limit=number)) == whole[:number]


@on_every_store
def test_frames_have_a_row_for_each_link(shop):
    frame = shop.table.links.to(shop.url("/p")).to_arrow().read_all().to_pylist()

    assert [
        (row["anchor"], row["rel"], row["position"], row["times"]) for row in frame if row["source"] == shop.url("/")
    ] == (LINKS)
    (outlinks,) = (
        row["outlinks"]
        for row in shop.table.pages(shop.url("/"), limit=1, columns=["outlinks"]).to_arrow().read_all().to_pylist()
    )
    assert [
        (link["anchor"], link["rel"], link["position"], link["times"])
        for link in outlinks
        if link["url"].endswith("/p")
    ] == LINKS


@on_every_store
def test_a_page_that_drops_one_of_two_links_says_so(site):
    links = b"<a href=/p>Text</a><nav><a href=/p>Menu</a></nav><a href=/r>R</a>"
    site.store(html(site, "/", links))
    site.store(html(site, "/", b"<a href=/p>Text</a><a href=/r>R</a>", days=1))

    newest, before = site.table.history(site.url("/"))
    difference = site.table.diff(site.url("/"))

    assert shape(before.outlinks or ())[:2] == [("Text", "", "", 1), ("Menu", "", "nav", 1)] or before.outlinks is None
    assert [link.anchor for link in site.table.get(site.url("/"), as_of=site.now - timedelta(days=2)).outlinks] == [
        "Text",
        "Menu",
        "R",
    ]
    assert [link.anchor for link in difference.links_removed] == ["Menu"]
    assert (difference.links_added, difference.links_changed) == ((), ())
    assert [link.anchor for link in site.table.links.to(site.url("/p"))] == ["Text"]
    assert not list(site.table.links.to(site.url("/p"), past=True))
    assert newest.fetched_at > before.fetched_at


@on_every_store
def test_past_links_are_all_there_as_the_page_had_them_last(site):
    site.store(html(site, "/", HTML))
    site.store(html(site, "/", b"<p>nothing", days=1))

    assert shape(site.table.links.to(site.url("/p"), past=True)) == LINKS


def test_given_links_are_bounded_like_those_of_html():
    url, many = "https://example.com/", [Link("https://example.com/", str(number)) for number in range(20)]

    assert different_links([Link(url, "a"), Link(url, "b", "nofollow"), Link(url, "a", times=3)]) == (
        Link(url, "a", times=4),
        Link(url, "b", "nofollow"),
    )
    assert different_links(many) == (*many[:15], Link(url, "15", times=5))
    assert different_links(different_links(many)) == different_links(many)


@on_every_store
def test_a_zero_byte_in_a_text_of_a_link_is_a_replacement_character_and_moves_nothing(site):
    links = (Link(site.url("/p"), "a\0b", "no\0follow"), Link(site.url("/p"), "second"))
    site.store(site.page("/", age=1, outlinks=links))
    site.store(site.page("/", age=0, outlinks=()))

    texts = [(link.anchor, link.rel, link.kind) for link in site.table.links.to(site.url("/p"), past=True)]
    assert texts == [("a\ufffdb", "no\ufffdfollow", "a"), ("second", "", "a")]


def test_a_token_without_the_number_of_a_link_is_refused(shop):
    def damaged(answer, place):
        token = answer.token_after(next(iter(answer)))
        return tokens._token(replace(tokens._position(token), place=place))

    table, product, home = shop.table, shop.url("/p"), shop.url("/")
    for place in (home.encode(), home.encode() + b"\0x"):
        with pytest.raises(InvalidToken, match="after="):
            list(table.links.to(product, after=damaged(table.links.to(product), place)))
        with pytest.raises(InvalidToken, match="after="):
            list(table.edges(home, order="storage", after=damaged(table.edges(home, order="storage"), place)))

"""Headings, images, structured data and insecure content of the pages of a site, on every store."""

from __future__ import annotations

from functools import partial

import pytest
from damaging import damage

from store_differences import on_every_store
from webtable import URLFilter
from webtable.errors import InvalidArgument

HTML = b"""<title>t</title><h1>One</h1><h2>Two</h2><img src=a.png><img src=b.png alt=""><img src=c.png alt=Lamp>
<script type=application/ld+json>{"@type": "Product"}</script><script type=application/ld+json>{,}</script>
<script type=application/ld+json></script><script src=http://a.example/></script><form action=http://a.example/></form>"""
QUESTIONS = ["headings", "images", "structured_data", "insecure_content"]
COUNTS = {"headings": 2, "images": 3, "structured_data": 3, "insecure_content": 2}


@pytest.fixture
def shop(site):
    """A site of two pages with elements, and some that do not count."""
    html = partial(site.page, body=HTML, content_type="text/html")
    site.store(
        html("/b"),
        html("/a"),
        html("/error", status=404),
        html("/text", content_type="text/plain"),
        site.page("/without", body=None, content_type="text/html"),
        html("/plain", body=b"<p>nothing"),
    )
    return site


def paths(site, results):
    return [element.url.removeprefix(site.url("")) for element in results]


@on_every_store
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("order", ["url", "storage"])
def test_html_pages_with_status_200_answer_in_the_order_of_pages_and_of_the_document(shop, name, order):
    ask = partial(getattr(shop.table, name), shop.domain, order=order)

    elements = list(ask())

    pages = [page.url for page in shop.table.pages(shop.domain, order=order) if page.url[-2:] in ("/a", "/b")]
    assert [(element.url, element.position) for element in elements] == [
        (url, position) for url in pages for position in range(1, COUNTS[name] + 1)
    ]
    pieces, token = [], None
    while True:
        batch = ask(after=token).page(1)
        pieces += batch
        if not (token := batch.next_token):
            break
    assert pieces == elements
    assert list(ask(limit=3)) == elements[:3]


@pytest.mark.parametrize(
    ("name", "choice", "positions"),
    [
        ("images", {"alt": "missing"}, [1, 1]),
        ("images", {"alt": ["empty", "text"]}, [2, 3, 2, 3]),
        ("structured_data", {"problem": "broken"}, [2, 2]),
        ("structured_data", {"problem": ["empty", "broken"]}, [2, 3, 2, 3]),
        ("insecure_content", {"problem": "form to http"}, [2, 2]),
        ("insecure_content", {"problem": "form on http"}, []),
    ],
)
def test_a_choice_leaves_the_others_out_and_keeps_their_positions(shop, name, choice, positions):
    answer = getattr(shop.table, name)(shop.domain, **choice)

    assert [element.position for element in answer] == positions


@pytest.mark.parametrize(("name", "argument"), [("images", "alt"), ("structured_data", "problem")])
def test_a_choice_that_there_is_not_is_refused(shop, name, argument):
    with pytest.raises(InvalidArgument, match=f"{argument}='none' must be one of"):
        getattr(shop.table, name)(shop.domain, **{argument: "none"})


def test_a_filter_of_addresses_leaves_pages_out(shop):
    assert paths(shop, shop.table.headings(shop.domain, urls=URLFilter(exclude=["/a"]))) == ["/b", "/b"]


def test_the_answer_is_that_of_the_page_itself(shop):
    page = shop.table.get(shop.url("/a"), columns=["body"])

    for name in QUESTIONS:
        answer = [element for element in getattr(shop.table, name)(shop.domain) if element.url == page.url]
        assert answer == list(getattr(page.elements, name))


def test_a_damaged_page_is_left_out_and_counted(shop):
    damage(shop.table, shop.url("/a"))

    answer = shop.table.headings(shop.domain)

    assert paths(shop, answer) == ["/b", "/b"]
    assert [row.row for row in answer.damaged] == [shop.table.key.encode(shop.url("/a"))]


def test_frames_have_the_types_of_the_columns(shop):
    rows = shop.table.images(shop.domain, alt="text").to_arrow().read_all().to_pylist()

    assert [(row["position"], row["alt"], row["alt_state"], row["width"], row["sources"]) for row in rows] == [
        (3, "Lamp", "text", None, [])
    ] * 2


def test_parts_of_an_answer_are_the_answer(shop):
    answer = shop.table.headings(shop.domain)

    parts = [element for part in answer.partitions(3) for element in part.pages()]

    assert sorted(parts) == sorted(answer)

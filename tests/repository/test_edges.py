"""The link graph of a site: each link of each page once, with the status of its target, wherever a part ends."""

from __future__ import annotations

import pytest
from damaging import damage

import webtable
from store_differences import on_every_store
from webtable import Link
from webtable.answers import Edge
from webtable.errors import InvalidToken
from webtable.page.page import Page
from webtable.repository.links import links as link_graph
from webtable.testing import CountingStore


@pytest.fixture
def town(site):
    """Pages that link to each other, to an error page, to pages that are not stored, and to no page."""

    def links(*urls: str) -> tuple[Link, ...]:
        return tuple(Link(url, f"to {url[-1]}", "") for url in urls)

    elsewhere = "https://elsewhere.example/"
    site.store(
        site.page("/", outlinks=links(site.url("/b"), site.url("/a"), "mailto:a@a.example", site.url("/gone"))),
        site.page("/a", outlinks=links(elsewhere, "HTTPS://ELSEWHERE.example", site.url("/a"))),
        site.page("/b", outlinks=None),
        site.page("/gone", status=404, outlinks=()),
        site.page("/", host="www", outlinks=links(site.url("/"))),
    )
    return site


def expected(site):
    """Return the edges of the town, those of a page together."""
    www = f"https://www.{site.domain}/"
    return {
        site.url("/"): [
            Edge(site.url("/"), site.url("/a"), "to a", site.domain, 200),
            Edge(site.url("/"), site.url("/b"), "to b", site.domain, 200),
            Edge(site.url("/"), site.url("/gone"), "to e", site.domain, 404),
        ],
        site.url("/a"): [
            Edge(site.url("/a"), site.url("/a"), "to a", site.domain, 200),
            Edge(site.url("/a"), "https://elsewhere.example/", "to /", "elsewhere.example", None),
            Edge(site.url("/a"), "https://elsewhere.example/", "to e", "elsewhere.example", None),
        ],
        www: [Edge(www, site.url("/"), "to /", site.domain, 200)],
    }


@on_every_store
@pytest.mark.parametrize("order", ["url", "storage"])
def test_each_link_of_each_page_comes_once_with_the_status_of_its_target(town, order):
    sources = [page.url for page in town.table.pages(town.domain, order=order)]

    found = list(town.table.edges(town.domain, order=order))

    assert found == [
        edge for source in sources for edge in sorted(expected(town).get(source, ()), key=lambda edge: edge.target)
    ]
    www = f"https://www.{town.domain}/"
    assert list(town.table.edges(www)) == expected(town)[www]
    assert [edge for edge in town.table.edges(webtable.ALL) if town.domain in edge.source] == (
        list(town.table.edges(town.domain))
    )


@on_every_store
@pytest.mark.parametrize("order", ["url", "storage"])
def test_an_answer_goes_on_after_each_of_its_edges(town, order):
    answer = town.table.edges(town.domain, order=order)
    whole = list(answer)

    for number, edge in enumerate(whole, 1):
        rest = town.table.edges(town.domain, order=order, after=answer.token_after(edge))
        assert list(rest) == whole[number:]
        assert list(town.table.edges(town.domain, order=order, limit=number)) == whole[:number]
    with pytest.raises(InvalidToken):
        town.table.edges(webtable.ALL, order=order, after=answer.token_after(whole[0]))


def test_it_goes_on_where_the_page_or_the_link_is_gone_meanwhile(town):
    answer = town.table.edges(town.domain)
    second = list(answer)[1]
    token = answer.token_after(second)

    town.store(town.page("/", age=-1, outlinks=(Link(town.url("/gone"), "", ""),)))
    after_change = [(edge.source, edge.target) for edge in town.table.edges(town.domain, after=token)]
    town.table.delete(second.source)
    after_delete = [edge.source for edge in town.table.edges(town.domain, after=token)]

    assert after_change[0] == (town.url("/"), town.url("/gone"))
    assert after_change[1][0] == town.url("/a")
    assert after_delete[0] == town.url("/a")


def test_edges_are_a_frame(town):
    frame = town.table.edges(town.domain).to_pandas()

    assert list(frame) == ["source", "target", "anchor", "host", "status", "kind", "rel", "position", "times"]
    assert frame["status"].isna().sum() == 2
    assert frame.groupby("host")["target"].count().to_dict() == {town.domain: 5, "elsewhere.example": 2}


def test_targets_are_looked_up_together_and_not_again(site, monkeypatch):
    monkeypatch.setattr(link_graph, "FIRST_EDGES", 100)
    common = tuple(Link(site.url(f"/{number:02}"), "", "") for number in range(20))
    site.store(*(site.page(f"/{number:02}", outlinks=common) for number in range(20)))
    counting = CountingStore(site.table.store)
    table = webtable.WebTable(counting, site.table.table, site.table.layout)

    found = list(table.edges(site.domain))

    assert len(found) == 20 * 20
    assert {edge.status for edge in found} == {200}
    pages = CountingStore(site.table.store)
    list(webtable.WebTable(pages, site.table.table, site.table.layout).pages(site.domain, columns=["outlinks"]))
    assert counting.calls["read"] - pages.calls["read"] == 1


def test_a_status_that_was_forgotten_is_looked_up_again(town, monkeypatch):
    whole = list(town.table.edges(town.domain))
    monkeypatch.setattr(link_graph, "TARGETS_REMEMBERED", 1)
    monkeypatch.setattr(link_graph, "FIRST_EDGES", 2)

    assert list(town.table.edges(town.domain)) == whole


def test_a_target_that_cannot_be_read_has_no_status_and_is_reported(town):
    damage(town.table, town.url("/gone"), value=None)
    answer = town.table.edges(town.domain)

    (edge,) = (edge for edge in answer if edge.target == town.url("/gone"))

    assert edge.status is None
    assert town.url("/gone") in [row.url for row in answer.damaged]


def test_an_empty_graph_says_so(site):
    site.store(Page(url=site.url("/"), fetched_at=site.now, outlinks=()))

    assert f"no links of pages of {site.domain} and below" in site.table.edges(site.domain)._repr_html_()

"""Broken links: as many calls for a hundred error pages as for one, and each link once, wherever a page ends."""

from __future__ import annotations

import pytest
from deaths import Town

import webtable
from webtable.testing import CountingStore

ERRORS = 60
"""How many error pages there are: each has three inlinks, the first one from every page."""


@pytest.fixture(scope="module")
def town(new_url):
    """A town with error pages that are linked to, with one that nobody links to, and with one link that is gone."""
    with webtable.open(new_url(), create=True) as table:
        town = Town(table)
        errors = [f"/{number:02}" for number in range(ERRORS)]
        pages = [
            town.page(f"/from/{number:02}", outlinks=town.links("/00", *(errors[number - step] for step in (0, 1, 2))))
            for number in range(ERRORS)
        ]
        town.store(*pages, *(town.page(path, status=404, outlinks=()) for path in [*errors, "/unlinked"]))
        table.links.refresh()
        yield town


def expected(town):
    """Return the sources and targets of all broken links, by the pages that are stored."""
    found = (
        (link.url, page.url) for page in town.table.pages(town.domain, columns=["outlinks"]) for link in page.outlinks
    )
    return sorted(found)


def named(links):
    return [(link.target, link.source) for link in links]


def calls_of(town, **asking):
    """Return the broken links and the calls that they took."""
    counting = CountingStore(town.table.store)
    table = webtable.WebTable(counting, town.table.table, town.table.layout)
    return named(table.links.broken(**asking)), counting.calls


def test_the_inlinks_of_many_error_pages_are_read_and_checked_together(town):
    first, few = calls_of(town, limit=20)
    some, more = calls_of(town, site=town.domain, limit=80)
    everything, all_calls = calls_of(town)

    assert first + some[20:] == expected(town)[:80]
    assert everything == expected(town)
    assert len(everything) == 4 * ERRORS - 3
    assert few["read_cells"] <= 2
    assert few["read"] <= 5
    assert more["read_cells"] <= 2
    assert all_calls["read_cells"] <= 3
    assert all_calls["read"] <= 12


@pytest.mark.parametrize("size", [1, 7, 16, 17, 64, 200])
def test_tokens_lead_through_all_broken_links(town, size):
    found, token = [], None
    while token or not found:
        part = town.table.links.broken(after=token).page(size)
        assert len(part) == size or part.next_token is None
        found += named(part)
        token = part.next_token

    assert found == expected(town)


def test_a_limit_is_exact_within_the_inlinks_of_one_page_and_behind_them(town):
    for limit in (0, 1, 15, 16, 17, 59, 60, 61, 65, 66, 500):
        assert named(town.table.links.broken(limit=limit)) == expected(town)[:limit]


def test_a_token_whose_error_page_is_well_again_goes_on_with_the_next_one(tmp_path):
    with webtable.open(tmp_path / "own.db", create=True) as table:
        town = Town(table)
        town.store(
            town.page("/", outlinks=town.links("/a", "/b")),
            town.page("/z", outlinks=town.links("/a", "/b")),
            *(town.page(path, days=3, status=404, outlinks=()) for path in ("/a", "/b")),
        )
        first = table.links.broken().page(1)
        town.store(town.page("/a", days=1, outlinks=()))

        rest = table.links.broken(after=first.next_token)

        assert named(first) == [(town.url("/a"), town.url("/"))]
        assert named(rest) == [(town.url("/b"), town.url(path)) for path in ("/", "/z")]

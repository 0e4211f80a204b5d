"""Groups of pages whose texts are nearly the same: joined by confirmed pairs, in bounded memory and few comparisons."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from itertools import combinations

import pytest
from damaging import damage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from similarities import brute_force, prose, text_of, text_page
from sites import Site, with_limit

import webtable
from nightly import examples
from webtable.errors import IndexNeeded
from webtable.repository.duplicates import near
from webtable.repository.duplicates.near import ALL_COMPARED


@pytest.fixture(scope="module")
def shared_table(new_url):
    with webtable.open(with_limit(new_url()), create=True, indexes=["similarity"]) as table:
        yield table


def paths(site: Site, answer) -> list[tuple[str, ...]]:
    return [tuple(url.removeprefix(site.url("")) for url in group.urls) for group in answer]


def test_pages_with_nearly_the_same_text_are_a_group_and_the_largest_comes_first(site):
    site.store(
        text_page(site, "/a/1", 1),
        text_page(site, "/a/2", 1, 7),
        text_page(site, "/b/1", 2),
        text_page(site, "/b/2", 2, 9),
        text_page(site, "/b/3", 2, 150),
        text_page(site, "/other", 3),
        site.page("/empty", body=b"<p>no words"),
        site.page("/none", body=b"<p>no words"),
    )

    groups = list(site.table.near_duplicate_groups(site.domain))

    assert paths(site, groups) == [("/b/1", "/b/2", "/b/3"), ("/a/1", "/a/2")]
    assert [group.pages for group in groups] == [3, 2]
    assert groups[1].bytes == len(text_of(site, 1)) + len(text_of(site, 1, 7))


def test_only_pages_of_the_site_are_in_its_groups(site):
    other = Site(site.table, f"{uuid.uuid4().hex[:10]}.example", site.now)
    site.store(text_page(site, "/a", 4), other.page("/", body=text_of(site, 4)))

    assert list(site.table.near_duplicate_groups(site.domain)) == []


def test_a_group_needs_as_much_in_common_as_is_asked_for(site):
    site.store(text_page(site, "/1", 5), text_page(site, "/2", 5, 50), text_page(site, "/3", 5, *range(80, 88)))

    assert paths(site, site.table.near_duplicate_groups(site.domain)) == [("/1", "/2", "/3")]
    assert paths(site, site.table.near_duplicate_groups(site.domain, at_least=0.9)) == [("/1", "/2")]
    assert paths(site, site.table.near_duplicate_groups(site.domain, at_least=1)) == []


def test_a_chain_of_near_duplicates_is_one_group(site):
    chain = [range(5 * n) for n in range(6)]
    site.store(*(text_page(site, f"/{n}", 6, *changed) for n, changed in enumerate(chain)))

    (group,) = site.table.near_duplicate_groups(site.domain)

    assert group.pages == 6
    assert brute_force(text_of(site, 6, *chain[0]), text_of(site, 6, *chain[-1])) < 0.8


@pytest.mark.parametrize("order", ["pages", "bytes"])
def test_an_answer_continues_after_a_token(site, order):
    site.store(*(text_page(site, f"/{seed}/{n}", 10 + seed, n) for seed in range(5) for n in range(2 + seed)))
    whole = paths(site, site.table.near_duplicate_groups(site.domain, order=order))

    first = site.table.near_duplicate_groups(site.domain, order=order).page(2)
    rest = site.table.near_duplicate_groups(site.domain, order=order, after=first.next_token)

    assert paths(site, [*first, *rest]) == whole
    assert [len(group) for group in whole] == [6, 5, 4, 3, 2]


def test_a_page_that_cannot_be_read_is_left_out_and_told(site):
    site.store(*(text_page(site, f"/{n}", 20, n) for n in range(3)))
    damage(site.table, site.url("/1"))
    answer = site.table.near_duplicate_groups(site.domain)

    assert paths(site, answer) == [("/0", "/2")]
    assert [one.row for one in answer.damaged] == [site.table.key.encode(site.url("/1"))]
    site.table.delete(site.url("/1"))


def test_many_pages_of_one_text_are_one_group_of_few_comparisons(site, monkeypatch):
    compared = []
    joined = near.JoinedPages
    is_like = joined._is_like
    monkeypatch.setattr(joined, "_is_like", lambda *both: compared.append(both[1:]) or is_like(*both))
    count = 10 * ALL_COMPARED
    site.store(*(text_page(site, f"/{n:03}", 21, n) for n in range(count)))

    (group,) = site.table.near_duplicate_groups(site.domain)

    assert group.pages == count
    assert len(compared) < 2 * count


def test_pages_that_only_share_a_band_are_compared_with_few_others(site, monkeypatch):
    compared = []
    monkeypatch.setattr(near.JoinedPages, "_is_like", lambda *both: compared.append(both) or False)
    count = 4 * ALL_COMPARED
    site.store(*(text_page(site, f"/{n:03}", 22, n) for n in range(count)))

    assert list(site.table.near_duplicate_groups(site.domain)) == []
    assert len(compared) <= 14 * count * 2 * ALL_COMPARED


def test_facets_are_pages_that_differ_in_their_query_alone(site):
    site.store(
        text_page(site, "/a?x=1", 31),
        text_page(site, "/a?x=2", 31, 7),
        text_page(site, "/a?x=3", 31),
        text_page(site, "/b?x=1", 31),
        text_page(site, "/b?x=2", 31, 7, robots="noindex"),
        text_page(site, "/a?x=4", 32),
    )

    assert paths(site, site.table.near_duplicate_groups(site.domain, facets=True)) == [("/a?x=1", "/a?x=2", "/a?x=3")]


def test_pages_from_before_the_index_was_added_are_in_groups(new_url):
    with webtable.open(with_limit(new_url()), create=True, indexes=[]) as table:
        site = Site(table, f"{uuid.uuid4().hex[:10]}.example", datetime.now(UTC).replace(microsecond=0))
        site.store(text_page(site, "/a", 1), text_page(site, "/b", 1, 5))
        with pytest.raises(IndexNeeded, match="webtable index add similarity"):
            list(table.near_duplicate_groups(site.domain))
        table.indexes.add("similarity")

        assert paths(site, table.near_duplicate_groups(site.domain)) == [("/a", "/b")]


@pytest.mark.slow
@settings(max_examples=examples(10, 100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 199), max_size=2)), min_size=2, max_size=12))
def test_groups_are_those_of_a_comparison_of_all_pages(site, texts):
    """With so few changes a pair is missed once in a hundred million."""
    mine = Site(site.table, f"{uuid.uuid4().hex[:10]}.example", site.now)
    bodies = {f"/{n:02}": prose(100 + seed, *changed, count=1_000) for n, (seed, changed) in enumerate(texts)}
    mine.store(*(mine.page(path, body=body, content_type="text/html") for path, body in bodies.items()))

    groups = site.table.near_duplicate_groups(mine.domain)

    expected = {path: {path} for path in bodies}
    for one, other in combinations(bodies, 2):
        if brute_force(bodies[one], bodies[other]) >= 0.8 and expected[one] is not expected[other]:
            expected[one] |= expected[other]
            for path in expected[other]:
                expected[path] = expected[one]
    found = {frozenset(group) for group in paths(mine, groups)}
    assert found == {frozenset(sorted(group)[:10]) for group in expected.values() if len(group) > 1}

"""Regions as they are beside those that were wanted, and samples of what is in them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from itertools import pairwise

import pytest

import webtable
from store_differences import on_native
from webtable.errors import InvalidArgument, TableNotFound
from webtable.maintenance import RegionComparison, regions_of, sample_urls
from webtable.repository.maintenance.summary import compared_regions
from webtable.rowkey import KeyRange, Salt
from webtable.store import NewCell, Put, Region, Store
from webtable.testing import WrappedStore


def compared(boundaries: list[bytes], wanted: list[bytes]) -> RegionComparison:
    ends = [b"", *boundaries, b""]
    regions = tuple(Region(KeyRange(start, stop)) for start, stop in pairwise(ends))
    return RegionComparison(regions, tuple(wanted))


def filled(url: str, pages: list[webtable.Page], **options) -> webtable.WebTable:
    table = webtable.open(url, create=True, indexes=[], **options)
    with table.writer() as writer:
        for page in pages:
            writer.put(page)
    return table


# regions


def test_regions_that_begin_where_they_were_wanted_are_as_wanted():
    comparison = compared([b"40", b"80"], [b"40", b"80"])

    assert comparison.as_wanted
    assert (comparison.missing, comparison.extra) == ((), ())
    assert str(comparison) == "3 regions, as wanted"


def test_a_comparison_tells_what_is_missing_and_what_nobody_wanted():
    comparison = compared([b"40", b"5a:com.example/\xff", b"80"], [b"40", b"80", b"c0"])

    assert not comparison.as_wanted
    assert comparison.actual == (b"40", b"5a:com.example/\xff", b"80")
    assert comparison.missing == (b"c0",)
    assert comparison.extra == (b"5a:com.example/\xff",)
    assert str(comparison).splitlines() == [
        "4 regions, missing: 1, extra: 1",
        "extra: a region begins at 5a:com.example/\\xFF",
        "missing: no region begins at c0",
    ]


def test_a_table_of_one_region_wants_no_split_point(shared_table):
    comparison = regions_of(shared_table)

    assert comparison.as_wanted
    assert str(comparison) == "1 region, as wanted"
    assert [region.keys for region in comparison.regions] == [KeyRange(b"", b"")]


def test_wanted_split_points_are_compared_in_any_order(shared_table):
    comparison = regions_of(shared_table, iter([b"80", b"40", b"80"]))

    assert comparison.wanted == comparison.missing == (b"40", b"80")
    assert comparison == compared_regions(shared_table.store, shared_table.table, [b"40", b"80"])


@on_native
def test_a_new_table_has_the_regions_that_it_was_created_with(new_url):
    with webtable.open(new_url(), create=True, regions=16, indexes=[]) as table:
        assert regions_of(table).as_wanted
        assert len(regions_of(table).regions) == 16
        assert regions_of(table, [b"10", b"18"]).missing == (b"18",)
        assert b"20" in regions_of(table, [b"10", b"18"]).extra


class SplitStore(WrappedStore):
    """Regions that HBase has split as they grew."""

    def __init__(self, store: Store, *boundaries: bytes) -> None:
        super().__init__(store)
        self._boundaries = boundaries

    def regions(self, table: str) -> list[Region]:
        return list(compared([*self._boundaries], []).regions)


@pytest.mark.parametrize(
    ("salt", "boundaries", "missing", "extra"),
    [
        (
            Salt.host(digits=1),
            [b"4", b"8", b"8:com.example/", b"c"],
            [b"3", b"6", b"9"],
            [b"4", b"8", b"8:com.example/"],
        ),
        (Salt.host(digits=1), [*(b"%x" % n for n in range(1, 16)), b"f:x"], [], [b"f:x"]),
        (Salt.none(), [b"com.example/", b"org"], [], [b"com.example/", b"org"]),
    ],
)
def test_regions_that_have_split_are_compared_with_a_new_table_of_as_many(
    shared_table, salt, boundaries, missing, extra
):
    layout = webtable.schema.Layout.of(salt)
    table = webtable.WebTable(SplitStore(shared_table.store, *boundaries), "pages", layout)

    comparison = regions_of(table)

    assert list(comparison.missing) == missing
    assert list(comparison.extra) == extra


def test_split_points_that_are_no_bytes_are_refused(shared_table):
    with pytest.raises(InvalidArgument, match="'80' must be bytes"):
        regions_of(shared_table, ["80"])


def test_a_table_that_is_not_there_has_no_regions(store):
    with pytest.raises(TableNotFound):
        compared_regions(store, f"none_{uuid.uuid4().hex[:8]}", [])


# samples


@pytest.mark.parametrize("salt", [Salt.host(), Salt.url(digits=1), Salt.none()], ids=str)
def test_a_small_table_comes_whole_and_in_the_order_of_arrival(new_url, site, salt):
    pages = [
        site.page(f"/{number}", host=f"h{number % 7}", age=3600 + 60 * (number * 37 % 100)) for number in range(100)
    ]
    with filled(new_url(), pages, salt=salt) as table:
        found = sample_urls(table)

    assert found == [page.url for page in sorted(pages, key=lambda page: (page.fetched_at, page.url))]


@pytest.mark.parametrize("most", [1, 2, 7, 64, 99])
def test_a_sample_has_no_more_than_was_asked_for_and_nothing_twice(new_url, site, most):
    with filled(new_url(), [site.page(f"/{number}") for number in range(120)]) as table:
        found = sample_urls(table, most=most)

    assert len(found) == most
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("salt", [Salt.host(), Salt.none()], ids=str)
def test_a_sample_of_one_region_is_spread_over_the_keys_that_are_there(new_url, site, salt):
    hosts = [f"{letter}{number}" for letter in "abmyz" for number in range(40)]
    pages = [site.page(f"/{number}", host=host) for host in hosts for number in range(5)]
    with filled(new_url(), pages, salt=salt) as table:
        in_order = sorted(table.key.encode(page.url) for page in pages)
        found = {table.key.encode(url) for url in sample_urls(table, most=200)}

    # In each fifth of the table.
    assert all(found & set(in_order[at : at + 200]) for at in range(0, 1000, 200))
    assert len({url_host for url_host, _ in (key.rsplit(b"/", 1) for key in found)}) > 30


@on_native
def test_every_region_has_a_part_of_the_sample(new_url, site):
    pages = [site.page(f"/{number}", host=f"h{number % 300}") for number in range(600)]
    with filled(new_url(), pages, regions=4) as table:
        ranges = [region.keys for region in regions_of(table).regions]
        found = [table.key.encode(url) for url in sample_urls(table, most=80)]

    counts = [sum(key in keys for key in found) for keys in ranges]
    assert len(counts) == 4
    assert all(15 <= count <= 25 for count in counts)


def test_rows_that_are_no_pages_are_not_in_the_sample(new_url, site):
    with filled(new_url(), [site.page("/a"), site.page("/c")]) as table:
        link = NewCell(b"inlinks:x", 1, b"")
        table.store.write(table.table, [Put(table.key.encode(site.url("/b")), [link])])

        assert sorted(sample_urls(table)) == [site.url("/a"), site.url("/c")]


def test_an_empty_table_has_an_empty_sample(new_url):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        assert sample_urls(table) == []


def test_a_sample_reads_no_bodies_and_takes_few_calls(spied):
    calls = []
    spied.listener = lambda *call: calls.append(call)

    spied.site.store(*(spied.site.page(f"/{number}", body=b"x") for number in range(200)))
    calls.clear()
    found = sample_urls(spied.site.table, most=100)

    assert len(found) == 100
    assert {tuple(columns) for _, _, columns in calls} == {(b"metadata:page",)}
    assert {name for name, *_ in calls} == {"first_rows", "scan"}
    assert len(calls) < 60


@pytest.mark.parametrize("most", [0, -1, 1.5, "9", None])
def test_a_sample_of_none_is_refused(shared_table, most):
    with pytest.raises(InvalidArgument, match="most="):
        sample_urls(shared_table, most=most)


def test_a_page_that_came_first_is_in_front_wherever_its_key_is(new_url, site):
    pages = [site.page("/old", age=9000), site.page("/a", age=100), site.page("/new", age=10)]
    with filled(new_url(), pages) as table:
        table.put(webtable.Page(url=site.url("/old"), body=b"x", fetched_at=site.now - timedelta(seconds=1)))

        assert sample_urls(table) == [site.url("/a"), site.url("/new"), site.url("/old")]

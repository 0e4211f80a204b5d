"""How many contents of a page are kept, and that whatever a limit drops is counted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sites import Site

import webtable
from store_differences import with_thrift1
from webtable.errors import ExpiredCapture
from webtable.schema import ALL_VERSIONS
from webtable.writing import Dropped

DAY = 86_400


@pytest.fixture
def new_site(new_url, site):
    """Make a site in a table of its own, which is made with these options."""
    opened = []

    def make(**options):
        opened.append(webtable.open(new_url(), create=True, indexes=[], **options))
        return Site(opened[-1], site.domain, site.now)

    yield make
    for table in opened:
        table.close()


def contents(site, count, *, age=1000):
    return [site.page(body=b"%d" % number, age=age - 10 * number) for number in range(count)]


def put(site, *pages):
    """Put *pages* one by one, and return what was counted and the outcomes."""
    outcomes = []
    with site.table.writer(on_outcome=outcomes.append) as writer:
        for page in pages:
            writer.put(page)
    return writer.dropped, outcomes


@with_thrift1
def test_a_new_file_keeps_every_content_and_hbase_three_of_which_the_writer_says_what_it_drops(new_site, adapter):
    site = new_site()

    dropped, outcomes = put(site, *contents(site, 6))

    kept = [page.body for page in site.table.history(site.url(), columns=["body"])]
    assert kept == ([b"5", b"4", b"3", b"2", b"1", b"0"] if adapter == "sqlite" else [b"5", b"4", b"3"])
    assert dropped == Dropped(older=6 - len(kept))
    assert [one.pushed_out for one in outcomes] == ([0] * 6 if adapter == "sqlite" else [0, 0, 0, 1, 1, 1])
    assert all(one.is_kept for one in outcomes)


def test_a_table_that_keeps_all_holds_a_number_that_every_store_can_have(new_site):
    site = new_site(versions=None)
    put(site, *contents(site, 12))

    families = {family.name: family.versions for family in site.table.store.describe(site.table.table).schema.families}

    assert site.table.layout.versions == families["content"] == families["outlinks"] == ALL_VERSIONS
    assert len(site.table.history(site.url())) == 12
    assert "every content of a page" in site.table.layout.limits


def test_a_capture_older_than_all_that_are_kept_is_counted_as_never_visible(site):
    put(site, *contents(site, 3))

    dropped, (late, repeated) = put(site, site.page(body=b"late", age=2000), site.page(body=b"2", age=5))

    assert dropped == Dropped(late=1)
    assert (late.error, late.is_kept, late.pushed_out) == (None, False, 0)
    assert repeated.is_kept
    assert [page.body for page in site.table.history(site.url(), columns=["body"])] == [b"2", b"1", b"0"]


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one by one"])
def test_what_is_pushed_out_is_counted_also_beyond_the_versions_that_a_batch_reads(new_site, together):
    site = new_site(versions=10)
    pages = [*contents(site, 12), site.page(body=b"late", age=3000), site.page(body=b"between", age=965)]

    found = [put(site, *pages)] if together else [put(site, page) for page in pages]

    assert sum(dropped.older for dropped, _ in found) == 3
    assert sum(dropped.late for dropped, _ in found) == 1
    assert len(site.table.history(site.url())) == 10


def test_content_that_was_renewed_is_not_dropped_with_its_older_date(new_site):
    site = new_site(versions=2, ttl=10 * DAY)
    put(site, site.page(body=b"same", age=9 * DAY), site.page(body=b"same", age=3 * DAY))

    dropped, _ = put(site, site.page(body=b"other", age=DAY))

    assert not dropped
    assert [page.body for page in site.table.history(site.url(), columns=["body"])] == [b"other", b"same"]


def test_a_capture_beyond_the_time_to_live_is_counted(new_site):
    site = new_site(ttl=DAY)

    with site.table.writer() as writer, pytest.raises(ExpiredCapture):
        writer.put(site.page(body=b"old", age=2 * DAY))

    assert writer.dropped == Dropped(expired=1)


def test_a_table_that_kept_three_keeps_all_once_it_is_altered(new_site):
    site = new_site(versions=3)
    put(site, *contents(site, 4, age=9000))

    site.table.maintenance.alter(versions=None)
    site.table._context.layouts.read()
    dropped, _ = put(site, *contents(site, 4, age=1000))

    assert not dropped
    assert len(site.table.history(site.url())) == 3 + 4


def test_a_copy_keeps_every_version_and_can_be_compared(new_site, new_url):
    site = new_site(versions=None)
    put(site, *contents(site, 40))
    moment = site.now - timedelta(seconds=905)

    with webtable.maintenance.copy_target(site.table, new_url()) as target:
        site.table.maintenance.copy(target)

        assert target.layout.versions == ALL_VERSIONS
        assert site.table.maintenance.check_copy(target, full=True).is_sound
        assert target.maintenance.verify(webtable.ALL).bodies == 40
        assert target.get(site.url(), as_of=moment).body == b"9"
        assert [one.body for one in target.history(site.url(), columns=["body"])] == [
            b"%d" % n for n in range(39, -1, -1)
        ]


def test_changes_are_found_far_below_the_newest_versions(new_site):
    site = new_site(versions=None)
    put(site, *contents(site, 40))

    (change,) = site.table.changes(site.domain, since=site.now - timedelta(seconds=985))

    assert change.before.fetched_at == site.now - timedelta(seconds=990)


@with_thrift1
@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one by one"])
def test_content_that_gives_way_to_another_of_the_same_date_is_counted(new_site, together):
    site = new_site()
    pages = [site.page(body=b"a"), site.page(body=b"b"), site.page(body=b"b"), site.page(body=b"c", age=1)]
    late = [site.page(body=b"d"), site.page(body=None, status=410)]

    found = [put(site, *pages, *late)] if together else [put(site, page) for page in (*pages, *late)]

    assert [one.replaced for _, outcomes in found for one in outcomes] == [False, True, False, False, True, True]
    assert sum(dropped.replaced for dropped, _ in found) == 3

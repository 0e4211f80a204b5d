"""Altering a table in use: a plan, a dry run, a layout and families that agree, also where it was cut short."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from deaths import EachAlone, Killed

import webtable
from store_differences import on_thrift1
from webtable import WebTable
from webtable.errors import CapabilityError, ExpiredCapture, InvalidArgument, LayoutMismatch, NotAlterable
from webtable.schema import Layout
from webtable.store import open_store
from webtable.testing.stores import CountingStore

DAY = 86_400


@pytest.fixture
def url(new_url):
    """A table without indexes that keeps three contents for 90 days; its URL."""
    url = new_url()
    webtable.create(url, ttl=90 * DAY, versions=3, indexes=[])
    return url


def families(table, name=""):
    schema = table.store.describe(table.table + name).schema
    return {family.name: family for family in schema.families}


def kept(table):
    """Return what the families of the pages keep: for how many days, and how many versions of the content."""
    found = families(table)
    days = {name: family.ttl and family.ttl / DAY for name, family in found.items()}
    return days["content"], days["outlinks"], days["inlinks"], days["metadata"], found["content"].versions


def test_layout_and_families_are_altered_and_others_open_it_so(url):
    with webtable.open(url) as table:
        steps = table.maintenance.alter(ttl=30 * DAY, versions=5)

        assert "ttl 90 days -> 30 days, versions 3 -> 5" in str(steps)
        assert kept(table) == (30, 60, 60, None, 5)
        assert (table.layout.ttl, table.layout.versions) == (30 * DAY, 5)
    with webtable.open(url, ttl=30 * DAY, versions=5) as table:
        assert (table.layout.ttl, table.layout.versions) == (30 * DAY, 5)
        assert kept(table) == (30, 60, 60, None, 5)
    assert webtable.create(url).is_empty


def test_what_is_altered_already_needs_nothing(url):
    with webtable.open(url) as table:
        table.maintenance.alter(ttl=None, versions=2)
        counting = CountingStore(table.store)

        again = WebTable(counting, table.table, table.layout).maintenance.alter(ttl=None, versions=2)

        assert again.is_empty
        assert str(again) == ""
        assert counting.calls["write"] == 0
        assert kept(table) == (None, None, None, None, 2)


def test_a_dry_run_shows_the_plan_and_alters_nothing(url):
    with webtable.open(url) as table:
        before = families(table)

        steps = table.maintenance.alter(ttl=30 * DAY, versions=2, dry_run=True)

        name = table.table
        assert str(steps).splitlines()[0] == f"layout of {name!r}: ttl 90 days -> 30 days, versions 3 -> 2"
        assert f"alter '{name}', {{NAME => 'content', VERSIONS => 2, TTL => 2592000}}" in steps.shell().splitlines()
        assert f"alter '{name}', {{NAME => 'inlinks', TTL => 5184000}}" in steps.shell().splitlines()
        assert f"removes from table {name!r}, family 'content': what is older than 30 days" in steps.losses
        assert set(steps.losses) < set(str(steps).splitlines())
        assert table.layout == Layout(ttl=90 * DAY)
        assert families(table) == before
    with webtable.open(url, ttl=90 * DAY, versions=3):
        pass


def test_more_time_and_more_versions_lose_nothing(url):
    with webtable.open(url) as table:
        assert table.maintenance.alter(ttl=None, versions=9, dry_run=True).losses == ()


def test_options_of_families_are_altered_and_stay(url, adapter):
    options = {
        "content": {"block_size": 131_072, "bloom": "ROWCOL", "min_versions": 1},
        "indexes": {"in_memory": True},
        "queue": {"block_cache": False},
    }
    with webtable.open(url) as table:
        for index in ("time", "link"):
            table.indexes.add(index)
        table.maintenance.alter(families=options)
        table.maintenance.alter(versions=4)

        content = families(table)["content"]
        assert (content.block_size, content.bloom, content.min_versions, content.versions) == (131_072, "ROWCOL", 1, 4)
        assert {families(table, f"_{name}_idx")["ref"].in_memory for name in ("time", "link")} == {True}
        assert families(table, "_queue")["queue"].block_cache is False
        assert table.maintenance.alter(families=options).is_empty
        table.indexes.add("size")
        assert families(table, "_size_idx")["ref"].in_memory
    assert webtable.create(url).is_empty


def test_what_others_have_changed_of_a_family_stays(url):
    with webtable.open(url) as table:
        table.store.set_family(table.table, replace(families(table)["metadata"], block_size=131_072))

        table.maintenance.alter(ttl=30 * DAY)

        assert families(table)["metadata"].block_size == 131_072


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"salt": "url"}, "row key.*copy the pages"),
        ({"digits": 3}, "row key"),
        ({"buckets": 16}, "row key"),
        ({"names": "short"}, "every column"),
        ({"compression": "none"}, "stored body.*copy the pages"),
        ({"plain_columns": ()}, "search"),
        ({"regions": 8}, "split on their own"),
        ({"indexes": []}, "webtable index add"),
    ],
)
def test_what_a_table_keeps_is_an_error_that_says_why_and_what_would_help(shared_table, option, reason):
    with pytest.raises(NotAlterable, match=rf"(?s){next(iter(option))} cannot be altered.*{reason}"):
        shared_table.maintenance.alter(**option)


@pytest.mark.parametrize(
    "options",
    [
        {"ttl": 0},
        {"ttl": -1},
        {"ttl": "30d"},
        {"versions": 0},
        {"colour": "red"},
        {"families": {"body": {"bloom": "ROW"}}},
        {"families": {"content": {"versions": 5}}},
        {"families": {"content": {"bloom": "COLUMN"}}},
        {"families": {"content": "ROW"}},
        {"families": ["content"]},
    ],
)
def test_an_option_that_no_table_can_have_is_refused_and_nothing_is_altered(shared_table, options):
    before = families(shared_table), shared_table.layout

    with pytest.raises(InvalidArgument):
        shared_table.maintenance.alter(**options)

    assert (families(shared_table), shared_table.layout) == before


def test_opening_with_other_options_says_how_to_alter_them(url):
    with pytest.raises(LayoutMismatch, match="webtable alter"):
        webtable.open(url, ttl=30 * DAY)


def test_old_captures_are_taken_as_soon_as_more_is_kept(url, site):
    with webtable.open(url) as ours, webtable.open(url) as other, other.writer() as writer:
        with pytest.raises(ExpiredCapture):
            writer.put(site.page(body=b"old", age=400 * DAY))
        aged(other)

        ours.maintenance.alter(ttl=None)

        writer.put(site.page(body=b"old", age=400 * DAY))
        writer.flush()
        assert ours.get(site.url()).body == b"old"


def test_a_writer_that_is_open_refuses_what_is_kept_no_longer(url, site):
    outcomes = []
    with (
        webtable.open(url) as ours,
        webtable.open(url) as other,
        other.writer(on_outcome=outcomes.append, max_age=600) as writer,
    ):
        writer.put(site.page("/old", body=b"old", age=60 * DAY))
        writer.put(site.page("/new", body=b"new", age=2 * DAY))

        ours.maintenance.alter(ttl=30 * DAY)
        writer.flush()

        assert {outcome.url: type(outcome.error) for outcome in outcomes} == {
            site.url("/old"): ExpiredCapture,
            site.url("/new"): type(None),
        }
        assert [page.url for page in ours.pages(site.domain)] == [site.url("/new")]


def test_a_page_whose_content_would_expire_earlier_now_is_written_anew(url, site):
    with webtable.open(url) as ours, webtable.open(url) as other:
        other.put(site.page(body=b"x", age=20 * DAY))

        ours.maintenance.alter(ttl=30 * DAY)
        other.put(site.page(body=b"x", age=0))

        assert other.get(site.url()).stored.content_at == site.now


def test_content_that_is_kept_no_longer_is_gone_and_the_page_stays(url, site):
    with webtable.open(url) as table:
        table.put(site.page("/old", body=b"x", age=60 * DAY))
        table.put(site.page("/new", body=b"x", age=2 * DAY))

        table.maintenance.alter(ttl=30 * DAY)

        assert {page.url: page.body for page in table.pages(site.domain, columns=["body"])} == {
            site.url("/old"): None,
            site.url("/new"): b"x",
        }
        assert table.maintenance.verify(site.domain).lost == 0


def test_other_processes_see_as_many_versions_as_are_kept_now(url, site):
    with webtable.open(url) as ours, webtable.open(url) as other:
        aged(other)
        ours.maintenance.alter(versions=5)
        for age in (5, 4, 3, 2, 1):
            ours.put(site.page(body=b"%d" % age, age=age * DAY))

        assert len(other.history(site.url())) == 5

        ours.maintenance.alter(versions=2)
        assert [page.fetched_at for page in other.history(site.url())] == [
            site.now - timedelta(days=age) for age in (1, 2)
        ]


@pytest.mark.parametrize(
    ("options", "order"),
    [
        ({"ttl": 30 * DAY}, ["ttl", "content", "outlinks", "inlinks"]),
        ({"ttl": 180 * DAY}, ["content", "outlinks", "inlinks", "ttl"]),
        ({"ttl": None, "versions": 2}, ["versions", "content", "outlinks", "inlinks", "ttl"]),
    ],
)
def test_the_layout_never_promises_more_than_the_families_keep(url, options, order):
    with webtable.open(url) as table:
        store = Steps(table.store)

        WebTable(store, table.table, table.layout).maintenance.alter(**options)

        assert [step for step in store.done if step in order] == order


@pytest.mark.parametrize("options", [{"ttl": 30 * DAY, "versions": 5}, {"ttl": None, "versions": 2}])
def test_an_alteration_that_was_killed_is_completed_by_the_same_one(new_url, options):
    url = new_url()
    webtable.create(url, ttl=90 * DAY, indexes=[])
    for left in range(10):
        with webtable.open(url) as table:
            table.maintenance.alter(ttl=90 * DAY, versions=3)
            with suppress(Killed):
                WebTable(Steps(table.store, left), table.table, table.layout).maintenance.alter(**options)
                break
        with webtable.open(url) as table:
            promised = table.layout
            there = families(table)["content"]
            assert (promised.ttl or 2**31) <= (there.ttl or 2**31)
            assert promised.versions <= there.versions

            table.maintenance.alter(**options)

            assert (table.layout.ttl, table.layout.versions) == (options["ttl"], options["versions"])
            assert table.maintenance.alter().is_empty
        assert webtable.create(url).is_empty
    assert left > 3


def test_two_that_alter_different_options_at_once_both_have_their_way(url):
    def alter(options):
        with webtable.open(url) as table:
            table.maintenance.alter(**options)

    with ThreadPoolExecutor(3) as threads:
        list(
            threads.map(alter, [{"ttl": 30 * DAY}, {"versions": 7}, {"families": {"content": {"block_size": 131_072}}}])
        )

    with webtable.open(url) as table:
        assert kept(table) == (30, 60, 60, None, 7)
        assert families(table)["content"].block_size == 131_072
        assert table.maintenance.alter(ttl=30 * DAY, versions=7).is_empty


def test_of_two_that_alter_the_same_option_at_once_one_has_its_way(url):
    def alter(days):
        with webtable.open(url) as table:
            table.maintenance.alter(ttl=days * DAY)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(alter, (30, 60)))

    with webtable.open(url) as table:
        assert kept(table)[:3] in ((30, 60, 60), (60, 120, 120))
        assert table.layout.ttl == kept(table)[0] * DAY


@on_thrift1
def test_a_gateway_that_cannot_change_families_says_what_to_run_and_stores_the_layout_then(url, request):
    with webtable.open(url) as table:
        with pytest.raises(CapabilityError) as raised:
            table.maintenance.alter(ttl=30 * DAY)

        assert f"alter '{table.table}', {{NAME => 'content', TTL => 2592000}}" in str(raised.value)
        assert table.layout.ttl == 90 * DAY
        assert kept(table)[0] == 90

        steps = table.maintenance.alter(ttl=30 * DAY, dry_run=True)
        as_the_shell_does, _ = open_store(request.getfixturevalue("native_url"))
        with as_the_shell_does as store:
            for plan in steps.tables:
                for change in plan.changes:
                    store.set_family(table.table, change.wanted)

        done = table.maintenance.alter(ttl=30 * DAY)

        assert done.tables == ()
        assert table.layout.ttl == 30 * DAY
        with pytest.raises(CapabilityError, match=r"does not show content\.block_size"):
            table.maintenance.alter(families={"content": {"block_size": 8192}})


def test_what_is_kept_no_longer_is_swept_and_does_not_come_back(tmp_path, site):
    with webtable.open(tmp_path / "crawl.db", create=True, indexes=[]) as table:
        table.put(site.page(body=b"old", age=400 * DAY))
        table.maintenance.alter(ttl=30 * DAY)
        table.maintenance.compact()

        table.maintenance.alter(ttl=None)

        page = table.get(site.url())
        assert (page.title, page.body) == ("title of /", None)


def test_an_alteration_of_a_file_is_done_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    with webtable.open(tmp_path / "crawl.db", create=True, indexes=[]) as table:
        before, changed = families(table), []

        def set_family(name, family):
            if changed:
                raise Killed
            changed.append(family)
            type(table.store).set_family(table.store, name, family)

        monkeypatch.setattr(table.store, "set_family", set_family)
        with pytest.raises(Killed):
            table.maintenance.alter(ttl=30 * DAY)

        assert changed
        assert families(table) == before
    with webtable.open(tmp_path / "crawl.db") as table:
        assert table.layout.ttl is None


def aged(table):
    """Have *table* take what it knows of its layout for older than it is."""
    table._context.layouts._recent.forget()


class Steps(EachAlone):
    """A store that notes which options are stored and which families changed; it is killed behind *left* of them."""

    def __init__(self, store, left=None):
        super().__init__(store)
        self.done = []
        self._left = left

    def _write(self, table, mutations):
        (put,) = mutations
        self._step([cell.column.decode().removeprefix("layout:altered.") for cell in put.cells])
        return super()._write(table, mutations)

    def _step(self, names):
        if self._left is not None:
            if not self._left:
                raise Killed
            self._left -= 1
        self.done += names

    def set_family(self, table, family):
        self._step([family.name])
        super().set_family(table, family)

"""Counts and bytes of pages: in all, and by host, status, type, language, age and region."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

import webtable
from store_differences import on_every_store
from webtable.answers import Stats
from webtable.errors import FullScanNeeded, InvalidArgument, InvalidURL
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.arguments import GROUPINGS
from webtable.repository.questions import stats as counting
from webtable.repository.questions.stats import SHOWN_GROUPS
from webtable.repository.reading import page_counts
from webtable.repository.reading.page_counts import AGES, Group
from webtable.rowkey import Salt, key_text

DAY = 86_400


@pytest.fixture
def stats(site):
    """Count the pages of the site."""
    table = site.table
    return lambda asked=site.domain, **options: table.stats(asked, **{"now": site.now, **options})


@pytest.fixture
def crawl(site):
    """Five pages of three hosts: 10, 20, 300 and 4,000 bytes, and one without a body."""
    site.store(
        site.page("/", body=b"x" * 10, content_type="text/html", age=DAY / 2),
        site.page("/a", body=b"x" * 20, content_type="text/html", age=3 * DAY),
        site.page("/", host="www", body=b"x" * 300, content_type="application/pdf", age=20 * DAY),
        site.page("/", host="a.www", body=b"x" * 4_000, status=404, age=60 * DAY),
        site.page("/moved", host="www", status=301, age=89 * DAY),
    )
    return site


@on_every_store
def test_pages_and_bytes_are_counted_in_all_and_in_groups(crawl, stats):
    found = stats()

    assert (found.pages, found.bytes) == (5, 4_330)
    assert list(found.by) == list(GROUPINGS)
    assert found.by["host"] == {
        crawl.domain: Group(2, 30),
        f"a.www.{crawl.domain}": Group(1, 4_000),
        f"www.{crawl.domain}": Group(2, 300),
    }
    assert found.by["status"] == {"200": Group(3, 330), "301": Group(1, 0), "404": Group(1, 4_000)}
    assert found.by["type"] == {"application/pdf": Group(1, 300), "text/html": Group(3, 4_030), "unknown": Group(1, 0)}
    assert found.by["age"] == {
        "under 1 day": Group(1, 10),
        "1 to 7 days": Group(1, 20),
        "7 to 30 days": Group(1, 300),
        "30 to 90 days": Group(2, 4_000),
    }
    assert found.by["region"] == {"": Group(5, 4_330)}


def test_sizes_are_counted_in_classes_between_round_numbers_and_captures_by_their_day(crawl, stats):
    crawl.store(crawl.page("/empty", body=b"", age=60 * DAY), crawl.page("/1k", body=b"x" * 1_024, age=20 * DAY))

    found = stats(by=["size", "day"])

    assert found.by["size"] == {
        "no body": Group(1, 0),
        "under 100 B": Group(3, 30),
        "200 to 500 B": Group(1, 300),
        "1 to 2 kB": Group(1, 1_024),
        "2 to 5 kB": Group(1, 4_000),
    }
    assert next(iter(found.by["size"])) == "no body"
    days = [(crawl.now - timedelta(days=age)).date().isoformat() for age in (89, 60, 20, 3, 0.5)]
    assert {day: group.pages for day, group in found.by["day"].items()} == dict(zip(days, [1, 2, 2, 1, 1], strict=True))
    assert list(found.by["day"]) == days


@on_every_store
def test_pages_are_counted_by_their_language_without_its_region(site, stats):
    given = {"/a": "pt-br", "/b": "pt", "/c": "de_at", "/d": "{{ language }}", "/e": "english", "/f": None}
    site.store(*(site.page(path, body=b"x" * 10, language=language) for path, language in given.items()))

    assert stats(by="language").by["language"] == {"de": Group(1, 10), "pt": Group(2, 20), "unknown": Group(3, 30)}


def test_groups_are_sorted_by_name_number_and_age(crawl, stats):
    crawl.store(crawl.page("/99", status=999, age=60), crawl.page("/99a", status=100, age=60))

    by = stats().by

    assert list(by["host"]) == sorted(by["host"])
    assert list(by["type"]) == ["application/pdf", "text/html", "unknown"]
    assert list(by["status"]) == ["100", "200", "301", "404", "999"]
    assert list(by["age"]) == list(AGES[:4])


def test_captures_are_counted_by_their_month_in_utc(site):
    month = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    before = month - timedelta(seconds=1)
    moments = {
        "/last": before,
        "/same": (month - timedelta(minutes=30)).astimezone(timezone(timedelta(hours=1))),
        "/next": month,
    }
    for path, moment in moments.items():
        site.store(Page(url=site.url(path), body=b"xx", fetched_at=moment))

    months = site.table.stats(site.domain, by=["month"]).by["month"]

    assert months == {f"{before:%Y-%m}": Group(2, 4), f"{month:%Y-%m}": Group(1, 2)}
    assert list(months) == sorted(months)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (-0.5, AGES[0]),
        (0.99, AGES[0]),
        (1, AGES[1]),
        (6.9, AGES[1]),
        (7, AGES[2]),
        (29, AGES[2]),
        (30, AGES[3]),
        (89.9, AGES[3]),
        (90, AGES[4]),
        (4_000, AGES[4]),
    ],
)
def test_an_age_is_that_of_the_last_capture_at_the_given_moment(site, stats, days, expected):
    site.store(site.page("/a", age=7_200, body=b"old"))
    site.store(site.page("/a", age=0, body=b"new"))

    found = stats(by=["age"], now=site.now + timedelta(days=days))

    assert found.by == {"age": {expected: Group(1, 3)}}


def test_without_a_moment_ages_are_those_of_now(site):
    site.store(site.page("/a", age=2 * DAY, body=b""), site.page("/b", age=60, body=b""))

    assert list(site.table.stats(site.domain, by="age").by["age"]) == ["under 1 day", "1 to 7 days"]


def test_a_domain_without_pages_has_none(stats):
    found = stats()

    assert found == Stats(0, 0, {name: {} for name in GROUPINGS})
    assert str(found) == "0 pages, 0 bytes"
    assert stats(bytes=False).bytes is None


def test_counts_are_kept_to_a_host_or_a_directory(crawl, stats):
    crawl.store(crawl.page("/docs/a", body=b"1"), crawl.page("/docs-old", body=b"1"))

    assert stats(webtable.HostOnly(crawl.domain)).pages == 4
    assert stats(f"https://{crawl.domain}/docs/").pages == 1
    assert list(stats(f"www.{crawl.domain}").by["host"]) == [f"a.www.{crawl.domain}", f"www.{crawl.domain}"]


@pytest.mark.parametrize("options", [{}, {"bytes": False, "by": ["host", "region"]}])
def test_deleted_pages_and_rows_that_are_only_linked_to_are_not_counted(site, stats, options):
    link = (Link(site.url("/linked"), "x", ""),)
    site.store(*(site.page(f"/{n}", outlinks=link, body=b"x") for n in range(3)))

    site.table.delete(site.url("/1"))

    assert stats(**options).pages == 2
    assert [group.pages for group in stats(**options).by["host"].values()] == [2]


def test_every_scheme_and_port_of_a_host_counts_as_the_host(site, stats):
    schemes = [f"http://{site.domain}/", f"https://{site.domain}:8443/a", f"https://{site.domain}/"]
    site.store(*(webtable.Page(url=url, body=b"x", fetched_at=site.now) for url in schemes))

    assert stats(by="host").by == {"host": {site.domain: Group(3, 3)}}


def test_no_bodies_are_read(spied, crawl):
    read = []
    spied.listener = lambda call, table, columns: table == crawl.table.table and read.append((call, columns))

    spied.site.table.stats(crawl.domain)

    assert read == [("scan", (b"metadata:page",))]


def test_only_salts_that_a_host_of_the_domain_has_are_counted(spied, crawl):
    store, ranges = spied.site.table.store, []
    scan = store.scan
    store.scan = lambda name, keys, *given, **options: (
        ranges.append((name, keys)) or scan(name, keys, *given, **options)
    )

    spied.site.table.stats(crawl.domain)

    (asked,) = [keys for name, keys in ranges if name == crawl.table.table]
    assert 1 <= len(asked) <= 3


@pytest.mark.parametrize("by", [(), ["host"], ["region"], ["region", "host"]])
def test_hosts_and_regions_without_bytes_are_counted_by_row_keys_alone(spied, crawl, stats, by):
    store, asked = spied.site.table.store, []
    scan = store.scan
    store.scan = lambda name, keys, wanted, **options: (
        asked.append((name, wanted)) or scan(name, keys, wanted, **options)
    )

    found = spied.site.table.stats(crawl.domain, by=by, bytes=False)

    whole = stats(by=by)
    assert [wanted.keys_only for name, wanted in asked if name == crawl.table.table] == [True]
    assert (found.pages, found.bytes) == (5, None)
    assert {name: {key: group.pages for key, group in groups.items()} for name, groups in found.by.items()} == {
        name: {key: group.pages for key, group in groups.items()} for name, groups in whole.by.items()
    }
    assert {group.bytes for groups in found.by.values() for group in groups.values()} <= {None}


def test_without_bytes_groups_of_metadata_have_none_either(crawl, stats):
    assert stats(by=["status"], bytes=False).by == {
        "status": {"200": Group(3, None), "301": Group(1, None), "404": Group(1, None)}
    }


def test_progress_is_told_every_so_many_pages_and_at_the_end(crawl, stats, monkeypatch):
    monkeypatch.setattr(counting, "PROGRESS_PAGES", 2)
    told, told_of_none = [], []

    stats(on_progress=told.append)
    stats("nothing.example", on_progress=told_of_none.append)

    assert told == [2, 4, 5]
    assert told_of_none == [0]


def test_the_whole_table_is_counted_only_when_told_so(crawl, stats, large_store):
    with pytest.raises(FullScanNeeded, match=r"or webtable\.ALL for every page"):
        stats(None)
    found = stats(webtable.ALL)

    assert found.by["host"][f"www.{crawl.domain}"] == Group(2, 300)
    assert found.pages == sum(group.pages for group in found.by["status"].values()) >= 5


@pytest.mark.parametrize("salt", [Salt.host(), Salt.domain(), Salt.url(), Salt.none()], ids=lambda salt: salt.source)
def test_counts_are_the_same_with_every_salt_and_in_every_region(new_url, site, salt):
    regions = 1 if salt.source == "none" else 4
    hosts = ["example.com", "www.example.com", "b.co.uk", "127.0.0.1"]
    with webtable.open(new_url(), create=True, salt=salt, regions=regions) as table:
        with table.writer() as writer:
            for number, host in enumerate(hosts):
                for n in range(number + 1):
                    writer.put(webtable.Page(url=f"https://{host}/{n}", body=b"12", fetched_at=site.now))
        found = table.stats(webtable.ALL, by=["host", "region"])

        assert found.by["host"] == {
            "127.0.0.1": Group(4, 8),
            "b.co.uk": Group(3, 6),
            "example.com": Group(1, 2),
            "www.example.com": Group(2, 4),
        }
        starts = [region.keys.start for region in table.store.regions(table.table)]
        expected = [
            max(start for start in starts if start <= table.key.encode(f"https://{host}/{n}"))
            for number, host in enumerate(hosts)
            for n in range(number + 1)
        ]
        assert len(starts) == regions
        assert found.by["region"] == {
            key_text(start): Group(expected.count(start), 2 * expected.count(start)) for start in sorted(set(expected))
        }


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"by": ["host", "colour"]}, InvalidArgument, "by='colour'.*host, status, type, language, age, region"),
        ({"by": "titel"}, InvalidArgument, "by='titel'"),
        ({"by": [None]}, InvalidArgument, "by=None"),
        ({"now": datetime(2026, 1, 1)}, InvalidArgument, "now="),
        ({"asked": "a b"}, InvalidURL, "a b"),
        ({"asked": "example.com/?q"}, InvalidArgument, "site="),
    ],
)
def test_an_argument_that_cannot_be_honoured_is_refused(stats, arguments, error, text):
    with pytest.raises(error, match=text):
        stats(**arguments)


@pytest.mark.parametrize(("by", "step"), [("day", 1), ("month", 31)])
def test_a_series_is_shown_without_gaps_and_what_is_earlier_is_told(memory_url, by, step):
    now = datetime.now(UTC)
    with webtable.open(memory_url, create=True) as table:
        for n in range(40):
            for one in range(1 + n % 2):
                url = f"https://series.example/{n}/{one}"
                table.put(Page(url=url, body=b"x", fetched_at=now - timedelta(days=step * n)))
        found = table.stats("series.example", by=by)
    shown = found._shown()

    names = [row[1] for row in shown.rows]
    assert len(found.by[by]) > 31
    assert names[:-1] == list(found.by[by])[-31:]
    assert names[-1] == f"… and {len(found.by[by]) - 31} earlier"
    assert shown.note == f"a {by} is that of the last capture of a page, in UTC"


def test_all_sizes_are_shown_and_of_types_the_largest(site, stats):
    sizes = [60 * 2**n for n in range(12)]
    site.store(
        *(site.page(f"/{size}", body=b"x" * size, content_type=f"text/x-{size}") for size in sizes),
        site.page("/more", content_type="text/x-60"),
    )

    shown = {by: [row[1] for row in stats(by=by)._shown().rows] for by in ("size", "type")}

    assert shown["size"] == list(stats(by="size").by["size"])
    assert len(shown["size"]) > len(shown["type"]) == SHOWN_GROUPS + 1
    assert "text/x-60" in shown["type"]


def test_a_summary_is_a_line_for_all_and_one_for_each_grouping(crawl, stats):
    assert str(stats(by=["status", "type"])).splitlines() == [
        "5 pages, 4,330 bytes",
        "by status: 3, most in '200': 3 pages, 330 bytes",
        "by type: 3, most in 'text/html': 3 pages, 4,030 bytes",
    ]
    assert str(stats(f"https://{crawl.domain}/a/", by="host", bytes=False)) == "0 pages"
    assert str(stats(f"a.www.{crawl.domain}", by=())) == "1 page, 4,000 bytes"


@on_every_store
def test_pages_are_counted_by_their_directory_and_by_columns_in_one_pass(site, stats):
    home = f"https://{site.domain}/"
    site.store(
        site.page("/docs/a?x=/y/", title="Same", robots="noindex"),
        site.page("/docs/b", title="Same", truncated=True, body=b"x"),
        site.page("/docs/c/", status=301, redirect_to=home, title=None, body=None),
        site.page("/", title="Home"),
    )

    by = stats(by=["directory", "title", "robots", "truncated", "scheme", "redirect_to"]).by

    counts = {name: {group: count.pages for group, count in groups.items()} for name, groups in by.items()}
    assert counts == {
        "directory": {home: 1, f"{home}docs/": 2, f"{home}docs/c/": 1},
        "title": {"Home": 1, "Same": 2, "unknown": 1},
        "robots": {"noindex": 1, "unknown": 3},
        "truncated": {"no": 3, "yes": 1},
        "scheme": {"https": 4},
        "redirect_to": {home: 1, "unknown": 3},
    }


def test_values_of_a_column_are_bounded_and_the_pages_of_further_ones_are_others(monkeypatch):
    monkeypatch.setattr(page_counts, "MOST_GROUPS", 2)
    with webtable.open("memory:titles", create=True) as table:
        for number in range(5):
            table.put(Page(url=f"https://www.example.co.uk/{number}", title=f"T{number}"))

        counts = table.stats(webtable.ALL, by=("title", "registered_domain"))

    assert counts.by == {
        "title": {"T0": Group(1, 0), "T1": Group(1, 0), "others": Group(3, 0)},
        "registered_domain": {"example.co.uk": Group(5, 0)},
    }
    assert [row.group for row in counts.top("title", 1)] == ["others"]

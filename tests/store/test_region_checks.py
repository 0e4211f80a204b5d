"""What the doctor says of regions: on no server, on one of many, hot, empty; and that the picture says the same."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

import webtable
from webtable.repository.maintenance import doctor as judged
from webtable.repository.maintenance.doctor import MOST_ROWS, CheckedTable, placement_checks
from webtable.rowkey import KeyRange
from webtable.store import Region, Row
from webtable.store.deadline import Deadline


@dataclass
class Regions:
    """A store that has regions, and so many rows in each."""

    found: list[Region]
    rows: list[int]

    def regions(self, table):
        return self.found

    def first_rows(self, table, ranges, limit, wanted):
        return [[Row(b"", {})] * min(limit, count) for count in self.rows]


def between(*splits, servers=("a:1",)):
    keys = zip((b"", *splits), (*splits, b""), strict=True)
    return [Region(KeyRange(start, stop), servers[at % len(servers)]) for at, (start, stop) in enumerate(keys)]


@pytest.fixture
def checked(monkeypatch):
    """Return what the doctor says of a table whose regions begin at some keys, and what its picture says."""
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, salt=webtable.rowkey.Salt.url()) as table:

        def checked(pages, splits):
            found = between(*splits)
            monkeypatch.setattr(type(table.store), "regions", lambda self, name: found)
            with table.writer() as writer:
                for page in pages:
                    writer.put(page)
            stored = SimpleNamespace(layout=table.layout)
            table_checked = CheckedTable(table.store, table.table, stored, Deadline(30))
            checks = {check.check: check for check in judged.region_checks(table_checked)}
            return checks["splits"], table.stats(webtable.ALL, by="region").plot().get_xlabel().replace("\n", " ")

        yield checked


def pages_below(first, stop, count, size=1):
    """Return pages whose salts lie from *first* up to *stop*."""
    key = webtable.rowkey.WebKey(webtable.rowkey.Salt.url())
    urls = (f"https://a.example/{number}" for number in range(100_000))
    chosen = (url for url in urls if first <= key.encode(url)[:2] < stop)
    return [
        webtable.Page(url=url, body=b"x" * size, fetched_at=datetime(2026, 1, 1, tzinfo=UTC))
        for url, _ in zip(chosen, range(count), strict=False)
    ]


EVEN = [page for at in (b"0", b"4", b"8", b"c") for page in pages_below(at + b"0", at + b"f", 10)]


@pytest.mark.parametrize(
    ("pages", "state", "said"),
    [
        (EVEN, "ok", "4 regions: no region holds over 2 times the fair share of pages or bytes"),
        ([*EVEN, *pages_below(b"40", b"80", 60)], "warning", "4 regions: 1 (40) hold over 2 times"),
        ([*EVEN, *pages_below(b"40", b"80", 11, size=50_000)[10:]], "warning", "4 regions: 1 (40) hold over 2 times"),
        (pages_below(b"40", b"ff", 40), "ok", "no page"),
        (pages_below(b"c0", b"ff", 9), "warning", "4 regions: 1 (c0) hold over 2 times the fair share"),
        ([], "ok", "4 regions: no pages"),
    ],
    ids=["even", "pages", "bytes", "one empty", "three empty", "no pages"],
)
def test_the_doctor_and_the_picture_say_the_same_of_the_regions(checked, pages, state, said):
    check, label = checked(pages, [b"40", b"80", b"c0"])

    assert check.state == state
    assert said in check.finding
    assert check.finding in label or not pages


def test_of_an_only_region_the_doctor_and_the_picture_say_just_that(checked):
    check, label = checked(EVEN, [])

    assert (check.state, check.finding) == ("ok", "1 region")
    assert label.endswith(check.finding)


def test_of_a_large_table_the_salts_tell_which_region_is_hot(checked, monkeypatch):
    monkeypatch.setattr(judged, "MOST_PAGES", 5)

    check, _ = checked(EVEN, [b"01", b"02", b"03"])

    assert check.state == "warning"
    assert check.finding.startswith("4 regions: 1 (03) hold over 2 times")
    assert "by the salts" in check.finding


@pytest.mark.parametrize(
    ("rows", "state"), [([2, MOST_ROWS * 9, 3, 1], "warning"), ([MOST_ROWS, MOST_ROWS * 9, MOST_ROWS, 1], "ok")]
)
def test_of_a_large_table_without_salts_the_rows_tell_whether_one_is_hot(monkeypatch, rows, state):
    found = between(b"com.a", b"com.b", b"org")
    monkeypatch.setattr(judged, "_pages", lambda *_: None)
    layout = SimpleNamespace(layout=SimpleNamespace(digits=0))

    checks = judged.region_checks(SimpleNamespace(store=Regions(found, rows), table="t", stored=layout))

    (check,) = [one for one in checks if one.check == "splits"]
    assert check.state == state
    assert f"have {MOST_ROWS} rows or more" in check.finding


def test_a_region_that_is_on_no_server_has_failed():
    store = Regions([*between(b"80")[:1], Region(KeyRange(b"80", b""))], [1, 1])

    (check,) = placement_checks(store, "t")

    assert (check.state, check.finding) == ("failed", "1 (80) of 2 regions are on no server")


@pytest.mark.parametrize(("servers", "state"), [(("a:1", "b:1"), "ok"), ((*["a:1"] * 9, "b:1"), "warning")])
def test_a_server_with_most_of_the_regions_is_a_warning(servers, state):
    splits = [b"%02x" % number for number in range(1, 20)]

    (check,) = placement_checks(Regions(between(*splits, servers=servers), []), "t")

    assert check.state == state


def test_a_store_without_servers_has_nothing_to_tell():
    store = Regions([Region(KeyRange())], [1])

    assert list(judged.region_checks(SimpleNamespace(store=store, table="t"))) == []

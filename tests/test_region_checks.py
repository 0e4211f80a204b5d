"""What the doctor says of regions: on no server, on one of many, with most of the salts or of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from webtable.repository.diagnosis.regions import MOST_ROWS, placed, regions
from webtable.rowkey import KeyRange
from webtable.store import Region, Row

NONE = SimpleNamespace(digits=0)
SALTED = SimpleNamespace(digits=2)


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


def checks_of(found, rows, layout):
    patient = SimpleNamespace(store=Regions(found, rows), table="t", stored=SimpleNamespace(layout=layout))
    return {one.check: one for one in regions(patient)}


def test_a_region_with_most_of_the_salts_is_named():
    found = checks_of(between(b"01", b"02", b"03"), [9, 9, 9, 9], SALTED)

    assert found["splits"].state == "warning"
    assert found["splits"].found.startswith("1 (03) of 4 regions hold far more")


def test_salts_that_are_spread_evenly_are_well():
    found = checks_of(between(b"40", b"80", b"c0"), [1, 0, 1, 1], SALTED)

    assert found["splits"].is_ok
    assert found["regions"].is_ok


def test_without_salts_the_rows_tell_which_region_is_hot():
    found = checks_of(between(b"com.a", b"com.b", b"org"), [2, MOST_ROWS * 9, 3, 1], NONE)

    assert found["splits"].found.startswith("1 (com.a) of 4 regions hold far more")


def test_regions_that_are_mostly_empty_are_a_warning():
    found = checks_of(between(b"com.a", b"com.b", b"org"), [0, 5, 0, 0], NONE)

    assert found["splits"].state == "warning"
    assert found["splits"].found.startswith("3 (the first, com.b, org) of 4 regions have no row")


def test_a_region_that_is_on_no_server_has_failed():
    store = Regions([*between(b"80")[:1], Region(KeyRange(b"80", b""))], [1, 1])

    (check,) = placed(store, "t")

    assert (check.state, check.found) == ("failed", "1 (80) of 2 regions are on no server")


@pytest.mark.parametrize(("servers", "state"), [(("a:1", "b:1"), "ok"), ((*["a:1"] * 9, "b:1"), "warning")])
def test_a_server_with_most_of_the_regions_is_a_warning(servers, state):
    splits = [b"%02x" % number for number in range(1, 20)]

    (check,) = placed(Regions(between(*splits, servers=servers), []), "t")

    assert check.state == state


def test_a_store_without_servers_has_nothing_to_tell():
    assert checks_of([Region(KeyRange())], [1], NONE) == {}

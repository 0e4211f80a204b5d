"""Every question that takes a moment takes it as people tell it: as a date, a time ago, or the text of either."""

from __future__ import annotations

import inspect
import uuid
from datetime import UTC, date, datetime, timedelta

import pytest
from sites import Site

import webtable
from manual_clock import ManualClock
from webtable import WebTable
from webtable.errors import InvalidArgument
from webtable.repository.table.groups import TableIndexes, TableLinks, TableMaintenance

DAY = 86_400
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
BOUND = NOON.replace(hour=0) - timedelta(days=6)
"""The beginning of a day a week before some moment, in all the ways in which it may be told."""
TOLD = {
    "a datetime": BOUND,
    "a date": date(BOUND.year, BOUND.month, BOUND.day),
    "a time ago": timedelta(days=7),
    "a text of a time ago": "7d",
    "a text of a date": f"{BOUND:%Y-%m-%d}",
    "a text in ISO 8601": f"{BOUND:%Y-%m-%dT%H:%M}+00:00",
}


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    ManualClock(BOUND + timedelta(days=7)).installed(monkeypatch)


@pytest.fixture
def aged():
    """Two pages, one of before and one of behind the moment, of which the first has two versions."""
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True) as table:
        yield stored(Site(table, "a.example", NOON))


def stored(site):
    def page(path, hours, html, **fields):
        age = (site.now - BOUND).total_seconds() - hours * 3_600
        return site.page(path, age=age, body=html, **fields)

    site.store(page("/old", -48, b"11"), page("/new", 24, b"3", last_modified=BOUND + timedelta(hours=1)))
    site.store(page("/old", -24, b"2"))
    return site


def urls(site, pages):
    return [page.url.removeprefix(site.url("")) for page in pages]


def hits(site, **moments):
    return [hit.page for hit in site.table.search("title", site.domain, in_="title", **moments)]


def changed(site, **moments):
    return urls(site, site.table.changes(site.domain, **moments))


def forbidden(site, at):
    """Return what the robots.txt as of a moment forbids of two, one of before and one of behind the moment."""
    for hours, path in ((-24, "/before"), (24, "/after")):
        age, body = (site.now - BOUND).total_seconds() - hours * 3_600, f"User-agent: *\nDisallow: {path}".encode()
        site.store(site.page("/robots.txt", age=age, body=body, content_type="text/plain"))
    robots = site.table.robots_txt(site.url("/"), as_of=at)
    return [path for path in ("/before", "/after") if not robots.allows(site.url(path))]


# By the names of the method and of the argument.
ASKED = {
    ("get", "as_of"): lambda site, at: site.table.get(site.url("/old"), as_of=at).body == b"2",
    ("diff", "old"): lambda site, at: site.table.diff(site.url("/old"), old=at, new=NOON) is not None,
    ("diff", "new"): lambda site, at: site.table.diff(site.url("/new"), old=BOUND - timedelta(9), new=at) is None,
    ("robots_txt", "as_of"): lambda site, at: forbidden(site, at) == ["/before"],
    ("stats", "now"): lambda site, at: (
        list(site.table.stats(site.domain, by="age", now=at).by["age"]) == ["under 1 day", "1 to 7 days"]
    ),
    ("fetched", "since"): lambda site, at: urls(site, site.table.fetched(site.domain, since=at)) == ["/new"],
    ("fetched", "until"): lambda site, at: urls(site, site.table.fetched(site.domain, until=at)) == ["/old"],
    ("modified", "since"): lambda site, at: urls(site, site.table.modified(site.domain, since=at)) == ["/new"],
    ("modified", "until"): lambda site, at: urls(site, site.table.modified(site.domain, until=at)) == ["/old"],
    ("outdated", "not_fetched_since"): lambda site, at: (
        urls(site, site.table.outdated(site.domain, not_fetched_since=at)) == ["/old"]
    ),
    ("outdated", "not_modified_since"): lambda site, at: (
        urls(site, site.table.outdated(site.domain, not_modified_since=at)) == ["/old"]
    ),
    ("search", "since"): lambda site, at: urls(site, hits(site, since=at)) == ["/new"],
    ("search", "until"): lambda site, at: urls(site, hits(site, until=at)) == ["/old"],
    ("changes", "since"): lambda site, at: changed(site, since=at) == ["/new"],
    ("changes", "met_since"): lambda site, at: (
        changed(site, since=BOUND - timedelta(hours=12), met_since=at, kind="missing") == ["/old"]
    ),
    ("changes", "until"): lambda site, at: changed(site, since=BOUND - timedelta(days=9), until=at) == ["/old"],
    ("delete_pages", "fetched_before"): lambda site, at: (
        site.table.delete_pages(site.domain, fetched_before=at, dry_run=True).pages == 1
    ),
    ("verify", "as_of"): lambda site, at: site.table.indexes.verify("size", as_of=at, settle=0).as_of == BOUND,
    ("repair", "as_of"): lambda site, at: site.table.indexes.repair("size", as_of=at, settle=0).as_of == BOUND,
}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_a_moment_is_taken_as_it_is_told(aged, asked, told):
    assert ASKED[asked](aged, TOLD[told])


@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_what_is_no_moment_is_refused_with_the_name_of_the_argument(aged, asked):
    _, argument = asked

    for wrong in ("soon", 7, datetime(2026, 1, 1)):
        with pytest.raises(InvalidArgument, match=f"{argument}="):
            ASKED[asked](aged, wrong)


@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_a_negative_time_ago_is_refused(aged, asked):
    with pytest.raises(InvalidArgument, match=rf"{asked[1]}=.* must not be negative"):
        ASKED[asked](aged, timedelta(days=-1))


@pytest.mark.parametrize("asked", [one for one in ASKED if one[1] == "since"], ids="-".join)
def test_since_the_future_is_refused(aged, asked):
    with pytest.raises(InvalidArgument, match=r"since=.* is in the future"):
        ASKED[asked](aged, BOUND + timedelta(days=8))


def test_no_question_takes_a_moment_that_is_not_tried_here():
    groups = (WebTable, TableLinks, TableIndexes, TableMaintenance)
    methods = [one for group in groups for one in inspect.getmembers(group, inspect.isfunction)]
    taken = {
        (name, parameter.name)
        for name, method in methods
        if not name.startswith("_")
        for parameter in inspect.signature(method).parameters.values()
        if "Moment" in str(parameter.annotation)
    }
    exact = {
        (name, parameter.name)
        for name, method in methods
        for parameter in inspect.signature(method).parameters.values()
        if "datetime" in str(parameter.annotation)
    }

    assert taken == set(ASKED)
    stored = {("put_not_modified", "fetched_at"), ("put_failed", "at"), ("ingest", "date_fallback")}
    assert exact == stored, "they store that date, and ask nothing"

"""What a crawler knows of a fetch, besides the response: stored with each capture, and kept by every way out and in."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from msgspec.structs import replace

from webtable import Page
from webtable.errors import InvalidCapture
from webtable.formats import read_pages, write
from webtable.page import Bookkeeping
from webtable.repository.page_storage.state import CAPTURED, GIVEN

FETCH = {
    "depth": 3,
    "priority": 0.5,
    "referrer": "https://example.com/menu",
    "duration": 412,
    "attempts": 2,
    "server_address": "2001:db8::1",
    "protocol": "h2",
}
HOUR = timedelta(hours=1)


def fetch_of(page):
    return {name: getattr(page, name) for name in FETCH}


def test_what_a_crawler_knows_of_a_fetch_is_a_column_of_the_page_and_of_each_version(site):
    table = site.table
    page = Page(url=site.url("/a"), body=b"one", fetched_at=site.now - 3 * HOUR, **FETCH)
    table.put(page)
    table.put(replace(page, body=b"two", fetched_at=site.now - 2 * HOUR, depth=1, attempts=None))

    newest = table.get(page.url)
    versions = list(table.history(page.url))

    assert fetch_of(newest) == {**FETCH, "depth": 1, "attempts": None}
    assert [fetch_of(version) for version in versions] == [fetch_of(newest), FETCH]
    assert table.pages(site.domain).to_dicts(["depth", "protocol"])[0] == {"depth": 1, "protocol": "h2"}


def test_a_304_has_its_own_and_leaves_those_of_the_version_that_it_repeats(site):
    table = site.table
    page = Page(url=site.url("/b"), body=b"one", headers={"ETag": '"1"'}, fetched_at=site.now - 3 * HOUR, **FETCH)
    table.put(page)
    table.put(Page(url=page.url, status=304, fetched_at=site.now - HOUR, duration=7, protocol="h3"))

    newest = table.get(page.url)

    nothing = dict.fromkeys(FETCH)
    assert fetch_of(newest) == {**nothing, "duration": 7, "protocol": "h3"}
    assert [fetch_of(version) for version in table.history(page.url)] == [FETCH]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_revisit_has_its_own_whether_its_original_comes_before_or_behind_it(site, is_late):
    table = site.table
    date = site.now - 3 * HOUR
    original = Page(url=site.url("/o"), body=b"one", fetched_at=date, **FETCH)
    revisit = Page(url=site.url("/r"), same_as=original.url, fetched_at=site.now - HOUR, depth=5, protocol="http/1.1")
    captures = [original, revisit.with_stored(Bookkeeping(repeats_at=date))]
    for page in reversed(captures) if is_late else captures:
        table.put(page)

    page = table.get(revisit.url, columns=["body"])

    assert (page.body, fetch_of(page)) == (b"one", {**dict.fromkeys(FETCH), "depth": 5, "protocol": "http/1.1"})


def test_a_capture_that_is_put_again_changes_nothing(site):
    page = Page(url=site.url("/c"), body=b"x", fetched_at=site.now - HOUR, **{**FETCH, "priority": 7})
    site.table.put(page)
    before = site.table.get(page.url)

    site.table.put(page)

    assert (site.table.get(page.url), before.priority) == (before, 7)
    assert len(list(site.table.history(page.url))) == 1


@pytest.mark.parametrize("file", ["pages.jsonl", "pages.parquet"])
def test_files_of_pages_keep_it(tmp_path, file):
    page = Page(url="https://example.com/", body=b"x", **FETCH)

    write([page], tmp_path / file)

    assert [fetch_of(again) for again in read_pages(tmp_path / file, types=None)] == [FETCH]


def test_a_table_of_numbers_that_pandas_made_floats_gives_whole_ones(site):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"url": [site.url("/d"), site.url("/e")], "body": [b"d", b"e"], "depth": [2, None], "duration": [None, 31.0]}
    )

    with site.table.writer() as writer:
        writer.put_many(frame)

    pages = site.table.get_many([site.url("/d"), site.url("/e")])
    assert [(page.depth, page.duration) for page in pages] == [(2, None), (None, 31)]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"depth": -1}, r"depth=-1 must be from 0 to 2\*\*63 - 1"),
        ({"duration": 2**63}, "duration="),
        ({"depth": 1.5}, "depth is float; it must be int or None"),
        ({"depth": True}, "depth is bool; it must be int or None"),
        ({"priority": "high"}, "priority is str; it must be float or int or None"),
        ({"priority": float("nan")}, "priority=nan must be a finite number"),
        ({"priority": float("-inf")}, "priority=-inf must be a finite number"),
        ({"priority": 10**400}, "priority=10+ must be a finite number"),
        ({"server_address": 127}, "server_address is int"),
    ],
)
def test_a_value_that_could_not_be_read_back_is_refused(site, wrong, reason):
    with pytest.raises(InvalidCapture, match=reason):
        site.table.put(Page(url=site.url("/f"), body=b"x", **wrong))


def test_a_version_keeps_all_that_a_crawler_gives_but_what_stands_in_other_cells():
    elsewhere = {"url", "body", "fetched_at", "outlinks", "same_as", "content_at", "repeats_at"}

    assert {name.removeprefix("_") for name in CAPTURED} == set(GIVEN) - elsewhere


def test_answers_are_written_with_it():
    out = io.BytesIO()

    write([Page(url="https://example.com/", body=b"x", **FETCH)], out, format="csv", columns=["url", *FETCH])

    assert out.getvalue().decode().splitlines()[1] == (
        "https://example.com/,3,0.5,https://example.com/menu,412,2,2001:db8::1,h2"
    )

"""Walks over a whole table with worker processes: they find what one process finds, also where a worker is killed."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import pytest
from damaging import PAGE, damage

from store_differences import on_every_store
from webtable import Link, WebTable
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.page_counts import Group

GROUPINGS = ("host", "status", "type", "age", "region", "size", "day", "month")
PAGES = 120


@pytest.fixture
def town(site):
    """Pages of seven hosts with links and errors, of which two cannot be read."""

    def url(number: int) -> str:
        return f"https://h{number % 7}.{site.domain}/p/{number}"

    def page(number: int):
        more = {"status": 404 if number % 5 == 0 else 200, "content_type": "text/html" if number % 3 else "text/plain"}
        links = (Link(url(number * 7 % PAGES), "a", ""), Link(url(number + 500), "b", ""))
        body = b"<p>number" + b" x" * number
        return site.page(
            f"/p/{number}", host=f"h{number % 7}", age=86_400 * number / 4, body=body, outlinks=links, **more
        )

    site.store(*map(page, range(PAGES)))
    for number in (17, 61):
        damage(site.table, url(number), PAGE)
    return site


def killing_one(progress: list[int]):
    """Return a function for `on_progress` that kills a worker after the first part."""

    def on_progress(so_far: int) -> None:
        if not progress:
            multiprocessing.active_children()[0].kill()
        progress.append(so_far)

    return on_progress


def interrupting(so_far: int) -> None:
    raise KeyboardInterrupt


@on_every_store
def test_statistics_are_those_of_one_process(town, adapter):
    def counted(**options):
        return town.table.stats(town.domain, by=GROUPINGS, now=town.now, **options)

    if adapter == "memory":
        with pytest.raises(InvalidArgument, match="cannot be opened by another process"):
            counted(workers=2)
        return
    progress: list[int] = []
    before = town.table.metrics.damaged
    found = counted(workers=2, on_progress=progress.append)
    assert town.table.metrics.damaged == before + 2
    expected = counted()

    assert replace(found, examples=()) == replace(expected, examples=())
    assert (found.pages, found.damaged) == (PAGES - 2, 2)
    assert [str(row) for row in found.examples] == [str(row) for row in expected.examples]
    assert progress == sorted(progress)
    assert progress[-1] == PAGES - 2


def test_statistics_of_a_host_and_of_keys_alone(town):
    for site, options in ((f"h1.{town.domain}", {}), (town.domain, {"by": "host", "bytes": False})):
        found, expected = (town.table.stats(site, workers=workers, **options) for workers in (2, 1))
        assert replace(found, examples=()) == replace(expected, examples=())
    assert town.table.stats(f"none.{town.domain}", by="status", workers=2).by == {"status": {}}


def test_a_part_whose_worker_was_killed_is_counted_once(town):
    progress: list[int] = []

    found = town.table.stats(town.domain, by="status", workers=2, on_progress=killing_one(progress))

    assert found.pages == progress[-1] == PAGES - 2
    assert sum(group.pages for group in found.by["status"].values()) == PAGES - 2
    assert isinstance(found.by["status"]["404"], Group)


def test_after_ctrl_c_no_worker_is_left(town):
    with pytest.raises(KeyboardInterrupt):
        town.table.stats(town.domain, workers=2, on_progress=interrupting)

    assert multiprocessing.active_children() == []


def test_a_journal_and_a_number_that_is_none_are_refused(town, tmp_path):
    with pytest.raises(InvalidArgument, match="exclude each other"):
        town.table.stats(town.domain, workers=2, resume=tmp_path / "journal")
    with pytest.raises(InvalidArgument, match="workers=0"):
        town.table.stats(town.domain, workers=0)


def test_what_a_worker_raises_is_raised_here(town):
    strict = WebTable(town.table.store, town.table.table, town.table.layout, strict=True)

    with pytest.raises(DamagedRow, match="metadata:page"):
        strict.stats(town.domain, workers=2)

"""Walks over a whole table with worker processes: they find what one process finds, also where a worker is killed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from damaging import PAGE, damage

import webtable
from child_processes import workers_of
from store_differences import on_every_store
from webtable import Link, WebTable
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository import journal
from webtable.repository.reading.page_counts import Group
from webtable.repository.upkeep import repair
from webtable.rowkey import KeyRange, Salt
from webtable.store import NewCell, Put

pytestmark = pytest.mark.slow

GROUPINGS = ("host", "status", "type", "language", "age", "region", "size", "day", "month")
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
            workers_of()[0].kill()
        progress.append(so_far)

    return on_progress


def interrupting(after: int):
    """Return a function for `on_progress` that is interrupted when it is called so often."""
    calls = iter(range(1, after))

    def on_progress(_so_far: int) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt

    return on_progress


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


@pytest.fixture
def drifting(new_url, town):
    """A table of the pages of a town, of whose indexes each lacks some entries, and one has some that do not hold."""
    with webtable.open(new_url(), create=True) as table:
        with table.writer() as writer:
            writer.put_many(town.table.pages(town.domain, columns=["body", "outlinks"]))
        table.links.refresh(also_unfinished=True)
        for name, found in table._context.indexes.read().items():
            entries = list(table.store.scan(found.table, [KeyRange()]))
            kept = [(row.key, row.cells, 0) for place, row in enumerate(entries) if place % 20]
            if name == "status":
                errors = [row for row in entries if row.key[2:].startswith(b"404_")][:3]
                kept += [(row.key.replace(b"404", b"301", 1), row.cells, 1) for row in errors]
            # A table of the index's own: what is deleted could not be put again as it was.
            table.store.drop_table(found.table)
            table.store.create_table(table.layout.index_schema(table.table, name))
            for key, cells, older in kept:
                new = [NewCell(column, cell.timestamp - older, cell.value) for column, (cell, *_) in cells.items()]
                table.store.write(found.table, [Put(key, new)])
        for number in (18, 62):
            damage(table, f"https://h{number % 7}.{town.domain}/p/{number}", PAGE)
        yield table


# The others differ in what their entries are made of, and by night.
SOME_INDEXES = ["link", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("status", "host"))]


@pytest.mark.parametrize("index", SOME_INDEXES)
def test_an_index_differs_as_for_one_process(drifting, index):
    as_of = datetime.now(UTC) + timedelta(minutes=1)
    progress: list[int] = []

    found = drifting.indexes.verify(index, as_of=as_of, settle=0, workers=2, on_progress=progress.append)

    expected = drifting.indexes.verify(index, as_of=as_of, settle=0)
    assert replace(found, examples=[]) == replace(expected, examples=[])
    assert sorted(found.examples) == sorted(expected.examples)
    assert found.missing
    assert (found.stale > 0) == (index == "status")
    assert found.damaged == 2
    assert progress[-1] == found.pages + found.entries


@pytest.mark.parametrize("index", SOME_INDEXES)
def test_an_index_is_rebuilt_also_where_a_worker_is_killed(drifting, index):
    progress: list[int] = []
    damaged = drifting.metrics.damaged

    pages = drifting.indexes.rebuild(index, workers=2, on_progress=killing_one(progress))

    assert pages == progress[-1] == PAGES - 4
    assert drifting.metrics.damaged == damaged + 2
    drifting.links.refresh(also_unfinished=True)
    # Nobody can read the links of the two damaged pages: entries of their targets may be among those that it lacked.
    left = [one for one in drifting.indexes.verify(index, settle=0).examples if one.startswith("missing")]
    targets = ("/p/518 ", "/p/562 ", *(f"/p/{number * 7 % PAGES} " for number in (18, 62)))
    assert [one for one in left if not any(target in one for target in targets)] == []
    assert not left or index == "link"


def test_an_index_that_was_interrupted_is_completed_by_workers(drifting, monkeypatch):
    monkeypatch.setattr(repair, "SAVE_SECONDS", 0)
    drifting.indexes.drop("size")
    with pytest.raises(KeyboardInterrupt):
        drifting.indexes.add("size", workers=2, on_progress=interrupting(2))
    state = drifting.indexes.states()["size"]

    assert (state.phase, bool(state.position)) == ("building", True)
    assert 0 < drifting.indexes.rebuild("size", workers=2) < PAGES - 4
    assert drifting.indexes.states()["size"].phase == "ready"
    assert len(list(drifting.largest())) == PAGES - 4


@pytest.mark.parametrize("ending", ["killed", pytest.param("interrupted", marks=pytest.mark.nightly)])
def test_a_copy_is_whole_also_where_a_worker_is_killed_or_it_goes_on(drifting, new_url, tmp_path, ending):
    progress: list[int] = []
    kill, interrupt = killing_one(progress), interrupting(6)

    with webtable.maintenance.copy_target(drifting, new_url(), salt=Salt.url()) as target:
        copy = partial(drifting.maintenance.copy, target, resume=tmp_path / "journal", workers=2)
        if ending == "interrupted":
            with pytest.raises(KeyboardInterrupt):
                copy(on_copied=lambda copied: interrupt(copied.looked_at))
        done = copy(on_copied=lambda copied: ending == "killed" and kill(copied.looked_at))

        assert done.resumed == (ending == "interrupted")
        # What the killed worker had copied is not copied again.
        assert done.resumed or (done.pages + done.unchanged, done.damaged) == (PAGES - 4, 2)
        again = drifting.maintenance.copy(target)
        assert (again.pages, again.unchanged, again.damaged) == (0, PAGES - 4, 2)
        target.links.refresh(also_unfinished=True)
        assert drifting.maintenance.check_copy(target, full=True).is_sound
        assert [drift.missing for drift in map(partial(target.indexes.verify, settle=0), ["link", "time"])] == [0, 0]


def test_a_part_whose_worker_was_killed_is_counted_once(town):
    progress: list[int] = []

    found = town.table.stats(town.domain, by="status", workers=2, on_progress=killing_one(progress))

    assert found.pages == progress[-1] == PAGES - 2
    assert sum(group.pages for group in found.by["status"].values()) == PAGES - 2
    assert isinstance(found.by["status"]["404"], Group)


def test_after_ctrl_c_no_worker_is_left(town):
    with pytest.raises(KeyboardInterrupt):
        town.table.stats(town.domain, workers=2, on_progress=interrupting(2))

    assert workers_of() == []


@pytest.mark.parametrize("walk", ["stats", pytest.param("verify", marks=pytest.mark.nightly)])
def test_a_journal_is_kept_part_by_part_and_one_process_goes_on_from_it(drifting, tmp_path, monkeypatch, walk):
    monkeypatch.setattr(journal, "SAVE_SECONDS", 0)
    monkeypatch.setattr(journal, "SHARE", 0)
    file = tmp_path / "journal"
    as_of = datetime.now(UTC) + timedelta(minutes=1)
    run = {
        "stats": lambda **options: drifting.stats(webtable.ALL, by=GROUPINGS, now=as_of, **options),
        "verify": lambda **options: drifting.indexes.verify("status", as_of=as_of, settle=0, **options),
    }[walk]
    for parts in (9, 20):
        with pytest.raises(KeyboardInterrupt):
            run(resume=file, workers=2, on_progress=interrupting(parts))
        assert file.exists()

    found, expected = run(resume=file), run()

    assert replace(found, examples=[]) == replace(expected, examples=[])
    assert sorted(map(str, found.examples)) == sorted(map(str, expected.examples))
    assert not file.exists()


def test_a_number_of_workers_that_is_none_is_refused(town):
    for call in (town.table.stats, partial(town.table.indexes.verify, "time"), partial(town.table.indexes.add, "no")):
        with pytest.raises(InvalidArgument, match="workers=0"):
            call(workers=0)


def test_what_a_worker_raises_is_raised_here(town):
    strict = WebTable(town.table.store, town.table.table, town.table.layout, strict=True)

    with pytest.raises(DamagedRow, match="metadata:page"):
        strict.stats(town.domain, workers=2)

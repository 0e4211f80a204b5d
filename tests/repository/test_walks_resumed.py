"""Walks over a whole table that are ended and go on: they find what one walk finds, and look at each row once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import chain

import pytest
from damaging import PAGE, damage
from deaths import Killed, Town

import webtable
from nightly import some
from webtable.errors import InvalidArgument
from webtable.repository import journal
from webtable.repository.maintenance import verify as verification
from webtable.repository.questions import stats
from webtable.repository.upkeep import repair as drift
from webtable.rowkey import KeyRange
from webtable.store import NewCell, Put
from webtable.testing import WrappedStore

PAGES = 60
NOW = datetime(2026, 11, 23, tzinfo=UTC)


def verify(table, **options):
    return table.maintenance.verify(webtable.ALL, **options)


def count(table, **options):
    return table.stats(webtable.ALL, by=["host", "status", "type", "age", "region", "size", "day"], **options)


def compare(table, **options):
    return table.indexes.verify("status", settle=0, **options)


def repair(table, **options):
    return table.indexes.repair("status", settle=0, **options)


@pytest.fixture
def at_each_row(monkeypatch):
    """Let what was found be kept after each row."""
    monkeypatch.setattr(journal, "SAVE_SECONDS", 0)
    monkeypatch.setattr(journal, "SHARE", 0)
    for module in (stats, verification):
        monkeypatch.setattr(module, "PROGRESS_PAGES", 1)
    monkeypatch.setattr(drift, "PIECE", 1)


@pytest.fixture
def table(tmp_path, at_each_row):
    """Sixty pages of which three cannot be read, and an index with five entries too few and four that do not hold."""
    with webtable.open(tmp_path / "crawl.db", create=True, indexes=["status", "link"]) as table:
        town = Town(table, "town.example")
        town.store(*(town.page(f"/{n:02}", host=f"h{n % 3}", body=b"x" * n, status=200) for n in range(PAGES)))
        index = table._context.indexes.read()["status"].table
        entries = list(table.store.scan(index, [KeyRange()]))
        # A table of the index's own: what is deleted could not be put again as it was.
        table.store.drop_table(index)
        table.store.create_table(table.layout.index_schema(table.table, "status"))
        kept = [(row.key, row.cells, 0) for place, row in enumerate(entries) if place % 12]
        kept += [(row.key.replace(b"200", b"404"), row.cells, 1) for row in entries[5::15]]
        for key, cells, older in kept:
            new = [NewCell(column, cell.timestamp - older, cell.value) for column, (cell, *_) in cells.items()]
            table.store.write(index, [Put(key, new)])
        for number in (7, 20, 59):
            damage(table, town.url(f"/{number:02}", f"h{number % 3}"), PAGE)
        yield table


class Ending(WrappedStore):
    """A store whose process is killed after so many rows of scans; `rows` are those that it gave."""

    def __init__(self, store, left):
        super().__init__(store)
        self.left, self.rows = left, 0

    def _scan(self, *given, **options):
        for row in chain.from_iterable(super()._scan(*given, **options)):
            if self.rows == self.left:
                raise Killed
            self.rows += 1
            yield [row]


def opened(table, left=10**9):
    store = Ending(table.store, left)
    return store, webtable.WebTable(store, table.table, table.layout)


@pytest.mark.slow
@pytest.mark.parametrize("walk", [verify, count, compare])
def test_a_walk_that_is_ended_anywhere_finds_what_one_walk_does(table, walk, tmp_path):
    file = tmp_path / "found"
    given = {"now": NOW} if walk is count else {}
    whole, through = opened(table)
    expected = walk(through, **given)

    for left in some(range(0, whole.rows, 7), 3):
        ended, through = opened(table, left)
        with pytest.raises(Killed):
            walk(through, resume=file, **given)
        assert file.exists() == (left > 1)
        store, through = opened(table)
        found = walk(through, resume=file, **given)

        assert shown(found) == shown(expected)
        assert ended.rows + store.rows <= whole.rows + 2  # one that was given and not looked at, of a pass
        assert not file.exists()


def shown(found):
    """What was found, but for the moment of it, and the order of the examples."""
    names = [name for name in type(found).__dataclass_fields__ if name not in ("as_of", "examples")]
    return [*(getattr(found, name) for name in names), sorted(map(str, found.examples))]


def test_a_walk_goes_on_over_many_ends(table, tmp_path):
    for walk in (verify, count, compare):
        given = {"now": NOW} if walk is count else {}
        expected = walk(table, **given)
        for _ in range(100):
            try:
                found = walk(opened(table, 10)[1], resume=tmp_path / "found", **given)
            except Killed:
                continue
            break

        assert shown(found) == shown(expected)


def test_a_repair_that_is_ended_anywhere_leaves_no_difference(table, tmp_path):
    before = compare(table)
    assert (before.missing, before.stale, before.damaged) == (5, 3, 3)
    for _ in range(100):
        try:
            found = repair(opened(table, 20)[1], resume=tmp_path / "found")
        except Killed:
            continue
        break

    assert (found.missing, found.stale, found.repaired, found.damaged) == (5, 3, 8, 3)
    after = compare(table)
    assert (after.missing, after.stale) == (0, 0)


def test_pages_that_come_while_nothing_walks_are_looked_at_where_it_has_not_been(table, tmp_path):
    with pytest.raises(Killed):
        verify(opened(table, 30)[1], resume=tmp_path / "found")
    town = Town(table)
    town.store(*(town.page(f"/{n:02}", body=b"x") for n in range(40)))

    found = verify(table, resume=tmp_path / "found")

    assert PAGES - 3 <= found.pages <= PAGES - 3 + 40
    assert found.damaged == 3


def test_progress_goes_on_where_it_was(table, tmp_path):
    with pytest.raises(Killed):
        verify(opened(table, 30)[1], resume=tmp_path / "found")
    told = []

    verify(table, resume=tmp_path / "found", on_progress=told.append)

    assert told[0] > 25
    assert told[-1] == PAGES - 3


def test_what_another_question_has_kept_is_refused_and_stays(table, tmp_path):
    file = tmp_path / "found"
    with pytest.raises(Killed):
        verify(opened(table, 30)[1], resume=file)
    kept = file.read_bytes()

    for other in (count, compare, repair):
        with pytest.raises(InvalidArgument, match="the journal of another run"):
            other(table, resume=file)
    with pytest.raises(InvalidArgument, match="the journal of another run"):
        table.maintenance.verify("example.com", resume=file)

    assert file.read_bytes() == kept


@pytest.mark.parametrize(
    "content", [b"\x00\xff", b"[]", b"{}", b'{"job": 1}', b"hello", json.dumps({"at": "now"}).encode()]
)
def test_a_file_of_anything_else_is_refused_and_stays(table, tmp_path, content):
    file = tmp_path / "found"
    file.write_bytes(content)

    with pytest.raises(InvalidArgument, match="this is not a valid journal"):
        verify(table, resume=file)

    assert file.read_bytes() == content


def test_what_was_found_that_cannot_be_read_is_refused(table, tmp_path):
    file = tmp_path / "found"
    with pytest.raises(Killed):
        verify(opened(table, 30)[1], resume=file)
    kept = json.loads(file.read_bytes())
    kept["found"]["pages"] = "many"
    file.write_text(json.dumps(kept))

    with pytest.raises(InvalidArgument, match="this is not a valid journal"):
        verify(table, resume=file)


def test_an_empty_file_is_none(table, tmp_path):
    (tmp_path / "found").touch()

    assert verify(table, resume=tmp_path / "found").damaged == 3


def test_what_was_found_is_for_its_owner_alone(table, tmp_path):
    with pytest.raises(Killed):
        verify(opened(table, 30)[1], resume=tmp_path / "found")

    assert (tmp_path / "found").stat().st_mode & 0o077 == 0


def test_a_place_that_cannot_be_written_is_an_error_with_its_name(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        verify(table, resume=tmp_path / "nowhere" / "found")


def test_what_is_no_file_is_left_where_it_is(table):
    assert verify(table, resume="/dev/null").damaged == 3

"""Indexes that come and go beside writers: none is ever used before it is complete, none is left without pages."""

from __future__ import annotations

import importlib
import time
from contextlib import nullcontext, suppress
from importlib.metadata import EntryPoint
from uuid import uuid4

import own_indexes
import pytest
from answers import check_questions, drifts, missing
from deaths import EachAlone, Killed, Town, is_through, listening

import webtable
from webtable import WebTable
from webtable._clock import clock as system_clock
from webtable.errors import (
    IndexNeeded,
    IndexNotNamed,
    InvalidArgument,
    LayoutMismatch,
    StoreError,
    WebTableError,
    WriteFailed,
)
from webtable.repository.indexes import states
from webtable.schema import IndexState, index_table


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table whose readers know at once what became of its indexes."""
    for module in ("indexes.states", "upkeep.repair"):
        monkeypatch.setattr(f"webtable.repository.{module}.FRESH_SECONDS", 0)
    with webtable.open(tmp_path / "own.db", create=True) as table:
        yield table


def crawl_again(town, **fields):
    """Return the act that stores the page /a once more, fetched a day ago."""
    fields = {"body": b"a" * 1_000, "outlinks": town.links("/", "/b", "/never"), **fields}
    return lambda table: table.put(town.page("/a", days=1, **fields))


def writes_to(name):
    return lambda call, table, *_: call == "write" and table.endswith(name)


def once_at(wanted, act):
    """Return a listener that does *act* at the first call that is *wanted*."""
    done = []

    def listen(*call):
        if not done and wanted(*call):
            done.append(call)
            act()

    return listen


def pages_written(call, table, *_):
    return (call, table) == ("write", "pages")


def test_an_index_added_while_a_batch_is_under_way_has_its_pages(table):
    table.indexes.drop("size")
    town = Town(table).build()
    listener = once_at(pages_written, lambda: table.indexes.add("size"))

    crawl_again(town, body=b"s")(listening(table, listener))

    check_questions(table, town.domain)
    assert missing(table) == {}


def test_an_index_dropped_while_a_batch_is_under_way_stops_no_page(table):
    town = Town(table).build()
    listener = once_at(
        lambda call, name, *_: call == "write" and name.endswith("size_idx"), lambda: table.indexes.drop("size")
    )

    crawl_again(town, body=b"s")(listening(table, listener))

    check_questions_without_size(table, town)


def check_questions_without_size(table, town):
    with pytest.raises(IndexNeeded, match="webtable index add size"):
        list(table.largest(town.domain))
    table.indexes.add("size")
    check_questions(table, town.domain)


def test_an_index_dropped_and_added_again_while_a_batch_is_under_way_has_its_pages(table):
    town = Town(table).build()

    def again():
        table.indexes.drop("size")
        table.indexes.add("size")

    crawl_again(town, body=b"s")(listening(table, once_at(pages_written, again)))

    check_questions(table, town.domain)
    assert missing(table) == {}


class Renewing(EachAlone):
    """A store whose index of sizes is dropped before a write to it, and added again after it: *times* times."""

    def __init__(self, table, times):
        super().__init__(table.store)
        self._table, self._left = table, times

    def around(self, call, do):
        if not self._left or (call.name, call.table) != ("write", index_table(self._table.table, "size").name):
            return do()
        self._left -= 1
        self._table.indexes.drop("size")
        try:
            return do()
        finally:
            self._table.indexes.add("size")


def test_a_page_whose_entries_find_no_table_as_an_index_is_renewed_is_stored_with_those_of_the_new_one(
    new_url, monkeypatch
):
    for module in ("indexes.states", "upkeep.repair"):
        monkeypatch.setattr(f"webtable.repository.{module}.FRESH_SECONDS", 0)
    with webtable.open(new_url(), create=True) as table:
        town = Town(table).build()
        late = WebTable(Renewing(table, times=2), table.table, table.layout)

        late.put(town.page("/late", body=b"s" * 5_000))

        assert next(iter(table.largest(town.domain))).url == town.url("/late")
        assert missing(table) == {}


def test_an_index_dropped_while_it_is_built_stays_dropped(table):
    town = Town(table).build()
    table.indexes.drop("size")
    other = listening(table, lambda *_: None)

    with suppress(WebTableError):
        other.indexes.add("size", on_progress=once_at(lambda *_: True, lambda: table.indexes.drop("size")))

    assert "size" not in table.indexes.states()
    town.store(town.page("/later", body=b"x"))
    check_questions_without_size(table, town)


def test_two_that_add_the_same_index_at_once_do_no_harm(table):
    table.indexes.drop("size")
    town = Town(table).build()

    def second():
        with suppress(InvalidArgument):
            table.indexes.add("size")

    first = listening(table, once_at(writes_to("size_idx"), second))
    first.indexes.add("size")

    assert table.indexes.states()["size"].phase == "ready"
    check_questions(table, town.domain)
    assert missing(table) == {}


@pytest.mark.slow
def test_an_index_whose_building_was_interrupted_at_any_call_is_completed_by_a_rebuild(table):
    town = Town(table).build()
    for calls in range(100):
        table.indexes.drop("size")

        is_done = is_through(table, lambda dying: dying.indexes.add("size"), calls)
        with nullcontext() if is_done else pytest.raises(IndexNeeded, match=r"webtable index (add|rebuild) size"):
            list(table.largest(town.domain))
        complete = table.indexes.rebuild if "size" in table.indexes.states() else table.indexes.add
        complete("size")

        check_questions(table, town.domain)
        if is_done:
            return
    raise AssertionError("it never comes to its end")


def test_a_rebuild_goes_on_where_it_was_interrupted(table, monkeypatch):
    monkeypatch.setattr("webtable.repository.upkeep.repair.PIECE", 2)
    monkeypatch.setattr("webtable.repository.upkeep.repair.SAVE_SECONDS", -1)
    table.indexes.drop("size")
    town = Town(table).build()

    def stop(pages):
        if pages == 4:
            raise Killed

    with pytest.raises(Killed):
        table.indexes.add("size", on_progress=stop)
    interrupted = table.indexes.states()["size"]
    rest = table.indexes.rebuild("size")

    assert interrupted.phase == "building"
    assert rest == 7 - 4
    check_questions(table, town.domain)


def test_writers_keep_an_index_that_is_still_building(table):
    table.indexes.drop("size")
    town = Town(table).build()
    table._context.indexes.set("size", IndexState("building"))

    with suppress(StoreError):
        table.store.create_table(index_table("pages", "size"))
    town.store(town.page("/later", body=b"later", days=1))
    with pytest.raises(IndexNeeded, match="webtable index rebuild size"):
        list(table.largest(town.domain))
    table.indexes.rebuild("size")

    check_questions(table, town.domain)


def language_page(town, path, language, **fields):
    return town.page(path, headers={"content-language": language}, days=1, **fields)


def test_an_index_of_ones_own_is_kept_and_asked(table):
    town = Town(table).build()
    assert table.indexes.add("own_indexes:language") == 7

    town.store(language_page(town, "/de", "de"), language_page(town, "/en", "en"))
    town.store(language_page(town, "/de2", "fr"))
    town.store(Town(table, town.domain).page("/de2", days=0.5, headers={"content-language": "de"}))

    assert [page.url for page in table.indexed("language", term="de")] == [town.url("/de"), town.url("/de2")]
    assert [page.url for page in table.indexed("language", term="fr")] == []
    assert len(list(table.indexed("language"))) == 10
    assert missing(table) == {}


def test_a_page_that_an_index_of_ones_own_refuses_is_not_stored_and_the_others_are(table):
    table.indexes.add("own_indexes:fragile")
    town = Town(table)
    outcomes = []

    with table.writer(on_outcome=outcomes.append) as writer:
        writer.put(town.page("/good"))
        writer.put(town.page("/broken"))

    errors = {outcome.url: str(outcome.error) for outcome in outcomes if outcome.error}
    assert list(errors) == [town.url("/broken")]
    assert "fragile" in errors[town.url("/broken")]
    assert "ZeroDivisionError" in errors[town.url("/broken")]
    assert [page.url for page in table.pages(town.domain)] == [town.url("/good")]
    check_questions(table, town.domain)


def test_an_index_of_ones_own_that_fails_for_a_stored_page_stays_incomplete_and_names_the_page(table):
    town = Town(table)
    town.store(town.page("/good"), town.page("/broken"))

    with pytest.raises(WebTableError, match=r"/broken.*fragile"):
        table.indexes.add("own_indexes:fragile")

    with pytest.raises(IndexNeeded, match="rebuild fragile"):
        list(table.indexed("fragile", term="x"))
    table.indexes.drop("fragile")
    assert "fragile" not in table.indexes.states()


def test_a_question_to_an_index_that_fails_for_a_page_names_both(table, monkeypatch):
    town = Town(table)
    table.indexes.add("own_indexes:fragile")
    town.store(town.page("/good"), town.page("/later"))
    monkeypatch.setattr(own_indexes, "BROKEN", "/later")

    with pytest.raises(WebTableError, match=r"/later.*fragile"):
        list(table.indexed("fragile"))
    with pytest.raises(WebTableError, match=r"/later.*fragile"):
        table.indexes.verify("fragile", settle=0)


def test_a_page_that_an_index_fails_for_can_be_deleted(table, monkeypatch):
    town = Town(table)
    table.indexes.add("own_indexes:fragile")
    town.store(town.page("/later"))
    monkeypatch.setattr(own_indexes, "BROKEN", "/later")

    assert table.delete(town.url("/later"))

    assert table.get(town.url("/later")) is None


def test_terms_that_no_index_can_hold_keep_the_page_out(table):
    town = Town(table)
    table.indexes.add("own_indexes:titles")

    with pytest.raises(WriteFailed, match="titles"):
        table.put(town.page("/long", title="x" * 10_000))
    with pytest.raises(WriteFailed, match="titles"):
        table.put(town.page("/none", title=None))
    town.store(town.page("/odd", title="50% of_all \ud83d\x00_"))

    assert [page.url for page in table.indexed("titles")] == [town.url("/odd")]


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """The importable name of an index that leaves a mark where it is imported, and that mark."""
    name, mark = f"stranger_{uuid4().hex}", tmp_path / "imported"
    (tmp_path / f"{name}.py").write_text(
        f"import pathlib, webtable\npathlib.Path({str(mark)!r}).touch()\n"
        "odd = webtable.indexes.Index('odd', lambda page: [str(len(page.url) % 2)])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}:odd", mark


@pytest.fixture
def foreign(table, stranger):
    """The town of a table that names the stranger's index, as another program may have written it."""
    town = Town(table).build()
    table.store.create_table(index_table("pages", "odd"))
    table._context.indexes.set("odd", IndexState(of=stranger[0]))
    return town


def test_nothing_is_imported_because_a_table_names_it(table, foreign, stranger):
    name, mark = stranger

    check_questions(table, foreign.domain)
    assert table.indexes.states()["odd"].of == name
    assert table.delete(foreign.url("/b"))
    table.links.refresh(also_unfinished=True)
    for act in (
        lambda: list(table.indexed("odd")),
        lambda: table.indexes.verify("odd", settle=0),
        lambda: table.indexes.rebuild("odd"),
    ):
        with pytest.raises(IndexNotNamed, match=rf"'odd'.*--index {name}.*WEBTABLE_INDEXES.*index drop odd"):
            act()
    with pytest.raises(WriteFailed, match=f"--index {name}") as refused:
        table.put(foreign.page("/new"))
    assert [type(failure.error) for failure in refused.value.failures] == [IndexNotNamed]
    table.indexes.drop("odd")
    table.put(foreign.page("/new"))

    assert not mark.exists()


def named_in_the_environment(name, monkeypatch):
    monkeypatch.setenv("WEBTABLE_INDEXES", f"other.module:index, {name}")


def named_by_an_installed_package(name, monkeypatch):
    point = EntryPoint("odd", name, "webtable.indexes")
    known = {point.group: [point]}
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: known.get(group, []))


def named_to_another_table(name, monkeypatch):
    with webtable.open(states.sys.path[0] + "/other.db", create=True, indexes=["time", name]):
        pass


def imported_already(name, monkeypatch):
    importlib.import_module(name.partition(":")[0])


@pytest.mark.parametrize(
    "by",
    [
        named_in_the_environment,
        named_by_an_installed_package,
        named_to_another_table,
        imported_already,
    ],
)
def test_an_index_that_was_named_in_this_process_is_used(table, foreign, stranger, monkeypatch, by):
    by(stranger[0], monkeypatch)

    table.indexes.rebuild("odd")
    table.put(foreign.page("/new"))

    odd = [page.url for page in table.indexed("odd", term="1")]
    assert sorted(odd) == sorted(page.url for page in table.pages(foreign.domain) if len(page.url) % 2)
    assert table.indexes.verify("odd", settle=0).is_empty


def test_a_module_is_not_asked_for_a_name_that_a_table_has(table, foreign, stranger, monkeypatch):
    asked = []
    module = type(states)("lazy")
    module.__getattr__ = asked.append
    monkeypatch.setitem(states.sys.modules, "lazy", module)
    table._context.indexes.set("odd", IndexState(of="lazy:odd"))

    with pytest.raises(IndexNotNamed, match="lazy:odd"):
        table.indexes.verify("odd", settle=0)

    assert asked == []


def test_an_index_is_not_taken_for_one_of_another_name(table, foreign, stranger):
    states.imported(stranger[0])
    table._context.indexes.set("even", IndexState(of=stranger[0]))

    with pytest.raises(LayoutMismatch, match=r"'even'.*'odd'"):
        table.indexes.verify("even", settle=0)


def test_a_table_whose_index_cannot_be_imported_is_not_written_until_that_is_dropped(table, monkeypatch):
    monkeypatch.setenv("WEBTABLE_INDEXES", "no_such_module:index")
    town = Town(table).build()
    table._context.indexes.set("gone", IndexState(of="no_such_module:index"))
    other = listening(table, lambda *_: None)

    with pytest.raises(WriteFailed, match=r"no_such_module:index"):
        other.put(town.page("/new"))
    with pytest.raises(LayoutMismatch, match=r"no_such_module:index.*webtable index drop gone"):
        list(other.indexed("gone"))
    assert list(other.largest(town.domain)) != []
    assert other.get(town.url("/new")) is None

    other.indexes.drop("gone")
    other.put(town.page("/new"))

    assert other.get(town.url("/new")) is not None


@pytest.mark.parametrize("indexes", [[], ["time"], ["time", "own_indexes:fragile"]])
def test_a_table_is_not_opened_with_other_indexes_than_it_has(tmp_path, indexes):
    with webtable.open(tmp_path / "t.db", create=True, indexes=["time", "own_indexes:language"]):
        pass

    with pytest.raises(LayoutMismatch, match=r"time, own_indexes:language|own_indexes:language, time"):
        webtable.open(tmp_path / "t.db", indexes=indexes)

    with webtable.open(tmp_path / "t.db", indexes=["own_indexes:language", "time"]) as table:
        assert set(table.indexes.states()) == {"time", "language"}


@pytest.mark.parametrize(
    "wrong", ["no_such", "own_indexes:nothing", "own_indexes:language_of", "Own:", "nowhere:x", "own_indexes:impostor"]
)
def test_a_table_is_not_created_with_an_index_that_there_is_not(tmp_path, wrong):
    with pytest.raises(InvalidArgument, match=wrong):
        webtable.open(tmp_path / "t.db", create=True, indexes=[wrong])

    assert not (tmp_path / "t.db").exists()


def test_an_index_that_was_dropped_while_the_writers_clock_is_behind_can_be_added_again(table, monkeypatch):
    town = Town(table).build()
    table.indexes.drop("size")
    monkeypatch.setattr(system_clock, "nanoseconds", lambda: time.time_ns() - 600 * 10**9)

    table.indexes.add("size")

    check_questions(table, town.domain)


def test_a_reader_knows_within_seconds_that_an_index_is_gone(tmp_path, manual_clock):
    with webtable.open(tmp_path / "t.db", create=True) as table, webtable.open(tmp_path / "t.db") as reader:
        town = Town(table).build()
        assert len(list(reader.largest())) == 6

        table.indexes.drop("size")

        assert manual_clock.passed < 5
        with pytest.raises(IndexNeeded, match="webtable index add size"):
            list(reader.largest(town.domain))


TERMS = [
    "",
    "\0",
    "\1",
    "\1\1",
    " ",
    "50",
    "50%",
    "5A",
    "A",
    "d",
    "d\0",
    "de",
    "de\1",
    "de-AT",
    "deA",
    "de_A",
    "é",
    "😀",
]


def store_terms(table):
    """Store two pages for each term, and return the URLs in the order of the terms, and of the URLs below them."""
    town = Town(table)
    paths = [f"/{(number * 7) % 36:02d}" for number in range(36)]
    pages = [town.page(path, title=term) for path, term in zip(paths, TERMS * 2, strict=True)]
    town.store(*pages)
    return [page.url for page in sorted(pages, key=lambda page: (page.title, page.url))]


def test_the_pages_of_an_index_come_in_the_order_of_its_terms(table):
    table.indexes.add("own_indexes:titles")
    expected = store_terms(table)
    found, token = [], None

    while token or not found:
        batch = table.indexed("titles", after=token).page(5)
        found += [page.url for page in batch]
        token = batch.next_token

    assert found == expected
    assert [page.url for page in table.indexed("titles", order="reverse")] == expected[::-1]
    for at, term in enumerate(TERMS):
        assert [page.url for page in table.indexed("titles", term=term)] == expected[2 * at : 2 * at + 2]
    drift = drifts(table)["titles"]
    assert (drift.pages, drift.entries, drift.is_empty) == (36, 36, True)

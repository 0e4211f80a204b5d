"""The commands that keep indexes: `index …`, `create --indexes`, and what `ingest` counts at its end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Result, Run

import webtable
from webtable.errors import StoreUnavailable
from webtable.indexes import WEB_INDEXES
from webtable.repository.table.groups import TableLinks
from webtable.repository.upkeep.repair import Maintenance
from webtable.schema import IndexState, index_table

pytestmark = pytest.mark.usefixtures("manual_clock")

NOW = datetime.now(UTC).replace(microsecond=0)
DEFINITION = """\
import webtable.repository.indexes.index as made

language = made.Index("language", lambda page: [page.headers.get("content-language", "none")])
"""


@pytest.fixture
def own_index(empty_directory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The importable name of an index that is defined in a module of the current directory."""
    name = f"crawl_indexes_{empty_directory.name}".replace("-", "_")
    (empty_directory / f"{name}.py").write_text(DEFINITION)
    monkeypatch.syspath_prepend(str(empty_directory))
    return f"{name}:language"


def page(number: int, **fields: object) -> webtable.Page:
    return webtable.Page(
        url=f"https://example.com/{number}", body=b"x" * number, fetched_at=NOW - timedelta(days=1), **fields
    )


def store(path: str = "webtable.db", pages: int = 3, **options: object) -> str:
    with webtable.open(path, create=True, **options) as table, table.writer() as writer:
        for number in range(pages):
            writer.put(page(number, headers={"content-language": "de" if number else "en"}))
    return path


def lines_of_json(*pages: dict[str, object]) -> Path:
    path = Path("pages.jsonl")
    path.write_text("".join(json.dumps(one) + "\n" for one in pages))
    return path


LINKING = {"url": "https://example.com/", "body": "<a href=/a>a</a><a href=/b>b</a>"}


# index list, add, drop, rebuild


def test_a_new_table_has_all_indexes(run: Run) -> None:
    store()

    result = run("index", "list")

    assert [cells[:2] for cells in result.cells] == [[name, "ready"] for name in sorted(WEB_INDEXES)]


def test_a_table_without_indexes_says_so(run: Run) -> None:
    store(indexes=[])

    result = run("index", "list")

    assert (result.code, result.out, result.err) == (0, "", "no indexes\n")


def test_an_index_is_added_with_the_entries_of_all_pages(run: Run) -> None:
    store(indexes=["time"])

    added = run("index", "add", "size")

    assert (added.code, added.out) == (0, "index size added, with the entries of 3 pages\n")
    assert [line.split("/")[-1][0] for line in run("largest").lines] == ["2", "1", "0"]


def test_an_index_of_ones_own_is_added_by_its_importable_name(run: Run, own_index: str) -> None:
    store(indexes=[])

    added = run("index", "add", own_index)

    assert added.code == 0
    assert run("index", "list").cells == [["language", "ready", own_index]]
    assert len(run("indexed", "language", "--term", "de").lines) == 2
    assert f"index.language\tready\t{own_index}" in run("info").lines


@pytest.fixture
def stranger(empty_directory: Path) -> str:
    """The importable name of an index in the current directory that a store names, which leaves a mark if imported."""
    name = f"stranger_{empty_directory.name}".replace("-", "_")
    (empty_directory / f"{name}.py").write_text(f"open('imported', 'w').close()\n{DEFINITION}")
    with webtable.open(store()) as table:
        table.store.create_table(index_table("pages", "language"))
        table._context.indexes.set("language", IndexState(of=f"{name}:language"))
    return f"{name}:language"


def in_a_process(*args: str) -> Result:
    # As an installed command, which does not have the current directory among those of its modules.
    program = "import sys; sys.path.remove(''); from webtable.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=120)
    return Result(done.returncode, done.stdout.encode(), done.stderr)


@pytest.mark.parametrize(
    "command",
    [
        ["index", "verify", "language"],
        ["index", "rebuild", "language"],
        ["indexed", "language", "--term", "de"],
        ["ingest", "pages.jsonl"],
        ["index", "verify", "--all"],
    ],
)
def test_a_store_cannot_have_a_module_imported(stranger: str, command: list[str]) -> None:
    lines_of_json(LINKING)

    refused = in_a_process(*command)

    assert refused.code in (1, 3)
    assert f"--index {stranger}" in refused.err
    assert "WEBTABLE_INDEXES" in refused.err
    assert not Path("imported").exists()


@pytest.mark.slow
def test_a_store_that_names_a_module_is_read_without_it(stranger: str) -> None:
    assert len(in_a_process("pages", "example.com").lines) == 3
    assert ["language", "ready", stranger] in in_a_process("index", "list").cells
    assert in_a_process("delete", "https://example.com/1", "--yes").code == 0

    assert not Path("imported").exists()


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_all_goes_on_behind_an_index_that_was_not_named_and_names_it_at_the_end(stranger: str, command: str) -> None:
    result = in_a_process("index", command, "--all")

    assert (result.code, [cells[0] for cells in result.cells]) == (3, sorted(WEB_INDEXES))
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("webtable: ")
    assert f"--index {stranger}" in result.err


def test_all_names_each_index_that_it_could_not_compare(stranger: str) -> None:
    with webtable.open("webtable.db") as table:
        table.store.create_table(index_table("pages", "another"))
        table._context.indexes.set("another", IndexState(of=stranger))

    result = in_a_process("index", "verify", "--all")

    assert (result.code, len(result.lines)) == (3, len(WEB_INDEXES))
    assert [re.search("has the index '([a-z]+)'", line)[1] for line in result.err.splitlines()] == [
        "another",
        "language",
    ]


@pytest.mark.slow
def test_an_index_of_the_current_directory_is_imported_where_the_command_names_it(stranger: str) -> None:
    rebuilt = in_a_process("--index", stranger, "index", "rebuild", "language")

    assert (rebuilt.code, rebuilt.err) == (0, "")
    assert len(in_a_process("--index", stranger, "indexed", "language", "--term", "de").lines) == 2
    assert in_a_process("--index", stranger, "index", "verify", "--all").code == 0


def test_an_index_that_is_named_and_is_none_is_wrong_usage(run: Run) -> None:
    store()

    result = run("--index", "nowhere:index", "index", "list")

    assert result.code == 2
    assert "nowhere:index" in result.err


def test_an_index_is_dropped(run: Run) -> None:
    store(indexes=["time", "size"])

    dropped = run("index", "drop", "size", "--yes")

    assert (dropped.code, dropped.out) == (0, "index size dropped\n")
    assert run("index", "list").cells == [["time", "ready", ""]]


def test_an_index_is_rebuilt(run: Run) -> None:
    store()

    rebuilt = run("index", "rebuild", "time")

    assert (rebuilt.code, rebuilt.out) == (0, "index time rebuilt, with the entries of 3 pages\n")


def test_an_index_that_is_not_complete_is_listed_and_goes_on_with_rebuild(run: Run) -> None:
    with webtable.open(store()) as table:
        table._context.indexes.set("time", IndexState("building"))

    assert ["time", "building", ""] in run("index", "list").cells
    assert run("fetched").code == 3
    assert "webtable index rebuild time" in run("fetched").err
    assert run("index", "rebuild", "time").code == 0
    assert len(run("fetched").lines) == 3


def test_an_interrupt_while_an_index_is_added_tells_how_to_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    store(indexes=[])
    monkeypatch.setattr(Maintenance, "rebuild", interrupted)

    result = run("index", "add", "size")

    assert result.code == 130
    assert result.err.splitlines() == ["to go on: webtable index rebuild size", "webtable: interrupted"]


def test_the_command_that_an_error_names_works_as_it_is_printed(run: Run) -> None:
    store("a crawl.db", indexes=[])

    refused = run("-s", "a crawl.db", "errors")
    command = shlex.split(refused.err.partition("add it with ")[2])

    assert refused.code == 3
    assert command == ["webtable", "-s", "a crawl.db", "index", "add", "status"]
    assert run(*command[1:]).code == 0
    assert run("-s", "a crawl.db", "errors").code == 0


@pytest.mark.parametrize(
    ("arguments", "indexes"),
    [
        (["fetched"], "time"),
        (["modified"], "time"),
        (["outdated", "--not-fetched-since", "1d"], "time"),
        (["largest"], "size"),
        (["with-status", "404"], "status"),
        (["errors"], "status"),
        (["redirects"], "status"),
        (["redirects", "--to", "https://example.com/"], "url"),
        (["by-id", "0" * 16], "url"),
        (["duplicates", "https://example.com/1"], "digest"),
        (["most-linked"], "link"),
        (["orphans", "all"], "link"),
        (["dead-ends"], "link"),
        (["linking-to", "https://example.com/1"], "link"),
        (["broken-links"], "link,status"),
        (["hosts"], "host"),
    ],
)
def test_a_question_without_its_index_names_the_commands_that_add_it(
    run: Run, arguments: list[str], indexes: str
) -> None:
    store(indexes=[])

    for index in indexes.split(","):
        result = run(*arguments)
        assert (result.code, result.out) == (3, "")
        assert len(result.err.splitlines()) == 1
        assert f"webtable index add {index}" in result.err
        assert run("index", "add", index).code == 0
    assert run(*arguments).code in (0, 1)
    assert "index add" not in run(*arguments).err


# index verify, repair


def spoil(path: str = "webtable.db") -> None:
    """Store a page that has no entries in the time index."""
    with webtable.open(path) as table:
        table._context.indexes.set("time", IndexState("dropped"))
        table.put(page(3))
        table._context.indexes.set("time", IndexState())


def test_verify_of_indexes_that_hold_is_exit_code_0(run: Run) -> None:
    store()

    result = run("index", "verify", "--all", "--format", "csv")

    assert (result.code, result.err) == (0, "")
    assert result.lines[0] == "index,pages,entries,missing,stale,pending,inconsistent"
    assert [line.split(",")[0] for line in result.lines[1:]] == sorted(WEB_INDEXES)
    assert all(line.endswith(",0,0,0") for line in result.lines[1:])


def test_verify_of_drift_is_exit_code_1_and_shows_examples(run: Run) -> None:
    store()
    spoil()

    result = run("index", "verify", "time")

    assert result.code == 1
    assert result.cells == [["time", "4", "6", "2", "0", "0", "0"]]
    assert result.err.startswith("time: missing: ")


def test_repair_changes_nothing_in_a_dry_run(run: Run) -> None:
    store()
    spoil()

    dry = run("index", "repair", "time", "--dry-run")
    applied = run("index", "repair", "time")
    again = run("index", "repair", "--all")

    assert (dry.code, dry.cells[0][-1]) == (1, "0")
    assert dry.err.splitlines()[-1] == "nothing was changed; to repair it: webtable index repair time"
    assert (applied.code, applied.cells[0][3:]) == (0, ["2", "0", "0", "0", "2"])
    assert (again.code, again.err) == (0, "")


def test_all_leaves_out_an_index_that_is_not_complete_and_says_so(run: Run) -> None:
    with webtable.open(store(indexes=["time", "size"])) as table:
        table._context.indexes.set("size", IndexState("building"))

    result = run("index", "verify", "--all")

    assert (result.code, [cells[0] for cells in result.cells]) == (0, ["time"])
    assert result.err == "left out: the index size is building\n"


def test_drift_on_a_terminal_is_a_table(run: Run, on_terminal: None) -> None:
    store()

    result = run("index", "verify", "--all")

    assert "missing" in result.lines[1]
    assert max(map(len, result.lines)) <= 100


BAD_INPUT = {
    "no such index to add": (2, ["index", "add", "colour"], "colour"),
    "an index that cannot be imported": (2, ["index", "add", "no_such_module:index"], "no_such_module"),
    "what is no index": (2, ["index", "add", "json:dumps"], "json:dumps"),
    "an index that is there": (2, ["index", "add", "time"], "time"),
    "no such index to drop": (2, ["index", "drop", "colour", "--yes"], "colour"),
    "no such index to rebuild": (2, ["index", "rebuild", "colour"], "colour"),
    "no such index to verify": (2, ["index", "verify", "colour"], "colour"),
    "nothing to verify": (2, ["index", "verify"], "--all"),
    "an index and all": (2, ["index", "repair", "time", "--all"], "--all"),
    "no such command": (2, ["index", "colour"], "colour"),
    "other indexes than there are": (3, ["create", "--indexes", "time"], "indexes"),
    "other indexes, ingesting": (3, ["ingest", "pages.jsonl", "--indexes", "none"], "indexes"),
    "an index to create that there is not": (2, ["-s", "new.db", "create", "--indexes", "time,colour"], "colour"),
    "an index of one's own that is none": (2, ["-s", "new.db", "create", "--indexes", "json:no"], "json:no"),
    "links of no store": (3, ["-s", "new.db", "links", "refresh"], "new.db"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_changes_nothing(run: Run, case: str) -> None:
    code, arguments, named = BAD_INPUT[case]
    store()
    lines_of_json(LINKING)
    before = run("index", "list").out

    result = run(*arguments)

    assert (result.code, result.out) == (code, ""), result.err
    assert len(result.err.splitlines()) == 1, result.err
    assert result.err.startswith("webtable: ")
    assert named in result.err
    assert run("index", "list").out == before
    assert not Path("new.db").exists()


# create, info, ingest


@pytest.mark.parametrize(
    ("option", "names"),
    [("all", tuple(WEB_INDEXES)), ("none", ()), ("time, status", ("time", "status")), (None, tuple(WEB_INDEXES))],
)
def test_create_makes_the_indexes_that_are_named(run: Run, option: str | None, names: tuple[str, ...]) -> None:
    given = [] if option is None else ["--indexes", option]

    created = run("create", *given)

    assert created.code == 0
    assert [cells[0] for cells in run("index", "list").cells] == sorted(names)
    assert run("create", *given).code == 0


def test_ingest_makes_a_store_with_the_indexes_that_are_named(run: Run, own_index: str) -> None:
    ingested = run("ingest", lines_of_json(LINKING), "--indexes", f"time,{own_index}")

    assert ingested.code == 0
    assert [cells[0] for cells in run("index", "list").cells] == ["language", "time"]


def test_info_shows_the_indexes_and_their_phase(run: Run) -> None:
    store(indexes=["time"])

    assert "index.time\tready" in run("info").lines


def test_info_on_a_terminal_shows_the_indexes(run: Run, on_terminal: None) -> None:
    store(indexes=["time"])

    lines = [line.split() for line in run("info").lines]

    assert ["index.time", "ready"] in lines


def test_ingest_counts_links_at_its_end(run: Run) -> None:
    result = run("ingest", lines_of_json(LINKING, {"url": "https://example.com/a", "body": "<p>"}))

    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("; links to 2 pages counted\n")
    assert run("most-linked", "--columns", "url,inlinks").lines == ["https://example.com/a\t1"]
    assert run("links", "status").lines == ["waiting\t0"]


def test_ingest_leaves_the_counting_out_when_told_so(run: Run) -> None:
    result = run("ingest", "--no-refresh", lines_of_json(LINKING))

    assert result.code == 0
    assert "counted" not in result.out
    assert run("links", "status").cells[0] == ["waiting", "1"]


def test_ingest_into_a_table_without_indexes_counts_nothing(run: Run) -> None:
    result = run("ingest", "--indexes", "none", lines_of_json(LINKING))

    assert result.code == 0
    assert "counted" not in result.out


def test_pages_whose_links_could_not_be_counted_are_stored(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise StoreUnavailable("the gateway is down")

    monkeypatch.setattr(TableLinks, "refresh", gone)

    result = run("ingest", "--wait", "1s", lines_of_json(LINKING))

    assert result.code == 3
    assert result.out.startswith("1 page stored")
    waiting, ended = result.err.splitlines()
    assert waiting == "waiting up to 1 s for the store: the gateway is down"
    assert ended == "webtable: the links were not counted: the gateway is down"


def test_ctrl_c_while_links_are_counted_ends_that_and_tells_what_is_stored(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refresh(_: TableLinks, *, on_progress: Callable[[int], None]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        on_progress(500)
        raise AssertionError("it went on")

    monkeypatch.setattr(TableLinks, "refresh", refresh)

    result = run("ingest", lines_of_json(LINKING))

    assert result.code == 130
    assert result.out.startswith("1 page stored")
    assert re.fullmatch(
        r"webtable: interrupted after record 1 of .+: what was read is stored; the same command .+ with --resume .+\n",
        result.err,
    )

"""`webtable copy`: a table into another one, ended, gone on with, and compared."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from manual_clock import ManualClock
from webtable import Page
from webtable.errors import StoreError, StoreUnavailable
from webtable.repository.table.groups import TableMaintenance
from webtable.rowkey import CompositeKey, UInt
from webtable.store import Mutation
from webtable.store.sqlite import SQLiteStore

pytestmark = pytest.mark.slow

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
COUNT = 1_000


@pytest.fixture(scope="module")
def made_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "s.db"
    with webtable.open(path, create=True) as table, table.writer() as writer:
        for number in range(COUNT):
            for age in (2, 1):
                body = b"%d days ago" % age
                url = f"https://copy.example/{number}"
                writer.put(Page(url=url, body=body, fetched_at=NOW - timedelta(days=age)))
    return path


@pytest.fixture
def source(made_source: Path) -> str:
    shutil.copy(made_source, "s.db")
    return "s.db"


@contextmanager
def copying(*options: str) -> Iterator[subprocess.Popen[bytes]]:
    """`webtable copy s.db t.db` in a process of its own, which has stored some pages already."""
    command = [sys.executable, "-m", "webtable.cli", "copy", "s.db", "t.db", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        try:
            yield process
        finally:
            process.kill()


def stored() -> int:
    if not Path("t.db").exists():
        return 0
    try:
        with webtable.open("t.db") as table:
            return sum(1 for _ in table.pages(webtable.ALL, order="storage"))
    except webtable.WebTableError:
        return 0


def wait_for(count: int) -> None:
    end = time.monotonic() + 60
    while stored() < count:
        assert time.monotonic() < end, "nothing was copied"
        time.sleep(0.02)


def test_a_copy_has_the_layout_that_is_asked_for_and_is_compared(run: Run, source: str) -> None:
    done = run("copy", source, "t.db", "--salt", "none", "--names", "short", "--verify", "full")

    assert done.code == 0, done.err
    assert "1,000 pages with 2,000 versions copied" in done.out
    assert "compared 1,000 pages: all are there" in done.out
    with webtable.open("t.db") as table:
        assert (table.layout.salt, table.layout.names) == ("none", "short")
        assert len(table.history("https://copy.example/7")) == 2


def test_a_copy_that_is_killed_goes_on_where_it_was(run: Run, source: str) -> None:
    with copying("--resume", "--rate", "100") as process:
        wait_for(65)  # a second batch: the journal has the first one by then
        process.kill()
        process.wait()
    assert 0 < stored() < COUNT

    time.sleep(0.1)
    done = run("copy", source, "t.db", "--resume", "--verify", "full")

    assert done.code == 0, done.err
    assert "in 2 passes" in done.out
    assert "all are there" in done.out
    assert stored() == COUNT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_copy_in_good_order(run: Run, source: str, number: signal.Signals) -> None:
    with copying("--rate", "100") as process:
        wait_for(50)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)

    assert process.returncode == 128 + number
    assert b"the same command goes on" in err
    assert b"copied from" in out
    assert run("copy", source, "t.db").code == 0
    assert stored() == COUNT


def test_a_copy_that_follows_has_what_was_written_meanwhile(run: Run, source: str) -> None:
    with copying("--follow") as process:
        wait_for(COUNT)
        with webtable.open(source) as table:
            for number in range(5):
                table.put(Page(url=f"https://copy.example/late/{number}", body=b"x"))
            table.delete("https://copy.example/0")
        wait_for(COUNT + 4)
        with webtable.open(source) as table:
            table.put(Page(url="https://copy.example/last", body=b"x"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert b"1 delete repeated; compared 1,005 pages: all are there" in out
    with webtable.open("t.db") as table:
        assert table.get("https://copy.example/last") is not None
        assert table.get("https://copy.example/0") is None


def test_a_copy_that_is_not_whole_ends_with_1_and_names_the_pages(run: Run, source: str) -> None:
    run("copy", source, "t.db")
    with webtable.open("t.db") as table:
        table.delete("https://copy.example/5")

    done = run("copy", source, "t.db")

    assert done.code == 1
    assert "differs: https://copy.example/5" in done.err
    assert "1 deleted there since" in done.out
    assert "1 missing" in done.out


def test_a_token_of_a_target_that_is_gone_is_forgotten(run: Run, source: str) -> None:
    with copying("--resume", "--rate", "200") as process:
        wait_for(100)
        process.kill()
        process.wait()
    for file in Path().glob("t.db*"):
        if file.suffix != ".copy":
            file.unlink()

    done = run("copy", source, "t.db", "--resume")

    assert done.code == 0, done.err
    assert stored() == COUNT


def test_a_wrong_rate_makes_no_target(run: Run, source: str) -> None:
    done = run("copy", source, "t.db", "--rate", "0")

    assert done.code == 2
    assert not Path("t.db").exists()


def test_a_table_of_other_keys_is_refused(run: Run) -> None:
    key = CompositeKey(UInt("user", 4))
    with webtable.KeyedTable.open("rows.db", key, create=True):
        pass

    done = run("copy", "rows.db", "t.db")

    assert done.code == 3
    assert "KeyedTable" in done.err
    assert not Path("t.db").exists()


def test_a_second_run_waits_for_the_journal_of_the_first(run: Run, source: str) -> None:
    with copying("--resume", "--rate", "100"):
        wait_for(50)

        done = run("copy", source, "t.db", "--resume")

    assert done.code == 2
    assert "another copy uses this journal" in done.err


def test_a_dry_run_says_what_would_be_copied_and_makes_no_target(run: Run, source: str) -> None:
    new = run("copy", source, "t.db", "--salt", "none", "--dry-run")
    assert not Path("t.db").exists()
    run("copy", source, "t.db", "--salt", "none")
    same = run("copy", source, "t.db", "--dry-run")

    assert (new.code, same.code) == (0, 0)
    assert new.out.startswith("1,000 pages with 2,000 versions would be copied from s.db/pages to t.db in ")
    assert same.out.startswith("0 pages with 0 versions would be copied")
    assert "1,000 unchanged" in same.out
    assert run("copy", source, "t.db", "--dry-run", "--resume").code == 2
    assert run("copy", source, "t.db", "--dry-run", "--follow").code == 2


def test_a_copy_waits_for_a_store_that_does_not_answer_and_continues_where_it_was(
    run: Run, source: str, monkeypatch: pytest.MonkeyPatch, manual_clock: ManualClock
) -> None:
    write, calls = SQLiteStore._write, []

    def away(self: SQLiteStore, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        if table == "pages" and self.name.startswith("t.db"):
            calls.append(len(mutations))
            if len(calls) in (2, 3):
                raise StoreUnavailable("t.db: the disk is away")
        return write(self, table, mutations)

    monkeypatch.setattr(SQLiteStore, "_write", away)
    done = run("copy", source, "t.db")

    assert (done.code, done.lines[0].startswith(f"{COUNT:,} pages with {2 * COUNT:,} versions copied")) == (0, True)
    assert done.err.count("waiting up to 600 s for a store: t.db: the disk is away") == 2
    assert manual_clock.passed < 60


def test_a_copy_that_has_waited_in_vain_names_what_goes_on(
    run: Run, source: str, monkeypatch: pytest.MonkeyPatch, manual_clock: ManualClock
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("t.db: the disk is away")

    monkeypatch.setattr(TableMaintenance, "copy", away)
    done = run("copy", source, "t.db", "--wait", "1m")

    assert done.code == 3
    assert "ended early, since a store is gone: t.db: the disk is away; the same command copies the rest" in done.err
    assert 50 < manual_clock.passed <= 60

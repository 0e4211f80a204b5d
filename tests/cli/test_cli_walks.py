"""`verify`, `stats` and `index verify` with --resume: what was found outlives Ctrl-C, and goes when they are done."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.repository import journal
from webtable.repository.maintenance import verify
from webtable.repository.questions import stats
from webtable.repository.upkeep import repair
from webtable.store.sqlite import SQLiteStore

COMMANDS = {
    "verify": ("verify", "all"),
    "stats": ("stats", "all", "--by", "host,day"),
    "verify-time": ("index", "verify", "time"),
    "repair-time": ("index", "repair", "time"),
}


@pytest.fixture
def walk(request, monkeypatch, empty_directory):
    """The name of a walk over a table of ten pages, which keeps what it has found after each row."""
    monkeypatch.setattr(journal, "SAVE_SECONDS", 0)
    monkeypatch.setattr(journal, "SHARE", 0)
    monkeypatch.setattr(repair, "PIECE", 1)
    for module in (stats, verify):
        monkeypatch.setattr(module, "PROGRESS_PAGES", 1)
    with webtable.open("webtable.db", create=True, indexes=["time", "link"]) as table, table.writer() as writer:
        for number in range(10):
            writer.put(webtable.Page(url=f"https://example.com/{number}", body=b"x" * number))
    return request.param


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C comes when a scan has given four rows."""

    def scan(self, table, *given, whole=SQLiteStore._scan, **options):
        pieces = whole(self, table, *given, **options)
        if not table.startswith("pages"):
            yield from pieces
            return
        yield [*islice(chain.from_iterable(pieces), 4)]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "_scan", scan)
        yield patch


@pytest.mark.parametrize("walk", ["verify"], indirect=True)
def test_an_interrupted_verify_says_how_far_it_was(run: Run, walk, interrupted):
    ended = run(*COMMANDS[walk])

    assert ended.code == 130
    assert ended.errors[-1] == (
        "webtable: interrupted: at least 4 pages compared; "
        "only a run that was started with --resume can be continued from where it ended"
    )


@pytest.mark.parametrize("walk", COMMANDS, indirect=True)
def test_what_was_found_is_kept_until_the_walk_is_at_its_end(run: Run, walk, interrupted):
    file = Path(f"webtable.db.{walk}")
    ended = run(*COMMANDS[walk], "--resume")
    assert ended.code == 130
    assert f"the findings are kept in {file}: the same command continues from there" in ended.err
    interrupted.undo()

    done = run(*COMMANDS[walk], "--resume", "--format", "jsonl")

    assert done.code == 0
    assert f"continuing from the findings of an earlier run ({file})" in done.err
    assert not file.exists()
    assert done.out == run(*COMMANDS[walk], "--format", "jsonl").out


@pytest.mark.parametrize("walk", COMMANDS, indirect=True)
def test_without_resume_nothing_is_kept(run: Run, walk, interrupted):
    before = set(Path.cwd().iterdir())

    assert run(*COMMANDS[walk]).code == 130

    assert set(Path.cwd().iterdir()) == before


@pytest.mark.parametrize("walk", ["verify"], indirect=True)
def test_a_file_of_another_question_is_named(run: Run, interrupted, walk):
    run("verify", "all", "--resume")
    interrupted.undo()

    other = run("verify", "example.com", "--resume")

    assert other.code == 2
    assert "webtable.db.verify: this is the journal of another run (verify pages: all pages)" in other.err

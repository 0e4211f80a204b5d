"""`ingest --resume` goes on where an earlier run was ended, however that was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.errors import InvalidArgument
from webtable.formats import Place
from webtable.formats.read import FilePart
from webtable.ingest.engine import IngestJournal
from webtable.store.sqlite import SQLiteStore

URLS = [f"https://h{number % 5}.example/{number}" for number in range(900)]


def written(path: Path, urls: list[str], **fields: object) -> Path:
    lines = [json.dumps({"url": url, "body": f"<title>{url}</title>", **fields}) for url in urls]
    path.write_text("\n".join(lines) + "\n")
    return path


def stored() -> list[str]:
    with webtable.open("webtable.db") as table:
        return sorted(page.url for page in table.pages(webtable.ALL))


def test_files_that_are_stored_are_not_read_again(run: Run):
    written(Path("one.jsonl"), URLS[:100])
    written(Path("two.jsonl"), URLS[100:200])

    first = run("ingest", "--resume", "one.jsonl")
    second = run("ingest", "--resume", "one.jsonl", "two.jsonl")
    third = run("ingest", "--resume", "one.jsonl", "two.jsonl")

    assert "100 pages stored" in first.out
    assert "100 pages stored" in second.out
    assert "1 file stored before" in second.out
    assert "0 pages stored" in third.out
    assert "2 files stored before" in third.out
    assert stored() == sorted(URLS[:200])


def test_a_run_for_a_table_that_is_not_there_leaves_no_journal(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SQLiteStore, "capabilities", replace(SQLiteStore.capabilities, is_created_on_ingest=False))
    written(Path("one.jsonl"), URLS[:10])

    done = run("ingest", "--resume", "one.jsonl")

    assert done.code == 3
    assert [path.name for path in Path().iterdir()] == ["one.jsonl"]


def test_a_file_that_has_changed_is_read_anew(run: Run):
    written(Path("one.jsonl"), URLS[:100])
    run("ingest", "--resume", "one.jsonl")
    written(Path("one.jsonl"), URLS[:150])

    assert "150 pages stored" in run("ingest", "--resume", "one.jsonl").out


def test_other_options_that_decide_what_is_stored_read_it_anew(run: Run):
    written(Path("one.jsonl"), URLS[:20], content_type="text/css")

    assert "0 pages stored" in run("ingest", "--resume", "one.jsonl").out
    assert "20 pages stored" in run("ingest", "--resume", "one.jsonl", "--types", "text/css").out


def test_a_store_that_was_made_anew_gets_everything(run: Run):
    written(Path("one.jsonl"), URLS[:50])
    run("ingest", "--resume", "one.jsonl")
    for file in Path().glob("webtable.db*"):
        if file.suffix != ".ingest":
            file.unlink()

    assert "50 pages stored" in run("ingest", "--resume", "one.jsonl").out
    assert stored() == sorted(URLS[:50])


def test_standard_input_cannot_be_resumed(run: Run):
    done = run("ingest", "--resume", "-", stdin="")

    assert done.code == 2
    assert "--resume needs files" in done.err


def test_two_runs_do_not_share_a_journal(run: Run):
    written(Path("one.jsonl"), URLS[:5])
    run("ingest", "--resume", "one.jsonl")

    with IngestJournal(Path("webtable.db.ingest"), ""):
        done = run("ingest", "--resume", "one.jsonl")

    assert done.code == 2
    assert "another ingest uses this journal" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_killed_goes_on_with_the_last_batch_and_misses_nothing(run: Run, kind):
    del run  # it has made the folder
    written(Path("crawl.jsonl"), URLS)
    command = [sys.executable, "-m", "webtable.cli", "ingest", "--resume", "--batch", "50", "crawl.jsonl"]
    read = 0
    for _ in range(3):
        before = position()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as running:
            while running.poll() is None and position() < before + 200:
                time.sleep(0.005)
            running.send_signal(kind)
        read = max(read, position())
        assert position() >= before

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    pages = int(done.stdout.split()[0].replace(",", ""))
    # Two batches may have been on their way, and what is stored is noted every 100 pages.
    assert len(URLS) - read <= pages <= len(URLS) - read + 3 * 50 + 100
    assert stored() == sorted(URLS)


def position() -> int:
    """How many records the journal tells of."""
    journal = Path("webtable.db.ingest")
    if not journal.exists():
        return 0
    written = journal.read_bytes()
    return max(part.get("records", 0) for part in json.loads(written)["found"]["parts"]) if written else 0


class TestTheJournal:
    @pytest.fixture
    def part(self, tmp_path) -> FilePart:
        path = tmp_path / "crawl.jsonl"
        path.write_text("x")
        return FilePart(str(path))

    def test_a_part_goes_on_where_it_was_stored_up_to(self, tmp_path, part):
        with IngestJournal(tmp_path / "journal", "") as journal:
            assert journal.begin(part) == (Place(), 0)
            journal.note(part, Place(10, 1), 1, is_done=False)

        with IngestJournal(tmp_path / "journal", "") as journal:
            assert journal.begin(part) == (Place(10, 1), 1)
            assert journal.has_begun(part)
        with IngestJournal(tmp_path / "journal", "other options") as journal:
            assert journal.begin(part) == (Place(), 0)

    def test_a_part_that_is_done_is_not_read_again(self, tmp_path, part):
        with IngestJournal(tmp_path / "journal", "") as journal:
            journal.begin(part)
            journal.note(part, Place(10, 1), 1, is_done=True)

        with IngestJournal(tmp_path / "journal", "") as journal:
            assert journal.begin(part) is None

    def test_a_file_that_is_named_twice_is_read_twice_in_one_run(self, tmp_path, part):
        with IngestJournal(tmp_path / "journal", "") as journal:
            journal.begin(part)
            journal.note(part, Place(10, 1), 1, is_done=True)

            assert journal.begin(part) == (Place(), 0)

    def test_it_is_held_also_when_it_was_written_again(self, tmp_path, part):
        with IngestJournal(tmp_path / "journal", "") as journal:
            journal.begin(part)
            for records in range(3):
                journal.note(part, Place(10, 1), records, is_done=False)
                with pytest.raises(InvalidArgument, match="another ingest uses this journal"):
                    IngestJournal(tmp_path / "journal", "")
                time.sleep(0.02)  # until it is due to be kept again

    @pytest.mark.parametrize("content", [b'{"file":"/x","si', b"\x00" * 50, b'{"file":1}\n', b"\xff\n"])
    def test_a_file_of_anything_else_is_refused_and_stays(self, tmp_path, content):
        file = tmp_path / "journal"
        file.write_bytes(content)

        with pytest.raises(InvalidArgument, match=r"not a valid journal: .*; remove it to start"):
            IngestJournal(file, "")

        assert file.read_bytes() == content

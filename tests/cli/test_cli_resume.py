"""`ingest --resume` goes on where an earlier run was ended, however that was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.cli.journal import Journal
from webtable.formats import Place

URLS = [f"https://h{number % 5}.example/{number}" for number in range(1_200)]


def written(path: Path, urls: list[str], **fields: object) -> Path:
    lines = [json.dumps({"url": url, "html": f"<title>{url}</title>", **fields}) for url in urls]
    path.write_text("\n".join(lines) + "\n")
    return path


def stored() -> list[str]:
    with webtable.open("webtable.db") as table:
        return sorted(page.url for page in table.pages(full_scan=True))


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

    with Journal(Path("webtable.db.ingest"), ""):
        done = run("ingest", "--resume", "one.jsonl")

    assert done.code == 2
    assert "another ingest uses this journal" in done.err


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_killed_goes_on_with_the_last_batch_and_misses_nothing(run: Run, kind):
    del run  # it has made the folder
    written(Path("crawl.jsonl"), URLS)
    command = [sys.executable, "-m", "webtable.cli", "ingest", "--resume", "--batch", "50", "crawl.jsonl"]
    read = 0
    for _ in range(4):
        before = position()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as running:
            while running.poll() is None and position() < before + 200:
                time.sleep(0.005)
            running.send_signal(kind)
        read = max(read, position())
        assert position() >= before

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    pages = int(done.stdout.split()[0].replace(",", ""))
    # Two batches may have been on their way, and a line is added every 100 pages.
    assert len(URLS) - read <= pages <= len(URLS) - read + 3 * 50 + 100
    assert stored() == sorted(URLS)


def position() -> int:
    """How many records the journal tells of."""
    journal = Path("webtable.db.ingest")
    if not journal.exists():
        return 0
    lines = [json.loads(line) for line in journal.read_text().splitlines(keepends=True) if line.endswith("}\n")]
    return max((line.get("records", 0) for line in lines), default=0)


class TestTheJournal:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "crawl.jsonl"
        path.write_text("x")
        return str(path)

    def test_nothing_is_passed_that_is_not_settled(self, tmp_path, file):
        with Journal(tmp_path / "journal", "") as journal:
            journal.begin(file)
            for number in range(1, 4):
                journal.take(f"https://example.com/{number}", Place(number * 10, 1), number)
            journal.settle("https://example.com/1")
            journal.settle("https://example.com/3")

        with Journal(tmp_path / "journal", "") as journal:
            assert journal.begin(file) == (Place(10, 1), 1)

    def test_a_url_that_comes_twice_is_settled_twice(self, tmp_path, file):
        with Journal(tmp_path / "journal", "") as journal:
            journal.begin(file)
            for number in range(1, 4):
                journal.take("https://example.com/", Place(number * 10, 1), number)
            journal.settle("https://example.com/")
            journal.settle("https://example.com/")
            journal.end()

        with Journal(tmp_path / "journal", "") as journal:
            assert journal.begin(file) == (Place(20, 1), 2)

    def test_a_file_is_done_once_its_last_page_is_settled(self, tmp_path, file):
        with Journal(tmp_path / "journal", "") as journal:
            journal.begin(file)
            journal.take("https://example.com/", Place(10, 1), 1)
            journal.end()
            journal.settle("https://example.com/")

        with Journal(tmp_path / "journal", "") as journal:
            assert journal.begin(file) is None

    @pytest.mark.parametrize("left", [b"", b'{"file":"/x","si', b"\x00" * 50, b'{"file":1}\n', b"\xff\n"])
    def test_what_a_kill_has_left_of_a_line_is_none(self, tmp_path, file, left):
        with Journal(tmp_path / "journal", "") as journal:
            journal.begin(file)
            journal.take("https://example.com/", Place(10, 1), 1)
            journal.settle("https://example.com/")
        with (tmp_path / "journal").open("ab") as damaged:
            damaged.write(left)

        with Journal(tmp_path / "journal", "") as journal:
            assert journal.begin(file) == (Place(10, 1), 1)
            journal.end()
        with Journal(tmp_path / "journal", "") as journal:
            assert journal.begin(file) is None

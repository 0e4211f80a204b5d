"""`table.ingest()`: files become pages, by one process or several, and the report says what became of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import webtable
from child_processes import workers_of
from webtable import Page, WebTable, aio
from webtable.errors import InvalidArgument, StoreFull, StoreUnavailable
from webtable.formats import ReadLimits
from webtable.ingest import IngestInterrupted
from webtable.testing import ListeningStore

DATE = "2026-01-01T00:00:00Z"


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        yield table


def written(path: Path, numbers: range, *lines: str, **fields: object) -> Path:
    pages = [
        {"url": f"https://h{number % 3}.example/{number}", "fetched_at": DATE, "body": f"<title>{number}</title>"}
        for number in numbers
    ]
    path.write_text("".join(f"{line}\n" for line in [*(json.dumps(page | fields) for page in pages), *lines]))
    return path


def urls(table: WebTable) -> list[str]:
    return sorted(page.url for page in table.pages(webtable.ALL))


def expected(numbers: range) -> list[str]:
    return sorted(f"https://h{number % 3}.example/{number}" for number in numbers)


class TestTheFiles:
    def test_are_paths_directories_and_patterns(self, table, tmp_path):
        folder = tmp_path / "crawls" / "deep"
        folder.mkdir(parents=True)
        written(tmp_path / "one.jsonl", range(3))
        written(tmp_path / "crawls" / "two.jsonl", range(3, 5))
        written(folder / "three.jsonl", range(5, 9))
        (tmp_path / "crawls" / "notes.txt").write_text("no crawl")

        one = table.ingest(tmp_path / "one.jsonl")
        rest = table.ingest([str(tmp_path / "crawls"), str(tmp_path / "crawls" / "*" / "*.jsonl")])

        assert (one.stored, one.files) == (3, 1)
        assert (rest.stored, rest.files) == (6, 2)
        assert urls(table) == expected(range(9))

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ("missing.jsonl", "no such file"),
            ("none/*.jsonl", "no file matches it"),
            ("s3://bucket/crawl.warc.gz", "ingest reads files and fetches nothing"),
            ("crawl.warc.wat.gz", "a WAT file"),
        ],
    )
    def test_that_are_none_are_refused(self, table, tmp_path, monkeypatch, files, message):
        monkeypatch.chdir(tmp_path)
        Path("crawl.warc.wat.gz").write_bytes(b"x")

        with pytest.raises(InvalidArgument, match=message):
            table.ingest(files)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers=0 must be at least 1"),
        ({"batch": 0}, "batch=0 must be at least 1 page"),
        ({"types": "text/html"}, "types='text/html' is one string"),
        ({"methods": "GET"}, "methods='GET' is one string"),
        ({"wait": -1.0}, r"wait=-1\.0 must be above 0"),
        ({"resume": "journal", "dry_run": True}, "resume= and dry_run=True exclude each other"),
    ],
)
def test_arguments_that_cannot_be_are_refused_before_anything_is_read(table, tmp_path, arguments, message):
    file = written(tmp_path / "one.jsonl", range(3))

    with pytest.raises(InvalidArgument, match=message):
        table.ingest(file, **arguments)

    assert urls(table) == []


@pytest.mark.parametrize("workers", [1, 3])
class TestTheReport:
    @pytest.mark.slow
    def test_says_what_became_of_the_records(self, table, tmp_path, workers):
        files = [
            written(tmp_path / "one.jsonl", range(700), "no json"),
            written(tmp_path / "two.jsonl", range(700, 710), content_type="image/png"),
            written(tmp_path / "three.jsonl", range(3), fetched_at="2999-01-01T00:00:00Z"),
            tmp_path / "empty.jsonl",
        ]
        files[-1].touch()
        progress: list[int] = []

        report = table.ingest(files, workers=workers, on_progress=progress.append)

        assert (report.stored, report.unchanged, report.files, report.is_sound) == (700, 0, 4, False)
        assert (report.read.damaged_count, report.read.left_out) == (1, {"image/png": 10})
        assert report.refused.counts == {"FutureCapture": 3}
        assert report.damaged_files == [f"{files[-1]}: it is empty"]
        assert progress == sorted(progress)
        assert progress[-1] == 700
        assert report.seconds > 0
        assert "700 pages stored from 4 files in " in repr(report)
        assert "10 left out (image/png 10)" in repr(report)
        assert urls(table) == expected(range(700))

    def test_can_be_written_as_json(self, table, tmp_path, workers):
        written(tmp_path / "one.jsonl", range(5), "no json")
        written(tmp_path / "two.jsonl", range(3), fetched_at="2999-01-01T00:00:00Z")

        report = json.loads(json.dumps(table.ingest(tmp_path, workers=workers).to_dict()))

        assert (report["stored"], report["read"]["damaged_count"], report["lost"]) == (5, 1, None)
        assert report["read"]["damaged"][0].startswith(f"{tmp_path / 'one.jsonl'}, line 6: ")
        assert report["refused"]["counts"] == {"FutureCapture": 3}
        assert "2999" in report["refused"]["first"]["FutureCapture"][0]

    def test_of_a_dry_run_is_the_same_and_nothing_is_stored(self, table, tmp_path, workers):
        written(tmp_path / "one.jsonl", range(50), "no json")

        dry = table.ingest(tmp_path / "one.jsonl", workers=workers, dry_run=True)

        assert urls(table) == []
        real = table.ingest(tmp_path / "one.jsonl", workers=workers)
        assert (dry.stored, dry.read.damaged_count, dry.is_dry_run) == (real.stored, 1, True)

    def test_counts_links_at_the_end_unless_told_otherwise(self, table, tmp_path, workers):
        written(tmp_path / "one.jsonl", range(4), body="<a href=https://b.example/>b</a>")

        without = table.ingest(tmp_path / "one.jsonl", workers=workers, refresh=False)
        before = table.links.freshness().waiting
        with_links = table.ingest(tmp_path / "one.jsonl", workers=workers)

        assert (without.recount, before > 0) == (None, True)
        assert with_links.recount.pages >= 1
        assert table.links.freshness().waiting == 0

    def test_names_what_was_over_a_limit(self, table, tmp_path, workers):
        file = written(tmp_path / "one.jsonl", range(1), body="x" * 5_000)

        report = table.ingest(file, workers=workers, limits=ReadLimits(record=2_000))

        assert (report.stored, report.read.skipped) == (0, {"record": 1})

    def test_of_a_repeated_call_with_a_journal_says_that_files_were_stored_before(self, table, tmp_path, workers):
        file, journal = written(tmp_path / "one.jsonl", range(30)), tmp_path / "journal"

        first = table.ingest(file, workers=workers, resume=journal)
        second = table.ingest(file, workers=workers, resume=journal)
        other = table.ingest(file, workers=workers, resume=journal, max_body=3)

        assert (first.stored, first.files_stored_before) == (30, 0)
        assert (second.stored, second.files_stored_before, second.read.records) == (0, 1, 0)
        assert other.read.records == 30


def test_a_journal_of_a_table_that_was_made_anew_counts_for_nothing(tmp_path):
    file = written(tmp_path / "one.jsonl", range(30))
    for name in ("old.db", "new.db"):
        with webtable.open(tmp_path / name, create=True) as table:
            assert table.ingest(file, resume=tmp_path / "journal").stored == 30


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(table, tmp_path):
    files = [written(tmp_path / f"{part}.jsonl", range(part * 800, part * 800 + 800)) for part in range(3)]
    killed: list[int] = []

    def kill(pages: int) -> None:
        if not killed and (workers := workers_of()):
            killed.append(workers[0].pid)
            workers[0].kill()

    report = table.ingest(files, workers=2, batch=50, on_progress=kill)

    assert killed
    assert set(report.worker_deaths) <= {"it was ended by SIGKILL"}
    assert urls(table) == expected(range(2_400))
    assert workers_of() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stores_what_was_read_and_its_error_has_the_report(table, tmp_path, workers):
    files = [written(tmp_path / f"{part}.jsonl", range(part * 2_000, part * 2_000 + 2_000)) for part in range(2)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    try:
        with pytest.raises(IngestInterrupted) as caught:
            table.ingest(files, workers=workers, on_progress=lambda _: signal.raise_signal(signal.SIGINT))
        handler = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    report = caught.value.report
    assert isinstance(caught.value, KeyboardInterrupt)
    assert (report.interrupted_by, handler) == (signal.SIGINT, signal.default_int_handler)
    assert 0 < report.stored < 4_000
    assert len(urls(table)) == report.stored
    assert "after record" in report.unfinished[0]
    assert workers_of() == []


def test_what_on_progress_raises_ends_it_and_what_was_read_is_stored(table, tmp_path):
    file = written(tmp_path / "one.jsonl", range(400))

    def fail(pages: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        table.ingest(file, on_progress=fail)

    assert urls(table) == expected(range(100))
    with table.writer() as writer:  # nothing holds the table
        writer.put(Page(url="https://example.com/", body=b"x"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", [StoreFull, StoreUnavailable])
def test_a_store_that_is_gone_is_raised_with_the_report(table, tmp_path, workers, kind):
    file = written(tmp_path / "one.jsonl", range(900))
    writes = 0

    def fail(call):
        nonlocal writes
        if call.name == "write" and call.table == table.table:
            writes += 1
            if writes > 2:
                raise kind("the disk is gone")

    away = WebTable(ListeningStore(table.store, fail), table.table, table.layout)
    with pytest.raises(kind, match="the disk is gone") as caught:
        away.ingest(file, workers=workers, batch=100, wait=0.5)

    report = caught.value.report
    assert report.lost is caught.value
    assert 0 < report.stored < 900
    assert len(urls(table)) >= report.stored
    assert workers_of() == []


@pytest.mark.slow
def test_a_script_needs_no_guard_to_use_workers(tmp_path):
    written(tmp_path / "one.jsonl", range(20))
    (tmp_path / "script.py").write_text(
        "import webtable\n"
        "with webtable.open('crawl.db', create=True) as table:\n"
        "    print(table.ingest(['one.jsonl'], workers=2).stored)\n"
    )

    run = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False
    )

    assert (run.stdout, run.stderr) == ("20\n", "")


async def from_asyncio(path: Path, file: Path) -> int:
    async with aio.open(path, create=True) as table:
        return (await table.ingest(file)).stored


def test_it_can_be_awaited(tmp_path):
    import asyncio

    file = written(tmp_path / "one.jsonl", range(20))

    assert asyncio.run(from_asyncio(tmp_path / "crawl.db", file)) == 20


def test_a_table_in_memory_takes_what_workers_read(tmp_path, memory_url):
    file = written(tmp_path / "one.jsonl", range(20))

    with webtable.open(memory_url, create=True) as table:
        assert table.ingest(file, workers=2).stored == 20
        assert urls(table) == expected(range(20))


class TestAFilterOfURLs:
    FILTER = webtable.URLFilter(hosts=["h1.example"], exclude=["/4"])

    @pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
    def test_leaves_pages_out_and_counts_them_by_its_rule(self, table, tmp_path, workers):
        files = [written(tmp_path / f"{number}.jsonl", range(number, number + 5)) for number in (0, 5)]

        report = table.ingest(files, urls=self.FILTER, workers=workers)

        assert urls(table) == ["https://h1.example/1", "https://h1.example/7"]
        assert (report.stored, report.read.pages, report.read.records) == (2, 2, 10)
        assert report.read.other_urls == {"hosts: it is on none of them, and below none": 7, "exclude='/4'": 1}
        assert "8 pages left out by their URLs (hosts: it is on none of them, and below none 7" in report.text()

    def test_another_one_makes_another_load_of_the_same_journal(self, table, tmp_path):
        file, journal = written(tmp_path / "a.jsonl", range(3)), tmp_path / "journal"
        table.ingest(file, urls=self.FILTER, resume=journal)

        assert table.ingest(file, urls=self.FILTER, resume=journal).read.records == 0
        assert table.ingest(file, resume=journal).read.records == 3
        assert urls(table) == expected(range(3))

    def test_is_refused_if_it_is_none(self, table, tmp_path):
        with pytest.raises(InvalidArgument, match=r"urls='/docs' must be a webtable\.URLFilter"):
            table.ingest(written(tmp_path / "a.jsonl", range(3)), urls="/docs")

"""`ingest --workers` does what one process does, also where workers die or the run is ended."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections import Counter
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable import Page, WebTable
from webtable.formats import DamagedRecord, ReadReport
from webtable.formats.read import PART_BYTES
from webtable.ingest.batches import files_in_parts
from webtable.ingest.report import ReportPieces, add_report

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
PAGES = 1_000
DATED_LINE = b'{"url": "https://a.example/", "fetched_at": "2026-01-01T00:00:00Z"}\n'


def record(url: str, body: str, second: int = 0, *, status: str = "200 OK", more: str = "") -> bytes:
    block = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n{body}".encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: {'revisit' if more else 'response'}\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: {NOW + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}\r\n{more}Content-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n", 1)


def written(name: str, *records: bytes) -> str:
    Path(name).write_bytes(b"".join(records))
    return name


def crawl(folder: Path, files: int = 4, links_each: int = 20) -> list[str]:
    """Files that take a second or two to ingest."""
    for file in range(files):
        links = "".join(f"<a href=/{file}/{link}>link {link}</a>" for link in range(links_each))
        pages = range(file, PAGES, files)
        urls = [f"https://h{number % 7}.example.com/{number}" for number in pages]
        data = b"".join(record(url, f"<title>{url}</title>{links}", at) for at, url in enumerate(urls))
        (folder / f"{file}.warc.gz").write_bytes(data)
    return [f"{file}.warc.gz" for file in range(files)]


def pages_of(store: str) -> list[Page]:
    with webtable.open(store) as table:
        return sorted(table.pages(webtable.ALL, columns=["body", "outlinks"]), key=lambda page: page.url)


def count(store: str) -> int:
    with suppress(webtable.WebTableError):  # it may not be there yet
        return len(pages_of(store))
    return 0


def as_of_each_capture(table: WebTable, moments: list[datetime]) -> dict[str, list[tuple[object, ...]]]:
    """What each page was at each of *moments*, whatever captures that took to say."""
    found = {}
    for url in [page.url for page in table.pages(webtable.ALL)]:
        seen = [table.get(url, as_of=moment) for moment in moments]
        found[url] = [(None if page is None else (page.status, page.body, page.title)) for page in seen]
    return found


class TestTheTable:
    @pytest.mark.slow
    def test_is_the_same_as_with_one_worker(self, run: Run, tmp_path: Path):
        files = crawl(tmp_path)

        many = run("-s", "many.db", "ingest", "--workers", "3", *files)
        one = run("-s", "one.db", "ingest", *files)

        assert (many.code, one.code, many.err) == (0, 0, "")
        assert f"{PAGES:,} pages stored in many.db/pages from 4 files" in many.out
        assert many.out.split("; ")[1:] == one.out.split("; ")[1:]
        assert pages_of("many.db") == pages_of("one.db")

    @pytest.mark.slow
    def test_is_the_same_where_files_have_captures_of_the_same_urls(self, run: Run):
        drawn = random.Random(4)
        urls = [f"https://example.com/{number}" for number in range(60)]
        # As many as a table keeps of a page; with more, which older ones are left is a matter of their order.
        captures = [(url, minute) for url in urls for minute in drawn.sample(range(12), 3)]
        drawn.shuffle(captures)
        records = [record(url, f"<title>{minute // 4}</title>{url}", minute * 60) for url, minute in captures]
        files = [written(f"{at}.warc.gz", *records[at::4]) for at in range(4)]

        run("-s", "many.db", "ingest", "--workers", "4", *files)
        run("-s", "one.db", "ingest", *files)

        moments = [NOW + timedelta(minutes=minute) for minute in range(13)]
        with webtable.open("many.db") as many, webtable.open("one.db") as one:
            found = as_of_each_capture(many, moments)
            assert found == as_of_each_capture(one, moments)
            assert {url: found[url][-1][2] for url in urls} == {
                url: str(max(minute for of, minute in captures if of == url) // 4) for url in urls
            }
            drifts = {name: many.indexes.verify(name, settle=0) for name in many.indexes.states()}
        assert {name: str(drift) for name, drift in drifts.items() if not drift.is_empty} == {}

    @pytest.mark.slow
    def test_has_the_content_that_revisits_repeat_wherever_that_was_read(self, run: Run):
        same = "WARC-Refers-To-Target-URI: https://example.com/{}\r\n"
        originals = [record(f"https://example.com/{number}", f"<title>{number}</title>", 1) for number in range(300)]
        repeats = [record(f"https://b.example/{number}", "", 60, more=same.format(number)) for number in range(300)]
        # The small file is read to its end while the worker with the large one is still at its beginning.
        files = [written("a.warc.gz", *originals * 3), written("b.warc.gz", *repeats)]

        done = run("ingest", "--workers", "2", *files)

        assert done.code == 0
        pages = pages_of("webtable.db")
        titles = [[page.title for page in pages if f"//{host}/" in page.url] for host in ("b.example", "example.com")]
        assert titles[0] == titles[1]
        assert len(titles[0]) == 300

    @pytest.mark.slow
    def test_has_all_pages_of_one_large_file(self, run: Run):
        noise = random.Random(1)
        records = [
            record(f"https://example.com/{at}", f"<title>{at}</title>{noise.randbytes(24_000).hex()}", at)
            for at in range(450)
        ]
        file = written("large.warc.gz", *records)
        assert Path(file).stat().st_size > PART_BYTES + (1 << 20)

        done = run("ingest", "--workers", "2", "--resume", file)
        again = run("ingest", "--workers", "2", "--resume", file)

        assert (done.code, done.err) == (0, "")
        assert "450 pages stored in ./webtable.db/pages from 1 file" in done.out
        assert "0 pages stored" in again.out
        assert "1 file stored before" in again.out
        assert count("webtable.db") == 450
        small = written("small.warc.gz", records[0])
        assert "2 files stored before" not in run("ingest", "--workers", "2", "--resume", small).out
        assert "2 files stored before" in run("ingest", "--workers", "2", "--resume", file, small).out
        assert len(json.loads(Path("webtable.db.ingest").read_bytes())["found"]["parts"]) >= 3


class TestWhatCannotBeRead:
    def test_is_told_as_with_one_worker(self, run: Run):
        sound = [record(f"https://example.com/{number}", f"<title>{number}</title>", number) for number in range(50)]
        files = [
            written("growing.warc.gz", *sound[:20], sound[20][:-9]),  # as a crawler leaves it that is still at work
            written("damaged.warc.gz", *sound[20:30], b"\x1f\x8b\x08 no gzip", *sound[30:]),
            written("lines.jsonl", DATED_LINE, b"no json\n"),
            written("empty.warc.gz"),
            written("sound.warc.gz", *sound[40:], record("https://example.com/x", "", 0, status="200 OK\r\nX: y")),
        ]

        many = run("-s", "many.db", "ingest", "--workers", "3", "--types", "all", *files)
        one = run("-s", "one.db", "ingest", "--types", "all", *files)

        assert (many.code, one.code) == (1, 1)
        assert "11 damaged bytes skipped" in one.out
        assert sorted(many.errors) == sorted(one.errors)
        assert many.out.split(" in ")[0] == one.out.split(" in ")[0].replace("one.db", "many.db")
        assert many.out.split("; ")[1:] == one.out.split("; ")[1:]
        assert pages_of("many.db") == pages_of("one.db")

    def test_is_refused_where_only_one_process_can_read_it(self, run: Run):
        os.mkfifo("pipe")

        for stream in ("-", "pipe"):
            done = run("ingest", "--workers", "2", stream, stdin="")
            assert done.code == 2
            assert f"--workers 2 needs files: {stream} can be read by one process only" in done.err
        assert run("ingest", "--workers", "0", written("a.warc.gz")).code == 2

    def test_an_empty_file_alone_leaves_no_store(self, run: Run):
        done = run("ingest", "--workers", "4", written("empty.warc.gz"))

        assert (done.code, done.errors) == (1, ["webtable: empty.warc.gz: it is empty"])
        assert not Path("webtable.db").exists()

    def test_a_store_that_is_away_is_told_once(self, run: Run):
        url, file = "hbase://127.0.0.1:9/pages?timeout=1", written("a.warc.gz", record("https://example.com/", "x"))

        done = run("-s", url, "ingest", "--workers", "2", "--wait", "0.01s", file)

        assert done.code == 3
        assert len(done.errors) == 1
        assert "127.0.0.1:9" in done.err


@pytest.mark.parametrize(
    ("megabytes", "workers", "in_parts"),
    [
        ([100], 2, [100]),
        ([7], 2, []),
        ([100, 99], 2, []),
        ([100, 90, 80], 2, [100]),
        ([50, 10, 10, 10, 10, 10], 2, []),
        ([50] * 40, 4, []),
        ([50] * 41, 8, [50]),
        ([500, 400, 1], 8, [500, 400]),
    ],
)
def test_as_few_files_are_read_in_parts_as_keep_all_workers_busy(megabytes, workers, in_parts):
    sizes = {str(at): size << 20 for at, size in enumerate(megabytes)}

    assert [sizes[file] >> 20 for file in sorted(files_in_parts(sizes, workers), key=int)] == in_parts


def test_a_report_is_taken_in_pieces_that_add_up():
    report, total = ReadReport(), ReadReport()
    pieces = ReportPieces(report)

    for number in range(1, 4):
        for field in fields(ReadReport):
            value = getattr(report, field.name)
            if isinstance(value, Counter):
                value["image/png"] += number
            elif isinstance(value, int):
                setattr(report, field.name, value + number)
        report.damaged.append(DamagedRecord("a.warc", number, None, "it is no record"))
        add_report(total, pieces.taken())

    assert (total.records, total.left_out) == (6, {"image/png": 6})
    assert total == report


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_dry_run_reports_as_the_real_run_and_stores_nothing(run: Run, workers: str) -> None:
    for name, pages in (("a", 5), ("b", 3)):
        written(f"{name}.warc.gz", *(record(f"https://{name}.example/{number}", "<p>x") for number in range(pages)))
    with Path("b.warc.gz").open("ab") as file:
        file.write(b"this is no record")
    before = set(Path().iterdir())

    dry = run("ingest", "a.warc.gz", "b.warc.gz", "--workers", workers, "--dry-run")
    left = set(Path().iterdir())
    real = run("ingest", "a.warc.gz", "b.warc.gz", "--workers", workers)

    assert left == before
    assert dry.code == real.code == 1
    assert dry.out.startswith("8 pages would be stored in ./webtable.db from 2 files in ")
    assert dry.err == real.err
    assert dry.out.strip().split("; ")[1:] == ["1 damaged file"]
    assert run("ingest", "a.warc.gz", "--dry-run", "--resume").code == 2

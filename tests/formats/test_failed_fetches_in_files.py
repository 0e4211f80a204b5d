"""Failed fetches in files: in WARC files, in exports of any format, and back again."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from warc_folder import write_warc

import webtable
from webtable import Page
from webtable.errors import FormatError, StoreFull
from webtable.formats import (
    ReadReport,
    read_failed,
    read_manifest,
    read_pages,
    verify_export,
    write_captures,
    write_export,
    write_wacz,
)
from webtable.ingest.batches import IngestOptions
from webtable.ingest.engine import Ingest

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def new_table():
    return webtable.open(f"memory:{uuid.uuid4().hex}", create=True)


@pytest.fixture
def table():
    table = new_table()
    table.put(Page(url="https://example.com/", body=b"<title>Home</title>", fetched_at=NOW - 9 * HOUR))
    table.put_failed("https://example.com/", "timeout", at=NOW - 3 * HOUR, detail="no answer\r\nWARC-Type: response")
    table.put_failed("https://example.com/", "timeout", at=NOW)
    table.put_failed("https://example.com/a?b=%C3%BC", "dns", at=NOW)
    table.put_failed("https://other.example/", "tls", at=NOW)
    return table


def read_back(files):
    target = new_table()
    target.ingest([str(file) for file in files])
    return target


@pytest.mark.parametrize("form", ["folder", "wacz", "warc", "warc.gz"])
def test_a_warc_file_brings_pages_and_failures_back(table, tmp_path, form):
    path = tmp_path / f"crawl.{form}"
    if form == "folder":
        write_warc(table, path)
    elif form == "wacz":
        write_wacz(table, path)
    else:
        write_captures(table, path)

    target = read_back(sorted(path.glob("*.warc.gz")) if path.is_dir() else [path])

    assert list(target.failed()) == list(table.failed())
    assert [(page.url, page.title) for page in target.pages()] == [("https://example.com/", "Home")]


def test_readers_of_pages_do_not_meet_failures(table, tmp_path):
    write_captures(table, tmp_path / "crawl.warc")

    report = ReadReport()
    assert [page.url for page in read_pages(tmp_path / "crawl.warc", report=report)] == ["https://example.com/"]
    assert report.left_out["metadata"] == 3
    assert list(read_failed(tmp_path / "crawl.warc")) == list(table.failed())


def test_the_record_of_a_failure_is_one_that_other_programs_read(table, tmp_path):
    from warcio.archiveiterator import ArchiveIterator

    write_captures(table, tmp_path / "crawl.warc.gz")

    with (tmp_path / "crawl.warc.gz").open("rb") as file:
        records = [
            (record.rec_headers["WARC-Target-URI"], record.rec_headers["WARC-Date"], record.content_stream().read())
            for record in ArchiveIterator(file)
            if record.rec_type == "metadata"
        ]
    assert records[0] == (
        "https://example.com/",
        "2026-11-01T12:00:00Z",
        b"fetchFailed: timeout\r\nfetchAttempts: 2\r\n",
    )
    assert [url for url, *_ in records] == [failure.url for failure in table.failed()]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "warc"])
def test_an_export_has_the_failures_of_its_site_in_a_file_of_their_own(table, tmp_path, form):
    write_export(table, tmp_path / "out", "example.com", format=form)

    manifest = read_manifest(tmp_path / "out")
    assert manifest.failed.failures == 2
    assert verify_export(tmp_path / "out").is_sound
    assert verify_export(tmp_path / "out").unlisted == []
    target = read_back(tmp_path / "out" / name for name in manifest.read_names)
    assert list(target.failed()) == list(table.failed("example.com"))


def test_an_export_without_failures_has_no_such_file(tmp_path):
    table = new_table()
    table.put(Page(url="https://example.com/", body=b"A", fetched_at=NOW))

    write_export(table, tmp_path / "out")

    assert (read_manifest(tmp_path / "out").failed, (tmp_path / "out" / "failed.warc.gz").exists()) == (None, False)


def test_a_changed_file_of_failures_is_a_problem_of_the_export(table, tmp_path):
    write_export(table, tmp_path / "out")
    file = tmp_path / "out" / "failed.warc.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"timeout", b"refused")))

    assert [problem.partition(": ")[2] for problem in verify_export(tmp_path / "out").problems] != []
    with pytest.raises(FormatError):
        list(webtable.formats.read_export(tmp_path / "out"))


def test_the_command_import_stores_them(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_export(table, tmp_path / "out")
    run = [sys.executable, "-m", "webtable.cli", "-s", "crawl.db"]

    done = subprocess.run([*run, "import", "out"], capture_output=True, text=True, check=True)
    listed = subprocess.run([*run, "failed", "all", "--format", "jsonl"], capture_output=True, text=True, check=True)

    assert "3 failed fetches" in done.stdout + done.stderr
    assert [json.loads(line)["reason"] for line in listed.stdout.splitlines()] == ["timeout", "dns", "tls"]


def record(told, *, url="https://example.com/", date="2026-11-01T12:00:00Z"):
    head = (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WebTable-Failed: {told}\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    )
    return head.encode()


@pytest.mark.parametrize(
    "damaged",
    [
        record("{}"),
        record("no JSON"),
        record("[" * 100_000),
        record('{"reason": "Two words"}'),
        record('{"reason": 7}'),
        record('{"reason": "dns", "attempts": "many"}'),
        record('{"reason": "dns", "retry_at": "2026-11-01T12:00:00"}'),
        record('{"reason": "dns"}', url="no url"),
        record('{"reason": "dns"}', date="yesterday"),
        record('{"reason": "dns"}', date="2999-01-01T00:00:00Z"),
        record('{"reason": "dns", "url": "https://victim.example/"}', url="mailto:a@b"),
    ],
)
def test_a_damaged_record_of_a_stranger_is_counted_and_the_next_one_read(damaged):
    report = ReadReport()

    failures = list(read_failed(BytesIO(damaged + record('{"reason": "dns"}')), report=report))

    assert [(failure.url, failure.reason) for failure in failures] == [("https://example.com/", "dns")]
    assert (report.damaged_count, report.failed_fetches) == (1, 1)


def test_a_store_without_room_for_failures_ends_the_run_with_its_reason(tmp_path, monkeypatch):
    def full(*_):
        raise StoreFull("the disk is full")

    path = tmp_path / "crawl.warc"
    path.write_bytes(record('{"reason": "dns"}'))
    monkeypatch.setattr("webtable.repository.failed_fetches.FailedFetches.enter", full)

    table = new_table()
    report = Ingest([str(path)], IngestOptions(), lambda _: table).run()

    assert str(report.lost) == "the disk is full"
    assert report.unfinished != []


def test_many_failures_are_read_in_batches(tmp_path):
    table, path = new_table(), tmp_path / "crawl.warc"
    path.write_bytes(b"".join(record('{"reason": "dns"}', url=f"https://example.com/{n:04}") for n in range(1_234)))

    report = table.ingest([str(path)])

    assert (report.read.failed_fetches, len(list(table.failed()))) == (1_234, 1_234)
    assert "1,234 failed fetches" in report.text()

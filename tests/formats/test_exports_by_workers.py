"""Exports by several processes: the pages of one process in the same order, also where a run is interrupted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from test_warc_out import content, new_table, stored

import webtable
from child_processes import workers_of
from nightly import some
from webtable import HostOnly, Page
from webtable.errors import InvalidArgument
from webtable.formats import read_export, verify_export, write_export
from webtable.store import NewCell, Put

pytestmark = pytest.mark.slow

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
FORMATS = ["warc", "parquet", "jsonl"]
HOSTS = 9
PAGES = 180


def captures():
    """Two captures of each page, over several hosts, so that most salts have some."""
    for number in range(PAGES):
        url = f"https://h{number % HOSTS}.example.com/{number:03}"
        for day in range(2):
            body = b"<title>%d</title><p>day %d" % (number, day)
            yield Page(url=url, body=body, fetched_at=START + timedelta(days=day))


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        yield stored(table, captures())


def urls_in(folder):
    return list(dict.fromkeys(page.url for page in read_export(folder)))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("site", some([webtable.ALL, "example.com", HostOnly("h3.example.com")], 2))
def test_workers_write_what_one_process_writes_in_the_order_of_urls(table, tmp_path, form, site):
    progress: list[int] = []

    done = write_export(table, tmp_path / "out", site, format=form, workers=2, on_progress=progress.append)

    assert verify_export(tmp_path / "out").problems == []
    stored_urls = [page.url for page in table.pages(site)]
    assert urls_in(tmp_path / "out") == stored_urls
    assert (done.manifest.pages, done.manifest.captures) == (len(stored_urls), 2 * len(stored_urls))
    assert progress == sorted(progress)
    assert progress[-1] == len(stored_urls)
    if site is webtable.ALL:
        assert content(stored(new_table(), read_export(tmp_path / "out"))) == content(table)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_interrupted_run_goes_on_with_any_number_of_workers(table, tmp_path, workers):
    folder, told = tmp_path / "out", []

    def interrupted(pages: int) -> None:
        told.append(pages)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_export(table, folder, webtable.ALL, workers=2, on_progress=interrupted)
    assert workers_of() == []
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("webtable-*")}

    done = write_export(table, folder, webtable.ALL, workers=workers, resume=True)

    assert verify_export(folder).problems == []
    assert verify_export(folder).unlisted == []
    kept = [
        file.name for file in done.manifest.files if before.get(file.name) == (folder / file.name).stat().st_mtime_ns
    ]
    assert len(kept) >= 3
    assert urls_in(folder) == [page.url for page in table.pages(webtable.ALL)]
    assert (done.manifest.pages, done.manifest.captures) == (PAGES, 2 * PAGES)


def test_a_part_whose_worker_was_killed_is_written_again(table, tmp_path):
    killed: list[int] = []

    def on_progress(pages: int) -> None:
        if not killed:
            workers_of()[0].kill()
            killed.append(pages)

    write_export(table, tmp_path / "out", webtable.ALL, workers=2, on_progress=on_progress)

    assert killed
    assert (verify_export(tmp_path / "out").problems, verify_export(tmp_path / "out").unlisted) == ([], [])
    assert urls_in(tmp_path / "out") == [page.url for page in table.pages(webtable.ALL)]


def test_damaged_rows_of_all_parts_are_counted(table, tmp_path):
    for url in ("https://h1.example.com/001", "https://h8.example.com/179"):
        key, column = table.key.encode(url), table._context.codec.columns.body
        (cell, *_) = table.store.read(table.table, [key])[0].cells[column]
        table.store.write(table.table, [Put(key, [NewCell(column, cell.timestamp, cell.value[:-1] + b"\0\0")])])

    one = write_export(table, tmp_path / "one", webtable.ALL)
    two = write_export(table, tmp_path / "two", webtable.ALL, workers=2)

    assert two.manifest.damaged == one.manifest.damaged == 2
    assert sorted(row.url for row in two.examples) == sorted(row.url for row in one.examples)


def test_what_several_processes_cannot_write_is_refused(table, tmp_path):
    for workers in (0, -1, 1.5):
        with pytest.raises(InvalidArgument, match="workers="):
            write_export(table, tmp_path / "out", webtable.ALL, workers=workers)
    with pytest.raises(InvalidArgument, match="another process"):
        write_export(new_table(), tmp_path / "out", webtable.ALL, workers=2)
    assert not (tmp_path / "out").exists()

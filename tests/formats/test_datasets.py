"""Parquet datasets: files in folders as Hive names them, read by DuckDB as what the table lists."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow.parquet as pq
import pytest

import webtable
from nightly import some
from webtable import Page
from webtable._files import Folder
from webtable.errors import FormatError, FullScanNeeded, InvalidArgument, UnknownColumn
from webtable.formats import write_dataset
from webtable.formats.parquet_dataset import PartitionedFiles, hive_folder, read_dataset_manifest

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
DOCS = Path(__file__).parents[2] / "docs/dataset.md"
VIEW, DELETED = (part.partition("```")[0] for part in DOCS.read_text().split("```sql\n")[1:])
BETWEEN = re.search(r"`(select url from 'before/[^`]+)`", DOCS.read_text())[1]
ODD = [
    "https://example.com/",
    "http://example.com:8080/a%20b?c=%27&d=ü",
    "https://sub.example.com/'quoted'",
    "http://[2001:db8::1]/six",
    "http://192.0.2.7/four",
    "https://bücher.example/",
    "https://a_b.example/",
    f"https://{'.'.join(['x' * 60] * 4)}.example/",
]


def page(url, text="<title>A page</title>", at=START, **more):
    return Page(url=url, body=text.encode(), content_type="text/html", fetched_at=at, **more)


@pytest.fixture
def table():
    with webtable.open(f"memory:{uuid4()}", create=True) as table:
        yield table


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "dataset"


def put(table, *pages):
    with table.writer() as writer:
        writer.put_many(pages)


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest_in(folder):
    with Folder(folder) as opened:
        return read_dataset_manifest(opened)


def read_by_duckdb(folder, columns="*"):
    view = VIEW.replace("'dataset/", f"'{folder}/")
    if "host=*" in view and not list(folder.glob("host=*")):
        view = view.replace("host=*", "month=*")
    with duckdb.connect() as database:
        database.execute(view)
        return database.sql(f"select {columns} from pages order by url").to_arrow_table()


def assert_holds_what_is_listed(folder, table, site=webtable.ALL):
    listed = table.pages(site).to_arrow().read_all().sort_by("url")
    names = ", ".join(listed.column_names)
    assert read_by_duckdb(folder, names).cast(listed.schema).to_pylist() == listed.to_pylist()


def data_files(folder):
    return sorted(path for path in folder.glob("*=*/*") if path.is_file())


@pytest.mark.parametrize("partition_by", ["host", "month"])
def test_a_dataset_has_what_is_listed(table, folder, partition_by):
    put(table, *(page(url, at=START - timedelta(days=40 * number)) for number, url in enumerate(ODD)))

    done = write_dataset(table, folder, webtable.ALL, partition_by=partition_by)

    assert_holds_what_is_listed(folder, table)
    assert done.manifest == manifest_in(folder)
    assert (done.manifest.pages, done.manifest.exports[0].rows) == (8, 8)


def test_folders_are_named_after_hosts_and_months(table, folder):
    put(table, *map(page, ODD))

    write_dataset(table, folder, webtable.ALL, partition_by="host")

    hosts = read_by_duckdb(folder, "url, host").to_pylist()
    assert {row["host"] for row in hosts} == {
        *("example.com", "sub.example.com", "[2001:db8::1]", "192.0.2.7", "xn--bcher-kva.example", "a_b.example", None)
    }
    assert {path.parent.name for path in data_files(folder)} >= {"host=example.com", "host=%5B2001%3Adb8%3A%3A1%5D"}


def test_a_month_is_text_in_utc(table, folder):
    put(table, page("https://example.com/", at=datetime(2025, 11, 30, 23, 30, tzinfo=UTC)))

    write_dataset(table, folder, "example.com", partition_by="month")

    assert read_by_duckdb(folder, "month").to_pylist() == [{"month": "2025-11"}]


def test_the_manifest_names_every_file_with_its_digest_and_rows(table, folder):
    put(table, *map(page, ODD))

    done = write_dataset(table, folder, webtable.ALL, partition_by="host")

    [export] = done.manifest.exports
    listed = [json.loads(line) for line in (folder / export.listing).read_text().splitlines()]
    assert digest_of(folder / export.listing) == export.sha256
    for file in listed:
        path = folder / file["name"]
        assert (path.stat().st_size, digest_of(path)) == (file["bytes"], file["sha256"])
        assert pq.read_metadata(path).num_rows == file["rows"]
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")}
    assert {file["name"] for file in listed} == present
    readable = [file for file in listed if not file["name"].startswith("_state")]
    assert (export.files, export.bytes) == (len(readable), sum(file["bytes"] for file in readable))


def test_what_came_since_is_added_and_what_no_longer_holds_is_left_out(table, folder):
    put(table, *map(page, ODD), page("https://example.com/moved"), page("https://zzz.example/last"))
    write_dataset(table, folder, webtable.ALL, partition_by="host")
    before = data_files(folder)

    put(table, page(ODD[0], "<title>New</title>", START + timedelta(days=1)), page("https://example.com/new"))
    put(table, page("https://late.example/", at=START - timedelta(days=900)))  # no moment of a capture would show it
    table.delete("https://example.com/moved")
    table.delete("https://zzz.example/last")
    done = write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")

    assert_holds_what_is_listed(folder, table)
    assert done.manifest.exports[1].rows == 3
    assert set(before) < set(data_files(folder))


def test_deleted_pages_are_found_as_the_docs_say(table, folder):
    put(table, *map(page, ODD))
    write_dataset(table, folder, webtable.ALL, partition_by="host")
    table.delete(ODD[0])
    write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")
    before = folder.with_name("before")
    shutil.copytree(folder / "_state", before)
    table.delete(ODD[2])
    put(table, page(ODD[3], "<title>New</title>", START + timedelta(days=1)))
    write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")

    with duckdb.connect() as database:
        ever, since = (
            database.sql(query.replace("'dataset/", f"'{folder}/").replace("'before/", f"'{before}/")).fetchall()
            for query in (DELETED, BETWEEN)
        )

    assert ever == sorted([(ODD[0],), (ODD[2],)])
    assert since == [(ODD[2],)]


def test_a_dataset_follows_a_table_through_many_exports(table, folder):
    urls = {f"https://{number % 7}.example.com/{number}" for number in range(60)}
    for run in range(6):
        at = START + timedelta(days=run)
        put(table, *(page(url, f"<title>{run}</title>", at) for url in sorted(urls)[run::3]))
        deleted = sorted(urls)[run::11]
        table.delete_many(deleted)
        urls.difference_update(deleted)  # their captures of earlier dates stay hidden
        write_dataset(table, folder, webtable.ALL, partition_by="month", since="last")

        assert_holds_what_is_listed(folder, table)


def test_a_page_that_comes_back_with_its_old_date_is_there_again(folder, tmp_path):
    with (
        webtable.open(f"memory:{uuid4()}", create=True) as full,
        webtable.open(f"memory:{uuid4()}", create=True) as empty,
    ):
        put(full, page(ODD[0]))
        for one in (full, empty, full):
            write_dataset(one, folder, webtable.ALL, partition_by="host", since="last")

            assert_holds_what_is_listed(folder, one)


def test_nothing_new_adds_no_rows(table, folder):
    put(table, *map(page, ODD))
    write_dataset(table, folder, webtable.ALL, partition_by="host")
    before = data_files(folder)

    done = write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")

    assert (data_files(folder), done.manifest.exports[1].files) == (before, 0)
    assert_holds_what_is_listed(folder, table)


def test_a_site_without_pages_is_an_empty_dataset(table, folder):
    write_dataset(table, folder, "example.com", partition_by="host")

    assert_holds_what_is_listed(folder, table, "example.com")
    assert manifest_in(folder).pages == 0


def test_bodies_come_if_they_are_named_and_are_compared(table, folder):
    put(table, page(ODD[0], "<title>T</title> one"))
    columns = ["title", "body", "outlinks", "headers", "host"]
    write_dataset(table, folder, webtable.ALL, partition_by="host", columns=columns)

    put(table, page(ODD[0], "<title>T</title> two", START + timedelta(days=1)))
    write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")

    [row] = read_by_duckdb(folder, "url, title, body, host").to_pylist()
    assert row == {"url": ODD[0], "title": "T", "body": b"<title>T</title> two", "host": "example.com"}


@pytest.mark.parametrize("partition_by", ["host", "month"])
def test_files_are_not_larger_than_they_may_be(table, folder, partition_by):
    put(table, *(page(f"https://example.com/{number}", os.urandom(500).hex()) for number in range(400)))

    write_dataset(table, folder, webtable.ALL, partition_by=partition_by, columns=["body"], file_bytes=60_000)

    sizes = [path.stat().st_size for path in data_files(folder)]
    assert len(sizes) > 3
    assert max(sizes) < 66_000
    assert min(sizes[:-1]) > 40_000
    assert read_by_duckdb(folder, "url").num_rows == 400


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [200, pytest.param(10_000, marks=[pytest.mark.nightly, pytest.mark.timeout(1_200)])])
def test_many_hosts_need_a_few_open_files(table, folder, hosts):
    put(table, *(page(f"https://{number}.example.com/") for number in range(hosts)))
    few = len(list(Path("/dev/fd").iterdir())) + 20
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)

    resource.setrlimit(resource.RLIMIT_NOFILE, (few, limits[1]))
    try:
        write_dataset(table, folder, webtable.ALL, partition_by="host", columns=["status"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert len(data_files(folder)) == hosts
    assert sum(pq.read_metadata(path).num_rows for path in data_files(folder)) == hosts


def test_the_file_that_was_not_used_for_longest_is_completed_for_another(tmp_path):
    import pyarrow as pa

    done = []
    rows = pa.table({"url": ["a"]})
    with (
        Folder(tmp_path) as root,
        PartitionedFiles(root, "part", most_open=2, file_bytes=10**6, on_file=done.append) as files,
    ):
        for folder in ("x", "y", "x", "z", "y"):
            files.put(folder, rows)

        assert [file.name for file in done] == ["y/part-000001.parquet", "x/part-000000.parquet"]
    assert [(file.name, file.rows) for file in done][2:] == [("z/part-000002.parquet", 1), ("y/part-000003.parquet", 1)]


def test_an_export_that_fails_leaves_the_dataset_as_it_was(table, folder):
    put(table, *map(page, ODD))
    write_dataset(table, folder, webtable.ALL, partition_by="host")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    listed = read_by_duckdb(folder)
    put(table, page("https://example.com/new"), page("https://zzz.example/"))

    def full(count):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_dataset(table, folder, webtable.ALL, partition_by="host", since="last", on_progress=full)

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert read_by_duckdb(folder) == listed
    write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")
    assert_holds_what_is_listed(folder, table)


KILLED = """
import os, signal, sys, webtable
from pathlib import Path
from webtable._files import Folder
from webtable.formats import write_dataset
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
moves, move = [], Folder.move
def counted(*arguments):
    moves.append(arguments)
    if len(moves) > int(sys.argv[3]):
        die()
    move(*arguments)
Folder.move = counted
with webtable.open(sys.argv[1]) as table:
    early = die if sys.argv[3] == "-1" else None
    write_dataset(table, sys.argv[2], webtable.ALL, partition_by="host", since="last", on_progress=early)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moves", some([-1, 0, 1, 3, 4], 2))
@pytest.mark.parametrize("is_first", [True, False])
def test_after_a_kill_readers_have_the_export_before_or_after_it(folder, tmp_path, moves, is_first):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        put(table, *map(page, ODD[:3]))
        if not is_first:
            write_dataset(table, folder, webtable.ALL, partition_by="host")
            put(table, page(ODD[0], "<title>New</title>", START + timedelta(days=1)), page("https://b.example/"))
            table.delete(ODD[1])
    listed = None if is_first else read_by_duckdb(folder)

    program = [sys.executable, "-c", KILLED, str(tmp_path / "crawl.db"), str(folder), str(moves)]
    assert subprocess.run(program, check=False).returncode == -signal.SIGKILL

    if is_first:
        assert not (folder / "_manifest.json").exists()
    else:
        assert read_by_duckdb(folder) == listed
    with webtable.open(tmp_path / "crawl.db") as table:
        write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")
        assert_holds_what_is_listed(folder, table)
    assert not (folder / "_incoming").exists()


def test_another_folder_is_refused(table, folder):
    put(table, *map(page, ODD))
    write_dataset(table, folder, webtable.ALL, partition_by="host")
    other = folder.parent / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")

    def refused(said, target=folder, site=webtable.ALL, **options):
        with pytest.raises(InvalidArgument, match=said):
            write_dataset(table, target, site, **{"partition_by": "host", **options})

    refused("has no dataset", other)
    refused("has no dataset", other, since="last")
    refused("there is a dataset already")
    refused("partition_by='host', not 'month'", partition_by="month", since="last")
    refused("site='all', not 'example.com'", site="example.com", since="last")
    refused("columns=", columns=["url"], since="last")
    refused("since=datetime", since=START)
    refused("partition_by='day'", partition_by="day")
    refused("file_bytes=0", file_bytes=0)
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_a_mistake_in_the_question_makes_no_folder(table, folder, large_store):
    with pytest.raises(UnknownColumn, match="titel"):
        write_dataset(table, folder, webtable.ALL, partition_by="host", columns=["titel"])
    with pytest.raises(FullScanNeeded):
        write_dataset(table, folder, partition_by="host")

    assert not folder.exists()


@pytest.mark.parametrize("damage", ["shorter", "gone", "altered"])
def test_a_dataset_whose_state_is_damaged_is_not_added_to(table, folder, damage):
    put(table, *map(page, ODD))
    write_dataset(table, folder, webtable.ALL, partition_by="host")
    [state] = (folder / "_state").iterdir()
    if damage == "altered":
        manifest = folder / "_manifest.json"
        manifest.write_text(manifest.read_text().replace('"pages": 8', '"pages": 9'))
    elif damage == "gone":
        state.unlink()
    else:
        state.write_bytes(state.read_bytes()[:-20])
    before = data_files(folder)

    with pytest.raises(FormatError):
        write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")

    assert data_files(folder) == before


def test_the_moments_of_exports_go_forward_also_if_the_clock_does_not(table, folder, manual_clock):
    put(table, page(ODD[0]))
    first = write_dataset(table, folder, webtable.ALL, partition_by="host").manifest.moment
    put(table, page(ODD[0], "<title>New</title>", START + timedelta(days=1)))

    manual_clock.passed -= 3_600
    second = write_dataset(table, folder, webtable.ALL, partition_by="host", since="last").manifest.moment

    assert second > first
    assert_holds_what_is_listed(folder, table)


def test_names_are_encoded_as_hive_does():
    assert hive_folder("host", "a/b=c:d e%") == "host=a%2Fb%3Dc%3Ad%20e%25"
    assert hive_folder("host", None) == hive_folder("host", "x" * 300) == "host=__HIVE_DEFAULT_PARTITION__"

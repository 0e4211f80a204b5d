"""Exports, and reading them: the same pages and versions, whatever interrupted the first run."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_warc_out import CAPTURES, crawled, new_table, read_pages_of, stored
from test_warc_out import content as content_of

import webtable
from nightly import examples, some
from webtable import Link, Page
from webtable.errors import FormatError, FullScanNeeded, InvalidArgument
from webtable.formats import Manifest, ReadLimits, ReadReport, read_export, verify_export, write_export
from webtable.formats.exports import read_manifest

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
URL = "https://example.com/page"
FORMATS = ["warc", "parquet", "jsonl"]


def pages(count=300):
    media = "application/octet-stream"
    return [
        Page(url=f"{URL}/{number:04}", body=os.urandom(2_000), content_type=media, fetched_at=START)
        for number in range(count)
    ]


def content(table):
    """Return all that a table tells of its pages, but for where it keeps a body."""
    return content_of(table)


def out_and_in(table, folder, form, **options):
    write_export(table, folder, webtable.ALL, format=form, **options)
    assert verify_export(folder).problems == []
    return stored(new_table(), read_export(folder))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=examples(by_day=12, by_night=100), suppress_health_check=list(HealthCheck))
@given(CAPTURES, st.sampled_from([1, 10**9]))
def test_whatever_was_crawled_comes_back_as_it_was(tmp_path_factory, form, captures, file_bytes):
    table = stored(new_table(), read_pages_of(crawled(captures)))

    again = out_and_in(table, tmp_path_factory.mktemp("backup") / "out", form, file_bytes=file_bytes)

    assert content(again) == content(table)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_the_sample_web_comes_back_as_it_was(small_web, tmp_path, form):
    with webtable.open(small_web.store) as table:
        again = out_and_in(table, tmp_path / "out", form, file_bytes=20_000)

        assert content(again) == content(table)
    manifest = read_manifest(tmp_path / "out")
    assert len(manifest.files) > 2
    assert manifest.captures > manifest.pages == sum(file.pages for file in manifest.files)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "make"),
    [
        *(pytest.param(form, lambda: os.urandom(26 * 2**20), id=form) for form in some(FORMATS, 2)),
        pytest.param(
            "warc", lambda: bytes(270_000_000), id="warc that is packed 1,000 times", marks=pytest.mark.nightly
        ),
    ],
)
def test_a_body_over_the_limits_of_other_readers_comes_back(tmp_path, form, make):
    body = make()
    with webtable.open(tmp_path / "large.db", create=True, indexes=[]) as table:
        table.put(Page(url=URL, body=body, content_type="application/pdf", fetched_at=START))
        write_export(table, tmp_path / "out", webtable.ALL, format=form)

    assert verify_export(tmp_path / "out").problems == []
    [page] = read_export(tmp_path / "out")
    assert page.body == body


def test_the_backup_of_a_stranger_can_be_read_with_lower_limits(tmp_path):
    with webtable.open(tmp_path / "large.db", create=True, indexes=[]) as table:
        for number in (1, 2):
            table.put(Page(url=f"{URL}/{number}", body=b"x" * number * 2_000, fetched_at=START))
        write_export(table, tmp_path / "out", webtable.ALL)
    report = ReadReport()

    pages = list(read_export(tmp_path / "out", report=report, limits=ReadLimits(record=3_000)))

    assert [page.url for page in pages] == [f"{URL}/1"]
    assert report.skipped == {"record": 1}


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_links_and_a_title_that_are_not_in_the_body_come_back(tmp_path, form):
    links = (Link("https://other.example/", "elsewhere", "nofollow"),)
    table = stored(new_table(), [Page(url=URL, body=b"%PDF", title="T", outlinks=links, fetched_at=START)])

    again = out_and_in(table, tmp_path / "out", form)

    page = again.get(URL, columns=["body", "outlinks"])
    assert (page.title, page.outlinks, page.body) == ("T", links, b"%PDF")


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_table_is_a_backup_without_files(tmp_path, form):
    again = out_and_in(new_table(), tmp_path / "out", form)

    assert content(again) == {}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("file_bytes", [1, 500])
def test_each_file_has_a_page_however_small_files_are_to_be(tmp_path, form, file_bytes):
    table = stored(new_table(), pages(3))

    done = write_export(table, tmp_path / "out", webtable.ALL, format=form, file_bytes=file_bytes)

    counts = [file.pages for file in done.manifest.files]
    assert (sum(counts), min(counts) > 0) == (3, True)


def test_the_manifest_says_what_there_is_of_which_table(tmp_path):
    table = stored(new_table(), [*pages(3), Page(url=f"{URL}/0000", body=b"y", fetched_at=START + timedelta(days=1))])

    write_export(table, tmp_path / "out", "https://example.com/page/")

    told = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert (told["format"], told["site"], told["is_complete"]) == ("jsonl", "https://example.com/page/", True)
    assert (told["pages"], told["captures"], told["damaged"]) == (3, 4, 0)
    assert told["layout"]["salt"] == "host"
    assert told["begun"] <= told["ended"]
    assert [(file["name"], file["pages"]) for file in told["files"]] == [("webtable-00001.jsonl.zst", 3)]


def ended_after(count, error):
    def told(pages):
        if pages >= count:
            raise error

    return told


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_what_was_ended_goes_on_behind_the_last_atomic_file(tmp_path, form, error):
    table, folder = stored(new_table(), pages(500)), tmp_path / "out"
    options = {"format": form, "site": webtable.ALL, "file_bytes": 100_000}
    with pytest.raises(type(error)):
        write_export(table, folder, on_progress=ended_after(300, error), **options)
    files = [path for path in folder.glob("webtable-*") if path.suffix != ".cdxj"]
    before = {path.name: path.stat().st_mtime_ns for path in files}

    done = write_export(table, folder, resume=True, **options)

    assert 0 < len(before) < len(done.manifest.files)
    assert {name: (folder / name).stat().st_mtime_ns for name in before} == before
    assert (done.manifest.pages, done.refetched, done.added) == (500, 0, 0)
    assert verify_export(folder).problems == []
    assert content(stored(new_table(), read_export(folder))) == content(table)


def test_what_a_killed_run_has_left_is_removed(tmp_path):
    table, folder = stored(new_table(), pages()), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write_export(table, folder, webtable.ALL, on_progress=ended_after(100, KeyboardInterrupt()))
    (folder / "webtable-00001.jsonl.zst.4711.part").write_text("half")
    (folder / "webtable-00001.jsonl.zst").write_text("whole, but the manifest does not know it yet")

    write_export(table, folder, webtable.ALL, resume=True)

    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "webtable-00001.jsonl.zst"]
    assert verify_export(folder).problems == []


def test_a_table_that_has_changed_meanwhile_is_told(tmp_path):
    table, folder = stored(new_table(), pages(500)), tmp_path / "out"
    options = {"site": webtable.ALL, "file_bytes": 100_000}
    with pytest.raises(KeyboardInterrupt):
        write_export(table, folder, on_progress=ended_after(300, KeyboardInterrupt()), **options)
    now = datetime.now(UTC)
    stored(table, [Page(url=f"{URL}/{number:04}", body=b"new", fetched_at=now) for number in (1, 2, 499)])
    stored(table, [Page(url=f"{URL}/0000a", body=b"older", fetched_at=START)])
    for number in (3, 4, 5):
        table.delete(f"{URL}/{number:04}")

    done = write_export(table, folder, resume=True, **options)

    assert (done.refetched, done.added) == (2, -2)


@pytest.mark.parametrize("name", ["whole", "other format", "other domain", "changed file", "lost file", "no manifest"])
def test_what_does_not_fit_is_not_gone_on_with(tmp_path, name):
    table, folder = stored(new_table(), pages(500)), tmp_path / "out"
    options = {"site": webtable.ALL, "file_bytes": 100_000}
    if name != "whole":
        with pytest.raises(KeyboardInterrupt):
            write_export(table, folder, on_progress=ended_after(300, KeyboardInterrupt()), **options)
    else:
        write_export(table, folder, **options)
    first = next(iter(sorted(folder.glob("webtable-*"))))
    match name:
        case "other format":
            options["format"] = "parquet"
        case "other domain":
            options |= {"site": "example.com"}
        case "changed file":
            os.truncate(first, 10)
        case "lost file":
            first.unlink()
        case "no manifest":
            (folder / "manifest.json").unlink()
    there = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())

    with pytest.raises((InvalidArgument, FormatError)):
        write_export(table, folder, resume=True, **options)

    assert sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir()) == there


def test_two_exports_do_not_write_into_one_directory(tmp_path):
    table, told = stored(new_table(), pages()), []

    def second(_):
        with pytest.raises(InvalidArgument, match="another export"):
            write_export(table, tmp_path / "out", webtable.ALL, resume=True)
        told.append(True)

    write_export(table, tmp_path / "out", webtable.ALL, on_progress=second)

    assert told
    assert verify_export(tmp_path / "out").problems == []


@pytest.mark.parametrize(
    "options", [{}, {"site": webtable.ALL, "format": "csv"}, {"site": webtable.ALL, "file_bytes": 0}]
)
def test_a_wrong_argument_makes_no_directory(tmp_path, options, large_store):
    with pytest.raises((InvalidArgument, FullScanNeeded)):
        write_export(new_table(), tmp_path / "out", **options)

    assert not (tmp_path / "out").exists()


def test_a_directory_with_files_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")

    for resume in (False, True):
        with pytest.raises(InvalidArgument, match="empty"):
            write_export(new_table(), tmp_path, webtable.ALL, resume=resume)

    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_rows_are_left_out_told_and_counted_in_the_manifest(tmp_path, form):
    from webtable.store import NewCell, Put

    table = stored(new_table(), [Page(url=f"{URL}/{n}", body=b"x" * 99, fetched_at=START) for n in range(3)])
    key, column = table.key.encode(f"{URL}/1"), table._context.codec.columns.body
    (cell,) = table.store.read(table.table, [key])[0].cells[column]
    table.store.write(table.table, [Put(key, [NewCell(column, cell.timestamp, cell.value[:-1] + b"\0\0")])])

    done = write_export(table, tmp_path / "out", webtable.ALL, format=form)

    assert (done.manifest.pages, done.manifest.damaged, done.examples[0].url) == (2, 1, f"{URL}/1")
    assert verify_export(tmp_path / "out").problems == []


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written") / "out"
    write_export(stored(new_table(), pages(500)), folder, webtable.ALL, file_bytes=100_000)
    return folder


@pytest.fixture
def whole(written, tmp_path):
    """An export of 500 pages in several files, for a test to change."""
    return shutil.copytree(written, tmp_path / "out")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def replace_by_link(path):
    shutil.copy(path, path.parent.parent / "elsewhere")
    path.unlink()
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (Path.unlink, "missing"),
        (lambda path: os.truncate(path, 500), "truncated"),
        (flip, "its digest differs"),
        (replace_by_pipe, "not a regular file"),
        (replace_by_link, "not a regular file"),
    ],
    ids=["lost", "cut", "changed", "pipe", "link"],
)
def test_a_file_that_is_not_what_was_written_is_named(whole, harm, told):
    path = whole / "webtable-00002.jsonl.zst"
    harm(path)

    problems = verify_export(whole).problems

    assert len(problems) == 1
    assert problems[0].startswith(f"{path}: ")
    assert told in problems[0]
    with pytest.raises(FormatError, match="webtable-00002"):
        next(read_export(whole))


def sealed(folder, change):
    """Write the manifest in *folder* anew, with a right checksum, as somebody would who wants to be believed."""
    from webtable._checksums import with_checksum

    path = folder / "manifest.json"
    told = json.loads(path.read_bytes())
    del told["crc32"]
    change(told)
    path.write_bytes(with_checksum(json.dumps(told, separators=(",", ":")).encode()))


def other_counts(told):
    told["files"][0]["captures"] += 1
    told["captures"] += 1


def test_counts_that_are_not_those_of_a_file_are_told(whole):
    sealed(whole, other_counts)

    problems = verify_export(whole).problems

    assert len(problems) == 1
    assert "webtable-00001" in problems[0]
    assert "captures of" in problems[0]


def test_an_incomplete_export_is_not_read(tmp_path):
    table = stored(new_table(), pages())
    with pytest.raises(KeyboardInterrupt):
        write_export(table, tmp_path / "out", webtable.ALL, on_progress=ended_after(100, KeyboardInterrupt()))

    assert "--resume" in verify_export(tmp_path / "out").problems[0]
    with pytest.raises(FormatError, match="--resume"):
        next(read_export(tmp_path / "out"))


def test_files_that_the_manifest_does_not_name_are_told_and_not_read(whole):
    shutil.copy(whole / "webtable-00001.jsonl.zst", whole / "webtable-99999.jsonl.zst")

    checked = verify_export(whole)

    assert (checked.is_sound, checked.unlisted) == (True, ["webtable-99999.jsonl.zst"])
    assert len(list(read_export(whole))) == 500


def named(name):
    return lambda told: told["files"][0].update(name=name)


@pytest.mark.parametrize(
    "change",
    [
        named("../webtable-00001.jsonl.zst"),
        named("/etc/passwd"),
        named("webtable-00002.jsonl.zst"),
        named("webtable-00001.parquet"),
        lambda told: told.update(format_number=2),
        lambda told: told.update(format="exe"),
        lambda told: told.update(pages=-1),
        lambda told: told.update(pages=10**30),
        lambda told: told.update(captures=1),
        lambda told: told.update(files="all"),
        lambda told: told.update(surprise=1),
        lambda told: told["layout"].update(versions="many"),
        lambda told: told["layout"].update(compression="exec"),
        lambda told: told["layout"].update(surprise=1),
        lambda told: told["files"][0].update(bytes=-1),
        lambda told: told.pop("layout"),
    ],
)
def test_a_manifest_of_a_stranger_is_one_typed_error(whole, change):
    sealed(whole, change)

    with pytest.raises(FormatError, match=r"manifest\.json"):
        verify_export(whole)


def sparse(path):
    path.write_bytes(b"")
    os.truncate(path, 10**9)


@pytest.mark.parametrize(
    "harm",
    [
        flip,
        Path.unlink,
        replace_by_pipe,
        replace_by_link,
        sparse,
        lambda path: path.write_bytes(b"[" * 1_000_000),
        lambda path: path.write_bytes(b'{"format_number":' + b"9" * 1_000_000 + b"}"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: os.truncate(path, 100),
    ],
    ids=["changed", "lost", "pipe", "link", "huge", "nested", "number", "empty", "bytes", "directory", "cut"],
)
def test_what_is_no_manifest_is_one_typed_error_and_takes_no_memory(whole, harm):
    harm(whole / "manifest.json")

    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            verify_export(whole)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 100 * 2**20


@pytest.mark.parametrize("members", ['"indexes":[%s]', '"indexes":[%s],"indexes":[]', '"files":[%s],"files":[]'])
def test_many_short_texts_in_a_manifest_take_no_memory(whole, members):
    path, many = whole / "manifest.json", ",".join(['"a"'] * 1_000_000)
    path.write_bytes(path.read_bytes().rstrip()[:-1] + b"," + (members % many).encode() + b"}")

    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="more than 200,000 bytes about the table"):
            verify_export(whole)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 20 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("form", some(FORMATS, 2))
def test_memory_does_not_grow_with_the_bodies_that_are_written_and_compared(tmp_path, form):
    body = bytes(range(256)) * 4096
    with webtable.open(tmp_path / "large.db", create=True, compression="none", ttl=None, versions=20) as table:
        for number in range(60):
            at = START + number * timedelta(seconds=1)
            stored(table, [Page(url=f"{URL}/{number % 4}", body=body + b"%d" % number, fetched_at=at)])
        tracemalloc.start()
        try:
            done = write_export(table, tmp_path / "out", webtable.ALL, format=form)
            assert verify_export(tmp_path / "out").captures == 60
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert (done.manifest.captures, len(done.manifest.files)) == (60, 1)
    assert peak < 48 * 2**20


class TestAnExportAsWARC:
    """It is for both replay, by its index, and restore, by its manifest."""

    def test_has_an_index_by_which_each_record_is_found(self, tmp_path):
        table, folder = stored(new_table(), pages(20)), tmp_path / "out"

        write_export(table, folder, webtable.ALL, format="warc", file_bytes=9_000)

        lines = (folder / "index.cdxj").read_bytes().splitlines()
        assert len(list(folder.iterdir())) > 4
        assert (len(lines), lines) == (20, sorted(lines))
        for line in lines:
            entry = json.loads(line.split(b" ", 2)[2])
            data = (folder / entry["filename"]).read_bytes()[int(entry["offset"]) :][: int(entry["length"])]
            assert f"WARC-Target-URI: {entry['url']}\r\n".encode() in gzip.decompress(data)

    def test_that_was_interrupted_has_the_same_index_after_it_was_resumed(self, tmp_path, monkeypatch):
        table, folder = stored(new_table(), pages(20)), tmp_path / "out"
        manifests, write = [], Manifest.write

        def written(*given):
            manifests.append(given)
            if len(manifests) == 4:
                raise KeyboardInterrupt
            write(*given)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Manifest, "write", written)
            write_export(table, folder, webtable.ALL, format="warc", file_bytes=9_000)
        write_export(table, folder, webtable.ALL, format="warc", file_bytes=9_000, resume=True)

        lines = (folder / "index.cdxj").read_bytes().splitlines()
        assert (len(set(lines)), lines) == (20, sorted(lines))
        assert (verify_export(folder).problems, verify_export(folder).unlisted) == ([], [])

    @pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x" + path.read_bytes()[1:])])
    def test_names_an_index_that_is_missing_or_changed(self, tmp_path, damage):
        write_export(stored(new_table(), pages(2)), tmp_path / "out", webtable.ALL, format="warc")

        damage(tmp_path / "out" / "index.cdxj")

        [problem] = verify_export(tmp_path / "out").problems
        assert "index.cdxj" in problem

"""The command `export`: archives that `ingest` takes back."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def crawl(empty_directory):
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for url in ("https://example.com/", "https://example.com/docs/a", "https://other.example/"):
            writer.put(webtable.Page(url=url, body=b"<title>T</title>", content_type="text/html", fetched_at=AT))


def names(folder="out"):
    return sorted(path.name for path in Path(folder).iterdir())


def test_what_is_exported_is_ingested_again(run):
    done = run("export", "out", "all")

    assert (done.code, done.lines[0].partition(" of ")[0]) == (0, "3 pages, 3 captures in 1 file")
    assert names() == ["index.cdxj", "manifest.json", "webtable-00001.warc.gz"]
    for store, words in (("again.db", ["ingest", "out/webtable-00001.warc.gz"]), ("restored.db", ["import", "out"])):
        assert run("-s", store, *words).code == 0
        assert run("-s", store, "pages", "all").raw == run("pages", "all").raw


def test_a_file_ends_where_it_is_told(run):
    done = run("export", "out", "all", "--max-file", "1")

    assert done.code == 0
    assert names() == ["index.cdxj", "manifest.json", *(f"webtable-0000{number}.warc.gz" for number in (1, 2, 3))]


def test_a_name_that_ends_with_wacz_is_one_and_a_directory_of_a_host_is_chosen(run):
    done = run("export", "docs.wacz", "https://example.com/docs/")

    assert (done.code, done.lines[0].partition(",")[0]) == (0, "1 page")
    assert "indexes/index.cdx" in zipfile.ZipFile("docs.wacz").namelist()


@pytest.mark.parametrize(
    ("name", "start"), [("x.WARC.GZ", b"\x1f\x8b"), ("x.JSONL.Gz", b"\x1f\x8b"), ("x.WACZ", b"PK")]
)
def test_an_ending_in_capitals_says_the_same(run, name, start):
    done = run("export", name, "all")

    assert done.code == 0
    assert Path(name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["x.zip", "backup.tar.gz", "x.warc.zst", "x.CDXJ", "-"])
def test_a_name_of_another_kind_of_file_is_no_directory(run, name):
    done = run("export", name, "all")

    assert done.code == 2
    assert "captures are written as .warc.gz, .warc, .jsonl, .jsonl.gz, .jsonl.zst, .parquet and .wacz" in done.err
    assert names(".") == ["webtable.db"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["example.com"], "export FILE example.com"),
        (["https://example.com/docs/"], "export FILE https://example.com/docs/"),
        (["example.com", "x.warc.gz"], "export x.warc.gz example.com"),
        (["example.com", "./x.warc.gz"], "export ./x.warc.gz example.com"),
        (["https://example.com/", "out"], "export out https://example.com/"),
    ],
)
def test_a_site_in_place_of_a_file_is_refused(run, given, meant):
    done = run("export", *given)

    assert (done.code, done.err.partition("; ")[2]) == (2, f"did you mean: {meant}?\n")
    assert names(".") == ["webtable.db"]


@pytest.mark.parametrize(
    "command",
    [
        ["errors", "--out", "/proc/x.csv"],
        ["export", "/proc/x.warc.gz", "all"],
        ["export", "/proc/x", "all"],
        ["audit", "example.com", "--html", "/proc/x.html"],
    ],
)
def test_what_cannot_be_written_is_named(run, command):
    done = run(*command)

    (path,) = (one for one in command if one.startswith("/proc"))
    assert done.code == 1
    assert done.err.startswith(f"webtable: {path}: it cannot be written: ")
    assert "Errno" not in done.err


def test_a_full_disk_leaves_the_complete_files_and_names_what_goes_on(run, monkeypatch):
    fsync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 4:  # the manifest, the first file and its lines of the index, and the manifest with it
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        done = run("export", "out", "all", "--max-file", "1")
    left = names("out")
    again = run("export", "out", "all", "--resume", "--max-file", "1")

    file = Path("out/webtable-00002.warc.gz").resolve()
    assert (done.code, left) == (1, ["manifest.json", "webtable-00001.cdxj", "webtable-00001.warc.gz"])
    assert done.errors == [
        f"webtable: {file}: the disk is full; make space: the complete files stay in out, "
        "and the same command with --resume goes on"
    ]
    assert (again.code, len(names("out"))) == (0, 5)


def test_a_directory_may_be_named_like_a_host(run):
    assert run("export", "example.com", "example.com").code == 0
    assert names("example.com") == ["index.cdxj", "manifest.json", "webtable-00001.warc.gz"]


@pytest.mark.usefixtures("large_store")
def test_a_large_table_is_written_only_when_that_is_said(run):
    done = run("export", "out")

    assert done.code == 2
    assert "or all for every page" in done.err
    assert not Path("out").exists()


def test_a_directory_with_files_in_it_is_refused(run):
    done = run("export", ".", "all")

    assert done.code == 2
    assert "name a new or empty one" in done.err
    assert names(".") == ["webtable.db"]


def test_captures_that_are_too_long_for_warc_are_counted_and_the_exit_code_says_so(run):
    links = tuple(webtable.Link(f"https://other.example/{'x' * 400}/{number}") for number in range(1_000))
    with webtable.open("webtable.db") as table:
        table.put(webtable.Page(url="https://example.com/a.pdf", body=b"%PDF", content_type="x/y", outlinks=links))

    done = run("export", "out", "all")

    assert done.code == 1
    assert "1 capture without all of its links or texts" in done.err
    assert json.loads(Path("out/manifest.json").read_bytes())["incomplete"] == 1


@pytest.mark.parametrize(
    "name", ["out.warc.gz", "out.warc", "out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "out.wacz"]
)
def test_a_name_says_what_kind_of_file_is_written_and_it_is_ingested_again(run, name):
    done = run("export", name, "example.com")

    assert (done.code, done.lines[0].partition(" of ")[0]) == (0, "2 pages, 2 captures in 1 file")
    assert Path(name).is_file()
    again = run("-s", "again.db", "ingest", name)
    assert again.code == 0, again.err
    assert run("-s", "again.db", "pages", "all").raw == run("pages", "example.com").raw


def test_the_bytes_of_a_file_are_those_of_its_kind(run):
    for name in ("out.warc.gz", "out.warc", "out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"):
        run("export", name, "all")

    begins = {path.name: path.read_bytes()[:4] for path in Path().glob("out.*")}
    gzip, zstd = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
    assert begins["out.warc"] == b"WARC"
    assert begins["out.jsonl"] == b'{"ur'
    assert begins["out.parquet"] == b"PAR1"
    assert begins["out.jsonl.zst"] == zstd
    assert {begins["out.warc.gz"][:3], begins["out.jsonl.gz"][:3]} == {gzip}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["out.csv", "all"], "webtable pages --out out.csv lists pages"),
        (["out.warc.gz", "all", "--format", "jsonl"], "--format jsonl does not agree with the name of out.warc.gz"),
        (["out.parquet", "all", "--resume"], "out.parquet appears when it is complete"),
        (["no/such/out.warc", "all"], "name a file in an existing directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_with_the_reason(run, words, told):
    done = run("export", *words)

    assert (done.code, told in done.err) == (2, True), done.err
    assert not list(Path().glob("out*"))


def test_a_directory_may_have_the_name_of_a_file(run):
    Path("out.warc.gz").mkdir()

    done = run("export", "out.warc.gz", "all")

    assert (done.code, names("out.warc.gz")) == (0, ["index.cdxj", "manifest.json", "webtable-00001.warc.gz"])


@pytest.mark.parametrize("name", ["out.warc.gz", "out.wacz"])
def test_a_file_that_exists_is_replaced_only_with_yes(run, name, monkeypatch):
    Path(name).write_bytes(b"kept")

    refused = run("export", name, "all")
    assert (refused.code, Path(name).read_bytes()) == (2, b"kept")
    assert refused.err == f"webtable: {name} exists already, and nothing was written: give --yes to replace it\n"
    monkeypatch.setattr("webtable.cli.progress.is_interactive", lambda: True)
    declined = run("export", name, "all", stdin=b"n\n")
    assert (declined.code, Path(name).read_bytes()) == (1, b"kept")
    assert run("export", name, "all", "--yes").code == 0
    assert Path(name).read_bytes() != b"kept"


@pytest.mark.parametrize("name", ["pages.csv", "pages.tsv", "pages.jsonl", "pages.parquet"])
def test_a_listing_is_written_to_a_file_of_the_kind_that_its_name_says(run, name):
    kind = name.rpartition(".")[2]

    done = run("pages", "all", "--out", name)

    assert (done.code, done.out, done.err) == (0, "", f"written: {name}, 3 rows\n")
    assert Path(name).read_bytes() == run("pages", "all", "--format", kind).raw


def test_a_listing_of_another_name_needs_a_format(run):
    nowhere = run("pages", "all", "--out", "no/such/pages.csv")
    assert (nowhere.code, "name a file in a directory that exists" in nowhere.err) == (2, True)
    refused = run("pages", "all", "--out", "pages.txt")
    done = run("pages", "all", "--out", "pages.txt", "--format", "csv")

    assert (refused.code, "must end with .csv, .jsonl, .parquet, .tsv" in refused.err) == (2, True)
    assert (done.code, Path("pages.txt").read_bytes()) == (0, run("pages", "all", "--format", "csv").raw)


def test_a_dataset_is_begun_and_added_to_by_the_same_command(run):
    command = ("export", "dataset", "all", "--format", "parquet", "--partition-by", "host", "--since", "last")
    first = run(*command)
    with webtable.open("webtable.db") as table:
        table.delete("https://other.example/")

    second = run(*command)

    assert (first.code, second.code) == (0, 0)
    assert first.lines[0].startswith("3 rows in 2 files of ")
    assert second.lines[0].startswith("0 rows in 0 files of ")
    assert second.lines[0].endswith(", for 2 pages: dataset")
    assert {"host=example.com", "host=other.example", "_state", "_manifest.json"} < set(names("dataset"))


def test_a_dataset_of_months_has_the_columns_that_are_named(run):
    done = run("export", "dataset", "example.com", "--partition-by", "month", "--columns", "title,body")

    assert done.code == 0
    assert json.loads(Path("dataset/_manifest.json").read_text())["columns"] == ["url", "title", "body", "fetched_at"]
    assert "month=2026-03" in names("dataset")


def test_a_dataset_goes_on_when_all_pages_of_its_site_are_gone(run):
    command = ("export", "dataset", "https://other.example/", "--partition-by", "host", "--since", "last")
    run(*command)
    with webtable.open("webtable.db") as table:
        table.delete("https://other.example/")

    assert run(*command).lines[0].startswith("0 rows in 0 files")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--partition-by", "host", "--format", "warc"], "of format parquet"),
        (["--partition-by", "host", "--resume"], "begins anew"),
        (["--partition-by", "host", "--since", "2026-03-01"], "must be 'last'"),
        (["--since", "last"], "give --partition-by"),
        (["--format", "parquet", "--columns", "url"], "give --partition-by"),
    ],
)
def test_options_that_do_not_go_with_a_dataset_are_refused(run, options, said):
    done = run("export", "dataset", "all", *options)

    assert (done.code, said in done.err) == (2, True)
    assert not Path("dataset").exists()

"""`webtable backup`, `export` with a manifest, and `import`: interrupted, resumed, compared, and read again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable
from webtable.store import open_store
from webtable.store.capabilities import Capabilities

AT = datetime(2026, 3, 1, tzinfo=UTC)
COUNT = 400


@pytest.fixture(autouse=True)
def crawl(empty_directory):
    options = {"salt": webtable.rowkey.Salt.none(), "versions": 7, "indexes": ["time"]}
    with webtable.open("webtable.db", create=True, **options) as table, table.writer() as writer:
        for number in range(COUNT):
            url = f"https://example.com/{number:03}"
            writer.put(webtable.Page(url=url, body=os.urandom(2_000), content_type="a/b", fetched_at=AT))


def made_of(path):
    with webtable.open(path) as table:
        return table.layout, sorted(table.indexes.states())


def listed(run, store):
    done = run("-s", store, "pages", "all", "--body", "--format", "jsonl")
    assert done.code == 0
    return done.out


def test_a_store_is_backed_up_into_a_file_that_is_one(run):
    done = run("backup", "create", "b.db")

    assert (done.code, done.lines[0].endswith("checked: b.db")) == (0, True)
    assert listed(run, "b.db") == listed(run, "webtable.db")
    assert run("backup", "verify", "b.db").lines == ["400 pages, 400 digests compared"]


def test_a_backup_does_not_overwrite(run):
    Path("b.db").write_text("mine")

    done = run("backup", "create", "b.db")

    assert (done.code, len(done.errors)) == (2, 1)
    assert "overwrites nothing" in done.err
    assert Path("b.db").read_text() == "mine"


def test_a_backup_that_is_damaged_is_told(run):
    run("backup", "create", "b.db")
    with webtable.open("b.db") as table:
        from webtable.store import NewCell, Put

        key, column = table.key.encode("https://example.com/001"), table._context.codec.columns.body
        (cell,) = table.store.read(table.table, [key])[0].cells[column]
        damaged = cell.value[:1_000] + bytes([cell.value[1_000] ^ 1]) + cell.value[1_001:]
        table.store.write(table.table, [Put(key, [NewCell(column, cell.timestamp, damaged)])])

    done = run("backup", "verify", "b.db")

    assert done.code == 1
    assert "https://example.com/001" in done.err


def test_a_file_has_no_snapshots_and_says_what_there_is(run):
    done = run("backup", "snapshot")

    assert (done.code, "webtable backup create" in done.err) == (3, True)


@pytest.mark.parametrize(
    "options", [("--restore",), ("--clone", "other"), ("l", "--restore", "--clone", "other"), ("a b",), ("../a",)]
)
def test_wrong_options_of_snapshots_are_one_line(run, options, monkeypatch):
    monkeypatch.setattr("webtable.store.sqlite.SQLiteStore.capabilities", Capabilities(has_snapshots=True))

    done = run("backup", "snapshot", *options)

    assert (done.code, done.out, len(done.errors)) == (2, "", 1)


def test_the_lines_of_snapshots_name_all_tables_and_bring_nothing_back(run, monkeypatch):
    monkeypatch.setattr("webtable.store.sqlite.SQLiteStore.capabilities", Capabilities(has_snapshots=True))

    done = run("backup", "snapshot", "now")

    assert [line for line in done.lines if line and not line.startswith("#")] == [
        "snapshot 'pages_meta', 'pages_meta.now'",
        "snapshot 'pages_time_idx', 'pages_time_idx.now'",
        "snapshot 'pages', 'pages.now'",
        "snapshot 'pages_queue', 'pages_queue.now'",
        "list_snapshots '.*[.]now'",
    ]


@pytest.mark.parametrize("form", ["warc", "parquet", "jsonl"])
def test_what_is_exported_is_verified_and_imported_with_its_layout(run, form):
    done = run("export", "out", "all", "--format", form, "--max-file", "300kB")

    assert done.code == 0, done.err
    assert done.lines[0].startswith("400 pages, 400 captures in ")
    checked = run("import", "out", "--dry-run")
    assert (checked.code, "400 pages, 400 captures" in checked.out) == (0, True)
    preview = run("-s", "again.db", "import", "out", "--dry-run")
    assert (preview.code, Path("again.db").exists()) == (0, False)
    assert "again.db would be created, with the indexes time" in preview.err
    again = run("-s", "again.db", "import", "out")
    assert again.code == 0, again.err
    would, done = (one.lines[-1].replace("again.db/pages", "again.db").partition(" s (")[0] for one in (preview, again))
    assert would.rpartition(" ")[0].replace("would be stored", "stored") == done.rpartition(" ")[0]
    assert made_of("again.db") == made_of("webtable.db")
    assert listed(run, "again.db") == listed(run, "webtable.db")


@pytest.mark.hbase
def test_what_is_imported_into_hbase_is_exported_from_there_as_it_was(run, hbase_url):
    name = f"backup_{uuid.uuid4().hex[:8]}"
    base, _, query = hbase_url.partition("?")
    url = f"{base.rstrip('/')}/{name}?{query}"
    run("export", "there", "all", "--format", "parquet")

    imported = run("-s", url, "import", "there")
    exported = run("-s", url, "export", "back", "all", "--format", "jsonl", "--max-file", "200kB")
    verified = [run("import", "back", "--dry-run"), run("backup", "verify", url)]
    run("-s", "again.db", "import", "back")

    assert [done.code for done in (imported, exported, *verified)] == [0, 0, 0, 0]
    assert made_of(url) == made_of("again.db") == made_of("webtable.db")
    assert listed(run, url) == listed(run, "again.db") == listed(run, "webtable.db")
    with open_store(hbase_url)[0] as store:
        for table in store.tables():
            if table.startswith(name):
                store.drop_table(table)


def test_a_table_that_is_there_keeps_its_layout_and_says_so(run):
    run("export", "out", "all")
    webtable.create("again.db")

    preview = run("-s", "again.db", "import", "out", "--dry-run")
    kept = listed(run, "again.db")
    done = run("-s", "again.db", "import", "out")

    assert (preview.code, kept, done.code) == (0, "", 0)
    for one in (preview, done):
        assert "keeps its own layout: salt 'host' (exported: 'none')" in one.err


def test_a_dry_run_compares_all_files_within_the_limits_given(run):
    run("export", "out", "all", "--format", "jsonl")

    limited = run("import", "out", "--dry-run", "--limit", "record=1kB")
    resumed = run("import", "out", "--dry-run", "--resume")

    assert (limited.code, "0 captures of 0 pages instead of 400" in limited.err) == (1, True)
    assert (resumed.code, "exclude each other" in resumed.err) == (2, True)


def test_verifying_a_directory_as_a_backup_names_the_command_for_exports(run):
    run("export", "out", "all")

    done = run("backup", "verify", "out")

    assert (done.code, "webtable import DIR --dry-run" in done.err) == (2, True)


def test_nothing_is_imported_of_an_export_with_a_changed_file(run):
    run("export", "out", "all", "--format", "jsonl", "--max-file", "300kB")
    os.truncate("out/webtable-00002.jsonl.zst", 1_000)

    checked, done = run("import", "out", "--dry-run"), run("-s", "again.db", "import", "out")

    assert (checked.code, done.code) == (1, 1)
    assert "webtable-00002.jsonl.zst: 1,000 bytes instead" in checked.err
    assert "nothing was stored" in done.err
    assert not Path("again.db").exists()


def test_an_index_that_only_the_manifest_names_is_not_imported(run):
    from webtable._checksums import with_checksum

    run("export", "out", "all")
    Path("evil.py").write_text(
        "open('run', 'w').close()\nimport webtable\nindex = webtable.indexes.Index('e', lambda p: [])\n"
    )
    told = json.loads(Path("out/manifest.json").read_bytes())
    del told["crc32"]
    told["indexes"].append("evil:index")
    Path("out/manifest.json").write_bytes(with_checksum(json.dumps(told, separators=(",", ":")).encode()))

    done = run("-s", "again.db", "import", "out")

    assert (done.code, Path("run").exists()) == (0, False)
    assert "without the indexes evil:index" in done.err


def test_resume_is_for_what_has_a_manifest(run):
    done = run("export", "out.wacz", "all", "--resume")

    assert (done.code, "appears when it is complete" in done.err) == (2, True)


@pytest.fixture
def exporting():
    """`webtable export out` in a process of its own, which waits at its second file."""
    code = (
        "import sys, time; from webtable.formats.exports import NumberedFiles as files\n"
        "from webtable.cli.app import main\n"
        "fill = files._write_file\n"
        "def slow(self, number, *args):\n"
        "    if number > 1: open('waiting', 'w').close(); time.sleep(60)\n"
        "    return fill(self, number, *args)\n"
        "files._write_file = slow\n"
        "sys.argv = ['webtable', 'export', 'out', 'all', '--format', 'jsonl', '--max-file', '300kB']; main()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, env=os.environ) as process:
        end = time.monotonic() + 60
        while not Path("waiting").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_export_that_is_ended_goes_on_with_resume(run, exporting, number):
    exporting.send_signal(number)
    _, err = exporting.communicate()
    refused, checked = run("-s", "again.db", "import", "out"), run("import", "out", "--dry-run")

    done = run("export", "out", "all", "--format", "jsonl", "--max-file", "300kB", "--resume")

    assert exporting.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert number == signal.SIGKILL or b"--resume" in err
    assert (refused.code, checked.code, "--resume" in checked.err) == (1, 1, True)
    assert done.code == 0, done.err
    assert run("import", "out", "--dry-run").code == 0
    assert run("-s", "again.db", "import", "out", "--resume").code == 0
    assert listed(run, "again.db") == listed(run, "webtable.db")
    assert "3 files stored before" in run("-s", "again.db", "import", "out", "--resume").out

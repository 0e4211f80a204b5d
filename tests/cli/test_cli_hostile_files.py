"""Files that are made to fill the memory: of each format, by each command that reads them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

import webtable
from hostile import FILES
from nightly import some
from parquet_bombs import PARQUET
from webtable.formats import write_export
from webtable.formats.exports import read_manifest

pytestmark = pytest.mark.slow

RUN = """
import json, os, sys
from webtable.cli import app
try:
    app(sys.argv[1:])
except SystemExit as exc:
    code = exc.code
most = 0
with open(f"/proc/self/task/{os.getpid()}/children") as file:
    processes = ["self", *file.read().split()]
for process in processes:
    with open(f"/proc/{process}/status") as file:
        most += next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) // 1024
print(json.dumps([code, most]))
"""
GIVEN = ["--limit", "record=24MiB", "--limit", "inflation=250"]
COMMANDS = {
    "ingest": ["ingest", "FILE", "--no-refresh"],
    "import": ["import", "FOLDER", "--no-refresh", *GIVEN],
    "import --dry-run": ["import", "FOLDER", "--dry-run", *GIVEN],
}
# No export is of them: they are ingested only.
INGESTED = [name for name in FILES if name.startswith(("ARC: ", "HAR: "))]
BOMBS = {
    "warc": ["zeros", "a title of 100 MB", "header lines"],
    "jsonl": ["a line of 200 MB", "a line of headers", "a line of links"],
    "parquet": [
        "a dictionary with a body of 20 MB",
        "a body of 400 MB",
        "a title of 400 MB",
        "headers from a dictionary",
        "a list of nothing",
        "row groups with the same page",
        "many row groups",
    ],
}


def run(folder: Path, command: list[str]) -> tuple[int, int, str]:
    names = {"FILE": next(map(str, folder.glob("exported/webtable-*"))), "FOLDER": str(folder / "exported")}
    words = ["-s", str(folder / "stored.db"), *(names.get(word, word) for word in command)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "500"},
    )
    assert done.stdout, done.stderr
    code, most = json.loads(done.stdout.splitlines()[-1])
    return code, most, done.stderr


def exported(folder: Path, form: str, content: bytes) -> None:
    """Make an export with one file, which has this *content*, and a manifest that fits it."""
    with webtable.open("memory:hostile", create=True) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"x"))
        write_export(table, folder / "exported", webtable.ALL, format=form)
    manifest = read_manifest(folder / "exported")
    (entry,) = manifest.files
    (folder / "exported" / entry.name).write_bytes(content)
    entry = msgspec.structs.replace(entry, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    msgspec.structs.replace(manifest, files=(entry,)).write(folder / "exported")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
@pytest.mark.parametrize(
    ("form", "bomb", "command"),
    [
        *some([(form, bomb, command) for form, bombs in BOMBS.items() for bomb in bombs for command in COMMANDS], 11),
        *some([("jsonl", bomb, "ingest") for bomb in INGESTED], 5),
    ],
)
def test_no_file_below_1_mb_takes_over_500_mb_in_any_command(form, bomb, command, tmp_path):
    content = (FILES | PARQUET)[bomb][0]()
    assert len(content) < 1_000_000
    exported(tmp_path, form, content)

    code, most, said = run(tmp_path, COMMANDS[command])

    assert most < 500
    assert code == 1, said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
def test_a_wacz_file_takes_no_more_than_the_warc_file_in_it(tmp_path):
    exported(tmp_path, "warc", FILES["zeros"][0]())
    (file,) = (tmp_path / "exported").glob("webtable-*")
    packed = file.read_bytes()
    with zipfile.ZipFile(tmp_path / "exported" / "webtable-00009.wacz", "w") as wacz:
        wacz.writestr("archive/data.warc.gz", packed)
        wacz.writestr("datapackage.json", "{}")
    file.unlink()

    code, most, said = run(tmp_path, COMMANDS["ingest"])

    assert most < 500
    assert code == 1, said


@pytest.mark.parametrize("form", ["jsonl", "parquet", "warc"])
def test_an_export_with_a_body_over_the_limit_comes_back_and_a_limit_says_which_option_reads_it(form, tmp_path):
    body = os.urandom(1 << 16) * 450
    with webtable.open(tmp_path / "a.db", create=True) as table:
        table.put(webtable.Page(url="https://example.com/large", content_type="text/plain", body=body))
        table.put(webtable.Page(url="https://example.com/small", content_type="text/plain", body=b"small"))
        write_export(table, tmp_path / "exported", webtable.ALL, format=form)

    limited = run(tmp_path, ["import", "FOLDER", "--no-refresh", "--limit", "record=24MiB"])
    code, _, said = run(tmp_path, ["import", "FOLDER", "--no-refresh"])

    assert limited[0] == 1
    (option,) = re.findall(r"with (--limit record=\d+MB)", limited[2])
    assert run(tmp_path, ["import", "FOLDER", "--no-refresh", *option.split()])[0] == 0
    assert code == 0, said
    with webtable.open(tmp_path / "stored.db") as table:
        assert table.get("https://example.com/large").body == body
        assert table.get("https://example.com/small").body == b"small"

"""The commands that the docs show, outside of the tutorial, run one after another in a folder with the sample web."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from webtable.cli import app

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(document):
    """Return the commands of *document* that need no HBase and no web, up to where another takes what they print."""
    lines = re.findall(r"^ {4}(webtable .*)", document.read_text(), re.MULTILINE)
    return [
        re.split(r" \| ", line)[0]
        for line in lines
        if not any(one in line for one in ("hbase://", "hbase+native://", "9091", " serve", " crawl http"))
    ]


SHOWN = {document.name: found for document in DOCUMENTS if (found := commands(document)) and document.name != "cli.md"}


@pytest.fixture(scope="module")
def folder(small_web, tmp_path_factory):
    """A folder with the sample web, its store, and the files that the docs name."""
    made = tmp_path_factory.mktemp("commands")
    for name in ("sample", "webtable-demo"):
        shutil.copytree(small_web.store.parent, made / name)
    shutil.copy(small_web.store, made / "webtable.db")
    shutil.copytree(made / "sample", made / "crawls" / "1")
    (made / "crawl_indexes.py").write_text(
        "import webtable\nlanguage = webtable.indexes.Index('language', lambda page: [page.language or 'en'])\n"
    )
    (made / "mykeys.py").write_text(
        "from webtable.rowkey import CompositeKey, Date, HashSalt, ReversedDomain, Text, Time\n"
        "BY_DAY = CompositeKey(ReversedDomain('host'), Text('rest'), separator=':')\n"
        "SALT = HashSalt(of='message_id', buckets=4)\n"
        "CHAT = CompositeKey(SALT, Date('sent'), Time('sent'), Text('message_id'), separator=':')\n"
    )
    (made / "chat.jsonl").write_text(
        '{"values": {"sent": "2026-03-01T12:00:00Z", "message_id": "m1"}, "cells": {"channel": "c1", "size": 5}}\n'
    )
    (made / "chat.py").write_text(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs/choose_key.md").read_text(), re.DOTALL)[0]
    )
    (made / "messages.jsonl").write_text(
        "\n".join(
            f'{{"channel": "c{n % 7}", "sent": "2026-01-01T{n // 60:02}:{n % 60:02}:00Z", "sender": "u", "id": {n}}}'
            for n in range(600)
        )
    )
    (made / "internal_all.csv").write_text("Address,Crawl Timestamp\nhttps://example.com/,2026-11-01 10:00:00\n")
    (made / "crawl.jl").write_text('{"url": "https://example.com/", "crawl_time": "2026-11-01 10:00:00"}\n')
    (made / "urls.csv").write_text("URL,HTTP Status Code\nhttps://example.com/,200\n")
    (made / "pages.tsv").write_text("url\tfetched_at\nhttps://example.com/\t2026-11-01\n")
    (made / "urls.txt").write_text("\n".join(f"https://example.com/{number}" for number in range(200)))
    return made


def arguments(command):
    """Return the arguments of *command*, as a shell takes them apart in the current directory."""
    told = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
    return told.stdout.split("\0")[1:-1]


@pytest.mark.slow
@pytest.mark.usefixtures("manual_clock")
# Its commands start some thirty processes.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name == "parallel.md" else name for name in SHOWN]
)
def test_the_commands_that_a_page_shows_run(folder, tmp_path, monkeypatch, name):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEBTABLE_STORE", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for module in tmp_path.glob("*.py"):
        monkeypatch.delitem(sys.modules, module.stem, raising=False)

    for command in SHOWN[name]:
        run = CliRunner().invoke(app, arguments(command), prog_name="webtable")
        assert run.exit_code == 0, f"{command}\n{run.stderr}"


def test_the_pages_with_commands_are_found():
    assert {"README.md", "archives.md", "audits.md", "questions.md", "rowkeys.md"} <= set(SHOWN)

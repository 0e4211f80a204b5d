"""The examples in the help of the commands run, on a small store and files of the names that they use."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.cli.commands import COMMANDS
from webtable.testing import write_warc

pytest.importorskip("matplotlib")

NOW = datetime.now(UTC)
PRODUCTS = "https://example.com/products"
NOT_DONE = {
    "webtable diff https://example.com/products --old 2026-10-01 --new 2026-11-01 --format json",
}
"""Those that end with 1 here: there is no version of that date."""


def commands_with_examples():
    """Yield each command line of the help of all commands."""
    for name, listed in COMMANDS.items():
        command = listed.load(name)
        for one in getattr(command, "commands", {"": command}).values():
            lines = [line.strip() for line in one.epilog.splitlines()[2:]]
            assert len(lines) >= 2, f"{name} {one.name} has less than two examples"
            yield from lines


# A copy that follows and a server go on until a signal ends them: see test_cli_copy and test_cli_serve.
NEEDS = ("hbase://", "hbase+native://", "--follow", " serve", " crawl http")  # a cluster, the web, or no end
EXAMPLES = [line for line in commands_with_examples() if not any(one in line for one in NEEDS)]


def pages() -> list[webtable.Page]:
    links = b"<a href=/old>o</a><a href=/products>p</a><a href=/nowhere>n</a>"
    days = {"/": 9, "/products": 40, "/new": 3, "/a": 2, "/b": 1}
    made = [
        webtable.Page(url=f"https://example.com{path}", body=b"<title>salt</title>" + links, fetched_at=ago(number))
        for path, number in days.items()
    ]
    redirect = {"Location": "https://example.com/new"}
    made.append(webtable.Page(url="https://example.com/old", status=301, headers=redirect, fetched_at=ago(1)))
    made.append(webtable.Page(url="https://docs.example.com/guide/", body=links, fetched_at=ago(1)))
    return [
        *made,
        webtable.Page(url=PRODUCTS, body=b"<title>Products</title>", headers={"ETag": '"2"'}, fetched_at=ago(1)),
    ]


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that the examples name."""
    made = tmp_path_factory.mktemp("examples")
    (made / "crawl_indexes.py").write_text(
        "import webtable\nlanguage = webtable.indexes.Index('language', lambda page: [page.language or 'en'])\n"
    )
    (made / "mykeys.py").write_text(
        "from webtable.rowkey import CompositeKey, ReversedDomain, Text, Timestamp, UInt\n"
        "BY_DAY = CompositeKey(ReversedDomain('host'), Text('rest'), separator=':')\n"
        "READINGS = CompositeKey(UInt('device', 4), Timestamp('time'))\n"
    )
    (made / "chat.py").write_text(
        "from webtable.rowkey import CompositeKey, Hash, ReverseTimestamp, Text, UInt\n"
        "CHANNEL = Text('channel', terminator=b'\\0')\n"
        "HASHED = CompositeKey(Hash('channel', first=2), CHANNEL, ReverseTimestamp('sent'), UInt('id'))\n"
    )
    messages = ({"channel": f"c{n % 7}", "sent": ago(1 - n / 1_000).isoformat(), "id": n} for n in range(200))
    (made / "messages.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in messages))
    for name in ("webtable.db", "crawl.db", "old.db"):
        with webtable.open(made / name, create=True) as table, table.writer() as writer:
            for page in pages():
                writer.put(page)
    for name in ("crawl", "more/more", "archive/a", "crawls/1/CC-MAIN-1", "crawls/2", "books", "crawl-2019", "clueweb"):
        file = made / f"{name}.warc.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_warc(file, pages())
    (made / "pages.jsonl").write_text('{"url": "https://example.com/", "body": "<p>"}\n')
    row = '{"values": {"device": 7, "time": "2026-11-20T10:00:00Z"}, "cells": {"d:celsius": "21.5"}}\n'
    (made / "rows.jsonl").write_text(row)
    (made / "typed.jsonl").write_text(row.replace('"d:celsius": "21.5"', '"celsius": 21.5'))
    (made / "all.jsonl").write_text('{"device": 7, "time": "2026-11-20T10:00:00Z", "celsius": 21.5, "note": "warm"}\n')
    (made / "all.jsonl.gz").write_bytes(gzip.compress((made / "all.jsonl").read_bytes()))
    (made / "internal_all.csv").write_text(
        "Address,Status Code,Title 1\nhttps://example.com/,200,Home\nhttps://example.com/a,404,\n"
    )
    (made / "rows.jsonl.gz").write_bytes(gzip.compress(row.encode()))
    urls = [f"https://example.com/{number}" for number in range(200)]
    (made / "urls.txt").write_text("\n".join(urls))
    (made / "urls.txt.gz").write_bytes(gzip.compress("\n".join(urls).encode()))
    (made / "keys.txt.gz").write_bytes(gzip.compress("\n".join(f"key{number:04}" for number in range(200)).encode()))
    return made


BY_NIGHT = ("webtable demo", "stats all --workers", "index verify --all --workers", "copy crawl.db copy.db --workers")
"""The examples that take seconds: test_cli_demo, test_workers and test_cli_workers run what they do."""


@pytest.mark.usefixtures("manual_clock")
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=pytest.mark.nightly) if any(words in line for words in BY_NIGHT) else line
        for line in EXAMPLES
    ],
)
def test_an_example_runs(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    before, command = _parts(line)
    _prepare(run, command)

    done = run(*command, stdin=_input(before, tmp_path))

    assert done.code == (1 if line in NOT_DONE else 0), done.err
    assert "unexpected error" not in done.err


def _parts(line: str) -> tuple[str, list[str]]:
    """Return what is in front of a pipe, and the words of the command up to where its output goes."""
    before, _, ours = f" {line}".rpartition(" webtable ")
    words = shlex.split(ours)
    end = next((at for at, word in enumerate(words) if word in ("|", ">")), len(words))
    found = [match for word in words[:end] for match in _expanded(word)]
    is_confirmed = found[0] in ("delete", "delete-pages") or "--forget-deletes" in found
    drops = (["index", "drop"], ["search-index", "drop"])
    if is_confirmed or found[:2] in drops or found[2:4] in drops:
        found = [*(word for word in found if word != "--yes"), "--yes"]
    return before, found


def _prepare(run: Run, command: list[str]) -> None:
    """Have the folder as it is where somebody runs this *command*."""
    match command:
        case ["indexed", "language", *_]:
            run("index", "add", "crawl_indexes:language")
        case ["near-duplicates" | "near-duplicate-groups", *_]:
            run("index", "add", "similarity")
        case ["search", *_, "relevance", "--limit", "10"] | ["search-index", *_]:
            run("search-index", "create")
        case ["-s", store, "search-index", *_]:
            run("-s", store, "search-index", "create")
        case ["index", "add", name]:
            run("index", "drop", name, "--yes")
        case ["export", name, *_] if Path(name).is_dir():
            shutil.rmtree(name)
        case ["backup", "verify", _]:
            run("backup", "create", "backup.db")
        case ["-s", _, "import", name, *_]:
            run("export", name, "all", "--format", "warc")
        case ["-s", name, "rows", *rest] if "--where" in rest:
            typed = ("--typed", "celsius:float,note:text")
            run("-s", name, "rows", "put", "mykeys:READINGS", "typed.jsonl", "--create", *typed)
        case ["-s", name, "rows", *rest] if "--create" not in rest:
            run("-s", name, "rows", "put", "mykeys:READINGS", "rows.jsonl", "--create")
        case ["-s", name, "create", *_]:
            Path(name).unlink()


def _expanded(word: str) -> list[str]:
    return sorted(map(str, Path().glob(word))) if word == "more/*.warc.gz" else [word]


def _input(before: str, folder: Path) -> bytes | None:
    match before.removesuffix(" |").split():
        case ["zcat", name]:
            return gzip.decompress((folder / name).read_bytes())
        case ["curl", *_]:
            return (folder / "crawl.warc.gz").read_bytes()
    return None

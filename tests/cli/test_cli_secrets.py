"""That no command shows a secret: what every one of them prints, logs, warns of, raises and writes is searched."""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import shlex
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import webtable
from listing_examples import words_of
from nightly import some
from secret_urls import ANSWERS, CLOSED, DOMAIN, HOME, LOGIN, TOKEN, answering, pages, with_secrets
from webtable.cli import app
from webtable.cli.commands import COMMANDS
from webtable.cli.options import beside
from webtable.cli.session import CommandSession
from webtable.questions import LISTINGS
from webtable.repository.table.groups import TableIndexes
from webtable.repository.upkeep import repair
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, open_store
from webtable.testing import write_warc

pytest.importorskip("matplotlib")

WORDS = {
    "help": "questions",
    "serve": "--port 0",
    "get": f"{HOME}",
    "by-id": webtable.indexes.page_id(HOME),
    "history": f"{HOME}",
    "diff": f"{HOME}",
    "resolve": f"{HOME}old",
    "validators": f"{HOME}",
    "stats": "all --resume",
    "audit": f"{DOMAIN} --html audit.html",
    "compare": f"{DOMAIN} --since 30d --html compare.html",
    "crawl": "https://example.com/",  # and no contact: a reactor runs once in a process
    "ingest": "more.warc.gz pages.warc.gz --resume --workers 2 --wait 0.01s",
    "export": "exported all --format warc --resume",
    "import": "exported --resume --wait 0.01s",
    "not-modified": f"{HOME}",
    "delete": f"https://{DOMAIN}/ --yes",
    "delete-pages": f"{DOMAIN} --yes",
    "demo": "demo --until 2026-03-01",
    "rows get": 'named_keys:KEY \'{"name": "a"}\'',
    "rows scan": "named_keys:KEY all",
    "rows count": "named_keys:KEY all",
    "rows put": "named_keys:KEY rows.jsonl",
    "rows import": "named_keys:KEY flat.jsonl --create",
    "keys encode": f"{HOME}",
    "keys decode": webtable.rowkey.WebKey().encode(HOME).decode(),
    "keys ranges": f"--domain {DOMAIN}",
    "keys splits": "--regions 4",
    "keys advise": "urls.txt --regions 4",
    "index list": "",
    "index add": "crawl_indexes:language",
    "index drop": "size --yes",
    "index rebuild": "time",
    "index verify": "--all --resume",
    "index repair": "--all --resume",
    "search-index create": "",
    "search-index refresh": "",
    "search-index state": "",
    "search-index drop": "--yes",
    "links refresh": "",
    "links status": "",
    "create": "",
    "alter": "--ttl 30d --dry-run",
    "info": "--schema",
    "doctor": "--timeout 5",
    "metrics": "--textfile webtable.prom --timeout 5",
    "verify": "all --resume",
    "copy": "STORE copy.db --resume --wait 0.01s",
    "adopt": "STORE copy.db --columns url=metadata:url,body=content:html --resume --wait 0.01s",
    "backup create": "saved.db",
    "backup rescue": "rescued.db",
    "backup snapshot": "",
    "backup verify": "STORE",
    "compact": "",
    **{name.replace("_", "-"): shlex.join(words_of(listing)) for name, listing in LISTINGS.items()},
}
"""What is said to each command."""


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield the name of each command, and of those of the groups, with the command."""
    for name, listed in COMMANDS.items():
        loaded = listed.load(name)
        below = getattr(loaded, "commands", None)
        yield from [(name, loaded)] if below is None else [(f"{name} {one}", below[one]) for one in below]


FOUND = dict(all_commands())


def lines_of(name: str) -> Iterator[list[str]]:
    """Yield what is said to a command, also with each of its formats, and with `--explain`."""
    words = [*name.split(), *shlex.split(WORDS[name])]
    yield words
    for param in FOUND[name].params:
        option = param.opts[-1]
        if option == "--format" and option not in words:
            yield from ([*words, option, str(choice)] for choice in param.type.choices)
        if option == "--explain":
            yield [*words, option]
    if "--html" in words:
        yield from ([*words[:-2], "--format", one] for one in ("text", "json"))


class Seen:
    """All that can be seen of commands: what they print, log, warn of and raise, and the files that they leave."""

    def __init__(self, folder: Path, logged: pytest.LogCaptureFixture, processes: pytest.CaptureFixture[str]) -> None:
        self._folder, self._logged, self._processes = folder, logged, processes
        self.texts: list[str] = []

    def run(self, *words: str, is_unexpected: bool = False, **environment: str | None) -> int:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            done = CliRunner().invoke(app, words, prog_name="webtable", env=environment)
        assert ("unexpected error" in done.stderr) == is_unexpected, done.stderr
        self.texts += [done.stdout, done.stderr, *(str(one.message) for one in warned)]
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            self.texts += traceback.format_exception(done.exception)
        return done.exit_code

    def secrets(self, *, but: str = "") -> list[str]:
        """Return what is seen with a secret in it; the file *but* may have some."""
        logged = [f"{record.getMessage()} {vars(record)}" for record in self._logged.records]
        files = [f"{path}\n{content(path)}" for path in self._folder.rglob("*") if path.name != but]
        return with_secrets((*self.texts, *logged, *files, *self._processes.readouterr()))


def content(path: Path) -> str:
    if not path.is_file():
        return ""
    found = path.read_bytes()
    with contextlib.suppress(OSError, EOFError):
        found += gzip.decompress(found)
    return found.decode("latin-1")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All homes in the empty directory, and secrets in every variable that may have one."""
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("WEBTABLE_HBASE_PASSWORD", "WEBTABLE_HBASE_TOKEN", "WEBTABLE_HBASE_KEY_PASSWORD"):
        monkeypatch.setenv(name, TOKEN)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://{LOGIN}@127.0.0.1:9")


@pytest.fixture
def seen(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Seen:
    caplog.set_level(logging.DEBUG)
    return Seen(tmp_path, caplog, capfd)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The files that the commands name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("named_keys.py").write_text(
        "from webtable.rowkey import CompositeKey, Text\nKEY = CompositeKey(Text('name'))\n"
    )
    Path("rows.jsonl").write_text('{"values": {"name": "a"}, "cells": {"d:x": "1"}}\n')
    Path("flat.jsonl").write_text('{"name": "a", "cells": {"d:x": "MQ=="}}\n')
    Path("crawl_indexes.py").write_text(
        "import webtable\nlanguage = webtable.indexes.Index('language', lambda page: [page.language or 'en'])\n"
    )
    Path("urls.txt").write_text("".join(f"https://{host}.example/{page}\n" for host in "abcd" for page in range(50)))
    for name in ("pages", "more"):
        write_warc(f"{name}.warc.gz", pages())


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, files: None) -> Iterator[None]:
    """The store of `ANSWERS`."""
    monkeypatch.setattr(repair, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)  # until Ctrl-C
    with answering(monkeypatch):
        yield


def said(words: list[str], store: str) -> list[str]:
    """Return *words* with the *store*: in their place, where a command takes it as an argument."""
    return [store if word == "STORE" else word for word in ["-s", store, *words]]


def create_foreign(url: str) -> None:
    """A table as other programs make it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the password in it
        store, table = open_store(url)
    with store:
        store.create_table(TableSchema(table, [FamilySchema("content"), FamilySchema("metadata")]))
        cells = [NewCell(b"metadata:url", 1, HOME.encode()), NewCell(b"content:html", 1, b"x")]
        store.write(table, [Put(b"a", cells)])


NOT_IN_MEMORY = dict.fromkeys(
    ("backup create", "backup rescue", "backup snapshot", "search-index create", "search-index refresh"), 3
) | {"search-index state": 1, "crawl": 2}
"""The exit codes of what needs a store that is not in memory, or a contact."""


def test_every_command_is_known_here():
    assert set(WORDS) == set(FOUND)


# The sample web takes seconds to make, and no URL of a store.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name == "demo" else name for name in WORDS]
)
def test_a_command_that_succeeds_shows_no_secret(store: None, seen: Seen, name: str):
    url = ANSWERS.replace("crawl", "rows") if name.startswith("rows") else ANSWERS
    if name in ("rows get", "rows scan", "rows count", "rows put"):
        seen.run("-s", url, "rows", "put", "named_keys:KEY", "rows.jsonl", "--create")
    if name == "import":
        assert seen.run("-s", url, "export", "exported", "all") == 0
        url = ANSWERS.replace("crawl", "imported")

    if name == "adopt":
        url = ANSWERS.replace("/crawl", "/foreign")
        create_foreign(url)

    if name.startswith("near-duplicate"):
        assert seen.run("-s", url, "index", "add", "similarity") == 0

    codes = [seen.run(*said(words, url)) for words in lines_of(name)]

    assert seen.secrets() == []
    assert codes[0] == NOT_IN_MEMORY.get(name, 0), seen.texts


@pytest.mark.parametrize("name", some([name for name in WORDS if name != "demo"], 3))  # that asks its own store alone
def test_a_command_that_fails_shows_no_secret(files: None, seen: Seen, name: str):
    words = [*name.split(), *shlex.split(WORDS[name])]

    seen.run(*said(words, CLOSED))
    seen.run("--debug", *said(words, CLOSED.replace("timeout", "token")))

    assert seen.secrets() == []


@pytest.mark.parametrize("words", [["info"], ["audit", DOMAIN, "--html", "-"], ["ingest", "empty.jsonl"]])
@pytest.mark.parametrize("by", ["variable", "file", "profile"])
@pytest.mark.parametrize("url", [ANSWERS, CLOSED])
def test_a_store_that_is_named_elsewhere_shows_no_secret(store: None, seen: Seen, words: list[str], by: str, url: str):
    Path("empty.jsonl").write_text("\n")
    Path("webtable.toml").write_text(
        {"file": f'store = "{url}"', "profile": f'[profiles.prod]\nstore = "{url}"'}.get(by, "")
    )
    before = ["-s", "prod"] if by == "profile" else []

    seen.run(*before, *words, WEBTABLE_STORE=url if by == "variable" else None)

    assert seen.secrets(but="webtable.toml") == []


MISTYPED = {
    "a scheme": ["-s", f"hbsae+https://{LOGIN}@gateway/crawl", "get", DOMAIN],
    "a scheme that is missing": ["-s", "crawler:s3cr3t@gateway/crawl", "info"],
    "a scheme that is missing, and a short name": ["-s", "u:s3cr3t@gateway/crawl", "info"],
    "a password that is not quoted": ["-s", "hbase+https://crawler-7:s3cr3t/of@the:gate way@gateway/crawl", "info"],
    "a password that begins like a port": ["-s", "hbase+https://crawler-7:12/s3cr3t@gateway/crawl", "info"],
    "a password with a question mark": ["-s", "hbase+https://crawler-7:12?s3cr3t@gateway/crawl", "info"],
    "an option of the URL": ["-s", f"hbase+https://gateway/crawl?token={TOKEN}", "info"],
    "a kind of credentials": ["-s", f"hbase+https://gateway/crawl?auth={TOKEN}", "info"],
    "an option": [f"--stroe={ANSWERS}", "info"],
    "a value": ["create", "--salt", ANSWERS],
    "a command": [ANSWERS, "info"],
    "an argument": ["info", ANSWERS],
    "a URL of a page": ["get", ANSWERS],
    "a host": ["-s", ANSWERS, "get", DOMAIN],
    "a domain": ["pages", ANSWERS],
    "a file to read": ["ingest", ANSWERS],
    "a page that has a password": ["get", f"https://{LOGIN}@example.com/"],
}


@pytest.mark.parametrize("words", MISTYPED.values(), ids=MISTYPED)
@pytest.mark.parametrize("debug", [["--debug"], []])
def test_what_is_mistyped_shows_no_secret(seen: Seen, words: list[str], debug: list[str]):
    assert seen.run(*debug, *words) != 0

    assert seen.secrets() == []


@pytest.mark.parametrize("text", [f'store = ["{ANSWERS}"]', f'[profiles."{ANSWERS}"]', f"store = {ANSWERS}"])
def test_a_config_file_that_cannot_be_read_shows_no_secret(seen: Seen, text: str):
    Path("webtable.toml").write_text(text)

    assert seen.run("info") == 2

    assert seen.secrets(but="webtable.toml") == []


@pytest.mark.parametrize("debug", [["--debug"], []])
def test_an_unexpected_error_shows_no_secret(seen: Seen, monkeypatch: pytest.MonkeyPatch, debug: list[str]):
    def fail(url: str, **_: object) -> None:
        raise ZeroDivisionError(url)

    monkeypatch.setattr(webtable, "open", fail)

    assert seen.run(*debug, "-s", ANSWERS, "info", is_unexpected=True) == 1

    assert seen.secrets() == []


def test_a_command_that_is_interrupted_shows_no_secret(store: None, seen: Seen, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TableIndexes, "add", interrupt)

    assert seen.run("-s", ANSWERS, "index", "add", "size") == 130

    assert any("to go on: webtable -s 'hbase+http://127.0.0.1:9/crawl?auth=basic' index" in text for text in seen.texts)
    assert seen.secrets() == []


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONWARNINGS": "always"},
        {"PYTHONWARNINGS": "error"},
        {"_WEBTABLE_COMPLETE": "complete_bash", "COMP_WORDS": f"webtable -s {CLOSED} index drop ", "COMP_CWORD": "5"},
        {"_WEBTABLE_COMPLETE": "complete_bash", "COMP_WORDS": f"webtable -s {CLOSED}", "COMP_CWORD": "2"},
    ],
)
def test_a_process_shows_no_secret(tmp_path: Path, environment: dict[str, str]):
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", "from webtable.cli import main; main()", "-s", CLOSED, "info"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert with_secrets([done.stdout, done.stderr, *map(str, tmp_path.rglob("*"))]) == []


def test_a_command_that_is_printed_takes_credentials_from_where_they_belong():
    this = CommandSession.named(ANSWERS)
    assert this.command("info") == "webtable -s 'hbase+http://127.0.0.1:9/crawl?auth=basic' info"


def test_a_command_that_is_printed_names_no_store_that_is_the_usual_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEBTABLE_STORE", ANSWERS)

    assert CommandSession.named(ANSWERS).command("info") == "webtable info"


def test_metrics_name_a_table_as_it_names_itself(store: None, seen: Seen):
    seen.run("-s", ANSWERS, "metrics")

    assert 'webtable_up{table="hbase+http://127.0.0.1:9/crawl"} 1.0' in seen.texts[0]


def test_a_journal_is_the_same_one_when_the_password_has_moved_to_netrc():
    assert beside(ANSWERS, "ingest") == beside("hbase+http://127.0.0.1:9/crawl?auth=basic", "ingest")

"""Messages of the library speak of arguments; on the command line they speak of its options."""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable
from listing_examples import words_of
from webtable import cli
from webtable.cli.commands import COMMANDS
from webtable.questions import LISTINGS
from webtable.repository.maintenance import summary


@pytest.fixture
def store() -> None:
    """A store of one page."""
    with webtable.open("webtable.db", create=True) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"<title>Home</title>"))


WRONG = {
    "a time": (["get", "https://example.com/", "--as-of", "then"], "--as-of 'then' is not a time"),
    "a time of two words": (["outdated", "--not-fetched-since", "x"], "--not-fetched-since 'x' is not a time"),
    "a size": (["pages", "example.com", "--min-size", "big"], "--min-size 'big' must be a number of bytes"),
    "an option of another name": (["alter", "--set", "content"], "--set 'content' must be FAMILY.OPTION=VALUE"),
    "two that exclude each other": (
        ["outdated", "--not-fetched-since", "7d", "--not-modified-since", "7d"],
        "takes --not-fetched-since or --not-modified-since, one of the two",
    ),
    "two sizes": (
        ["largest", "--class", "huge", "--min-size", "5"],
        "--class 'huge' must be one of small, medium, large, huge, without --min-size and --max-size",
    ),
    "two versions": (
        ["diff", "https://example.com/", "--old", "1d", "--new", "2d"],
        "is before --old",
    ),
    "a part of a host": (["hosts", "example.com:80"], "SITE 'example.com:80' is a part of one host"),
    "a value of a family": (
        ["alter", "--set", "content.block_size=abc"],
        "content.block_size='ABC' must be a whole number",
    ),
    "a media type": (["pages", "example.com", "--type", "html"], "--type 'html' must be a media type"),
    "a class of statuses": (["pages", "example.com", "--status", "3x"], "a class of them, as in 404 or 3xx"),
    "a status": (["pages", "example.com", "--status", "1000"], "must be a status code, from 0 to 999"),
    "an index that is not there": (["index", "add", "no_such:index"], "cannot be imported: No module named 'no_such'"),
    "a method": (["indexed", "host"], "ask for webtable hosts"),
}


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("command", "told"), list(WRONG.values()), ids=list(WRONG))
def test_a_message_names_the_options_of_the_command(run: Run, command, told):
    done = run(*command)

    assert done.code == 2
    assert told in done.err


@pytest.mark.usefixtures("store")
def test_columns_keep_their_names_in_a_message(run: Run):
    done = run("pages", "example.com", "--columns", "type")

    assert done.err.startswith("webtable: --columns 'type' is not a column of a page; it has url, ")
    assert {"content_type", "fetched_at"} < set(done.err.replace(",", "").split())


def test_a_missing_store_is_created_by_the_command_that_is_told(run: Run):
    done = run("-s", "other.db", "pages", "example.com")

    assert done.err.endswith("no such file; create it with webtable -s other.db create\n")
    assert run("-s", "other.db", "create").code == 0


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ingest", "old.jsonl"], "(webtable -s a.db alter --ttl none) to store old captures"),
        (["ingest", "new.jsonl", "--no-refresh"], "; webtable -s a.db alter --versions all keeps all from now on"),
        (["create", "--ttl", "30"], "; to change it: webtable -s a.db alter"),
        (["indexed", "host"], "ask for webtable -s a.db hosts"),
    ],
)
def test_a_command_in_a_message_is_for_the_store_that_was_named(run: Run, words: list[str], told: str):
    run("-s", "a.db", "create", "--versions", "1", "--ttl", "90")
    page = '{{"url": "https://example.com/", "body": "{0}", "fetched_at": "{1}"}}\n'
    today = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    Path("old.jsonl").write_text(page.format("a", today) + page.format("a", "2001-01-01T00:00:00Z"))
    Path("first.jsonl").write_text(page.format("b", today))
    Path("new.jsonl").write_text(page.format("c", datetime.now(UTC).isoformat()))
    run("-s", "a.db", "ingest", "first.jsonl")

    assert told in run("-s", "a.db", *words).err


def test_info_names_the_command_for_the_store_that_was_named(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(summary, "FEW", 1)
    with webtable.open("a.db", create=True) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"a"))
        table.links.refresh()
        table.put(webtable.Page(url="https://example.com/b", body=b"b"))

    assert "run `webtable -s a.db links refresh`" in run("-s", "a.db", "info").err


def test_no_command_is_printed_but_by_the_session_and_no_store_but_by_its_name():
    """Else it would be for another store than the one that was named, or have a password in it."""
    said = re.compile(rf"\bwebtable ({'|'.join(COMMANDS)})\b")
    for path in Path(cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="note" | "complain")):
                    assert not said.search(ast.unparse(node)), f"{path.name}:{node.lineno}"
                case ast.FormattedValue(
                    value=ast.Attribute(value=ast.Name(id="this" | "self"), attr="store" | "typed")
                ):
                    pytest.fail(f"{path.name}:{node.lineno}: {ast.unparse(node)}")


# What no public method does.
OF_THE_COMMAND_LINE = {"backup rescue FILE", "backup snapshot", "backup snapshot --apply", "keys splits --regions 16"}


def test_each_command_in_a_message_of_the_library_has_the_call_that_a_program_makes_instead():
    for path in Path(webtable.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="Command"), args=[words], keywords=[]):
                    assert getattr(words, "value", None) in OF_THE_COMMAND_LINE | {"hosts", "near-duplicates"}, (
                        f"{path.name}:{node.lineno}"
                    )


@pytest.mark.parametrize(
    "listing", [listing for listing in LISTINGS.values() if listing.indexes], ids=lambda it: it.name
)
def test_a_question_without_its_index_names_the_command_that_adds_it_and_no_call(run: Run, listing):
    with webtable.open("bare.db", create=True, indexes=[]):
        pass

    told = run("-s", "bare.db", listing.name.replace("_", "-"), *words_of(listing)).err

    assert re.search(r"webtable -s bare\.db index add \w+", told)
    assert not re.search(r"\btable\.|webtable\.open|\bwith_|\(\)", told)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["search", "a", "all", "--order", "relevance"], "webtable search-index create"),
        (["search-index", "refresh"], "webtable search-index create"),
        (["keys", "advise", "--compare", "nothing", "urls.txt"], "--compare 'nothing' must be one of host, domain"),
        (["pages", "example.com", "--not-language", "1"], "--not-language '1' must be the code of a language"),
    ],
)
def test_an_error_names_commands_and_options_and_no_call_of_python(run: Run, words: list[str], told: str):
    Path("urls.txt").write_text("https://example.com/\n")

    done = run(*words)

    assert done.code
    assert told in done.err
    assert not re.search(r"\btable\.|webtable\.open|\(\)", done.err)

"""The command line, command by command, on the embedded store."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import Result, Run
from typer.main import get_command

import hostile
import webtable
from languages import TEXTS
from webtable.cli import app
from webtable.cli.commands import COMMANDS as LISTED
from webtable.cli.output import CHUNK
from webtable.formats import FORMATS
from webtable.questions import PAGES
from webtable.store.sqlite import SQLiteStore

NOW = datetime.now(UTC).replace(microsecond=0)


def page(url: str, html: bytes | None = None, days: float = 1, **fields: object) -> webtable.Page:
    body = f"<title>Page {url}</title>".encode() if html is None else html
    return webtable.Page(url=url, body=body, content_type="text/html", fetched_at=NOW - timedelta(days=days), **fields)


@pytest.fixture
def stored() -> str:
    """A store of four pages of example.com and its subdomain, and two neighbours that are none of it."""
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        writer.put(page("https://example.com/", days=3))
        writer.put(page("https://example.com/", b"<title>Home &amp; more</title>", days=1, etag='"7"'))
        writer.put(page("https://example.com/docs/a", b"<title>A</title><a href=/docs/b>next [b]</a>"))
        writer.put(page("https://example.com/docs/b", b"<title>B</title>", status=404))
        writer.put(page("https://www.example.com/x", "<title>tab\there \x1b[31m \u202e [red]é</title>".encode()))
        writer.put(page("https://examples.com/"))
        writer.put(page("https://example-shop.com/"))
    return "webtable.db"


def write_warc(path: Path, pages: list[tuple[str, bytes]], *, days: float = 1, content_type: str = "text/html") -> Path:
    date = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    packed = gzip.compress if path.suffix == ".gz" else bytes
    path.write_bytes(b"".join(packed(warc_record(url, date, content_type, body)) for url, body in pages))
    return path


def warc_record(url: str, date: str, content_type: str, body: bytes) -> bytes:
    block = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode() + body
    headers = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return headers.encode() + block + b"\r\n\r\n"


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    pages = [(f"https://example.com/{n}", f"<title>Page {n}</title>{'x' * n}".encode()) for n in range(10)]
    return write_warc(tmp_path / "crawl.warc.gz", pages)


def urls(result: Result) -> list[str]:
    return [line.split("\t")[0] for line in result.lines]


# help and usage


def all_commands() -> dict[str, Any]:
    """Return the commands by their names, those of groups too."""
    found = {name: listed.load(name) for name, listed in LISTED.items()}
    groups = {name: command for name, command in found.items() if hasattr(command, "commands")}
    below = {f"{group} {name}": one for group, of in groups.items() for name, one in of.commands.items()}
    return found | below


COMMANDS = [name for name, command in all_commands().items() if not hasattr(command, "commands")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text_and_examples_that_name_it(run: Run, command: str) -> None:
    result = run(*command.split(), "--help")

    assert result.code == 0
    assert "Examples:" in result.out
    assert f"webtable {command}" in result.out or f" {command}" in result.out.partition("Examples:")[2]


def test_the_help_names_every_command(run: Run) -> None:
    result = run("--help")

    assert result.code == 0
    for command in COMMANDS:
        assert command.split()[0] in result.out


def test_every_option_of_every_command_has_a_help_text() -> None:
    for command in all_commands().values():
        assert command.help, command.name
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"


def test_every_option_of_the_examples_exists() -> None:
    group = get_command(app)

    for name, command in all_commands().items():
        options = {option for parameter in [*command.params, *group.params] for option in parameter.opts}
        for line in (command.epilog or "").splitlines()[2:]:
            first, *others = re.split(r" (?:[|]|&&) ", line)
            ours = next((one for one in others if one.startswith("webtable")), first)
            used = {word for word in ours.split() if word.startswith("-") and word != "-"}
            assert "webtable" in ours, line
            assert name in ours, line
            assert used <= options | {"-s", "--help"} or "curl" in ours, line


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    result = run()

    assert result.code == 0
    assert "ingest" in result.out


def test_the_version_is_that_of_the_distribution(run: Run) -> None:
    assert run("--version").out.startswith("webtable 0.")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown_for_a_shell(run: Run, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)

    result = run("--show-completion")

    assert result.code == 0
    assert "_WEBTABLE_COMPLETE" in result.out or "webtable" in result.out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["get"], "URL"),
        (["pages", "example.com", "--colour"], "--colour"),
        (["--colour"], "--colour"),
        (["page"], "page"),
        (["pages", "example.com", "--format", "xml"], "xml"),
        (["pages", "example.com", "--limit", "many"], "--limit"),
        (["create", "--regions"], "--regions"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(run: Run, arguments: list[str], named: str) -> None:
    result = run(*arguments)

    assert (result.code, result.out) == (2, "")
    assert len(result.errors) == 1
    assert result.err.startswith("webtable: ")
    assert named in result.err
    assert "--help" in result.err


# ingest


def test_ingest_makes_the_store_and_tells_what_it_stored(run: Run, warc: Path) -> None:
    result = run("ingest", warc)

    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("10 pages stored in ./webtable.db/pages from 1 file in ")
    assert len(run("pages", "example.com").lines) == 10


def test_ingesting_the_same_file_twice_changes_nothing(run: Run, warc: Path) -> None:
    run("ingest", warc)
    before = run("pages", "example.com", "--format", "jsonl").out

    result = run("ingest", warc)

    assert result.code == 0
    assert run("pages", "example.com", "--format", "jsonl").out == before
    assert len(run("history", "https://example.com/3").lines) == 1


def test_ingest_reads_standard_input(run: Run, warc: Path) -> None:
    result = run("ingest", "-", stdin=warc.read_bytes())

    assert result.code == 0
    assert len(run("pages", "example.com").lines) == 10


def test_ingest_reads_what_pages_has_written_as_json_lines(run: Run, warc: Path) -> None:
    run("ingest", warc)
    lines = run("pages", "example.com", "--format", "jsonl", "--body").raw

    result = run("-s", "copy.db", "ingest", "-", stdin=lines)

    assert result.code == 0
    copied = run("-s", "copy.db", "pages", "example.com", "--format", "jsonl", "--body").raw
    assert [json.loads(line)["body"] for line in copied.splitlines()] == [
        json.loads(line)["body"] for line in lines.splitlines()
    ]


def test_other_types_are_left_out_and_counted(run: Run, tmp_path: Path) -> None:
    images = write_warc(tmp_path / "i.warc", [("https://example.com/i", b"\x89PNG")], content_type="image/png")
    texts = write_warc(tmp_path / "t.warc", [("https://example.com/t", b"text")], content_type="text/plain")

    result = run("ingest", images, texts)

    assert result.code == 0
    assert "1 page stored" in result.out
    assert "1 left out (image/png 1)" in result.out


@pytest.mark.parametrize("form", ["jsonl", "parquet", "warc"])
def test_a_status_that_no_response_has_is_reported_and_the_other_pages_are_stored(
    run: Run, tmp_path: Path, form: str
) -> None:
    file = tmp_path / f"pages.{form}"
    records = [{"url": f"https://example.com/{code}", "body": "x", "status": code} for code in (200, 2**40, 404)]
    match form:
        case "jsonl":
            file.write_text("".join(json.dumps(record) + "\n" for record in records))
        case "parquet":
            pq.write_table(pa.Table.from_pylist(records), file)
        case _:
            file.write_bytes(
                b"".join(hostile.record(b"HTTP/1.1 %d\r\n\r\nx" % one["status"], one["url"]) for one in records)
            )

    result = run("ingest", file, "--types", "all")

    assert result.code == 1
    assert "2 pages stored" in result.out
    assert "status" in result.err
    assert [line.split("\t")[0] for line in run("pages", "example.com").lines] == [
        "https://example.com/200",
        "https://example.com/404",
    ]


def test_types_says_what_is_stored(run: Run, tmp_path: Path) -> None:
    images = write_warc(tmp_path / "i.warc", [("https://example.com/i", b"\x89PNG")], content_type="image/png")

    assert "1 page stored" in run("-s", "a.db", "ingest", images, "--types", "all").out
    assert "1 page stored" in run("-s", "b.db", "ingest", images, "--types", "image/png,image/jpeg").out
    assert run("-s", "c.db", "ingest", images, "--types", "png").code == 2


def test_a_body_over_max_body_is_cut(run: Run, warc: Path) -> None:
    run("ingest", warc, "--max-body", "20B")

    assert len(run("get", "https://example.com/9", "--body").raw) == 20
    assert json.loads(run("get", "https://example.com/9", "--format", "jsonl").out)["truncated"] is True


@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=["one process", "workers"])
def test_detect_language_finds_the_language_of_pages_that_do_not_say_it(
    run: Run, tmp_path: Path, options: list[str]
) -> None:
    texts = {"a": TEXTS["de"], "b": TEXTS["en"], "c": "Too short"}
    files = [
        write_warc(tmp_path / f"{name}.warc", [(f"https://example.com/{name}", f"<p>{text}".encode())])
        for name, text in texts.items()
    ]

    run("ingest", *files, "--detect-language", *options)

    found = run("pages", "example.com", "--columns", "url,language,language_detected", "--format", "csv").out
    assert found.splitlines()[1:] == [
        "https://example.com/a,de,true",
        "https://example.com/b,en,true",
        "https://example.com/c,,false",
    ]


def test_a_new_store_has_the_layout_of_the_options(run: Run, warc: Path) -> None:
    run("ingest", warc, "--salt", "domain", "--ttl", "none", "--names", "short", "--regions", "4")

    info = run("info", "--schema").lines
    assert {"layout.salt\tdomain", "layout.ttl\tnone", "layout.names\tshort"} <= set(info)
    assert sum(line.startswith("region\t") for line in info) == 4


def test_old_captures_are_refused_before_a_store_is_made(run: Run, tmp_path: Path) -> None:
    old = write_warc(tmp_path / "old.warc", [("https://example.com/", b"<p>")], days=400)

    result = run("ingest", old, "--ttl", "90")

    assert result.code == 1
    assert len(result.errors) == 1
    assert "--ttl none" in result.err
    assert not Path("webtable.db").exists()


def test_a_new_file_keeps_old_captures(run: Run, tmp_path: Path) -> None:
    old = write_warc(tmp_path / "old.warc", [("https://example.com/", b"<p>old")], days=4000)

    assert run("ingest", old).code == 0

    lines = run("info").lines
    assert {"layout.ttl\tnone", "summary.captures\t1"} <= set(lines)
    assert run("get", "https://example.com/", "--body").raw == b"<p>old"


def test_pages_that_cannot_be_stored_are_counted_by_kind(run: Run, tmp_path: Path, warc: Path) -> None:
    old = write_warc(tmp_path / "old.warc", [(f"https://example.com/old/{n}", b"<p>") for n in range(3)], days=400)

    result = run("ingest", warc, old, "--ttl", "90")

    assert result.code == 1
    assert "10 pages stored" in result.out
    assert "3 not stored" in result.out
    assert [f"/old/{n}: " in line for n, line in enumerate(result.errors)] == [True] * 3
    assert "3 pages (ExpiredCapture)" in result.err
    assert "ttl none" in result.err


def test_a_truncated_file_stops_at_its_last_good_record_and_the_others_are_stored(
    run: Run, tmp_path: Path, warc: Path
) -> None:
    pages = [(f"https://other.example/{n}", b"<p>" * 1000) for n in range(5)]
    whole = write_warc(tmp_path / "whole.warc", pages).read_bytes()
    (tmp_path / "cut.warc").write_bytes(whole[: len(whole) * 9 // 10])

    result = run("ingest", tmp_path / "cut.warc", warc)

    assert result.code == 1
    assert len(result.errors) == 1
    assert "cut.warc" in result.err
    assert "1 damaged file" in result.out
    assert len(run("pages", "other.example").lines) == 4
    assert len(run("pages", "example.com").lines) == 10


def test_a_file_that_is_no_warc_makes_no_store(run: Run, tmp_path: Path) -> None:
    (tmp_path / "noise.warc").write_bytes(bytes(range(256)) * 40)

    result = run("ingest", tmp_path / "noise.warc")

    assert result.code == 1
    assert len(result.errors) == 1
    assert not Path("webtable.db").exists()


def test_a_field_of_another_name_is_answered_with_the_right_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"url": "https://example.com/", "html": "<p>", "price": 7, "status": 404}\n')

    result = run("ingest", tmp_path / "pages.jsonl")

    assert "html 1 (did you mean 'body'?)" in result.err
    assert "price 1," in result.err.splitlines()[0] + ","


def test_damaged_records_are_named_and_capped(run: Run, tmp_path: Path) -> None:
    good = '{"url": "https://example.com/", "body": "<p>"}\n'
    (tmp_path / "pages.jsonl").write_text(good + "{]\n" * 30 + good.replace(".com/", ".com/last"))

    result = run("ingest", tmp_path / "pages.jsonl")

    assert result.code == 1
    assert "30 damaged records" in result.out
    assert len(result.errors) == 11
    assert "20 more" in result.errors[-1]
    assert len(run("pages", "example.com").lines) == 2


# pages


def test_pages_are_plain_lines_in_a_pipe_the_url_first(run: Run, stored: str) -> None:
    result = run("pages", "example.com")

    assert (result.code, result.err) == (0, "")
    fields = [line.split("\t") for line in result.lines]
    assert {one[0] for one in fields} == {
        "https://example.com/",
        "https://example.com/docs/a",
        "https://example.com/docs/b",
        "https://www.example.com/x",
    }
    assert {len(one) for one in fields} == {5}
    assert ["404", "16", "B"] in [[one[1], one[2], one[4]] for one in fields]


def test_pages_come_in_the_order_of_their_keys(run: Run, stored: str) -> None:
    with webtable.open(stored) as table:
        expected = [page.url for page in table.pages("example.com")]

    assert urls(run("pages", "example.com")) == expected
    assert sorted(urls(run("pages", "example.com", "--order", "storage"))) == sorted(expected)


def test_pages_can_be_narrowed_to_a_host_and_a_directory(run: Run, stored: str) -> None:
    assert "https://www.example.com/x" not in urls(run("pages", "https://example.com/"))
    assert urls(run("pages", "https://example.com/docs/")) == [
        "https://example.com/docs/a",
        "https://example.com/docs/b",
    ]


def test_a_limit_tells_the_token_that_goes_on(run: Run, stored: str) -> None:
    everything = urls(run("pages", "example.com"))

    first = run("pages", "example.com", "--limit", "3")

    assert urls(first) == everything[:3]
    more, option, token = first.err.split()
    assert (more, option) == ("more:", "--after")
    rest = run("pages", "example.com", "--limit", "3", "--after", token)
    assert (urls(rest), rest.err) == (everything[3:], "")


def test_a_limit_is_exact_and_tells_of_more_where_there_is(run: Run, stored: str) -> None:
    everything = urls(run("pages", "example.com"))

    for limit in range(6):
        result = run("pages", "example.com", "--limit", limit)
        assert urls(result) == everything[:limit]
        assert bool(result.err) == (0 < limit < 4)


def test_columns_are_shown_in_the_order_given(run: Run, stored: str) -> None:
    result = run("pages", "https://example.com/", "--columns", "title,url,etag")

    assert result.lines[0] == 'Home & more\thttps://example.com/\t"7"'


def test_json_lines_have_all_fields_or_the_columns(run: Run, stored: str) -> None:
    whole = [json.loads(line) for line in run("pages", "example.com", "--format", "jsonl").lines]
    some = [json.loads(line) for line in run("pages", "example.com", "--format", "jsonl", "--columns", "title").lines]

    assert {"url", "title", "digest", "fetched_at"} <= whole[0].keys()
    assert "body" not in whole[0]
    assert [one["title"] for one in some] == [one["title"] for one in whole]
    assert some[0].keys() == {"title"}


def test_bodies_come_with_html(run: Run, stored: str) -> None:
    lines = run("pages", "https://example.com/docs/", "--format", "jsonl", "--body").lines

    assert [json.loads(line)["body"] for line in lines] == [
        "<title>A</title><a href=/docs/b>next [b]</a>",
        "<title>B</title>",
    ]


def test_csv_has_a_header_and_keeps_values_whole(run: Run, stored: str) -> None:
    rows = list(csv.reader(io.StringIO(run("pages", "example.com", "--format", "csv").out)))

    assert rows[0] == list(PAGES.usual)
    assert len(rows) == 5


def test_a_title_cannot_break_a_line_or_command_a_terminal(run: Run, stored: str) -> None:
    (line,) = run("pages", "www.example.com").lines

    assert line.count("\t") == 4
    assert line.endswith("tab here \\x1b[31m \\u202e [red]é")


def test_a_table_shows_data_as_it_is_and_not_as_markup(run: Run, stored: str, on_terminal: None) -> None:
    result = run("pages", "www.example.com")

    assert "[red]é" in result.out
    assert "\x1b[31m" not in result.out
    assert "\u202e" not in result.out
    assert "url" in result.lines[1]


@pytest.mark.parametrize("chosen", ["lines", *FORMATS])
def test_no_format_commands_a_terminal(run: Run, stored: str, on_terminal: None, chosen: str) -> None:
    result = run("pages", "www.example.com", "--format", chosen)

    assert "\x1b" not in result.out
    assert "\u202e" not in result.out
    if chosen == "jsonl":
        assert "\u202e" in json.loads(result.out)["title"]


def test_a_long_table_is_written_in_parts_that_look_alike(run: Run, on_terminal: None) -> None:
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for number in range(CHUNK * 2 + 1):
            writer.put(page(f"https://example.com/{number:04}"))

    lines = run("pages", "example.com").lines

    assert sum("https://example.com/" in line for line in lines) == CHUNK * 2 + 1
    assert sum("fetched" in line for line in lines) == 1
    rows = [line for line in lines if "https://" in line]
    assert len({line.index(" 200 ") for line in rows}) == 1
    assert max(map(len, lines)) <= 100


def test_a_table_in_a_pipe_wraps_nothing(run: Run) -> None:
    long = "https://example.com/" + "a" * 3000
    with webtable.open("webtable.db", create=True) as table:
        table.put(page(long))

    lines = run("pages", "example.com", "--format", "table").lines

    assert sum(long in line for line in lines) == 1


def test_a_domain_without_pages_is_an_empty_answer(run: Run, stored: str) -> None:
    assert (run("pages", "nowhere.example").code, run("pages", "nowhere.example").out) == (0, "")
    assert run("pages", "nowhere.example", "--format", "csv").lines == [",".join(PAGES.usual)]


def test_on_a_terminal_an_empty_answer_is_said(run: Run, stored: str, on_terminal: None) -> None:
    result = run("pages", "nowhere.example")

    assert (result.code, result.out) == (0, "")
    assert result.errors == ["no pages of nowhere.example and below"]


def test_explain_shows_ranges_and_calls_and_asks_nothing(run: Run, stored: str) -> None:
    result = run("pages", "https://example.com/", "--explain")

    assert result.code == 0
    assert "ranges: 1" in result.out
    assert "https://" not in result.out


# get, history, delete


def test_get_shows_what_is_stored_line_by_line(run: Run, stored: str) -> None:
    result = run("get", "https://EXAMPLE.com/")

    assert result.code == 0
    fields = dict(line.split("\t") for line in result.lines)
    assert fields["url"] == "https://example.com/"
    assert fields["title"] == "Home & more"
    assert fields["etag"] == '"7"'
    assert fields["change_count"] == "1"
    assert "body" not in fields


def test_get_html_writes_the_body_byte_for_byte(run: Run) -> None:
    body = bytes(range(256)) + b"\r\n\r\n"
    with webtable.open("webtable.db", create=True) as table:
        table.put(page("https://example.com/", body))

    assert run("get", "https://example.com/", "--body").raw == body


def test_get_html_on_a_terminal_is_text_that_cannot_command_it(run: Run, on_terminal: None) -> None:
    with webtable.open("webtable.db", create=True) as table:
        table.put(page("https://example.com/", "<p>é\x1b]0;owned\x07</p>\n<b>".encode()))

    assert run("get", "https://example.com/", "--body").out == "<p>é\\x1b]0;owned\\x07</p>\n<b>\n"


def test_get_shows_the_columns_it_is_asked_for(run: Run, stored: str) -> None:
    links = json.loads(run("get", "https://example.com/docs/a", "--columns", "outlinks", "--format", "jsonl").out)

    assert "https://example.com/docs/b" in str(links["outlinks"])
    assert run("get", "https://example.com/docs/a", "--columns", "title").out == "title\tA\n"


def test_get_on_a_terminal_is_a_table(run: Run, stored: str, on_terminal: None) -> None:
    result = run("get", "https://example.com/docs/a", "--columns", "url,size,outlinks")

    assert "https://example.com/docs/b  next [b]" in result.out
    assert "44 bytes" in result.out


@pytest.mark.parametrize("command", ["get", "history"])
def test_what_is_not_stored_is_one_line_and_exit_code_1(run: Run, stored: str, command: str) -> None:
    result = run(command, "https://example.com/nothing")

    assert (result.code, result.out) == (1, "")
    assert result.errors == ["webtable: https://example.com/nothing: not stored"]


def test_links_in_a_table_are_text(run: Run, stored: str) -> None:
    shown = run("pages", "https://example.com/docs/", "--columns", "outlinks", "--format", "table").out

    assert "https://example.com/docs/b next [b]" in shown


def test_history_lists_the_versions_newest_first(run: Run, stored: str) -> None:
    result = run("history", "https://example.com/")

    assert [line.split("\t")[-1] for line in result.lines] == ["Home & more", "Page https://example.com/"]


def test_a_history_in_a_file_has_all_usual_columns_or_those_that_are_named(run: Run, stored: str) -> None:
    in_full = run("history", "https://example.com/", "--format", "csv").lines
    named = run("history", "https://example.com/", "--columns", "title,outlinks", "--format", "csv").lines

    assert in_full[0] == ",".join(PAGES.usual)
    assert named[0] == "title,outlinks"


def test_delete_removes_pages_and_names_those_that_were_not_there(run: Run, stored: str) -> None:
    result = run("delete", "--yes", "https://example.com/docs/a", "https://example.com/nothing")

    assert result.code == 1
    assert result.lines == ["deleted\thttps://example.com/docs/a"]
    assert result.errors == ["webtable: https://example.com/nothing: not stored"]
    assert run("get", "https://example.com/docs/a").code == 1


def test_delete_asks_on_a_terminal_and_takes_no_for_an_answer(
    run: Run, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webtable.cli.progress.is_interactive", lambda: True)

    refused = run("delete", "https://example.com/", stdin=b"n\n")
    agreed = run("delete", "https://example.com/", stdin=b"y\n")

    assert (refused.code, agreed.code) == (1, 0)
    assert "Delete 1 page from ./webtable.db/pages?" in refused.err
    assert "deleted" not in refused.out
    assert agreed.lines[-1] == "deleted\thttps://example.com/"


def test_delete_without_a_terminal_needs_yes(run: Run, stored: str) -> None:
    result = run("delete", "https://example.com/")

    assert result.code == 2
    assert "--yes" in result.err
    assert run("get", "https://example.com/").code == 0


def test_delete_checks_all_urls_before_it_removes_one(run: Run, stored: str) -> None:
    result = run("delete", "--yes", "https://example.com/", "ftp://example.com/")

    assert result.code == 2
    assert run("get", "https://example.com/").code == 0


# create, info


def test_create_makes_a_table_and_is_idempotent(run: Run) -> None:
    first, second = run("create", "--regions", "4"), run("create", "--regions", "4")

    assert (first.code, second.code) == (0, 0)
    assert "create table 'pages'" in first.out
    assert "4 regions" in first.out
    assert second.out == "table 'pages' already exists as requested\n"
    assert run("create").out == second.out


def test_create_says_that_a_table_has_other_regions(run: Run) -> None:
    run("create", "--regions", "4")

    done, preview = run("create", "--regions", "16"), run("create", "--regions", "16", "--dry-run")

    expected = "table 'pages' already exists, as requested but for its regions: it has 4 regions, not 16\n"
    assert (done.code, done.out, preview.out) == (0, expected, expected)


@pytest.fixture
def with_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file a store with a shell, as HBase is."""
    monkeypatch.setattr(SQLiteStore, "capabilities", replace(SQLiteStore.capabilities, has_snapshots=True))


def test_a_dry_run_for_a_file_shows_no_lines_for_a_shell(run: Run) -> None:
    created = run("create", "--dry-run")

    assert created.lines == ["create table 'pages': families content, metadata, outlinks, inlinks; 1 region"]


@pytest.mark.usefixtures("with_shell")
def test_a_dry_run_for_hbase_names_all_tables_that_are_made(run: Run) -> None:
    done = run("create", "--indexes", "host,time", "--dry-run")

    others = ["pages_meta", "pages_queue", "pages_host_idx", "pages_time_idx"]
    assert done.lines[1] == f"and beside it, which webtable create makes: {', '.join(map(repr, others))}"


@pytest.mark.usefixtures("with_shell")
def test_a_dry_run_shows_the_plan_and_does_nothing(run: Run) -> None:
    result = run("create", "--regions", "4", "--ttl", "30", "--salt", "url", "--digits", "1", "--dry-run")

    assert result.code == 0
    assert "create table 'pages'" in result.out
    assert "create 'pages', {NAME => 'content'" in result.out
    assert "SPLITS => ['4', '8', 'c']" in result.out
    assert not Path("webtable.db").exists()


def test_a_dry_run_on_a_table_that_is_there_has_nothing_to_do(run: Run, stored: str) -> None:
    assert run("create", "--dry-run").out == "table 'pages' already exists as requested\n"
    assert run("create", "--dry-run", "--salt", "url").code == 3


def test_a_drift_is_shown_and_applied_when_asked(run: Run, stored: str) -> None:
    with webtable.open(stored) as table:
        (content,) = [f for f in table.store.describe(table.table).schema.families if f.name == "content"]
        table.store.set_family(table.table, type(content)("content", versions=9))

    drift = run("create")
    applied = run("create", "--alter-families")

    assert drift.code == 3
    assert len(drift.errors) == 1
    assert "--alter-families" in drift.err
    assert "versions 9 -> all" in drift.out
    assert applied.code == 0
    assert run("create").out == "table 'pages' already exists as requested\n"


def test_alter_changes_layout_and_families(run: Run, stored: str) -> None:
    result = run("alter", "--ttl", "4000d", "--versions", "5", "--set", "content.bloom=rowcol", "--yes")

    assert result.code == 0
    assert "ttl for ever -> 4,000 days, versions all -> 5, content.bloom default -> 'ROWCOL'" in result.out
    lines = run("info", "--schema").lines
    assert {"layout.ttl\t345600000 (4000 days)", "layout.versions\t5", "family.content.bloom\tROWCOL"} <= set(lines)
    assert "family.inlinks.ttl\t691200000 (8000 days)" in lines
    assert run("alter", "--versions", "5").out == "table 'pages' already exists as requested\n"


@pytest.mark.usefixtures("with_shell")
def test_alter_with_a_dry_run_shows_the_plan_and_what_is_lost_and_does_nothing(run: Run, stored: str) -> None:
    before = run("info", "--schema").out

    result = run("alter", "--ttl", "30d", "--versions", "5", "--dry-run")

    assert result.code == 0
    assert "layout of 'pages': ttl for ever -> 30 days, versions all -> 5" in result.out
    assert "removes from table 'pages', family 'content': what is older than 30 days" in result.out
    assert "alter 'pages', {NAME => 'content', VERSIONS => 5, TTL => 2592000}" in result.lines
    assert run("info", "--schema").out == before


def test_alter_asks_before_something_is_lost(run: Run, stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unasked = run("alter", "--ttl", "30d")
    monkeypatch.setattr("webtable.cli.progress.is_interactive", lambda: True)
    refused = run("alter", "--ttl", "30d", stdin=b"n\n")
    more = run("alter", "--set", "content.min_versions=1")
    allowed = run("alter", "--ttl", "30d", stdin=b"y\n")

    assert (unasked.code, refused.code, more.code, allowed.code) == (2, 1, 0, 0)
    assert "--yes" in unasked.err
    assert "what is older than 30 days" in unasked.err
    assert "nothing was changed" in refused.err
    assert "layout.ttl\t2592000 (30 days)" in run("info").lines


@pytest.mark.parametrize("option", ["--salt", "--digits", "--names", "--compression", "--plain-columns", "--indexes"])
def test_alter_says_why_a_table_keeps_the_rest(run: Run, stored: str, option: str) -> None:
    result = run("alter", option, "x")

    assert result.code == 2
    assert len(result.errors) == 1
    assert "cannot be altered, since" in result.err


@pytest.mark.parametrize("text", ["bloom", "content.bloom", "body.bloom=ROW", "content.size=1", "content.block_size=x"])
def test_alter_refuses_what_is_no_option(run: Run, stored: str, text: str) -> None:
    result = run("alter", "--set", text)

    assert result.code == 2
    assert len(result.errors) == 1


def test_info_tells_layout_families_and_regions(run: Run, stored: str) -> None:
    lines = run("info", "--schema").lines

    assert "layout.salt\thost" in lines
    assert "family.content.versions\tall" in lines
    assert "family.metadata.ttl\tnone" in lines
    assert "region\t\t\t" in lines


def test_info_on_a_terminal_is_one_list_with_some_of_many_regions(run: Run, on_terminal: None) -> None:
    run("create", "--regions", "32")

    result = run("info", "--schema")

    assert sum(line.split()[:1] == ["region"] for line in result.lines) == 20
    assert "and 12 more regions" in result.out
    assert max(map(len, result.lines)) <= 100


# keys


def test_keys_lead_back_to_their_urls(run: Run) -> None:
    given = ["https://example.com/products", "http://example.com:8080/products?id=7"]

    keys = run("keys", "encode", *given).lines

    assert keys == ["5a:com.example/products", "5a:com.example/products?id=7#http:8080"]
    assert run("keys", "decode", *keys).lines == given


def test_keys_are_those_of_the_table_that_is_there(run: Run) -> None:
    run("create", "--salt", "none")

    assert run("keys", "encode", "https://example.com/").out == "com.example/\n"
    assert run("keys", "encode", "--salt", "host", "https://example.com/").out == "5a:com.example/\n"


@pytest.mark.parametrize("key", ["com.example", "00:com.example/", "5a:com.example/\\xFF", "é"])
def test_what_is_no_key_is_refused(run: Run, key: str) -> None:
    result = run("keys", "decode", key)

    assert result.code == 2
    assert len(result.errors) == 1


# bad input: one line, the exit code, and nothing written


GATEWAY_DOWN = ["-s", "hbase://127.0.0.1:1/x?timeout=2"]
BAD_INPUT = {
    "no such store": (3, ["-s", "none.db", "pages", "example.com"], "none.db"),
    "no such directory": (3, ["-s", "none/none.db", "create"], "none"),
    "another layout": (3, ["create", "--salt", "url"], "salt"),
    "another layout, ingesting": (3, ["ingest", "pages.jsonl", "--names", "short"], "names"),
    "gateway down": (3, [*GATEWAY_DOWN, "pages", "example.com"], "127.0.0.1:1"),
    "gateway down, ingesting": (3, [*GATEWAY_DOWN, "ingest", "pages.jsonl", "--wait", "0.01s"], "127.0.0.1:1"),
    "a store of no kind": (2, ["-s", "redis://localhost/", "info"], "redis"),
    "an unknown option of the store": (2, ["-s", "hbase://localhost/x?thrift=1", "info"], "thrift"),
    "no http URL": (2, ["get", "ftp://example.com/"], "ftp"),
    "no URL": (2, ["get", "example.com"], "example.com"),
    "a URL for a domain": (2, ["pages", "https://example.com/?a"], "https://example.com/?a"),
    "an unknown column": (2, ["pages", "example.com", "--columns", "url,colour"], "colour"),
    "an unknown column of a page": (2, ["get", "https://example.com/", "--columns", "colour"], "colour"),
    "a damaged token": (2, ["pages", "example.com", "--limit", "1", "--after", "x"], "x"),
    "a negative limit": (2, ["pages", "example.com", "--limit", "-1"], "-1"),
    "not SQLite": (3, ["-s", "noise.db", "pages", "example.com"], "noise.db"),
    "not SQLite, ingesting": (3, ["-s", "noise.db", "ingest", "pages.jsonl"], "noise.db"),
    "another program's SQLite": (3, ["-s", "other.db", "create"], "other.db"),
    "no such file": (2, ["ingest", "none.warc.gz", "pages.jsonl"], "none.warc.gz"),
    "standard input twice": (2, ["ingest", "-", "-"], "standard input"),
    "a size without end": (2, ["ingest", "pages.jsonl", "--max-body", "9" * 400], "must be a number of bytes"),
    "a size that is none": (2, ["ingest", "pages.jsonl", "--max-body", "big"], "big"),
    "a TTL that is none": (2, ["-s", "new.db", "ingest", "pages.jsonl", "--ttl", "soon"], "soon"),
    "a batch of none": (2, ["ingest", "pages.jsonl", "--batch", "0"], "0"),
    "too many regions": (2, ["-s", "new.db", "create", "--regions", "999"], "999"),
    "too many digits": (2, ["-s", "new.db", "create", "--digits", "9"], "9"),
    "an unknown plain column": (2, ["-s", "new.db", "create", "--plain-columns", "colour"], "colour"),
    "no versions": (2, ["-s", "new.db", "create", "--versions", "0"], "0"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_changes_nothing(run: Run, stored: str, case: str) -> None:
    code, arguments, named = BAD_INPUT[case]
    Path("pages.jsonl").write_text('{"url": "https://new.example/", "body": "<p>"}\n')
    Path("noise.db").write_bytes(b"no database at all " * 100)
    sqlite3.connect("other.db").execute("CREATE TABLE t (x)").connection.close()
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix == ".db"}
    listing = run("pages", "example.com").out

    result = run(*arguments)

    assert (result.code, result.out) == (code, "")
    assert len(result.errors) == 1, result.err
    assert result.err.startswith("webtable: ")
    assert named in result.err
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix == ".db"} == before
    assert run("pages", "example.com").out == listing
    assert run("pages", "new.example").out == ""


def test_a_token_of_another_query_is_refused(run: Run, stored: str) -> None:
    token = run("pages", "example.com", "--limit", "1").err.split()[-1]

    result = run("pages", "https://example.com/", "--limit", "1", "--after", token)

    assert (result.code, result.out, len(result.errors)) == (2, "", 1)


def test_debug_shows_the_traceback_and_keeps_the_last_line(run: Run, stored: str) -> None:
    result = run("--debug", "get", "ftp://example.com/")

    assert result.code == 2
    assert result.errors[0].startswith("Traceback")
    assert result.errors[-1].startswith("webtable: ")


def test_a_bug_is_one_line_too(run: Run, stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webtable.WebTable, "get", lambda *_, **__: 1 / 0)

    result = run("get", "https://example.com/")

    assert result.code == 1
    assert result.errors == ["webtable: unexpected error: ZeroDivisionError('division by zero') (--debug shows where)"]


def test_the_store_can_be_named_by_the_environment(run: Run, stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(stored).rename("moved.db")
    monkeypatch.setenv("WEBTABLE_STORE", "moved.db")

    assert run("get", "https://example.com/").code == 0


def test_a_compressed_file_cut_in_its_middle_is_damaged(run: Run, warc: Path) -> None:
    data = gzip.compress(gzip.decompress(warc.read_bytes()))
    warc.write_bytes(data[: len(data) // 2])

    result = run("ingest", warc)

    assert result.code == 1
    assert len(result.errors) == 1

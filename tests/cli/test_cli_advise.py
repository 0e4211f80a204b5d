"""The command `keys advise`: what it reads, what it writes, and what it says when it cannot."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
import zstandard
from running import Result, Run

import webtable
from nightly import examples
from webtable.cli.ingest import UrlFiles
from webtable.cli.rows import RowFiles
from webtable.errors import FormatError
from webtable.rowkey import Bytes, CompositeKey, Date, Descending, HashedKey, Reversed, Text, Time, Timestamp, UInt
from webtable.rowkey.advice import WEB_DESIGNS, advise

NOW = datetime.now(UTC).replace(microsecond=0)
URLS = [f"https://h{number % 7}.example.com/{number}" for number in range(300)]


@pytest.fixture
def run(run: Run) -> Run:
    """Run `webtable keys advise` with these arguments, as in a pipe; `store` is what -s says."""

    def command(*args: object, stdin: bytes | None = None, store: str | None = None) -> Result:
        return run(*([] if store is None else ["-s", store]), "keys", "advise", *args, stdin=stdin)

    return command


def designs(result: Result) -> list[str]:
    """Return the designs, the best first."""
    return [design["name"] for design in json.loads(result.out)["designs"]]


@pytest.fixture
def urls() -> str:
    """A list of URLs."""
    Path("urls.txt").write_text("\n".join(URLS) + "\n")
    return "urls.txt"


def keys_of(result: Result) -> int:
    return json.loads(result.out)["keys"]


def warc(urls: list[str]) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>x</title>"
    return b"".join(
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {NOW:%Y-%m-%dT%H:%M:%SZ}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n".encode()
        + block
        + b"\r\n\r\n"
        for url in urls
    )


def jsonl(urls: list[str]) -> bytes:
    return b"".join(
        b'{"url": "%s", "fetched_at": "2026-01-01T00:00:00Z", "body": "x"}\n' % url.encode() for url in urls
    )


# what it reads


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("urls.txt", "\n".join(URLS).encode()),
        ("urls", b"\xef\xbb\xbf# a list\r\n\r\n  # more\r\n" + "\r\n".join(URLS).encode() + b"\r\n"),
        ("urls.txt.gz", gzip.compress("\n".join(URLS).encode())),
        ("crawl.warc", warc(URLS)),
        ("crawl.warc.gz", b"".join(gzip.compress(warc([url])) for url in URLS)),
        ("crawl.warc.zst", zstandard.compress(warc(URLS))),
        ("crawl", warc(URLS)),
        ("pages.jsonl", jsonl(URLS)),
        ("pages.ndjson.gz", gzip.compress(jsonl(URLS))),
        ("pages", b"\n" + jsonl(URLS)),
    ],
)
def test_a_list_a_warc_and_json_lines_give_their_urls_in_order(run: Run, name: str, data: bytes) -> None:
    Path(name).write_bytes(data)

    result = run(name, "--format", "json")

    assert (result.code, result.err, keys_of(result)) == (0, "", len(URLS))
    assert list(UrlFiles([name])) == URLS


def test_several_files_are_read_one_after_the_other(run: Run, urls: str) -> None:
    Path("crawl.warc").write_bytes(warc(["https://example.org/"]))

    assert list(UrlFiles(["crawl.warc", urls]))[:2] == ["https://example.org/", URLS[0]]
    assert keys_of(run("crawl.warc", urls, "--format", "json")) == len(URLS) + 1


def test_standard_input_is_a_list(run: Run) -> None:
    result = run("-", "--format", "json", stdin="\n".join(URLS).encode())

    assert (result.code, result.err, keys_of(result)) == (0, "", len(URLS))


def test_a_named_pipe_is_a_list(run: Run) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text("\n".join(URLS)))
    writer.start()

    result = run("pipe", "--format", "json")

    writer.join()
    assert (result.code, keys_of(result)) == (0, len(URLS))


@pytest.mark.slow
@pytest.mark.parametrize("store", [None, "other.db"])
def test_without_files_a_sample_of_the_table_is_measured_in_the_order_of_its_captures(
    run: Run, store: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = store or "./webtable.db"
    with webtable.open(name, create=True, regions=4) as table, table.writer() as writer:
        for number, url in enumerate(URLS):
            writer.put(webtable.Page(url=url, body=b"x", fetched_at=NOW - timedelta(hours=1, seconds=-number)))

    result = run("--format", "json", store=store)

    assert (result.code, keys_of(result)) == (0, len(URLS))
    assert result.err == f"{name}/pages: 300 pages from all of its regions, in the order in which they were fetched\n"
    expected = advise(URLS, ["none"])["none"]
    (none,) = [design for design in json.loads(result.out)["designs"] if design["name"] == "none"]
    assert none["writes"]["heat"] == [list(counts) for counts in expected.writes.heat]

    monkeypatch.setattr("webtable.cli.keys._MOST_OF_A_TABLE", 100)
    assert 16 <= keys_of(run("--format", "json", store=store)) <= 100


def test_lines_that_are_no_urls_are_told_and_left_out(run: Run, urls: str) -> None:
    with Path(urls).open("ab") as file:
        file.write(b"nonsense\nftp://example.com/\n\xff\x1b[31m\n")

    result = run(urls, "--format", "json")

    assert (result.code, keys_of(result)) == (0, len(URLS))
    assert result.err.startswith("3 lines are not URLs; the first: 'nonsense' is not a URL")
    Path("one.txt").write_text("nonsense\nhttps://example.com/\n")
    assert run("one.txt").err.startswith("1 line is not a URL; the first: ")


def test_a_url_that_is_too_long_for_one_design_is_left_out_of_all(run: Run) -> None:
    # 16,384 bytes are allowed; a salt of two digits and a colon makes three more of them.
    long = f"https://example.com/{'a' * 16_370}"
    Path("urls.txt").write_text("\n".join([*URLS, long]))

    assert keys_of(run("urls.txt", "--compare", "none", "--format", "json")) == len(URLS) + 1
    result = run("urls.txt", "--compare", "none,host", "--format", "json")

    assert (result.code, keys_of(result)) == (0, len(URLS))
    assert result.err.startswith("1 line is not a URL; the first: ")
    assert "the limit is 16,384" in result.err


def test_damaged_records_are_told_and_left_out(run: Run) -> None:
    Path("pages.jsonl").write_bytes(b'{"broken\n' + jsonl(URLS))

    result = run("pages.jsonl", "--format", "json")

    assert (result.code, keys_of(result)) == (0, len(URLS))
    assert result.err.startswith("1 damaged record; the first: pages.jsonl, line 1: ")


@pytest.mark.slow
def test_many_urls_are_read_in_little_memory() -> None:
    count = examples(by_day=100_000, by_night=200_000)
    draw = random.Random(1)

    def lines() -> Iterator[bytes]:
        for number in range(count):
            yield b"https://h%d.example.com/some/path/that/is/as/long/as/usual/%d\n" % (draw.randrange(500), number)

    with Path("urls.txt").open("wb") as file:
        file.writelines(lines())
    held = Path("urls.txt").stat().st_size + 49 * count  # each URL as a string

    tracemalloc.start()
    try:
        advice = advise(UrlFiles(["urls.txt"]), ["none"], most=8_192)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert advice.keys == count
    assert 4_096 <= advice.measured <= 8_192
    assert peak < held / 3


# what it writes


@pytest.mark.parametrize("options", [["--format", "json"], []])
def test_json_is_the_whole_advice_and_what_a_pipe_gets(run: Run, urls: str, options: list[str]) -> None:
    result = run(urls, "--compare", "host,none", *options)

    assert result.out.encode() == advise(URLS, ["host", "none"]).to_json() + b"\n"


def test_on_a_terminal_there_is_a_ranking_and_the_reasons_below_it(run: Run, urls: str, on_terminal: None) -> None:
    result = run(urls, "--compare", "hash,host", "--servers", 1)

    lines = result.out.splitlines()
    assert lines[0].strip() == "300 keys, 16 regions on 1 server, 100 at a moment"
    assert [line.split()[1] for line in lines if line.startswith((" 1 ", " 2 "))] == ["host", "hash"]
    [at] = [at for at, line in enumerate(lines) if line.startswith("1. host, for: ")]
    assert lines[at + 2].startswith("   hot: at any moment one region takes")
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("The verdict holds for crawls like this one: 7 hosts of 1 domain") for line in lines)


def test_below_the_ranking_each_column_has_a_line_that_explains_it(run: Run, urls: str, on_terminal: None) -> None:
    lines = run(urls, "--compare", "host").out.splitlines()

    for name in ("score", "hottest region", "by chance", "hottest server", "Gini", "max/mean", "key bytes", "p99"):
        assert len([line for line in lines if line.startswith(f"{name}: ")]) == 1
    below = next(at for at, line in enumerate(lines) if line.startswith("score: "))
    assert [line for line in lines[below : below + 9] if ": " not in line] == []
    assert lines[below + 9].startswith("The verdict holds")
    named = run(urls, "--compare", "host", "--column", "d:v").out.splitlines()
    assert len([line for line in named if line.startswith("with names: ")]) == 1


def test_a_table_in_a_pipe_is_not_wrapped_and_not_padded(run: Run, urls: str) -> None:
    lines = run(urls, "--format", "table").out.splitlines()

    assert any("give all values, or hash one field" in line for line in lines)
    assert max(map(len, lines)) < 300


def test_a_terminal_is_not_commanded_by_what_is_read(run: Run, on_terminal: None) -> None:
    Path("urls.txt").write_text("https://example.com/\nhttps://\x1b[31m/\n")

    for format in ("table", "json"):
        result = run("urls.txt", "--format", format)
        assert result.code == 0
        assert "\x1b" not in result.out + result.err


def test_the_options_are_those_of_the_library(run: Run, urls: str) -> None:
    result = run(
        urls,
        "--compare",
        "url, none",
        "--regions",
        4,
        "--servers",
        2,
        "--window",
        50,
        "--ask",
        "host; point: 2",
        "--column",
        "c:html",
        "--value-bytes",
        9_000,
        "--format",
        "json",
    )

    expected = advise(
        URLS,
        ["url", "none"],
        regions=4,
        servers=2,
        window=50,
        questions=["host", "point: 2"],
        column="c:html",
        value_bytes=9_000,
    )
    assert result.out.encode() == expected.to_json() + b"\n"


# keys of one's own


@pytest.fixture
def own_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the current directory that declares keys, and is forgotten behind the test."""
    Path("own_row_keys.py").write_text(
        "from webtable.rowkey import *\n"
        "BY_DAY = CompositeKey(Date('day', '%Y%m%d'), ReversedDomain('host', terminator=b'/'), Text('rest'))\n"
        "HOSTS = CompositeKey(Hash('host', first=2), ReversedDomain('host', terminator=b'/'), Text('rest'))\n"
        "IDS = CompositeKey(UInt('id'))\n"
        "EVENTS = CompositeKey(HashSalt('id', 16), UInt('id'), ReverseTimestamp('at'))\n"
        "NUMBER = 7\n"
    )
    Path("broken_row_keys.py").write_text("1 / 0\n")
    yield "own_row_keys"
    for name in ("own_row_keys", "broken_row_keys"):
        sys.modules.pop(name, None)


def test_declared_keys_are_ranked_beside_the_built_in_designs(run: Run, urls: str, own_keys: str) -> None:
    result = run(urls, "--design", "own_row_keys:BY_DAY", "--design", "own_row_keys:HOSTS")

    assert (result.code, result.err) == (0, "")
    assert sorted(designs(result)) == sorted([*WEB_DESIGNS, "own_row_keys:BY_DAY", "own_row_keys:HOSTS"])
    scores = {design["name"]: design["score"] for design in json.loads(result.out)["designs"]}
    assert scores["own_row_keys:HOSTS"] == pytest.approx(scores["host"], abs=0.001)
    assert str(Path.cwd()) not in sys.path


def test_declared_keys_are_compared_with_those_that_are_named(run: Run, urls: str, own_keys: str) -> None:
    result = run(urls, "--compare", "none", "--design", "own_row_keys:HOSTS")

    assert (result.code, sorted(designs(result))) == (0, ["none", "own_row_keys:HOSTS"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_row_keys", "--design 'own_row_keys' must be an importable name, as in my_module:NAME"),
        (":HOSTS", "--design ':HOSTS' must be an importable name"),
        ("nowhere:KEY", "--design 'nowhere:KEY' cannot be imported: No module named 'nowhere'"),
        ("own_row_keys:NONE", "cannot be imported: the module 'own_row_keys' has no 'NONE'"),
        ("broken_row_keys:KEY", "cannot be imported: ZeroDivisionError"),
        ("own_row_keys:NUMBER", "--design 'own_row_keys:NUMBER' must be a declared key, and is of the type int"),
        ("own_row_keys:IDS", "--design 'own_row_keys:IDS' is made of id, and a URL has no id; it has url, host"),
    ],
)
def test_a_name_that_leads_to_no_key_of_urls_is_one_line(
    run: Run, urls: str, own_keys: str, name: str, message: str
) -> None:
    result = run(urls, "--design", name)

    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert message in result.err
    assert str(Path.cwd()) not in sys.path


def test_a_design_that_is_given_twice_is_refused(run: Run, urls: str, own_keys: str) -> None:
    result = run(urls, "--design", "own_row_keys:HOSTS", "--design", "own_row_keys:HOSTS")

    assert result.code == 2
    assert "--design 'own_row_keys:HOSTS' is given twice" in result.err


def test_keys_of_other_values_are_compared_on_rows_in_json_lines(run: Run, own_keys: str) -> None:
    rows = [{"id": number, "at": f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"} for number in range(1_000)]
    Path("rows.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))

    result = run("rows.jsonl.gz", *(part for key in ("IDS", "EVENTS") for part in ("--design", f"own_row_keys:{key}")))

    assert (result.code, result.err) == (0, "")
    assert designs(result) == ["own_row_keys:EVENTS", "own_row_keys:IDS"]
    keys = {name: getattr(sys.modules["own_row_keys"], name.partition(":")[2]) for name in designs(result)}
    values = [{"id": row["id"], "at": datetime.fromisoformat(row["at"])} for row in rows]
    scores = {design.name: design.score for design in advise(values, keys).designs}
    for design in json.loads(result.out)["designs"]:
        assert design["score"] == pytest.approx(scores[design["name"]], rel=1e-3)


def test_questions_are_asked_of_rows_with_their_weights_and_what_has_no_answer_is_a_line(
    run: Run, own_keys: str, monkeypatch: pytest.MonkeyPatch, on_terminal: None
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{"id": n % 50, "at": f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z", "sender": n % 7} for n in range(1_000)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = ("--ask", "id, at between: 3; sender", "--ask", "latest of id: 2")
    given = ("rows.jsonl", *(part for key in ("IDS", "EVENTS") for part in ("--design", f"own_row_keys:{key}")), *asked)

    shown = run(*given, "--format", "table").out.splitlines()
    found = json.loads(run(*given, "--format", "json").out)["designs"][0]

    assert found["name"] == "own_row_keys:EVENTS"
    weights = {cost["question"]: cost["weight"] for cost in found["questions"] if cost["weight"]}
    assert weights == {"id, at between": 3, "sender": 1, "latest of id": 2}
    assert max(map(len, shown)) <= 80
    lines = [line.strip() for line in shown if line.strip().startswith("cannot answer")]
    assert len(lines) == 4
    assert lines[0].startswith("cannot answer sender: 'sender' is not a field of the key; it has id, at;")


def test_values_of_rows_are_read_as_the_fields_take_them() -> None:
    key = CompositeKey(
        Date("day", "%Y%m%d"),
        Time("clock", "%H%M"),
        Descending(Timestamp("at")),
        Bytes("tags", 2),
        Reversed(UInt("id")),
        Text("name"),
    )
    row = {"day": "2026-01-02", "clock": "10:30", "at": "2026-01-02T10:30:00+01:00", "tags": "ab", "id": 7, "name": "x"}
    Path("rows.jsonl").write_text(json.dumps(row))

    (read,) = RowFiles(["rows.jsonl"], {"mine": HashedKey(key)})

    moment = datetime(2026, 1, 2, 9, 30, tzinfo=UTC)
    assert read == {"day": date(2026, 1, 2), "clock": time(10, 30), "at": moment, "tags": b"ab", "id": 7, "name": "x"}
    assert key.decode(key.encode(**read))["id"] == 7


@pytest.mark.parametrize(
    ("line", "arguments", "message"),
    [
        ('{"id": 1}', ["--compare", "host"], "designs for URLs are not compared on rows of other values"),
        ('{"id": 1}\n[2]', [], "rows.jsonl, line 2: it is not a JSON object with values"),
        ('{"id": 1}\n{"id', [], "rows.jsonl, line 2: it is not a JSON object with values"),
        ('{"name": 1}', [], "must have values of id"),
        ('{"id": "x"}', [], "id='x' must be"),
        ("", [], "rows.jsonl: there is no row in it"),
    ],
)
def test_rows_that_cannot_be_measured_are_one_line(
    run: Run, own_keys: str, line: str, arguments: list[str], message: str
) -> None:
    Path("rows.jsonl").write_text(line)

    result = run("rows.jsonl", "--design", "own_row_keys:IDS", *arguments)

    assert (result.code in {1, 2}, result.out, result.err.count("\n")) == (True, "", 1)
    assert message in result.err


def test_rows_that_a_key_does_not_take_are_told_and_left_out(run: Run, own_keys: str) -> None:
    Path("rows.jsonl").write_text('{"id": 1}\n\n{"id": -1}\n{"id": 2}\n')

    result = run("rows.jsonl", "--design", "own_row_keys:IDS", "--format", "json")

    assert (result.code, keys_of(result)) == (0, 2)
    assert result.err.startswith("1 line with values that the keys do not take; the first: id=-1")


# errors


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["missing.txt"], "missing.txt: no such file"),
        (2, ["."], ".: a directory; name the files in it"),
        (2, ["-", "-"], "standard input (-) can be read only once"),
        (2, ["empty.txt"], "empty.txt: there is no URL in it"),
        (2, ["comments.txt", "empty.txt"], "comments.txt, empty.txt: there is no URL in it"),
        (2, ["-"], "standard input: there is no URL in it"),
        (2, ["none.txt"], "keys must have a key to measure designs on: 'nonsense' is not a URL"),
        (2, ["urls.txt", "--compare", "host,nothing"], "'nothing' must be one of host, domain, url, none"),
        (2, ["urls.txt", "--compare", ","], "must be one or more"),
        (2, ["urls.txt", "--ask", "hots: 3"], "--ask 'hots': there is no field 'hots'; the closest is host"),
        (2, ["urls.txt", "--ask", "host; subtree, host"], "'subtree' is a separate question; separate questions by"),
        (
            2,
            ["urls.txt", "--ask", "host: 0"],
            "--ask 'host: 0': the weight must be a number above 0, as in 'channel: 3'",
        ),
        (2, ["urls.txt", "--ask", "host betwen"], "--ask 'host betwen': 'host betwen' must be a field, or a field and"),
        (2, ["urls.txt", "--ask", " ; "], "--ask ' ; ' must be one or more questions, as in 'channel, sent between'"),
        (2, ["urls.txt", "--regions", "0"], "--regions 0 must be a whole number from 1"),
        (2, ["urls.txt", "--window", "-1"], "--window -1 must be a whole number from 1"),
        (2, ["urls.txt", "--column", "family"], "--column 'family' must be family:qualifier"),
        (2, ["urls.txt", "--format", "csv"], "csv"),
        (1, ["broken.warc"], "broken.warc, byte 0, after 0 good records: "),
        (1, ["cut.txt.gz"], "cut.txt.gz, after "),
        (1, ["binary.txt"], "without the b'\\n' that ends a header or a line"),
        (3, [], "webtable.db"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Run, urls: str, code: int, arguments: list[str], message: str) -> None:
    Path("empty.txt").write_bytes(b"")
    Path("comments.txt").write_bytes(b"# nothing\n\n")
    Path("none.txt").write_bytes(b"nonsense\n")
    Path("broken.warc").write_bytes(b"this is no WARC file")
    Path("cut.txt.gz").write_bytes(gzip.compress("\n".join(URLS).encode())[:-20])
    Path("binary.txt").write_bytes(bytes(3 << 20))

    result = run(*arguments)

    assert result.code == code
    assert result.out == ""
    assert result.err.startswith("webtable: ")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_an_empty_table_is_told_by_its_name(run: Run) -> None:
    webtable.open("webtable.db", create=True).close()

    result = run()

    assert (result.code, result.err) == (2, "webtable: ./webtable.db/pages: there is no page in it\n")


def test_a_damaged_list_raises_a_format_error_that_names_it() -> None:
    Path("cut.gz").write_bytes(gzip.compress("\n".join(URLS).encode())[:-20])

    with pytest.raises(FormatError, match=r"^cut\.gz, after \d+ lines?: "):
        list(UrlFiles(["cut.gz"]))


# progress and help


def test_progress_tells_bytes_keys_and_a_rate_and_then_that_it_measures(urls: str) -> None:
    reading = UrlFiles([urls])
    found = iter(reading)
    assert reading.progress() == (0, "0 keys  0 keys/s")

    next(found)
    done, text = reading.progress()
    assert done == Path(urls).stat().st_size
    assert text.startswith("1 key  ")
    assert text.endswith(" keys/s")

    list(found)
    assert reading.progress()[1] == "300 keys  measuring"


def test_the_help_has_examples_and_every_option(run: Run) -> None:
    result = run("--help")

    assert result.code == 0
    assert "webtable keys advise urls.txt" in result.out
    for option in (
        "compare",
        "regions",
        "servers",
        "window",
        "ask",
        "design",
        "column",
        "value-bytes",
        "format",
    ):
        assert f"--{option}" in result.out

"""The commands about ranges and regions: `keys ranges` and `keys splits`."""

from __future__ import annotations

import ast
import gzip
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from running import Result, Run

import webtable
from webtable.rowkey import KeyRange, Salt, WebKey, key_text, parse_key, split_points
from webtable.store import Region


@pytest.fixture
def run(run: Run) -> Run:
    """Run `webtable keys` with these arguments, as in a pipe; `store` is what -s says."""

    def command(*args: object, stdin: str | None = None, store: str | None = None) -> Result:
        return run(*([] if store is None else ["-s", store]), "keys", *args, stdin=stdin)

    return command


def stored(path: str, *urls: str, **options) -> str:
    moment = datetime.now(UTC) - timedelta(days=1)
    with webtable.open(path, create=True, **options) as table, table.writer() as writer:
        for url in urls:
            writer.put(webtable.Page(url=url, body=b"x", fetched_at=moment))
    return path


# ranges


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--domain", "example.com", "--salt", "domain"], "5a:com.example.\t5a:com.example0"),
        (["--host", "Example.com"], "5a:com.example/\t5a:com.example0"),
        (["--directory", "https://example.com/docs"], "5a:com.example/docs/\t5a:com.example/docs0"),
        (["--directory", "https://example.com/docs/"], "5a:com.example/docs/\t5a:com.example/docs0"),
        (["--domain", "example.com", "--salt", "none"], "com.example.\tcom.example0"),
    ],
)
def test_a_range_is_its_first_key_and_the_key_behind_it(run: Run, arguments: list[str], line: str) -> None:
    result = run("ranges", *arguments)

    assert (result.code, result.lines, result.err) == (0, [line], "")


def test_ranges_are_one_a_salt_where_the_pages_are_below_several(run: Run) -> None:
    cells = run("ranges", "--domain", "example.com").cells

    assert [KeyRange(*map(parse_key, pair)) for pair in cells] == WebKey().subtree_ranges("example.com")
    assert len(run("ranges", "--host", "example.com", "--salt", "url", "--digits", 1).lines) == 16


def test_ranges_are_those_of_the_table_that_is_there(run: Run) -> None:
    stored("webtable.db", salt=Salt.none())

    assert run("ranges", "--host", "example.com").out == "com.example/\tcom.example0\n"
    assert run("ranges", "--host", "example.com", "--salt", "host").out == "5a:com.example/\t5a:com.example0\n"


def test_ranges_on_a_terminal_are_a_table_and_their_number(run: Run, on_terminal: None) -> None:
    result = run("ranges", "--domain", "example.com", "--digits", 1)

    assert result.lines[1].split() == ["first", "key", "up", "to"]
    assert "5:com.example.   5:com.example0" in result.out
    assert result.err == "16 ranges\n"


# splits


def test_splits_are_a_file_for_the_shell(run: Run) -> None:
    assert run("splits", "--regions", 4).out == "40\n80\nc0\n"
    assert run("splits", "--regions", 4, "--digits", 1).lines == ["4", "8", "c"]
    assert run("splits", "--regions", 2, "--digits", 32).lines == ["8".ljust(32, "0")]


def test_splits_are_written_for_the_shell_and_for_python(run: Run) -> None:
    assert run("splits", "--regions", 4, "--format", "shell").out == "SPLITS => ['40', '80', 'c0']\n"
    assert ast.literal_eval(run("splits", "--regions", 16, "--format", "python").out) == split_points(16)


def test_one_region_is_an_empty_file(run: Run) -> None:
    result = run("splits", "--regions", 1)

    # An empty line would be an empty split key, which HBase refuses.
    assert (result.code, result.out, result.err) == (0, "", "")


def test_splits_are_those_of_the_table_that_is_there(run: Run) -> None:
    stored("webtable.db", salt=Salt.host(digits=3))

    assert run("splits", "--regions", 2).out == "800\n"
    assert run("splits", "--regions", 2, "--digits", 1).out == "8\n"
    assert run("splits", "--regions", 2, "--salt", "domain").out == "80\n"


def test_splits_of_hex_digits_have_their_width_and_case(run: Run) -> None:
    assert run("splits", "--regions", 4, "--first", "00000000", "--last", "FFFFFFFF").lines == [
        "40000000",
        "80000000",
        "C0000000",
    ]


def test_splits_of_a_sample_hold_equally_many_keys(run: Run) -> None:
    keys = [b"com.example/%d" % number for number in range(9)] + [b"\xff'\\ "] * 2
    Path("keys.txt").write_text("".join(f"{key_text(key)}\r\n\n" for key in keys))

    from_file = run("splits", "--regions", 2, "--sample", "keys.txt")
    from_pipe = run("splits", "--regions", 10, "--sample", "-", stdin=Path("keys.txt").read_text())

    assert from_file.out == "com.example/5\n"
    assert from_pipe.lines == [f"com.example/{number}" for number in range(1, 9)] + ["\\xFF"]
    assert from_pipe.err == ""


def test_splits_of_urls_are_those_of_their_keys(run: Run) -> None:
    urls = "".join(f"https://h{number}.example/\n" for number in range(100))
    keys = sorted(WebKey().encode(url) for url in urls.split())

    salted = run("splits", "--regions", 4, "--urls", "-", stdin=urls)
    bare = run("splits", "--regions", 2, "--urls", "-", "--salt", "none", stdin=urls)

    assert [sum(key < parse_key(line) for key in keys) for line in salted.lines] == [25, 50, 75]
    assert bare.lines == ["example.h54"]


def test_too_few_keys_give_fewer_regions_and_say_so(run: Run) -> None:
    result = run("splits", "--regions", 16, "--sample", "-", stdin="a\nb\na\n")

    assert (result.code, result.out) == (0, "b\n")
    assert result.err == "2 regions, not 16: the sample has too few different keys\n"


@pytest.fixture
def split_as_it_grew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the table have three regions, as HBase would make them."""
    bounds = [b"", b"55", b"5a:com.example/", b""]
    found = [Region(KeyRange(*pair), "node:16020") for pair in pairwise(bounds)]
    monkeypatch.setattr("webtable.store.sqlite.SQLiteStore.regions", lambda *_: found)


# bad input: one line, the exit code, and nothing written


BAD_INPUT = {
    "no question": (2, ["ranges"], "--domain"),
    "two questions": (2, ["ranges", "--domain", "a.com", "--host", "a.com"], "--host"),
    "a URL for a host": (2, ["ranges", "--host", "https://a.com/"], "https://a.com/"),
    "an empty directory": (2, ["ranges", "--directory", ""], "empty"),
    "a directory with a query": (2, ["ranges", "--directory", "https://a.com/?q"], "query"),
    "too many digits for a salt": (2, ["ranges", "--host", "a.com", "--digits", "5"], "--digits 5"),
    "no regions": (2, ["splits"], "--regions"),
    "too many regions": (2, ["splits", "--regions", "257"], "--regions 257 must be from 1 to 256"),
    "regions without a salt": (2, ["splits", "--regions", "2", "--salt", "none"], "--urls or --sample"),
    "regions beyond count": (2, ["splits", "--regions", "99999999", "--digits", "32"], "--regions 99999999"),
    "too many digits": (2, ["splits", "--regions", "2", "--digits", "33"], "--digits 33"),
    "more digits than a salt has": (2, ["splits", "--regions", "2", "--digits", "5", "--salt", "url"], "--digits 5"),
    "one end": (2, ["splits", "--regions", "2", "--first", "00"], "--last"),
    "ends of two widths": (2, ["splits", "--regions", "2", "--first", "00", "--last", "fff"], "'fff'"),
    "ends that are no hex": (2, ["splits", "--regions", "2", "--first", "0g", "--last", "ff"], "--first '0g'"),
    "two kinds": (2, ["splits", "--regions", "2", "--first", "0", "--last", "f", "--sample", "-"], "--sample"),
    "digits of a sample": (2, ["splits", "--regions", "2", "--sample", "-", "--digits", "2"], "--digits"),
    "no such sample": (2, ["splits", "--regions", "2", "--sample", "none.txt"], "none.txt"),
    "a directory for a sample": (2, ["splits", "--regions", "2", "--sample", "."], "a directory"),
    "a sample of no keys": (2, ["splits", "--regions", "2", "--sample", "bad.txt"], "bad.txt, line 2"),
    "a sample of no URLs": (2, ["splits", "--regions", "2", "--urls", "bad.txt"], "bad.txt, URL 1"),
    "an unknown form": (2, ["splits", "--regions", "2", "--format", "json"], "json"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_writes_nothing(run: Run, case: str) -> None:
    code, arguments, named = BAD_INPUT[case]
    Path("bad.txt").write_bytes(b"a\n\xff\n")

    result = run(*arguments)

    assert (result.code, result.out) == (code, "")
    assert len(result.err.splitlines()) == 1, result.err
    assert named in result.err
    assert [path.name for path in Path().iterdir()] == ["bad.txt"]


def test_split_points_come_from_a_list_of_urls_however_it_is_written(run: Run) -> None:
    urls = "\ufeff# of last week\r\n\r\n" + "\r\n".join(f"https://example.com/{letter}" for letter in "abcd")
    Path("urls.txt.gz").write_bytes(gzip.compress(urls.encode()))

    result = run("splits", "--regions", "2", "--urls", "urls.txt.gz", "--salt", "none")

    assert result.lines == ["com.example/c"]

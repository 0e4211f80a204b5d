"""How many contents of a page a table keeps, on the command line: what is dropped is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from running import Run

import webtable

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def warcs() -> list[str]:
    """Six WARC files with six contents of one page, and what was there before all of them."""
    names = []
    for number in range(6):
        block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{number}".encode()
        head = (
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.com/\r\n"
            f"WARC-Date: {NOW - timedelta(days=9 - number):%Y-%m-%dT%H:%M:%SZ}\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        names.append(f"{number}.warc")
        Path(names[-1]).write_bytes(head.encode() + block + b"\r\n\r\n")
    return names


def kept(store: str = "webtable.db") -> int:
    with webtable.open(store) as table:
        return len(table.history("https://example.com/"))


def test_a_file_keeps_every_content_and_the_doctor_says_both_limits(run: Run, warcs: list[str]) -> None:
    result = run("ingest", *warcs)

    assert kept() == 6
    assert "dropped" not in result.out + result.err
    assert "keeps every content of a page, for ever" in run("doctor").out


def test_what_a_limit_drops_is_reported_at_the_end_of_ingest(run: Run, warcs: list[str]) -> None:
    run("create", "--versions", "3", "--ttl", "90")

    result = run("ingest", *warcs[1:], warcs[0])

    assert kept() == 3
    assert (
        "dropped: 2 older contents of pages and 1 capture older than all that are kept, as the table keeps the newest "
        "3 contents of a page; webtable alter --versions all keeps all from now on" in result.err
    )
    assert "; 3 dropped" in result.out
    assert result.code == 0
    assert "keeps the newest 3 contents of a page, for 90 days" in run("doctor").out


def test_workers_count_what_is_dropped_as_one_process_does(run: Run, warcs: list[str]) -> None:
    run("create", "--versions", "1")

    result = run("ingest", "--workers", "2", *warcs)

    assert kept() == 1
    assert "; 5 dropped" in result.out


def test_a_table_is_altered_to_keep_all(run: Run, warcs: list[str]) -> None:
    run("create", "--versions", "2")

    altered = run("alter", "--versions", "all")
    run("ingest", *warcs)

    assert "versions 2 -> all" in altered.out
    assert kept() == 6
    assert run("alter", "--versions", "many").code == 2

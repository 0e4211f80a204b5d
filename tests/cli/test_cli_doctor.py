"""`webtable doctor`: what it prints, its exit codes, and who points to it."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from running import Run

import webtable


@pytest.fixture
def stored() -> str:
    with webtable.open("webtable.db", create=True, indexes=["link"]) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"abc"))
    return "webtable.db"


def test_of_a_table_without_trouble_every_line_is_ok(run: Run, stored: str):
    done = run("doctor", "--deep")

    assert done.code == 0
    assert {cells[0] for cells in done.cells} == {"ok"}
    assert ["ok", "rows", "1 page of a sample can be read", ""] in done.cells


def test_the_json_has_the_fields_and_checks_of_its_help(run: Run, stored: str):
    told = " ".join(run("doctor", "--help").out.split())

    lines = [json.loads(line) for line in run("doctor", "--deep", "--format", "jsonl").lines]

    assert {tuple(line) for line in lines} == {("check", "state", "finding", "fix")}
    assert {line["fix"] for line in lines} == {None}
    named = re.search(r"what was looked at: ([^;]*);", told)[1].split(", ")
    assert {line["check"] for line in lines} <= set(named)


def test_a_check_that_failed_is_the_exit_code(run: Run, stored: str):
    with webtable.open(stored) as table:
        table.store.drop_table("pages_link_idx")

    done = run("doctor", stored)

    assert done.code == 1
    (failed,) = [cells for cells in done.cells if cells[0] == "failed"]
    assert failed[1] == "tables"
    assert "webtable -s webtable.db create, and fill that of an index" in failed[3]


def test_on_a_terminal_the_remedy_stands_below(run: Run, stored: str, on_terminal: None):
    Path(stored).chmod(0o666)

    lines = run("doctor").lines

    at = next(place for place, line in enumerate(lines) if "permissions" in line)
    assert lines[at] == "warning permissions: 666: other users may write to it"
    assert lines[at + 1].strip().startswith("→ chmod go-w")


@pytest.mark.parametrize(
    ("content", "found"), [(b"no database at all", "not an SQLite database"), (b"", "an empty file"), (None, "no such")]
)
def test_what_is_no_store_is_told_and_left_alone(run: Run, content: bytes | None, found: str):
    other = Path("other.db")
    if content is not None:
        other.write_bytes(content)

    done = run("doctor", other)

    assert done.code == 1
    assert done.cells[0][:2] == ["failed", "store"]
    assert found in done.cells[0][2]
    assert done.cells[0][3]
    assert (other.read_bytes() if other.exists() else None) == content


def test_a_table_that_is_not_there_names_the_command_for_this_store(run: Run, stored: str):
    done = run("-s", "sqlite:webtable.db?table=others", "doctor")

    assert done.code == 1
    assert "webtable -s 'sqlite:webtable.db?table=others' create" in done.out


def test_a_url_that_is_none_is_wrong_usage(run: Run):
    done = run("doctor", "ftp://host/x")

    assert (done.code, len(done.errors)) == (2, 1)


def test_an_error_of_a_connection_points_to_the_doctor(run: Run):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"hbase://127.0.0.1:{free.getsockname()[1]}/crawl"

    done = run("-s", url, "info")

    assert (done.code, len(done.errors)) == (3, 1)
    assert done.err.endswith(f"to see what is wrong: webtable -s {url} doctor\n")


def test_a_gateway_that_is_not_there_is_a_check_that_failed(run: Run):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    done = run("doctor", f"hbase://127.0.0.1:{port}/crawl?thrift2={port}")

    assert done.code == 1
    assert done.cells[0][:3] == ["failed", f"gateway 127.0.0.1:{port}", f"nothing listens at 127.0.0.1:{port}"]
    assert f"hbase thrift start -p {port}" in done.cells[0][3]

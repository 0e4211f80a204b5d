"""What `info` and `stats` write for machines has the fields that their help texts name."""

from __future__ import annotations

import json
import re

import pytest
from running import Run

import webtable


@pytest.fixture(autouse=True)
def store() -> None:
    with webtable.open("webtable.db", create=True, ttl=86_400, indexes=["time"]) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"abc"))


def test_info_has_the_fields_of_its_help(run: Run):
    told = " ".join(run("info", "--help").out.split())

    lines = [json.loads(line) for line in run("info", "--schema", "--format", "jsonl").lines]

    kinds = {"table", "summary", "space", "layout", "index", "family", "region"}
    assert {line["what"] for line in lines} == kinds
    held = next(line for line in lines if line["what"] == "summary")
    assert re.search(r'"summary" \(pages, captures, stored and unpacked, .* hosts, oldest, newest, as_of,', told)
    names = ["pages", "captures", "stored", "unpacked", "hosts", "oldest", "newest", "as_of", "waiting"]
    assert list(held) == ["what", *names]
    assert [held[name] for name in ("pages", "captures", "unpacked", "hosts", "as_of")] == [1, 1, 3, 1, None]
    layout = next(line for line in lines if line["what"] == "layout")
    fields = re.search(r'"layout" \(([^)]*)\)', told)[1].replace(" in seconds", "").split(", ")
    assert layout.keys() == {"what", *fields}
    assert layout["ttl"] == 86_400
    assert {"what": "index", "name": "time", "phase": "ready", "of": None} in lines
    assert {"what": "region", "start": "", "stop": "", "server": ""} in lines
    assert [line["versions"] for line in lines if line.get("name") == "content"] == [2**31 - 1]


def test_the_statistics_have_the_fields_of_their_help(run: Run):
    lines = [json.loads(line) for line in run("stats", "all", "--by", "host", "--format", "jsonl").lines]

    assert lines == [
        {"by": "all", "group": "", "pages": 1, "bytes": 3},
        {"by": "host", "group": "example.com", "pages": 1, "bytes": 3},
    ]

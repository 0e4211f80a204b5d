"""Any input is answered or refused by a typed error: what was found once, good inputs, and some that are made."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from guard import FINDINGS, Guard, store
from hypothesis import HealthCheck, Phase, given, settings
from run import fuzz, jobs
from targets import TARGETS, Target, tokens
from targets.target import edited

from webtable.rowkey import WebKey

MADE = 100
"""Inputs for each target: the long run makes more."""


@pytest.mark.parametrize("finding", sorted(FINDINGS.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_once_is_mended(finding: Path):
    TARGETS[finding.parent.name].check(finding.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs_keep_the_promise(name):
    for data in TARGETS[name].seeds():
        TARGETS[name].check(data)


def check_some(name: str, inputs: int = MADE) -> None:
    options = settings(
        max_examples=inputs,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    options(given(TARGETS[name].inputs())(TARGETS[name].check))()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_inputs_of_the_right_structure_keep_the_promise(name):
    check_some(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "broken", "by"),
    [
        ("urls", "webtable.rowkey.web._suffix", lambda scheme, port: f"#{scheme}"),
        ("keys", "webtable.rowkey.web.WebKey.decode", WebKey.url_of),
        ("tokens", "webtable.repository.answers.tokens._checksum", lambda packed: bytes(6)),
        ("cells", "webtable.repository.page_storage.cells.is_intact", lambda value, begin: True),
        ("rpc", "webtable.store.hbase.native.connection._message", lambda data, at, stop: (at + 1, at + 1 + data[at])),
        ("jsonl", "webtable.formats.read.TIMES", ()),
        ("warc", "webtable.formats.read_report.ReadReport.add_record", lambda report, offset: None),
        ("texts", "webtable.display.text._SIZE", re.compile(r"(.+)(k)?")),
    ],
)
def test_what_breaks_is_found(monkeypatch, name, broken, by):
    monkeypatch.setattr(broken, by)

    tokens._tokens.cache_clear()

    with pytest.raises((AssertionError, ValueError, IndexError)):
        check_some(name, 10_000)

    tokens._tokens.cache_clear()


@pytest.mark.slow
def test_atheris_runs_as_many_inputs_as_it_is_told():
    pytest.importorskip("atheris", reason="there is no atheris for this machine")

    tallies = fuzz("texts", 300, engine="atheris")

    assert tallies["atheris"].inputs == 300
    assert tallies["atheris"].findings == {}


def test_every_finding_is_explained():
    told = (FINDINGS / "README.md").read_text()

    files = [path for path in FINDINGS.glob("*/*") if f"`{path.parent.name}/{path.name}`" not in told]

    assert files == []


def hurt(data: bytes) -> None:
    if data == b"bad":
        raise KeyError(data)
    if data == b"long":
        end = time.process_time() + 0.06
        while time.process_time() < end:
            pass


BROKEN = Target("broken", hurt, lambda: None, lambda: [b"good"], seconds=0.05)


def test_the_guard_stores_what_breaks_a_promise_once_and_goes_on(tmp_path, capsys):
    guard = Guard(BROKEN, tmp_path / "current", tmp_path, bound=False)

    for data in (b"good", b"bad", b"bad", b"good"):
        guard.run(data)

    (found,) = guard.tally.findings
    assert found.startswith("KeyError in test_fuzzing.py")
    assert (guard.tally.inputs, guard.tally.findings[found]) == (4, 2)
    assert [path.read_bytes() for path in (tmp_path / "broken").iterdir()] == [b"bad"]
    assert found in capsys.readouterr().err


def test_an_input_that_takes_too_long_is_a_finding(tmp_path):
    guard = Guard(BROKEN, tmp_path / "current", tmp_path, bound=False)

    guard.run(b"long")

    assert list(guard.tally.findings) == ["over 0.05 s"]


def test_a_stored_finding_is_named_by_what_it_is(tmp_path):
    assert store(tmp_path, b"x") == store(tmp_path, b"x") != store(tmp_path, b"y")


def test_the_engines_share_the_inputs():
    parts = list(jobs("urls", 1_000_000))

    assert sum(part.inputs for part in parts) == 1_000_000
    assert len({(part.engine, part.seed) for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [((0, 7), b"ab\x07d"), ((1, 0), b"abbd"), ((2, 0), b"ab"), ((3, 0), b"abd"), ((5, 1), b"abcdcd")],
)
def test_an_edit_changes_one_place(edit, expected):
    assert edited(b"abcd", bytes([128, 0, *edit])) == expected

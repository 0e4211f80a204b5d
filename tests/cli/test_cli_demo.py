"""`webtable demo`: something to ask, with nothing but the library."""

from __future__ import annotations

import re
import shlex

import pytest


@pytest.fixture
def made(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return run("demo")


def test_it_makes_a_store_and_asks_it_five_questions(made, run, tmp_path):
    commands = re.findall(r"^\$ webtable (.*)$", made.out, re.MULTILINE)

    assert made.code == 0
    assert (tmp_path / "webtable-demo" / "webtable.db").exists()
    assert len(commands) == 5
    for command in commands:
        answer = run(*shlex.split(command))
        assert answer.out
        assert answer.out in made.out


def test_a_second_run_asks_what_is_there(made, run):
    again = run("demo")

    assert again.out == made.out


def test_it_can_be_made_without_questions(run, tmp_path):
    done = run("demo", str(tmp_path / "other"), "--no-ask", "--until", "2026-03-01")

    assert done.code == 0
    assert "$ webtable" not in done.out
    assert run("-s", str(tmp_path / "other" / "webtable.db"), "pages", "example.org", "--limit", "1").out


def test_a_folder_that_cannot_be_made_is_named(run, tmp_path):
    (tmp_path / "file").write_text("")

    done = run("demo", str(tmp_path / "file" / "folder"))

    assert done.code == 2
    assert "Not a directory: give another folder" in done.err

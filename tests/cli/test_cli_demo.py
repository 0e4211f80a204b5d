"""`webtable demo`: something to ask, with nothing but the library."""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from pathlib import Path

import pytest
from running import webtable_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which `webtable demo` has been run."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def made(folder):
    with chdir(folder):
        return webtable_command("demo")


@pytest.fixture
def in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.usefixtures("in_folder")
def test_it_makes_a_store_and_asks_it_five_questions(made, run):
    commands = re.findall(r"^\$ webtable (.*)$", made.out, re.MULTILINE)

    assert made.code == 0
    assert Path("webtable-demo/webtable.db").exists()
    assert len(commands) == 5
    for command in commands:
        answer = run(*shlex.split(command))
        assert answer.out
        assert answer.out in made.out


@pytest.mark.usefixtures("in_folder")
def test_a_second_run_asks_what_is_there(made, run):
    again = run("demo")

    assert again.out == made.out


@pytest.mark.slow
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

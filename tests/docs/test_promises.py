"""Every promise of the docs stands in docs/reference/promises.md in the same words, with its tests."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGES = {name: (DOCS / f"{name.lower()}.md").read_text() for name in ("Reliability", "Consistency")}
TABLES = (DOCS / "reference" / "promises.md").read_text()
OTHERWISE = {"nightly": "make nightly", "cluster": "make test MARK=cluster"}
"""The marks of files that `make test` runs nothing of, and the command that does."""


def plain(text: str) -> str:
    """Return *text* in one line, without what makes some of it bold."""
    return re.sub(r"\s+", " ", text.replace("**", ""))


def held(section: str) -> dict[str, str]:
    """Return the promises of *section* of the list, and the cell with their tests."""
    text = TABLES.split(f"## {section}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| (.+?) \| (.*`test_.*|.*/test_.*) \|$", text, re.MULTILINE))


ALL = [(section, promise, tests) for section in PAGES for promise, tests in held(section).items()]
FUTURE = "from __future__ import annotations\n"


@cache
def written(file: str) -> set[str]:
    """Return the names of the tests in *file* that are no part of `make nightly` alone."""
    text = (TESTS / file).read_text()
    if shared := re.search(r"^from (webtable\.testing\.\w+) import \*", text, re.MULTILINE):
        text += (TESTS.parent / "src" / f"{shared[1].replace('.', '/')}.py").read_text().replace(FUTURE, "")
    tree = ast.parse(text)
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any(ast.unparse(mark).endswith(("mark.nightly", "mark.skip")) for mark in function.decorator_list)
    }


def command_of(file: str) -> str:
    """Return the command that runs *file*."""
    marks = re.search(r"^pytestmark = (.*)", (TESTS / file).read_text(), re.MULTILINE)
    commands = [command for mark, command in OTHERWISE.items() if marks and f"mark.{mark}" in marks[1]]
    return commands[0] if commands else "make test"


@pytest.mark.parametrize(("section", "promise", "tests"), ALL, ids=[promise for _, promise, _ in ALL])
def test_a_promise_is_held_by_tests_that_run(section, promise, tests):
    assert plain(promise) in plain(PAGES[section])
    command = "make test"
    by_day = 0
    for said, file, name in re.findall(r"(make [\w =]+):|`([\w/.]+)::(\w+)`", tests):
        command = said or command
        if file:
            assert name in written(file), f"{file}::{name}"
            assert command_of(file) == command, f"{file}::{name} is run by another command"
            by_day += command == "make test"
    assert by_day, "make test holds it by none"


def test_every_promise_of_reliability_is_held():
    promised = PAGES["Reliability"].split("## What is promised")[1].split("\n## ")[0]
    bullets = [plain(bullet) for bullet in re.split(r"^- ", promised, flags=re.MULTILINE)[1:]]

    assert len(bullets) >= 7
    assert [one for one in bullets if not any(plain(promise) in one for promise in held("Reliability"))] == []


def test_every_section_of_consistency_is_held():
    sections = re.split(r"^## ", PAGES["Consistency"], flags=re.MULTILINE)[1:]

    missing = [
        one.splitlines()[0]
        for one in sections
        if not any(plain(promise) in plain(one) for promise in held("Consistency"))
    ]
    assert missing == []

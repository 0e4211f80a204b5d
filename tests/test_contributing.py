"""What CONTRIBUTING.md says of where to add something is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LISTS = re.findall(r"\*\*(Add an? \w+)\*\*(.*?)(?=\n\*\*Add|\nSmaller things)", TEXT, re.DOTALL)
GOALS = {"Add a field": 8, "Add a question": 10}
"""How many files a change may touch, its own test and what a script writes left out."""


@pytest.mark.parametrize(("name", "text"), LISTS, ids=[name for name, _ in LISTS])
def test_every_file_that_a_list_names_is_there(name, text):
    named = re.findall(r"`((?:src|docs|tests)/[\w/.]+)`", text)

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert len({path for path in named if not path.startswith("tests/")}) <= GOALS.get(name, 10)


def test_there_is_a_list_for_a_field_a_question_an_index_a_format_and_a_store():
    assert [name for name, _ in LISTS] == [
        "Add a field",
        "Add a question",
        "Add an index",
        "Add a format",
        "Add a store",
    ]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/webtable/repository/questions/changes.py", "class Changes"),
        ("src/webtable/formats/answer_files.py", "_LINES"),
        ("src/webtable/repository/answers/catalogue.py", "GROUPS"),
        ("src/webtable/repository/page_storage/state.py", "class Capture"),
    ],
)
def test_the_names_that_the_lists_tell_are_in_their_files(path, name):
    assert name in (ROOT / path).read_text(encoding="utf-8")

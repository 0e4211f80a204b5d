"""The command `help`: the docs where the library is, in a pipe and on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_are_listed_with_their_titles(run):
    lines = run("help").out.splitlines()

    assert len(lines) == len([*DOCS.glob("*.md"), *DOCS.glob("api/*.md")])
    titles = dict(line.split(maxsplit=1) for line in lines)
    assert (titles["questions"], titles["api/writer"]) == ("Questions", "Writer")


@pytest.mark.parametrize("topic", ["captures", "api/table"])
def test_a_page_comes_as_it_is_in_a_pipe(run, topic):
    assert run("help", topic).out == (DOCS / f"{topic}.md").read_text() + "\n"


def test_on_a_terminal_a_page_is_laid_out_in_its_width(run, on_terminal):
    lines = run("help", "captures").out.splitlines()

    assert "Captures and versions" in lines[0]
    assert not any(line.startswith("#") for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("WebTable.pages", "Return the pages of *site*, lazily; without their bodies unless *columns* names them."),
        ("Page.size", "The length of the whole body in bytes"),
        ("webtable.URLFilter", "explain"),
        ("StoreUnavailable", "class StoreUnavailable(StoreError)"),
    ],
)
def test_a_public_name_is_shown_with_its_signature_and_what_it_raises(run, name, text):
    result = run("help", name)

    assert result.out.startswith("###")
    assert text in result.out
    assert "\n### " not in result.out


def test_what_is_not_there_is_answered_with_what_resembles_it(run):
    result = run("help", "questoins")

    assert (result.code, result.out) == (2, "")
    assert "did you mean 'questions'" in result.err
    assert "for the command: webtable ingest --help" in run("help", "ingest").err


@pytest.mark.parametrize(
    ("topic", "suggestion"),
    [
        ("tabel", "did you mean 'api/table'"),
        ("table", "did you mean 'api/table'"),
        ("api/tabel", "did you mean 'api/table'"),
        ("scrpay", "did you mean 'scrapy' or 'api/scrapy'"),
        ("xyzzy", "webtable help lists the pages"),
    ],
)
def test_a_page_of_the_reference_is_suggested_by_its_last_part(run, topic, suggestion):
    result = run("help", topic)

    assert result.code == 2
    assert suggestion in result.err


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Cell", "    timestamp: int\n"),  # of a named tuple
        ("Wanted", "    versions: int = 1\n"),  # of a struct
        ("Delete", "    columns: Sequence[bytes] | None = None\n"),  # of a dataclass
        ("Store", "    timeout: float\n"),  # of any other class
    ],
)
def test_a_class_is_shown_with_its_fields(run, name, field):
    assert field in run("help", name).out

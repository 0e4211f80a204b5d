"""The docs keep to their length, their English, and one place for each fact."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))

from check_prose import problems, repeated, texts  # noqa: E402
from count_words import LIMIT, README_LIMIT, pages, words  # noqa: E402

OPENING = "# Title\n\nYou need this page.\n\n"
PAGES = texts()


def test_the_docs_are_no_longer_than_their_limit():
    counts = pages()

    assert sum(counts.values()) <= LIMIT, "python docs/count_words.py --pages"
    assert counts["README.md"] <= README_LIMIT


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("# A title\n\nFour words of text.\n", 6),
        ("Text.\n\n    code in here\n\nText.\n", 2),
        ("```python\ncode in here\n```\n", 0),
        ("- an item\n\n    - an item below it\n", 6),
        ("| a | b |\n|---|---|\n| – | 3 pages |\n", 4),
        ("[a link](https://example.com/with/words) <!-- a comment -->\n", 2),
    ],
)
def test_a_word_is_what_a_reader_reads(page, count):
    assert words(page) == count


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_terms_of_the_field_and_says_who_needs_it(page):
    assert list(problems(page, PAGES[page])) == [], "python docs/check_prose.py"


def test_no_sentence_and_no_row_of_a_table_stands_on_two_pages():
    assert list(repeated(PAGES)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("The moment of a fetch.", "write time"),
        ("An index of your own.", "write custom"),
        ("It reads the the page.", "the same word twice"),
        (f"It is {'very ' * 60}long.", "a sentence of 63 words"),
    ],
)
def test_what_is_to_be_rewritten_is_named(text, problem):
    assert any(problem in line for line in problems("docs/page.md", OPENING + text))
    assert list(problems("docs/page.md", OPENING + "`the moment the the`")) == []
    assert list(problems("docs/page.md", f"# Title\n\nText.\n\n{text}"))[-1].startswith(
        "docs/page.md: the first paragraph"
    )


def test_a_sentence_of_two_pages_is_found_however_it_is_written():
    fact = "A file keeps every version, and HBase keeps the newest three of each page."

    found = list(
        repeated({"a.md": f"{fact} More.", "b.md": f"- {fact.replace(' and', chr(10) + '  and')}", "c.md": "Else."})
    )

    assert len(found) == 1
    assert found[0].startswith("a.md, b.md: a file keeps every version")

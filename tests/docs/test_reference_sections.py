"""The reference has sections for what a docstring says of parameters, what is returned, errors, and examples."""

from __future__ import annotations

import sys
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))

from docstring_sections import DocstringSections  # noqa: E402
from fenced_doctests import FencedDoctests  # noqa: E402

SOURCE = '''
class Table:
    """A table.

    - *limit*: at most so many results.
    """

    def pages(self, site: str, *, size: int | None = None, unit: str = "B", limit: int = 20, **more: int) -> list[str]:
        """Return the pages of *site*, in order.

        *size* and *unit* choose among them, in bytes. Rows are read once. Raises `InvalidURL` for no *site*.

        >>> Table().pages("example.com")
        []
        """

    def errors(self, site: Site | None = None, *, limit: int | None = None, after: str | None = None) -> None:
        """Return the errors of *site*. *limit* is at most 10."""

    def close(self) -> None:
        """Close it."""
'''


def docstring(tmp_path, name):
    (tmp_path / "sections.py").write_text(SOURCE)
    extensions = griffe.Extensions(FencedDoctests(), DocstringSections())
    module = griffe.GriffeLoader(search_paths=[tmp_path], extensions=extensions).load("sections")
    return module[f"Table.{name}"].docstring.value


def test_a_function_has_its_parameters_with_types_defaults_and_their_sentences(tmp_path):
    sections = docstring(tmp_path, "pages").split("\n\n**")

    assert [section.split("**")[0] for section in sections[1:]] == ["Parameters", "Returns", "Raises", "Example"]
    assert sections[0] == "Return the pages of *site*, in order.\n\nRows are read once."
    assert sections[1].splitlines()[2:] == [
        "- `site: str`: see above.",
        "- `size: int | None = None`: *size* and *unit* choose among them, in bytes.",
        "- `unit: str = 'B'`: see `size`.",
        "- `limit: int = 20`: see `Table`.",
        "- `**more: int`",
    ]


def test_what_many_functions_take_is_explained_unless_the_docstring_does(tmp_path):
    lines = docstring(tmp_path, "errors").splitlines()

    assert "- `limit: int | None = None`: *limit* is at most 10." in lines
    assert "- `after: str | None = None`: the token (`next_token`) of a batch: the results after it come." in lines


def test_it_has_what_it_returns_and_raises_and_its_example_in_a_fence(tmp_path):
    text = docstring(tmp_path, "pages")

    assert "**Returns** `list[str]`" in text
    assert "**Raises**\n\n- Raises `InvalidURL` for no *site*." in text
    assert text.endswith('**Example**\n\n```pycon\n>>> Table().pages("example.com")\n[]\n```')


def test_a_function_without_any_of_them_has_no_sections(tmp_path):
    assert docstring(tmp_path, "close") == "Close it."


def test_each_function_of_the_reference_has_its_parameters():
    text = (ROOT / "docs" / "api" / "table.md").read_text()
    (section,) = (part for part in text.split("\n#### ") if part.startswith("WebTable.outdated\n"))

    assert "**Parameters**\n\n- `site: Site | None = None`" in section
    assert "**Returns** `Pages`" in section

"""The README leads somewhere wherever it is read: in a checkout, and in the source distribution."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINKS = sorted({link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", README)})


def test_it_is_the_description_of_the_package():
    assert PROJECT["project"]["readme"] == "README.md"


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_what_a_source_distribution_has(link):
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

    assert (ROOT / link).exists()
    assert any(link == one or link.startswith(f"{one}/") for one in included)


def test_it_says_what_is_needed_until_there_is_a_release():
    first_screen = "\n".join(README.splitlines()[:25])

    assert "not released yet" in first_screen
    assert "pip install ." in first_screen
    assert "webtable demo" in first_screen


def test_every_page_of_the_docs_is_linked_from_their_first():
    first = (ROOT / "docs" / "index.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}

    assert pages - set(re.findall(r"\]\(([\w.]+)[)#]", first)) == set()
    assert "docs/index.md" in LINKS


def test_the_changelog_begins_with_the_version_of_the_package():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0] == PROJECT["project"]["version"]

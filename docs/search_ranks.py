"""Ranks of pages in the search of the site: how-tos first, as the reference has every word somewhere (for mkdocs)."""

from __future__ import annotations

from typing import Any

RANKS = {"How to": 2.0, "Reference": 0.5}
"""The factors by the heading of the navigation that a page is below."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Give *page* the rank of its heading; its text stays as it is."""
    heading = page.ancestors[-1].title if page.ancestors else ""
    if heading in RANKS:
        page.meta.setdefault("search", {})["boost"] = RANKS[heading]
    return markdown

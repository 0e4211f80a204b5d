"""What pages say of each other by the relations `alternate`, `next` and `prev`, in markup and in the header Link."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from webtable.page.elements import SEQUENCE, Relation
from webtable.page.headers import header_links, redirect_target
from webtable.page.sitemap import MAX_ALTERNATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.page.page import Page


def relations_of(page: Page) -> tuple[Iterator[Relation], bool]:
    """Return the relations of *page*, which was read with its body, and whether they are all of its markup.

    Those of the header Link have the element `header`; 1,000 are returned at most, as no page has as many.
    """
    elements = page.elements if page.has_body else None
    relations = () if elements is None else elements.relations
    is_whole = page.has_body and (elements is None or elements.over is None)
    return islice(chain(relations, _in_header(page)), MAX_ALTERNATES), is_whole


def _in_header(page: Page) -> Iterator[Relation]:
    for reference, rels, language in header_links(page.headers.get("link")):
        for rel in dict.fromkeys(rels):
            is_language = rel == "alternate" and language is not None
            if (is_language or rel in SEQUENCE) and (target := redirect_target(page.url, reference)):
                yield Relation(page.url, 0, SEQUENCE.get(rel, rel), "header", language, target)

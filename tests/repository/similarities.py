"""Pages with made-up texts, and how much two of them share by a count of its own."""

from __future__ import annotations

import random
import re

from sites import Site

from webtable import Page

WORDS = [f"word{n}" for n in range(2_000)]


def prose(seed: object, *changed: int, count: int = 200) -> bytes:
    """Return a page with the text of a *seed*, with other words at the places *changed*."""
    words = random.Random(str(seed)).choices(WORDS, k=count)
    for at in changed:
        words[at] = f"other{at}"
    return f"<html><body><main><p>{' '.join(words)}</p></main></body></html>".encode()


def text_page(site: Site, path: str, seed: int, *changed: int, **fields) -> Page:
    return site.page(path, body=text_of(site, seed, *changed), content_type="text/html", **fields)


def text_of(site: Site, seed: int, *changed: int) -> bytes:
    """Return a text that no other site of the table has."""
    return prose(f"{site.domain} {seed}", *changed)


def brute_force(one: bytes, other: bytes) -> float:
    """The Jaccard similarity of two pages that `prose` made, by sets of tuples of words."""

    def grams(body: bytes) -> set[tuple[str, ...]]:
        words = re.search("<p>(.*)</p>", body.decode())[1].split()
        return set(zip(*(words[at:] for at in range(5)), strict=False))

    both, either = grams(one) & grams(other), grams(one) | grams(other)
    return len(both) / len(either)

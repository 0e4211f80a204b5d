"""How fast are signatures of texts made, and how many of the near duplicates that there are do they find?"""

from __future__ import annotations

import random
import re
import time
from itertools import combinations
from typing import TYPE_CHECKING

import webtable
from benchmarks.measuring import Result
from webtable.formats import read_pages
from webtable.page.parts import BAND
from webtable.page.similarity import signature

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import Page

NEEDS = frozenset[str]()
LIKES = frozenset({"corpus"})

WORDS_A_PAGE = 1_900
TARGET = 1_500
"""Signatures a second of a processor."""
AT_LEAST = 0.8
MOST_PAGES = 1_000
"""Of how many pages of the corpus each pair is compared."""

Grams = set[tuple[str, ...]]


def run(setting: Setting) -> list[Result]:
    """Sign texts of 1,900 words, pairs of texts of a known similarity, and pages of the corpus."""
    texts = [" ".join(_prose(WORDS_A_PAGE, seed)) for seed in range(setting.scaled(1_000))]
    signature(texts[0])  # what is computed once
    start = time.process_time()
    for text in texts:
        signature(text)
    rate = len(texts) / (time.process_time() - start)
    what = f"sign a text of {WORDS_A_PAGE:,} words, a second of a processor"
    results = [Result(what, "–", f"{rate:,.0f} pages", "–", rate, TARGET, unit=" pages")]
    results += [_found(like, setting.scaled(1_000)) for like in (0.9, 0.76, 0.7)]
    if "corpus" not in setting.missing:
        results.append(_of_corpus(setting))
    return results


def _found(like: float, pairs: int) -> Result:
    """Return how many of *pairs* of made-up texts that are so much *like* each other have a band in common."""
    cut = round(WORDS_A_PAGE * (1 - like) / (1 + like))
    found = 0
    for seed in range(pairs):
        words = _prose(WORDS_A_PAGE + cut, seed)
        one, other = (re.findall("." * BAND, signature(" ".join(some))) for some in (words[cut:], words[:-cut]))
        found += any(a == b for a, b in zip(one, other, strict=True))
    share, expected = 100 * found / pairs, 100 * (1 - (1 - like**8) ** 14)
    least = expected - 3 * (expected * (100 - expected) / pairs) ** 0.5 - 0.5
    what = f"pairs of a similarity of {like:g} that have a band in common, of {pairs:,}"
    return Result(
        what, "1 - (1 - s ** 8) ** 14", f"{share:.1f} %", f"{expected:.1f} %", share, round(least, 1), unit=" %"
    )


def _of_corpus(setting: Setting) -> Result:
    """Return how many pairs of pages of the corpus `near_duplicates` finds, of those that a comparison of all does."""
    pages = [page for file in setting.warc_files for page in read_pages(file, extract=False) if page.body]
    pages = random.Random(1).sample(pages, min(len(pages), 60 if setting.quick else MOST_PAGES))
    pages = list({page.url: page for page in pages}.values())
    there = _brute_force(pages)
    with webtable.open("memory:similarity", create=True, indexes=["similarity"]) as table:
        with table.writer() as writer:
            for page in pages:
                writer.put(page)
        asked = {page.url: table.near_duplicates(page.url, at_least=AT_LEAST, order="url") for page in pages}
        found = {frozenset((url, near.page.url)) for url, answer in asked.items() for near in answer}
    assert found <= there, "a pair that is less alike"
    share = 100 * len(found) / len(there) if there else 100
    what = f"pairs of {len(pages)} pages of the corpus with a similarity of {AT_LEAST:g} or more that are found"
    note = "none that is less alike is returned"
    return Result(what, "all pairs", f"{len(found):,}", f"{len(there):,}", share, 90, unit=" %", note=note)


def _brute_force(pages: list[Page]) -> set[frozenset[str]]:
    grams = [(page.url, _grams(page.main_text or "")) for page in pages]
    return {
        frozenset((one, other))
        for (one, first), (other, second) in combinations(grams, 2)
        # The shorter text cannot share more than all that it has.
        if min(len(first), len(second)) >= AT_LEAST * max(len(first), len(second), 1)
        and len(first & second) >= AT_LEAST * len(first | second)
    }


def _grams(text: str) -> Grams:
    words = re.findall(r"[^\W_]+", text.lower())
    return set(zip(*(words[at:] for at in range(5)), strict=False))


def _prose(count: int, seed: int) -> list[str]:
    drawn = random.Random(seed)
    return ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 10))) for _ in range(count)]

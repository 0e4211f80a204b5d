"""Shingles, signatures and similarities of texts."""

from __future__ import annotations

import random
import re

import pytest

from webtable import Page
from webtable.page.parts import BAND
from webtable.page.similarity import MOST_CHARACTERS, shingles, signature, signature_of, similarity

WORDS = [f"word{n}" for n in range(3_000)]
# Signatures are stored, and compared with those of later versions: these must never change.
GOLDEN = {
    "one two three four five": (
        "y2dquq1GI2T5HjFQ4Y2+YL0EE0501Y14+d5SsLAhBF8dGyaPgsyFK17l"
        "fFVDrsvzFESFzcMRRof1jbfQvRY3P+hQYIENtmeYQ6jf/d52vavEkDJg"
    ),
    "The quick brown fox jumps over the lazy dog, and over 13 others.": (
        "mtJFtBtporS/ThXH6GilHGmhHMlWTRzmsu4xCru+KtajbYlXMpc+/vKJ"
        "5Aflsl1d1nyk2LPETBoUTMoKHL+2b53EYNWEI28k+5950zb/qrmvWMmx"
    ),
    "Straße, naïve café — ΑΒΓ Привет мир ٣٤ über alles": (
        "fovGAoqdGBFDLpmsWlI4sr5qteg5Obx6nZWuNpISz1nTf5sm0lgJyeUp"
        "vUyj7hTSafERqdc4goTYFra2zBtpeuaavNbLjhao1dYQaebTQ25Ea2mV"
    ),
    "日本語の文章には空白がない": (
        "7LsfhtOC3dAI6tERKoTz1Y8UJZqjG+F28ae5eKkPkwN7W98o6exd1kH3"
        "DY98US124i/WQcFh6WqCWibnwBBqpq1gArl3s8/5GN3B99eV7oF9NXMw"
    ),
}


def prose(count: int, seed: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def with_changes(words: list[str], count: int, seed: int) -> list[str]:
    drawn, changed = random.Random(seed), list(words)
    for at in drawn.sample(range(len(words)), count):
        changed[at] = f"other{drawn.random()}"[:12].replace(".", "")
    return changed


def brute_force(one: str, other: str) -> float:
    """The Jaccard similarity, by sets of tuples of words."""

    def grams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[^\W_]+", text.lower())
        return set(zip(*(words[at:] for at in range(5)), strict=False))

    both, either = grams(one) & grams(other), grams(one) | grams(other)
    return len(both) / len(either) if either else 0.0


def bands(text: str) -> list[str]:
    return re.findall(f".{{{BAND}}}", signature(text))


@pytest.mark.parametrize("text", GOLDEN)
def test_the_signature_of_a_text_stays_what_it_is(text):
    assert signature(text) == GOLDEN[text]


def test_a_signature_has_fourteen_bands():
    assert len(signature("a b c d e")) == 14 * BAND
    assert len(set(bands("a b c d e"))) == 14


@pytest.mark.parametrize("text", ["", "four words are few", " -- . -- ", "語文章空"])
def test_a_text_of_fewer_than_five_words_has_no_signature_and_is_like_none(text):
    assert signature(text) == ""
    assert similarity(shingles(text), shingles(text)) == 0.0


def test_neither_case_nor_punctuation_nor_white_space_makes_a_difference():
    assert signature("One, two: THREE\n\nfour_five (six)!") == signature("one two three four five six")


def test_where_words_end_makes_a_difference():
    assert signature("ab c d e f") != signature("a bc d e f")


def test_characters_of_scripts_without_spaces_are_words():
    assert len(shingles("日本語の文章")) == 2
    assert len(shingles("abc日本語def")) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_similarity_is_that_of_sets_of_five_words(seed):
    words = prose(300, seed)
    one, other = " ".join(words), " ".join(with_changes(words, seed, seed))

    assert similarity(shingles(one), shingles(other)) == pytest.approx(brute_force(one, other))


def test_texts_have_as_many_bands_in_common_as_the_probabilities_say():
    shared = {0.9: 0, 0.75: 0}
    for seed in range(150):
        # Of n words k are left out at one end: n - k of n + k shingles are in both.
        for wanted in shared:
            cut = round(1_900 * (1 - wanted) / (1 + wanted))
            words = prose(1_900 + cut, seed)
            one, other = bands(" ".join(words[cut:])), bands(" ".join(words[:-cut]))
            shared[wanted] += any(a == b for a, b in zip(one, other, strict=True))

    assert shared[0.9] >= 149  # 1 - (1 - s ** 8) ** 14 is 0.9996
    assert 0.65 < shared[0.75] / 150 < 0.89  # 0.77


def test_a_long_text_is_compared_by_its_beginning():
    long = "word " * (MOST_CHARACTERS // 5 + 1)

    assert signature(long + "and another end of it") == signature(long)


def test_the_signature_of_a_page_is_that_of_its_main_text():
    page = Page(url="https://example.com/", body=b"<main><p>one two three four five</main>", content_type="text/html")

    assert signature_of(page) == signature("one two three four five")
    assert signature_of(Page(url="https://example.com/", body=b"\x89PNG\r\n\x1a\n", content_type="image/png")) == ""

"""The terms of texts and queries: pages and queries are divided alike, and what is found is where it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable.errors import InvalidArgument
from webtable.repository.text.query import TextQuery
from webtable.repository.text.terms import MAX_TERM, Analyzer

PLAIN = Analyzer()
TEXTS = st.text(
    st.characters(blacklist_categories=("Cs",)) | st.sampled_from("aÄß世界のカé_'-.\u0301İŉ１ "), max_size=60
)


def terms(text):
    return [one.term for one in PLAIN.terms(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Row_keys, don't", ["row", "keys", "don", "t"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("世界地图", ["世界", "界地", "地图", "图"]),
        ("2026年版 v2", ["2026", "年版", "版", "v2"]),
        ("한국어 text", ["한국어", "text"]),
        ("x" * 100, ["x" * MAX_TERM]),
        ("… — !", []),
    ],
)
def test_a_text_has_its_words_in_one_case_and_chinese_and_japanese_as_bigrams(text, expected):
    assert terms(text) == expected


@given(TEXTS)
def test_the_joined_terms_are_the_terms(text):
    assert PLAIN.joined(text).split() == terms(text)


@given(TEXTS)
def test_a_term_has_nothing_that_an_engine_could_take_for_an_operator(text):
    assert all(one and not set(one) & set("\"'*:()^{} \t\n\0-+") for one in terms(text))


@given(TEXTS)
def test_a_term_is_where_it_says(text):
    for one in PLAIN.terms(text):
        assert terms(text[one.start : one.stop])[0] == one.term


@given(TEXTS.filter(lambda text: '"' not in text and "*" not in text and terms(text)), TEXTS, TEXTS)
def test_a_text_is_found_as_a_phrase_wherever_it_stands(text, before, after):
    query = TextQuery.of(f'"{text}"', PLAIN)
    whole = {"title": "", "headings": "", "text": f"{before} {text} {after}", "links": ""}

    assert query.spans(whole, PLAIN)["text"]


def test_a_query_of_64_words_is_the_longest():
    TextQuery.of(" ".join(f"a{n}" for n in range(64)), PLAIN)
    with pytest.raises(InvalidArgument, match="64"):
        TextQuery.of(" ".join(f"a{n}" for n in range(65)), PLAIN)


def test_what_is_without_a_word_may_have_it_elsewhere():
    texts = {"title": "salt", "headings": "", "text": "keys", "links": ""}

    assert TextQuery.of("keys -title:salt", PLAIN).spans(texts, PLAIN) is None
    assert TextQuery.of("keys -title:keys", PLAIN).spans(texts, PLAIN)["text"] == [(0, 4)]

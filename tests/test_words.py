"""The terms of texts and queries: pages and queries are divided alike, and what is found is where it is written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable.errors import InvalidArgument
from webtable.repository.full_text.words import MAX_TERM, Analyzer, TextQuery

PLAIN = Analyzer()
TEXTS = st.text(
    st.characters(blacklist_categories=("Cs",)) | st.sampled_from("aÄß世界のカé_'-.\u0301İŉ１ "), max_size=60
)


def terms(text):
    return PLAIN.terms(text)


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
def test_a_term_has_nothing_that_an_engine_could_take_for_an_operator(text):
    assert all(one and not set(one) & set("\"'*:()^{} \t\n\0-+") for one in terms(text))


@given(TEXTS, st.sampled_from(["NFC", "NFD"]))
def test_the_terms_are_the_same_in_each_canonical_form(text, form):
    assert terms(unicodedata.normalize(form, text)) == terms(text)


@given(TEXTS.filter(lambda text: '"' not in text and "*" not in text and terms(text)), TEXTS, TEXTS)
def test_a_text_is_found_as_a_phrase_wherever_it_stands(text, before, after):
    query = TextQuery.of(f'"{text}"')
    whole = {"title": "", "headings": "", "text": f"{before} {text} {after}", "links": ""}

    assert query.spans(whole)["text"]


def test_a_query_of_64_words_is_the_longest():
    TextQuery.of(" ".join(f"a{n}" for n in range(64)))
    with pytest.raises(InvalidArgument, match="64"):
        TextQuery.of(" ".join(f"a{n}" for n in range(65)))


def test_what_is_without_a_word_may_have_it_elsewhere():
    texts = {"title": "salt", "headings": "", "text": "keys", "links": ""}

    assert TextQuery.of("keys -title:salt").spans(texts) is None
    assert TextQuery.of("keys -title:keys").spans(texts)["text"] == [(0, 4)]


def test_words_are_marked_by_their_stems():
    query = TextQuery.of('"run* fast" -walk', analyzer=Analyzer("english"))

    assert query.spans({"text": "He was RUNNING fast"}) == {"text": [(7, 19)]}
    assert query.spans({"text": "running fast, walking"}) is None
    assert TextQuery.of("ru*", analyzer=Analyzer("english")).spans({"text": "rules runs"}) == {
        "text": [(0, 5), (6, 10)]
    }

"""Words and characters in titles and bodies: where they are, and how they are shown."""

from __future__ import annotations

import re
import sys
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable.errors import InvalidArgument
from webtable.page.page import Page
from webtable.repository.full_text.matching import Phrase, hit_in, query_of, texts_of
from webtable.repository.full_text.words import Analyzer, Excerpt, TextQuery, excerpts, folded

URL = "https://example.com/"
# Letters whose lower case is longer or depends on its place, in both cases, and what parts words.
LETTERS = 'abABİiσςΣßſstfﬁﬆJ\u030c "\\\n\t'
texts = st.text(alphabet=LETTERS)


def characters(text: str) -> TextQuery:
    return TextQuery.of(text, substring=True)


def is_query(text: str) -> bool:
    try:
        characters(text)
    except InvalidArgument:
        return False
    return True


queries = st.text(alphabet=LETTERS).filter(is_query)


def html_page(body: str | None, title: str | None = None, content_type: str | None = "text/html") -> Page:
    return Page(url=URL, body=body if body is None else body.encode(), title=title, content_type=content_type)


def occurs(words: tuple[str, ...], text: str) -> bool:
    return re.search(r"\s+".join(map(re.escape, words)), folded(text)) is not None


def in_text(query: TextQuery, text: str) -> list[tuple[int, int]]:
    spans = query.spans({"text": text})
    return [] if spans is None else spans["text"]


def hit_of(text: str, page: Page, in_: str = "all", *, substring: bool = False):
    query = query_of(Phrase(text, in_, substring))
    return hit_in(page, query, texts_of(page, query))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Row keys", ["row", "keys"]),
        ('"New \t York" city', ["new york", "city"]),
        ("row ROW", ["row"]),
        ('"" a', ["a"]),
        ('5" disk', ["5", "disk"]),
        ('a"b c"', ["a b", "c"]),
        ('App* "row ke*"', ["app*", "row ke*"]),
        ('"a b"c', ["a b", "c"]),
        ("c++ -x don't", ["c", "don t"]),
        ("title: lang:", ["title", "lang"]),
    ],
)
def test_a_query_is_words_and_phrases(query, words):
    assert [" ".join(phrase.terms) + "*" * phrase.is_prefix for phrase in TextQuery.of(query).wanted] == words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ('"New \t York" city', [("new", "york"), ("city",)]),
        ('5" a"b', [('5"',), ('a"b',)]),
        ("-a title:b lang:c C*", [("-a",), ("title:b",), ("lang:c",), ("c*",)]),
        ("\u212b", [("å",)]),
    ],
)
def test_of_a_query_for_characters_only_quotes_have_a_meaning(query, words):
    assert [phrase.terms for phrase in characters(query).wanted] == words


@pytest.mark.parametrize("substring", [False, True])
@pytest.mark.parametrize("query", ["", " \n", '""', '" "', "a\udc80", None, 7])
def test_a_query_without_words_is_refused(query, substring):
    with pytest.raises(InvalidArgument, match="text="):
        TextQuery.of(query, substring=substring)


@pytest.mark.parametrize("query", ['"disk', '5" "disk', '"row keys', 'a "b c" "', '"'])
def test_a_quote_in_front_of_a_word_has_to_be_closed(query):
    with pytest.raises(InvalidArgument, match=f"text={re.escape(repr(query))}.*not closed"):
        TextQuery.of(query)
    with pytest.raises(InvalidArgument, match="not closed"):
        characters(query)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("cat", "Application cat, Cat's scat catkin", ["cat", "Cat"]),
        ("cat", "cat_ _cat cat1 1cat cat-fish (cat)", ["cat", "cat", "cat", "cat"]),
        ("cat", "\u00e9cat cat\u0301 cat\u00e9", []),
        ("cat*", "Application Catkin, cat scat", ["Cat", "cat"]),
        ('"row ke*"', "row  keys arrow keys, row.keys", ["row  ke", "row.ke"]),
        ("a.c", "a.c a.cd ba.c a.c.", ["a.c", "a.c"]),
        ("éa", "b.éa.b éa:b", ["éa", "éa"]),
        ("a-a", "ba-a-a", ["a-a"]),
        ("100%", "100% 100%x 1100%", ["100", "100"]),
        ("cafe\u0301", "cafe\u0301s cafe\u0301 caf\u00e9", ["cafe\u0301", "caf\u00e9"]),
        ("e\u0301", "cafe\u0301", []),
        ("한국", "한국어 한국", ["한국"]),
        ("가", "\u1100\u1161\u11a8 \u1100\u1161", ["\u1100\u1161"]),
        ("οδος", "ΟΔΟΣ ΟΔΟΣΑ", ["ΟΔΟΣ"]),
        ("i̇x", "İXİX İX", ["İX"]),
        ("strasse", "Straße STRASSE", ["Straße", "STRASSE"]),
        ("of", "ſtuﬀ oﬀ of", ["of"]),
        ("世界 图", "大世界地图", ["世界", "图"]),
    ],
)
def test_words_are_found_where_they_stand_alone(query, text, found):
    assert [text[start:stop] for start, stop in in_text(TextQuery.of(query), text)] == found


def test_every_character_that_is_folded_to_several_is_marked_as_one():
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]

    for character in (one for one in every if len(folded(one)) != 1):
        assert in_text(characters("x"), f"{character}x") == [(1, 2)], hex(ord(character))


@given(st.text(max_size=40), st.sampled_from(["NFC", "NFD", "NFKD"]))
def test_spans_are_of_the_text_as_it_is_written(text, form):
    text = unicodedata.normalize(form, text)
    terms = Analyzer().terms(text)

    for term in filter(str.isalpha, terms):
        for start, stop in in_text(TextQuery.of(f'"{term}"'), text):
            assert term in folded(text[start:stop])


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("cat", "Application", ["cat"]),
        ("cat*", "cat cat*", ["cat*"]),
        ("web", "Webtable, WEB", ["Web", "WEB"]),
        ("web table", "a table of the web", ["table", "web"]),
        ("web row", "a table of the web", []),
        ('"new york"', "New\n  York, new-york", ["New\n  York"]),
        ("ab bc", "abc", ["ab", "bc"]),
        ("i̇x", "İİx", ["İx"]),
        ("istanbul", "İSTANBUL Istanbul", ["Istanbul"]),
        ("y", "İİİ y", ["y"]),
        ("οδος", "ΟΔΟΣ ΟΔΟΣΑ", ["ΟΔΟΣ", "ΟΔΟΣ"]),
        ("a.c", "abc a.c", ["a.c"]),
        ("日本", "今日本日", ["日本"]),
    ],
)
def test_all_words_must_occur_whatever_their_case(query, text, found):
    spans = in_text(characters(query), text)

    assert [text[start:stop] for start, stop in spans] == found


@given(queries, texts)
def test_spans_are_in_order_and_each_holds_a_word(query, text):
    words = characters(query)

    spans = in_text(words, text)

    assert spans == sorted(set(spans))
    assert all(0 <= start < stop <= len(text) for start, stop in spans)
    assert all(any(occurs(one.terms, text[start:stop]) for one in words.wanted) for start, stop in spans)


@given(queries, texts)
def test_there_are_spans_where_all_words_occur_and_only_there(query, text):
    words = characters(query)

    spans = in_text(words, text)

    assert bool(spans) == all(occurs(one.terms, text) for one in words.wanted)


@given(queries, texts, texts)
def test_words_may_be_spread_over_two_texts(query, one, other):
    words = characters(query)

    spans = words.spans({"title": one, "text": other})

    assert (spans is not None) == all(occurs(p.terms, one) or occurs(p.terms, other) for p in words.wanted)
    assert spans is None or spans["title"] == words.spans({"title": one, "text": f"{other} {query}"})["title"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"New York" city new', ("new", "york", "city")),
        ("zürich", ("z", "rich")),
        ("first stone", ("r", "one")),
        ("мир 世界", ("мир", "世界")),
        ("Й ş", ()),
        ("Aﬁ\u030c", ("a",)),
    ],
)
def test_what_a_filter_looks_for_is_the_part_of_single_words_that_is_written_in_one_way(query, expected):
    assert TextQuery.of(query).filters == expected


@given(queries, texts)
def test_a_filter_over_json_loses_no_title_that_has_the_words(query, text):
    words = characters(query)
    title = f"{text} {query.replace(chr(34), '')} {text}"

    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, title)
        stored = msgspec.json.encode(Page(url=URL, title=written)).decode().lower()
        assert in_text(words, written) == [] or all(part in stored for part in words.filters)


def test_marks_that_overlap_are_highlighted_as_one():
    excerpt = Excerpt("abcdef", ((0, 3), (1, 2), (2, 4), (4, 5)))

    assert excerpt.highlighted("<b>", "</b>") == "<b>abcd</b><b>e</b>f"


@given(texts, queries)
def test_highlighting_changes_nothing_but_the_marks(text, query):
    excerpt = Excerpt(text, tuple(in_text(characters(query), text)))

    assert excerpt.highlighted("", "") == text
    assert excerpt.highlighted("[", "]").replace("[", "").replace("]", "") == text
    assert Excerpt(text).highlighted() == text


def shown(text: str, query: str, **options: int) -> list[str]:
    return [piece.highlighted() for piece in excerpts(text, in_text(characters(query), text), **options)]


@pytest.mark.parametrize(
    ("text", "query", "width", "pieces"),
    [
        ("a short text", "short", 160, ["a [short] text"]),
        ("nothing", "short", 160, []),
        ("one two three four five six", "three", 15, ["…two [three] four…"]),
        ("one two three four five six", "one", 9, ["[one] two…"]),
        ("one two three four five six", "six", 8, ["…five [six]"]),
        ("one two three four five six", "one two", 9, ["[one] [two]…"]),
        ("one two three four five six", "one five", 11, ["[one] two…", "…[five] six"]),
        ("x" * 20 + "word" + "y" * 20, "word", 10, ["…xxx[word]yyy…"]),
        ("a verylongword b", "verylongword", 4, ["…[verylongword]…"]),
    ],
)
def test_excerpts_are_cut_between_words_where_one_ends_nearby(text, query, width, pieces):
    assert shown(text, query, width=width) == pieces


def test_excerpts_that_meet_are_one():
    text = "zero one two three four five six seven eight nine"

    assert shown(text, "two six", width=20) == ["…one [two] three four five [six] seven…"]


def test_there_are_no_more_excerpts_than_asked_for():
    text = " ".join(["match" + " filler" * 50] * 9)

    assert len(shown(text, "match")) == 3
    assert len(shown(text, "match", most=5)) == 5
    assert shown(text, "match", most=0) == []


@pytest.mark.parametrize("options", [{"width": 0}, {"most": -1}])
def test_excerpts_of_no_width_are_refused(options):
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        excerpts("text", [], **options)


@given(texts, queries, st.integers(1, 20), st.integers(1, 4))
def test_excerpts_are_pieces_of_the_text_with_its_matches_marked(text, query, width, most):
    spans = in_text(characters(query), text)

    pieces = excerpts(text, spans, width=width, most=most)

    matched = {text[start:stop] for start, stop in spans}
    assert len(pieces) <= most
    assert bool(pieces) == bool(spans)
    assert sum(len(piece.text) for piece in pieces) <= most * (max([width, *map(len, matched)]) + 3)
    for piece in pieces:
        assert piece.text.removeprefix("…").removesuffix("…") in text
        assert any(piece.text[start:stop] in matched for start, stop in piece.marks)
        assert all(0 <= start < stop <= len(piece.text) for start, stop in piece.marks)
        assert all("…" not in piece.text[start:stop] for start, stop in piece.marks)


@pytest.mark.parametrize(
    ("in_", "query", "title", "body", "matches"),
    [
        ("title", "web", "The Web", "<p>web", 1),
        ("title", "web", "Row", "<p>web", None),
        ("title", "web", None, "<p>web", None),
        ("body", "web", "Row", "<p>web <b>we</b>b", 2),
        ("body", "web", "Web", "<p>row", None),
        ("body", "web", "Web", None, None),
        ("all", "web", "Web", "<p>web", 2),
        ("all", "web row", "Web", "<p>row", 2),
        ("all", "web row", "Web", "<p>table", None),
        ("all", "web", "Web", None, 1),
        ("all", "script", "Web", "<script>script</script>", None),
    ],
)
def test_a_page_is_searched_where_it_is_asked_for(in_, query, title, body, matches):
    hit = hit_of(query, html_page(body, title), in_)

    assert (hit and hit.matches) == matches


def test_a_hit_shows_its_title_and_its_body_with_the_words_marked():
    page = html_page("<h1>Rows</h1><p>A  row\nkey", "All rows")

    hit = hit_of("row*", page)

    assert hit is not None
    assert hit.page is page
    assert hit.title == Excerpt("All rows", ((4, 7),))
    assert [piece.highlighted() for piece in hit.excerpts] == ["[Row]s A [row] key"]


def test_a_title_is_marked_only_where_titles_are_searched():
    hit = hit_of("row", html_page("<p>row", "row"), "body")

    assert hit is not None
    assert hit.title == Excerpt("row")


def test_a_phrase_may_go_over_the_end_of_a_line():
    assert hit_of('"two words"', html_page("<p>two<p>words")) is not None


def test_a_body_that_is_no_text_has_no_words():
    page = html_page("word", "A word", content_type="image/png")

    hit = hit_of("word", page)

    assert hit is not None
    assert (hit.matches, hit.excerpts) == (1, ())
    assert hit_of("word", page, "body") is None


def test_plain_text_is_searched_with_its_angle_brackets():
    assert hit_of("<b>", html_page("a <b> c", content_type="text/plain"), substring=True) is not None


def test_the_announced_charset_is_used_where_a_page_does_not_bring_one():
    headers = {"content-type": "text/plain; Charset='KOI8-R'"}
    page = Page(url=URL, body="мир".encode("koi8-r"), content_type="text/plain", headers=headers)

    assert hit_of("МИР", page) is not None


def test_only_titles_and_bodies_can_be_searched():
    with pytest.raises(InvalidArgument, match="in_='headers'"):
        query_of(Phrase("a", "headers"))


@given(queries, st.none() | texts, texts, st.sampled_from(["title", "body", "all"]))
def test_a_page_is_a_hit_where_all_words_occur_and_only_there(query, title, body, in_):
    wanted = [phrase.terms for phrase in characters(query).wanted]

    hit = hit_of(query, html_page(body, title, "text/plain"), in_, substring=True)

    searched = {"title": [title or ""], "body": [body], "all": [title or "", body]}[in_]
    assert (hit is not None) == all(any(occurs(word, text) for text in searched) for word in wanted)

"""Words in titles and bodies: where they are, and how they are shown."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable._page.page import Page
from webtable.errors import InvalidArgument
from webtable.repository.text.matching import Matcher
from webtable.repository.text.words import Excerpt, Words, excerpts

URL = "https://example.com/"
# Letters whose lower case is longer or depends on its place, in both cases, and what parts words.
LETTERS = 'abABİiσςΣß "\\\n\t'
texts = st.text(alphabet=LETTERS)


def is_query(text: str) -> bool:
    try:
        Words.of(text)
    except InvalidArgument:
        return False
    return True


queries = st.text(alphabet=LETTERS).filter(is_query)


def html_page(body: str | None, title: str | None = None, content_type: str | None = "text/html") -> Page:
    return Page(url=URL, body=body if body is None else body.encode(), title=title, content_type=content_type)


def lower(text: str) -> str:
    return text.lower().replace("ς", "σ")


def occurs(word: str, text: str) -> bool:
    return re.search(r"\s+".join(map(re.escape, word.split())), lower(text)) is not None


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Row keys", ("row", "keys")),
        ('"New \t York" city', ("new york", "city")),
        ("row ROW", ("row",)),
        ('"" a', ("a",)),
        ('5" disk', ('5"', "disk")),
        ('a"b c"', ('a"b', 'c"')),
        ('App* "row ke*"', ("app*", "row ke*")),
        ('"a b"c', ("a b", "c")),
    ],
)
def test_a_query_is_words_and_phrases(query, words):
    assert Words.of(query).words == words


@pytest.mark.parametrize("query", ["", " \n", '""', '" "', "a\udc80", None, 7])
def test_a_query_without_words_is_refused(query):
    with pytest.raises(InvalidArgument, match="text="):
        Words.of(query)


@pytest.mark.parametrize("query", ['"disk', '5" "disk', '"row keys', 'a "b c" "', '"'])
def test_a_quote_in_front_of_a_word_has_to_be_closed(query):
    with pytest.raises(InvalidArgument, match=f"text={re.escape(repr(query))}.*not closed"):
        Words.of(query)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("cat", "Application cat, Cat's scat catkin", ["cat"]),
        ("cat", "cat_ _cat cat1 1cat cat-fish (cat)", ["cat", "cat"]),
        ("cat", "\u00e9cat cat\u0301 cat\u00e9", []),
        ("cat*", "Application Catkin, cat scat", ["Cat", "cat"]),
        ('"row ke*"', "row  keys arrow keys, row.keys", ["row  ke"]),
        ("a.c", "a.c a.cd ba.c a.c.", ["a.c", "a.c"]),
        ("end", "example.end the end.Next", ["end", "end"]),
        ("éa", "b.éa.b éa:b", ["éa", "éa"]),
        ("3", "3.14 v.3 3", ["3", "3"]),
        ("can", "can't can", ["can"]),
        ("a-a", "ba-a-a", ["a-a"]),
        ("100%", "100% 100%x 1100%", ["100%", "100%"]),
        ('5"', '5" 15" a 5"x', ['5"', '5"']),
        ("%", "100%", ["%"]),
        ("c++", "c++ c++11 xc++", ["c++", "c++"]),
        (".*", "a.*b", [".*"]),
        ("**", "a**b", ["**"]),
        ("cafe\u0301", "cafe\u0301s cafe\u0301", ["cafe\u0301"]),
        ("e\u0301", "cafe\u0301", []),
        ("हिन्दी", "हिन्दी हिन्दीभाषा", ["हिन्दी"]),
        ("日本", "今日本日 x日本y", ["日本", "日本"]),
        ("ひら", "ひらがな", ["ひら"]),
        ("カタ", "カタカナ カタ", ["カタ"]),
        ("한국", "한국어 한국", ["한국"]),
        ("สวั", "สวัสดี", ["สวั"]),
        ("o'neil", "O'Neil O'Neill", ["O'Neil"]),
        ("οδος", "ΟΔΟΣ ΟΔΟΣΑ", ["ΟΔΟΣ"]),
        ("i̇x", "İXİX İX", ["İX"]),
    ],
)
def test_words_are_found_where_unicode_has_the_boundaries_of_words(query, text, found):
    spans = Words.of(query).in_text(text)

    assert [text[start:stop] for start, stop in spans] == found


@given(queries, texts)
def test_what_is_found_as_words_is_found_inside_of_words_too(query, text):
    if Words.of(query).in_text(text):
        assert Words.of(query, substring=True).in_text(text)


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
    spans = Words.of(query, substring=True).in_text(text)

    assert [text[start:stop] for start, stop in spans] == found


@given(queries, texts)
def test_spans_are_in_order_and_each_holds_a_word(query, text):
    words = Words.of(query, substring=True)

    spans = words.in_text(text)

    assert spans == sorted(set(spans))
    assert all(0 <= start < stop <= len(text) for start, stop in spans)
    assert all(any(occurs(word, text[start:stop]) for word in words.words) for start, stop in spans)


@given(queries, texts)
def test_there_are_spans_where_all_words_occur_and_only_there(query, text):
    words = Words.of(query, substring=True)

    spans = words.in_text(text)

    assert bool(spans) == all(occurs(word, text) for word in words.words)


@given(queries, texts, texts)
def test_words_may_be_spread_over_two_texts(query, one, other):
    words = Words.of(query, substring=True)

    spans = words.in_texts(one, other)

    assert any(spans) == all(occurs(word, one) or occurs(word, other) for word in words.words)
    assert spans[0] == [] or spans[0] == words.in_texts(one, other + query)[0]


def test_what_a_filter_looks_for_is_the_single_words():
    assert Words.of('"New York" city new').texts == ("new", "york", "city")


@given(queries, texts)
def test_a_filter_over_json_loses_no_title_that_has_the_words(query, text):
    words = Words.of(query, substring=True)
    title = f"{text} {query.replace(chr(34), '')} {text}"

    stored = msgspec.json.encode(Page(url=URL, title=title)).decode().lower()

    if words.in_text(title):
        assert all(text in stored for text in words.texts)


def test_marks_that_overlap_are_highlighted_as_one():
    excerpt = Excerpt("abcdef", ((0, 3), (1, 2), (2, 4), (4, 5)))

    assert excerpt.highlighted("<b>", "</b>") == "<b>abcd</b><b>e</b>f"


@given(texts, queries)
def test_highlighting_changes_nothing_but_the_marks(text, query):
    excerpt = Excerpt(text, tuple(Words.of(query, substring=True).in_text(text)))

    assert excerpt.highlighted("", "") == text
    assert excerpt.highlighted("[", "]").replace("[", "").replace("]", "") == text
    assert Excerpt(text).highlighted() == text


def shown(text: str, query: str, **options: int) -> list[str]:
    return [piece.highlighted() for piece in excerpts(text, Words.of(query, substring=True).in_text(text), **options)]


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
    spans = Words.of(query, substring=True).in_text(text)

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
    hit = Matcher(Words.of(query), in_).hit(html_page(body, title))

    assert (hit and hit.matches) == matches


def test_a_hit_shows_its_title_and_its_body_with_the_words_marked():
    page = html_page("<h1>Rows</h1><p>A  row\nkey", "All rows")

    hit = Matcher(Words.of("row*")).hit(page)

    assert hit is not None
    assert hit.page is page
    assert hit.title == Excerpt("All rows", ((4, 7),))
    assert [piece.highlighted() for piece in hit.excerpts] == ["[Row]s A [row] key"]


def test_a_title_is_marked_only_where_titles_are_searched():
    hit = Matcher(Words.of("row"), "body").hit(html_page("<p>row", "row"))

    assert hit is not None
    assert hit.title == Excerpt("row")


def test_a_phrase_may_go_over_the_end_of_a_line():
    assert Matcher(Words.of('"two words"')).hit(html_page("<p>two<p>words")) is not None


def test_a_body_that_is_no_text_has_no_words():
    page = html_page("word", "A word", content_type="image/png")

    hit = Matcher(Words.of("word")).hit(page)

    assert hit is not None
    assert (hit.matches, hit.excerpts) == (1, ())
    assert Matcher(Words.of("word"), "body").hit(page) is None


def test_plain_text_is_searched_with_its_angle_brackets():
    assert Matcher(Words.of("<b>")).hit(html_page("a <b> c", content_type="text/plain")) is not None


def test_the_announced_charset_is_used_where_a_page_does_not_bring_one():
    headers = {"content-type": "text/plain; Charset='KOI8-R'"}
    page = Page(url=URL, body="мир".encode("koi8-r"), content_type="text/plain", headers=headers)

    assert Matcher(Words.of("МИР")).hit(page) is not None


def test_only_titles_and_bodies_can_be_searched():
    with pytest.raises(InvalidArgument, match="in_='headers'"):
        Matcher(Words.of("a"), "headers")


@given(queries, st.none() | texts, texts, st.sampled_from(["title", "body", "all"]))
def test_a_page_is_a_hit_where_all_words_occur_and_only_there(query, title, body, in_):
    words = Words.of(query, substring=True)

    hit = Matcher(words, in_).hit(html_page(body, title, "text/plain"))

    searched = {"title": [title or ""], "body": [body], "all": [title or "", body]}[in_]
    assert (hit is not None) == all(any(occurs(word, text) for text in searched) for word in words.words)

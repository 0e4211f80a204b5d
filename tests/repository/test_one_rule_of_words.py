"""The same words find the same pages in the order of URLs, in titles, and by relevance with both engines."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest

import webtable
from webtable import Page, WebTable
from webtable.testing import WrappedStore

NOW = datetime(2026, 11, 20, tzinfo=UTC)
HEAD = {"Content-Type": "text/html; charset=utf-8"}


def nfd(text):
    return unicodedata.normalize("NFD", text)


WORDS = [
    # The canonical forms of Unicode (UAX #15), in pages and in queries.
    *((nfd(text), text, True) for text in ("Zürich", "naïve", "한국어", "Tiếng", "Й", "かば", "ångström")),
    *((text, nfd(text), True) for text in ("Zürich", "naïve", "한국어", "Tiếng", "Й", "かば", "ångström")),
    ("Å", "å", True),
    (nfd("a≠b"), '"a b"', True),
    ("zurich", "zürich", False),
    ("cafe\u0301", "cafe", False),
    # Case, as Unicode folds it (CaseFolding.txt).
    ("Straße", "STRASSE", True),
    ("STRASSE", "straße", True),
    ("ΟΔΟΣ", "οδος", True),
    ("οδός", "ΟΔΌΣ", True),
    ("ﬁrſt ﬆone", "first stone", True),
    ("ŉ ſ", "ʼn s", True),
    ("İstanbul", "i̇stanbul", True),
    # Apostrophes and hyphens part words in every form.
    ("we don’t know", "don't", True),
    ("we don't know", "don’t", True),
    ("we don't know", "dont", False),
    ("we don't know", "don", True),
    ("O’Neill", "O'Neil", False),
    ("row‑key", "row-key", True),
    ("row_key", '"row key"', True),
    ("C++ and C#", "c", True),
    # Phrases go over whatever parts words, and over no word.
    ("This is a row. Key values follow.", '"row key"', True),
    ("a row</p><p>key", '"row key"', True),
    ("a row and a key", '"row key"', False),
    ("arrow keys", '"row key"', False),
    ("row keys", '"row ke*"', True),
    ("rows key", '"row* key"', False),
    # A word is a whole one, unless its end is open.
    ("Application", "cat", False),
    ("Application", "appl*", True),
    ("Application", "appl", False),
    ("example.com", "example", True),
    ("version 3.14", "3.14", True),
    ("version 3.14", "3", True),
    ("version 31.4", "3.14", False),
    ("हिन्दीभाषा", "हिन्दी", False),
    ("हिन्दी में", "हिन्दी", True),
    ("x" * 80, "x" * 90, True),
    ("x" * 80, "x" * 60, False),
    # Scripts without spaces.
    ("今日本日", "日本", True),
    ("世界地图是", "世界地图", True),
    ("世界地图是", "地界", False),
    ("データベース", "ベース", True),
    ("2026年版", "2026年版", True),
    ("2026年 版", "年版", False),
    ("大世界 abc", '"世界 abc"', True),
    ("世界大 abc", '"世界 abc"', False),
    ("我喝水", "水", True),
    ("สวัสดีประเทศไทย", "ประเทศ", True),
    ("ສະບາຍດີລາວ", "ລາວ", True),
    # What a page must not have.
    ("salt and pepper", "salt -pepper", False),
    ("salt alone", "salt -pepper", True),
    ("row key", 'row -"row key"', False),
    ("key and row", 'row -"row key"', True),
    ("salt", "salt lang:de", False),
]


class WithoutFullText(WrappedStore):
    """A store that has no full text itself, as HBase."""

    def search_index(self, table):
        return None


def address(number):
    return f"https://example.com/{number}"


def fill(table):
    with table.writer() as writer:
        for number, (text, _, _) in enumerate(WORDS):
            title = text.replace("</p><p>", " ")
            body = f"<title>{title}</title><body><p>{text}</p>".encode()
            writer.put(Page(url=address(number), fetched_at=NOW, body=body, headers=HEAD))


@pytest.fixture(scope="module")
def finders(tmp_path_factory):
    """Each way to search, which returns the URLs of all pages with the words of a query."""
    directory = tmp_path_factory.mktemp("words")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEBTABLE_SEARCH", str(directory / "search"))
        with (
            webtable.open(directory / "in.db", create=True) as inside,
            webtable.open(directory / "out.db", create=True) as other,
        ):
            beside = WebTable(WithoutFullText(other.store), other.table, other.layout)
            for table in (inside, other):
                fill(table)
            inside.search_index.create(text="all")
            beside.search_index.create(text="all")
            assert inside.search_index.state().place is None
            assert beside.search_index.state().place is not None
            yield {
                f"{name} in {in_}": lambda text, table=table, in_=in_, order=order: {
                    hit.page.url for hit in table.search(text, "example.com", in_=in_, order=order)
                }
                for name, table, order in (
                    ("order of URLs", inside, "url"),
                    ("FTS5", inside, "relevance"),
                    ("tantivy", beside, "relevance"),
                )
                for in_ in ("title", "body", "page")
            }


@pytest.mark.parametrize("number", range(len(WORDS)), ids=lambda number: "-".join(WORDS[number][:2])[:40])
def test_a_page_has_the_words_of_a_query_or_not_by_one_rule(finders, number):
    _, query, expected = WORDS[number]

    found = {name: address(number) in find(query) for name, find in finders.items()}

    assert found == dict.fromkeys(finders, expected)


@pytest.mark.parametrize("query", sorted({query for _, query, _ in WORDS}))
def test_all_ways_to_search_find_the_same_pages(finders, query):
    found = {name: find(query) for name, find in finders.items()}

    assert len(set(map(frozenset, found.values()))) == 1


@pytest.mark.parametrize(
    ("text", "characters", "expected"),
    [
        ("Application", "CAT", True),
        (nfd("Zürich"), "üri", True),
        ("Zürich", nfd("üri"), True),
        ("Straße", "RASS", True),
        ("100% <b>", "0%", True),
        ("salt -pepper", "-pepp", True),
        ("New\n York", '"w y"', True),
        ("a title:salt", "title:", True),
        ("lang", "lang:", False),
        ("don’t", "don't", False),
    ],
)
def test_characters_are_found_inside_of_words_in_any_canonical_form(tmp_path, text, characters, expected):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        shown = text.replace("<", "&lt;")
        table.put(Page(url=address(0), body=f"<title>{shown}</title><p>{shown}".encode(), headers=HEAD))

        for in_ in ("title", "body", "page"):
            assert bool(list(table.search(characters, "example.com", substring=True, in_=in_))) is expected


def test_by_relevance_the_words_of_links_and_urls_count_too_unless_the_page_alone_is_asked_for(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(Page(url="https://example.com/salted-keys", body=b"<p>nothing", headers=HEAD))
        table.search_index.create(text="all")

        found = {
            (order, in_): len(list(table.search("salted", "example.com", order=order, in_=in_)))
            for order in ("url", "relevance")
            for in_ in ("page", "all")
        }

    assert found == {("url", "page"): 0, ("url", "all"): 0, ("relevance", "page"): 0, ("relevance", "all"): 1}


def test_a_page_in_the_language_of_the_query_is_found_in_each_order(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(Page(url=address(0), body=b"<html lang=de-AT><p>salt", headers=HEAD))
        table.put(Page(url=address(1), body=b"<html lang=en><p>salt", headers=HEAD))
        table.search_index.create()

        for order in ("url", "relevance"):
            assert [hit.page.url for hit in table.search("salt lang:DE", "example.com", order=order)] == [address(0)]

"""Full text in a file: which pages a search by relevance has, in which order, and that none of them is wrong."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from sites import Site

import webtable
from nightly import examples
from webtable import Page, WebTable
from webtable.errors import CapabilityError, IndexNeeded, InvalidArgument, InvalidToken, NotAStore, StoreUnavailable
from webtable.maintenance import TextRefresh
from webtable.store.sqlite import SQLiteStore
from webtable.testing import WrappedStore

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


@pytest.fixture
def site(path):
    with webtable.open(path, create=True) as table:
        yield Site(table, "example.com", NOW)


@pytest.fixture
def crawl(site):
    """A site with full text."""
    site.table.search_index.create()
    return site


def html(text, title="", **fields):
    heading = f"<h1>{title}</h1>" if title else ""
    body = f"<title>{title}</title><body><main>{heading}<p>{text}</main>"
    return {"body": body.encode(), "content_type": "text/html", "title": title or None, "outlinks": None, **fields}


def found(site, text, asked=None, **options):
    hits = site.table.search(text, asked, order="relevance", **options)
    return [hit.page.url.removeprefix(f"https://{site.domain}") for hit in hits]


def test_the_page_whose_title_has_the_word_comes_before_one_that_names_it_often(crawl):
    crawl.store(
        crawl.page("/often", **html("salt and salt and more salt")),
        crawl.page("/titled", **html("what spreads the pages", title="Salt")),
        crawl.page("/once", **html("a pinch of salt beside many other words that say nothing of it at all")),
        *(crawl.page(f"/other-{number}", **html("nothing of it")) for number in range(9)),
    )

    assert found(crawl, "salt") == ["/titled", "/often", "/once"]


def test_the_headings_below_the_first_count_as_such(crawl):
    filler = "<p>" + "Pages of a crawl are spread over all regions of a table, which is what this is for. " * 3
    crawl.store(
        crawl.page("/text", **html(f"what salt is {filler}{filler}")),
        crawl.page("/heading", **html(f"{filler}<h2>What salt is</h2>{filler}")),
        *(crawl.page(f"/other-{number}", **html("nothing of it")) for number in range(9)),
    )

    assert found(crawl, "salt") == ["/heading", "/text"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("row keys", {"/apart", "/phrase", "/titled"}),
        ('"row keys"', {"/phrase", "/titled"}),
        ("ROW KEY*", {"/apart", "/phrase", "/titled"}),
        ("title:keys", {"/titled"}),
        ('title:"row keys"', {"/titled"}),
        ("keys -title:row", {"/apart", "/phrase"}),
        ('keys -"row keys"', {"/apart"}),
        ("keys lang:de", {"/apart"}),
        ("ke*", {"/apart", "/phrase", "/titled"}),
        ("missing keys", set()),
    ],
)
def test_words_phrases_beginnings_titles_and_languages_are_looked_for(crawl, text, expected):
    crawl.store(
        crawl.page("/apart", **html("keys of a row", language="de-at")),
        crawl.page("/phrase", **html("made of row keys")),
        crawl.page("/titled", **html("other words", title="Row keys")),
    )

    assert set(found(crawl, text)) == expected


def test_chinese_and_japanese_are_found_by_any_run_of_their_characters(crawl):
    crawl.store(
        crawl.page("/map", **html("世界地图是一张图。", title="地图")),
        crawl.page("/water", **html("我喝水")),
        crawl.page("/kana", **html("データベースの設計")),
    )

    assert found(crawl, "地图") == ["/map"]
    assert found(crawl, "界地") == ["/map"]
    assert found(crawl, "水") == ["/water"]
    assert found(crawl, "ベース") == ["/kana"]
    assert found(crawl, "图世") == []


def test_a_page_is_found_by_the_words_of_its_url_and_by_the_texts_of_links_to_it(site):
    links = (webtable.Link(site.url("/guide/salted-keys"), anchor="the wonderful book"),)
    site.store(site.page("/guide/salted-keys", **html("text")), site.page("/from", **html("x", outlinks=links)))
    site.table.search_index.create()

    assert found(site, "guide salted") == ["/guide/salted-keys"]
    assert "/guide/salted-keys" in found(site, "wonderful")


def test_what_surrounds_the_main_text_is_not_found_unless_all_text_is_indexed(site):
    text = "Salted keys spread the pages of a crawl over all the regions of its table. " * 5
    body = f"<nav><a href=/>Imprint</a></nav><main><p>{text}</main>"
    site.store(site.page("/a", body=body.encode(), content_type="text/html"))

    site.table.search_index.create()
    main = found(site, "imprint")
    site.table.search_index.create(text="all")

    assert (main, found(site, "imprint"), found(site, "salted")) == ([], ["/a"], ["/a"])


def test_excerpts_show_the_words_in_the_title_and_in_the_main_text(crawl):
    crawl.store(crawl.page("/a", **html("how salted keys spread", title="Salt and keys")))

    (hit,) = crawl.table.search("sal* keys", order="relevance")

    assert hit.title.highlighted() == "[Sal]t and [keys]"
    assert "how [sal]ted [keys] spread" in hit.excerpts[0].highlighted()
    assert hit.page.body is None
    assert hit.score > 0


def test_pages_are_narrowed_by_site_status_type_and_date(crawl):
    crawl.store(
        crawl.page("/docs/a", **html("salt")),
        crawl.page("/b", **html("salt", status=404)),
        crawl.page("/c", body=b"salt", content_type="text/plain", age=10 * 86400),
        Page(url="https://other.example/", fetched_at=NOW, **html("salt")),
    )

    assert set(found(crawl, "salt", "example.com")) == {"/docs/a", "/b", "/c"}
    assert found(crawl, "salt", "https://example.com/docs/") == ["/docs/a"]
    assert found(crawl, "salt", status=404) == ["/b"]
    assert found(crawl, "salt", content_type="text/plain") == ["/c"]
    assert found(crawl, "salt", "example.com", until=NOW - timedelta(days=5)) == ["/c"]
    assert set(found(crawl, "salt", "example.com", since=NOW - timedelta(days=5))) == {"/docs/a", "/b"}


def test_the_filters_hold_in_the_order_of_urls_too(crawl):
    crawl.store(crawl.page("/a", **html("salt")), crawl.page("/b", **html("salt", status=404)))

    assert [hit.page.url for hit in crawl.table.search("salt", "example.com", status=404)] == [crawl.url("/b")]


def test_a_limit_counts_the_pages_that_the_filters_leave(site):
    pages = (site.page(f"/{n:02}", **html("x", title="Salt", status=200 if n < 20 else 404)) for n in range(40))
    site.store(*pages)

    for columns in (["url"], ["outlinks"]):
        found = site.table.search("salt", site.domain, in_="title", status=404, columns=columns, limit=15)
        assert len(list(found)) == 15


def test_pages_by_token_are_the_whole_answer_in_its_order(crawl):
    crawl.store(*(crawl.page(f"/{n:03}", **html("salt " * (1 + n % 5) + "and more")) for n in range(150)))
    whole = found(crawl, "salt")

    pages, token = [], None
    while True:
        page = crawl.table.search("salt", order="relevance", after=token).page(40)
        pages += [hit.page.url.removeprefix("https://example.com") for hit in page]
        token = page.next_token
        if token is None:
            break

    assert pages == whole
    assert len(whole) == 150
    assert found(crawl, "salt", limit=7) == whole[:7]


def test_a_token_of_another_search_is_refused(crawl):
    crawl.store(*(crawl.page(f"/{n}", **html("salt and pepper")) for n in range(3)))
    token = crawl.table.search("salt", order="relevance").page(1).next_token

    with pytest.raises(InvalidToken):
        list(crawl.table.search("pepper", order="relevance", after=token))


def test_a_later_capture_takes_the_place_of_the_earlier_one_and_an_older_one_does_not(crawl):
    crawl.store(crawl.page("/a", age=100, **html("first")))
    crawl.store(crawl.page("/a", age=50, **html("second")))
    crawl.store(crawl.page("/a", age=200, **html("third")))

    assert (found(crawl, "first"), found(crawl, "second"), found(crawl, "third")) == ([], ["/a"], [])


def test_several_captures_of_a_page_in_one_batch_leave_the_last(crawl):
    crawl.store(*(crawl.page("/a", age=100 - n, **html(f"version{n}")) for n in range(5)))

    assert [n for n in range(5) if found(crawl, f"version{n}")] == [4]


def test_a_page_that_was_not_modified_is_still_found(crawl):
    crawl.store(crawl.page("/a", age=100, **html("salt")))
    crawl.store(crawl.page("/a", age=50, status=304, title=None, outlinks=None))

    assert found(crawl, "salt") == ["/a"]
    assert crawl.table.search_index.refresh().written == 0


def test_a_capture_with_content_that_was_stored_before_is_found_by_it(crawl):
    for age, text in ((300, "one"), (200, "two"), (100, "one")):
        crawl.store(crawl.page("/a", age=age, **html(text)))

    assert (found(crawl, "one"), found(crawl, "two")) == (["/a"], [])


def test_a_redirect_takes_the_place_of_the_page_that_was_there(crawl):
    crawl.store(crawl.page("/a", age=100, **html("salt")))
    crawl.store(crawl.page("/a", age=50, status=301, redirect_to=crawl.url("/b"), title=None))

    assert found(crawl, "salt") == []


def test_a_deleted_page_is_never_shown_and_its_words_leave_the_file_when_it_is_compacted(crawl, path):
    crawl.store(crawl.page("/a", **html("xylophone")), crawl.page("/b", **html("marimba")))
    crawl.table.delete(crawl.url("/a"))

    assert found(crawl, "xylophone") == []

    crawl.table.maintenance.compact()
    assert b"xylophone" not in path.read_bytes()
    assert found(crawl, "marimba") == ["/b"]


def test_a_deleted_page_leaves_full_text_with_the_delete(crawl):
    crawl.store(*(crawl.page(path, **html("salt")) for path in ("/a", "/b/c", "/d")))
    crawl.table.delete(crawl.url("/a"))
    crawl.table.delete_pages("https://example.com/b/")

    assert crawl.table.search_index.refresh().removed == 0
    assert found(crawl, "salt") == ["/d"]


def test_pages_and_deletes_that_a_copy_brings_are_in_the_full_text_of_its_target(site, tmp_path):
    with webtable.open(tmp_path / "target.db", create=True) as table:
        target = Site(table, site.domain, NOW)
        table.search_index.create()
        target.store(target.page("/old", age=9000, **html("salt")))
        site.store(site.page("/a", **html("salt")), site.page("/old", age=9000, **html("salt")))
        site.table.delete(site.url("/old"))
        site.table.maintenance.copy(table)

        assert found(target, "salt") == ["/a"]
        assert table.search_index.refresh() == TextRefresh(pages=1)


def test_replaced_words_leave_the_file_when_it_is_compacted_and_no_version_has_them(path):
    with webtable.open(path, create=True, versions=1) as table:
        crawl = Site(table, "example.com", NOW)
        table.search_index.create()
        crawl.store(crawl.page("/a", age=100, **html("xylophone")))
        crawl.store(crawl.page("/a", age=50, **html("marimba")))
        table.maintenance.compact()

    assert b"xylophone" not in path.read_bytes()


def test_a_table_without_full_text_says_how_to_create_it(site):
    with pytest.raises(IndexNeeded, match="webtable search-index create"):
        found(site, "salt")
    with pytest.raises(IndexNeeded, match="webtable search-index create"):
        site.table.search_index.refresh()
    assert site.table.search_index.state() is None
    assert not site.table.search_index.drop()


def test_a_store_that_cannot_have_full_text_says_so():
    with webtable.open("memory:full-text", create=True) as table, pytest.raises(CapabilityError, match='order="url"'):
        table.search_index.create()


@pytest.mark.parametrize("text", ["", "-salt", "lang:de", '"not closed', 'title:"not closed', "…", "a " * 65 + "b"])
def test_a_query_that_names_no_word_is_refused(crawl, text):
    if text.startswith("a "):
        text = " ".join(f"word{number}" for number in range(65))
    with pytest.raises(InvalidArgument):
        found(crawl, text)


@pytest.mark.parametrize(
    "text", ['salt" OR text:*', "salt NEAR(a b)", "NOT salt", "a AND b", "^salt", "{title}: salt", "'"]
)
def test_operators_of_fts5_are_words_like_others(crawl, text):
    crawl.store(crawl.page("/a", **html("salt")))

    try:
        assert found(crawl, text) in ([], ["/a"])
    except InvalidArgument:
        assert text == "'" or '"' in text


def test_an_interrupted_creation_is_continued_and_not_searched_before(site):
    site.store(*(site.page(f"/{n:03}", **html(f"salt number{n}")) for n in range(200)))

    def interrupt(pages):
        if pages >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        site.table.search_index.create(on_progress=interrupt)
    with pytest.raises(IndexNeeded, match="webtable search-index refresh"):
        found(site, "salt")
    site.store(site.page("/new", **html("salt")), site.page("/150", age=1, **html("pepper")))
    done = site.table.search_index.refresh()

    assert done.pages < 150
    assert len(found(site, "salt")) == 200
    assert found(site, "pepper") == ["/150"]


def test_a_refresh_finds_what_another_program_has_left_out(crawl, path):
    crawl.store(crawl.page("/a", **html("salt")), crawl.page("/b", **html("pepper")))
    with SQLiteStore(path) as store:
        key = crawl.table.key
        store.search_index("pages").write([], [key.unsalted(key.encode(crawl.url("/a")))])
    assert found(crawl, "salt") == []

    done = crawl.table.search_index.refresh()

    assert (done.written, done.removed) == (1, 0)
    assert found(crawl, "salt") == ["/a"]


@pytest.mark.slow
def test_pages_are_found_while_others_write_and_the_index_is_created(site):
    site.store(*(site.page(f"/{n:03}", **html("salt")) for n in range(300)))
    ends = threading.Event()

    def write():
        number = 0
        while not ends.is_set():
            site.store(site.page(f"/{number % 300:03}", age=3000 - number, **html("pepper")))
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    try:
        site.table.search_index.create()
    finally:
        ends.set()
        writing.join()

    assert site.table.search_index.refresh().written == 0
    assert len(found(site, "salt")) + len(found(site, "pepper")) == 300


WRITER = """
import sys, random
from datetime import UTC, datetime, timedelta
import webtable
random.seed(sys.argv[2])
words = [f"word{number}" for number in range(50)]
with webtable.open(sys.argv[1]) as table:
    at = datetime.now(UTC) - timedelta(days=1)
    with table.writer(buffer_pages=8) as writer:
        for number in range(100_000):
            text = " ".join(random.choices(words, k=30))
            url = f"https://example.com/{random.randrange(60)}"
            moment = at + timedelta(milliseconds=number)
            writer.put(webtable.Page(url=url, body=f"<p>{text}".encode(), content_type="text/html", fetched_at=moment))
            if number % 20 == 19:
                print(number, flush=True)
"""


@pytest.mark.slow
def test_after_kills_in_the_middle_of_writing_it_equals_one_made_from_scratch(site, path):
    site.table.search_index.create()
    chance = random.Random(7)
    for number in range(examples(4, 50)):
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], stdout=subprocess.PIPE)
        for _ in range(chance.randrange(2, 12)):
            child.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    words = [f"word{number}" for number in range(50)]
    kept = [[(hit.page.url, hit.score) for hit in site.table.search(word, order="relevance")] for word in words]

    done = site.table.search_index.refresh()
    site.table.search_index.create()

    assert (done.written, done.removed) == (0, 0)
    assert kept == [[(hit.page.url, hit.score) for hit in site.table.search(word, order="relevance")] for word in words]
    assert any(kept)


def test_dropped_full_text_leaves_no_tables(crawl, path):
    crawl.store(crawl.page("/a", **html("salt")))

    assert crawl.table.search_index.drop()

    with SQLiteStore(path) as store, store._file.reader() as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert not [name for name in names if name.startswith(("search_", "documents_"))]
    crawl.store(crawl.page("/b", **html("salt")))


def test_a_file_whose_full_text_was_made_by_other_statements_is_refused(crawl, path):
    with SQLiteStore(path) as store, store._file.writer() as connection:
        connection.execute("CREATE VIRTUAL TABLE search_99 USING fts5(a, content='cells_1')")

    with pytest.raises(NotAStore, match="search_99"):
        SQLiteStore(path)


def test_words_are_found_by_their_stems_if_that_was_asked_for(site):
    site.store(site.page("/a", **html("he was running through forests")))

    site.table.search_index.create(stemming="english")

    assert found(site, "run forest") == ["/a"]
    with pytest.raises(InvalidArgument, match="stemming"):
        site.table.search_index.create(stemming="klingon")


def test_large_pages_are_indexed_up_to_the_limit(site):
    site.table.search_index.create(max_text=1_000)
    site.store(site.page("/a", body=b"early " + b"x " * 600 + b"late", content_type="text/plain"))

    assert (found(site, "early"), found(site, "late")) == (["/a"], [])


def test_answers_are_frames_with_scores(crawl):
    crawl.store(crawl.page("/a", **html("salt")))

    frame = crawl.table.search("salt", order="relevance", columns=["url", "text"]).to_pandas()

    assert list(frame["url"]) == [crawl.url("/a")]
    assert "salt" in frame["text"][0]
    (hit,) = crawl.table.search("salt", order="relevance")
    assert crawl.table.search("salt", order="relevance").to_pandas(["score"])["score"][0] == hit.score


def test_an_answer_by_relevance_has_no_parts(crawl):
    with pytest.raises(InvalidArgument, match="relevance"):
        crawl.table.search("salt", order="relevance").partitions(2)


class WithoutFullText(WrappedStore):
    """A store that has no full text itself, as HBase."""

    def search_index(self, table):
        return None


@pytest.fixture
def beside(path, tmp_path, monkeypatch):
    """A site in a table whose full text is in a directory."""
    monkeypatch.setenv("WEBTABLE_SEARCH", str(tmp_path / "search"))
    with webtable.open(path, create=True) as table:
        yield Site(WebTable(WithoutFullText(table.store), table.table, table.layout), "example.com", datetime.now(UTC))


def test_full_text_in_a_directory_has_the_pages_up_to_its_last_refresh_and_says_so(beside):
    beside.store(beside.page("/a", age=60, **html("salt")))
    began = datetime.now(UTC)
    beside.table.search_index.create()
    beside.store(beside.page("/b", age=30, **html("salt")), beside.page("/c", age=30, **html("pepper")))
    answer = beside.table.search("salt", order="relevance")
    before, as_of = found(beside, "salt"), answer.as_of

    done = beside.table.search_index.refresh()

    assert (before, found(beside, "salt")) == (["/a"], ["/a", "/b"])
    assert began <= as_of < answer.as_of <= datetime.now(UTC)
    assert (done.pages, done.written) == (3, 2)
    assert beside.table.search_index.state().place.is_dir()


def test_a_directory_never_shows_a_page_that_is_gone_or_has_other_words_by_now(beside):
    beside.store(*(beside.page(path, age=60, **html("salt")) for path in ("/a", "/b", "/c")))
    beside.table.search_index.create()
    beside.table.delete(beside.url("/a"))
    beside.store(beside.page("/b", age=30, **html("pepper")))

    assert found(beside, "salt") == ["/c"]


def test_every_page_finds_what_was_deleted_and_what_was_stored_late(beside):
    beside.store(*(beside.page(path, age=60, **html("salt")) for path in ("/a", "/b")))
    beside.table.search_index.create()
    beside.table.delete(beside.url("/a"))
    beside.store(beside.page("/late", age=9_000, **html("salt")))

    by_time, every = beside.table.search_index.refresh(), beside.table.search_index.refresh(every=True)

    assert (by_time.written, by_time.removed) == (0, 0)
    assert (every.written, every.removed) == (1, 1)
    assert found(beside, "salt") == ["/b", "/late"]


def test_deleted_words_leave_the_directory_when_the_table_is_compacted(beside, tmp_path):
    beside.store(beside.page("/a", age=60, **html("xylophone")), beside.page("/b", age=60, **html("marimba")))
    beside.table.search_index.create()
    beside.table.delete(beside.url("/a"))
    beside.table.maintenance.compact()

    assert not [one for one in (tmp_path / "search").rglob("*") if one.is_file() and b"xylophone" in one.read_bytes()]
    assert found(beside, "marimba") == ["/b"]


@pytest.mark.slow
def test_an_interrupted_creation_in_a_directory_is_continued(beside):
    beside.store(*(beside.page(f"/{n:04}", age=60, **html("salt")) for n in range(1_200)))

    def interrupt(pages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        beside.table.search_index.create(on_progress=interrupt)
    with pytest.raises(IndexNeeded, match="search-index refresh"):
        found(beside, "salt")
    done = beside.table.search_index.refresh()

    assert (done.pages, done.written) == (200, 200)
    assert len(found(beside, "salt")) == 1_200


@pytest.mark.slow
def test_the_old_index_is_searched_until_the_new_one_is_complete(beside):
    beside.store(*(beside.page(f"/{n:04}", age=60, **html("salts")) for n in range(1_200)))
    beside.table.search_index.create()

    def look(pages):
        assert (found(beside, "salts", limit=1), found(beside, "salt")) == (["/0000"], [])

    beside.table.search_index.create(stemming="english", on_progress=look)

    assert found(beside, "salt", limit=1) == ["/0000"]


def test_two_processes_do_not_refresh_a_directory_at_once(beside):
    beside.table.search_index.create()
    place = beside.table.search_index.state().place
    code = f"""
from pathlib import Path
from webtable.store.full_text.tantivy_index import TantivyIndex
index = TantivyIndex(Path({str(place)!r}))
index.write([], filled=None)
print(flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(StoreUnavailable, match=str(other.pid)):
            beside.table.search_index.refresh()
        other.communicate(b"\n")

    assert beside.table.search_index.refresh().written == 0

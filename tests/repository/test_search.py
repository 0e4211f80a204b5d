"""Words in titles and bodies: which pages come, with which excerpts, and what is read for them."""

from __future__ import annotations

import os
import threading

import pytest
from sites import Site

import webtable
from store_differences import on_every_store
from webtable.errors import FullScanNeeded, InvalidArgument, InvalidToken, OtherProcess, UnknownColumn
from webtable.page.parts import Link
from webtable.repository.full_text import matching as matched
from webtable.store import Cell, Row

BODY = b"content:html"
HTML = {"content_type": "text/html"}
PLACES = ["title", "body", "page", "all"]


@pytest.fixture
def search(site):
    """Search the site."""
    table = site.table
    return lambda text, asked=site.domain, **options: table.search(text, asked, **options)


def html(text):
    return {"body": text.encode(), **HTML}


def urls(hits):
    return [hit.page.url for hit in hits]


def paths(hits):
    return [hit.page.url.partition(".example")[2] for hit in hits]


def searchers():
    return [thread for thread in threading.enumerate() if "webtable-search" in thread.name]


@pytest.fixture
def crowd(site):
    """1,000 pages, of which every tenth has a body on row keys."""
    site.store(
        *(
            site.page(f"/{n:03}", title=f"Page {n:03}", **html(f"<p>on {'row keys' if n % 10 == 0 else 'columns'} {n}"))
            for n in range(1_000)
        )
    )
    return site


@pytest.mark.parametrize(("in_", "expected"), [("title", ["/t"]), ("body", ["/b"]), ("all", ["/apart", "/b", "/t"])])
@on_every_store
def test_words_are_looked_for_in_the_title_the_body_or_the_two_together(site, search, in_, expected):
    site.store(
        site.page("/t", title="Row keys", **html("<p>nothing")),
        site.page("/b", title="nothing", **html("<p>the keys of a row")),
        site.page("/apart", title="About keys", **html("<p>and a row")),
        site.page("/none", title="Columns", **html("<p>row by row")),
    )

    assert paths(search("row keys", in_=in_)) == expected


@pytest.mark.parametrize("in_", PLACES)
@on_every_store
def test_case_does_not_matter(site, search, in_):
    site.store(
        site.page("/a", title="ÜBER HBase", **html("<p>ÜBER HBase")),
        site.page("/b", title="über hbase", **html("<p>über hbase")),
    )

    assert paths(search("Über HBASE", in_=in_)) == ["/a", "/b"]


@pytest.mark.parametrize("in_", PLACES)
def test_a_word_is_found_inside_of_others_only_where_that_is_asked_for(site, search, in_):
    texts = {"/app": "Application", "/cat": "a Cat, sitting", "/kitten": "Catkin", "/ideographs": "今日本日"}
    site.store(*(site.page(path, title=text, **html(f"<meta charset=utf-8><p>{text}")) for path, text in texts.items()))

    assert paths(search("cat", in_=in_)) == ["/cat"]
    assert paths(search("cat*", in_=in_)) == ["/cat", "/kitten"]
    assert paths(search("cat", in_=in_, substring=True)) == ["/app", "/cat", "/kitten"]
    assert paths(search("cat*", in_=in_, substring=True)) == []
    assert paths(search("日本", in_=in_)) == ["/ideographs"]
    assert paths(search("a cat", in_=in_)) == ["/cat"]


@pytest.mark.parametrize("substring", [False, True])
def test_a_quote_that_is_not_closed_is_refused_before_anything_is_asked(site, search, substring):
    with pytest.raises(InvalidArgument, match=r"text='\"row keys'.*not closed"):
        search('"row keys', substring=substring)


@pytest.mark.parametrize("in_", PLACES)
def test_the_words_of_a_phrase_stand_side_by_side(site, search, in_):
    site.store(
        site.page("/apart", title="New in York", **html("<p>New in York")),
        site.page("/phrase", title="In New\tYork", **html("<p>In New\n  <i>York</i>")),
    )

    assert paths(search('"new york"', in_=in_)) == ["/phrase"]
    assert paths(search("new york", in_=in_)) == ["/apart", "/phrase"]


def test_tags_and_entities_inside_of_words_do_not_part_them(site, search):
    site.store(
        site.page("/tags", **html("<p>web<b>ta</b>bl<!-- -->e")),
        site.page("/entities", **html("<p>w&#101;bt&#x61;b&shy;le")),
        site.page("/blocks", **html("<p>web<p>table")),
        site.page("/hidden", **html("<script>webtable</script><a href=/webtable>x</a>")),
    )

    hits = list(search("webtable", in_="body"))

    assert paths(hits) == ["/entities", "/tags"]
    assert [hit.excerpts[0].highlighted() for hit in hits] == ["[webtable]"] * 2


@pytest.mark.parametrize("in_", PLACES)
@pytest.mark.parametrize("text", ['a"b', '5"', "a\\b", "O'Neil", "ΟΔΟΣ", "İx", "100%", ".*", "日本", "Straße"])
def test_special_characters_are_found_as_they_are(site, search, in_, text):
    shown = text.replace("&", "&amp;")
    site.store(
        site.page("/it", title=f"so: {text} is it", **html(f"<meta charset=utf-8><p>so: {shown} is it")),
        site.page("/other", title="nothing of it", **html("<p>nothing of it")),
    )

    assert paths(search(text, in_=in_, substring=True)) == ["/it"]
    if text == ".*":
        with pytest.raises(InvalidArgument, match="no words"):
            search(text, in_=in_)
    else:
        assert paths(search(text, in_=in_)) == ["/it"]


@pytest.mark.parametrize("in_", PLACES)
def test_a_page_without_a_title_has_no_words_in_it(site, search, in_):
    site.store(
        site.page("/never", title=None, **html("<p>nothing")),
        site.page("/gone", title="Row keys", age=7_200, **html("<p>nothing")),
        site.page("/titled", title="Row keys", **html("<p>nothing")),
    )
    site.store(site.page("/gone", title=None, **html("<p>nothing at all")))

    assert paths(search("keys", in_=in_)) == ([] if in_ == "body" else ["/titled"])
    assert paths(search("nothing", in_="body")) == ["/gone", "/never", "/titled"]
    assert [hit.title for hit in search("nothing", webtable.HostOnly(site.domain))][:2] == [None, None]


def test_a_title_is_that_of_the_newest_capture(site, search):
    site.store(site.page("/a", title="Row keys", age=7_200, **html("<p>x")))
    site.store(site.page("/a", title="Columns", age=60, **html("<p>y")))
    site.store(site.page("/a", title="Row keys again", age=3_600, **html("<p>z")))

    assert paths(search("keys", in_="title")) == []
    assert paths(search("columns", in_="title")) == ["/a"]


def test_a_body_is_that_of_the_newest_capture_also_behind_a_late_one(site, search):
    site.store(site.page("/a", age=7_200, **html("<p>the same")))
    site.store(site.page("/a", age=60, **html("<p>the same")))
    site.store(site.page("/a", age=3_600, **html("<p>in between")))

    assert paths(search("between", in_="body")) == []
    (hit,) = search("same", in_="body", columns=["body"])
    assert hit.page.body == b"<p>the same"


def test_only_html_and_text_have_words(site, search):
    bodies = {
        "/html": (b"<p>keys", "text/html"),
        "/image": (b"GIF89a keys", "image/gif"),
        "/json": (b'{"a": "keys"}', "application/json"),
        "/none": (None, None),
        "/pdf": (b"%PDF-1.7 keys", "application/pdf"),
        "/text": (b"plain <keys", "text/plain"),
    }
    site.store(*(site.page(path, body=body, content_type=kind) for path, (body, kind) in bodies.items()))

    assert paths(search("keys", in_="body")) == ["/html", "/json", "/text"]


def test_a_hit_shows_where_the_words_are(site, search):
    body = f"<h1>Row keys</h1><p>{'x ' * 500}<p>A <i>row</i> has a key"
    site.store(site.page("/a", title="On row keys", **html(body)))

    (hit,) = search("row key*")

    assert hit.title.highlighted() == "On [row] [key]s"
    assert [piece.highlighted().strip(" x…") for piece in hit.excerpts] == ["[Row] [key]s", "A [row] has a [key]"]
    assert hit.matches == 6


@pytest.mark.parametrize("in_", PLACES)
def test_a_hit_has_the_columns_that_were_asked_for(site, search, in_):
    links = (Link("https://example.com/", "there", ""),)
    site.store(site.page("/a", title="Row keys", outlinks=links, **html("<p>row keys")))

    (bare,) = search("keys", in_=in_)
    (full,) = search("keys", in_=in_, columns=["body", "outlinks"])
    (linked,) = search("keys", in_=in_, columns=["outlinks"])

    assert (bare.page.body, bare.page.outlinks) == (None, None)
    assert (full.page.body, full.page.outlinks) == (b"<p>row keys", links)
    assert (linked.page.body, linked.page.outlinks) == (None, links)
    assert full.excerpts == bare.excerpts
    assert full.matches == bare.matches == (2 if in_ in {"page", "all"} else 1)


def test_a_search_is_kept_to_a_host_or_a_directory(site, search):
    for host in ("", "www"):
        site.store(*(site.page(path, host=host, **html("<p>keys")) for path in ("/", "/docs/a", "/docs-old")))

    assert len(list(search("keys"))) == 6
    assert paths(search("keys", webtable.HostOnly(site.domain))) == ["/", "/docs-old", "/docs/a"]
    assert paths(search("keys", f"https://{site.domain}/docs/")) == ["/docs/a"]
    assert urls(search("keys", f"https://www.{site.domain}/docs/")) == [f"https://www.{site.domain}/docs/a"]
    assert urls(search("keys", "nothing.example")) == []


@pytest.mark.parametrize("in_", PLACES)
def test_pages_come_in_the_order_of_their_urls_or_of_the_store(site, search, in_):
    hosts = ["", "www", "docs", "a.docs"]
    site.store(*(site.page(f"/{n}", host=host, title="keys", **html("<p>keys")) for host in hosts for n in range(5)))

    by_url, stored = urls(search("keys", in_=in_)), urls(search("keys", in_=in_, order="storage"))

    encode, unsalted = site.table.key.encode, site.table.key.unsalted
    assert len(by_url) == 20
    assert by_url == sorted(stored, key=lambda url: unsalted(encode(url)))
    assert stored == sorted(by_url, key=encode)


@pytest.mark.parametrize("in_", PLACES)
@pytest.mark.parametrize("order", ["url", "storage"])
def test_batches_laid_end_to_end_are_the_whole(site, search, in_, order):
    site.store(
        *(
            site.page(f"/{n:02}", host=host, title=word, **html(f"<p>{word}"))
            for host in ("", "www")
            for n in range(20)
            for word in [("keys", "columns")[n % 3 > 0]]
        )
    )
    whole = urls(search("keys", in_=in_, order=order))

    found, token = [], None
    while True:
        batch = search("keys", in_=in_, order=order, after=token).page(size=3)
        found += urls(batch)
        token = batch.next_token
        if token is None:
            break

    assert found == whole
    assert len(whole) == 14
    assert [len(urls(search("keys", in_=in_, order=order, limit=limit))) for limit in (0, 1, 5, 14, 99)] == [
        0,
        1,
        5,
        14,
        14,
    ]


def test_a_token_of_another_search_is_refused(site, search):
    site.store(*(site.page(f"/{n}", title="row keys", **html("<p>row keys")) for n in range(3)))
    token = search("keys").page(size=1).next_token

    assert paths(search("KEYS", after=token)) == ["/1", "/2"]
    others = [{"in_": "title"}, {"order": "storage"}, {"substring": True}]
    for text, options in (("row", {}), ("keys*", {}), *(("keys", options) for options in others)):
        with pytest.raises(InvalidToken, match="another question"):
            search(text, after=token, **options)


@pytest.mark.parametrize("in_", PLACES)
def test_deleted_pages_and_rows_that_are_only_linked_to_are_not_found(site, search, in_):
    link = (Link(site.url("/linked"), "keys", ""),)
    site.store(*(site.page(path, title="keys", outlinks=link, **html("<p>keys")) for path in ("/a", "/b")))

    site.table.delete(site.url("/a"))

    assert paths(search("keys", in_=in_)) == ["/b"]


def test_a_search_of_titles_reads_metadata_only(spied, site):
    site.store(site.page("/a", title="keys", **html("<p>x")), site.page("/b", title="columns", **html("<p>keys")))
    read = []
    spied.listener = lambda call, table, columns: table == site.table.table and read.append((call, columns))

    found = paths(spied.site.table.search("keys", webtable.HostOnly(site.domain), in_="title"))

    assert found == ["/a"]
    assert read == [("scan", (b"metadata:page",))]


def test_the_body_is_read_of_the_pages_whose_title_matched(spied, site):
    site.store(*(site.page(f"/{n}", title=f"keys {n % 2}", **html(f"<p>{n}")) for n in range(10)))
    rows = []
    store = spied.site.table.store
    read = store.read
    store.read = lambda table, keys, wanted: (
        rows.extend(keys if BODY in wanted.columns else ()) or read(table, keys, wanted)
    )

    found = spied.site.table.search("1", f"https://{site.domain}/", in_="title", columns=["body"])

    assert [hit.page.body for hit in found] == [b"<p>1", b"<p>3", b"<p>5", b"<p>7", b"<p>9"]
    assert rows == [site.table.key.encode(site.url(f"/{n}")) for n in range(1, 10, 2)]


def test_no_more_bodies_are_read_than_titles_are_wanted(spied, site):
    site.store(*(site.page(f"/{n}", title="keys", **html(f"<p>{n}")) for n in range(10)))
    rows = []
    store = spied.site.table.store
    read = store.read
    store.read = lambda table, keys, wanted: (
        rows.extend(keys if BODY in wanted.columns else ()) or read(table, keys, wanted)
    )

    found = spied.site.table.search("keys", f"https://{site.domain}/", in_="title", columns=["body"], limit=4)

    assert [hit.page.body for hit in found] == [b"<p>0", b"<p>1", b"<p>2", b"<p>3"]
    assert len(rows) == 4


def test_a_page_that_goes_away_while_its_body_is_read_is_left_out(spied, site):
    site.store(*(site.page(f"/{n}", title="keys", **html(f"<p>{n}")) for n in range(3)))
    spied.listener = lambda call, table, _: (
        (call, table) == ("read", site.table.table) and site.table.delete(site.url("/1"))
    )

    found = spied.site.table.search("keys", f"https://{site.domain}/", in_="title", columns=["body"])

    assert [hit.page.body for hit in found] == [b"<p>0", b"<p>2"]


def test_the_store_leaves_out_titles_without_the_words(spied, site):
    site.store(*(site.page(f"/{n}", title=f"page {n}", body=b"") for n in range(30)))
    table = spied.site.table
    given = []
    page = table._context.counted.page
    table._context.counted.page = lambda row, columns: given.append(row.key) or page(row, columns)

    found = paths(table.search("PAGE 7", site.domain, in_="title"))

    assert found == ["/7"]
    assert given == [site.table.key.encode(site.url(path)) for path in ("/17", "/27", "/7")]


def test_a_filter_that_lets_too_much_through_changes_nothing(site, search):
    titles = [("York New", "New York")[n % 7 == 0] for n in range(60)]
    site.store(*(site.page(f"/{n:02}", title=title, body=b"") for n, title in enumerate(titles)))

    expected = [f"/{n:02}" for n in range(0, 60, 7)]
    assert paths(search('"new york"', in_="title")) == expected
    assert [paths(search('"new york"', in_="title", limit=limit)) for limit in (1, 2, 5)] == [
        expected[:1],
        expected[:2],
        expected[:5],
    ]
    assert paths(search('"new york"', in_="title", limit=4, columns=["body"], order="storage")) == expected[:4]


@pytest.mark.parametrize("order", ["url", "storage"])
def test_titles_are_found_without_a_plain_column(new_url, site, order):
    with webtable.open(new_url(), create=True, plain_columns=[]) as table:
        with table.writer() as writer:
            for n in range(10):
                writer.put(site.page(f"/{n}", title=f"keys {n % 2}", **html(f"<p>{n}")))
        found = table.search("1 keys", webtable.ALL, in_="title", order=order, columns=["body"])

        assert [hit.page.body for hit in found] == [b"<p>1", b"<p>3", b"<p>5", b"<p>7", b"<p>9"]
        assert "no filter in the store" in str(found.explain())


@pytest.mark.parametrize("in_", PLACES)
def test_a_limit_keeps_from_reading_on(spied, crowd, in_):
    table = spied.site.table
    read = []
    page = table._context.counted.page
    table._context.counted.page = lambda row, columns: read.append(row.key) or page(row, columns)
    word = "page" if in_ == "title" else "keys"

    found = paths(table.search(word, crowd.domain, in_=in_, limit=3))

    assert found == (["/000", "/001", "/002"] if in_ == "title" else ["/000", "/010", "/020"])
    assert len(set(read)) <= 200


@pytest.mark.parametrize("threads", [1, 4])
def test_bodies_are_matched_by_threads_in_order(crowd, search, monkeypatch, threads):
    monkeypatch.setattr(matched, "MATCHERS", threads)

    found = paths(search("keys", in_="body"))

    assert found == [f"/{n:03}" for n in range(0, 1_000, 10)]
    assert not searchers()


def test_a_search_that_is_given_up_leaves_no_thread_behind(crowd, search, monkeypatch):
    monkeypatch.setattr(matched, "MATCHERS", 3)

    for hit in search("keys", in_="body"):
        if hit.page.url.endswith("/500"):
            assert searchers()
            break

    assert not searchers()


def test_few_pages_are_searched_without_a_thread(site, search):
    site.store(*(site.page(f"/{n}", **html("<p>keys")) for n in range(10)))

    for _ in search("keys"):
        assert not searchers()


def test_what_goes_wrong_in_a_thread_is_raised_where_the_caller_is(spied, crowd, monkeypatch):
    table = spied.site.table
    page = table._context.counted.page
    last = table.key.encode(crowd.url("/900"))
    broken = lambda *_: (_ for _ in ()).throw(OSError("broken"))  # noqa: E731
    table._context.counted.page = lambda row, columns: (broken if row.key == last else page)(row, columns)
    found = []

    with pytest.raises(OSError, match="broken"):
        found.extend(hit.page.url for hit in table.search("keys", crowd.domain, in_="body"))

    assert len(found) >= 80
    assert not searchers()


@pytest.fixture
def rows():
    """Rows with bodies of 1,000 bytes; `rows.taken` are those that were asked for."""

    class Rows:
        taken = []

        def __iter__(self):
            for number in range(500):
                self.taken.append(number)
                yield Row(b"%03d" % number, {BODY: [Cell(1, b"x" * 1_000)]})

    return Rows()


def test_no_more_bytes_of_bodies_are_read_ahead_than_allowed(rows, monkeypatch):
    monkeypatch.setattr(matched, "READ_AHEAD_BYTES", 10_000)
    monkeypatch.setattr(matched, "FEW_BYTES", 2_000)

    found = matched.matched(iter(rows), lambda row: row.key, BODY)
    ahead = [len(rows.taken) - number for number, _ in enumerate(found, 1)]

    assert len(ahead) == 500
    assert max(ahead) <= 10 + 2


def test_no_more_rows_are_read_ahead_than_were_matched(rows):
    hits = (b"003", b"100", b"300")

    found = matched.matched(iter(rows), lambda row: row.key if row.key in hits else None, BODY)
    reached = [(int(hit), len(rows.taken)) for _, hit in found]

    assert reached[0] == (3, 4)
    assert [hit for hit, _ in reached] == [3, 100, 300]
    assert all(taken <= 2 * hit + 3 * matched.FEW_ROWS for hit, taken in reached)


def test_the_whole_table_is_searched_only_when_told_so(new_url, site, large_store):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        own = Site(table, site.domain, site.now)
        own.store(own.page("/a", title="keys", **html("<p>keys")), own.page("/b", title="rows", **html("<p>rows")))

        with pytest.raises(FullScanNeeded, match=r"or webtable\.ALL for every page"):
            table.search("keys")
        for in_ in PLACES:
            for order in ("url", "storage"):
                assert urls(table.search("keys", webtable.ALL, in_=in_, order=order)) == [own.url("/a")]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"text": "  "}, InvalidArgument, "no words"),
        ({"in_": "url"}, InvalidArgument, "in_="),
        ({"order": "newest"}, InvalidArgument, "order='newest'"),
        ({"limit": -1}, InvalidArgument, "limit=-1"),
        ({"columns": ["bodies"]}, UnknownColumn, "'bodies'"),
        ({"columns": "links"}, UnknownColumn, "'links'"),
        ({"after": "x"}, InvalidToken, "after='x'"),
    ],
)
def test_an_argument_that_cannot_be_honoured_is_refused_at_once(search, arguments, error, text):
    with pytest.raises(error, match=text):
        search(**{"text": "keys", **arguments})


def test_explain_tells_the_ranges_the_filter_and_the_calls_without_reading_pages(spied, site):
    site.store(site.page("/a", host="www", body=b""), site.page("/a", body=b""))
    spied.listener = lambda call, table, *_: table != site.table.table or pytest.fail(f"asked {call}")
    table = spied.site.table

    titles = table.search('keys "a row"', site.domain, in_="title", columns="body").explain()
    bodies = table.search("keys", f"https://{site.domain}/docs/").explain()

    assert titles.columns == ("metadata:page",)
    assert 1 <= len(titles.ranges) <= 2
    assert "metadata:title contains 'key', 'a', 'row'" in titles.notes[0]
    assert titles.notes[1].startswith("body: read for the pages found")
    assert bodies.columns == ("metadata:page", "content:html")
    assert bodies.question == f"pages below {site.url('/docs/')} with 'keys' in their title or body"
    assert "no filter in the store" in str(bodies)


def test_a_search_that_the_parent_has_begun_goes_on_in_a_forked_child_or_is_refused(crowd):
    hits = iter(crowd.table.search("keys", crowd.domain))
    begun = [next(hits) for _ in range(5)]
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if len(list(hits)) == 95 else 2
        except OtherProcess:
            code = 0
        finally:
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(begun) + len(list(hits)) == 100

"""Answers as tables: Arrow, pandas, polars, duckdb and Parquet, on every store, equal to the pages one by one."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaging import PAGE, Web, cell_of, damage, write

from store_differences import on_every_store
from webtable import Link, Page, WebTable
from webtable._checksums import place, with_checksum
from webtable.errors import DamagedRow, FormatError, InvalidArgument, MissingExtra, UnknownColumn, WriteFailed
from webtable.page.json_lines import values_of
from webtable.questions import PAGES
from webtable.repository.answers import arrow as batches
from webtable.repository.answers import arrow_pages
from webtable.repository.answers.columns import NAMED_COLUMNS
from webtable.rowkey.urls import split_url
from webtable.testing import ListeningStore


@pytest.fixture
def web(site) -> Web:
    return Web(site)


@pytest.fixture
def crawl(site):
    """Pages of three hosts with everything that a page can have or lack."""
    site.store(
        site.page("/", body=b"<h1>hi</h1>", title='a "title"\nof \N{SNOWMAN}', headers={"X-A": "1", "x-b": "é"}),
        site.page("/a?q=1", body=b"x" * 40, content_type="text/plain", status=404, title=None, charset="utf-8"),
        site.page("/moved", host="www", status=301, redirect_to=site.url("/a"), etag='"\\u0041\\"'),
        site.page("/old", host="b.www", last_modified=datetime(1970, 1, 1, 0, 0, 0, 123_456, UTC), outlinks=None),
        site.page("/links", host="www", outlinks=(Link(site.url("/"), "home", "nofollow"),), body=b"\xff\x00"),
    )
    return site


def by_hand(pages, names):
    return [values_of(page, names) for page in pages]


def test_an_answer_is_true_if_it_has_a_result_of_which_one_is_read(crawl):
    limits = []
    store = ListeningStore(crawl.table.store, lambda call: limits.append(call.arguments.get("limit")))
    table = WebTable(store, crawl.table.table, crawl.table.layout)

    assert table.pages(crawl.domain)
    assert [limit for limit in limits if limit is not None] in ([1], [])
    assert not table.pages(f"nowhere.{crawl.domain}")
    assert table.history(crawl.url("/"))
    assert not table.history(crawl.url("/nowhere"))


def test_a_single_column_needs_no_list(crawl):
    answer = crawl.table.pages(crawl.domain)

    assert answer.to_pandas("text").columns.tolist() == ["text"]
    assert answer.to_dicts("host") == [{"host": page.host} for page in answer]


@pytest.mark.parametrize("order", ["url", "storage"])
def test_a_table_of_pages_has_what_the_pages_have(crawl, order):
    answer = crawl.table.pages(crawl.domain, order=order)

    table = answer.to_arrow().read_all()

    assert table.to_pylist() == by_hand(answer, PAGES.usual)
    assert table.schema.field("fetched_at").type == pa.timestamp("us", "UTC")
    assert {field.name for field in table.schema if str(field.type) == "int64"} == {
        "status",
        "size",
        "change_count",
        "outlink_count",
        "depth",
        "duration",
        "attempts",
    }


def test_what_cells_leave_out_is_filled_in(crawl):
    rows = {row["url"]: row for row in crawl.table.pages(crawl.domain).to_arrow().read_all().to_pylist()}

    row = rows[crawl.url("/")]
    assert (row["status"], row["truncated"], row["change_count"], row["only_self_links"]) == (200, False, 0, False)


@on_every_store
def test_bodies_links_and_counts_are_columns_where_they_were_asked_for(crawl):
    crawl.table.links.refresh()
    answer = crawl.table.pages(crawl.domain, columns=["body", "outlinks", "link_counts"])

    rows = answer.to_arrow([*PAGES.usual, "body", "text", "headers", "outlinks", "link_counts"]).read_all().to_pylist()

    for row, page in zip(rows, answer, strict=True):
        assert row["body"] == page.body
        assert row["text"] == page.text
        assert dict(row["headers"]) == dict(page.headers)
        assert [tuple(link.values()) for link in row["outlinks"] or ()] == list(page.outlinks or ())
        assert row["link_counts"]["inlinks"] == page.link_counts.inlinks


@on_every_store
@pytest.mark.parametrize(
    "ask",
    [
        lambda crawl, **options: crawl.table.pages(crawl.domain, **options),
        lambda crawl, **options: crawl.table.pages(crawl.domain, order="storage", **options),
        lambda crawl, **options: crawl.table.fetched(crawl.domain, **options),
        lambda crawl, **options: crawl.table.links.orphans(crawl.domain, **options),
        lambda crawl, **options: crawl.table.search("o", crawl.domain, substring=True, **options),
        lambda crawl, **options: crawl.table.search("o", crawl.domain, in_="title", substring=True, **options),
    ],
    ids=["pages", "storage", "index", "orphans", "search", "titles"],
)
def test_a_column_is_named_once_in_the_question_or_for_the_frame(crawl, ask):
    crawl.store(crawl.page("/words", body=b"<title>Oh</title><p>So <b>old</b><script>no()</script>"))
    names = ["host", "text", "outlinks", "inlinks"]

    asked = ask(crawl, columns=names)

    rows = asked.to_dicts()
    whole = {page.url: page for page in crawl.table.pages(crawl.domain, columns=["body", "outlinks", "link_counts"])}
    assert rows
    for row in rows:
        page = whole[row["url"]]
        counted = page.link_counts and page.link_counts.inlinks
        assert list(row.items()) == [
            ("url", page.url),
            ("host", split_url(page.url).host),
            ("text", page.text),
            ("outlinks", page.outlinks),
            ("inlinks", counted),
        ]
    assert "So old" in [row["text"] for row in rows]
    assert ask(crawl).to_dicts(["url", *names]) == rows
    assert asked.to_arrow().schema.names == asked.to_polars().columns == list(asked.to_pandas()) == ["url", *names]
    assert asked.to_arrow().read_all() == ask(crawl).to_arrow(["url", *names]).read_all()
    assert list(asked._shown().columns) == ["url", *names]
    assert asked.head()._shown().columns == asked._shown().columns
    assert ask(crawl, columns=["url"]).to_dicts() == [{"url": row["url"]} for row in rows]
    assert ask(crawl, columns=[]).to_dicts() == ask(crawl).to_dicts()
    for wrong in (lambda: ask(crawl, columns=["colour"]), lambda: ask(crawl).to_dicts(["colour"])):
        with pytest.raises(UnknownColumn, match="colour"):
            wrong()


def test_all_columns_of_pages_may_be_asked_for():
    assert set(NAMED_COLUMNS) == set(PAGES.names)


def test_a_page_and_its_history_are_read_for_computed_columns(crawl):
    page = crawl.table.get(crawl.url("/"), columns=["text"])

    assert page.text is not None
    assert page.outlinks is None
    assert next(crawl.table.get_many([page.url], columns=["text"])) == page
    (version, *_) = crawl.table.history(page.url, columns=["host", "text"]).to_dicts()
    assert version == {"url": page.url, "host": split_url(page.url).host, "text": page.text}


def test_rows_that_a_frame_with_other_columns_cannot_read_are_named_by_the_answer(web):
    url = web.url("/a")
    damage(web.table, url, value=None)
    answer = web.table.pages(web.site.domain)

    answer.to_dicts(["text"])

    assert [one.url for one in answer.damaged] == [url]


def test_parts_of_the_url_are_columns(crawl):
    names = ["host", "host_reversed", "registered_domain", "scheme", "path", "query"]

    rows = crawl.table.pages(crawl.domain).to_arrow(names).read_all().to_pylist()

    urls = [split_url(page.url) for page in crawl.table.pages(crawl.domain)]
    assert [(row["host"], row["path"]) for row in rows] == [(url.host, url.path) for url in urls]
    assert {row["registered_domain"] for row in rows} == {crawl.domain}
    assert {row["query"] for row in rows} == {None, "q=1"}
    assert {row["host_reversed"] for row in rows} == {".".join(reversed(url.host.split("."))) for url in urls}


def test_columns_may_have_the_names_of_common_crawl(crawl):
    names = ["url", "host_reversed", "fetched_at", "status", "digest"]

    table = crawl.table.pages(crawl.domain).to_arrow(names, names="commoncrawl").read_all()

    assert table.column_names == ["url", "url_host_name_reversed", "fetch_time", "fetch_status", "content_digest"]
    with pytest.raises(InvalidArgument, match="names="):
        crawl.table.pages(crawl.domain).to_arrow(names="cdx")


@pytest.mark.parametrize(
    "condition",
    [{"status": 404}, {"status": [301, 404]}, {"content_type": " Text/Plain"}, {"min_size": 2, "max_size": 11}],
    ids=str,
)
def test_a_condition_and_a_limit_hold_for_tables_too(crawl, condition):
    answer = crawl.table.pages(crawl.domain, **condition)

    assert answer.to_arrow(["url"]).read_all()["url"].to_pylist() == [page.url for page in answer]
    assert crawl.table.pages(crawl.domain, limit=2, **condition).to_arrow().read_all().num_rows == min(
        2, len(list(answer))
    )


def test_a_limit_that_an_answer_was_given_later_holds_for_columns_that_are_asked_for_again(crawl):
    few = replace(crawl.table.pages(crawl.domain), limit=1)

    assert [few.to_arrow(columns).read_all().num_rows for columns in (None, ["url", "text"])] == [1, 1]


def test_a_table_goes_on_behind_a_token(crawl):
    first = crawl.table.pages(crawl.domain).page(2)

    rest = crawl.table.pages(crawl.domain, after=first.next_token).to_arrow(["url"]).read_all()["url"].to_pylist()

    assert [page.url for page in first] + rest == [page.url for page in crawl.table.pages(crawl.domain)]


@on_every_store
def test_every_answer_is_a_table(web):
    table, url = web.table, web.url
    table.links.refresh()
    table.put(web.site.page("/a", age=60, body=b"<title>new</title><p>another word"))
    for path, to in (("/old", "/older"), ("/older", "/old")):
        table.put(web.site.page(path, status=301, redirect_to=url(to), outlinks=None))
        table.put(web.site.page(f"{path}-copy", title="copy"))
    domain = web.site.domain
    answers = {
        "errors": table.errors(domain),
        "fetched": table.fetched(domain),
        "hosts": table.hosts(domain),
        "links": table.links.of(url("/")),
        "inlinks": table.links.to(url("/b")),
        "broken": table.links.broken(domain),
        "hits": table.search("salt", domain),
        "discovered": table.links.discovered(domain),
        "history": table.history(url("/a")),
        "batch": table.pages(domain).page(3),
        "stats": table.stats(domain),
        "changes": table.changes(domain, since="30d"),
        "diff": table.diff(url("/a")),
        "groups": table.duplicate_groups(domain, by="title"),
        "titles": table.titles(domain, max_length=1),
        "chains": table.redirect_chains(domain),
        "crawls": table.crawls(domain),
        "sitemaps": table.sitemaps(domain, sitemap=url("/sitemap.xml")),
    }

    for name, answer in answers.items():
        rows = answer.to_arrow().read_all().to_pylist()
        assert len(rows) == answer.count() > 0, name
        assert rows == [{**row} for row in answer.to_dicts()], name
        assert pa.table(answer).num_rows == pl.DataFrame(answer).height == len(rows), name
        assert answer.to_pandas().shape == (len(rows), len(rows[0])), name
        assert answer.first() == next(iter(answer)), name
    assert {row["name"]: row["pages"] for row in answers["hosts"].to_dicts()} == {domain: 4}
    assert {"source", "target", "status", "anchor", "rel", "kind", "position", "times"} == set(
        answers["broken"].to_dicts()[0]
    )


def test_polars_duckdb_and_pandas_take_an_answer_as_it_is(crawl):
    pages = crawl.table.pages(crawl.domain)

    assert pl.DataFrame(pages)["status"].sum() == 200 * 3 + 404 + 301
    assert duckdb.sql("select count(*) from pages where status >= 300").fetchall() == [(2,)]
    assert list(pages.to_pandas()["url"]) == list(pages.to_polars()["url"]) == [page.url for page in pages]
    assert pages.to_pandas()["size"].dtype == pd.Int64Dtype()
    for answer in (pages, crawl.table.history(crawl.url()), crawl.table.stats(crawl.domain)):
        with pytest.raises(TypeError, match="to_pandas"):
            pd.DataFrame(answer)


def test_a_damaged_row_is_left_out_of_a_table_and_told(web):
    damage(web.table, web.url("/a"), value=None)
    answer = web.table.pages(web.site.domain)

    found = answer.to_arrow(["url"]).read_all()["url"].to_pylist()

    assert found == web.urls("/", "/b", "/gone")
    assert [one.row for one in answer.damaged] == [web.table.key.encode(web.url("/a"))]
    strict = WebTable(web.table.store, web.table.table, web.table.layout, strict=True)
    with pytest.raises(DamagedRow):
        strict.pages(web.site.domain).to_arrow().read_all()


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.removesuffix(b"}") + b',\n"more":{"x":[1]}}',
        lambda value: b"\n " + value,
    ],
)
def test_a_cell_of_another_program_with_an_end_of_line_is_one_row(web, change):
    url = web.url("/a")
    cell, row = cell_of(web.table, url, PAGE), web.table.key.encode(url)
    value = change(cell.value.rpartition(b',"crc32"')[0] + b"}")
    write(web.table, web.table.table, row, PAGE, cell.timestamp, with_checksum(value, place(row, cell.timestamp)))

    rows = web.table.pages(web.site.domain).to_arrow().read_all().to_pylist()

    assert rows == by_hand(web.table.pages(web.site.domain), PAGES.usual)
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("member", "is_sealed"),
    [
        (b'"status_code":9223372036854775808', False),
        (b'"status_code":99', False),
        (b'"size":-1', False),
        (b'"status_code":9223372036854775808', True),
        (b'"status_code":1000', True),
        (b'"size":-1', True),
        (b'"title":"\xff"', True),
        (b'"changed_at":"0000-01-01T00:00:00Z"', True),
    ],
)
def test_a_value_that_no_page_has_is_one_damaged_row_of_a_table_and_of_a_listing(web, member, is_sealed):
    url = web.url("/a")
    cell, row = cell_of(web.table, url, PAGE), web.table.key.encode(url)
    value = b'{"url":"%s","fetched_at":"2026-01-01T00:00:00Z",%s}' % (url.encode(), member)
    stored = with_checksum(value, place(row, cell.timestamp)) if is_sealed else value
    write(web.table, web.table.table, row, PAGE, cell.timestamp, stored)

    for read in (list, lambda answer: answer.to_arrow().read_all().to_pylist(), lambda answer: list(answer.to_dicts())):
        answer = web.table.pages(web.site.domain)
        assert len(read(answer)) == 3
        assert [one.url for one in answer.damaged] == [url]


def test_a_table_of_metadata_reads_no_bodies(web):
    asked = []
    store = ListeningStore(web.table.store, lambda call: asked.append(call.arguments.get("wanted")))
    table = WebTable(store, web.table.table, web.table.layout)

    table.pages(web.site.domain, columns=["body"]).to_arrow(["url", "status"]).read_all()

    columns = {column for wanted in asked if wanted is not None for column in wanted.columns or ()}
    assert b"content:html" not in columns
    assert PAGE in columns


def test_batches_are_bounded_and_lazy(web, monkeypatch):
    monkeypatch.setattr(arrow_pages, "FIRST_ROWS", 1)
    monkeypatch.setattr(arrow_pages, "BATCH_ROWS", 2)
    monkeypatch.setattr(batches, "BATCH_ROWS", 3)

    reader = web.table.pages(web.site.domain).to_arrow()
    assert [batch.num_rows for batch in reader] == [1, 2, 1]
    whole = web.table.pages(web.site.domain, columns=["body"]).to_arrow()
    assert [batch.num_rows for batch in whole] == [3, 1]


def test_a_parquet_file_has_whole_hosts_in_its_row_groups(crawl, tmp_path, monkeypatch):
    monkeypatch.setattr("webtable.repository.answers.arrow.GROUP_ROWS", 2)
    monkeypatch.setattr(arrow_pages, "FIRST_ROWS", 2)
    monkeypatch.setattr(arrow_pages, "BATCH_ROWS", 1)
    path = tmp_path / "pages.parquet"

    count = crawl.table.pages(crawl.domain).to_parquet(path)

    assert count == 5
    assert pq.read_table(path)["url"].to_pylist() == [page.url for page in crawl.table.pages(crawl.domain)]
    file = pq.ParquetFile(path)
    groups = [file.read_row_group(at, ["url"])["url"].to_pylist() for at in range(file.num_row_groups)]
    hosts = [{split_url(url).host for url in group} for group in groups]
    assert len(groups) > 1
    assert all(one.isdisjoint(other) for at, one in enumerate(hosts) for other in hosts[at + 1 :])
    assert [file.name for file in tmp_path.iterdir()] == ["pages.parquet"]


def test_a_parquet_file_that_could_not_be_finished_is_not_there(web, tmp_path):
    damage(web.table, web.url("/gone"), value=None)
    strict = WebTable(web.table.store, web.table.table, web.table.layout, strict=True)

    with pytest.raises(DamagedRow):
        strict.pages(web.site.domain).to_parquet(tmp_path / "pages.parquet")

    assert list(tmp_path.iterdir()) == []


def test_a_data_frame_is_stored_as_pages(site):
    frame = pd.DataFrame(
        {
            "url": [site.url("/one"), site.url("/two")],
            "body": ["<title>One</title>", None],
            "fetched_at": pd.to_datetime([site.now - timedelta(hours=1)] * 2),
            "fetch_status": [None, 404],
        },
        index=["x", "y"],
    )

    with site.table.writer() as writer:
        count = writer.put_many(frame)

    assert count == 2
    one, two = site.table.get(site.url("/one")), site.table.get(site.url("/two"))
    assert (one.title, one.status, one.body) == ("One", 200, b"<title>One</title>")
    assert (two.status, two.body) == (404, None)


def test_pages_and_an_answer_can_be_put_as_they_are(crawl):
    pages = [crawl.page("/p", age=5), crawl.page("/q", age=5)]

    with crawl.table.writer() as writer:
        assert writer.put_many(pages) == 2
        writer.flush()
        assert writer.put_many(crawl.table.pages(crawl.domain, columns=["body", "outlinks"])) == 7

    assert crawl.table.get(crawl.url("/p")) is not None


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"url": ["https://a.example/"], "fetch_at": [1]}, "fetch_at"),
        ({"body": ["x"]}, "'url'"),
    ],
)
def test_a_column_that_pages_do_not_have_is_an_error(site, frame, said):
    with site.table.writer() as writer, pytest.raises(UnknownColumn, match=said):
        writer.put_many(pa.table(frame))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "no url"),
        ("status", "ok"),
        ("status", "99"),
        ("outlinks", [["x", "y", "z", "!"]]),
        ("headers", [["a", "b", "c"]]),
        ("fetched_at", "soon"),
        ("fetched_at", "1969-01-01T00:00:00Z"),
        ("size", "-1"),
    ],
)
def test_rows_that_are_no_pages_are_named_and_the_others_are_stored(site, name, value):
    urls = [f"https://odd.example/{number}" for number in range(4)]
    columns = {"url": urls, "body": ["x"] * 4}
    odd = [None, None, value, None]
    if name == "url":
        columns["url"] = [*urls[:2], value, urls[3]]
    else:
        columns[name] = odd

    with site.table.writer() as writer, pytest.raises(WriteFailed, match=r"1 of 4 rows not stored: row 3 ") as caught:
        writer.put_many(pa.table(columns))

    assert [(row.row, row.url) for row in caught.value.failures] == [(3, columns["url"][2])]
    assert [page.url for page in site.table.pages("odd.example")] == [urls[0], urls[1], urls[3]]


def test_without_pyarrow_a_typed_error_says_what_to_install(web, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    batches.arrow.cache_clear()
    try:
        with pytest.raises(MissingExtra, match=r"hbase-webtable\[arrow\]"):
            web.table.pages(web.site.domain).to_arrow()
        assert len(web.table.pages(web.site.domain).to_dicts(["url"])) == 4
    finally:
        monkeypatch.undo()
        batches.arrow.cache_clear()


def test_numbers_that_arrow_cannot_hold_are_a_typed_error():
    page = Page(url="https://a.example/", size=2**63)

    with pytest.raises(FormatError, match="size"):
        batches.batch_of([page], PAGES.chosen(["size"]))

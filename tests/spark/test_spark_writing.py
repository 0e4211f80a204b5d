"""Frames of Spark become pages, once, however often they are written; rows that cannot be stored are named."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import webtable
from webtable import ALL

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(600),
]
FETCHED = datetime(2026, 11, 20, 10, 0, 0, 123_000, UTC)


def rows(count, **fields):
    return [
        {"url": f"https://example.com/{number}", "body": f"<title>{number}</title>", **fields}
        for number in range(count)
    ]


def write(frame, store, **options):
    frame.write.format("webtable").options(store=store, **options).mode("append").save()


@pytest.fixture
def store(new_url) -> str:
    url = new_url()
    webtable.create(url, indexes=["time"])
    return url


def test_rows_become_pages_and_written_twice_they_are_stored_once(spark, store):
    frame = spark.createDataFrame(rows(40, fetched_at=FETCHED), "url string, body string, fetched_at timestamp")

    write(frame.repartition(4), store)
    write(frame.repartition(3), store)

    with webtable.open(store) as table:
        assert {page.url: page.fetched_at for page in table.pages(ALL)} == {row["url"]: FETCHED for row in rows(40)}
        assert table.get("https://example.com/7").title == "7"
        assert len(table.history("https://example.com/7")) == 1


def test_a_frame_that_was_read_can_be_written_with_everything_in_it(spark, tmp_path, sample_pages):
    source, target = str(tmp_path / "source.db"), str(tmp_path / "target.db")
    with webtable.open(source, create=True) as table, table.writer() as writer:
        writer.put_many(sample_pages)
    names = [
        "url",
        "body",
        "title",
        "status",
        "content_type",
        "charset",
        "headers",
        "fetched_at",
        "last_modified",
        "etag",
    ]
    names += ["digest", "size", "truncated", "redirect_to", "language", "h1", "outlinks"]

    read = spark.read.format("webtable").options(store=source, columns=",".join(names), partitions=2).load()
    write(read, target, create="true")

    with webtable.open(source) as old, webtable.open(target) as new:
        first, second = (table.pages(ALL).to_dicts([*names, "text"]) for table in (old, new))
    assert first == second


def test_rows_without_a_date_get_one_that_all_tasks_share(spark, store):
    frame = spark.createDataFrame(rows(20), "url string, body string")

    write(frame.repartition(4), store)
    write(frame, store, fetched_at="2026-11-21T00:00:00Z")

    with webtable.open(store) as table:
        dates = {page.fetched_at for page in table.pages(ALL)}
        (before,) = {page.fetched_at for page in table.get_many([row["url"] for row in rows(20)])}
    assert dates == {before}
    assert before > datetime(2026, 11, 21, tzinfo=UTC)


def test_rows_that_cannot_be_stored_are_named_and_the_others_are_stored(spark, store):
    bad = [{"url": f"mailto:{number}@example.com", "body": "", "fetched_at": FETCHED} for number in range(30)]
    old = [{"url": "https://example.com/future", "body": "", "fetched_at": FETCHED.replace(year=2090)}]
    mixed = [*rows(10, fetched_at=FETCHED), *old, *bad, *rows(20, fetched_at=FETCHED)[10:]]
    frame = spark.createDataFrame(mixed, "url string, body string, fetched_at timestamp").coalesce(1)

    with pytest.raises(Exception, match="31 of 51 rows were not stored") as caught:
        write(frame, store)

    assert "https://example.com/future: FutureCapture" in str(caught.value)
    assert "mailto:0@example.com: InvalidURL" in str(caught.value)
    assert "and 11 more" in str(caught.value)
    with webtable.open(store) as table:
        assert table.pages(ALL).count() == 20


@pytest.mark.parametrize(
    ("columns", "mode", "options", "message"),
    [
        ("url string, fetched timestamp", "append", {}, "fetched.*is not a field of a page"),
        ("url string", "overwrite", {}, "say mode.'append'"),
        ("url string", "append", {"site": "example.com"}, "no option 'site' for writing"),
        ("url string", "append", {"fetched_at": "soon"}, "fetched_at='soon' must be a date"),
    ],
)
def test_what_cannot_be_written_is_said_before_any_row_is(spark, tmp_path, columns, mode, options, message):
    webtable.create(tmp_path / "crawl.db")
    frame = spark.createDataFrame([], columns)

    with pytest.raises(Exception, match=message):
        frame.write.format("webtable").options(store=str(tmp_path / "crawl.db"), **options).mode(mode).save()


def test_a_task_that_is_killed_while_it_writes_runs_again_and_nothing_is_stored_twice(spark, store, tmp_path):
    from dying import DyingSource

    spark.dataSource.register(DyingSource)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 5)
    frame = spark.createDataFrame(rows(20), "url string, body string").coalesce(1)

    try:
        frame.write.format("dying").options(store=store, flag=str(tmp_path / "died")).mode("append").save()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")

    assert (tmp_path / "died").exists()
    with webtable.open(store) as table:
        assert table.pages(ALL).count() == 20
        assert {len(table.history(row["url"])) for row in rows(20)} == {1}
        assert len({page.fetched_at for page in table.pages(ALL)}) == 1

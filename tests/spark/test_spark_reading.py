"""Answers as data frames of Spark have the rows of the answers, however tasks and servers fare."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import webtable
from webtable import ALL, Page
from webtable.errors import InvalidArgument
from webtable.questions import LISTINGS
from webtable.rowkey import Salt

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(600),
]
NOW = datetime.now(UTC).replace(microsecond=0)
PAGES = [
    Page(
        url=f"https://{host}.example.com/{number}",
        body=f"<title>{number}</title><a href='/{number + 1}'>next</a>".encode(),
        status=404 if number % 10 == 3 else 200,
        content_type="text/html",
        headers={"X-Number": str(number)},
        fetched_at=NOW - timedelta(minutes=number),
    )
    for host in ("www", "docs")
    for number in range(60)
]


@pytest.fixture
def store(new_url) -> str:
    url = new_url()
    with webtable.open(url, create=True, indexes=["time", "status", "link"]) as table:
        with table.writer() as writer:
            writer.put_many(PAGES)
        table.links.refresh()
    return url


def read(spark, store, **options):
    return spark.read.format("webtable").option("store", store).options(**options).load()


def rows_of(frame):
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: row["url"])


def test_a_frame_has_the_pages_of_the_table(spark, store):
    frame = read(spark, store, partitions=4)

    with webtable.open(store) as table:
        answer = table.pages(ALL)
        expected = [naive(row) for row in answer.to_dicts()]
    assert frame.rdd.getNumPartitions() == 4
    assert rows_of(frame) == sorted(expected, key=lambda row: row["url"])
    assert frame.count() == len(PAGES)


def naive(row):
    """Return *row* with its moments as Spark gives them to Python: without a time zone, in that of the machine."""
    moments = {name: value.astimezone().replace(tzinfo=None) for name, value in row.items() if hasattr(value, "tzinfo")}
    return row | moments


def test_columns_of_every_type_come_as_they_are(spark, store):
    names = ["url", "host", "text", "body", "headers", "outlinks", "link_counts"]

    frame = read(spark, store, site="www.example.com", columns=", ".join(names))

    found = {row["url"]: row for row in rows_of(frame)}
    page = found["https://www.example.com/7"]
    assert frame.columns == names
    assert len(found) == 60
    assert (page["host"], page["text"], page["body"][:16]) == ("www.example.com", "next", b"<title>7</title>")
    assert page["headers"] == {"X-Number": "7"}
    assert page["outlinks"] == [{"url": "https://www.example.com/8", "anchor": "next", "rel": ""}]
    assert page["link_counts"]["inlinks"] == 1


@pytest.mark.parametrize(
    ("question", "options", "count"),
    [
        ("pages", {"status": "404, 410", "site": "docs.example.com"}, 6),
        ("errors", {}, 12),
        ("with_status", {"status": "404", "site": "www.example.com"}, 6),
        ("fetched", {"since": (NOW - timedelta(minutes=9)).isoformat()}, 20),
        ("edges", {"site": "https://www.example.com/"}, 60),
        ("links.broken", {}, 12),
        ("links.to", {"url": "https://www.example.com/5"}, 1),
        ("links.discovered", {"site": "all"}, 2),
    ],
)
def test_the_option_question_names_another_question(spark, store, question, options, count):
    assert read(spark, store, question=question, **options).count() == count


def test_every_question_that_can_be_divided_can_be_named(tmp_path):
    from webtable.integrations._spark.options import QUESTIONS, SparkQuestion

    examples = {listing.method: listing.example for listing in LISTINGS.values()}
    webtable.create(tmp_path / "empty.db")
    for name in QUESTIONS:
        options = {"store": str(tmp_path / "empty.db"), "question": name, **examples[name]}

        with SparkQuestion.of(options).opened() as (_, answer):
            assert len(answer.partitions(2)) == 2, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": "example.com"}, "no option 'domain' .* called 'site' here"),
        ({"question": "delete_pages"}, "question='delete_pages' must be one of pages, "),
        ({"limit": "3"}, "no option 'limit' for the question 'pages'"),
        ({"partitions": "many"}, "partitions='many' must be a whole number"),
        ({"columns": "url,status_code"}, "status_code.*status"),
    ],
)
def test_an_option_that_is_wrong_is_named(spark, tmp_path, options, message):
    webtable.create(tmp_path / "empty.db")

    with pytest.raises(Exception, match=message):
        read(spark, str(tmp_path / "empty.db"), **options)


def test_a_store_must_be_named():
    from webtable.integrations._spark.options import SparkQuestion

    with pytest.raises(InvalidArgument, match="'store'"):
        SparkQuestion.of({})


def test_a_task_that_is_killed_runs_again_and_gives_the_same_rows(spark, store, tmp_path):
    from dying import DyingSource

    spark.dataSource.register(DyingSource)
    flag = tmp_path / "died"

    frame = spark.read.format("dying").options(store=store, partitions=3, flag=str(flag)).load()

    assert len({row["url"] for row in frame.collect()}) == len(PAGES)
    assert flag.exists()


def test_executors_refuse_a_table_that_was_created_anew_with_another_layout(spark, tmp_path):
    file = tmp_path / "crawl.db"
    webtable.create(file)
    planned = read(spark, str(file), partitions=2).rdd
    assert planned.getNumPartitions() == 2
    for one in tmp_path.glob("crawl.db*"):
        Path(one).unlink()
    webtable.create(file, salt=Salt.url())

    with pytest.raises(Exception, match="LayoutMismatch"):
        planned.collect()

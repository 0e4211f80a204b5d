"""Streams of Spark read each fetched page and store each row once, also after a restart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import ALL, Page
from webtable.errors import InvalidArgument

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(600),
]


def put(store, now, *minutes):
    with webtable.open(store) as table, table.writer() as writer:
        for one in minutes:
            url = f"https://example.com/{one}"
            writer.put(Page(url=url, body=f"<title>{one}</title>".encode(), fetched_at=now - timedelta(minutes=one)))


def copy(spark, source, target, checkpoint, **options):
    """Copy what is there by now from *source* to *target* by a stream, and return the rows of its batches."""
    stream = spark.readStream.format("webtable").options(
        store=source, columns="url,body,fetched_at", partitions=2, **options
    )
    query = (
        stream.load()
        .writeStream.format("webtable")
        .options(store=target, checkpointLocation=str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [one.numInputRows for one in query.recentProgress]


def copied(target):
    with webtable.open(target) as table:
        assert {len(table.history(page.url)) for page in table.pages(ALL)} <= {1}
        return {page.url.rpartition("/")[2]: page.fetched_at for page in table.pages(ALL)}


def test_a_stream_from_one_table_into_another_goes_on_where_it_ended(spark, new_url, tmp_path):
    source, target, checkpoint = new_url(), new_url(), tmp_path / "checkpoint"
    now = datetime.now(UTC).replace(microsecond=0)
    for url in (source, target):
        webtable.create(url, indexes=["time"])
    put(source, now, 60, 50, 40, 20, 0)
    since = (now - timedelta(minutes=55)).isoformat()

    first = copy(spark, source, target, checkpoint, since=since, margin=45 * 60)
    put(source, now, 30)  # late, and within the margin
    then = copy(spark, source, target, checkpoint, since=since, margin=10 * 60)
    last = copy(spark, source, target, checkpoint, since=since, margin=10 * 60)

    assert copied(target) == {str(one): now - timedelta(minutes=one) for one in (50, 40, 30, 20)}
    assert (sum(first), sum(then), sum(last)) == (1, 3, 0)


def test_the_batches_of_a_stream_follow_each_other_without_a_gap(tmp_path, monkeypatch):
    from webtable.integrations._spark.reading import FetchedReader

    store, now = str(tmp_path / "crawl.db"), datetime.now(UTC).replace(microsecond=0)
    webtable.create(store, indexes=["time"])
    put(store, now, 50, 40)
    reader = FetchedReader({"store": store, "partitions": "2", "margin": "600"}, ["url"])

    def read(start, end):
        parts = reader.partitions(start, end)
        return sorted(url.as_py()[20:] for part in parts for batch in reader.read(part) for url in batch["url"])

    begin = reader.initialOffset()
    first = reader.latestOffset(begin)
    assert read(begin, first) == ["40", "50"]
    # Nothing came since: the offset stays, and so a page that is stored late is still read.
    assert reader.latestOffset(first) == first
    assert read(first, first) == []
    middle = {"until": (now - timedelta(minutes=45)).isoformat()}
    assert (read(begin, middle), read(middle, first)) == (["50"], ["40"])


def test_a_stream_into_a_table_needs_dates(tmp_path):
    from pyspark.sql.types import StringType, StructField, StructType

    from webtable.integrations._spark import WebTableSource

    store = str(tmp_path / "crawl.db")
    webtable.create(store)
    schema = StructType([StructField("url", StringType())])

    with pytest.raises(InvalidArgument, match="needs a column fetched_at"):
        WebTableSource({"store": store}).streamWriter(schema, overwrite=False)

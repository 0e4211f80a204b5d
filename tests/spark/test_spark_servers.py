"""Spark reads every page once while HBase is killed, and started again, in the middle of its tasks. A minute or two."""

from __future__ import annotations

import os
import threading
import time

import pytest
from servers import started

import webtable
from webtable import ALL, Page

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.hbase,
    pytest.mark.timeout(600),
]
PAGES = 1_200
SECONDS_A_PAGE = 0.01


def slowly(rows):
    """Take the URLs of *rows*, so slowly that a part is read for seconds."""
    for row in rows:
        time.sleep(SECONDS_A_PAGE)
        yield row.url


@pytest.mark.parametrize("way", ["url", "native_url"])
def test_all_pages_are_read_once_though_hbase_is_killed_meanwhile(spark, way):
    with started() as server:
        store = getattr(server, way).format(table="killed").replace("timeout=10", "timeout=120")
        with webtable.open(store, create=True, indexes=["url"]) as table:
            with table.writer() as writer:
                for number in range(PAGES):
                    writer.put(Page(url=f"https://h{number % 50}.example/{number}", body=os.urandom(10_000)))
            stored = sorted(page.url for page in table.pages(ALL))
        frame = spark.read.format("webtable").options(store=store, columns="url,body", partitions=6).load()
        found: list[str] = []
        reading = threading.Thread(target=lambda: found.extend(frame.rdd.mapPartitions(slowly).collect()))

        reading.start()
        time.sleep(4)
        assert reading.is_alive()
        server.restart()
        reading.join(300)

        assert sorted(found) == stored

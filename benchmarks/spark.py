"""How many rows does Spark read in a second, beside one process, and beside a plain job through HappyBase?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import webtable
from benchmarks.material import made_up_pages
from benchmarks.measuring import LeftOut, Result, Run, compare, stopwatch
from benchmarks.plain import METADATA_COLUMNS, put_all
from webtable import ALL
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase"})
SITES = [f"site-{number}.example" for number in range(50)]
COLUMNS = ["url", "title", "content_type", "etag", "size"]
PLAIN_PARTITIONS = 16
"""How many the plain job has: one for each salt. Spark with webtable has as many as it takes by itself."""


def run(setting: Setting) -> list[Result | LeftOut]:
    """Store made-up pages both ways, and sum up a column of all of them."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return [LeftOut("Spark", "PySpark is not installed: pip install 'hbase-webtable[spark]'")]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, ["", *sys.path]))
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        return _results(setting, spark)
    finally:
        spark.stop()


def _results(setting: Setting, spark: Any) -> list[Result | LeftOut]:
    pages = list(made_up_pages(setting.scaled(100_000), SITES, body_bytes=500))
    key = WebKey()
    with setting.hbase_table() as table, setting.happybase_table() as plain:
        with table.writer() as writer:
            writer.put_many(pages)
        put_all(plain, pages, {page.url: key.encode(page.url) for page in pages})
        host, port = setting.happybase_address
        name = plain.name.decode()

        def rows_of(parts: Iterable[int]) -> Iterator[tuple[str, str, str, str, int]]:
            return _read_plainly(host, port, name, parts)

        def ours() -> Run:
            frame = spark.read.format("webtable").options(store=setting.url_of(table.table), columns=",".join(COLUMNS))
            return _summed(frame.load)

        def happybase() -> Run:
            regions = spark.sparkContext.parallelize(range(PLAIN_PARTITIONS), PLAIN_PARTITIONS)
            schema = "url string, title string, content_type string, etag string, size long"
            return _summed(lambda: spark.createDataFrame(regions.mapPartitions(rows_of), schema))

        def one_process() -> Run:
            with stopwatch() as watch, webtable.open(setting.url_of(table.table)) as again:
                rows = size = 0
                for batch in again.pages(ALL, order="storage").to_arrow(COLUMNS):
                    rows += batch.num_rows
                    size += sum(batch["size"].to_pylist())
            return Run(watch.seconds, rows, (rows, size))

        what = f"{len(pages):,} pages of HBase in Spark on {os.cpu_count()} cores, {len(COLUMNS)} columns of metadata"
        note = "with the planning of the query; a table without indexes"
        return [
            compare(
                what,
                "a plain job: happybase scans in mapPartitions",
                target=3,
                ours=ours,
                peer=happybase,
                pairs=setting.pairs(5),
                unit="rows/s",
                note=note,
            ),
            compare(
                what,
                "to_arrow() in one process",
                target=None,
                ours=ours,
                peer=one_process,
                pairs=setting.pairs(5),
                unit="rows/s",
                note=note,
            ),
        ]


def _summed(frame_of: Any) -> Run:
    from pyspark.sql import functions

    with stopwatch() as watch:
        counts = [functions.count("url"), functions.sum("size"), functions.sum(functions.length("title"))]
        rows, size, _ = frame_of().agg(*counts).first()
    return Run(watch.seconds, rows, (rows, size))


def _read_plainly(host: str, port: int, table: str, parts: Iterable[int]) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield the rows of some sixteenths of the salts, as a job does that knows HappyBase alone."""
    import happybase

    connection = happybase.Connection(host, port)
    try:
        for part in parts:
            scan = connection.table(table).scan(
                row_start=b"%x" % part, row_stop=b"%x\xff" % part, columns=METADATA_COLUMNS, batch_size=1_000
            )
            for _, cells in scan:
                url, title, kind, etag = (
                    cells[b"metadata:%b" % one].decode() for one in (b"url", b"title", b"content_type", b"etag")
                )
                yield url, title, kind, etag, int(cells[b"metadata:size"])
    finally:
        connection.close()

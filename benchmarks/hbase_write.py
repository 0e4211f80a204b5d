"""How fast does a writer store prepared pages with their bodies in HBase?"""

from __future__ import annotations

from benchmarks.material import corpus_pages, digest_of
from benchmarks.measuring import Result, Run, compare, stopwatch, wait_until_idle
from benchmarks.plain import HTML, put_all
from benchmarks.setting import REGIONS, Setting
from webtable import HostOnly
from webtable.rowkey import WebKey

NEEDS = frozenset({"hbase", "corpus"})


def run(setting: Setting) -> list[Result]:
    """Write the corpus' pages into fresh tables in turn, and read them back to see that all are there."""
    pages = corpus_pages(setting.warc_files)
    pages = pages[:300] if setting.quick else pages
    hosts = sorted({page.url.split("/")[2] for page in pages})
    key = WebKey()
    keys = {page.url: key.encode(page.url) for page in pages}

    def ours() -> Run:
        with setting.hbase_table() as table:
            wait_until_idle()
            with stopwatch() as watch, table.writer() as writer:
                for page in pages:
                    writer.put(page)
            stored = (page for host in hosts for page in table.pages(HostOnly(host), columns=["body"]))
            return Run(watch.seconds, len(pages), digest_of((page.url, page.body or b"") for page in stored))

    def happybase() -> Run:
        with setting.happybase_table() as table:
            wait_until_idle()
            with stopwatch() as watch:
                put_all(table, pages, keys)
            stored = ((key.url_of(row), cells[HTML]) for row, cells in table.scan(columns=[HTML], batch_size=50))
            return Run(watch.seconds, len(pages), digest_of(stored))

    size = sum(len(page.body or b"") for page in pages) / len(pages) / 1000
    return [
        compare(
            f"writer: {len(pages):,} prepared pages with bodies ({size:.0f} KB each) into HBase",
            "HappyBase batch put of the same HTML and 12 metadata columns",
            target=3,
            ours=ours,
            peer=happybase,
            pairs=setting.pairs(5),
            note=f"fresh tables of {REGIONS} regions, without indexes; both start from the same pages, the digest of "
            "the body included",
        )
    ]

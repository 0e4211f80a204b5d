"""How fast is a site listed from HBase, without bodies?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, Run, compare, stopwatch
from benchmarks.plain import METADATA_COLUMNS, put_all
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase"})
SITE = "listed.example"


def run(setting: Setting) -> list[Result]:
    """Store made-up pages of one host both ways and list them."""
    pages = list(made_up_pages(setting.scaled(20_000), [SITE], body_bytes=2_000))
    key = WebKey()
    (keys,) = key.host_ranges(SITE)
    with setting.hbase_table() as table, setting.happybase_table() as plain:
        with table.writer() as writer:
            for page in pages:
                writer.put(page)
        put_all(plain, pages, {page.url: key.encode(page.url) for page in pages})

        def ours() -> Run:
            with stopwatch() as watch:
                found = list(table.pages(SITE))
            return Run(watch.seconds, len(found), [(page.url, page.title) for page in found])

        def happybase() -> Run:
            with stopwatch() as watch:
                rows = plain.scan(row_start=keys.start, row_stop=keys.stop, columns=METADATA_COLUMNS, batch_size=1_000)
                found = list(rows)
            titles = [(c[b"metadata:url"].decode(), c[b"metadata:title"].decode()) for _, c in found]
            return Run(watch.seconds, len(found), titles)

        return [
            compare(
                f"listing of {len(pages):,} pages of a site, without bodies (table.pages, 256 salts)",
                "HappyBase scan of 12 metadata columns, in the range that holds them",
                target=3,
                ours=ours,
                peer=happybase,
                pairs=setting.pairs(7),
                note="ours gives Page objects; HappyBase dictionaries of bytes, 1,000 rows a call; a table without "
                "indexes",
            )
        ]

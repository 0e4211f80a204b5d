"""How long does it take to get one page with its body, from a file and from HBase?"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import zstandard

import webtable
from benchmarks import bare
from benchmarks.material import made_up_pages
from benchmarks.measuring import LeftOut, Result, tidied
from benchmarks.plain import cells_of, put_all
from webtable import Page
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.setting import Setting

NEEDS = frozenset[str]()
LIKES = frozenset({"hbase"})
BODY_BYTES = 20_000
SELECT = "SELECT qualifier, value FROM cells WHERE row = ?"


def run(setting: Setting) -> list[Result | LeftOut]:
    """Get the pages of a table in an order of no meaning, each of them in turn by both ways."""
    pages = list(made_up_pages(setting.scaled(2_000), ["get.example"], body_bytes=BODY_BYTES))
    return [_embedded(setting, pages), _hbase(setting, pages)]


def _embedded(setting: Setting, pages: Sequence[Page]) -> Result:
    frames = zstandard.ZstdDecompressor()
    with (
        webtable.open(setting.new_file(), create=True, indexes=[]) as table,
        bare.database(setting.new_file()) as connection,
    ):
        with table.writer() as writer:
            writer.put_many(pages)
        bare.insert(connection, bare.batches_of(pages, table))

        def select(page: Page) -> bytes:
            cells = dict(connection.execute(SELECT, [table.key.encode(page.url)]).fetchall())
            return frames.decompress(cells[b"html"])

        return _compared(
            "a page with its body, from a file", "bare sqlite3 SELECT of its cells", table, pages, peer=select
        )


def _hbase(setting: Setting, pages: Sequence[Page]) -> Result | LeftOut:
    if setting.hbase is None:
        return LeftOut("a page with its body, from HBase", setting.missing.get("hbase", "no HBase"))
    key = WebKey()
    with setting.hbase_table() as table, setting.happybase_table() as plain:
        with table.writer() as writer:
            writer.put_many(pages)
        put_all(plain, pages, {page.url: key.encode(page.url) for page in pages})
        columns = list(cells_of(pages[0]))
        return _compared(
            "a page with its body, from HBase",
            "HappyBase row of the body and 12 metadata columns",
            table,
            pages,
            peer=lambda page: plain.row(key.encode(page.url), columns=columns)[b"content:html"],
        )


def _compared(
    what: str, against: str, table: webtable.WebTable, pages: Sequence[Page], *, peer: Callable[[Page], bytes]
) -> Result:
    ours: list[float] = []
    theirs: list[float] = []
    with tidied():
        for page in sorted(pages, key=lambda page: table.key.encode(page.url)[::-1]):
            begun = time.perf_counter()
            found = table.get(page.url)
            between = time.perf_counter()
            body = peer(page)
            theirs.append(time.perf_counter() - between)
            ours.append(between - begun)
            assert found is not None
            assert found.body == body == page.body, f"not the same body: {page.url}"
    mine, other = median(ours) * 1000, median(theirs) * 1000
    return Result(what, against, f"p50 {mine:.3f} ms", f"p50 {other:.3f} ms", other / mine, None)

"""How fast do WARC files get into HBase, parsing and links included?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.material import digest_of
from benchmarks.measuring import Result, Run, compared, stopwatch, wait_until_idle
from benchmarks.plain import HTML, TITLE
from benchmarks.plain_ingest import Said, by_selectolax, by_standard_library, ingest
from webtable import HostOnly
from webtable.formats import read_pages
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase", "corpus"})


def run(setting: Setting) -> list[Result]:
    """Ingest the corpus' files into fresh tables in turn, and read them back to see that all are there."""
    files = setting.warc_files
    if setting.quick:
        files = sorted(files, key=lambda file: file.stat().st_size)[:2]
    key = WebKey()

    def ours() -> Run:
        with setting.hbase_table() as table:
            wait_until_idle()
            with stopwatch() as watch, table.writer() as writer:
                for file in files:
                    for page in read_pages(file):
                        writer.put(page)
            hosts = {page.url.split("/")[2] for file in files for page in read_pages(file, extract=False)}
            stored = [page for host in hosts for page in table.pages(HostOnly(host), columns=["body"])]
            seen = ((page.url, (page.title or "").encode() + b"\0" + (page.body or b"")) for page in stored)
            return Run(watch.seconds, len(stored), digest_of(seen))

    def script(parse: Callable[[str, bytes], Said]) -> Run:
        with setting.happybase_table() as table:
            wait_until_idle()
            with stopwatch() as watch:
                ingest(files, table, parse)
            seen = [
                (key.url_of(row), cells.get(TITLE, b"") + b"\0" + cells[HTML])
                for row, cells in table.scan(columns=[HTML, TITLE], batch_size=50)
            ]
            return Run(watch.seconds, len(seen), digest_of(seen))

    peers = {
        "warcio, html.parser of the standard library, HappyBase batch put": by_standard_library,
        "warcio, selectolax, HappyBase batch put": by_selectolax,
    }
    runs = [(ours(), *map(script, peers.values())) for _ in range(setting.pairs(3))]
    return [
        compared(
            f"ingest of {len(files)} WARC files into HBase: titles and links parsed, all stored",
            against,
            [(run[0], run[number]) for run in runs],
            target=1.5,
            warm_up=False,
            note=f"{against}: it stores the body, 12 metadata columns and the links as JSON; ours is a table without "
            "indexes; one process each",
        )
        for number, against in enumerate(peers, 1)
    ]

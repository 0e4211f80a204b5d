"""How fast does a whole site come out of HBase, bodies included?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.material import corpus_pages, digest_of
from benchmarks.measuring import Result, Run, compare, stopwatch
from benchmarks.plain import HTML, METADATA_COLUMNS, TITLE, put_all
from webtable import WebKey

if TYPE_CHECKING:
    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase", "corpus"})
SITE = "httpd.apache.org"
WANTED = {"bodies and 12 metadata columns": [HTML, *METADATA_COLUMNS], "bodies alone": [HTML]}


def run(setting: Setting) -> list[Result]:
    """Store the corpus both ways and scan one site of it."""
    pages = corpus_pages(setting.warc_files)
    hosts = [page.url.split("/")[2] for page in pages]
    site = SITE if SITE in hosts else max(set(hosts), key=hosts.count)
    pages = [page for page in pages if f"//{site}/" in page.url][: 300 if setting.quick else None]
    key = WebKey()
    (keys,) = key.host_ranges(site)
    with setting.hbase_table() as table, setting.happybase_table() as plain:
        with table.writer() as writer:
            for page in pages:
                writer.put(page)
        put_all(plain, pages, {page.url: key.encode(page.url) for page in pages})

        def ours(*, titles: bool) -> Run:
            with stopwatch() as watch:
                found = list(table.pages(site, columns=["html"]))
            seen = ((page.url, (page.title or "").encode() * titles + (page.html or b"")) for page in found)
            return Run(watch.seconds, len(found), digest_of(seen))

        def happybase(columns: list[bytes]) -> Run:
            with stopwatch() as watch:
                found = list(plain.scan(row_start=keys.start, row_stop=keys.stop, columns=columns, batch_size=100))
            seen = ((key.url_of(row), cells.get(TITLE, b"") + cells[HTML]) for row, cells in found)
            return Run(watch.seconds, len(found), digest_of(seen))

        what = f"scan of a site with bodies: {len(pages):,} pages of {site} (table.pages, 256 salts)"
        return [
            compare(
                what,
                f"HappyBase scan of {asked}, in the range that holds them",
                target=3,
                ours=lambda titles=TITLE in columns: ours(titles=titles),  # type: ignore[misc]
                peer=lambda columns=columns: happybase(columns),  # type: ignore[misc]
                pairs=setting.pairs(7),
                note="ours gives Page objects with decompressed bodies; HappyBase dictionaries, 100 rows a call; "
                "a table without indexes",
            )
            for asked, columns in WANTED.items()
        ]

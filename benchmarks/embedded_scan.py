"""How fast do pages come out of the embedded store, and how fast are they listed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import zstandard

import webtable
from benchmarks import bare
from benchmarks.material import digest_of, prepared_pages
from benchmarks.measuring import Result, Run, compare, stopwatch
from webtable.store import Wanted

if TYPE_CHECKING:
    from benchmarks.setting import Setting

NEEDS = frozenset[str]()
LIKES = frozenset({"corpus"})

METADATA = "(family = x'6d65746164617461' AND qualifier = x'70616765')"  # metadata:page
HTML = "(family = x'636f6e74656e74' AND qualifier = x'68746d6c')"  # content:html
SELECT = "SELECT row, qualifier, timestamp, value FROM cells WHERE row >= ? AND row < ? AND ({})"


def run(setting: Setting) -> list[Result]:
    """Scan the hosts one after another, with bodies and without, and select the same cells by bare SQLite."""
    pages, what = prepared_pages(setting)
    hosts = sorted({page.url.split("/")[2] for page in pages})
    with (
        webtable.open(setting.new_file(), create=True, indexes=[]) as table,
        bare.database(setting.new_file()) as connection,
    ):
        with table.writer() as writer:
            for page in pages:
                writer.put(page)
        bare.insert(connection, bare.batches_of(pages, table))
        frames = zstandard.ZstdDecompressor()
        ranges = [table.key.host_ranges(host)[0] for host in hosts]

        def scan(columns: list[str]) -> Run:
            with stopwatch() as watch:
                found = [page for host in hosts for page in table.pages(webtable.HostOnly(host), columns=columns)]
            return Run(watch.seconds, len(found), digest_of((page.url, page.body or b"") for page in found))

        def select(where: str, *, unpack: bool) -> Run:
            found: dict[bytes, bytes] = {}
            with stopwatch() as watch:
                for keys in ranges:
                    for row, qualifier, _, value in connection.execute(SELECT.format(where), keys).fetchall():
                        if qualifier == b"html":
                            found[row] = unpacked(value) if unpack else value
                        else:
                            found.setdefault(row, b"")
            return Run(watch.seconds, len(found), digest_of((table.key.url_of(row), found[row]) for row in found))

        def cells() -> Run:
            found: dict[bytes, bytes] = {}
            with stopwatch() as watch:
                for row in table.store.scan(table.table, ranges, Wanted([b"metadata:page", b"content:html"])):
                    found[row.key] = row.value(b"content:html") or b""
            return Run(watch.seconds, len(found), digest_of((table.key.url_of(row), found[row]) for row in found))

        def unpacked(value: bytes) -> bytes:
            return frames.decompress(value) if value.startswith(zstandard.FRAME_HEADER) else value

        return [
            compare(
                f"embedded, scan of the cells of bodies and metadata: {what}, through the store port",
                "the same cells by bare sqlite3 SELECT",
                target=0.4,
                ours=cells,
                peer=lambda: select(f"{METADATA} OR {HTML}", unpack=False),
                pairs=setting.pairs(7),
                note="a table without indexes",
            ),
            compare(
                f"embedded, scan of Page objects with bodies: {what}",
                "the same cells by bare sqlite3 SELECT, bodies decompressed one after another",
                target=0.4,
                ours=lambda: scan(["body"]),
                peer=lambda: select(f"{METADATA} OR {HTML}", unpack=True),
                pairs=setting.pairs(7),
                note="a table without indexes",
            ),
            compare(
                f"embedded, listing of Page objects without bodies: {what}",
                "the same cells by bare sqlite3 SELECT",
                target=0.4,
                ours=lambda: scan([]),
                peer=lambda: select(METADATA, unpack=False),
                pairs=setting.pairs(7),
                note="a table without indexes",
            ),
        ]

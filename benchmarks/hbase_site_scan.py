"""How fast does a whole site come out of HBase, bodies included?"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import zstandard

import webtable
from benchmarks.drain import drain, relay
from benchmarks.material import corpus_pages, digest_of
from benchmarks.measuring import Result, Run, compare, compared, stopwatch
from benchmarks.plain import HTML, METADATA_COLUMNS, TITLE, put_all
from webtable.repository.page_storage.cells import pack
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.drain import Address, Exchange
    from benchmarks.setting import Setting
    from webtable import Page, WebTable

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
                found = list(table.pages(site, columns=["body"]))
            seen = ((page.url, (page.title or "").encode() * titles + (page.body or b"")) for page in found)
            return Run(watch.seconds, len(found), digest_of(seen))

        def happybase(columns: list[bytes]) -> Run:
            with stopwatch() as watch:
                found = list(plain.scan(row_start=keys.start, row_stop=keys.stop, columns=columns, batch_size=100))
            seen = ((key.url_of(row), cells.get(TITLE, b"") + cells[HTML]) for row, cells in found)
            return Run(watch.seconds, len(found), digest_of(seen))

        what = f"scan of a site with bodies: {len(pages):,} pages of {site} (table.pages, 256 salts)"
        rows = [
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
        return [*rows, *_floors(setting, table, pages, what)]


def _floors(setting: Setting, table: WebTable, pages: list[Page], what: str) -> Iterator[Result]:
    """Yield how much of our time what we build on takes by itself; the gateway only where Thrift2 is there."""
    frames = pack([page.body or b"" for page in pages])
    yield _floor(
        setting, table, pages, f"{what}: zstd's share", "their frames unpacked, and nothing else", _unpack(frames)
    )
    host, _ = setting.happybase_address
    thrift2 = parse_qs(urlsplit(setting.hbase or "").query).get("thrift2")
    if not thrift2 or setting.by_native:
        return
    address = host, int(thrift2[0])
    exchanges = _exchanges(setting, table, address, pages[0])
    size = sum(exchange.reply for exchange in exchanges)
    with socket.create_connection(address) as gateway:
        against = f"the same {len(exchanges)} requests, their {size / 1e6:.1f} MB taken off the socket and dropped"
        yield _floor(setting, table, pages, f"{what}: the gateway's share", against, lambda: drain(gateway, exchanges))


def _floor(
    setting: Setting, table: WebTable, pages: list[Page], what: str, against: str, part: Callable[[], object]
) -> Result:
    site = pages[0].url.split("/")[2]

    def timed(do: Callable[[], object]) -> Run:
        with stopwatch() as watch:
            do()
        return Run(watch.seconds, len(pages), None)

    runs = [
        (timed(lambda: list(table.pages(site, columns=["body"]))), timed(part)) for _ in range(setting.pairs(7) + 1)
    ]
    return compared(what, against, runs, target=None)


def _unpack(frames: list[bytes]) -> Callable[[], object]:
    decompressor = zstandard.ZstdDecompressor()
    return lambda: [decompressor.decompress(frame) for frame in frames]


def _exchanges(setting: Setting, table: WebTable, thrift2: Address, page: Page) -> list[Exchange]:
    """Return what a scan asks of the gateway at *thrift2*, once it is warm."""
    host, port = setting.happybase_address
    with (
        relay(thrift2) as between,
        webtable.open(f"hbase://{host}:{port}/{table.table}?thrift2={between.port}") as same,
    ):
        site = page.url.split("/")[2]
        assert list(same.pages(site, columns=["body"], limit=1))
        between.exchanges.clear()
        assert list(same.pages(site, columns=["body"]))
        return between.exchanges

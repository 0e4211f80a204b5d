"""Do the first 20 pages of a domain take longer when the domain grows?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, stopwatch, tidied

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import WebTable

NEEDS = frozenset({"hbase"})
SIZES = (1_000, 10_000, 100_000)
HOSTS = (10, 40)


def run(setting: Setting) -> list[Result]:
    """Ask domains of 1K, 10K and 100K pages in turn, in one table that holds other domains as well."""
    asks = 5 if setting.quick else 60
    with setting.hbase_table() as table:
        with table.writer() as writer:
            for page in made_up_pages(setting.scaled(50_000), [f"www.other-{n}.example" for n in range(1_000)]):
                writer.put(page)
        return [_growth(table, setting, hosts, asks) for hosts in HOSTS]


def _growth(table: WebTable, setting: Setting, hosts: int, asks: int) -> Result:
    sizes = {f"of-{size}-on-{hosts}.example": setting.scaled(size) for size in SIZES}
    with table.writer() as writer:
        for domain, size in sizes.items():
            for page in made_up_pages(size, [domain, *(f"h{n}.{domain}" for n in range(1, hosts))]):
                writer.put(page)
    seconds: dict[str, list[float]] = {domain: [] for domain in sizes}
    with tidied():
        for ask in range(asks + 3):
            for domain, times in seconds.items():
                with stopwatch() as watch:
                    batch = table.pages(domain).page(size=20)
                keys = [table.key.unsalted(table.key.encode(page.url)) for page in batch]
                assert len(keys) == min(20, sizes[domain]), f"{domain}: {len(keys)} pages"
                assert keys == sorted(keys), f"{domain}: not in key order"
                if ask >= 3:
                    times.append(watch.seconds)
    middles = [median(times) * 1000 for times in seconds.values()]
    return Result(
        f"first 20 pages of a domain of {', '.join(f'{size:,}' for size in sizes.values())} pages on {hosts} hosts",
        "itself at the first size",
        f"p50 {', '.join(f'{middle:.1f} ms' for middle in middles)}",
        f"{middles[0]:.1f} ms",
        middles[-1] / middles[0],
        1.5,
        at_most=True,
        note=f"{asks} questions each, in turn, in key order over all salts; "
        f"{setting.scaled(50_000):,} pages of other domains beside them; a table without indexes",
    )

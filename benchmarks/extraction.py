"""How much of a processor's time does it take to find out what a page says and where it leads?"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import psutil

from benchmarks.measuring import Result
from benchmarks.plain_ingest import by_selectolax
from webtable.formats import read_pages
from webtable.page.extract import extract

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.setting import Setting

NEEDS = frozenset({"corpus"})

Body = tuple[str, bytes, str | None]
"""A URL, what was fetched from there, and the charset that the response named."""
TARGET = 400
"""Microseconds a page."""


def run(setting: Setting) -> list[Result]:
    """Take the corpus' pages apart, by what ingest does and by a plain loop over what selectolax gives."""
    pages = _pages(setting)
    runs = [(_microseconds(_ours, pages), _microseconds(_script, pages)) for _ in range(1 + setting.pairs(5))][1:]
    ours, script = (median(side) for side in zip(*runs, strict=True))
    return [
        Result(
            f"title, links, base, charset and what else {len(pages):,} pages of the corpus say, processor time a page",
            "selectolax, urljoin: title and links alone",
            f"{ours:,.0f} µs",
            f"{script:,.0f} µs",
            ours,
            TARGET,
            at_most=True,
            unit=" µs",
            note="with the process that parses large pages, which is there already; the script has no such process",
        )
    ]


def _pages(setting: Setting) -> list[Body]:
    pages = [page for file in setting.warc_files for page in read_pages(file, extract=False)]
    return [(page.url, page.body, page.charset) for page in pages if page.body][:: 50 if setting.quick else 1]


def _ours(page: Body) -> None:
    url, body, charset = page
    extract(body, url, charset)


def _script(page: Body) -> None:
    by_selectolax(*page[:2])


def _microseconds(side: Callable[[Body], None], pages: list[Body]) -> float:
    start = _processor_time()
    for page in pages:
        side(page)
    return (_processor_time() - start) / len(pages) * 1e6


def _processor_time() -> float:
    """Return the seconds that this process and those that it has started, also those that ended, have used."""
    own = psutil.Process().cpu_times()
    ended: float = own.children_user + own.children_system
    running: float = sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children())
    return time.process_time() + ended + running

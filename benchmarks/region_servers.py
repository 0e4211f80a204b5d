"""How much faster are writing and scanning with three region servers than with one, and is the client at its limit?"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.material import corpus_pages
from benchmarks.measuring import LeftOut, Result, Run, compared, stopwatch, wait_until_idle
from webtable.testing import hbase_server
from webtable.testing.hbase import NoHBase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.setting import Setting
    from webtable import Page

NEEDS = frozenset({"corpus"})
ROUNDS = 3
SERVERS = "HBASE_REGIONSERVERS"


class Measured(NamedTuple):
    """A run, and the share of a core that the client took for it."""

    run: Run
    cores: float


def run(setting: Setting) -> list[Result | LeftOut]:
    """Write the corpus' pages and scan them, in turn into an HBase of three region servers and one of one."""
    pages = corpus_pages(setting.warc_files)
    pages = pages[:300] if setting.quick else pages
    hosts = sorted({page.url.split("/")[2] for page in pages})
    with ExitStack() as stack:
        try:
            one, three = (replace(setting, hbase=started(stack, servers)) for servers in (1, 3))
        except NoHBase as exc:
            return [LeftOut("three region servers", str(exc))]
        rounds = [
            (_measured(three, pages, hosts), _measured(one, pages, hosts)) for _ in range(setting.pairs(ROUNDS) + 1)
        ]
    writes, scans = ([(three[part], one[part]) for three, one in rounds] for part in (0, 1))
    return [_result("write", len(pages), writes), _result("scan", len(pages), scans)]


def _result(what: str, pages: int, rounds: list[tuple[Measured, Measured]]) -> Result | LeftOut:
    cores = [median(side.cores for side in sides) for sides in zip(*rounds[1:], strict=True)]
    return compared(
        f"{what}: {pages:,} pages with bodies, three region servers",
        "one region server",
        [(three.run, one.run) for three, one in rounds],
        target=None,
        note=f"the client takes {cores[0]:.2f} of a core with three, {cores[1]:.2f} with one; "
        "all processes share the machine's cores",
    )


def started(stack: ExitStack, servers: int) -> str:
    """Return the URL of a new HBase of so many region *servers*, which is removed with the *stack*."""
    before = os.environ.get(SERVERS)
    os.environ[SERVERS] = str(servers)
    try:
        return stack.enter_context(hbase_server())
    finally:
        if before is None:
            del os.environ[SERVERS]
        else:
            os.environ[SERVERS] = before


def _measured(setting: Setting, pages: Sequence[Page], hosts: Sequence[str]) -> tuple[Measured, Measured]:
    """Return what was measured of writing the pages, and of scanning them."""
    with setting.hbase_table() as table:

        def write() -> None:
            with table.writer() as writer:
                for page in pages:
                    writer.put(page)

        def scan() -> int:
            return sum(len(page.body or b"") for host in hosts for page in table.pages(host, columns=["body"]))

        return _timed(write, len(pages)), _timed(scan, len(pages))


def _timed(do: Callable[[], int | None], items: int) -> Measured:
    wait_until_idle()
    cpu = time.process_time()
    with stopwatch() as watch:
        proof = do()
    return Measured(Run(watch.seconds, items, proof), (time.process_time() - cpu) / watch.seconds)

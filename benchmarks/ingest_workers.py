"""How much faster do two processes than one get WARC files into HBase?"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import psutil

import webtable
from benchmarks.material import read_back
from benchmarks.measuring import Result, Run, compare, stopwatch, wait_until_idle

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase", "corpus"})
REGIONS = 16


def run(setting: Setting) -> list[Result]:
    """Ingest the corpus' files by the command line into fresh tables in turn, and read all pages back."""
    files = setting.warc_files
    if setting.quick:
        files = sorted(files, key=lambda file: file.stat().st_size)[:3]
    shares: dict[int, list[float]] = {1: [], 2: []}

    def ingested(workers: int) -> Run:
        with setting.hbase_table_url() as url:
            webtable.create(url, regions=REGIONS, indexes=[])
            wait_until_idle()
            done, seconds, share = _timed(workers, url, files)
            shares[workers].append(share)
            stored = read_back(url, seconds)
            assert f"{stored.items:,} pages stored" in done
            return stored

    result = compare(
        f"ingest of {len(files)} WARC files into HBase by the command line, with --workers 2",
        "the same with one process",
        target=1.7,
        ours=lambda: ingested(2),
        peer=lambda: ingested(1),
        pairs=setting.pairs(3),
        warm_up=False,
    )
    taken = [median(shares[workers]) for workers in (1, 2)]
    note = (
        "from the start to the end of the command; tables without indexes; HBase runs on the same cores, and took "
        f"{taken[0]:.0%} of them beside one process, {taken[1]:.0%} beside two"
    )
    return [replace(result, note=note)]


def _timed(workers: int, url: str, files: list[Path]) -> tuple[str, float, float]:
    """Return what the command says, its seconds, and which share of the cores others than it have taken."""
    command = [sys.executable, "-m", "webtable.cli", "-s", url, "ingest", "--no-refresh", "--workers", str(workers)]
    before, children = psutil.cpu_times(), os.times()
    with stopwatch() as watch:
        done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=True)
    seconds = watch.seconds
    now, after = os.times(), psutil.cpu_times()
    client = now.children_user + now.children_system - children.children_user - children.children_system
    busy = sum(after) - sum(before) - (after.idle + after.iowait - before.idle - before.iowait)
    return done.stdout, seconds, (busy - client) / seconds / (psutil.cpu_count() or 1)

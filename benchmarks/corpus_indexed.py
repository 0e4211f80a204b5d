"""What do the default indexes cost an ingest of real pages, with the count of the links at its end?"""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import webtable
from benchmarks.material import read_back
from benchmarks.measuring import Result, Run, compare, stopwatch, wait_until_idle
from webtable.demo import make_sample
from webtable.repository.indexes.index import WEB_INDEXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmarks.setting import Setting

NEEDS = frozenset[str]()
LIKES = frozenset({"corpus", "hbase"})
REGIONS = 16


def run(setting: Setting) -> list[Result]:
    """Ingest the corpus, or the sample web, by the command line: with the default indexes and without, in turn."""
    files = sorted(setting.warc_files, key=lambda file: file.stat().st_size)[: 2 if setting.quick else None]
    files = files or list(make_sample(setting.folder / "sample").crawls[:1])
    places: list[tuple[str, Callable[[], AbstractContextManager[str]], float]]
    places = [("a file", lambda: _file(setting), 0.85)]
    if setting.hbase:
        places.append(("HBase", setting.hbase_table_url, 0.75))
    return [
        compare(
            f"ingest of {len(files)} WARC files into {store} by the command line, with all seven indexes",
            "the same without an index",
            target=target,
            ours=lambda place=place: _ingested(setting, place(), files, tuple(WEB_INDEXES)),  # type: ignore[misc]
            peer=lambda place=place: _ingested(setting, place(), files, ()),  # type: ignore[misc]
            pairs=setting.pairs(3),
            warm_up=False,
            note="from the start to the end of the command, with the count of the links",
        )
        for store, place, target in places
    ]


@contextmanager
def _file(setting: Setting) -> Iterator[str]:
    file = setting.new_file()
    yield str(file)
    file.unlink()


def _ingested(
    setting: Setting, place: AbstractContextManager[str], files: Sequence[Path], indexes: Sequence[str]
) -> Run:
    with place as url:
        webtable.create(url, regions=REGIONS, indexes=indexes)
        if not setting.quick:
            wait_until_idle()
        command = [sys.executable, "-m", "webtable.cli", "-s", url, "ingest", *map(str, files)]
        with stopwatch() as watch:
            subprocess.run(command, capture_output=True, check=True)
        return read_back(url, watch.seconds)

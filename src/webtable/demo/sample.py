"""The sample web in a folder: its crawls, and the store that has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import webtable
from webtable.demo.crawls import write_crawls
from webtable.demo.web import SampleWeb
from webtable.formats import read_pages

if TYPE_CHECKING:
    from os import PathLike

    from webtable.repository import WebTable

_STORE = "webtable.db"


@dataclass(frozen=True, slots=True)
class Sample:
    """A folder with the sample web: the WARC files of its crawls, the oldest first, and the store that has them."""

    crawls: tuple[Path, ...]
    store: Path


def make_sample(
    folder: str | PathLike[str] = "webtable-demo", *, until: datetime | None = None, seed: int = 7
) -> Sample:
    """Make the sample web in *folder*, unless its store is there, and return what is there.

    The crawls are of 14, 7 and 0 days before *until*, which is now by default. Another *seed* makes another web; the
    same *seed* and *until* give the same bytes. It takes a few seconds. The store is there when it is whole.
    """
    folder = Path(folder)
    store = folder / _STORE
    if store.exists():
        return Sample(tuple(sorted(folder.glob("crawl-*.warc.gz"))), store)
    newest = (until or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
    crawls = write_crawls(SampleWeb(seed, newest), folder)
    unfinished = folder / f"{_STORE}.part"
    for left in folder.glob(f"{unfinished.name}*"):
        left.unlink()
    with webtable.open(unfinished, create=True) as table:
        for crawl in crawls:
            with table.writer() as writer:
                writer.put_many(read_pages(crawl))
        table.refresh_links()
    unfinished.replace(store)
    return Sample(tuple(crawls), store)


def sample_table(folder: str | PathLike[str] = "webtable-demo") -> WebTable:
    """Return the table of the sample web in *folder*, which is made where it is not there yet.

    >>> table = sample_table(getfixture("tmp_path"))
    >>> table.get("https://example.com/").title
    'Welcome to example.com'
    >>> table.close()
    """
    return webtable.open(make_sample(folder).store)

"""Draws the pictures of docs/gallery.md from the sample web: `python docs/make_gallery.py`."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec.structs import replace

import webtable
from webtable.demo import make_sample
from webtable.formats import read_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes

    from webtable import Page, WebTable

FOLDER = Path(__file__).with_name("pictures")
UNTIL = datetime(2026, 11, 22, 12, tzinfo=UTC)
CHANGED = "https://docs.example.com/guide/news/group-road-first-street-5.html"
REGIONS = 16

PICTURES: dict[str, Callable[[WebTable], Axes]] = {
    "regions": lambda table: table.stats(webtable.ALL, by="region").plot(),
    "sizes": lambda table: table.stats(webtable.ALL, by="size").plot(),
    "status": lambda table: table.stats(webtable.ALL, by="status").plot(),
    "captures": lambda table: table.stats(webtable.ALL, by="day").plot(),
    "hosts": lambda table: table.hosts().plot(),
    "history": lambda table: table.history(CHANGED).plot(),
}
"""The pictures by their names."""


def main() -> None:
    """Write the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        webtable.open(f"{folder}/crawl.db", create=True, regions=REGIONS) as table,
    ):
        with table.writer() as writer:
            for page in sample_pages(Path(folder)):
                writer.put(page)
        table.links.refresh()
        for name, picture in PICTURES.items():
            picture(table).figure.savefig(FOLDER / f"gallery-{name}.png", dpi=100)


def sample_pages(folder: Path) -> Iterator[Page]:
    """Yield the pages of the sample web, with dates that are spread, so that the calendar has something to show."""
    for crawl in make_sample(folder, until=UNTIL).crawls:
        for page in read_pages(crawl):
            days = crc32("/".join(page.url.split("/")[2:5]).encode()) % 500
            yield replace(page, fetched_at=page.fetched_at - timedelta(days=days))


if __name__ == "__main__":
    main()

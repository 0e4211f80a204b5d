"""Takes the pictures of docs/explorer.md, in Chromium, of the sample web: `python docs/make_explorer_pictures.py`."""

from __future__ import annotations

import io
import shutil
import tempfile
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import sync_playwright

import webtable
from webtable.demo import make_sample
from webtable.explorer import explore

FOLDER = Path(__file__).with_name("pictures")
UNTIL = datetime(2026, 11, 22, 12, tzinfo=UTC)
COLOURS = 128


class Picture(NamedTuple):
    """A picture: the page of the explorer that it shows, in which colours, and how large."""

    path: str
    scheme: str = "light"
    width: int = 1280
    height: int = 800


PHONE = 390, 800
CHANGED = "https://docs.example.com/guide/news/group-road-first-street-5.html"
PATHS = {
    "start": "/",
    "site": "/site/docs.example.com/?limit=12",
    "page": f"/page?url={CHANGED}",
    "audit": "/audit?site=example.com",
    "compare": "/compare?site=example.com",
    "question": "/q/broken-links?site=example.com&limit=14",
}
"""The kinds of pages, each of which has a picture in light, in dark and of a phone."""
PICTURES = {
    **{name: Picture(path) for name, path in PATHS.items()},
    **{f"{name}_dark": Picture(path, "dark") for name, path in PATHS.items()},
    **{f"{name}_phone": Picture(path, "light", *PHONE) for name, path in PATHS.items()},
}
"""The pictures by their names."""


def main() -> None:
    """Write the pictures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder:
        store = make_sample(Path(folder), until=UNTIL).store
        with chdir(folder), webtable.open(store.name) as table, sync_playwright() as playwright:
            running = explore(table)
            with playwright.chromium.launch(executable_path=browser) as chromium:
                for name, picture in PICTURES.items():
                    size = {"width": picture.width, "height": picture.height}
                    tab = chromium.new_page(viewport=size, color_scheme=picture.scheme)
                    address = running.url.partition("?")[0]
                    tab.goto(running.url)
                    tab.wait_for_url(address)
                    tab.goto(address + picture.path.lstrip("/"))
                    image = Image.open(io.BytesIO(tab.screenshot()))
                    image.quantize(COLOURS).save(FOLDER / f"explorer-{name}.png", optimize=True)
                    tab.close()
            running.stop()


if __name__ == "__main__":
    main()

"""Takes the pictures of docs/explorer.md, in Chromium, of the sample web: `python docs/make_explorer_pictures.py`."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import sync_playwright

import webtable
from webtable.demo import make_sample
from webtable.explorer import explore

FOLDER = Path(__file__).with_name("pictures")
UNTIL = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Picture(NamedTuple):
    """A picture: the page of the explorer that it shows, from which element on, and how."""

    path: str
    element: str = "body"
    scheme: str = "light"
    width: int = 1100
    height: int = 700


CHANGED = "https://docs.example.com/guide/news/group-road-first-street-5.html"
PICTURES = {
    "table": Picture("/", height=840),
    "page": Picture(f"/page?url={CHANGED}", "#key", height=480),
    "differences": Picture(f"/page/diff?url={CHANGED}", height=640),
    "phone": Picture("/audit?site=example.com", scheme="dark", width=380, height=760),
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
                    tab.locator(picture.element).evaluate("element => element.scrollIntoView()")
                    tab.screenshot(path=FOLDER / f"explorer-{name}.png")
            running.stop()


if __name__ == "__main__":
    main()

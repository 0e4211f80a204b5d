"""The explorer in a real browser: how its pages look, by keyboard alone, and with pages that would run something.

Skipped where there is no Chromium, unless WEBTABLE_REQUIRE_BROWSER=1.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote, urlsplit

import httpx
import pytest
from exploring import TOKEN, explored

import webtable
from nightly import some
from webtable import Link, Page

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.slow

HOME = "https://example.com/"
PAGES = {
    "the table": "/",
    "all hosts": "/site/",
    "a site": "/site/example.com/?limit=10",
    "a directory": "/site/https://docs.example.com/guide/?limit=10",
    "all questions": "/questions",
    "a question": "/q/pages?site=example.com&limit=20",
    "another question": "/q/errors?limit=20",
    "a question without an answer yet": "/q/with-status",
    "a wrong question": "/q/pages?site=example.com&limit=many",
    "an index that is missing": f"/q/near-duplicates?url={HOME}",
    "statistics": "/stats?site=example.com",
    "an audit": "/audit?site=imkerei.example",
    "a comparison": "/compare?site=imkerei.example&since=10d",
    "a page": f"/page?url={HOME}",
    "a page as of a moment": f"/page?url={HOME}&as_of=2030-01-01",
    "a page that is not stored": "/page?url=https://example.com/nothing",
    "source": f"/page/source?url={HOME}",
    "text": f"/page/text?url={HOME}",
    "differences": f"/page/diff?url={HOME}",
    "keys": f"/keys?urls={HOME}a%0Ahttp://blog.example.com:8080/b",
}
"""One page of the explorer of each kind."""
NOT_SERIOUS = frozenset({"minor", "moderate"})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, one for all tests."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("WEBTABLE_REQUIRE_BROWSER", "0") not in ("", "0"):
            pytest.fail("WEBTABLE_REQUIRE_BROWSER is set, but there is no chromium", pytrace=False)
        pytest.skip("no browser: install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)  # 1280 pixels wide
        yield browser
        browser.close()


class Watched:
    """A tab of the *browser*, and what went wrong in it: errors, and what was asked of another host."""

    def __init__(self, tab: Tab, address: httpx.URL) -> None:
        self.tab, self.troubles, self._address = tab, [], str(address).rstrip("/")
        tab.on("console", self._said)
        tab.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: (self.troubles.append("a dialog"), dialog.dismiss()))
        tab.on("request", self._asked)

    def open(self, path: str) -> Tab:
        self.tab.goto(self._address + path)
        return self.tab

    def _said(self, message: Any) -> None:
        # Chromium says so of a page that has the status of an error, as the answer to a wrong question has.
        is_status = "status of 4" in message.text and message.location["url"] == self.tab.url
        if message.type in ("error", "warning") and not is_status:
            self.troubles.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        if urlsplit(request.url).scheme != "data" and not request.url.startswith(f"{self._address}/"):
            self.troubles.append(f"asked of another host: {request.url}")


@contextmanager
def watched(browser: Browser, client: httpx.Client, **options: Any) -> Iterator[Watched]:
    """Give a tab that may see the explorer of *client*."""
    with browser.new_context(**options) as context:
        address = client.base_url
        cookie = {"name": f"webtable-{address.port}", "value": TOKEN, "url": str(address), "sameSite": "Strict"}
        context.add_cookies([cookie])
        yield Watched(context.new_page(), address)


@pytest.fixture
def opened(browser: Browser, sample_client: httpx.Client) -> Iterator[Watched]:
    """A tab with the explorer of the sample web."""
    with watched(browser, sample_client) as tab:
        yield tab


OF_LOOKS = ["color-contrast", "scrollable-region-focusable"]
"""The rules of axe-core that depend on the colours and the width."""


def findings(tab: Tab, **options: Any) -> list[str]:
    """Return what axe-core finds serious in the page of *tab*."""
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script)
    options = {"iframes": False, "resultTypes": ["violations"], **options}
    found = tab.evaluate("async options => (await axe.run(options)).violations", options)
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
        for one in found
        if one["impact"] not in NOT_SERIOUS
        for node in one["nodes"][:3]
    ]


def overflow(tab: Tab) -> int:
    """Return by how many pixels the page is wider than its window."""
    return tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize("name", some(list(PAGES), 2))
def test_a_page_fits_its_window_and_can_be_read_by_everybody(opened, name):
    tab = opened.open(PAGES[name])

    assert tab.locator("h1").count() == 1
    assert overflow(tab) == 0
    assert findings(tab) == []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.set_viewport_size({"width": 380, "height": 800})
        assert overflow(tab) == 0
        assert findings(tab, runOnly=OF_LOOKS) == [], scheme
        tab.set_viewport_size({"width": 1280, "height": 800})
    assert opened.troubles == []


def test_the_keyboard_alone_searches_and_follows_a_link(opened):
    tab = opened.open("/q/pages?site=example.com")

    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "To the content"
    tab.keyboard.press("Enter")
    assert urlsplit(tab.url).fragment == "main"
    while tab.evaluate("document.activeElement.id") != "f-order":
        tab.keyboard.press("Tab")
    tab.locator("#f-columns").focus()
    tab.keyboard.type("url,status")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**columns=url*")
    assert tab.locator("th").all_inner_texts() == ["url", "status"]
    tab.locator("td a").first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/page?**")

    assert opened.troubles == []


def test_the_rows_of_a_table_that_is_too_wide_are_scrolled_by_the_keyboard(opened):
    tab = opened.open("/q/pages?site=example.com&limit=3")
    tab.set_viewport_size({"width": 380, "height": 800})

    tab.locator(".wide").focus()
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_timeout(300)

    assert tab.evaluate("document.querySelector('.wide').scrollLeft") > 0


def test_a_column_is_sorted_by_its_values(opened):
    tab = opened.open("/q/pages?site=example.com&columns=url,size,fetched_at")
    heading, cells = tab.locator("th").nth(1), tab.locator("tbody td:nth-child(2)")

    heading.get_by_role("button").click()
    ascending = [bytes_of(text) for text in cells.all_inner_texts()]
    heading.get_by_role("button").click()
    descending = [bytes_of(text) for text in cells.all_inner_texts()]

    assert len(set(ascending)) > 5
    assert ascending == sorted(ascending) == descending[::-1]
    assert heading.get_attribute("aria-sort") == "descending"
    assert findings(tab) == []


def bytes_of(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit]


def test_more_rows_come_into_the_same_table(opened):
    tab = opened.open("/q/pages?site=example.com&columns=url&limit=20")
    address, rows = tab.url, tab.locator("tbody tr")

    tab.locator("a.more").press("Enter")
    tab.locator("tbody tr:nth-child(40)").wait_for()
    urls = rows.all_inner_texts()
    assert tab.url == address
    assert len(set(urls)) == 40
    assert tab.evaluate("document.activeElement.textContent") == urls[20]
    assert opened.troubles == []


def test_more_rows_come_without_javascript_too(browser, sample_client):
    with watched(browser, sample_client, java_script_enabled=False) as opened:
        tab = opened.open("/q/pages?site=example.com&columns=url&limit=20")
        before = tab.locator("tbody tr").all_inner_texts()

        tab.locator("a.more").click()

        assert not set(before) & set(tab.locator("tbody tr").all_inner_texts())


def test_where_rows_cannot_be_loaded_the_link_is_followed(opened):
    tab = opened.open("/q/pages?site=example.com&columns=url&limit=20")
    tab.evaluate("() => { window.fetch = () => Promise.reject(new Error('no network')) }")

    tab.locator("a.more").click()

    tab.wait_for_url("**after=*")


@pytest.mark.parametrize(
    ("path", "picture", "label"),
    [("/stats?site=example.com&by=status", ".bars svg", " %"), (f"/page?url={HOME}", ".timeline rect", ", 200")],
)
def test_a_picture_says_what_is_under_the_pointer(opened, path, picture, label):
    tab = opened.open(path)

    tab.locator(picture).first.hover()

    assert tab.locator("#tip").is_visible()
    assert label in tab.locator("#tip").inner_text()
    tab.locator("h1").hover()
    assert not tab.locator("#tip").is_visible()
    assert opened.troubles == []


def test_a_page_of_another_site_opens_the_explorer(browser, sample_client):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.set_content(f'<a href="{sample_client.base_url.join(f"/q/errors?token={TOKEN}")}">open</a>')

        tab.locator("a").click()
        tab.wait_for_url("**/q/errors")

        assert tab.locator("h1").inner_text() == "Errors"
        assert tab.evaluate("document.cookie") == ""


class Other(BaseHTTPRequestHandler):
    """Another host, which remembers what it was asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    """The address of the other host."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


RUNS = "window.top.hacked = window.hacked = 1"
MARKUP = f"\"'><script>{RUNS}</script><img src=x onerror='{RUNS}'><img src=OTHER/a.png><svg onload='{RUNS}'>"
EVIL = f"https://evil.example/{MARKUP}"
BODY = f"""<title>{MARKUP}</title><meta http-equiv=refresh content='0;url=OTHER/'><base href=OTHER/>
<link rel=stylesheet href=OTHER/a.css><style>@import url(OTHER/b.css); body {{ background: url(OTHER/c.png) }}</style>
<script>{RUNS}</script><script src=OTHER/a.js></script><img src=b.png onerror="{RUNS}"><body onload="{RUNS}">
<iframe src="javascript:{RUNS}"></iframe><iframe srcdoc="<script>{RUNS}</script>"></iframe>
<object data=OTHER/o></object><embed src=OTHER/e>
<form action=OTHER/f><button>go</button></form><a href="javascript:{RUNS}">{MARKUP}</a><p>{MARKUP}</p>
<link rel=preload as=image href=OTHER/p.png><link rel=dns-prefetch href=OTHER><link rel=prefetch href=OTHER/q>
<video src=OTHER/v.mp4 autoplay></video><a ping=OTHER/ping href="/">home {MARKUP}</a>"""
SHOWING = (
    "/q/pages?site=all&columns=url,title,h1,description,etag",
    "/q/links-of?url={url}",
    "/q/titles?site=all",
    "/",
    "/site/evil.example/",
    "/go?go={url}",
    "/keys?urls={url}",
    "/stats?site=all",
    "/audit?site=all",
    "/page?url={url}",
    "/page/source?url={url}",
    "/page/text?url={url}",
    "/page/diff?url={url}",
)


@pytest.fixture(scope="module")
def evil(other: str) -> Iterator[httpx.Client]:
    """The explorer of pages that try to run something, or to ask something of another host."""
    with webtable.open("memory:evil-in-a-browser", create=True) as table:
        with table.writer() as writer:
            markup = MARKUP.replace("OTHER", other)
            links = (Link(f"javascript:{RUNS}", markup, markup), Link(EVIL, markup))
            said = {"title": markup, "etag": markup, "description": markup, "h1": markup, "outlinks": links}
            for number in range(2):
                body = f"{BODY}{number}".replace("OTHER", other).encode()
                writer.put(Page(url=EVIL, body=body, content_type="text/html", headers={"x": markup}, **said))
                writer.flush()
        table.links.refresh(also_unfinished=True)
        with explored(table) as client:
            yield client


def test_nothing_that_was_crawled_runs_or_asks_another_host(browser, evil):
    with watched(browser, evil) as opened:
        for path in SHOWING:
            tab = opened.open(path.format(url=quote(EVIL, safe="")))
            tab.wait_for_timeout(50)

            assert tab.evaluate("window.hacked") is None, path
            assert opened.troubles == [], path
    assert Other.asked == []


def test_stored_html_is_rendered_but_runs_nothing_and_asks_nobody(browser, evil):
    with watched(browser, evil) as opened:
        tab = opened.open(f"/page?url={quote(EVIL, safe='')}")
        tab.locator("details.rendered summary").click()
        tab.locator("details.rendered a").click()
        frame = tab.frame_locator("details.rendered iframe")
        frame.get_by_role("button").click()
        frame.get_by_role("link").first.click()
        tab.wait_for_timeout(300)

        assert tab.evaluate("window.hacked") is None
        assert tab.url.startswith(str(evil.base_url))
        assert Other.asked == []
        # By itself, as it is after a click on it with the middle button, it is in a sandbox too.
        tab = opened.open(f"/page/rendered?url={quote(EVIL, safe='')}")
        tab.wait_for_timeout(300)
        assert tab.url.startswith(str(evil.base_url))
    assert Other.asked == []

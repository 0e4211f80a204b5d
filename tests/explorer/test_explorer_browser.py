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
    "search results": "/q/search?text=mountain&site=example.com",
    "how it is stored": "/storage",
    "archives": "/archives",
    "no such page": "/nothing/here",
    "statistics": "/stats?site=example.com",
    "an audit": "/audit?site=imkerei.example",
    "a comparison": "/compare?site=imkerei.example&since=10d",
    "a page": f"/page?url={HOME}",
    "a page as of a moment": f"/page?url={HOME}&as_of=2030-01-01",
    "a page that is not stored": "/page?url=https://example.com/nothing",
    "links to a page": f"/page?url={HOME}&tab=links-in",
    "links of a page": f"/page?url={HOME}&tab=links-out",
    "the text of a page": f"/page?url={HOME}&tab=text",
    "a page rendered": f"/page?url={HOME}&tab=rendered",
    "headers": f"/page?url={HOME}&tab=headers",
    "a row key": f"/page?url={HOME}&tab=key",
    "the place of a page": f"/page?url={HOME}&tab=storage",
    "source": f"/page/source?url={HOME}",
    "text": f"/page/text?url={HOME}",
    "differences": f"/page/diff?url={HOME}",
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
    tab.locator("#f-columns").focus()
    tab.keyboard.type("url,status")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**columns=url*")
    assert [text.split()[0] for text in tab.locator("th").all_inner_texts()] == ["url", "status"]
    tab.locator("td a").first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/page?**")

    assert opened.troubles == []


def test_the_rows_of_a_table_that_is_too_wide_are_scrolled_by_the_keyboard(opened):
    tab = opened.open("/q/pages?site=example.com&limit=3")
    tab.set_viewport_size({"width": 380, "height": 800})

    tab.locator(".wide").evaluate("wide => { wide.querySelector('table').style.minWidth = '900px' }")
    tab.locator(".wide").focus()
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_timeout(300)

    assert tab.evaluate("document.querySelector('.wide').scrollLeft") > 0


def test_keys_lead_to_the_field_and_through_the_rows(opened):
    tab = opened.open("/q/pages?site=example.com&limit=5")
    links = [link.get_attribute("href") for link in tab.locator("tbody tr td:first-child a").all()]

    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("k")
    assert tab.evaluate("document.activeElement.getAttribute('href')") == links[1]
    tab.keyboard.press("?")
    assert "Enter opens" in tab.locator("dialog").inner_text()
    assert findings(tab) == []
    tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "go"
    tab.keyboard.type("j/?")
    assert tab.locator("#go").input_value() == "j/?"
    tab.locator("#go").fill("broken links")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/q/broken-links")
    tab.keyboard.press("k")
    tab.goto(tab.url.replace("/q/broken-links", "/q/pages?site=example.com&limit=5"))
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/page?**")
    assert opened.troubles == []


def test_a_moment_keeps_the_page_its_filters_and_its_place(opened):
    tab = opened.open("/q/pages?site=example.com&status=200&limit=5&columns=url")
    tab.locator("a[rel=next]").click()
    tab.wait_for_url("**from=6**")
    before = tab.locator("tbody tr").all_inner_texts()

    tab.locator("#as_of").fill("2030-01-01")
    tab.locator("#as_of").press("Enter")
    tab.wait_for_url("**as_of=2030-01-01**")

    assert all(part in tab.url for part in ("/q/pages?", "status=200", "from=6", "after=", "columns=url"))
    assert tab.locator("tbody tr").all_inner_texts() == before


def test_next_and_previous_lead_through_an_answer_and_back(opened):
    tab = opened.open("/q/pages?site=example.com&limit=20&columns=url")
    rows = tab.locator("tbody tr")
    pages = [rows.all_inner_texts()]
    for _ in range(3):
        tab.locator("a[rel=next]").click()
        tab.wait_for_load_state()
        pages.append(rows.all_inner_texts())
    assert tab.locator(".foot").first.inner_text().startswith("61–80 of ")
    for before in pages[-2::-1]:
        tab.locator("a[rel=prev]").click()
        tab.wait_for_load_state()
        assert rows.all_inner_texts() == before
    assert tab.locator("a[rel=prev]").count() == 0
    assert opened.troubles == []


def test_an_index_sorts_a_column_and_the_filters_stay(opened):
    tab = opened.open("/q/largest?site=example.com&limit=10&max_size=5kB&columns=url,size")
    sizes = tab.locator("tbody td.bytes")

    assert tab.locator("th[aria-sort=descending]").inner_text().startswith("size")
    tab.locator("th a").click()
    tab.wait_for_url("**order=smallest**")

    values = [bytes_of(text) for text in sizes.all_inner_texts()]
    assert values == sorted(values)
    assert tab.locator("th[aria-sort=ascending]").count() == 1
    assert "max_size=5kB" in tab.url


def bytes_of(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit]


def test_back_restores_what_was_typed(opened):
    tab = opened.open("/q/pages?site=example.com&limit=3")
    tab.locator("#f-min_size").fill("1234")

    tab.locator("td a").first.click()
    tab.wait_for_url("**/page?**")
    tab.go_back()

    assert tab.locator("#f-min_size").input_value() == "1234"


def test_the_menu_opens_without_javascript_and_leads_to_a_question(browser, sample_client):
    with watched(browser, sample_client, java_script_enabled=False) as opened:
        tab = opened.open("/")

        tab.locator("header summary").click()
        tab.locator("header .groups a", has_text="broken links").first.click()

        tab.wait_for_url("**/q/broken-links")


def test_an_address_shows_its_host_once_and_is_copied_as_a_whole(opened):
    tab = opened.open("/q/pages?site=https://docs.example.com/&limit=5&columns=url")
    shown = "link => [...link.querySelectorAll('.off, .cut')].every(part => getComputedStyle(part).fontSize == '0px')"

    hosts = tab.locator("tbody .host").count()
    copied = tab.evaluate(
        "() => { getSelection().selectAllChildren(document.querySelector('tbody tr:nth-child(3) a'));"
        " return getSelection().toString() }"
    )

    assert hosts == 1
    assert tab.locator("tbody tr:nth-child(3) a").evaluate(shown)
    assert copied == tab.locator("tbody tr:nth-child(3) a").get_attribute("title")


@pytest.mark.parametrize(
    ("path", "chart", "label"),
    [
        ("/stats?site=example.com&by=status", ".bars svg", "%"),
        (f"/page?url={HOME}", ".timeline a", ", 200"),
        ("/", ".tiles svg.area", "pages by the day of their last capture"),
        ("/", "#statuses svg.stack", "pages by status: 200: "),
        ("/", "svg.heat", "256 salts"),
    ],
)
def test_a_chart_says_its_values_as_text(opened, path, chart, label):
    tab = opened.open(path)

    assert label in tab.locator(chart).first.get_attribute("aria-label")
    assert tab.locator(chart).first.bounding_box()["height"] > 4
    assert opened.troubles == []


def test_a_page_without_the_token_says_where_that_is_and_breaks_no_policy(browser, sample_client):
    with browser.new_context() as context:
        tab, troubles = context.new_page(), []
        tab.on("console", lambda message: troubles.append(message.text))
        response = tab.goto(str(sample_client.base_url))

        assert response.status == 403
        assert "webtable serve has printed" in tab.locator("main").inner_text()
        assert tab.evaluate("getComputedStyle(document.body).maxWidth") != "none"
        assert not [text for text in troubles if "Content" in text]


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
    "/stats?site=all",
    "/audit?site=all",
    *(f"/page?url={{url}}&tab={tab}" for tab in ("history", "links-in", "links-out", "text", "headers", "storage")),
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
        tab = opened.open(f"/page?url={quote(EVIL, safe='')}&tab=rendered")
        tab.locator(".rendered a").click()
        frame = tab.frame_locator(".rendered iframe")
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

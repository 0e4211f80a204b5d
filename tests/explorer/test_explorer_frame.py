"""What all pages have: errors that look like them, times, the size of answers, caching, and how they are sent."""

from __future__ import annotations

import asyncio
import re
import shlex
import threading
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from exploring import explored
from msgspec.structs import replace

from webtable import Page, WebTable
from webtable.errors import StoreUnavailable
from webtable.explorer.http import PIECE, Outlet
from webtable.testing import CountingStore, FailingStore

HOME = "https://example.com/"


@pytest.mark.parametrize(
    ("path", "status", "text", "step"),
    [
        ("/nothing/here", 404, "The explorer has no page /nothing/here", "The menu above has all questions"),
        ("/q/colours", 400, "there is no question", "Change the address"),
        ("/q/pages?as_of=once", 400, "is not a time", "Change the address"),
        ("/page?url=nonsense", 400, "is not a URL", "Change the address"),
    ],
)
def test_an_error_looks_like_the_explorer_and_says_what_to_do(sample_client, path, status, text, step):
    shown = sample_client.get(path)

    assert shown.status_code == status
    assert "<header>" in shown.text
    assert text in shown.text
    assert step in shown.text


def test_a_store_that_is_down_is_a_page_with_the_next_step(sample, serving):
    is_down = threading.Event()
    store = FailingStore(sample.store, StoreUnavailable("no route to it"), at=lambda _: is_down.is_set())
    with serving(WebTable(store, sample.table, sample.layout)) as client:
        is_down.set()
        shown, listed = client.get("/page", params={"url": HOME}), client.get("/q/pages?site=all")

    assert shown.status_code == 503
    assert "The store does not answer" in shown.text
    assert "webtable doctor" in shown.text
    assert "no route to it" in listed.text


def test_an_error_of_the_explorer_itself_is_a_page(sample, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret of the inside")

    with explored(sample) as client:
        monkeypatch.setattr("webtable.rowkey.WebKey.encode", broken)
        monkeypatch.setattr(WebTable, "get", broken)
        shown = client.get("/page", params={"url": HOME})

    assert shown.status_code == 500
    assert "Something broke in the explorer" in shown.text
    assert "secret" not in shown.text
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")


def test_without_the_token_a_browser_gets_a_page_and_a_program_a_line(sample_client):
    with httpx.Client(base_url=sample_client.base_url) as stranger:
        page, line = stranger.get("/", headers={"accept": "text/html"}), stranger.get("/")

    assert (page.status_code, line.status_code) == (403, 403)
    assert "<h1>The token is missing</h1>" in page.text
    assert line.text.startswith("403: ")
    assert line.text.count("\n") == 1


def test_times_say_that_they_are_utc_and_how_long_ago_they_are(table, client):
    moment = (datetime.now(UTC) - timedelta(days=3, minutes=1)).replace(microsecond=0)
    table.put(Page(url=HOME, body=b"x", fetched_at=moment))

    shown = client.get("/q/pages?site=all").text

    assert "<small>UTC</small>" in shown
    expected = f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}" title="3 d ago">{moment:%Y-%m-%d %H:%M}</time>'
    assert expected in shown


def test_a_hit_stands_in_its_line(table, client):
    table.put(Page(url=HOME, body=b"<title>x</title><p>green tea from the mountain of tea, and more tea"))

    shown = client.get("/q/search?text=tea&site=all").text

    assert shown.count("<mark>tea</mark>") >= 3
    assert not re.search(r"<br>\s*<mark>", shown)


def test_an_address_is_shown_decoded_and_whole_on_hover(table, client):
    url = f"https://example.com/caf%C3%A9/%2F{'long/' * 40}end"
    table.put(Page(url=url, body=b"x"))

    shown = client.get("/q/pages?site=all").text

    assert f'title="{url}"' in shown
    assert "/café/%2F" in shown
    assert re.search(r'<span class="cut">[^<]+</span>[^<]*/end</a>', shown)


def test_an_answer_says_how_much_of_it_is_shown(table, client):
    with table.writer() as writer:
        for number in range(12):
            writer.put(Page(url=f"https://example.com/{number:02}", body=b"x"))

    first = client.get("/q/pages?site=all&limit=5").text
    following = re.search(r'rel="next" href="([^"]+)"', first)[1].replace("&amp;", "&")
    second = client.get(following).text

    assert "1–5 of 12" in first
    assert "6–10 of 12" in second
    assert 'rel="prev" href="/q/pages?site=all&amp;limit=5"' in second


def test_of_a_long_answer_a_bounded_number_of_rows_is_counted(table, client, monkeypatch):
    monkeypatch.setattr("webtable.explorer.views.questions.FURTHER", 3)
    with table.writer() as writer:
        for number in range(12):
            writer.put(Page(url=f"https://example.com/{number:02}", body=b"x"))

    assert "1–5 of at least 8" in client.get("/q/pages?site=all&limit=5").text


def test_counting_further_rows_ends_in_time_where_the_store_is_slow(table, monkeypatch):
    monkeypatch.setattr("webtable.explorer.views.questions.FURTHER_SECONDS", 0.0)
    with table.writer() as writer:
        for number in range(400):
            writer.put(Page(url=f"https://example.com/{number:03}", body=b"x"))
    with explored(table) as client:
        shown = client.get("/q/pages?site=all&limit=5").text

    assert re.search(r"1–5 of (at least )?[\d,]+", shown)
    assert "</html>" in shown
    assert 'class="problem"' not in shown


def test_a_site_that_takes_too_long_to_count_is_sampled(table, client, monkeypatch):
    monkeypatch.setattr("webtable.explorer.counts.MOST_SECONDS", -1.0)
    for number in range(4):
        table.put(Page(url=f"https://example.com/{number}", body=b"x", status=404 if number else 200))

    assert "404 <b>75%</b>" in client.get("/site/example.com/").text


def test_styles_and_scripts_are_kept_under_the_hash_of_their_content(sample_client):
    links = re.findall(r'(?:href|src)="(/static/[^"]+)"', sample_client.get("/").text)

    assert len(links) == 3
    for link in links:
        found = sample_client.get(link)
        assert found.status_code == 200
        assert found.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert sample_client.get(link[:-1] + "x").headers["cache-control"] == "no-store"
    assert sample_client.get("/static/none.css").status_code == 404
    assert sample_client.get("/static/..%2frendering.py").status_code == 404


@pytest.mark.parametrize("path", ["/page/raw?url={}", "/page/rendered?url={}", "/web/2100/{}", "/web/2100id_/{}"])
def test_a_stored_capture_is_sent_once(table, client, path):
    page = Page(url=HOME, body=b"<title>a</title>", content_type="text/html")
    table.put(replace(page, fetched_at=datetime.now(UTC) - timedelta(hours=1)))
    first = client.get(path.format(HOME), follow_redirects=True)
    again = client.get(first.url, headers={"if-none-match": first.headers["etag"]})
    table.put(replace(page, body=b"<title>b</title>"))
    changed = client.get(path.format(HOME), headers={"if-none-match": first.headers["etag"]}, follow_redirects=True)

    assert first.headers["cache-control"] == "private, no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"]
    assert (changed.status_code, changed.content) == (200, b"<title>b</title>")


def test_a_stored_capture_of_megabytes_is_sent_once_too(table, client):
    table.put(Page(url=HOME, body=b"x" * 3_000_000))
    first = client.get(f"/page/raw?url={HOME}")

    again = client.get(f"/page/raw?url={HOME}", headers={"if-none-match": first.headers["etag"]})

    assert (len(first.content), again.status_code) == (3_000_000, 304)


def test_answers_are_not_kept(sample_client):
    for path in ("/", "/q/pages?site=all", "/q/pages.json?site=example.com", f"/page?url={HOME}", "/nothing"):
        assert sample_client.get(path).headers["cache-control"] == "no-store"


def test_small_fragments_wake_the_loop_once_a_piece():
    async def written() -> tuple[list[int], int]:
        woken, loop = [], asyncio.get_running_loop()
        outlet = Outlet(loop)
        outlet._notify = lambda: woken.append(len(outlet.unsent))
        for _ in range(1000):
            outlet.write("x" * 10)
        return woken, len(outlet.unsent)

    woken, size = asyncio.run(written())

    assert (woken, size) == ([10, PIECE + 10 - PIECE % 10], 10_000)


def test_the_calls_of_a_page_are_counted_once(sample, serving):
    counting = CountingStore(sample.store)
    table = WebTable(counting, sample.table, sample.layout)
    with serving(table) as client:
        before = sum(operation.calls for operation in table.metrics.operations.values())
        client.get("/q/pages?site=example.com")
        counted = sum(operation.calls for operation in table.metrics.operations.values()) - before

    assert counted == sum(counting.calls.values()) > 0


def test_the_page_of_the_archives_has_examples_that_answer_and_a_form(sample_client):
    shown = sample_client.get("/archives").text
    tries = re.findall(r'<td class="text"><a href="((?:/cdx|/timegate|/timemap|/web)[^"]+)"', shown)

    assert 'action="/cdx"' in shown
    assert len(tries) == 8
    for href in tries:
        assert sample_client.get(href.replace("&amp;", "&")).status_code in (200, 302), href
    assert "Authorization: Bearer TOKEN" in shown


def test_a_command_to_copy_is_one_word_of_the_shell_whatever_the_address(table, client):
    table.put(Page(url="https://example.com/';touch$IFS/tmp/x;'&a=b", body=b"x"))

    found = client.get("/archives.json").json()

    for one in [*found["cdx"], *found["memento"]]:
        words = shlex.split(one["command"])
        assert words[:3] == ["curl", "-H", "Authorization: Bearer TOKEN"]
        assert len(words) == 4
        assert client.get(words[3]).status_code in (200, 302)

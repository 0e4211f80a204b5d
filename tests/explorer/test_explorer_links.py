"""Every link and every form of the explorer leads somewhere: no 4xx, no 5xx, and no connection that breaks."""

from __future__ import annotations

import html
import re
from collections import deque
from datetime import UTC, datetime
from urllib.parse import urlencode, urljoin

import pytest
from exploring import TOKEN

from webtable import Page

MOST = 450  # addresses of a crawl


@pytest.fixture
def crawled(table):
    """A table with what a crawl has: links to pages that are not stored, odd directories, no bodies, redirects."""
    pages = {
        "https://example.com/": b"<title>Home</title><a href=/@x/a>x</a><a href=/a*b/c>y</a><a href=/missing>z</a>",
        "https://example.com/@x/a": b"<title>At</title><a href=/>home</a>",
        "https://example.com/a*b/c": b"star",
        "https://sub.example.com:8080/p": b"port",
        "https://example.com/q?a|b=%7B": b"<p>signs",
    }
    for url, body in pages.items():
        for day in (1, 2):
            moment = datetime(2026, 3, day, tzinfo=UTC)
            table.put(Page(url=url, body=body + b"." * day, fetched_at=moment, headers={"content-type": "text/html"}))
    table.put(Page(url="https://example.com/empty", body=None, status=304))
    table.put(Page(url="https://example.com/moved", body=b"", status=301, redirect_to="https://example.com/"))
    table.links.refresh(also_unfinished=True)
    return table


def followed(address: str, text: str) -> list[str]:
    """Return the addresses that a page leads to: its links, what it loads, and its forms as they are."""
    found = re.findall(r'(?:href|src)="([^"]+)"', text)
    for action, form in re.findall(r'<form[^>]* action="([^"]*)"[^>]*>(.*?)</form>', text, re.DOTALL):
        inputs = re.findall(r'<input[^>]* name="([^"]+)"(?:[^>]* value="([^"]*)")?', form)
        needed = set(re.findall(r'<input[^>]* name="([^"]+)"[^>]* required', form))
        values = {name: value or ("https://example.com/" if name in needed else "") for name, value in inputs}
        if not needed & {"text", "status", "to", "since"}:
            found.append(f"{action}?{urlencode(values)}")
    return [urljoin(address, html.unescape(link)).partition("#")[0] for link in found]


@pytest.mark.slow
@pytest.mark.parametrize("root", ["", f"/-/{TOKEN}"])
def test_every_link_and_every_form_leads_somewhere(crawled, client, root):
    start = f"{client.base_url}".rstrip("/") + f"{root}/"
    seen, waiting, wrong, patterns = {start}, deque([start]), [], {}

    while waiting and len(seen) < MOST:
        address = waiting.popleft()
        response = client.get(address, follow_redirects=True)
        if response.status_code >= 400:
            wrong.append((response.status_code, address, response.text[:200]))
        if not response.headers["content-type"].startswith("text/html") or "sandbox;" in str(response.headers):
            continue
        for link in followed(str(response.url), response.text):
            # Of addresses that differ in the values of their options alone, a few.
            pattern = re.sub(r"=[^&]*", "=", link)
            patterns[pattern] = patterns.get(pattern, 0) + (link not in seen)
            if link.startswith(start) and link not in seen and patterns[pattern] <= 6:
                seen.add(link)
                waiting.append(link)

    assert wrong == []


def test_a_page_that_is_linked_to_and_not_stored_is_a_page_with_its_inlinks(crawled, client):
    shown = client.get("/page", params={"url": "https://example.com/missing"})

    assert shown.status_code == 200
    assert "This page is not stored" in shown.text
    assert 'href="/page?url=https%3A%2F%2Fexample.com%2F"' in shown.text
    assert "/page/history" not in shown.text


def test_a_page_without_a_body_links_to_nothing_that_needs_one(crawled, client):
    shown = client.get("/page", params={"url": "https://example.com/empty"})

    assert shown.status_code == 200
    assert not re.findall(r'href="/page/(?:text|source|raw|rendered)', shown.text)

r"""An address with `[ ] | { } ^ \` or a backtick, raw or escaped, is one page, wherever the URL comes from."""

from __future__ import annotations

import io
import json

import pytest
from msgspec.structs import replace
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from webtable import Link, Page
from webtable.formats import read_pages
from webtable.integrations.scrapy.captures import page_of

RAW = r"/a[1]|{b}`^?tags[]={x}|^`\y"
# What Scrapy 2.19 (w3lib 2.5.0) requests for it.
ESCAPED = "/a%5B1%5D%7C%7Bb%7D%60%5E?tags%5B%5D=%7Bx%7D%7C%5E%60%5Cy"
SPELLINGS = [RAW, ESCAPED, ESCAPED.replace("%5B", "%5b").replace("%7D", "%7d"), RAW.replace("[]", "%5B]")]
HTML = {"Content-Type": "text/html"}


def by_warc(url):
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>warc"
    head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-11-01T00:00:00Z\r\n"
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    (page,) = read_pages(io.BytesIO(head.encode() + block + b"\r\n\r\n"), types=None)
    return page


def by_json_lines(url):
    (page,) = read_pages(io.BytesIO(json.dumps({"url": url, "body": "<p>json", "content_type": "text/html"}).encode()))
    return page


PATHS = {
    "by hand": lambda url: Page(url=url, body=b"<p>hand"),
    "from a response": lambda url: Page.from_response(HtmlResponse(url, body=b"<p>response")),
    "Scrapy": lambda url: page_of(HtmlResponse(Request(url).url, body=b"<p>scrapy")),
    "WARC": by_warc,
    "JSON Lines": by_json_lines,
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_every_spelling_stores_and_finds_one_page(site, path):
    for age, spelling in enumerate(SPELLINGS):
        site.table.put(replace(path(site.url(spelling)), fetched_at=site.page(age=100 - age).fetched_at))

    assert [page.url for page in site.table.pages(site.domain)] == [site.url(ESCAPED)]
    for spelling in SPELLINGS:
        assert site.table.get(site.url(spelling)).url == site.url(ESCAPED)
        assert len(list(site.table.history(site.url(spelling)))) == len(list(site.table.history(site.url(ESCAPED))))
    assert site.table.delete(site.url(RAW))
    assert site.table.get(site.url(ESCAPED)) is None


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_leads_to_a_page_meets_it_in_every_spelling(site, spelling):
    url, target = site.url(spelling), site.url(ESCAPED)
    html = f"<link rel=canonical href='{url}'><a href='{spelling}'>x</a>".encode()
    site.store(
        site.page("/", body=html, headers=HTML, outlinks=None),
        site.page("/own", body=b"x", headers=HTML | {"Link": f"<{spelling}>; rel=canonical"}, outlinks=(Link(url),)),
        site.page("/go", status=301, headers={"Location": spelling}, outlinks=None),
    )
    assert list(site.table.links.discovered(site.domain)) == [target]

    site.store(site.page(ESCAPED, body=b"y", headers=HTML), site.page("/again", status=200, same_as=url))

    assert list(site.table.links.discovered(site.domain)) == []
    assert target not in [page.url for page in site.table.links.orphans(site.domain)]
    assert [link.source for link in site.table.links.to(url)] == [site.url("/"), site.url("/go"), site.url("/own")]
    assert [link.url for link in site.table.links.of(site.url("/"))] == [target]
    assert {site.table.get(site.url(path)).canonical for path in ("/", "/own")} == {target}
    assert site.table.resolve(site.url("/go")).page.url == target
    assert [page.url for page in site.table.redirects(site.domain, to=url)] == [site.url("/go")]
    assert site.table.get(site.url("/again"), columns=["body"]).body == b"y"


# The second byte of some characters of these encodings is one of those that are escaped.
@pytest.mark.parametrize(
    ("charset", "words"),
    [("shift_jis", "日本ソ表"), ("gbk", "中文乗乢"), ("big5", "功許"), ("euc-kr", "한국"), ("koi8-r", "мир")],
)
def test_links_of_a_page_in_a_legacy_encoding_are_those_that_scrapy_requests(site, charset, words):
    body = f"<a href='/s?q={words}&t[]=1'>x</a>".encode(charset)
    headers = {"Content-Type": f"text/html; charset={charset}"}
    (link,) = LinkExtractor().extract_links(HtmlResponse(site.url(), headers=headers, body=body))

    site.store(site.page(body=body, headers=headers, outlinks=None))
    site.table.put(page_of(HtmlResponse(Request(link.url).url, body=b"<p>result")))

    assert list(site.table.links.discovered(site.domain)) == []
    assert site.table.links.to(link.url).count() == 1

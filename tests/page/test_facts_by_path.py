"""One response gives the same facts by every way into a table, and a 304 changes what its headers say and no more."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import uuid
import zipfile
from concurrent.futures import Future
from datetime import timedelta

import aiohttp
import httpx
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from benchmarks.crawl_site import Answer, served
from msgspec.structs import replace
from scrapy.http import HtmlResponse, Response
from warc_folder import write_warc

import webtable
from languages import TEXTS
from told_responses import (
    CONFIRMED,
    FETCHED,
    NAMES,
    RESPONSES,
    TOLD,
    TOLD_AFTER,
    facts_in,
    put_confirmed,
    url_of,
)
from webtable import ALL, Link, Page
from webtable.formats import read_export, read_pages, write, write_export, write_wacz
from webtable.integrations.scrapy.captures import WebTablePipeline, page_of
from webtable.integrations.scrapy.writer_process import WriterProcess


def new_table(url=None):
    return webtable.open(url or f"memory:{uuid.uuid4().hex}", create=True)


def listed(lines):
    """Return header *lines* as a mapping; those of one name are a list."""
    headers = {}
    for name, value in lines:
        headers.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in headers.items()}


def joined(lines):
    """Return header *lines* as a mapping, as RFC 9110 (section 5.3) joins those of one name."""
    return {name: value if isinstance(value, str) else ", ".join(value) for name, value in listed(lines).items()}


def grouped(lines):
    headers = {}
    for name, value in lines:
        headers.setdefault(name.encode(), []).append(value.encode())
    return headers


def by_hand(url, told, _):
    return [Page(url=url, body=told.body, headers=listed(told.headers), fetched_at=FETCHED)]


def by_hand_in_pairs(url, told, _):
    pairs = [(name.encode(), value.encode()) for name, value in told.headers]
    return [Page(url=url, body=told.body, headers=pairs, fetched_at=FETCHED)]


def by_httpx(url, _, proxy):
    with httpx.Client(proxy=proxy) as client:
        return [Page.from_response(client.get(url), fetched_at=FETCHED)]


def by_requests(url, _, proxy):
    return [Page.from_response(requests.get(url, proxies={"http": proxy}, timeout=10), fetched_at=FETCHED)]


def by_aiohttp(url, _, proxy):
    async def fetched():
        async with aiohttp.ClientSession() as session, session.get(url, proxy=proxy) as response:
            return Page.from_response(response, body=await response.read(), fetched_at=FETCHED)

    return [asyncio.run(fetched())]


def scrapys(url, told):
    kind = Response if told.body.startswith(b"%PDF") else HtmlResponse
    return kind(url, headers=grouped(told.headers), body=told.body)


def by_scrapy(url, told, _):
    return [Page.from_response(scrapys(url, told), fetched_at=FETCHED)]


def by_the_middleware_of_scrapy(url, told, _):
    return [replace(page_of(scrapys(url, told)), fetched_at=FETCHED)]


def by_an_item_of_scrapy(url, told, _):
    return [
        WebTablePipeline(None)._page_in(
            {"url": url, "body": told.body, "headers": listed(told.headers), "fetched_at": FETCHED}
        )
    ]


def warc_of(url, told):
    head = b"".join(f"{name}: {value}\r\n".encode() for name, value in told.headers)
    block = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + told.body
    fields = {
        "WARC-Type": "response",
        "WARC-Target-URI": url,
        "WARC-Date": f"{FETCHED:%Y-%m-%dT%H:%M:%SZ}",
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": len(block),
    }
    named = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return gzip.compress(f"WARC/1.1\r\n{named}\r\n".encode() + block + b"\r\n\r\n")


def by_warc(url, told, _):
    return read_pages(io.BytesIO(warc_of(url, told)), types=None)


def by_warc_without_extraction(url, told, _):
    return read_pages(io.BytesIO(warc_of(url, told)), types=None, extract=False)


def by_wacz(url, told, _):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        package.writestr("archive/crawl.warc.gz", warc_of(url, told))
    packed.seek(0)
    return read_pages(packed, types=None)


def row_of(url, told):
    return {"url": url, "body": told.body, "headers": listed(told.headers), "fetched_at": FETCHED}


def by_json_lines(url, told, _):
    row = row_of(url, told) | {"body_base64": base64.b64encode(told.body).decode(), "fetched_at": FETCHED.isoformat()}
    del row["body"]
    return read_pages(io.BytesIO(gzip.compress(json.dumps(row).encode())), types=None)


def by_json_lines_with_the_headers_of_har(url, told, _):
    headers = [{"name": name, "value": value} for name, value in told.headers]
    row = row_of(url, told) | {"headers": headers, "fetched_at": FETCHED.isoformat()}
    row["body_base64"] = base64.b64encode(row.pop("body")).decode()
    return read_pages(io.BytesIO(json.dumps(row).encode()), types=None)


SCHEMA = pa.schema(
    {
        "url": pa.string(),
        "body": pa.binary(),
        "headers": pa.map_(pa.string(), pa.string()),
        "fetched_at": pa.timestamp("us", "UTC"),
    }
)


def arrow_of(url, told):
    return pa.Table.from_pylist([row_of(url, told) | {"headers": told.headers}], schema=SCHEMA)


def by_parquet(url, told, _):
    packed = io.BytesIO()
    pq.write_table(arrow_of(url, told), packed)
    packed.seek(0)
    return read_pages(packed, types=None)


def by_arrow(url, told, _):
    return arrow_of(url, told)


def by_pandas(url, told, _):
    return pa.Table.from_pandas(pd.DataFrame([row_of(url, told) | {"headers": told.headers}]), schema=SCHEMA)


def by_polars(url, told, _):
    table = arrow_of(url, told).drop_columns("headers")
    return pl.from_arrow(table) if not told.headers else arrow_of(url, told)


def read_before(url, told, proxy):
    """What answers have of it, as JSON Lines that are read again."""
    with new_table() as other:
        other.put(by_hand(url, told, proxy)[0])
        lines = io.BytesIO()
        write([other.get(url, columns=["body", "outlinks"])], lines, format="jsonl")
    return read_pages(io.BytesIO(lines.getvalue()), types=None)


WAYS = [
    by_hand, by_hand_in_pairs, by_httpx, by_requests, by_aiohttp, by_scrapy, by_the_middleware_of_scrapy,
    by_an_item_of_scrapy, by_warc, by_warc_without_extraction, by_wacz, by_json_lines,
    by_json_lines_with_the_headers_of_har, by_parquet, by_arrow, by_pandas,
    by_polars, read_before,
]  # fmt: skip


@pytest.fixture(scope="module")
def proxy():
    def lines_of(told):
        # Two lines of one name, which this server writes as they are.
        lines = {}
        for name, value in told.headers:
            lines[name] = f"{lines[name]}\r\n{name}: {value}" if name in lines else value
        return lines

    answers = {url_of(name): Answer(headers=lines_of(told), body=told.body) for name, told in RESPONSES.items()}
    with served(answers) as site:
        yield site.proxy


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_response_gives_the_same_facts_by_every_way_and_so_does_a_304_after_it(way, proxy):
    with new_table() as table:
        with table.writer() as writer:
            for name, told in RESPONSES.items():
                writer.put_many(way(url_of(name), told, proxy))
        told = facts_in(table)
        put_confirmed(table)
        after = facts_in(table)

    assert told == TOLD
    assert after == TOLD_AFTER


@pytest.fixture
def stored(proxy):
    with new_table() as table:
        for name, told in RESPONSES.items():
            table.put(by_hand(url_of(name), told, proxy)[0])
        yield table


def test_a_process_that_writes_for_scrapy_finds_the_same_facts(tmp_path):
    url = str(tmp_path / "pages.db")
    writer = WriterProcess(url, {"create": True}, {})
    try:
        receipts = [writer.put(by_scrapy(url_of(name), told, None)[0], Future()) for name, told in RESPONSES.items()]
    finally:
        writer.close()
    for receipt in receipts:
        receipt.result()

    with webtable.open(url) as table:
        assert facts_in(table) == TOLD


def exported(form):
    def into(source, target, folder):
        write_export(source, folder, ALL, format=form)
        with target.writer() as writer:
            writer.put_many(read_export(folder))

    return into


def archived(source, target, folder):
    write_warc(source, folder, ALL)
    with target.writer() as writer:
        for file in sorted(folder.glob("*.warc.gz")):
            writer.put_many(read_pages(file, types=None))


def packaged(source, target, folder):
    write_wacz(source, folder.with_suffix(".wacz"), ALL)
    with target.writer() as writer:
        writer.put_many(read_pages(folder.with_suffix(".wacz"), types=None))


def copied(source, target, _):
    source.maintenance.copy(target)


def put_again(source, target, _):
    for name in RESPONSES:
        target.put(source.get(url_of(name), columns=["body", "outlinks"]))


def put_again_without_links(source, target, _):
    for name in RESPONSES:
        target.put(source.get(url_of(name), columns=["body"]))


def framed(source, target, _):
    columns = ["url", "fetched_at", "body", "headers"]
    with target.writer() as writer:
        writer.put_many(source.pages("told.example", columns=columns).to_arrow())


def framed_whole(source, target, _):
    with target.writer() as writer:
        writer.put_many(source.pages("told.example", columns=["body", "headers", "outlinks"]))


COPIES = {
    **{form: exported(form) for form in ("jsonl", "parquet", "warc")},
    "archive": archived,
    "wacz": packaged,
    "copy": copied,
    "put again": put_again,
    "put again without links": put_again_without_links,
    "frame": framed,
    "frame of all columns": framed_whole,
}


@pytest.mark.parametrize("copy", COPIES)
def test_another_table_made_of_one_has_the_same_facts_and_so_it_has_after_a_304(stored, copy, tmp_path):
    with new_table() as target:
        COPIES[copy](stored, target, tmp_path / "out")
        told = facts_in(target)
        put_confirmed(target)
        after = facts_in(target)

    assert told == TOLD
    assert after == TOLD_AFTER


@pytest.mark.parametrize("copy", [copy for copy in COPIES if not copy.startswith("frame")])
def test_another_table_made_of_one_with_304s_has_the_same_facts_and_so_it_has_after_another_one(stored, copy, tmp_path):
    put_confirmed(stored)

    with new_table() as target:
        COPIES[copy](stored, target, tmp_path / "out")
        told = facts_in(target)
        for name in RESPONSES:
            target.put_not_modified(url_of(name), CONFIRMED + timedelta(hours=1), {"X-Robots-Tag": "none"})
        after = facts_in(target)

    own = {name: facts["robots"] for name, facts in TOLD.items() if RESPONSES[name].body.find(b"name=robots") > 0}
    assert told == TOLD_AFTER
    assert {name for name, facts in after.items() if not facts["robots"].endswith("none")} == set()
    assert {name for name, facts in after.items() if facts["robots"] == "none"} == after.keys() - own.keys()
    assert {facts["robots_by_bot"] for facts in after.values()} == {None, "googlebot: nosnippet, index"}
    for facts in (*told.values(), *after.values()):
        del facts["robots"], facts["robots_by_bot"]
    assert after == told


GIVEN = {"canonical": "https://given.example/", "robots": "index", "language": "xx", "title": "Given"}


@pytest.mark.parametrize("name", RESPONSES)
def test_facts_that_a_caller_gives_stay_as_they_are_and_so_they_do_after_a_304(name, proxy):
    told, url = RESPONSES[name], url_of(name)
    with new_table() as table:
        table.put(Page(url=url, body=told.body, headers=joined(told.headers), fetched_at=FETCHED, **GIVEN))
        first = table.get(url)
        table.put_not_modified(url, CONFIRMED, told.newer)
        later = table.get(url)

    assert [{one: getattr(page, one) for one in GIVEN} for page in (first, later)] == [GIVEN, GIVEN]


LINKS = (Link("https://own.example/", "own"),)


@pytest.mark.parametrize("known", [{}, {"charset": "utf-8"}, {"title": "T"}, {"charset": "utf-8", "title": "T"}])
def test_links_of_the_callers_own_leave_all_else_to_be_found(known):
    told = RESPONSES["both, conflicting"]
    with new_table() as table:
        table.put(Page(url=url_of("a"), body=told.body, headers=joined(told.headers), outlinks=LINKS, **known))
        page = table.get(url_of("a"), columns=["outlinks"])

    assert {name: getattr(page, name) for name in NAMES} == told.facts
    assert page.outlinks == LINKS


@pytest.mark.parametrize("copy", ["jsonl", "parquet", "warc", "archive", "wacz", "copy"])
def test_a_capture_that_repeats_another_url_has_the_facts_of_its_html_and_of_its_own_headers(copy, tmp_path):
    told, revisit = RESPONSES["each something"], "http://other.example/again"
    headers = {"Content-Type": "text/html; charset=utf-8", "X-Robots-Tag": "nosnippet", "Content-Language": "en"}
    later = {"X-Robots-Tag": "none"}
    with new_table() as table, new_table() as target:
        table.put(by_hand(url_of("a"), told, None)[0])
        table.put(Page(url=revisit, same_as=url_of("a"), headers=headers, fetched_at=FETCHED + timedelta(hours=1)))
        first = table.get(revisit)
        COPIES[copy](table, target, tmp_path / "out")
        again = target.get(revisit)
        target.put_not_modified(revisit, CONFIRMED, later)
        after = target.get(revisit)

    facts = told.facts | {"canonical": None, "robots": "noindex, nosnippet"}
    for page in (first, again):
        assert {name: getattr(page, name) for name in NAMES} == facts
    assert {name: getattr(after, name) for name in NAMES} == facts | {"robots": "noindex, none"}


def test_a_repeat_of_another_url_keeps_its_own_language_where_the_html_names_none():
    with new_table() as table:
        table.put(Page(url=url_of("a"), body=b"<p>x", headers={"Content-Language": "de"}, fetched_at=FETCHED))
        table.put(Page(url=url_of("b"), same_as=url_of("a"), headers={"Content-Language": "en"}, fetched_at=CONFIRMED))

        assert [table.get(url_of(name)).language for name in "ab"] == ["de", "en"]


def test_a_304_replaces_the_headers_of_the_page_and_not_those_of_its_message():
    # RFC 9111, sections 3.1 and 3.2.
    headers = {"Content-Length": "3", "Content-Encoding": "br", "Vary": "a", "Cache-Control": "max-age=1", "X-Old": "1"}
    newer = [
        ("content-length", "0"), ("CONTENT-ENCODING", "gzip"), ("Content-Range", "bytes 0-1/3"), ("vary", "b"),
        ("Transfer-Encoding", "chunked"), ("Connection", "close, X-Hop"), ("x-hop", "1"), ("Keep-Alive", "timeout=5"),
        ("Proxy-Authenticate", "Basic"), ("Cache-Control", "max-age=2"), ("X-New", "2"),
    ]  # fmt: skip
    with new_table() as table:
        table.put(Page(url=url_of("a"), body=b"abc", content_type="text/plain", headers=headers, fetched_at=FETCHED))
        table.put_not_modified(url_of("a"), CONFIRMED, newer)

        assert table.get(url_of("a")).headers == {
            "Content-Length": "3", "Content-Encoding": "br", "Vary": "b", "Cache-Control": "max-age=2",
            "X-Old": "1", "X-New": "2",
        }  # fmt: skip


def test_a_304_after_an_error_combines_its_headers_with_the_html_from_before():
    told, url = RESPONSES["both, conflicting"], url_of("a")
    with new_table() as table:
        table.put(by_hand(url, told, None)[0])
        table.put(Page(url=url, status=503, headers={"X-Robots-Tag": "none"}, fetched_at=FETCHED + timedelta(hours=1)))
        table.put_not_modified(url, CONFIRMED, {"X-Robots-Tag": "nosnippet"})
        page = table.get(url)

    assert {name: getattr(page, name) for name in NAMES} == told.facts | {"robots": "noindex, nofollow, nosnippet"}


def test_a_304_that_was_stored_before_its_page_combines_its_headers_with_the_html():
    told, url = RESPONSES["both, conflicting"], url_of("a")
    with new_table() as table:
        table.put(Page(url=url, status=304, headers={"X-Robots-Tag": "nosnippet"}, fetched_at=CONFIRMED))
        table.put(by_hand(url, told, None)[0])
        page = table.get(url)

    assert {name: getattr(page, name) for name in NAMES} == told.facts | {"robots": "noindex, nofollow, nosnippet"}


def test_a_revisit_with_all_its_headers_has_the_facts_of_these_and_one_without_those_of_its_page():
    told, url = RESPONSES["both, conflicting"], url_of("a")
    with new_table() as table:
        table.put(by_hand(url, told, None)[0])
        table.put(Page(url=url, same_as=url, fetched_at=FETCHED + timedelta(hours=1)))
        without = table.get(url)
        table.put(Page(url=url, same_as=url, headers={"Content-Type": "text/html"}, fetched_at=CONFIRMED))
        with_headers = table.get(url)

    assert (without.robots, without.headers) == (told.facts["robots"], joined(told.headers))
    assert (with_headers.robots, with_headers.headers) == ("noindex, nofollow", {"Content-Type": "text/html"})


def test_a_header_takes_the_place_of_a_language_that_was_detected():
    body = f"<p>{TEXTS['de']}".encode()
    with new_table() as table:
        with table.writer(detect_language=True) as writer:
            writer.put(Page(url=url_of("a"), body=body, content_type="text/html", fetched_at=FETCHED))
        table.put_not_modified(url_of("a"), FETCHED + timedelta(hours=1), {"X-Robots-Tag": "none"})
        kept = table.get(url_of("a"))
        table.put_not_modified(url_of("a"), CONFIRMED, {"Content-Language": "lb"})
        page = table.get(url_of("a"))

    assert [(one.language, one.language_detected, one.robots) for one in (kept, page)] == [
        ("de", True, "none"),
        ("lb", False, "none"),
    ]

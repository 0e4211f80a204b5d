"""Crawl some domains into a web table, politely, and go on where the last run has ended.

    python examples/crawler.py STORE URL...

Fetches the URLs, those that stored pages of their hosts link to, and pages that were not fetched for a day. A host is
asked for one page at a time, others meanwhile. All that has to be remembered is in the table: end it at any time, by
Ctrl-C or SIGTERM, and run it again. Needs httpx and protego.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx
from protego import Protego

from webtable import Page, aio

AGENT = "webtable-example"
LONGEST_WAIT = 120.0
LARGEST_BODY = 10_000_000  # HBase takes little more in a cell; a larger body is stored cut off
FAILURES = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)  # the last: a host name that cannot be looked up


class Crawler:
    """Fetches pages into *table*: each as often as its server asks for patience, but three times at most."""

    def __init__(self, table: aio.WebTable, writer: aio.Writer, client: httpx.AsyncClient, pause: float) -> None:
        self.table, self.writer, self.client, self.pause = table, writer, client, pause
        self.rules: dict[str, Protego] = {}
        self.tried: set[str] = set()
        self.redirected: set[str] = set()
        """Where pages have sent us."""

    async def run(self, seeds: list[str], older_than: timedelta, most: int) -> None:
        """Fetch what is due, host by host, until nothing is, or *most* pages were tried."""
        while urls := await self.due(seeds, older_than, most - len(self.tried)):
            self.tried |= urls
            by_host = defaultdict(list)
            for url in sorted(urls):
                by_host[httpx.URL(url).netloc].append(url)
            async with asyncio.TaskGroup() as hosts:
                for of_host in by_host.values():
                    hosts.create_task(self.visit(of_host))
            await self.writer.flush()  # what these pages link to is found then

    async def due(self, seeds: list[str], older_than: timedelta, most: int) -> set[str]:
        """Return what to fetch next: at most *most* URLs that were not tried yet."""
        urls = {url for url in seeds if await self.table.get(url) is None} | self.redirected
        for host in {httpx.URL(seed).host for seed in seeds}:
            urls |= {page.url async for page in self.table.outdated(host, not_fetched_since=older_than)}
            urls |= {url async for url in self.table.links.discovered(host)}
        return set(sorted(urls - self.tried)[:most])

    async def visit(self, urls: list[str]) -> None:
        """Fetch the pages of one host, one after another, as far as its robots.txt allows."""
        rules = await self.rules_of(urls[0])
        for url in urls:
            if not rules.can_fetch(url, AGENT):
                await self.writer.put_failed(url, "robots")
                continue
            await self.fetch(url)
            await asyncio.sleep(rules.crawl_delay(AGENT) or self.pause)

    async def rules_of(self, url: str) -> Protego:
        """Return what the robots.txt of a host says: all is forbidden while it cannot be read (RFC 9309, 2.3.1)."""
        robots = str(httpx.URL(url).join("/robots.txt"))
        if robots not in self.rules:
            text = "User-agent: *\nDisallow: /"
            with suppress(*FAILURES):
                response = await self.client.get(robots, follow_redirects=True)
                if response.status_code < 500:
                    text = response.text if response.is_success else ""
            self.rules[robots] = Protego.parse(text)
        return self.rules[robots]

    async def fetch(self, url: str) -> None:
        """Fetch one page, and store what comes: a page, an error, a redirect, or that it has not changed (304)."""
        for _ in range(3):
            try:
                response = await self.client.get(url, headers=await self.table.validators(url))
            except FAILURES as exc:
                print(f"{url}: {exc!r}", file=sys.stderr)
                await self.writer.put_failed(url, reason_of(exc), detail=str(exc))
                return
            if response.status_code not in (429, 503):
                break
            await asyncio.sleep(seconds_until(response.headers.get("retry-after", "")))
        await self.writer.put(Page.from_response(response))
        if response.next_request is not None and response.next_request.url.netloc == response.url.netloc:
            self.redirected.add(str(response.next_request.url))


def reason_of(error: Exception) -> str:
    """Return in a word why there was no answer."""
    if isinstance(error, httpx.TimeoutException):
        return "timeout"
    return "closed" if isinstance(error, httpx.NetworkError | httpx.ProtocolError) else "other"


def seconds_until(retry_after: str) -> float:
    """Return how long a server wants us to wait: it says so in seconds, or as a date."""
    if retry_after.isdecimal():
        return min(float(retry_after), LONGEST_WAIT)
    try:
        seconds = (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return 5.0
    return min(max(seconds, 0.0), LONGEST_WAIT)


async def crawl(
    store: str,
    seeds: list[str],
    *,
    older_than: timedelta = timedelta(days=1),
    most: int = 1_000,
    pause: float = 1.0,
    proxy: str | None = None,
) -> None:
    """Crawl the hosts of *seeds* into *store*: at most *most* pages, with a *pause* between two of a host."""
    async with (
        httpx.AsyncClient(headers={"User-Agent": AGENT}, timeout=30, proxy=proxy) as client,
        aio.open(store, create=True) as table,
        table.writer(max_body=LARGEST_BODY) as writer,
    ):
        await Crawler(table, writer, client, pause).run(seeds, older_than, most)


async def main(store: str, *seeds: str) -> None:
    """Crawl until it is done, or until SIGTERM: what was fetched by then is stored."""
    crawling = asyncio.ensure_future(crawl(store, [*seeds]))
    with suppress(NotImplementedError):  # of Windows, which has no such signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, crawling.cancel)
    await crawling


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)

"""The command `crawl`, a form on top of Scrapy and the spider whose frontier is the table."""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

import webtable
from webtable._importable import needed
from webtable._process_hooks import handling_signals
from webtable.cli import options
from webtable.cli.exit_codes import NOT_DONE, SIGNALLED, complain, note
from webtable.cli.output import documented
from webtable.cli.session import session
from webtable.display import harmless
from webtable.display.text import plural
from webtable.errors import InvalidArgument, TableNotFound
from webtable.progress import ProgressBar
from webtable.questions import duration_of
from webtable.rowkey import canonical_url
from webtable.store import adapter_of

if TYPE_CHECKING:
    import signal

    from scrapy.crawler import Crawler, CrawlerProcess

    from webtable.cli.session import CommandSession

commands: Final = typer.Typer()
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_COUNT: Final = "webtable/"
_PORT: Final = re.compile(r":\d+$")


@documented(commands)
def crawl(
    ctx: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="{URLS}", help="Where to begin; their hosts are crawled.")],
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Request at most so many pages.")] = None,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Follow at most so many links from where it begins.")
    ] = None,
    include: options.IncludeOption = None,
    exclude: options.ExcludeOption = None,
    sitemaps: Annotated[
        bool, typer.Option("--sitemaps", help="Begin with the sitemaps that robots.txt names, or /sitemap.xml.")
    ] = False,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Fetch pages again that were fetched so long ago, as in 7d.")
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="WHO",
            envvar="WEBTABLE_CONTACT",
            help="Your e-mail address, or the URL of a page about you, for the User-Agent. Not for this machine.",
        ),
    ] = None,
) -> None:
    """Fetch the pages of hosts, and of the hosts below them, and store them.

    It obeys robots.txt, requests one page of a host at a time, and sends conditional requests for stored pages. The
    frontier is the table: after Ctrl-C or SIGTERM run the same command again to go on.

    Failed fetches are stored with their reason, and requested again after an hour, then two, up to 30 days; `webtable
    failed` lists them. The exit code is 1 if nothing was fetched.

    Examples:
        webtable crawl https://example.com/ --contact you@example.com
        webtable crawl https://example.com/ --limit 500 --exclude '/calendar/**' --sitemaps
        webtable crawl https://example.com/ --depth 3
        webtable crawl https://example.com/ --older-than 7d
    """
    this = session(ctx)
    starts = [canonical_url(url if "://" in url else f"https://{url}") for url in urls]
    hosts = list(dict.fromkeys(_PORT.sub("", urlsplit(url).netloc) for url in starts))
    if contact is None and not _LOCAL.issuperset(hosts):
        raise InvalidArgument(
            "servers are told who crawls: give --contact with your address of e-mail or that of a page about your "
            "crawler, or set WEBTABLE_CONTACT"
        )
    agent = f"webtable/{version('hbase-webtable')}" + (f" (+{contact})" if contact else "")
    wanted = webtable.URLFilter(hosts=hosts, include=include or (), exclude=exclude or ())
    age = None if older_than is None else duration_of("older-than", older_than)
    with needed("Scrapy", "scrapy"):
        from scrapy.crawler import CrawlerProcess
    from webtable.integrations.scrapy import TableSpider

    _check_table(this)
    settings = {"USER_AGENT": agent, "WEBTABLE_URI": this.store, "WEBTABLE_URLS": wanted}
    process = CrawlerProcess({"LOG_LEVEL": "CRITICAL", "TELNETCONSOLE_ENABLED": False, **settings})
    crawler = process.create_crawler(TableSpider)
    process.crawl(crawler, start_urls=starts, limit=limit, depth=depth, sitemaps=sitemaps, outdated_after=age)
    received = _run(process, crawler)
    counts = {
        name.removeprefix(_COUNT): value
        for name, value in sorted(crawler.stats.get_stats().items())
        if name.startswith(_COUNT)
    }
    for kind in ("not_fetched", "failed"):
        what = "not stored" if kind == "failed" else "not fetched"
        for reason in filter(re.compile(f"{kind}/").match, counts):
            note(f"{what}: {plural(counts[reason], 'page')}, {harmless(reason.partition('/')[2])}")
    stored, same = counts.get("stored", 0), counts.get("not_modified", 0)
    typer.echo(
        f"{plural(stored, 'page')} stored in {harmless(this.name)}"
        + (f", {same:,} of them not modified" if same else "")
    )
    if received:
        complain(f"interrupted by {received[0].name}: what was fetched is stored; the same command goes on from there")
        raise typer.Exit(SIGNALLED + received[0])
    raise typer.Exit(0 if stored else NOT_DONE)


def _check_table(this: CommandSession) -> None:
    """Create the table if it is missing and its store has one made at the first page; raises what opening raises."""
    try:
        this.open().close()
    except TableNotFound:
        if not adapter_of(this.store).capabilities.is_created_on_ingest:
            raise
        webtable.open(this.store, create=True).close()


def _run(process: CrawlerProcess, crawler: Crawler) -> list[signal.Signals]:
    """Run *crawler* to its end, with a progress bar, and return the signals that ended it.

    A second signal ends the process.
    """
    from twisted.internet import reactor

    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(SIGNALLED + number)
        reactor.callFromThread(process.stop)

    def state() -> tuple[int, str]:
        stored, failed = (crawler.stats.get_value(f"webtable/{name}", 0) for name in ("stored", "failed"))
        return stored, f"{plural(stored, 'page')} stored" + (f", {failed:,} not" if failed else "")

    with handling_signals(stop), ProgressBar("crawl", state=state):
        process.start(install_signal_handlers=False)
    return received

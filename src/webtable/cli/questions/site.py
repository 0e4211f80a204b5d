"""The commands that list a site: its pages, its hosts, the URLs to crawl next, and what became of its pages."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from webtable.cli.options.questions import (
    DomainArgument,
    FullScanOption,
    HostOnlyOption,
    MaxSizeOption,
    MinSizeOption,
    OfPages,
    Paging,
    PathOption,
    parse_wanted_size,
)
from webtable.cli.questions.listings import question
from webtable.cli.terminal.text import examples
from webtable.cli.terminal.times import TIME
from webtable.errors import InvalidArgument
from webtable.repository import Change, ChangeKind, Host, Pages, Results, WebTable
from webtable.repository.questions.changes import CHANGE_KINDS, PAGE_CHANGES
from webtable.repository.questions.frontier import URLS
from webtable.repository.questions.hosts import HOSTS
from webtable.repository.times import FORMS

if TYPE_CHECKING:
    Kind = ChangeKind
else:
    # typer takes choices as an enum only.
    Kind = StrEnum("Kind", list(CHANGE_KINDS))

commands = typer.Typer()

_PANEL = "Pages of a site"
_BY_URL = ("url", "storage")


@question(
    commands,
    orders=_BY_URL,
    panel=_PANEL,
    epilog=examples(
        "webtable pages example.com --limit 20",
        "webtable pages docs.example.com --path /guide/ --status 404 --status 410",
        "webtable pages example.com --host-only --columns url,title,etag --format csv",
        "webtable pages --full-scan --type application/pdf --min-size 5MB",
        "webtable pages example.com --format jsonl | jq .title",
    ),
)
def pages(
    table: WebTable,
    domain: DomainArgument = None,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    status: Annotated[
        list[int] | None, typer.Option("--status", help="Only with this status code; may be given more than once.")
    ] = None,
    content_type: Annotated[
        str | None, typer.Option("--type", help="Only of this media type, as in text/html.", show_default=False)
    ] = None,
    min_size: MinSizeOption = None,
    max_size: MaxSizeOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[OfPages],
) -> Pages:
    """List the pages of a host and of all hosts below it.

    They come by URL, or in the order in which they are stored, which is faster over many hosts.

    With --limit, and where there are more, the token that goes on behind them is told on standard error.
    """
    return table.pages(
        domain,
        host_only=host_only,
        path=path,
        status=status or None,
        content_type=content_type,
        min_size=parse_wanted_size("min-size", min_size),
        max_size=parse_wanted_size("max-size", max_size),
        full_scan=full_scan,
        **asking,
    )


@question(
    commands,
    HOSTS,
    orders=("url",),
    panel=_PANEL,
    has_counts=True,
    epilog=examples(
        "webtable hosts example.com",
        "webtable hosts --format csv > hosts.csv",
    ),
)
def hosts(table: WebTable, domain: DomainArgument = None, **asking: Unpack[Paging]) -> Results[Host]:
    """List the hosts that have pages, with how many pages and bytes: of a domain, or all of them.

    The counts are those of the last `links refresh`, which `ingest` does at its end; `stats` counts now.
    """
    return table.hosts(domain, **asking)


@question(
    commands,
    URLS,
    orders=_BY_URL,
    panel=_PANEL,
    epilog=examples(
        "webtable discovered example.com --limit 1000 > crawl-next.txt",
        "webtable discovered --full-scan",
    ),
)
def discovered(
    table: WebTable, domain: DomainArgument = None, full_scan: FullScanOption = False, **asking: Unpack[Paging]
) -> Results[str]:
    """List the URLs that pages link to and that are no pages yet: what to crawl next."""
    return table.discovered(domain, full_scan=full_scan, **asking)


@question(
    commands,
    PAGE_CHANGES,
    orders=_BY_URL,
    panel=_PANEL,
    epilog=examples(
        "webtable changes example.com --since 7d",
        "webtable changes example.com --since 2026-11-01 --until 2026-11-08 --kind new --kind gone",
        "webtable changes example.com --since 7d --format csv > changes.csv",
    ),
)
def changes(
    table: WebTable,
    domain: DomainArgument = None,
    since: Annotated[
        datetime | None,
        typer.Option("--since", metavar=TIME, help=f"The moment to compare with: {FORMS}.", show_default=False),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option("--until", metavar=TIME, help="The moment that is compared. Default: now.")
    ] = None,
    kind: Annotated[
        list[Kind] | None,
        typer.Option(
            "--kind", help="Only these; may be given more than once. Default: new, gone, changed.", show_default=False
        ),
    ] = None,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[Paging],
) -> Results[Change]:
    """List the pages of a host, and of all hosts below it, that are new, gone or changed since a moment.

    A page is gone where it has a status of 400 or above now, and had one below.
    """
    if since is None:
        raise InvalidArgument("since= must be given: the moment to compare with")
    return table.changes(
        domain,
        since=since,
        until=until,
        kind=[str(one) for one in kind] if kind else None,  # type: ignore[misc]
        host_only=host_only,
        path=path,
        full_scan=full_scan,
        **asking,
    )

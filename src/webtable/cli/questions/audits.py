"""The commands that look at a site as a whole: `duplicate-groups`, `titles`, `redirect-chains`, `crawls`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Unpack, get_args

import typer

from webtable.cli.options.questions import DomainArgument, FullScanOption, HostOnlyOption, Paging, PathOption
from webtable.cli.questions.listings import question
from webtable.cli.terminal.text import examples
from webtable.repository import Crawl, DuplicateGroup, RedirectChain, Results, Sameness, TitleProblem, WebTable
from webtable.repository.arguments import MAX_TITLE
from webtable.repository.questions.crawls import CRAWLS
from webtable.repository.questions.duplicate_groups import DUPLICATE_GROUPS
from webtable.repository.questions.redirect_chains import REDIRECT_CHAINS
from webtable.repository.questions.titles import TITLE_PROBLEMS
from webtable.repository.times import DURATIONS

commands = typer.Typer()

_PANEL = "A site as a whole"


if TYPE_CHECKING:
    SameBy = Sameness
else:
    # typer takes choices as an enum only.
    SameBy = StrEnum("SameBy", get_args(Sameness))


@question(
    commands,
    DUPLICATE_GROUPS,
    orders=("pages", "bytes"),
    panel=_PANEL,
    epilog=examples(
        "webtable duplicate-groups example.com --limit 20",
        "webtable duplicate-groups example.com --by title --format csv > titles.csv",
        "webtable duplicate-groups --full-scan --order bytes",
    ),
)
def duplicate_groups(
    table: WebTable,
    domain: DomainArgument = None,
    by: Annotated[SameBy, typer.Option("--by", help="What they have in common.")] = "content",
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[Paging],
) -> Results[DuplicateGroup]:
    """List the groups of pages that have the same content, or the same title: those of the most pages first.

    Each has the digest or the title, how many pages, how many bytes in all, and the first ten URLs.
    """
    return table.duplicate_groups(domain, by=by, host_only=host_only, path=path, full_scan=full_scan, **asking)


@question(
    commands,
    TITLE_PROBLEMS,
    orders=("problem",),
    panel=_PANEL,
    epilog=examples(
        "webtable titles example.com",
        "webtable titles example.com --host-only --max-length 70 --format csv > titles.csv",
    ),
)
def titles(
    table: WebTable,
    domain: DomainArgument = None,
    max_length: Annotated[int, typer.Option("--max-length", help="How many characters are not too long.")] = MAX_TITLE,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[Paging],
) -> Results[TitleProblem]:
    """List the HTML pages with status 200 whose title is missing, is that of other pages too, or is too long.

    A page may be listed twice: as a duplicate, and as one whose title is too long.
    """
    return table.titles(domain, max_length=max_length, host_only=host_only, path=path, full_scan=full_scan, **asking)


@question(
    commands,
    REDIRECT_CHAINS,
    orders=("url",),
    panel=_PANEL,
    epilog=examples(
        "webtable redirect-chains example.com",
        "webtable redirect-chains example.com --columns length,is_loop,end,urls --format csv > chains.csv",
    ),
)
def redirect_chains(
    table: WebTable,
    domain: DomainArgument = None,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[Paging],
) -> Results[RedirectChain]:
    """List the chains of redirects: all URLs of each, how many redirects, whether it is a loop, the last page's status.

    A chain begins where no other redirect of the site leads, may leave the site, and is followed for 20 redirects.
    """
    return table.redirect_chains(domain, host_only=host_only, path=path, full_scan=full_scan, **asking)


@question(
    commands,
    CRAWLS,
    orders=("newest", "oldest"),
    panel=_PANEL,
    epilog=examples(
        "webtable crawls --full-scan",
        "webtable crawls example.com --gap 2d --order oldest",
    ),
)
def crawls(
    table: WebTable,
    domain: DomainArgument = None,
    gap: Annotated[
        str, typer.Option("--gap", metavar="TIME", help=f"A longer pause ends a crawl: {DURATIONS}.")
    ] = "6h",
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[Paging],
) -> Results[Crawl]:
    """List when was crawled, the newest crawl first: its begin and end, and how many captures, bytes and hosts.

    The captures are those that are stored: of each page the newest, and each that brought other content. `webtable
    compare HOST --since END --until END` compares the site as two crawls have left it, by their ends as listed here.
    """
    return table.crawls(domain, gap=gap, host_only=host_only, path=path, full_scan=full_scan, **asking)

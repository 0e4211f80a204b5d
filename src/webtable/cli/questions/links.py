"""The commands about links: who links to a page, what is linked most or never, what leads nowhere; `links refresh`."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from webtable._page.page import Link
from webtable._progress import progress_bar
from webtable.cli.exit_codes import NOT_DONE
from webtable.cli.options.questions import DomainArgument, FullScanOption, InDomain, OfPages, Paging
from webtable.cli.questions.listings import question
from webtable.cli.session import session
from webtable.cli.terminal.damage import tell_damage
from webtable.cli.terminal.output import on_terminal, write_lines
from webtable.cli.terminal.text import examples, plural
from webtable.repository import Pages, Results, WebTable
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.questions.index_answer import Asking
from webtable.repository.questions.inlinks import INLINKS, Inlink
from webtable.repository.questions.links import BROKEN_LINKS, LINKS, BrokenLink

commands = typer.Typer()
group = typer.Typer(help="Count the links that lead to pages.", no_args_is_help=False)

_PANEL = "Links"


@question(
    commands,
    PAGES.listing("url", "inlinks", "internal", "external", "title"),
    orders=("most", "fewest", "storage"),
    panel=_PANEL,
    has_counts=True,
    epilog=examples(
        "webtable most-linked --limit 20",
        "webtable most-linked --domain example.com --columns url,inlinks,external,counted_at",
    ),
)
def most_linked(table: WebTable, **asking: Unpack[Asking]) -> Pages:
    """List the pages by how many others link to them, the most first; none that nobody links to.

    The counts are those of the last `links refresh`; how many wait to be made anew is told on standard error.
    """
    return table.most_linked(**asking)


@question(
    commands,
    orders=("url", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable orphans example.com",
        "webtable orphans example.com --within-host --columns url,title",
        "webtable orphans --full-scan --format csv > orphans.csv",
    ),
)
def orphans(
    table: WebTable,
    domain: DomainArgument = None,
    within_host: Annotated[
        bool, typer.Option("--within-host", help="Those that no other page of their own host links to.")
    ] = False,
    full_scan: FullScanOption = False,
    **asking: Unpack[OfPages],
) -> Pages:
    """List the pages of a host, and of all hosts below it, that no other page links to.

    A link of a page to itself is none. Links are looked at as they are now, whenever they were counted last.
    """
    return table.orphans(domain, within_host=within_host, full_scan=full_scan, **asking)


@question(
    commands,
    orders=("url", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable dead-ends --domain example.com",
        "webtable dead-ends --columns url,title --format csv",
    ),
)
def dead_ends(table: WebTable, **asking: Unpack[Asking]) -> Pages:
    """List the pages that have no links to others."""
    return table.dead_ends(**asking)


@question(
    commands,
    INLINKS,
    orders=("source",),
    panel=_PANEL,
    epilog=examples(
        "webtable linking-to https://example.com/products",
        "webtable linking-to https://example.com/products --past --domain example.org",
        "webtable linking-to https://example.com/products --columns source,title,anchor",
    ),
)
def linking_to(
    table: WebTable,
    url: Annotated[str, typer.Argument(help="Where the links lead; it need not be stored.")],
    past: Annotated[bool, typer.Option("--past", help="Those that did lead there and do no more.")] = False,
    **asking: Unpack[InDomain],
) -> Results[Inlink]:
    """List the links that lead to a URL, with their anchors, by the pages that have them.

    The option --domain leaves out the links on pages of other domains.
    """
    return table.linking_to(url, past=past, **asking)


@question(
    commands,
    LINKS,
    orders=("page",),
    panel=_PANEL,
    epilog=examples(
        "webtable links-of https://example.com/products",
        "webtable links-of https://example.com/products --columns url",
    ),
)
def links_of(
    table: WebTable,
    url: Annotated[str, typer.Argument(help="The page's URL.")],
    **asking: Unpack[Paging],
) -> Results[Link]:
    """List the links of a page, in the order in which it has them."""
    return table.links_of(url, **asking)


@question(
    commands,
    BROKEN_LINKS,
    orders=("status",),
    panel=_PANEL,
    epilog=examples(
        "webtable broken-links --domain example.com",
        "webtable broken-links --format csv > broken.csv",
    ),
)
def broken_links(table: WebTable, **asking: Unpack[InDomain]) -> Results[BrokenLink]:
    """List the links that lead to an error page, by its status and URL.

    The option --domain leaves out the links on pages of other domains.
    """
    return table.broken_links(**asking)


@group.command(epilog=examples("webtable links refresh", "webtable -s crawl.db links refresh --also-unfinished"))
def refresh(
    ctx: typer.Context,
    also_unfinished: Annotated[
        bool,
        typer.Option("--also-unfinished", help="Do not wait ten minutes for a writer that did not come to its end."),
    ] = False,
) -> None:
    """Count the links to those pages that were linked or unlinked since the last run, and the pages of their hosts.

    It may run at any time, also beside writers, and again where it was interrupted; `ingest` does it at its end.
    """
    with session(ctx).open() as table, progress_bar("links refresh", "page") as counted:
        done = table.refresh_links(on_progress=counted, also_unfinished=also_unfinished)
    tell_damage((), done.damaged)
    if not done.batches:
        typer.echo("nothing waits to be counted")
        return
    typer.echo(
        f"{plural(done.pages, 'page')} and {plural(done.hosts, 'host')} counted, for "
        f"{plural(done.batches, 'batch', 'es')} that waited"
    )
    if done.damaged:
        raise typer.Exit(NOT_DONE)


@group.command(epilog=examples("webtable links status", "webtable -s crawl.db links status"))
def status(ctx: typer.Context) -> None:
    """Show how many batches of pages wait to have their links counted, and since when."""
    with session(ctx).open() as table:
        waiting, since = table.links_freshness()
    if not on_terminal():
        write_lines([("waiting", waiting), *([("since", since)] if since else [])])
    elif since:
        typer.echo(f"{plural(waiting, 'batch', 'es')} waiting since {since:%Y-%m-%d %H:%M} UTC")
    else:
        typer.echo("up to date")

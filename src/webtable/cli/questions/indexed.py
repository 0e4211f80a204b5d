"""The commands that list pages by an index: by time, size, status, content, or an index of the user's own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Unpack

import typer

from webtable.cli import completion
from webtable.cli.options.questions import MaxSizeOption, MinSizeOption, parse_wanted_size
from webtable.cli.questions.listings import question
from webtable.cli.terminal.text import examples
from webtable.cli.terminal.times import TIME
from webtable.repository import Pages, WebTable
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.questions.index_answer import Asking
from webtable.repository.questions.indexed import SIZE_CLASSES
from webtable.repository.times import FORMS

commands = typer.Typer()

_PANEL = "Pages by an index"
_BY_URL = ("url", "storage")
_NEWEST_FIRST = ("newest", "oldest", "storage")

SinceOption = Annotated[
    datetime | None, typer.Option("--since", metavar=TIME, help=f"From this moment on: {FORMS}.", show_default=False)
]
UntilOption = Annotated[
    datetime | None, typer.Option("--until", metavar=TIME, help="Up to this moment, which is not included.")
]


@question(
    commands,
    orders=_NEWEST_FIRST,
    panel=_PANEL,
    epilog=examples(
        "webtable fetched --since 2d --limit 20",
        "webtable fetched --since 2026-11-20 --until 2026-11-21 --domain example.com --order oldest",
    ),
)
def fetched(table: WebTable, since: SinceOption = None, until: UntilOption = None, **asking: Unpack[Asking]) -> Pages:
    """List the pages that were fetched in a time, the newest first."""
    return table.fetched(since, until, **asking)


@question(
    commands,
    PAGES.listing("url", "status_code", "last_modified", "changed_at", "title"),
    orders=_NEWEST_FIRST,
    panel=_PANEL,
    epilog=examples(
        "webtable modified --since 7d --domain example.com",
        "webtable modified --until 2026-01-01T00:00+01:00 --order oldest --limit 100",
    ),
)
def modified(table: WebTable, since: SinceOption = None, until: UntilOption = None, **asking: Unpack[Asking]) -> Pages:
    """List the pages that were modified in a time, the newest first.

    A page was modified when its server says so, else when a capture first brought its content.
    """
    return table.modified(since, until, **asking)


@question(
    commands,
    orders=("oldest", "newest", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable outdated --not-fetched-since 30d --columns url > fetch-again.txt",
        "webtable outdated --not-modified-since 2025-01-01 --domain example.com",
    ),
)
def outdated(
    table: WebTable,
    not_fetched_since: Annotated[
        datetime | None, typer.Option("--not-fetched-since", metavar=TIME, help=f"{FORMS}.", show_default=False)
    ] = None,
    not_modified_since: Annotated[
        datetime | None, typer.Option("--not-modified-since", metavar=TIME, help="The same of the pages' changes.")
    ] = None,
    **asking: Unpack[Asking],
) -> Pages:
    """List the pages that were not fetched, or not modified, since a moment: what to fetch again.

    One of the two moments must be given.
    """
    return table.outdated(not_fetched_since=not_fetched_since, not_modified_since=not_modified_since, **asking)


@question(
    commands,
    orders=("largest", "smallest", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable largest --limit 20",
        "webtable largest --class huge --domain example.com",
        "webtable largest --min-size 1MB --max-size 5MB --order smallest",
    ),
)
def largest(
    table: WebTable,
    size_class: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="|".join(SIZE_CLASSES), help="Below 1,000, 10,000 or 100,000 bytes, or from there on."
        ),
    ] = None,
    min_size: MinSizeOption = None,
    max_size: MaxSizeOption = None,
    **asking: Unpack[Asking],
) -> Pages:
    """List the pages by the size of their bodies, the largest first."""
    return table.largest(
        size_class=size_class,  # type: ignore[arg-type]
        min_size=parse_wanted_size("min-size", min_size),
        max_size=parse_wanted_size("max-size", max_size),
        **asking,
    )


@question(
    commands,
    orders=_BY_URL,
    panel=_PANEL,
    epilog=examples(
        "webtable with-status 503",
        "webtable with-status 404 --domain example.com --columns url",
    ),
)
def with_status(
    table: WebTable,
    status: Annotated[int, typer.Argument(help="The status code.", show_default=False)],
    **asking: Unpack[Asking],
) -> Pages:
    """List the pages whose last capture has this status."""
    return table.with_status(status, **asking)


@question(
    commands,
    orders=("status", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable errors --domain example.com",
        "webtable errors --format csv > errors.csv",
    ),
)
def errors(table: WebTable, **asking: Unpack[Asking]) -> Pages:
    """List the pages whose last capture is an error (status 400 and above), by status and URL."""
    return table.errors(**asking)


@question(
    commands,
    PAGES.listing("url", "status_code", "redirect_to", "fetched_at"),
    orders=("status", "url", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable redirects --domain example.com",
        "webtable redirects --to https://example.com/new",
    ),
)
def redirects(
    table: WebTable,
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="Only those that lead there directly, by URL.")
    ] = None,
    **asking: Unpack[Asking],
) -> Pages:
    """List the pages that redirect, by status and URL."""
    if to is not None and asking["order"] == "status":
        asking["order"] = None
    return table.redirects(to=to, **asking)


@question(
    commands,
    orders=_BY_URL,
    panel=_PANEL,
    epilog=examples(
        "webtable duplicates https://example.com/products",
        "webtable duplicates https://example.com/products --columns url,fetched_at --format csv",
    ),
)
def duplicates(
    table: WebTable,
    url: Annotated[str, typer.Argument(help="The page's URL.")],
    **asking: Unpack[Asking],
) -> Pages:
    """List the other pages with exactly the content of a page."""
    return table.duplicates(url, **asking)


@question(
    commands,
    PAGES,
    orders=("term", "reverse", "storage"),
    panel=_PANEL,
    epilog=examples(
        "webtable indexed language de --limit 20",
        "webtable indexed language --order reverse",
    ),
)
def indexed(
    table: WebTable,
    index: Annotated[
        str,
        typer.Argument(
            help="The name of an index of the table.", show_default=False, autocompletion=completion.indexes
        ),
    ],
    term: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to find the pages by; all parts of it, where the index has several. Default: all.",
            show_default=False,
        ),
    ] = None,
    **asking: Unpack[Asking],
) -> Pages:
    """List the pages that an index has, in its order: one of your own, or of webtable's."""
    wanted = term[0] if term and len(term) == 1 else tuple(term) if term else None
    return table.indexed(index, wanted, **asking)

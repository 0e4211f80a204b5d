"""The commands that read: `pages`, `get`, `history`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.failing import NOT_DONE, complain, note
from webtable.cli.output import (
    ALL_COLUMNS,
    ColumnsOption,
    Format,
    FormatOption,
    on_terminal,
    parse_columns,
    write_body,
    write_fields,
    write_pages,
)
from webtable.cli.session import session
from webtable.cli.text import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.page import Page
    from webtable.repository import Pages

commands = typer.Typer()

LISTED = ("url", "status_code", "size", "fetched_at", "title")
_HISTORY = ("fetched_at", "status_code", "size", "digest", "content_type", "title")
_METADATA = tuple(name for name in ALL_COLUMNS if name not in ("html", "outlinks"))


class OrderName(StrEnum):
    """The orders of `webtable.repository.Order`."""

    url = "url"
    storage = "storage"


@commands.command(
    epilog=examples(
        "webtable pages example.com --limit 20",
        "webtable pages docs.example.com --path /guide/",
        "webtable pages example.com --host-only --columns url,title,etag --format csv",
        "webtable pages example.com --format jsonl | jq .title",
    )
)
def pages(
    ctx: typer.Context,
    domain: Annotated[str, typer.Argument(help="A host name: its pages, and those of all hosts below it.")],
    limit: Annotated[int | None, typer.Option(help="The most pages to list.", show_default=False)] = None,
    host_only: Annotated[bool, typer.Option("--host-only", help="Leave out the hosts below.")] = False,
    path: Annotated[str | None, typer.Option(help="Only this directory of the host, as in /docs/.")] = None,
    after: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Go on where a listing with --limit has ended.")
    ] = None,
    order: Annotated[
        OrderName, typer.Option(help="By URL, or as they are stored, which is faster over many hosts.")
    ] = OrderName.url,
    columns: ColumnsOption = None,
    html: Annotated[bool, typer.Option("--html", help="Add the bodies.")] = False,
    format: FormatOption = None,  # noqa: A002
    explain: Annotated[bool, typer.Option("--explain", help="Show how it would be answered, and do not ask.")] = False,
) -> None:
    """List the pages of a host and of all hosts below it.

    With --limit, and where there are more, the token that goes on behind them is told on standard error.
    """
    shown = parse_columns(columns, _listed(format), html=html)

    with session(ctx).open() as table:
        question = table.pages(
            domain, host_only=host_only, path=path, columns=shown, after=after, order=order.value,
            limit=limit + 1 if limit and limit > 0 else limit,  # one more tells whether a token is worth showing
        )  # fmt: skip
        if explain:
            typer.echo(str(question.explain()))
            return
        listing = _Limited(question, limit)
        found = write_pages(listing, shown, format)
    if listing.next_token:
        note(f"more: --after {listing.next_token}")
    if not found and limit != 0 and on_terminal():
        note(f"no {question.question}")


@commands.command(
    epilog=examples(
        "webtable get https://example.com/products",
        "webtable get https://example.com/products --html > products.html",
        "webtable get https://example.com/products --columns outlinks --format jsonl",
    )
)
def get(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="The page's URL.")],
    html: Annotated[bool, typer.Option("--html", help="Write the body, byte for byte, and nothing else.")] = False,
    columns: ColumnsOption = None,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Show the newest capture of a page."""
    shown = parse_columns(columns, _METADATA)
    with session(ctx).open() as table:
        page = table.get(url, columns=("html", "charset") if html else shown)
    if page is None:
        complain(f"{url}: not stored")
        raise typer.Exit(NOT_DONE)
    if not html:
        write_fields(page, shown, format)
    elif page.html is None:
        complain(f"{url}: stored without a body (status {page.status_code})")
        raise typer.Exit(NOT_DONE)
    else:
        write_body(page)


@commands.command(
    epilog=examples(
        "webtable history https://example.com/products",
        "webtable history https://example.com/products --format jsonl",
    )
)
def history(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="The page's URL.")],
    format: FormatOption = None,  # noqa: A002
) -> None:
    """List the stored versions of a page, the newest first: one for each content that it had."""
    with session(ctx).open() as table:
        versions = table.history(url)
    if not versions:
        complain(f"{url}: not stored")
        raise typer.Exit(NOT_DONE)
    write_pages(versions, _HISTORY, format)


def _listed(format: Format | None) -> tuple[str, ...]:  # noqa: A002
    return _METADATA if format is Format.jsonl else LISTED


class _Limited:
    """The first *limit* pages of a question; behind them `next_token` goes on, None where there are no more."""

    def __init__(self, question: Pages, limit: int | None) -> None:
        self._question = question
        self._limit = limit
        self.next_token: str | None = None

    def __iter__(self) -> Iterator[Page]:
        last = None
        for number, page in enumerate(self._question):
            if number == self._limit:
                if last is not None:
                    self.next_token = self._question.token_behind(last)
                return
            yield page
            last = page

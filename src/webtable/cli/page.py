"""The commands about one page: `get`, `history`, `diff`, `by-id`, `resolve`, `validators`, `not-modified`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable.cli import output
from webtable.cli.exit_codes import not_done
from webtable.cli.messages import stored_likes
from webtable.cli.session import session
from webtable.display import harmless
from webtable.display.text import plural
from webtable.questions import PAGES, TIME_FORMS, Column, parse_time, read_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable import Page
    from webtable.answers import Difference
    from webtable.cli.output import Format

commands: Final = typer.Typer()

_HISTORY = ("fetched_at", "status", "size", "digest", "content_type", "robots", "title")
_CHANGED = ("title", "status", "facts", "headers", "text", "links_added", "links_removed", "links_changed")
_SHOWN = (*PAGES.usual, "headers", "link_counts")

if TYPE_CHECKING:
    ColumnsOption = str | None
else:
    ColumnsOption = output.columns_option(PAGES.names)
URLArgument = Annotated[str, typer.Argument(help="The page's URL.")]
BodyOption = Annotated[bool, typer.Option("--body", help="Write the body, byte for byte, and nothing else.")]


@output.documented(commands)
def get(
    ctx: typer.Context,
    url: URLArgument,
    as_of: Annotated[
        str | None, typer.Option(metavar=output.TIME, help=f"The page as it was then: {TIME_FORMS}.")
    ] = None,
    body: BodyOption = False,
    columns: ColumnsOption = None,
    format: output.FormatOption = None,
) -> None:
    """Show the newest capture of a page, or the page as it was at a time.

    Examples:
        webtable get https://example.com/products
        webtable get https://example.com/products --body > products.html
        webtable get https://example.com/products --as-of 7d --columns title,digest
        webtable get https://example.com/products --columns outlinks --format jsonl
    """
    shown, moment = output.parse_columns(columns, PAGES, _SHOWN), None if as_of is None else parse_time("as-of", as_of)
    with session(ctx).open() as table:
        page = table.get(url, as_of=moment, columns=_read(shown, body=body))
        likes = stored_likes(table, url) if page is None and as_of is None else ""
    missing = f"not stored{likes}" if as_of is None else f"not stored as of {as_of}"
    _show(page, shown, format, body=body, missing=f"{url}: {missing}")


@output.documented(commands, "by-id")
def by_id(
    ctx: typer.Context,
    id: Annotated[
        str,
        typer.Argument(help="The first 16 hexadecimal digits of the MD5 of the page's URL (webtable.indexes.page_id)."),
    ],
    body: BodyOption = False,
    columns: ColumnsOption = None,
    format: output.FormatOption = None,
) -> None:
    """Show the page whose URL has this id.

    Examples:
        webtable by-id 182ccedb33a9e03f
        webtable by-id 182ccedb33a9e03f --body > page.html
    """
    shown = output.parse_columns(columns, PAGES, _SHOWN)
    with session(ctx).open() as table:
        page = table.by_id(id, columns=_read(shown, body=body))
    _show(page, shown, format, body=body, missing=f"{id}: not stored")


@output.documented(commands)
def history(
    ctx: typer.Context,
    url: URLArgument,
    columns: ColumnsOption = None,
    format: output.FormatOption = None,
) -> None:
    """List the stored versions of a page, the newest first: one for each content that it had.

    What it says of itself (title, description, robots, canonical URL, language, h1) is part of that; --columns
    shows it.

    Examples:
        webtable history https://example.com/products
        webtable history https://example.com/products --format jsonl
    """
    default = [column.name for column in output.default_columns(PAGES.listing(*_HISTORY), format)]
    shown = output.parse_columns(columns, PAGES, default)
    with session(ctx).open() as table:
        versions, damaged = table.history(url, columns=_read(shown, body=False)), table.metrics.damaged
        likes = "" if versions or damaged else stored_likes(table, url)
    if not versions and not damaged:
        raise not_done(f"{url}: not stored{likes}")
    output.write_records(versions, shown, format, asked_for=columns is not None)
    if damaged:
        raise not_done(f"{url}: {plural(damaged, 'damaged version')} left out")


@output.documented(commands)
def diff(
    ctx: typer.Context,
    url: URLArgument,
    old: Annotated[
        str | None,
        typer.Option(metavar=output.TIME, help=f"The version at this time: {TIME_FORMS}. Default: the last but one."),
    ] = None,
    new: Annotated[
        str | None, typer.Option(metavar=output.TIME, help="The version at this later time. Default: the newest.")
    ] = None,
    format: Annotated[output.ReportFormat, typer.Option(help="As text to read, or JSON.")] = output.ReportFormat.text,
) -> None:
    """Show what changed between two versions of a page: in title, status, facts, headers, text and links.

    Examples:
        webtable diff https://example.com/products
        webtable diff https://example.com/products --old 30d
        webtable diff https://example.com/products --old 2026-10-01 --new 2026-11-01 --format json
    """
    times = output.parse_times(old=old, new=new)
    with session(ctx).open() as table:
        difference = table.diff(url, **times)
        versions = () if difference is not None else table.history(url)
    if difference is None:
        dates = ", ".join(f"{version.fetched_at:%Y-%m-%dT%H:%M:%S}" for version in versions)
        raise not_done(
            f"{url}: there are no two versions to compare; stored is that of {dates}"
            if len(versions) == 1
            else f"{url}: there are no two versions to compare; stored are those of {dates}"
            if versions
            else f"{url}: not stored"
        )
    if format is output.ReportFormat.json:
        output.write_json(_as_json(difference))
    else:
        _write_diff(difference)


@output.documented(commands)
def resolve(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL|ID", help="Where to begin.")],
) -> None:
    """Show where a URL leads by the redirects that are stored: each URL on the way, the last one at the end.

    The exit code is 1 if the end is not stored, or if there is no end.

    Examples:
        webtable resolve https://example.com/old
        webtable resolve 182ccedb33a9e03f
    """
    with session(ctx).open() as table:
        resolved = table.resolve(url)
    output.write_lines([(hop,) for hop in resolved.hops])
    if resolved.problem is not None:
        why = {"loop": "a loop", "too many": "and so on: too many redirects"}.get(resolved.problem, resolved.problem)
        raise not_done(f"{resolved.url}: {why}")


@output.documented(commands)
def validators(ctx: typer.Context, url: URLArgument) -> None:
    """Write the headers that ask a server whether a page is still what is stored, each on a line.

    There are none if its answer "not modified" would be of no use: the page, or its body, is not stored, or it is an
    error.

    Examples:
        webtable validators https://example.com/products
        webtable validators https://example.com/products | curl -H @- https://example.com/products
    """
    with session(ctx).open() as table:
        headers = table.validators(url)
    for name, value in headers.items():
        output.write_lines([(f"{name}: {value}",)])


@output.documented(commands, "not-modified")
def not_modified(
    ctx: typer.Context,
    url: URLArgument,
    fetched_at: Annotated[
        str | None, typer.Option(metavar=output.TIME, help=f"When: {TIME_FORMS}. Default: now.")
    ] = None,
) -> None:
    """Store that the server of a page has answered "not modified" (status 304).

    The page keeps its content and links, which are rewritten before they expire.

    Examples:
        webtable not-modified https://example.com/products
        webtable not-modified https://example.com/products --fetched-at 2026-11-20T10:00
    """
    with session(ctx).open() as table:
        table.put_not_modified(url, None if fetched_at is None else parse_time("fetched-at", fetched_at))
    typer.echo(f"not modified\t{harmless(url)}")


def _read(shown: Sequence[Column], *, body: bool) -> tuple[str, ...]:
    # What is not shown is not read: a cell for each of these families less.
    return ("body", "charset") if body else read_for(column.name for column in shown)


def _show(
    page: Page | None,
    shown: Sequence[Column],
    format: Format | None,
    *,
    body: bool,
    missing: str,
) -> None:
    if page is None:
        raise not_done(missing)
    if not body:
        output.write_fields(page, shown, format)
    elif page.body is None:
        raise not_done(f"{page.url}: stored without a body (status {page.status})")
    else:
        output.write_body(page)


def _as_json(difference: Difference) -> dict[str, object]:
    between = {"url": difference.new.url, "old": difference.old.fetched_at, "new": difference.new.fetched_at}
    return between | {name: getattr(difference, name) for name in _CHANGED}


def _write_diff(difference: Difference) -> None:
    lines = [harmless(line) for line in str(difference).splitlines()]
    if not output.on_terminal():
        output.write_lines([(line,) for line in lines])
        return
    from rich.text import Text

    styles = {"+": "green", "-": "red", "@": "cyan"}
    target = output.console()
    for line in lines:
        target.print(Text(line, style=styles.get(line[:1], "")), soft_wrap=True)

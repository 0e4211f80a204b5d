"""The commands `delete` and `delete-pages`."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable.cli.exit_codes import NOT_DONE, complain, not_done
from webtable.cli.ingest import UrlFiles
from webtable.cli.messages import why_empty
from webtable.cli.options import DryRunOption, NeededSiteArgument, YesOption
from webtable.cli.output import documented, on_terminal, parse_times
from webtable.cli.progress import check_confirmable, confirm
from webtable.cli.session import session
from webtable.display import harmless
from webtable.display.text import plural, size_text
from webtable.maintenance import DeletedPage, Deletions
from webtable.progress import progress_bar
from webtable.questions import named_site, status_codes

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable import WebTable

commands: Final = typer.Typer()

_PURPOSE = "delete pages"
# How many URLs are deleted together; one of standard input that is invalid stops it before its batch.
_AT_ONCE = 200
# The progress bar is updated once per this many pages.
_SHOWN_EACH = 100


@documented(commands)
def delete(
    ctx: typer.Context,
    urls: Annotated[
        list[str], typer.Argument(metavar="URL", help="The URLs of the pages; - reads them from standard input.")
    ],
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Delete the pages with these URLs: every version, their links and metadata.

    In a terminal it asks first; elsewhere it needs --yes. For the pages of a site, see `delete-pages`.

    Examples:
        webtable delete https://example.com/products
        webtable errors --format jsonl | jq -r .url | webtable delete --yes -
    """
    check_confirmable(_PURPOSE, yes=yes or dry_run)  # before a pipe has been read
    done = missing = 0
    with session(ctx).open() as table:
        for url in urls:
            if url != "-":
                table.key.encode(url)  # an invalid URL stops it before the first page is deleted
        confirm(_PURPOSE, _question(len(urls), table), yes=yes or dry_run)
        remaining = iter(UrlFiles(["-"]) if urls == ["-"] else urls)
        # In a terminal the lines themselves are the progress.
        with nullcontext() if on_terminal() else progress_bar("delete", "page") as shown:
            # Together they take one round trip to the store for each step of a delete.
            while batch := list(islice(remaining, _AT_ONCE)):
                for url, was_there in zip(batch, table.delete_many(batch, dry_run=dry_run), strict=True):
                    if was_there:
                        typer.echo(f"{'would be deleted' if dry_run else 'deleted'}\t{harmless(url)}")
                    else:
                        complain(f"{url}: not stored")
                        missing += 1
                done += len(batch)
                if shown is not None:
                    shown(done)
    if missing:
        raise typer.Exit(NOT_DONE)


@documented(commands)
def delete_pages(
    ctx: typer.Context,
    site: NeededSiteArgument,
    fetched_before: Annotated[
        str | None, typer.Option("--older-than", metavar="TIME", help="Pages last fetched before this, as in 400d.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Pages with this status code, or of this class, as in 4xx (repeatable)."),
    ] = None,
    and_links: Annotated[
        bool, typer.Option("--and-links", help="Also what names them: links on other pages, their texts, counts.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Delete the pages of a site: all of them, or those of a status or an age.

    In a terminal it counts them and asks first; elsewhere it needs --yes, and --dry-run counts them. After an
    interruption run it again. `all` needs --older-than or --status.

    --and-links also removes the links of other pages to the site, which then lead to about:blank. The bytes are gone
    after `webtable compact`; on HBase after a major compaction and `webtable compact --forget-deletes`. What other
    pages say in their own bodies stays.

    To keep a list, write it first: `webtable pages SITE --status CODE --out deleted.jsonl`, or for an age `webtable
    fetched SITE --until TIME --out deleted.jsonl`.

    Examples:
        webtable delete-pages example.com --status 404 --dry-run
        webtable delete-pages all --older-than 400d --yes
        webtable delete-pages example.com --and-links --yes
    """
    check_confirmable(_PURPOSE, yes=yes or dry_run)
    before = parse_times(older_than=fetched_before)["older_than"]
    with session(ctx).open() as table:
        codes = status_codes(status or ()) or None
        run = partial(table.delete_pages, named_site(site), status=codes, fetched_before=before, and_links=and_links)
        total = None
        if dry_run or not yes:
            would = _counted(run)
            total = would.pages
            if dry_run:
                _complain_of_nothing(table, site, would)
                return
            if would.pages:
                confirm(_PURPOSE, _question(would.pages, table), yes=yes)
        with progress_bar("delete", "page", total) as shown:
            counting = _Counting(shown)
            try:
                done = run(on_page=counting)
            except KeyboardInterrupt as exc:
                exc.add_note(f"{plural(counting.pages, 'page')} deleted; the same command deletes the rest")
                raise
        typer.echo(f"{_amount(done)} deleted")
        _complain_of(done)
        _complain_of_nothing(table, site, done)


def _question(count: int, table: WebTable) -> str:
    return f"Delete {plural(count, 'page')} from {table.name}? This cannot be undone."


def _counted(run: Callable[..., Deletions]) -> Deletions:
    """Report and return what would be deleted."""
    with progress_bar("counting", "page") as shown:
        would = run(dry_run=True, on_page=_Counting(shown))
    typer.echo(f"{_amount(would)} would be deleted")
    _complain_of(would)
    return would


class _Counting:
    """Counts the `pages` that it is called with, and shows their number."""

    def __init__(self, shown: Callable[[int], None]) -> None:
        self.pages = 0
        self._shown = shown

    def __call__(self, _: DeletedPage) -> None:
        self.pages += 1
        if self.pages % _SHOWN_EACH == 0:
            self._shown(self.pages)


def _amount(deletions: Deletions) -> str:
    """Return the amounts of *deletions* as text."""
    text = (
        f"{plural(deletions.pages, 'page')} with {plural(deletions.versions, 'version')}, {size_text(deletions.bytes)}"
    )
    if deletions.links or deletions.inlinks:
        text += (
            f", and on other pages {plural(deletions.links, 'link')} and {plural(deletions.inlinks, 'link')} from them,"
        )
    return text


def _complain_of_nothing(table: WebTable, site: str, deletions: Deletions) -> None:
    """End the command with an error if nothing was *deletions* because *site* has no pages."""
    # Only after the run: what an interrupted one has left is removed also where no page is left.
    if deletions == Deletions() and (nothing := why_empty(table, site)):
        raise not_done(nothing)


def _complain_of(deletions: Deletions) -> None:
    if deletions.damaged:
        complain(f"{plural(deletions.damaged, 'row')} cannot be read")

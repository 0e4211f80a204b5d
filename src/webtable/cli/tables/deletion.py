"""The command `delete`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from webtable._progress import progress_bar
from webtable._shown import harmless
from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.cli.exit_codes import NOT_DONE, complain
from webtable.cli.loading.url_files import UrlFiles
from webtable.cli.options import FullScanOption, HostOnlyOption, PathOption
from webtable.cli.session import session
from webtable.cli.tables.receipts import DeletionReceipt, receipt_in
from webtable.cli.terminal.interaction import can_ask, check_can_ask, confirm
from webtable.cli.terminal.text import examples, parse_times
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.cli.session import CommandSession
    from webtable.repository import DeletedPage, Deletions

commands: Final = typer.Typer()

_NOTHING = "nothing was deleted"
_SHOWN_EACH = 100
"""Of so many pages one is shown as they are deleted."""


@commands.command(
    epilog=examples(
        "webtable delete https://example.com/products",
        "webtable delete --domain example.com --status 404 --yes",
        "webtable delete --older-than 400d --full-scan --receipt deleted.jsonl --yes",
        "webtable delete --domain example.com --and-links --yes",
        "webtable errors --format jsonl | jq -r .url | webtable delete --yes -",
    )
)
def delete(
    ctx: typer.Context,
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL", help="The pages' URLs; - reads them from standard input.", show_default=False),
    ] = None,
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="HOST", help="The pages of this host and of all hosts below it.")
    ] = None,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="TIME", help="Pages last fetched before this, as in 400d.")
    ] = None,
    status: Annotated[
        list[int] | None,
        typer.Option("--status", help="Pages with this status code; may be given more than once.", show_default=False),
    ] = None,
    full_scan: FullScanOption = False,
    and_links: Annotated[
        bool, typer.Option("--and-links", help="All that names them, too: links on pages of others, texts, counts.")
    ] = False,
    receipt: Annotated[
        str | None, typer.Option("--receipt", metavar="FILE", help="Write there what was deleted, as lines of JSON.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete pages with all that is stored of them: every version, links and metadata.

    Which, their URLs say, or --domain, --status and --older-than together. Those are counted first; they are deleted
    where --yes is given, or where a terminal can be asked. Again after it was cut short, it deletes the rest.

    With --and-links, which goes with --domain alone, nothing of a domain is left: the links of other pages to it lead
    to about:blank then. On SQLite the file holds nothing of it after `webtable compact`; on HBase after a major
    compaction and `webtable compact --forget-deletes`. What other pages say of it in their own bodies stays.

    A receipt has a line for what was asked, one for each page before it is deleted ("what": "page", with its URL, date,
    status, bytes and number of versions), and the sums at the end ("what": "total"). The same command goes on with a
    receipt that has no sums yet, because it was killed.
    """
    is_chosen = domain is not None or older_than is not None or bool(status)
    if is_chosen == bool(urls):
        raise InvalidArgument("name the URLs of pages, or say which by --domain, --older-than or --status: one of both")
    if not is_chosen:
        if receipt is not None:
            raise InvalidArgument("--receipt goes with --domain, --older-than or --status; URLs are told as they go")
        _delete_named(session(ctx), urls or [], yes=yes)
        return
    moment = parse_times(older_than=older_than)["older_than"]
    asked: dict[str, Any] = {
        "domain": domain,
        "host_only": host_only,
        "path": path,
        "status": status or None,
        "and_links": and_links,
    }
    with session(ctx).open() as table:
        delete_pages = partial(table.delete_pages, **asked, full_scan=full_scan)
        if not yes:
            _ask(partial(delete_pages, fetched_before=moment))
        with receipt_in(receipt) as written, progress_bar("delete", "page") as shown:
            request = written.begin(table=table.name, **asked, older_than=older_than, fetched_before=moment)
            if written.before.pages:
                complain(f"going on with {receipt}: {_said(written.before)} deleted before")
            done = delete_pages(
                fetched_before=request["fetched_before"],
                before_delete=written.pages,
                on_page=_told(written.gone, shown),
            )
            done = written.total(done)
    typer.echo(f"{_said(done)} deleted")
    _complain_of(done)


def _ask(delete_pages: Callable[..., Deletions]) -> None:
    """Say what would be deleted, and end the command where that is not wanted, or nobody can be asked."""
    with progress_bar("counting", "page") as shown:
        would = delete_pages(dry_run=True, on_page=_told(DeletionReceipt().gone, shown))
    typer.echo(f"{_said(would)} would be deleted")
    _complain_of(would)
    if not can_ask():
        complain(f"{_NOTHING}: give --yes to delete them")
        raise typer.Exit(NOT_DONE)
    confirm("Delete them?", otherwise=_NOTHING)


def _told(take: Callable[[DeletedPage], None], shown: Callable[[int], None]) -> Callable[[DeletedPage], None]:
    count = 0

    def told(page: DeletedPage) -> None:
        nonlocal count
        count += 1
        take(page)
        if count % _SHOWN_EACH == 0:
            shown(count)

    return told


def _said(found: Deletions) -> str:
    """Return how much *found* is."""
    said = f"{plural(found.pages, 'page')} of {plural(found.versions, 'version')}, {size_text(found.bytes)}"
    if found.links or found.inlinks:
        said += f", and on other pages {plural(found.links, 'link')} and {plural(found.inlinks, 'link')} from them,"
    return said


def _complain_of(found: Deletions) -> None:
    if found.damaged:
        complain(f"{plural(found.damaged, 'row')} cannot be read")


def _delete_named(session: CommandSession, urls: Sequence[str], *, yes: bool) -> None:
    """Delete the pages with these *urls*, or with those that standard input has."""
    if not yes:
        check_can_ask("delete all the same")
    is_complete = True
    with session.open() as table:
        for url in urls:
            if url != "-":
                table.key.encode(url)  # a URL that is none stops it before the first page is gone
        if not yes:
            confirm(f"Delete {plural(len(urls), 'page')} from {table.name}?", otherwise=_NOTHING)
        for url in UrlFiles(["-"]) if list(urls) == ["-"] else urls:
            if table.delete(url):
                typer.echo(f"deleted\t{harmless(url)}")
            else:
                complain(f"{url}: not stored")
                is_complete = False
    if not is_complete:
        raise typer.Exit(NOT_DONE)

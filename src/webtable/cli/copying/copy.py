"""The command `copy`."""

from __future__ import annotations

import math
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final
from uuid import uuid4

import typer

import webtable
from webtable.cli.exit_codes import DONE, NOT_DONE, SIGNALLED, complain, exit_code, note, report_damage
from webtable.cli.messages import of_page
from webtable.cli.options import (
    CAN_CONTINUE,
    Compression,
    DigitsOption,
    DryRunOption,
    IndexesOption,
    NamesOption,
    OtherVersionsOption,
    RefreshOption,
    RegionsOption,
    SaltOption,
    TTLOption,
    WaitOption,
    WorkersOption,
    beside,
    layout_options,
    seconds_of,
)
from webtable.cli.session import CommandSession, import_indexes, naming, session, to_be_read
from webtable.cli.terminal.text import examples
from webtable.cli.terminal.waiting import when_there
from webtable.display import harmless
from webtable.display.text import plural
from webtable.errors import InvalidArgument, TableNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable import WebTable
    from webtable.cli.copying.run import CopyRun
    from webtable.maintenance import CopyCheck, LayoutOptions

commands: Final = typer.Typer()
_SHOWN_ERRORS = 5


class Verify(StrEnum):
    """How the two tables are compared at the end."""

    counts = "counts"
    full = "full"
    none = "none"


@commands.command(
    epilog=examples(
        "webtable copy crawl.db 'hbase://localhost:9090/crawl?thrift2=9091' --regions 16",
        "webtable copy crawl.db other.db --salt url --digits 3 --names short",
        "webtable copy crawl.db kept.db --ttl none --versions all --verify full",
        "webtable copy crawl.db copy.db --rate 500 --resume",
        "webtable copy crawl.db next.db --follow",
        "webtable copy crawl.db copy.db --workers 4",
    )
)
def copy(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SRC", help="The store to copy: a URL or a profile.")],
    target: Annotated[str, typer.Argument(metavar="DST", help="The store to copy into; created if it does not exist.")],
    salt: SaltOption = None,
    digits: DigitsOption = None,
    ttl: TTLOption = None,
    versions: OtherVersionsOption = None,
    names: NamesOption = None,
    compression: Annotated[Compression | None, typer.Option(help="Compression of bodies.")] = None,
    indexes: IndexesOption = None,
    regions: RegionsOption = 1,
    follow: Annotated[
        bool, typer.Option("--follow", help="Copy what is written to SRC meanwhile, until Ctrl-C; then once more.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep a journal beside DST, and continue where an earlier run stopped.")
    ] = False,
    rate: Annotated[
        float | None, typer.Option(metavar="PAGES", help="Read at most this many pages a second.", show_default=False)
    ] = None,
    verify: Annotated[
        Verify, typer.Option(help="Compare versions and digests at the end; full reads all bodies and links.")
    ] = Verify.counts,
    refresh: RefreshOption = True,
    wait: WaitOption = None,
    workers: WorkersOption = 1,
    dry_run: DryRunOption = False,
) -> None:
    """Copy a table into another one, with all versions, dates, links, counts of changes and deletes.

    It changes what a table otherwise keeps forever (salt, names, compression), moves a table from a file to HBase and
    back, and backs it up. A DST that does not exist is created like SRC, except for the options from --salt on; an
    existing one keeps its layout, and options that differ from it are refused.

    Copying again copies only what is new, so a run may be interrupted and repeated. Pages of which DST has other
    captures get those of SRC beside them. Both tables may be in use; what is written to SRC while it is compared at the
    end looks like a difference.

    With --dry-run the pages of both are compared, and what would be copied is reported; a missing DST is not created.

    Damaged pages of SRC are left out and named; the exit code is then 1, as it is if the comparison finds a difference.
    """
    from webtable.cli.copying.run import CopyRun
    from webtable.cli.terminal.progress import shown_progress
    from webtable.maintenance import copy_target

    given = layout_options(
        salt=salt, digits=digits, ttl=ttl, names=names, compression=compression, versions=versions, indexes=indexes
    )
    if rate is not None and not 0 < rate < math.inf:  # checked before a target is created
        raise InvalidArgument(f"rate={rate!r} must be a number of pages a second above 0")
    own = session(ctx).indexes
    there, here = CommandSession.named(source, own), CommandSession.named(target, own)
    import_indexes((*there.indexes, *here.indexes))
    if dry_run and (follow or resume):
        raise InvalidArgument("dry_run=True excludes follow=True and resume=True: it compares all pages once")
    journal = beside(here.store, "copy") if resume else None
    run = CopyRun(rate, follow, journal, dry_run=dry_run, workers=workers, wait=seconds_of(wait))
    patience = seconds_of(wait, 0)  # a store that has never answered may be a wrong name

    def opened_target(source: WebTable) -> WebTable:
        if dry_run:
            return _preview_target(source, here.store, given)
        return copy_target(source, here.store, regions=regions, **given)

    with ExitStack() as stack:
        naming(ctx, there)
        with to_be_read():
            table = stack.enter_context(when_there(lambda: webtable.open(there.store), patience))
        naming(ctx, here)
        other = stack.enter_context(when_there(lambda: opened_target(table), patience))
        with run.handling_interrupts(), shown_progress("copy", None, lambda: (0, run.now)):
            run.run(table, other)
            if run.ended_by is None and run.lost is None and not dry_run:
                run.conclude(table, other, refresh=refresh, verify=verify.value)
        code = _conclude(run, table.name, here.name if dry_run else other.name, here.command)
    raise typer.Exit(code)


def _preview_target(source: WebTable, store: str, given: LayoutOptions) -> WebTable:
    """Return the table in *store*, or an empty one in memory, as it would be created there."""
    from webtable.maintenance import copy_target

    try:
        return webtable.open(store, **given)
    except TableNotFound:
        return copy_target(source, f"memory:{uuid4().hex}", **given)


def _conclude(run: CopyRun, source: str, target: str, command: Callable[[str], str]) -> int:
    """Report the result and return the exit code."""
    last = run.last
    if last is not None:
        report_damage(last.examples, last.damaged)
        for error in last.errors[:_SHOWN_ERRORS]:
            note(f"not stored: {of_page(error, {}, command)}")
        if (more := last.hidden + last.failed - _SHOWN_ERRORS) > 0:
            note(f"not stored: … and {plural(more, 'more page')}")
    if run.check is not None and not run.check.is_sound:
        for url in run.check.examples[:_SHOWN_ERRORS]:
            complain(f"differs: {url}")
    typer.echo(harmless(_summary(run, source, target)))
    if run.ended_by:
        rest = "nothing was copied" if run.dry_run else "what was copied stays, the same command goes on"
        complain(f"interrupted: {rest}")
        return SIGNALLED + run.ended_by
    if run.lost is not None:
        rest = "continues from there" if run.journal else f"copies the rest; {CAN_CONTINUE}"
        complain(f"ended early, since a store is gone: {run.lost}; the same command {rest}")
        return exit_code(run.lost)
    is_whole = (last is None or last.is_whole) and (run.check is None or run.check.is_sound)
    return DONE if is_whole else NOT_DONE


def _summary(run: CopyRun, source: str, target: str) -> str:
    from webtable.ingest.report import rates

    written, last, done = run.written, run.last, "would be copied" if run.dry_run else "copied"
    parts = [
        f"{plural(written['pages'], 'page')} with {plural(written['versions'], 'version')} {done} from {source} to "
        f"{target} in {run.seconds:,.1f} s ({rates(written['pages'], written['bytes'], run.seconds)})"
    ]
    if run.passes > 1:
        parts.append(f"in {run.passes} passes")
    if last is not None and last.unchanged:
        parts.append(f"{last.unchanged:,} unchanged")
    if written["deleted"]:
        parts.append(f"{plural(written['deleted'], 'delete')} repeated")
    if last is not None and last.merged:
        parts.append(f"{last.merged:,} merged with captures that were there")
    if last is not None and (last.hidden or last.failed):
        parts.append(f"{last.hidden:,} deleted there since, {last.failed:,} not stored")
    if run.check is not None:
        parts.append(_compared(run.check))
    return "; ".join(parts)


def _compared(check: CopyCheck) -> str:
    text = f"compared {plural(check.pages, 'page')}"
    if check.is_sound:
        text += ": all are there"
    else:
        text += (
            f": {check.missing:,} missing, {check.different:,} different, {check.deleted:,} deleted in the source only"
        )
    also = [(check.own, "with captures of their own"), (check.extra, "in the target only")]
    return text + "".join(f", {count:,} {what}" for count, what in also if count)

"""The command `copy`."""

from __future__ import annotations

import math
import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final
from uuid import uuid4

import typer

import webtable
from webtable._clock import clock
from webtable._messages import message_of, text_of
from webtable._process_hooks import handling_signals
from webtable.cli import options
from webtable.cli.exit_codes import DONE, NOT_DONE, SIGNALLED, complain, exit_code, note, report_damage
from webtable.cli.output import documented
from webtable.cli.progress import when_there
from webtable.cli.session import CommandSession, import_indexes, naming, session, to_be_read
from webtable.display import harmless
from webtable.display.text import plural, size_text
from webtable.errors import InvalidArgument, StoreUnavailable, TableNotFound
from webtable.maintenance import Copied, CopyCheck, LayoutOptions, copy_target
from webtable.progress import ProgressBar
from webtable.store import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from webtable import WebTable


# --- The run: passes over the source until they are complete or interrupted -------------------------------------------


# How many seconds a copy that follows waits between two passes.
PAUSE = 1.0
# How many seconds a copy waits before it asks a store again that did not answer.
_PAUSE_AFTER_ERROR = 2.0


@dataclass
class CopyRun:
    """A run of `copy`: its counts, its passes and why it ended; with *follow* it makes passes until a signal comes."""

    rate: float | None = None
    follow: bool = False
    journal: Path | None = None
    dry_run: bool = False
    workers: int = 1
    wait: float = 600.0
    """How many seconds to wait for a store that does not answer, without any progress."""
    lost: StoreUnavailable | None = None
    """The error that ended it, if a store is gone."""
    passes: int = 0
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("pages", "versions", "bytes", "deleted"), 0))
    last: Copied | None = None
    """The result of the last pass."""
    check: CopyCheck | None = None
    ended_by: signal.Signals | None = None
    """The signal that interrupted it."""
    now: str = ""
    """Its present state, for a progress bar."""
    started: float = field(default_factory=lambda: clock.monotonic())
    _asked: signal.Signals | None = None
    _taken: Copied | None = None
    """The last result that is in `written`."""

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return max(clock.monotonic() - self.started, 1e-6)

    def run(self, source: WebTable, target: WebTable) -> None:
        """Copy in one pass; after a resumed pass, or after following, make another pass over everything."""
        copy = partial(source.maintenance.copy, target, dry_run=self.dry_run, rate=self.rate, workers=self.workers)
        with self._noting_end():
            # A resumed pass begins in the middle: what was written before its place meanwhile needs another one.
            if self._pass(copy).resumed:
                self._pass(copy)
            while self.follow and not self._asked:
                self._pause()
                self._pass(copy)
            # The last one takes what was written while the signal came.
            if self.follow:
                self._pass(copy)

    def run_once(self, copy: Callable[..., Copied]) -> None:
        """Call *copy* with a journal and a function for its progress, in one pass."""
        with self._noting_end():
            self._pass(copy)

    @contextmanager
    def _noting_end(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.ended_by = self._asked or signal.SIGINT
        except StoreUnavailable as exc:
            self.lost = exc

    def conclude(self, source: WebTable, target: WebTable, *, refresh: bool, verify: str) -> None:
        """Count the links of the target, and compare both tables, as requested."""
        try:
            if refresh and {"link", "host"} & target.indexes.states().keys():
                target.links.refresh(on_progress=self._progress("counting links"))
            if verify != "none":
                self.check = source.maintenance.check_copy(
                    target, full=verify == "full", on_progress=self._progress("comparing")
                )
        except KeyboardInterrupt:
            self.ended_by = self._asked or signal.SIGINT

    def handling_interrupts(self) -> AbstractContextManager[None]:
        """Let Ctrl-C, SIGTERM and SIGHUP end it after the pages that are being stored, and a second one at once.

        Where workers copy, the first one ends it at once: their parts are large, and may be copied again.
        """
        return handling_signals(self._interrupt)

    def _interrupt(self, number: signal.Signals) -> None:
        if not self.follow and (self._asked or self.workers > 1):
            self._asked = number
            if self.last is not None and self.last is not self._taken:
                self._take_last(self.last)
            raise KeyboardInterrupt
        # With --follow the first signal begins the last pass, and the second one ends it after the current pages.
        self.follow = self.follow and not self._asked
        self._asked = number

    def _pass(self, copy: Callable[..., Copied]) -> Copied:
        self.passes += 1
        with ExitStack() as stack:
            journal = self.journal
            if journal is None and not self.dry_run:  # for this pass alone, so that it continues where a store was gone
                journal = Path(stack.enter_context(TemporaryDirectory())) / "copy"
            done = self._repeated(partial(copy, resume=journal))
        self._take_last(done)
        return done

    def _repeated(self, copy: Callable[..., Copied]) -> Copied:
        """Call *copy*, again and again while a store does not answer, and return its result."""
        deadline = Deadline(self.wait)
        while True:
            before = self.last
            try:
                return copy(on_copied=self._take)
            except StoreUnavailable as exc:
                if self.last is not None and self.last is not before:
                    self._take_last(self.last)
                    deadline = Deadline(self.wait)
                if self._asked:
                    raise KeyboardInterrupt from exc
                if deadline.left() < _PAUSE_AFTER_ERROR:
                    raise
                self.now = f"waiting for a store: {exc}"
                if not sys.stderr.isatty():  # else the progress bar shows it
                    note(f"waiting up to {self.wait:g} s for a store: {exc}")
                clock.sleep(_PAUSE_AFTER_ERROR)

    def _take(self, copied: Copied) -> None:
        self._show(copied)
        self.last = copied
        if self._asked and not self.follow:
            self._take_last(copied)
            raise KeyboardInterrupt

    def _take_last(self, copied: Copied) -> None:
        self.last = self._taken = copied
        for name in self.written:
            self.written[name] += getattr(copied, name)

    def _show(self, copied: Copied) -> None:
        size = self.written["bytes"] + copied.bytes
        which = f"pass {self.passes}  " if self.passes > 1 else ""
        self.now = (
            f"{which}{plural(copied.looked_at, 'page')}  {copied.looked_at / self.seconds:,.0f} pages/s, "
            f"{size_text(size / self.seconds)}/s"
        )

    def _progress(self, what: str) -> Callable[[int], None]:
        def show(count: int) -> None:
            self.now = f"{what}: {count:,}"
            if self._asked and not self.follow:
                raise KeyboardInterrupt

        return show

    def _pause(self) -> None:
        end = clock.monotonic() + PAUSE
        while not self._asked and clock.monotonic() < end:
            clock.sleep(0.05)


# --- The command ------------------------------------------------------------------------------------------------------


commands: Final = typer.Typer()
_SHOWN_ERRORS = 5


class Verify(StrEnum):
    """How the two tables are compared at the end."""

    counts = "counts"
    full = "full"
    none = "none"


@documented(commands)
def copy(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SRC", help="The store to copy: a URL or a profile.")],
    target: Annotated[str, typer.Argument(metavar="DST", help="The store to copy into; created if it does not exist.")],
    salt: options.SaltOption = None,
    digits: options.DigitsOption = None,
    ttl: options.TTLOption = None,
    versions: options.OtherVersionsOption = None,
    names: options.NamesOption = None,
    compression: Annotated[options.Compression | None, typer.Option(help="Compression of bodies.")] = None,
    indexes: options.IndexesOption = None,
    regions: options.RegionsOption = 1,
    follow: Annotated[
        bool, typer.Option("--follow", help="Copy what is written to SRC meanwhile, until Ctrl-C; then once more.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep a journal beside DST, and continue where an earlier run stopped.")
    ] = False,
    rate: Annotated[float | None, typer.Option(metavar="PAGES", help="Read at most this many pages a second.")] = None,
    verify: Annotated[
        Verify, typer.Option(help="Compare versions and digests at the end; full reads all bodies and links.")
    ] = Verify.counts,
    refresh: options.RefreshOption = True,
    wait: options.WaitOption = None,
    workers: options.WorkersOption = 1,
    dry_run: options.DryRunOption = False,
) -> None:
    """Copy a table into another one, with all versions, dates, links, counts of changes and deletes.

    Use it to change the salt, names or compression, or to move between a file and HBase. A missing DST is created
    like SRC, except for the options from --salt on; an existing one keeps its layout, and other options are refused.

    You may interrupt it and run it again, and both tables may be in use: only what is new is copied, beside the
    captures that DST has. What is written to SRC during the comparison at the end looks like a difference.

    Damaged pages of SRC are skipped and named; the exit code is then 1, as it is after a difference. --dry-run
    reports what would be copied, and creates nothing.

    Examples:
        webtable copy crawl.db 'hbase://localhost:9090/crawl?thrift2=9091' --regions 16
        webtable copy crawl.db other.db --salt url --digits 3 --names short
        webtable copy crawl.db kept.db --ttl none --versions all --verify full
        webtable copy crawl.db copy.db --rate 500 --resume
        webtable copy crawl.db next.db --follow
        webtable copy crawl.db copy.db --workers 4
    """
    layout = options.layout_options(
        salt=salt, digits=digits, ttl=ttl, names=names, compression=compression, versions=versions, indexes=indexes
    )
    if rate is not None and not 0 < rate < math.inf:  # checked before a target is created
        raise InvalidArgument(f"rate={rate!r} must be a number of pages a second above 0")
    own = session(ctx).indexes
    there, here = CommandSession.named(source, own), CommandSession.named(target, own)
    import_indexes((*there.indexes, *here.indexes))
    if dry_run and (follow or resume):
        raise InvalidArgument("--dry-run excludes --follow and --resume: it compares all pages once")
    journal = options.beside(here.store, "copy") if resume else None
    run = CopyRun(rate, follow, journal, dry_run=dry_run, workers=workers, wait=options.seconds_of(wait))
    patience = options.seconds_of(wait, 0)  # a store that has never answered may be a wrong name

    def opened_target(source: WebTable) -> WebTable:
        if dry_run:
            return _preview_target(source, here.store, layout)
        return copy_target(source, here.store, regions=regions, **layout)

    with ExitStack() as stack:
        # An error of either store names the commands for that store.
        naming(ctx, there)
        with to_be_read():
            table = stack.enter_context(when_there(lambda: webtable.open(there.store), patience))
        naming(ctx, here)
        other = stack.enter_context(when_there(lambda: opened_target(table), patience))
        with run.handling_interrupts(), ProgressBar("copy", state=lambda: (0, run.now)):
            run.run(table, other)
            if run.ended_by is None and run.lost is None and not dry_run:
                run.conclude(table, other, refresh=refresh, verify=verify.value)
        code = conclude(run, table.name, here.name if dry_run else other.name, here.command)
    raise typer.Exit(code)


def _preview_target(source: WebTable, store: str, layout: LayoutOptions) -> WebTable:
    """Return the table in *store*, or an empty one in memory, as it would be created there."""
    try:
        return webtable.open(store, **layout)
    except TableNotFound:
        return copy_target(source, f"memory:{uuid4().hex}", **layout)


def conclude(run: CopyRun, source: str, target: str, command: Callable[[str], str]) -> int:
    """Report the result and return the exit code."""
    last = run.last
    if last is not None:
        report_damage(last.examples, last.damaged)
        for error in last.errors[:_SHOWN_ERRORS]:
            note(f"not stored: {text_of(message_of(error), command)}")
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
        rest = "continues from there" if run.journal else f"copies the rest; {options.CAN_CONTINUE}"
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

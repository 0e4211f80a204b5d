"""The commands that maintain a table: `verify`, `compact`, which frees space, and `links`, which counts links."""

from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from webtable import doctor as diagnosed
from webtable._clock import clock
from webtable._files import atomic_file
from webtable._messages import text_of
from webtable.cli import output
from webtable.cli.exit_codes import NOT_DONE, complain, note, one_line, report_damage, report_findings
from webtable.cli.indexes import IndexLine, index_lines
from webtable.cli.messages import why_empty
from webtable.cli.options import CAN_CONTINUE, DryRunOption, ResumeOption, SiteArgument, YesOption, resuming, site_of
from webtable.cli.progress import confirm, pages_of
from webtable.cli.session import CommandSession, import_indexes, naming, session
from webtable.display import harmless
from webtable.display.text import plural, size_text
from webtable.errors import LayoutMismatch, WebTableError
from webtable.maintenance import Check, Progress, TableSummary, checks, table_summary
from webtable.metrics import Exposed, gauge_families, prometheus
from webtable.progress import progress_bar
from webtable.questions import column
from webtable.records import compact as compact_records
from webtable.records import layout_of
from webtable.rowkey import key_text
from webtable.schema import FAMILY_OPTIONS, KeyLayout, Layout, versions_text
from webtable.store import Store, StoreURL, open_store, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prometheus_client.core import Metric

    from webtable import WebTable


# --- `info` -----------------------------------------------------------------------------------------------------------


commands: Final = typer.Typer()

_SHOWN_REGIONS = 20
_SIZES = ("stored", "unpacked", "bytes", "free")
_HELD = ("pages", "captures", "stored", "unpacked", "hosts", "oldest", "newest", "as_of", "waiting")


@output.documented(commands)
def info(
    ctx: typer.Context,
    count: Annotated[
        bool,
        typer.Option(
            "--count", help="Read the whole table and count what it holds. Default: what the counts of its hosts say."
        ),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Show the regions, and the families with all their options.")
    ] = False,
    format: output.FactsOption = None,
) -> None:
    """Show what the table holds, its layout and its indexes; with --schema its families and regions as well.

    With the host index, the counts are exact as of the last `links refresh`. --count reads everything and counts now.
    The free space of a file is what `compact` frees at least; HBase does not report its sizes.

    The field "what" of each line of JSON says which fields it has: "table" (name), "summary" (pages, captures, stored
    and unpacked, the bytes of all bodies as they are stored and of the newest of each page as it was crawled, hosts,
    oldest, newest, as_of, the refresh that pages, hosts and unpacked date from, and waiting, how many rows have changed
    since; both are null if they date from no refresh, and all others if they are unknown), "space" (bytes,
    free), "layout" (format, key, salt, digits, suffix_list, names, compression, digest, plain_columns, versions, ttl in
    seconds, family_options), "index" (name, phase, of), "family" (name and its options; ttl in seconds) and "region"
    (start, stop, server; keys as the HBase shell shows them). For a table of rows under a declared key, "layout" has
    format and key, and there are no summary and no indexes.

    Examples:
        webtable info
        webtable info --format jsonl | jq 'select(.what == "index")'
        webtable info --count
        webtable -s hbase://localhost:9090/crawl?thrift2=9091 info --schema | grep region
    """
    this = session(ctx)
    facts, held = _facts_of(this, count=count, schema=schema)
    if format == output.FactsFormat.jsonl:
        for fact in facts:
            output.write_json(fact)
    elif format == output.FactsFormat.table or (format is None and output.on_terminal()):
        _show(facts)
    else:
        output.write_lines(line for fact in facts for line in _lines_of(fact, _text))
    _report_what_is_missing(held, this)
    if count and held is not None and held.damaged:
        raise typer.Exit(NOT_DONE)


def _facts_of(this: CommandSession, *, count: bool, schema: bool) -> tuple[list[dict[str, Any]], TableSummary | None]:
    """Return the facts about a table, as they are in JSON, and what the table holds."""
    try:
        with this.open() as table:
            with progress_bar("info", "page") as counting:
                held = table_summary(table, count=count, on_progress=counting)
            indexes = index_lines(table, this.command)
            facts = _facts(table.store, table.table, table.name, table.layout, held, indexes, schema=schema)
            return list(facts), held
    except LayoutMismatch:  # perhaps rows under a declared key, which are no web table
        store, name = open_store(this.store)
        with closing(store):
            layout = layout_of(store, name)
            if layout is None:
                raise
            return list(_facts(store, name, f"{store.name}/{name}", layout, None, (), schema=schema)), None


def _facts(
    store: Store,
    table: str,
    name: str,
    layout: Layout | KeyLayout,
    held: TableSummary | None,
    indexes: Sequence[IndexLine],
    *,
    schema: bool,
) -> Iterator[dict[str, Any]]:
    yield {"what": "table", "name": name}
    if held is not None:
        yield {"what": "summary", **{name: getattr(held, name) for name in _HELD}}
    if (space := store.space()) is not None:
        yield {"what": "space", "bytes": space.bytes, "free": space.free}
    fields = [name for name in layout.__struct_fields__ if name != "kind"]
    yield {"what": "layout", **{name: getattr(layout, name) for name in fields}}
    for line in indexes:
        yield {"what": "index", "name": line.name, "phase": line.phase, "of": line.of or None}
    if not schema:
        return
    for family in store.describe(table).schema.families:
        options = {option: getattr(family, option) for option in FAMILY_OPTIONS}
        yield {"what": "family", "name": family.name, **options}
    for region in store.regions(table):
        keys = key_text(region.keys.start), key_text(region.keys.stop)
        yield {"what": "region", "start": keys[0], "stop": keys[1], "server": region.server}


def _report_what_is_missing(held: TableSummary | None, this: CommandSession) -> None:
    """Report what waits to be counted, and how many rows were left out."""
    if held is None:
        return
    if held.pending:
        note(f"{held.pending}; run `{this.command('links refresh')}`")
    if held.pages is None:
        note(f"its pages are not counted: `{this.command('info --count')}` reads and counts all of them")
    report_damage((), held.damaged)


def _lines_of(fact: dict[str, Any], text_of: Callable[[str, object], str]) -> Iterator[Sequence[object]]:
    """Yield the lines of a fact, for programs that do not read JSON, and for people."""
    (_, what), *fields = fact.items()
    match what, [value for _, value in fields]:
        case "table" | "region", values:
            yield what, *values
        case "index", [name, *others]:
            yield f"index.{name}", *filter(None, others)
        case "family", [name, *_]:
            for option, value in fields[1:]:
                yield f"family.{name}.{option}", text_of(option, value)
        case _:
            for name, value in fields:
                yield f"{what}.{name}", text_of(name, value)


def _text(name: str, value: object) -> str:
    match name, value:
        case "ttl", int():
            return f"{value} ({value / 86_400:g} days)"
        case "versions", int():
            return versions_text(value)
        case _, None | () | {}:
            return "none"
        case _, datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case _, tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _show(facts: Sequence[dict[str, Any]]) -> None:
    """Show a table to people: without what is unknown, and of many regions some."""
    from rich.text import Text

    target, shown = output.console(), output.new_table()
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    regions = [fact for fact in facts if fact["what"] == "region"]
    for fact in facts:
        if fact["what"] == "region" and fact in regions[_SHOWN_REGIONS:]:
            continue
        for name, *values in _lines_of({name: value for name, value in fact.items() if value is not None}, _for_people):
            shown.add_row(str(name), Text(harmless("  ".join(str(value) or "–" for value in values))))
    target.print(shown)
    if len(regions) > _SHOWN_REGIONS:
        target.print(f"… and {len(regions) - _SHOWN_REGIONS:,} more regions; in a pipe all of them are shown")


def _for_people(name: str, value: object) -> str:
    """Return an amount in a unit, or with separators."""
    if isinstance(value, int) and name in _SIZES:
        return size_text(value)
    return f"{value:,}" if type(value) is int and name in _HELD else _text(name, value)


# --- `doctor` and `metrics` -------------------------------------------------------------------------------------------


# How long the checks may take together, as by default in Python.
_SECONDS = 30.0
_MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "failed": ("FAILED", "red")}


@output.documented(commands)
def doctor(
    ctx: typer.Context,
    store: Annotated[
        str | None, typer.Argument(metavar="STORE", help="The store, if not that of -s: a URL, a file, or a profile.")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Compare the bodies of 1,000 pages with their digests as well.")
    ] = False,
    all_bodies: Annotated[bool, typer.Option("--all-bodies", help="The same with the bodies of all pages.")] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long all checks may take together.")
    ] = _SECONDS,
    format: output.FactsOption = None,
) -> None:
    """Check the store and the table: what works, what will cause trouble, what is broken, and what to do about it.

    If the table cannot be opened, it says why. Nothing is changed. A check is "ok", a "warning" (it works, but will
    cause trouble) or "failed"; the exit code is 1 if one has failed, else 0.

    Each line of JSON has the fields "check" (what was looked at: store, gateway, connections, clock, integrity, log,
    disk, permissions, file-system, processes, layout, tables, families, regions, splits, indexes, freshness, rows,
    dates, digests, revisits; that of a gateway with its address), "state", "finding" and "fix" (null if it is ok).

    Examples:
        webtable doctor
        webtable doctor crawl.db --deep
        webtable -s hbase://localhost:9090/crawl?thrift2=9091 doctor --format jsonl | jq 'select(.state != "ok")'
    """
    this = naming(ctx, session(ctx).of(store))
    import_indexes(this.indexes)
    # Each check is written when it is made: the store may hang at the next one.
    chosen = format or (output.FactsFormat.table if output.on_terminal() else output.FactsFormat.lines)
    has_failed = False
    with closing(_Progress()) as progress:
        for check in checks(this.store, deep=deep, all_bodies=all_bodies, timeout=timeout, on_progress=progress):
            progress.close()
            _write(check, this.command, chosen)
            has_failed |= check.state == "failed"
    if has_failed:
        raise typer.Exit(NOT_DONE)


class _Progress:
    """A progress bar from the first count until the next line is written."""

    def __init__(self) -> None:
        self._shown = ExitStack()
        self._counted: Progress | None = None

    def __call__(self, pages: int) -> None:
        self._counted = self._counted or self._shown.enter_context(progress_bar("doctor", "page"))
        self._counted(pages)

    def close(self) -> None:
        """Remove the bar."""
        self._shown.close()
        self._counted = None


def _write(check: Check, command: Callable[[str], str], chosen: output.FactsFormat) -> None:
    """Write a check: each text on one line, with commands that can be typed."""
    finding, fix = (one_line(text_of(text, command)) for text in (check.finding, check.fix))
    if chosen == output.FactsFormat.jsonl:
        output.write_json({"check": check.check, "state": check.state, "finding": finding, "fix": fix or None})
    elif chosen == output.FactsFormat.lines:
        output.write_lines([(check.state, check.check, finding, fix)])
    else:
        mark, color = _MARKS[check.state]
        typer.echo(typer.style(f"{mark:8}", fg=color) + f"{harmless(check.check)}: {finding}")
        if fix:
            typer.echo(f"{'':8}→ {fix}")
    sys.stdout.flush()


_OF_OPENING = frozenset({"store", "layout", "tables", "cluster"})
_STATES = {"ok": 0, "warning": 1, "failed": 2}
_HOLDINGS_HELP = {
    "pages": "Pages, as of the last refresh of links.",
    "unpacked": "Bytes of the newest body of each page as it was crawled, as of the last refresh of links.",
    "hosts": "Hosts that have pages, as of the last refresh of links.",
}


@output.documented(commands)
def metrics(
    ctx: typer.Context,
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write FILE, as a whole, for node_exporter's textfile collector."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long the checks of the doctor may take.")
    ] = _SECONDS,
) -> None:
    """Write the state of the store and what its table holds for Prometheus: checks of `doctor`, counts of `info`.

    If the store is unreachable, webtable_up is 0 and the checks say why; the exit code is then 1. Run it by cron, with
    --textfile for node_exporter. A program exposes its own use of a table: see docs/operating.md.

    Examples:
        webtable metrics | grep webtable_check_state
        webtable metrics --textfile webtable.prom
    """
    this = session(ctx)
    import_indexes(this.indexes)
    client = prometheus()
    registry = client.CollectorRegistry()
    gauges = _Gauges(this, timeout)
    registry.register(gauges)
    if textfile is None:
        output.write_bytes(client.generate_latest(registry))
    else:
        with atomic_file(textfile) as part:
            part.write_bytes(client.generate_latest(registry))
    if not gauges.is_up:
        raise typer.Exit(NOT_DONE)


class _Gauges:
    """Checks the store once, and provides the findings as metrics."""

    def __init__(self, this: CommandSession, timeout: float) -> None:
        checks = diagnosed(this.store, timeout=timeout).checks
        self._name, self._found = _name(this.store), [*_of_checks(checks)]
        # A store that cannot be opened is a value to alert on (0), no error of the exporter.
        self.is_up = not any(
            check.state == "failed" and (check.check in _OF_OPENING or check.check.startswith("gateway "))
            for check in checks
        )
        if self.is_up:
            try:
                with this.open() as table:
                    self._found += _of_table(table)
            except LayoutMismatch:  # rows under a declared key, of which nothing more is known
                pass
            except WebTableError:
                self.is_up = False
        self._found.append(Exposed.of("up", "Whether the table can be opened.", self.is_up))

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        return gauge_families(self._name, self._found)


def _name(url: str) -> str:
    """Return the name of the table at *url*, as an open table has it, even if the store is unreachable."""
    table, (place, _, _) = table_of(url), StoreURL.parse(url).typed.partition("?")
    return f"{place.removeprefix('sqlite:').removesuffix(f'/{table}').rstrip('/')}/{table}"


def _of_checks(checks: tuple[Check, ...]) -> Iterator[Exposed]:
    # A check may come more than once, as of two gateways; Prometheus takes a label once.
    worst: dict[str, int] = defaultdict(int)
    for check in checks:
        worst[check.check] = max(worst[check.check], _STATES[check.state])
    text = "What the doctor finds: 0 ok, 1 a warning, 2 failed."
    yield Exposed("check_state", text, ("check",), [((name,), state) for name, state in worst.items()])


def _of_table(table: WebTable) -> Iterator[Exposed]:
    yield from _of_summary(table_summary(table))
    freshness = table.links.freshness()
    yield Exposed.of("queue_batches", "Batches whose links and hosts are not counted yet.", freshness.waiting)
    if freshness.since is not None:
        text = "Since when the oldest of them waits."
        yield Exposed.of("queue_oldest_timestamp_seconds", text, freshness.since.timestamp())
    ready = [((name,), state.phase == "ready") for name, state in table.indexes.states().items()]
    yield Exposed("index_ready", "Whether an index is complete.", ("index",), ready)
    yield from _of_full_text(table)
    space = table.store.space()
    if space is not None:
        yield Exposed.of("store_bytes", "The size of the file.", space.bytes)
        yield Exposed.of("store_free_bytes", "How much of it compact would give back now.", space.free)


def _of_full_text(table: WebTable) -> Iterator[Exposed]:
    try:
        text_index = table.search_index.state()
    except WebTableError:  # a directory that is damaged, or tantivy is not installed here
        yield Exposed.of("full_text_ready", "Whether full text is complete.", False)
        return
    if text_index is not None:
        yield Exposed.of("full_text_ready", "Whether full text is complete.", text_index.is_complete)
        yield Exposed.of("full_text_bytes", "How much space it takes.", text_index.bytes)
        as_of = text_index.as_of or clock.now()
        yield Exposed.of("full_text_timestamp_seconds", "Up to when captures are in it.", as_of.timestamp())


def _of_summary(summary: TableSummary) -> Iterator[Exposed]:
    for name, text in _HOLDINGS_HELP.items():
        if (value := getattr(summary, name)) is not None:
            yield Exposed.of(f"{name}_bytes" if name == "unpacked" else name, text, value)
    if summary.waiting is not None:
        yield Exposed.of("queue_rows", "Pages that have changed since then and are not counted yet.", summary.waiting)
    if summary.newest is not None:
        text = "When the newest page was fetched."
        yield Exposed.of("newest_page_timestamp_seconds", text, summary.newest.timestamp())


# --- `verify`, `compact` and `links` ----------------------------------------------------------------------------------


links: Final = typer.Typer(help="Count the links that lead to pages.", no_args_is_help=False)

_FOUND = (
    column("pages", "count"),
    column("bodies", "count"),
    column("bytes", "bytes", heading="size"),
    *(column(name, "count") for name in ("damaged", "lost", "missing", "inconsistent")),
)


@output.documented(commands)
def verify(
    ctx: typer.Context,
    site: SiteArgument = None,
    resume: ResumeOption = False,
    format: output.FormatOption = None,
) -> None:
    """Read all pages with their bodies and compare them with their checksums, digests and sizes; nothing is changed.

    It counts damaged rows, pages whose body or links are lost, pages missing since `links refresh` has counted their
    host, and pages whose newest capture disagrees with their history (`index repair` repairs those). The first of
    each are named on standard error, and the exit code is 1. Storing a newer capture of a page repairs it, and so
    does deleting it.

    Examples:
        webtable verify example.com
        webtable -s crawl.db verify all --resume
    """
    this = session(ctx)
    with (
        this.open() as table,
        resuming(this, "verify", resume=resume) as path,
        progress_bar("verify", "page", pages_of(table, site_of(site))) as counted,
    ):
        try:
            verification = table.maintenance.verify(site_of(site), on_progress=counted, resume=path)
        except KeyboardInterrupt as exc:
            rest = "" if resume else f"; {CAN_CONTINUE}"
            exc.add_note(f"at least {plural(counted.so_far, 'page')} compared{rest}")
            raise
        nothing = why_empty(table, site) if verification.is_sound and not verification.pages else ""
    output.write_records([verification], _FOUND, format)
    report_findings(verification)
    if verification.inconsistent:
        which = f"{plural(verification.inconsistent, 'page')} whose newest capture disagrees with the history"
        note(f"{which}; to repair them: {this.command('index repair --all')}")
    if nothing:
        complain(nothing)
    if nothing or not verification.is_sound:
        raise typer.Exit(NOT_DONE)


@output.documented(commands)
def compact(
    ctx: typer.Context,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget-deletes",
            help="On HBase, after its shell has compacted the tables: accept captures again "
            "that are older than the delete of their page. Nothing else is done.",
        ),
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Free the space of data that was deleted, was replaced or has expired.

    The file is rewritten, which temporarily takes as much space again; writers wait. Deletes are forgotten, so older
    captures can be stored again.

    HBase compacts by itself; to do it now, run the lines in the error in its shell. Use --forget-deletes only after
    HBase has compacted: before, HBase would hide what you store. It asks in a terminal; elsewhere it needs --yes.

    Examples:
        webtable compact
        webtable -s old.db compact
        webtable compact --forget-deletes
    """
    this = session(ctx)
    if forget:
        with this.open() as table:
            question = (
                f"Forget the deletes of {table.name}? If the store was not compacted after the last delete, it hides "
                "captures that are stored from now on."
            )
            confirm("forget deletes", question, yes=yes or dry_run)
            forgotten = plural(table.maintenance.forget_deletes(dry_run=dry_run), "page")
        typer.echo(f"the deletes of {forgotten} {'would be forgotten' if dry_run else 'forgotten'}")
        return
    freed = _compacted(this, dry_run=dry_run)
    if dry_run:
        typer.echo(f"{size_text(freed)} are free already, besides what was deleted or has expired")
        return
    typer.echo(f"{size_text(freed)} freed" if freed > 0 else "there was nothing to free")


def _compacted(this: CommandSession, *, dry_run: bool) -> int:
    try:
        with this.open() as table:
            return table.maintenance.compact(dry_run=dry_run)
    except LayoutMismatch:
        store, name = open_store(this.store)
        with store:
            if layout_of(store, name) is None:
                raise
            return compact_records(store, name, dry_run=dry_run)


@output.documented(links)
def refresh(
    ctx: typer.Context,
    also_unfinished: Annotated[
        bool, typer.Option("--also-unfinished", help="Do not wait ten minutes for a writer that did not finish.")
    ] = False,
) -> None:
    """Count the links to those pages that were linked or unlinked since the last run, and the pages of their hosts.

    It may run at any time, even while others write, and again after an interruption; `ingest` does it at its end.

    Examples:
        webtable links refresh
        webtable -s crawl.db links refresh --also-unfinished
    """
    with session(ctx).open() as table, progress_bar("links refresh", "page") as counted:
        done = table.links.refresh(on_progress=counted, also_unfinished=also_unfinished)
    report_damage((), done.damaged)
    if not done.batches:
        typer.echo("nothing to count")
        return
    typer.echo(
        f"{plural(done.pages, 'page')} and {plural(done.hosts, 'host')} counted, for "
        f"{plural(done.batches, 'batch', 'es')} that waited"
    )
    if done.damaged:
        raise typer.Exit(NOT_DONE)


@output.documented(links)
def status(ctx: typer.Context) -> None:
    """Show how many batches of pages wait to have their links counted, and since when.

    Examples:
        webtable links status
        webtable -s crawl.db links status
    """
    with session(ctx).open() as table:
        waiting, since = table.links.freshness()
    if not output.on_terminal():
        output.write_lines([("waiting", waiting), *([("since", since)] if since else [])])
    elif since:
        typer.echo(f"{plural(waiting, 'batch', 'es')} waiting since {since:%Y-%m-%d %H:%M} UTC")
    else:
        typer.echo("up to date")

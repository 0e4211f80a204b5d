"""The commands that report the state of a store: `doctor` to people, `metrics` to Prometheus."""

from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable import doctor as diagnosed
from webtable._clock import clock
from webtable._files import atomic_file
from webtable._messages import text_of
from webtable.cli.exit_codes import NOT_DONE, one_line
from webtable.cli.session import import_indexes, naming, session
from webtable.cli.terminal.output import FactsFormat, examples, on_terminal, write_bytes, write_json, write_lines
from webtable.display import harmless
from webtable.errors import LayoutMismatch, WebTableError
from webtable.maintenance import checks, holdings
from webtable.metrics import Exposed, gauge_families, prometheus
from webtable.progress import progress_bar
from webtable.store import StoreURL, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from webtable import WebTable
    from webtable.cli.session import CommandSession
    from webtable.maintenance import Check, Holdings, Progress

commands: Final = typer.Typer()

_SECONDS = 30.0
"""How long the checks may take together, as by default in Python."""
_MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "failed": ("FAILED", "red")}


@commands.command(
    epilog=examples(
        "webtable doctor",
        "webtable doctor crawl.db --deep",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 doctor --format jsonl | jq 'select(.state != \"ok\")'",
    )
)
def doctor(
    ctx: typer.Context,
    store: Annotated[
        str | None,
        typer.Argument(
            metavar="STORE", help="The store, if not that of -s: a URL, a file, or a profile.", show_default=False
        ),
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Compare the bodies of 1,000 pages with their digests as well.")
    ] = False,
    all_bodies: Annotated[bool, typer.Option("--all-bodies", help="The same with the bodies of all pages.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long all checks may take together.")
    ] = _SECONDS,
    format: Annotated[  # noqa: A002
        FactsFormat | None,
        typer.Option(
            "--format",
            help="As lines with their remedies below them, tab-separated lines, or a JSON object a line. "
            "Default: the first on a terminal, the second in a pipe.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check the store and the table: what works, what will cause trouble, what is broken, and what to do about it.

    If the table cannot be opened, it says why. Nothing is changed. A check is "ok", a "warning" (it works, but will
    cause trouble) or "failed"; the exit code is 1 if one has failed, else 0.

    Each line of JSON has the fields "check" (what was looked at: store, gateway, connections, clock, integrity, log,
    disk, permissions, file-system, processes, layout, tables, families, regions, splits, indexes, freshness, rows,
    dates, digests, revisits; that of a gateway with its address), "state", "found" and "remedy" (null if it is ok).
    """
    this = naming(ctx, session(ctx).of(store))
    import_indexes(this.indexes)
    chosen = format or (FactsFormat.table if on_terminal() else FactsFormat.lines)
    has_failed = False
    with closing(_Progress()) as progress:
        for check in checks(this.store, deep=deep, all_bodies=all_bodies, timeout=timeout, on_progress=progress):
            progress.close()
            _write(_CheckLine(check, this.command), chosen)
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


class _CheckLine:
    """A check as it is shown: each text on one line, with commands that can be typed."""

    def __init__(self, check: Check, command: Callable[[str], str]) -> None:
        self.check, self.state = check.check, check.state
        self.found, self.remedy = (one_line(text_of(text, command)) for text in (check.found, check.remedy))


def _write(line: _CheckLine, chosen: FactsFormat) -> None:
    if chosen == FactsFormat.jsonl:
        fields = {"check": line.check, "state": line.state, "found": line.found, "remedy": line.remedy or None}
        write_json(fields)
    elif chosen == FactsFormat.lines:
        write_lines([(line.state, line.check, line.found, line.remedy)])
    else:
        mark, color = _MARKS[line.state]
        typer.echo(typer.style(f"{mark:8}", fg=color) + f"{harmless(line.check)}: {line.found}")
        if line.remedy:
            typer.echo(f"{'':8}→ {line.remedy}")
    sys.stdout.flush()


_STATES = {"ok": 0, "warning": 1, "failed": 2}
_HELD = {
    "pages": "Pages, as of the last refresh of links.",
    "unpacked": "Bytes of the newest body of each page as it was crawled, as of the last refresh of links.",
    "hosts": "Hosts that have pages, as of the last refresh of links.",
}


@commands.command(
    epilog=examples(
        "webtable metrics | grep webtable_check_state",
        "webtable metrics --textfile webtable.prom",
    )
)
def metrics(
    ctx: typer.Context,
    textfile: Annotated[
        Path | None,
        typer.Option(
            "--textfile", metavar="FILE", help="Write FILE, as a whole, for node_exporter's textfile collector."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long the checks of the doctor may take.")
    ] = _SECONDS,
) -> None:
    """Write the state of the store and what its table holds for Prometheus: checks of `doctor`, counts of `info`.

    If the store is unreachable, webtable_up is 0 and the checks say why; the exit code is then 1. Run it by cron, with
    --textfile for node_exporter. A program exposes its own use of a table: see docs/operating.md.
    """
    this = session(ctx)
    import_indexes(this.indexes)
    client = prometheus()
    registry = client.CollectorRegistry()
    gauges = _Gauges(this, timeout)
    registry.register(gauges)
    if textfile is None:
        write_bytes(client.generate_latest(registry))
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
        self.is_up = not any(_keeps_from_opening(one) for one in checks)
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


def _keeps_from_opening(check: Check) -> bool:
    is_of_opening = check.check in {"store", "layout", "tables", "cluster"} or check.check.startswith("gateway ")
    return is_of_opening and check.state == "failed"


def _of_checks(checks: tuple[Check, ...]) -> Iterator[Exposed]:
    worst: dict[str, int] = defaultdict(int)
    for check in checks:
        worst[check.check] = max(worst[check.check], _STATES[check.state])
    text = "What the doctor finds: 0 ok, 1 a warning, 2 failed."
    yield Exposed("check_state", text, ("check",), [((name,), state) for name, state in worst.items()])


def _of_table(table: WebTable) -> Iterator[Exposed]:
    yield from _of_holdings(holdings(table))
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
        found = table.search_index.state()
    except WebTableError:  # a directory that is damaged, or tantivy is not installed here
        yield Exposed.of("full_text_ready", "Whether full text is complete.", False)
        return
    if found is not None:
        yield Exposed.of("full_text_ready", "Whether full text is complete.", found.is_complete)
        yield Exposed.of("full_text_bytes", "How much space it takes.", found.bytes)
        as_of = found.as_of or clock.now()
        yield Exposed.of("full_text_timestamp_seconds", "Up to when captures are in it.", as_of.timestamp())


def _of_holdings(found: Holdings) -> Iterator[Exposed]:
    for name, text in _HELD.items():
        if (value := getattr(found, name)) is not None:
            yield Exposed.of(f"{name}_bytes" if name == "unpacked" else name, text, value)
    if found.waiting is not None:
        yield Exposed.of("queue_rows", "Pages that have changed since then and are not counted yet.", found.waiting)
    if found.newest is not None:
        text = "When the newest page was fetched."
        yield Exposed.of("newest_page_timestamp_seconds", text, found.newest.timestamp())

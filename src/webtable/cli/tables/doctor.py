"""The command `doctor`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated

import typer

from webtable._progress import progress_bar
from webtable._shown import harmless
from webtable.cli.exit_codes import NOT_DONE, one_line
from webtable.cli.messages import in_commands
from webtable.cli.session import import_indexes, session
from webtable.cli.terminal.output import ToldFormat, on_terminal, write_json, write_lines
from webtable.cli.terminal.text import examples
from webtable.repository.diagnosis.doctor import SECONDS, checks

if TYPE_CHECKING:
    from webtable.repository.arguments import Progress
    from webtable.store.health import Check

commands = typer.Typer()

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
    full_scan: Annotated[bool, typer.Option("--full-scan", help="The same with the bodies of all pages.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long all of it may take.")
    ] = SECONDS,
    format: Annotated[  # noqa: A002
        ToldFormat | None,
        typer.Option(
            "--format",
            help="As lines with their remedies below them, tab-separated lines, or a JSON object a line. "
            "Default: the first on a terminal, the second in a pipe.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Look at the store and the table: what is well, what will be trouble, what is broken, and what to do about it.

    It works where the table cannot be opened: then it says why. Nothing is changed. A check is "ok", a "warning" (it
    works, and will be trouble) or "failed"; the exit code is 1 where one has failed, else 0.

    Each line of JSON has the fields "check" (what was looked at: store, gateway, connections, clock, integrity, log,
    disk, permissions, file-system, processes, layout, tables, families, regions, splits, indexes, freshness, rows,
    dates, digests; behind that of a gateway its address), "state", "found" and "remedy" (null where it is ok).
    """
    this = session(ctx).of(store)
    import_indexes(this.indexes)
    chosen = format or (ToldFormat.table if on_terminal() else ToldFormat.lines)
    has_failed = False
    with closing(_Progress()) as progress:
        for check in checks(this.store, deep=deep, full_scan=full_scan, timeout=timeout, on_progress=progress):
            progress.close()
            _write(_Line(check, this.command("")), chosen)
            has_failed |= check.state == "failed"
    if has_failed:
        raise typer.Exit(NOT_DONE)


class _Progress:
    """A bar from when there is something to count, until the next line is written."""

    def __init__(self) -> None:
        self._shown = ExitStack()
        self._told: Progress | None = None

    def __call__(self, pages: int) -> None:
        self._told = self._told or self._shown.enter_context(progress_bar("doctor", "page"))
        self._told(pages)

    def close(self) -> None:
        """Take the bar away."""
        self._shown.close()
        self._told = None


class _Line:
    """A check as it is told: on one line each, with commands that can be typed."""

    def __init__(self, check: Check, command: str) -> None:
        self.check, self.state = check.check, check.state
        self.found, self.remedy = (
            one_line(in_commands(text, command)).replace("(timeout=)", "(--timeout)")
            for text in (check.found, check.remedy)
        )


def _write(line: _Line, chosen: ToldFormat) -> None:
    if chosen == ToldFormat.jsonl:
        fields = {"check": line.check, "state": line.state, "found": line.found, "remedy": line.remedy or None}
        write_json(fields)
    elif chosen == ToldFormat.lines:
        write_lines([(line.state, line.check, line.found, line.remedy)])
    else:
        mark, color = _MARKS[line.state]
        typer.echo(typer.style(f"{mark:8}", fg=color) + f"{harmless(line.check)}: {line.found}")
        if line.remedy:
            typer.echo(f"{'':8}→ {line.remedy}")
    sys.stdout.flush()

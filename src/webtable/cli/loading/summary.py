"""The summary that `ingest` and `import` print at the end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import typer

from webtable.cli.exit_codes import NOT_DONE, SIGNALLED, complain, exit_code, note
from webtable.cli.messages import of_page
from webtable.display import harmless
from webtable.display.text import plural
from webtable.errors import StoreFull, StoreRefused
from webtable.ingest.report import ignored_fields, names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from webtable.cli.session import CommandSession
    from webtable.errors import WebTableError
    from webtable.formats import ReadReport
    from webtable.ingest.report import Failures, IngestReport
    from webtable.repository.table.web_table import WebTable
    from webtable.repository.writing.outcomes import Dropped

_SHOWN_DAMAGES = 10


def conclude(
    report: IngestReport,
    this: CommandSession,
    table: WebTable | None,
    *,
    following: str = "",
    options: Mapping[str, str] | None = None,
) -> int:
    """Report the result and return the exit code; *table* is None if there was no reason to open it.

    *following* says how to go on after a run that ended early; *options* are those of the command, by the names of its
    arguments.
    """
    read, command = report.read, this.command("")
    for damaged in read.damaged[:_SHOWN_DAMAGES]:
        note(f"damaged: {damaged}")
    if read.damaged_count > _SHOWN_DAMAGES:
        note(f"damaged: … and {read.damaged_count - _SHOWN_DAMAGES:,} more records")
    for failures in (report.refused, report.failed):
        for message in _not_stored(failures, options or {}, this.command):
            note(f"not stored: {message}")
    for message in (*_over_limits(read), *dropped(report.dropped, table, command)):
        note(message)
    for death in report.worker_deaths:
        note(f"a worker died ({death}): what it had not stored was read again")
    for message in report.damaged_files:
        complain(message)
    if read.unknown_fields:
        note(f"ignored fields: {', '.join(ignored_fields(read.unknown_fields))}")
    typer.echo(harmless(report.text(this.name if table is None else table.name)))
    if number := report.interrupted_by:
        by = "" if number == signal.SIGINT else f" by {number.name}"
        rest = "nothing was stored" if report.is_dry_run else f"what was read is stored; {following}"
        none = "between two files" if read.records else "before the first file"
        complain(f"interrupted{by} {' and '.join(report.unfinished) or none}: {rest}")
        return SIGNALLED + number
    if report.lost:
        complain(f"ended early, since the store {_why_lost(report.lost)}: {report.lost}; {following}")
        return exit_code(report.lost)
    if report.uncounted:
        complain(f"the links were not counted: {report.uncounted}")
        return exit_code(report.uncounted)
    return 0 if report.is_sound else NOT_DONE


def _why_lost(error: WebTableError) -> str:
    match error:
        case StoreFull():
            return "is full: make space"
        case StoreRefused():
            return "refuses every page"
    return "is gone"


def _not_stored(failures: Failures, options: Mapping[str, str], command: Callable[[str], str]) -> Iterator[str]:
    """Yield messages on pages that were not stored: the number for each kind of error, and the first errors."""
    for kind, count in failures.counts.most_common():
        first, *others = dict.fromkeys(of_page(error, options, command) for error in failures.first[kind])
        yield f"{plural(count, 'page')} ({kind}), the first: {first}"
        yield from others
        if (more := count - 1 - len(others)) > 0:
            yield f"… and {plural(more, 'more page')} ({kind})"


def dropped(counts: Dropped, table: WebTable | None, command: str) -> Iterator[str]:
    """Yield messages on what was dropped by the limit of versions, or for another capture of the same date.

    Captures that are too old count as not stored.
    """
    what = [
        f"{plural(counts.older, 'older content')} of pages" if counts.older else "",
        f"{plural(counts.late, 'capture')} older than all that are kept" if counts.late else "",
    ]
    if table is not None and any(what):
        yield (
            f"dropped: {' and '.join(filter(None, what))}, as the table keeps the newest "
            f"{plural(table.layout.versions, 'content')} of a page; {command}alter --versions all keeps all from now on"
        )
    if counts.replaced:
        yield (
            f"dropped: {plural(counts.replaced, 'content')} with the URL and the date of another one that was stored "
            "later, to the millisecond: a page has one content at a time"
        )


def _over_limits(report: ReadReport) -> Iterator[str]:
    """Yield messages on records and pages that were over a limit, or are not wholly what was in the file."""
    if report.replaced:
        yield f"{plural(report.replaced, 'line')} with half of a character (a lone surrogate): U+FFFD is in its place"
    for counts, noun, what in (
        (report.skipped, "record", "skipped"),
        (report.unparsed, "page", "stored without title and links"),
        (report.shortened, "page", "stored with the first links only"),
    ):
        if counts:
            first = counts.most_common(1)[0][0]
            yield (
                f"over a limit: {plural(counts.total(), noun)} {what} ({names_text(counts)}); "
                f"--limit {first}=… sets another one"
            )

"""The summary that `ingest` and `import` print at the end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import typer

from webtable._page.fields import ATTRIBUTES
from webtable._page.names import meant
from webtable._shown import harmless
from webtable._shown.text import plural
from webtable.cli.exit_codes import NOT_DONE, SIGNALLED, complain, exit_code, note
from webtable.cli.messages import in_commands, of_page
from webtable.cli.options import CAN_CONTINUE
from webtable.errors import StoreFull, StoreRefused
from webtable.repository.derived.revisits import number_text

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from webtable.cli.session import CommandSession
    from webtable.errors import WebTableError
    from webtable.formats import ReadReport
    from webtable.ingest.engine import Load
    from webtable.ingest.report import Failures
    from webtable.repository.table.web_table import WebTable
    from webtable.repository.writing.outcomes import Dropped

_SHOWN_DAMAGES = 10
_SHOWN_TYPES = 5


def conclude(
    load: Load, this: CommandSession, table: WebTable | None, *, options: Mapping[str, str] | None = None
) -> int:
    """Report the result and return the exit code; *table* is None if there was no reason to open it.

    *options* are those of the command, by the names of its arguments.
    """
    report, command = load.report, this.command("")
    for damaged in report.damaged[:_SHOWN_DAMAGES]:
        note(f"damaged: {damaged}")
    if report.damaged_count > _SHOWN_DAMAGES:
        note(f"damaged: … and {report.damaged_count - _SHOWN_DAMAGES:,} more records")
    for failures in (load.refused, load.failed):
        for message in _not_stored(failures, options or {}):
            note(f"not stored: {in_commands(message, command)}")
    for message in (*_over_limits(report), *dropped(load.dropped, table, command)):
        note(message)
    for death in load.deaths:
        note(f"a worker died ({death}): what it had not stored was read again")
    for message in load.damaged_files:
        complain(message)
    if report.unknown_fields:
        note(f"ignored fields: {', '.join(_ignored(report.unknown_fields))}")
    typer.echo(harmless(_summary(load, this.name if table is None else table.name)))
    if load.signal:
        by = "" if load.signal == signal.SIGINT else f" by {load.signal.name}"
        rest = "nothing was stored" if load.is_dry_run else f"what was read is stored; {_continues(load)}"
        complain(f"interrupted{by} {load.where}: {rest}")
        return SIGNALLED + load.signal
    if load.lost:
        complain(f"ended early, since the store {_why_lost(load.lost)}: {load.lost}; {_continues(load)}")
        return exit_code(load.lost)
    if load.uncounted:
        complain(f"the links were not counted: {load.uncounted}")
        return exit_code(load.uncounted)
    undone = report.damaged_count or load.damaged_files or load.refused.counts or load.failed.counts
    return NOT_DONE if undone else 0


def _why_lost(error: WebTableError) -> str:
    match error:
        case StoreFull():
            return "is full: make space"
        case StoreRefused():
            return "refuses every page"
    return "is gone"


def _continues(load: Load) -> str:
    """Return how to go on after a run that ended early."""
    if load.journal is not None:
        return "the same command continues from there"
    again = "the same command reads everything again and stores the rest"
    # Standard input has no place to continue from.
    return again if "-" in load.files else f"{again}; {CAN_CONTINUE}"


def _ignored(fields: Counter[str]) -> Iterator[str]:
    for name, number in fields.most_common():
        remedy = meant(name, ATTRIBUTES).removeprefix("; ")
        yield f"{name} {number:,} ({remedy})" if remedy else f"{name} {number:,}"


def _not_stored(failures: Failures, options: Mapping[str, str]) -> Iterator[str]:
    """Yield messages on pages that were not stored: the number for each kind of error, and the first errors."""
    for kind, count in failures.counts.most_common():
        first, *others = dict.fromkeys(of_page(error, options) for error in failures.first[kind])
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


def _summary(load: Load, store: str) -> str:
    from webtable.cli.terminal.progress import rates

    report, done = load.report, "would be stored" if load.is_dry_run else "stored"
    parts = [
        f"{plural(load.stored, 'page')} {done} in {store} from {plural(len(load.files), 'file')} "
        f"in {load.seconds:,.1f} s ({rates(load.stored, report.bytes_read, load.seconds)})"
    ]
    if load.skipped:
        parts.append(f"{plural(load.skipped, 'file')} stored before")
    if load.unchanged:
        parts.append(f"{load.unchanged:,} of them unchanged")
    if left_out := report.left_out.total():
        parts.append(f"{left_out:,} left out ({_names(report.left_out)})")
    if others := report.other_methods.total():
        parts.append(f"{plural(others, 'answer')} to other methods left out ({_names(report.other_methods)})")
    if marked := report.truncated.total():
        parts.append(f"{plural(marked, 'page')} marked truncated ({_names(report.truncated)})")
    if report.damaged_count:
        parts.append(plural(report.damaged_count, "damaged record"))
    if report.bytes_skipped:
        parts.append(f"{plural(report.bytes_skipped, 'damaged byte')} skipped")
    if load.damaged_files:
        parts.append(f"{plural(len(load.damaged_files), 'damaged file')}")
    if gone := load.dropped.older + load.dropped.late + load.dropped.replaced:
        parts.append(f"{gone:,} dropped")
    if refused := load.refused.counts.total() + load.failed.counts.total():
        parts.append(f"{refused:,} not stored")
    parts += _waiting(load)
    if load.recount is not None and load.recount.batches:
        parts.append(f"links to {plural(load.recount.pages, 'page')} counted")
    return "; ".join(parts)


def _waiting(load: Load) -> list[str]:
    """Return how many revisits of the table wait for their originals, if any do."""
    if not load.unresolved:
        return []
    return [f"{number_text(load.unresolved)} waiting for the originals (unresolved lists them)"]


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
                f"over a limit: {plural(counts.total(), noun)} {what} ({_names(counts)}); "
                f"--limit {first}=… sets another one"
            )


def _names(counts: Counter[str]) -> str:
    """Return the most common of *counts*, by their names."""
    shown = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(_SHOWN_TYPES))
    return f"{shown}, …" if len(counts) > _SHOWN_TYPES else shown

"""Progress bars with a total, as for reading files."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from webtable import ALL
from webtable.cli.exit_codes import note
from webtable.cli.terminal.interaction import interruptible
from webtable.display.text import plural, size_text, terminal_bar
from webtable.errors import IndexNeeded, InvalidArgument, StoreUnavailable
from webtable.store import Deadline, attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from webtable import WebTable
    from webtable.answers import Site
    from webtable.ingest.engine import Ingest


# --- The wait for a store that does not answer when a command opens it ------------------------------------------------


T = TypeVar("T")


def when_there(opened: Callable[[], T], seconds: float) -> T:
    """Return what *opened* returns, which is called again for up to *seconds* while its store does not answer.

    The wait is reported once; a signal ends it, and the command. Raises the last `StoreUnavailable`.
    """
    errors: list[StoreUnavailable] = []
    with interruptible():
        for number in attempts(Deadline(seconds)):
            if number == 2:
                note(f"waiting up to {seconds:g} s for the store: {errors[0]}")
            try:
                found = opened()
            except StoreUnavailable as exc:
                errors.append(exc)
            else:
                if errors:
                    note("the store answers again")
                return found
    raise errors[-1]


# ----------------------------------------------------------------------------------------------------------------------


_MOST_HOSTS = 1_000
"""The most hosts whose counts are added up for a bar."""


@contextmanager
def ingest_progress(run: Ingest) -> Iterator[None]:
    """Show the progress and rates of *run* while the block runs; nothing if stderr is not a terminal."""
    with shown_progress("ingest", size_of(run.files), lambda: (run.report.read.bytes_read, _state(run))):
        yield


@contextmanager
def shown_progress(command: str, total: int | None, state: Callable[[], tuple[int, str]]) -> Iterator[None]:
    """Show what *state* returns, how much of *total* is done and a text, while the block runs.

    Nothing is shown if stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    class Bar(Progress):
        # The state is polled as the bar is drawn, a few times a second, so the loop does no work for it.
        def get_renderables(self) -> Iterator[RenderableType]:
            for task in self.task_ids:
                done, text = state()
                self.update(task, completed=done, text=text)
            yield from super().get_renderables()

    bar = terminal_bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        *([] if total is None else [TaskProgressColumn()]),
        TextColumn("{task.fields[text]}"),
        *([] if total is None else [TimeRemainingColumn(compact=True)]),
        kind=Bar,
    )
    with bar:
        bar.add_task(command, total=total, text="")
        yield


@contextmanager
def shown_bytes(command: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of bytes done, which is shown while the block runs."""
    done = 0

    def counted(size: int) -> None:
        nonlocal done
        done = size

    with shown_progress(command, total, lambda: (done, size_text(done))):
        yield counted


def with_progress(command: str, table: WebTable, records: Iterable[T]) -> Iterator[T]:
    """Yield *records*, and show how many rows of *table* were read, in a terminal only until the first record.

    From then on the records themselves are the progress there.
    """
    with ExitStack() as stack:
        stack.enter_context(shown_progress(command, None, lambda: (0, f"{plural(_rows_read(table), 'row')} read")))
        for record in records:
            if sys.stdout.isatty():
                stack.close()
            yield record


def _rows_read(table: WebTable) -> int:
    return table.metrics.operations["scan"].rows


def pages_of(table: WebTable, site: Site | None) -> int | None:
    """Return how many pages of *site* were counted, for a bar; None if nobody looks, or if that is not known."""
    if not sys.stderr.isatty():
        return None
    try:
        hosts = list(table.hosts(ALL if site is None else site, limit=_MOST_HOSTS + 1))
    except (IndexNeeded, InvalidArgument):  # the pages of a directory are not counted
        return None
    counts = [host.pages for host in hosts if host.pages is not None]
    return sum(counts) if len(counts) == len(hosts) <= _MOST_HOSTS else None


def size_of(files: Sequence[str]) -> int | None:
    """Return the total bytes of *files*; None if standard input is one of them."""
    return None if "-" in files else sum(Path(file).stat().st_size for file in files)


def _state(run: Ingest) -> str:
    read = run.report.read
    if run.waiting is not None:
        return f"{plural(read.pages, 'page')}  waiting for the store: {run.waiting}"
    if run.counted is not None:
        return f"{plural(read.pages, 'page')}  counting links: {run.counted:,}"
    from webtable.ingest.report import rates  # most commands that show progress ingest nothing

    return f"{plural(read.pages, 'page')}  {rates(read.pages, read.bytes_read, run.seconds)}"

"""What a command asks and shows while it runs: confirmation, the wait for a store, progress; and what ends it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from webtable import ALL
from webtable._process_hooks import handling_signals
from webtable.cli.exit_codes import not_done, note
from webtable.display.text import plural, size_text
from webtable.errors import IndexNeeded, InvalidArgument, StoreUnavailable
from webtable.progress import ProgressBar
from webtable.store import Deadline, attempts

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from webtable import WebTable
    from webtable.answers import Site
    from webtable.ingest.engine import Ingest


# --- Confirmation, and signals ----------------------------------------------------------------------------------------
#
# The rule is the same for all commands: in a terminal they ask, and elsewhere they need --yes.


def interruptible() -> AbstractContextManager[None]:
    """Raise `KeyboardInterrupt`, which names the signal, for each signal in ENDING: unfinished work is undone."""

    def raised(number: signal.Signals) -> None:
        raise KeyboardInterrupt(number)

    return handling_signals(raised)


def check_confirmable(purpose: str, *, yes: bool) -> None:
    """Raise `InvalidArgument` unless *yes* is given or there is a terminal to ask in.

    `confirm` does the same; a command with slow work before the question calls this first.
    """
    if not yes and not is_interactive():
        raise InvalidArgument(
            f"nothing was changed: give --yes to {purpose}, since standard input is not a terminal, in which it would "
            "ask; --dry-run shows what would be done"
        )


def confirm_replacing(file: Path, *, yes: bool) -> None:
    """Ask in a terminal whether an existing *file* is to be replaced, unless *yes*, as `confirm` does."""
    if yes or not file.is_file():
        return
    if not is_interactive():
        raise InvalidArgument(f"{file} exists already, and nothing was written: give --yes to replace it")
    confirm(f"replace {file}", f"{file} exists already. Replace it?", yes=yes)


def confirm(purpose: str, question: str, *, yes: bool) -> None:
    """Ask the *question* in a terminal, unless *yes*, and end the command if the answer is no.

    Elsewhere, raise `InvalidArgument`, which says that --yes is needed for this *purpose*.
    """
    check_confirmable(purpose, yes=yes)
    if not yes and not typer.confirm(question, err=True):
        raise not_done("nothing was changed")


def is_interactive() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin.isatty()


# --- The wait for a store ---------------------------------------------------------------------------------------------


T = TypeVar("T")


def when_there(opened: Callable[[], T], seconds: float) -> T:
    """Call *opened*, again for up to *seconds* while its store does not answer, and return its result.

    The wait is reported once; a signal ends it, and the command. Raises the last `StoreUnavailable`.
    """
    # The library has a deadline for each call; a command that is started while HBase restarts may wait longer for it.
    errors: list[StoreUnavailable] = []
    with interruptible():
        for number in attempts(Deadline(seconds)):
            if number == 2:
                note(f"waiting up to {seconds:g} s for the store: {errors[0]}")
            try:
                result = opened()
            except StoreUnavailable as exc:
                errors.append(exc)
            else:
                if errors:
                    note("the store answers again")
                return result
    raise errors[-1]


# --- Bars that say more than a count ----------------------------------------------------------------------------------


# The most hosts whose counts are added up for the total of a bar.
_MOST_HOSTS = 1_000


def ingest_progress(run: Ingest) -> ProgressBar:
    """The progress and the rates of *run*."""
    return ProgressBar(
        "ingest", total=size_of(run.files), state=lambda: (run.report.read.bytes_read, _ingest_state(run))
    )


@contextmanager
def shown_bytes(command: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of bytes done, which is shown while the block runs."""
    done = 0

    def counted(size: int) -> None:
        nonlocal done
        done = size

    with ProgressBar(command, total=total, state=lambda: (done, size_text(done))):
        yield counted


def with_progress(command: str, table: WebTable, records: Iterable[T]) -> Iterator[T]:
    """Yield *records*, and show how many rows of *table* were read, in a terminal only until the first record.

    From then on the records themselves are the progress there.
    """

    def state() -> tuple[int, str]:
        return 0, f"{plural(table.metrics.operations['scan'].rows, 'row')} read"

    with ProgressBar(command, state=state) as bar:
        for record in records:
            # A bar that is redrawn between the lines of results would tear them.
            if sys.stdout.isatty():
                bar.close()
            yield record


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


def _ingest_state(run: Ingest) -> str:
    read = run.report.read
    if run.waiting is not None:
        return f"{plural(read.pages, 'page')}  waiting for the store: {run.waiting}"
    if run.counted is not None:
        return f"{plural(read.pages, 'page')}  counting links: {run.counted:,}"
    from webtable.ingest.report import rates  # most commands that show progress ingest nothing

    return f"{plural(read.pages, 'page')}  {rates(read.pages, read.bytes_read, run.seconds)}"

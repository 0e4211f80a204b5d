"""Confirmation before a command does what cannot be undone, and the signals that end a command.

The rule is the same for all commands: in a terminal they ask, and elsewhere they need --yes.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from webtable._clock import clock
from webtable.cli.exit_codes import NOT_DONE, complain
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run gracefully."""
_ONE_PRESS = 1.0
"""Seconds in which signals count as one press: make, timeout and others forward it to a process that already got it."""


@contextmanager
def handling_interrupts(handler: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Pass the signals in ENDING to *handler* while the block runs, once per press.

    Nothing changes in any thread but the main one, nor for SIGHUP if it is ignored: a command started by nohup must
    survive a terminal that closes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = float("-inf")

    def interrupted(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of signal handlers
        nonlocal pressed
        now = clock.monotonic()
        if now - pressed >= _ONE_PRESS:
            pressed = now
            handler(signal.Signals(number))

    before = {one: signal.getsignal(one) for one in ENDING}
    for one, known in before.items():
        if one != signal.SIGHUP or known is not signal.SIG_IGN:
            signal.signal(one, interrupted)
    try:
        yield
    finally:
        for one, known in before.items():
            signal.signal(one, known)


def interruptible() -> AbstractContextManager[None]:
    """Raise `KeyboardInterrupt`, which names the signal, for each signal in ENDING: unfinished work is undone."""

    def raised(number: signal.Signals) -> None:
        raise KeyboardInterrupt(number)

    return handling_interrupts(raised)


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
        complain("nothing was changed")
        raise typer.Exit(NOT_DONE)


def is_interactive() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin.isatty()

"""What a user decides while a command runs: yes or no before something is lost for good, and when it is to end.

It ends by Ctrl-C, or by the signals by which a system ends a program. Without a terminal nobody can be asked.
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

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run in good order."""
_ONE_PRESS = 1.0
"""Seconds: make, timeout and others pass a press on to a process that got it already."""


@contextmanager
def handling_interrupts(handler: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Give the signals in ENDING to *handler* while the block runs, those of one press once.

    They stay as they are in any thread but the first one, and so does SIGHUP where it is ignored: what nohup has
    started is to survive a terminal that closes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = float("-inf")

    def interrupted(number: int, frame: object) -> None:  # noqa: ARG001 - as signal handlers are called
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
    """Raise `KeyboardInterrupt`, which names the signal, for each of those in ENDING: what is half done is undone."""

    def raised(number: signal.Signals) -> None:
        raise KeyboardInterrupt(number)

    return handling_interrupts(raised)


def check_can_ask(purpose: str) -> None:
    """Raise `InvalidArgument` where there is nobody to be asked: --yes is what is for that *purpose* then."""
    if not can_ask():
        raise InvalidArgument(f"nobody can be asked, standard input is no terminal: give --yes to {purpose}")


def confirm(question: str, *, otherwise: str) -> None:
    """Ask, and end the command where the answer is no: *otherwise* tells what was not done."""
    if not typer.confirm(question, err=True):
        complain(otherwise)
        raise typer.Exit(NOT_DONE)


def can_ask() -> bool:
    """Whether there is somebody to be asked."""
    return sys.stdin.isatty()

"""The signals that end a process, handled while a block runs."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from webtable._clock import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run gracefully."""
_ONE_PRESS = 1.0
"""Seconds in which signals count as one press: make, timeout and others forward it to a process that already got it."""


@contextmanager
def handling_signals(
    handler: Callable[[signal.Signals], None], signals: Sequence[signal.Signals] = ENDING
) -> Iterator[None]:
    """Pass *signals* to *handler* while the block runs, once per press.

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

    before = {number: signal.getsignal(number) for number in signals}
    for number, known in before.items():
        if number != signal.SIGHUP or known is not signal.SIG_IGN:
            signal.signal(number, interrupted)
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)

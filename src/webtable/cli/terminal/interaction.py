"""Confirmation before a command does what cannot be undone, and the signals that end a command.

The rule is the same for all commands: in a terminal they ask, and elsewhere they need --yes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from webtable._process_hooks import handling_signals
from webtable.cli.exit_codes import NOT_DONE, complain
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    import signal
    from contextlib import AbstractContextManager
    from pathlib import Path


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
        complain("nothing was changed")
        raise typer.Exit(NOT_DONE)


def is_interactive() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin.isatty()

"""What is asked before something is lost for good; without a terminal nobody can be asked."""

from __future__ import annotations

import sys

import typer

from webtable.cli.exit_codes import NOT_DONE, complain
from webtable.errors import InvalidArgument


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

"""Completions for a shell: profiles of the config files, indexes of the table, and columns."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import typer  # noqa: TC002, typer looks at the types of what it calls

from webtable.cli.session import read_settings
from webtable.errors import WebTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def profiles(incomplete: str) -> list[str]:
    """Return the profiles that begin with *incomplete*; none if a config file cannot be read."""
    with suppress(WebTableError):
        return sorted(name for name in read_settings().profiles if name.startswith(incomplete))
    return []


def columns(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a completer for lists of columns: it returns the list with each of *names* that completes its last one."""

    def completed(incomplete: str) -> list[str]:
        *chosen, last = incomplete.split(",")
        return [",".join([*chosen, name]) for name in names if name.startswith(last) and name not in chosen]

    return completed


def indexes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the indexes of the table in a file, for `add` those that it lacks; webtable's own if there is no table.

    HBase is not asked: the shell would hang if it is unreachable.
    """
    from webtable.cli.session import CommandSession
    from webtable.indexes import BUILT_IN

    listed = list(BUILT_IN)
    # An error would be written into the line that is being typed.
    with suppress(WebTableError):
        this = CommandSession.named(ctx.find_root().params.get("store"))
        if "://" not in this.store:
            with this.open() as table:
                there = list(table.indexes.states())
            listed = [name for name in listed if name not in there] if ctx.info_name == "add" else there
    return sorted(name for name in listed if name.startswith(incomplete))

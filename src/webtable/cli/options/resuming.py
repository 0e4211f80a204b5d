"""The option --resume of commands that look at all rows: what they have found is kept until they are at their end."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.exit_codes import note
from webtable.cli.journal import beside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webtable.cli.session import Session

ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Keep what was found beside the store, and go on where an earlier run was ended."),
]


@contextmanager
def resuming(this: Session, walk: str, *, resume: bool) -> Iterator[Path | None]:
    """Give the file that keeps what a *walk* over a store has found, None without *resume*; tell what it is for."""
    path = beside(this.store, walk) if resume else None
    if path is not None and path.exists():
        note(f"going on from what an earlier run has found ({path})")
    try:
        yield path
    except KeyboardInterrupt:
        if path is not None and path.exists():
            note(f"what was found is kept in {path}: the same command goes on from there")
        raise

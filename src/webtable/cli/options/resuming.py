"""The option --resume of commands that look at all rows: what they have found is kept until they are at their end."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from webtable.cli.exit_codes import note
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.cli.session import Session

ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Keep what was found beside the store, and go on where an earlier run was ended."),
]


def beside(store: str, ending: str) -> Path:
    """Return the file beside a *store* with this *ending*; that of a server is in the current directory."""
    url = StoreURL.parse(store)
    return Path(f"{url.rest if url.is_path else quote(url.typed, safe=':')}.{ending}")


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

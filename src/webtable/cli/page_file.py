"""A page of HTML as a file: it is there when it is whole."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from webtable.cli.exits import note
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from pathlib import Path


def check_page_file(path: Path) -> None:
    """Raise `InvalidArgument` where no page can be written to *path*, before anything is asked for it."""
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidArgument(f"{path}: a page cannot be written there; name a file in a directory that exists")


def write_page(path: Path, page: str) -> None:
    """Write the text of a page to a file, and tell that it is there; raises `OSError` with the name of the file.

    Until it is whole there is another one beside it, which is removed where something goes wrong. What is no regular
    file (/dev/stdout, a pipe) is written to as it is.
    """
    if path.exists() and not path.is_file():
        _write(path, page, path)
    else:
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            _write(part, page, path)
            part.replace(path)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
    note(f"written: {path}")


def _write(path: Path, page: str, called: Path) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as exc:
        # A full disk is told of without the name of the file.
        raise OSError(exc.errno, exc.strerror, str(called)) from exc

"""A page of HTML as a file: it is there when it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._whole_file import whole_file
from webtable.cli.exit_codes import note
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from pathlib import Path


def check_page_file(path: Path) -> None:
    """Raise `InvalidArgument` where no page can be written to *path*, before anything is asked for it."""
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidArgument(f"{path}: a page cannot be written there; name a file in a directory that exists")


def write_page(path: Path, page: str) -> None:
    """Write the text of a page to a file, and tell that it is there; raises `OSError` with the name of the file."""
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8")
    note(f"written: {path}")

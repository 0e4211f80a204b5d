"""The folder of an export, which one process writes to at a time."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from webtable._files import Folder, naming_errors
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def locked_folder(folder: Path) -> Iterator[Folder]:
    """Give *folder*, locked while the block runs, and made if it is missing; raises `InvalidArgument`."""
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"{folder}: not a directory; name a new or empty one")
    if not folder.parent.is_dir():
        raise InvalidArgument(f"{folder}: there is no directory {folder.parent}")
    with naming_errors(folder):
        folder.mkdir(exist_ok=True)
    with Folder(folder) as opened:
        try:
            fcntl.flock(opened.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise InvalidArgument(f"{folder}: another export is writing there; wait until it has ended") from exc
        yield opened

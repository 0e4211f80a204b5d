"""Where the full text of a table is: in its store, where the store can have it, else in a directory of this machine."""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path

from webtable.errors import CapabilityError

if TYPE_CHECKING:
    from webtable.repository.context import Frame
    from webtable.store.full_text import SearchIndex

VARIABLE = "WEBTABLE_SEARCH"
"""The environment variable that names the directory with the directories of tables."""
_OPEN_AT_ONCE = 8


def index_of(frame: Frame) -> SearchIndex | None:
    """Return the full text of the table of *frame*, which may be empty; None if there is none.

    Raises `MissingExtra` if there is a directory and no tantivy.
    """
    index = frame.store.search_index(frame.table)
    if index is not None:
        return index
    directory = directory_of(frame)
    return _opened(directory) if directory is not None and (directory / "search.json").exists() else None


def new_index_of(frame: Frame) -> SearchIndex:
    """Return the full text of the table of *frame*, to be created; raises `CapabilityError` if it cannot have any."""
    index = frame.store.search_index(frame.table)
    if index is not None:
        return index
    directory = directory_of(frame)
    if directory is None:
        raise CapabilityError(f'{frame.name}: a store in memory has no full text; search with order="url" reads pages')
    directory.parent.mkdir(parents=True, exist_ok=True)
    return _opened(directory)


def directory_of(frame: Frame) -> Path | None:
    """Return the directory for the full text of a table; None if it is in the store, or the store is in memory."""
    if frame.store.address is None or frame.store.search_index(frame.table) is not None:
        return None
    base = Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else user_data_path("webtable") / "search"
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", frame.name)[:80].strip("-")
    return base / f"{readable}-{hashlib.sha256(frame.name.encode()).hexdigest()[:8]}"


# Kept open: to open an index takes longer than a question to it.
@lru_cache(maxsize=_OPEN_AT_ONCE)
def _opened(directory: Path) -> SearchIndex:
    from webtable.store.full_text.tantivy import TantivyIndex  # it needs an extra

    return TantivyIndex(directory)

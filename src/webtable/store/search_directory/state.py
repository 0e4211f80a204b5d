"""`search.json`, which says what a directory of full text has: one index, and the one that will take its place.

The file is replaced as a whole, after what it tells of was committed. So a place in it is never ahead of the documents,
whenever a process is killed, and a rebuilt index takes the place of the old one in one step.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from webtable._checksums import unsealed, with_checksum
from webtable._files import Folder
from webtable._messages import Command, Message
from webtable._stored_form import check_format
from webtable.errors import FormatError, NotAStore, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
FILE: Final = "search.json"
_MOST_BYTES: Final = 1_000_000
FOLDER: Final = re.compile(r"index-[0-9a-f]{16}")
_REMEDY: Final = Message(
    "it can be built again from the pages: empty the directory, then ", Command("search-index create")
)


class Generation(msgspec.Struct, frozen=True):
    """An index of tantivy in its own `folder`, and how far it has come."""

    folder: str
    settings: str
    filled: bytes | None = b""
    cursor: str = ""
    as_of: datetime | None = None


class DirectoryState(msgspec.Struct, frozen=True):
    """The index that is `current`, and the one that is built to take its place."""

    current: Generation
    next: Generation | None = None
    format: int = FORMAT

    @property
    def newest(self) -> Generation:
        """The index that is written."""
        return self.next or self.current

    @property
    def folders(self) -> set[str]:
        """The folders of both."""
        return {one.folder for one in (self.current, self.next) if one is not None}

    def with_newest(self, generation: Generation) -> DirectoryState:
        """Return the state with *generation* in place of `newest`; it becomes the `current` one when it is filled."""
        is_current = self.next is None or generation.filled is None
        return DirectoryState(generation) if is_current else DirectoryState(self.current, generation)


def read_state(directory: Path) -> DirectoryState | None:
    """Return the state of *directory*, None if there is no full text.

    Raises `NotAStore` if it is no directory of full text, and `StoreError` if the file is damaged.
    """
    try:
        with Folder(directory) as opened, opened.reading(FILE) as file:
            written = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except NotADirectoryError as exc:
        raise NotAStore(f"{directory}: not a directory; full text needs one of its own") from exc
    except OSError as exc:
        raise StoreUnavailable(f"{directory}: {FILE} cannot be read: {exc.strerror}") from exc
    except FormatError as exc:
        raise damaged(directory, str(exc)) from exc
    try:
        plain = unsealed(written)
        check_format(str(directory), "full text", msgspec.json.decode(plain, type=_Format).format, FORMAT)
        state = msgspec.json.decode(plain, type=DirectoryState)
    except (ValueError, RecursionError) as exc:
        raise damaged(directory, f"{FILE} is damaged: {exc}") from exc
    if not all(FOLDER.fullmatch(name) for name in state.folders):
        raise damaged(directory, f"{FILE} names a folder outside")
    return state


def write_state(directory: Path, state: DirectoryState) -> None:
    """Put *state* in place of the stored one, at once."""
    with Folder(directory) as opened, opened.replacing(FILE, is_private=True) as file:
        file.write(with_checksum(msgspec.json.encode(state)))


def damaged(directory: Path, why: str) -> StoreError:
    """Return the error for full text that cannot be read."""
    return StoreError(f"{directory}: the full text cannot be read: {why}; " + _REMEDY)


class _Format(msgspec.Struct):
    format: int

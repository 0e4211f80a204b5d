"""`search.json`, which says what a directory of full text has: one index, and the one that will take its place.

The file is replaced as a whole, after what it tells of was committed. So a place in it is never ahead of the documents,
whenever a process is killed, and a rebuilt index takes the place of the old one in one step.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from webtable._checksums import unsealed, with_checksum
from webtable._files import Folder
from webtable._messages import Command, Message
from webtable._stored_form import check_format
from webtable.errors import (
    FormatError,
    InvalidArgument,
    NotAStore,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    WebTableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
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


# --- Errors of tantivy as errors of the store -------------------------------------------------------------------------


_MEANINGS: Final[tuple[tuple[str, type[StoreError], str], ...]] = (
    ("No space left", StoreFull, "the disk is full"),
    ("Disk quota exceeded", StoreFull, "the quota of the disk is used up"),
    ("Permission denied", StoreRefused, "this user may not write there, which tantivy needs for its lock even to read"),
    ("Read-only file system", StoreRefused, "the disk is read-only, and tantivy needs its lock even to read"),
    ("Too many open files", StoreUnavailable, "this process has too many open files"),
)
"""What tantivy says in its errors, which have no codes, and what that means."""
_MANY_WORDS: Final = "too many words begin like the last one of a phrase: write more letters"


@contextmanager
def translated(directory: Path) -> Iterator[None]:
    """Turn what tantivy raises in the block into errors of the store."""
    try:
        yield
    except FormatError as exc:
        raise damaged(directory, str(exc)) from exc
    except WebTableError:
        raise
    except (ValueError, OSError, RuntimeError, TypeError, KeyError, IndexError) as exc:
        said = str(exc)
        if "exceeded max expansions" in said:
            raise InvalidArgument(_MANY_WORDS) from exc
        for text, kind, meaning in _MEANINGS:
            if text in said:
                raise kind(f"{directory}: {meaning}") from exc
        raise damaged(directory, said) from exc
    except BaseException as exc:
        # What a panic in Rust becomes is no Exception, and its class cannot be imported.
        if type(exc).__name__ != "PanicException":
            raise
        raise damaged(directory, str(exc)) from exc

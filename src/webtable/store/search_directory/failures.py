"""Errors of tantivy as errors of the store."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from webtable.errors import (
    FormatError,
    InvalidArgument,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    WebTableError,
)
from webtable.store.search_directory.state import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

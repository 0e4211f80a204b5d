"""Errors of tantivy as errors of the store."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument, StoreFull, WebTableError
from webtable.store.search_directory.state import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def translated(directory: Path) -> Iterator[None]:
    """Turn what tantivy raises in the block into errors of the store."""
    try:
        yield
    except WebTableError:
        raise
    except (ValueError, OSError, RuntimeError, TypeError, KeyError, IndexError) as exc:
        said = str(exc)
        if "No space left" in said or "os error 28" in said or "Disk quota" in said:
            raise StoreFull(f"{directory}: the disk is full") from exc
        if "exceeded max expansions" in said:
            raise InvalidArgument(
                "too many words begin like the last one of a phrase, for full text in a directory: write more letters"
            ) from exc
        raise damaged(directory, said) from exc
    except BaseException as exc:
        # What a panic in Rust becomes is no Exception, and its class cannot be imported.
        if type(exc).__name__ != "PanicException":
            raise
        raise damaged(directory, str(exc)) from exc

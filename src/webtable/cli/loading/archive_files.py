"""The files that `ingest` is to read: those that were named, those of directories, and those that patterns match."""

from __future__ import annotations

import re
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(?:warc|jsonl|ndjson)(?:\.(?:gz|zst|lz4))?$|\.parquet$", re.IGNORECASE)
# Common Crawl's names: CC-MAIN-….warc.wat.gz, and .warc.wet.gz.
_DERIVED = re.compile(r"\.(wat|wet)(?:\.(?:gz|zst|lz4))?$", re.IGNORECASE)
_HOLDS = {"wat": "a WAT file, which has the metadata of pages", "wet": "a WET file, which has the text of pages"}
_FETCHED_BY = {"s3": "aws s3 cp {} -", "http": "curl -sL {}", "https": "curl -sL {}"}


def archive_files(given: Iterable[str]) -> list[str]:
    """Return the files that *given* names: of a directory and of a pattern all archives, in the order of their names.

    Raises `InvalidArgument` for what is no file here, or has no pages.
    """
    return [file for one in given for file in _files_of(one)]


def is_empty(file: str) -> bool:
    """Whether *file* is a file without a byte in it; nobody knows that of a pipe."""
    path = Path(file)
    return file != "-" and path.is_file() and path.stat().st_size == 0


def _files_of(one: str) -> Iterator[str]:
    path = Path(one)
    if one != "-" and path.is_dir():
        yield from _files_in(path)
    elif one == "-" or path.exists():
        yield _with_pages(one)
    elif found := _ADDRESS.match(one):
        raise InvalidArgument(f"{one}: {_fetch_first(one, found[1].lower())}")
    elif has_magic(one):
        yield from _matched(one)
    else:
        raise InvalidArgument(f"{one}: no such file")


def _files_in(folder: Path) -> Iterator[str]:
    files = [str(file) for file in sorted(folder.iterdir()) if file.is_file()]
    archives = [file for file in files if _ARCHIVE.search(file)]
    if not archives:
        for file in files:
            _with_pages(file)
        raise InvalidArgument(f"{folder}: a directory without a WARC, JSON Lines or Parquet file in it")
    yield from archives


def _matched(pattern: str) -> Iterator[str]:
    # Path.glob takes no pattern that begins at the root.
    files = sorted(file for file in glob(pattern, recursive=True) if Path(file).is_file())  # noqa: PTH207
    if not files:
        raise InvalidArgument(f"{pattern}: no file matches it")
    yield from map(_with_pages, files)


def _with_pages(file: str) -> str:
    """Return *file*; raises `InvalidArgument` where its name says that it has no pages."""
    if derived := _DERIVED.search(file):
        raise InvalidArgument(
            f"{file}: {_HOLDS[derived[1].lower()]} and none of their HTML; take the WARC file that it was made of"
        )
    return file


def _fetch_first(address: str, scheme: str) -> str:
    command = _FETCHED_BY.get(scheme)
    how = f"as in: {command.format(address)} | webtable ingest -" if command else "and name the file"
    return f"ingest reads files and fetches nothing; fetch it first, {how}"

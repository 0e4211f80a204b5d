"""The files that are named to be read: files, those in directories, and those that match patterns."""

from __future__ import annotations

import re
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument
from webtable.formats.compressed import BLOCK, ByteStream
from webtable.formats.other_files import DERIVED, description_of_folder
from webtable.formats.read_report import DamagedFile
from webtable.formats.wacz import MAGIC as ZIP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
# In a directory only such names are taken: a list or a note beside the archives is no damaged archive.
_ARCHIVE = re.compile(r"\.(?:w?arc|har|jsonl|ndjson|jl)(?:\.(?:gz|zst|lz4))?$|\.(?:parquet|wacz)$", re.IGNORECASE)
# Common Crawl's names: CC-MAIN-….warc.wat.gz, and .warc.wet.gz.
_DERIVED = re.compile(r"\.(wat|wet)(?:\.(?:gz|zst|lz4))?$", re.IGNORECASE)
_RECORDS = {"wat": "metadata", "wet": "conversion"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PAGES = (".warc", ".wacz", ".arc", ".har", ".jsonl", ".ndjson", ".jl")
_FETCHED_BY = {"s3": "aws s3 cp {} -", "http": "curl -sL {}", "https": "curl -sL {}"}


def archive_files(names: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Return the files that *names* mean: all archives in a directory, or all matches of a pattern, sorted by name.

    Raises `InvalidArgument` for what is not a file here, or has no pages.
    """
    listed = [names] if isinstance(names, str | PathLike) else names
    return [file for name in listed for file in _files_of(fspath(name))]


def _files_of(name: str) -> Iterator[str]:
    path = Path(name)
    if name != "-" and path.is_dir():
        yield from _files_in(path)
    elif name == "-" or path.exists():
        yield _with_pages(name)
    elif address := _ADDRESS.match(name):
        raise InvalidArgument(f"{name}: {_fetch_first(name, address[1].lower())}")
    elif has_magic(name):
        yield from _matched(name)
    else:
        raise InvalidArgument(f"{name}: no such file")


def _files_in(folder: Path) -> Iterator[str]:
    files = [str(file) for file in sorted(folder.iterdir()) if file.is_file()]
    archives = [file for file in files if _ARCHIVE.search(file)]
    if not archives:
        for file in files:
            _with_pages(file)
        what = (
            description_of_folder(folder)
            or "a directory without a WARC, WACZ, ARC, HAR, JSON Lines or Parquet file in it; tables of pages (.csv, "
            ".tsv, .xlsx) are named, as in `webtable ingest internal_all.csv`"
        )
        raise InvalidArgument(f"{folder}: {what}")
    yield from archives


def _matched(pattern: str) -> Iterator[str]:
    # Path.glob takes no pattern that begins at the root.
    files = sorted(file for file in glob(pattern, recursive=True) if Path(file).is_file())  # noqa: PTH207
    if not files:
        raise InvalidArgument(f"{pattern}: no file matches it")
    yield from map(_with_pages, files)


def _with_pages(file: str) -> str:
    """Return *file*; raises `InvalidArgument` if its name says that it has no pages."""
    if derived := _DERIVED.search(file):
        raise InvalidArgument(f"{file}: {DERIVED[_RECORDS[derived[1].lower()]]}")
    return file


def _fetch_first(address: str, scheme: str) -> str:
    command = _FETCHED_BY.get(scheme)
    how = f"as in: {command.format(address)} | webtable ingest -" if command else "and name the file"
    return f"ingest reads files and fetches nothing; fetch it first, {how}"


def check_files(files: Sequence[str]) -> None:
    """Raise `InvalidArgument` for a path that does not exist or is not a file."""
    for file in files:
        if file != "-" and not Path(file).exists():
            raise InvalidArgument(f"{file}: no such file")
        if Path(file).is_dir():
            raise InvalidArgument(f"{file}: a directory; name the files in it")
    if files.count("-") > 1:
        raise InvalidArgument("standard input (-) can be read only once")


def check_workers(workers: int, files: Sequence[str]) -> None:
    """Raise `InvalidArgument` if *workers* is below 1, or if several of them cannot read one of *files*."""
    if workers < 1:
        raise InvalidArgument(f"workers={workers} must be at least 1")
    # A pipe or a terminal belongs to this process, and only one can read it.
    streams = [file for file in files if file == "-" or not Path(file).is_file()]
    if workers > 1 and streams:
        raise InvalidArgument(f"workers={workers} needs files: {streams[0]} can be read by one process only")


def is_empty(file: str) -> bool:
    """Whether *file* has 0 bytes; False for a pipe, where this is unknown."""
    path = Path(file)
    return file != "-" and path.is_file() and path.stat().st_size == 0


def holds_pages(file: str) -> bool:
    """Whether *file* is WARC, WACZ, ARC, HAR or JSON Lines: by its name, or by its first bytes."""
    name = file.lower()
    for compressed in (".gz", ".zst", ".lz4"):
        name = name.removesuffix(compressed)
    if name.endswith(_PAGES):
        return True
    with Path(file).open("rb") as opened:
        try:
            start = ByteStream(iter(lambda: opened.read(BLOCK), b"")).peek(64)
        except DamagedFile:
            return False
    return start.startswith((b"WARC/", b"filedesc:", ZIP)) or start.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(
        b"{"
    )

"""What the name of an export says: the kind of a file, a directory, or by mistake a site."""

from __future__ import annotations

import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable.cli.messages import why_empty
from webtable.errors import InvalidArgument, InvalidURL

if TYPE_CHECKING:
    from webtable import WebTable


class ArchiveFormat(StrEnum):
    """The formats that captures are written in."""

    warc = "warc"
    parquet = "parquet"
    jsonl = "jsonl"
    cdxj = "cdxj"
    wacz = "wacz"


class LakeFolder(StrEnum):
    """What the folders of a Parquet dataset are named after."""

    host = "host"
    month = "month"


_LISTS: Final = (".csv", ".tsv")
_OTHER_FILES: Final = (
    *(".7z", ".bz2", ".gz", ".lz4", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst"),
    *(".cdx", ".cdxj", ".db", ".htm", ".html", ".json", ".ndjson", ".sqlite", ".txt", ".xml"),
)
"""Endings of files that are not written here: a directory of such a name would be taken for one."""
_URL = re.compile(r"https?:/", re.IGNORECASE)
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+")


def chosen_format(out: Path, given: ArchiveFormat | None) -> tuple[ArchiveFormat, bool]:
    """Return the format of *out*, and whether it is one file; raises `InvalidArgument` if its name says another one."""
    from webtable.formats import CAPTURE_ENDINGS, capture_format

    ending = out.suffix.lower()
    named = None if out.is_dir() else capture_format(out) or ("wacz" if ending == ".wacz" else None)
    if named is not None:
        if given not in (None, named):
            raise InvalidArgument(f"format={given} does not agree with the name of {out}, which says {named}")
        return ArchiveFormat(named), True
    files = f"captures are written as {', '.join(CAPTURE_ENDINGS)} and .wacz"
    if str(out) == "-":
        pages = "webtable pages --format jsonl --body"
        raise InvalidArgument(f"-: {files}, or into a directory, not to standard output, as {pages} writes pages")
    if ending in _LISTS:
        raise InvalidArgument(f"{out}: {files}; webtable pages --out {out} lists pages")
    if ending in _OTHER_FILES and given is not ArchiveFormat.wacz and not out.is_dir():
        raise InvalidArgument(f"{out}: {files}, or into a directory, whose name has no ending of a file")
    return given or ArchiveFormat.warc, given is ArchiveFormat.wacz


def check_is_no_site(table: WebTable, out: str, site: str | None) -> None:
    """Raise `InvalidArgument` if *out* is a site of the *table*, because no file was named or *site* is the file."""
    is_url = _URL.match(out) is not None
    if not is_url and (Path(out).exists() or not _HOST.fullmatch(out) or why_empty(table, out)):
        return
    file = "FILE"
    if site is not None:
        with suppress(InvalidURL, InvalidArgument):
            if not is_url and not why_empty(table, site):
                return  # into a directory that is named like a host
        file = site
    raise InvalidArgument(f"{out} is a site, not a file to write; did you mean: export {file} {out}?")

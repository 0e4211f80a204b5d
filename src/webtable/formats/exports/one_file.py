"""All captures of a site as one file, in the format that its name says."""

from __future__ import annotations

import os
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable._files import atomic_file
from webtable.errors import InvalidArgument
from webtable.formats.archives.archive import Archived
from webtable.formats.exports.capture_files import KINDS
from webtable.progress import counting
from webtable.repository.context import Frame
from webtable.repository.questions.captures import kept
from webtable.repository.reading.scope import Scope

if TYPE_CHECKING:
    from os import PathLike

    from webtable.formats.exports.manifest import Format
    from webtable.repository.arguments import Progress
    from webtable.repository.reading.site import Site
    from webtable.repository.table.web_table import WebTable

CAPTURE_ENDINGS: Final[dict[str, Format]] = {
    ".warc.gz": "warc",
    ".warc": "warc",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".jsonl.zst": "jsonl",
    ".parquet": "parquet",
}
"""The formats by the endings of the names of files."""
_PROGRESS_PAGES: Final = 100


def capture_format(file: str | PathLike[str]) -> Format | None:
    """Return the format that the name of *file* says, None if it says none."""
    name = Path(file).name.lower()
    return next((form for ending, form in CAPTURE_ENDINGS.items() if name.endswith(ending)), None)


def write_captures(
    table: WebTable,
    file: str | PathLike[str],
    site: Site | None = None,
    *,
    on_progress: Progress | None = None,
) -> Archived:
    """Write all captures that *table* keeps into one file, and return what it holds.

    Its name says the format: .warc.gz, .warc, .jsonl, .jsonl.gz, .jsonl.zst, or .parquet (with
    `hbase-webtable[arrow]`). The pages are those that `WebTable.pages` lists for *site*; `read_pages` reads the file.
    It appears when it is complete, and replaces an earlier one. *on_progress* is called with how many pages were
    written so far. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, `MissingExtra` and `OSError`.
    """
    scope, path = Scope.of(site), Path(file).resolve()
    form = capture_format(path)
    if form is None or path.is_dir() or not path.parent.is_dir():
        endings = ", ".join(CAPTURE_ENDINGS)
        raise InvalidArgument(f"{file}: name a file in an existing directory whose name ends with {endings}")
    frame = Frame.of(table.store, table.table, table.layout, strict=table.strict)
    archived = Archived()
    damage = frame.damage(archived.examples)
    with atomic_file(path) as part, part.open("wb") as opened:
        kind = KINDS[form](opened, path.name)
        pages = groupby(kept(frame, scope, damage), attrgetter("url"))
        for _, captures in counting(pages, on_progress, _PROGRESS_PAGES):
            count = kind.write(captures)
            archived.pages += count > 0
            archived.records += count
        kind.close()
        opened.flush()
        os.fsync(opened.fileno())
        archived.bytes = opened.tell()
    archived.files.append(path.name)
    archived.damaged, archived.incomplete = damage.count, kind.incomplete
    return archived

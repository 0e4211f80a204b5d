"""Answers as Parquet files, whose row groups end where a host ends."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from webtable._whole_file import whole_file
from webtable.repository.answers.arrow_batches import arrow

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import pyarrow as pa

GROUP_ROWS = 50_000
"""How many rows of one host, or of several small ones, are a row group at most."""
GROUP_BYTES = 64 * 2**20
"""How many bytes of memory a row group takes at most, but for the last of its batches."""


def write(reader: pa.RecordBatchReader, path: str | os.PathLike[str], host: str | None) -> int:
    """Write what *reader* has to the file *path*, and return how many rows it was.

    The file is there when it is whole: until then, and where something goes wrong, there is another one beside it that
    is removed. *host* names the column of URLs by whose hosts rows are grouped, if there is one.
    """
    rows = 0
    with whole_file(Path(path)) as part, new_file(part, reader.schema) as writer:
        for group in _groups(reader, host):
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            rows += group.num_rows
    return rows


def new_file(target: Path | IO[bytes], schema: pa.Schema) -> Any:
    """Return what writes a Parquet file of that *schema*."""
    pa = arrow()
    # Statistics hold copies of the smallest and the largest value, and nobody asks for the smallest body.
    compared = [field.name for field in schema if not pa.types.is_binary(field.type)]
    return pa.parquet.ParquetWriter(target, schema, compression="zstd", write_statistics=compared)


def _groups(reader: pa.RecordBatchReader, host: str | None) -> Iterator[pa.Table]:
    """Yield the row groups: whole hosts together up to GROUP_ROWS, or what is over it of a larger one."""
    pa = arrow()
    waiting: list[Any] = []
    for batch in reader:
        waiting.append(batch)
        rows, size = sum(one.num_rows for one in waiting), sum(one.nbytes for one in waiting)
        if rows < GROUP_ROWS and size < GROUP_BYTES:
            continue
        together = pa.Table.from_batches(waiting)
        cut = _last_host(together[host]) or rows if host else rows
        yield together.slice(0, cut)
        waiting = together.slice(cut).to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _last_host(urls: pa.ChunkedArray) -> int:
    """Return the place of the first of the last rows that are of one host; 0 where all are."""
    pc = arrow().compute
    last = _host(urls[-1].as_py())
    same = pc.starts_with(urls, f"{last}/")
    others = pc.index(pc.invert(same).combine_chunks()[::-1], True).as_py()
    return 0 if others < 0 else len(urls) - others


def _host(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])

"""Parquet, compressed with zstd, in groups of some thousands of rows, for files and pipes; needs pyarrow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from webtable.repository.answers.arrow import batches_of, new_file, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column


def lines(records: Iterable[Any], columns: Sequence[Column], *, for_terminal: bool) -> Iterator[bytes]:  # noqa: ARG001
    """Yield the bytes of the file, a row group at a time; raises `MissingExtra`, `FormatError`."""
    written = _Written()
    with new_file(written, schema_of(columns)) as file:
        for batch in batches_of(records, columns):
            file.write_batch(batch)
            yield written.taken()
    yield written.taken()


class _Written(io.RawIOBase):
    """A file that gives away what was written to it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)

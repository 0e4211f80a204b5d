"""The receipt of what `delete` has removed: lines of JSON, each written when it is so."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from webtable._whole_file import own_file
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository import DeletedPage, Deletions


class Receipt:
    """Writes to *file* a line for each page that is deleted, and the sums; without one nothing."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = file

    def page(self, page: DeletedPage) -> None:
        """Write that *page* was deleted."""
        self._line({"what": "page", **page._asdict()})

    def total(self, deletions: Deletions) -> None:
        """Write what was deleted in all."""
        self._line({"what": "total", "at": datetime.now(UTC), **asdict(deletions)})

    def _line(self, fields: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(msgspec.json.encode(fields) + b"\n")


@contextmanager
def receipt_in(name: str | None) -> Iterator[Receipt]:
    """Give the receipt that is written to the new file *name*, if there is a name.

    Raises `InvalidArgument` where the file is there already: a receipt is nothing to write over.
    """
    if name is None:
        yield Receipt()
        return
    try:
        file = open(name, "xb", opener=own_file)  # noqa: SIM115 - what goes wrong in the block is not its
    except FileExistsError as exc:
        raise InvalidArgument(f"--receipt {name}: it is there already; a receipt is a new file") from exc
    with file:
        yield Receipt(file)

"""The rows of an Excel file, read in a process of its own: how much one takes is only seen by reading it.

Its strings are held in memory, a row may have any number of cells, and a zip of 1 MB may have 1 GB in it. The system
bounds what the process may take. Each request names the file and a row, as the process may be a new one.
"""

from __future__ import annotations

import os
import time
from datetime import date, datetime
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from webtable._importable import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 256
_ANSWER_SIZE = 4 << 20
"""How many cells, and characters in them, an answer has at most, not counting its last row."""
_MAX_REASON = 300


class Request(msgspec.Struct, array_like=True, frozen=True):
    """Which rows are to be read: those from the row *start* on, counted from 0."""

    path: str
    identity: tuple[int, int]
    """Device and inode, so that it is the file which was opened."""
    start: int


class Answer(msgspec.Struct, array_like=True):
    """Some rows that are not empty, with their numbers from 1, and where the next answer begins."""

    rows: list[tuple[int, list[str | int | float | None]]] = []
    stop: int = 0
    is_end: bool = False
    error: str | None = None
    seconds: float = 0
    """The processor time that it took."""


_open: tuple[Request, Iterator[Any]] | None = None


def check_openpyxl() -> None:
    """Raise `MissingExtra` unless there is openpyxl, without importing it."""
    if find_spec("openpyxl") is None:
        prepare()


def prepare() -> None:
    """Import what the process needs, before its memory is counted; raises `MissingExtra`."""
    with needed("openpyxl", "excel"):
        import openpyxl  # noqa: F401


def answered(work: bytes) -> bytes:
    """Return the `Answer` to a `Request`; raises `MemoryError`."""
    global _open
    begun = time.process_time()
    request = msgspec.msgpack.decode(work, type=Request)
    try:
        if _open is None or _open[0] != request:
            _open = None
            _open = (request, islice(_rows(request), request.start, None))
        answer = _answer(request.start, _open[1])
        _open = (msgspec.structs.replace(request, start=answer.stop), _open[1])
    except MemoryError:
        raise
    except Exception as exc:  # noqa: BLE001 - openpyxl raises whatever comes of a file that is no workbook
        answer = Answer(error=f"{type(exc).__name__}: {exc}"[:_MAX_REASON])
    answer.seconds = time.process_time() - begun
    return msgspec.msgpack.encode(answer)


def _rows(request: Request) -> Iterator[Any]:
    from openpyxl import load_workbook

    file = Path(request.path).open("rb")  # noqa: SIM115 - it stays open while rows are read
    described = os.fstat(file.fileno())
    if (described.st_dev, described.st_ino) != tuple(request.identity):
        raise OSError(f"{request.path} is no longer the file that was opened")
    sheet = load_workbook(file, read_only=True, data_only=True).worksheets[0]
    sheet.reset_dimensions()  # else rows are as wide as the file says
    yield from sheet.iter_rows(values_only=True)


def _answer(start: int, rows: Iterator[Any]) -> Answer:
    answer = Answer(stop=start, is_end=True)
    size = 0
    for row in rows:
        answer.stop += 1
        values = [_value(value) for value in row]
        if any(value is not None for value in values):
            answer.rows.append((answer.stop, values))
        size += len(values) + sum(len(value) for value in values if isinstance(value, str))
        if len(answer.rows) >= _ROWS or size > _ANSWER_SIZE:
            answer.is_end = False
            break
    return answer


def _value(value: Any) -> str | int | float | None:
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if value is None or type(value) in (str, int, float) else str(value)

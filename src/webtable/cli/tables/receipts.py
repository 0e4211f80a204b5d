"""The receipt of `delete-pages`: lines of JSON, one for each page, on disk before the page is deleted.

    {"what":"request","table":"webtable","site":"example.com", …}      what was asked for
    {"what":"page","url":"https://example.com/", …}                    is deleted next
    {"what":"kept","url":"https://example.com/", …}                    is not: it was fetched again in between
    {"what":"total", …}                                                all is done; the sums of all runs

A run that was killed leaves no total. The same command then continues in the same file.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from webtable._atomic_file import naming_errors, private_opener
from webtable._clock import clock
from webtable.errors import InvalidArgument
from webtable.repository.removing.retention import DeletedPage, Deletions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_UNSURE = 200
"""A run that was killed has listed at most this many pages that it did not delete: `delete_pages` takes 200 at once."""

_BEGIN = b'{"what":"'
_SIGN = {"page": 1, "kept": -1}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class DeletionReceipt:
    """Writes a line to *file* for each page before it is deleted, and the sums; without a file nothing."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = file
        self._name = "" if file is None else file.name
        self._unsure: deque[bytes] = deque(maxlen=MOST_UNSURE)
        self._going: set[DeletedPage] = set()
        self.before: Deletions = Deletions()
        """What earlier runs of the same command have deleted."""

    def begin(self, **request: Any) -> dict[str, Any]:
        """Write the request and return it; a later run gets that of the first one, with its moments.

        Raises `InvalidArgument` if the file is the receipt of another request, of a completed one, or no receipt.
        """
        if self._file is None:
            return request
        first = self._read(self._file)
        if first is None:
            self._write([_line("request", request)])
            return request
        if any(first.get(name) != value for name, value in request.items() if name != "fetched_before"):
            raise self._refused("it is the receipt of something else")
        return first

    def pages(self, pages: Sequence[DeletedPage]) -> None:
        """Write that *pages* are deleted next."""
        self.settle()
        self._going = set(pages)
        if self._file is None:
            return
        lines = {_line("page", page._asdict()): page for page in pages}
        for line in set(self._unsure).intersection(lines):  # listed by a run that was killed before it deleted them
            self._count(-1, lines.pop(line)._asdict())
        self._write(list(lines))

    def gone(self, page: DeletedPage) -> None:
        """Record that *page* was deleted."""
        self._going.discard(page)

    def settle(self) -> None:
        """Write which pages of the last call of `pages` were not deleted."""
        self._write([_line("kept", page._asdict()) for page in self._going])
        self._going = set()

    def total(self, done: Deletions) -> Deletions:
        """Write and return the sums of this and all earlier runs; links are those that this run erased."""
        self.settle()
        before = self.before
        sums = {name: getattr(done, name) + getattr(before, name) for name in ("pages", "versions", "bytes")}
        whole = replace(done, **sums)
        self._write([_line("total", {"at": clock.now(), **asdict(whole)})])
        return whole

    def _read(self, file: BinaryIO) -> dict[str, Any] | None:
        """Return the first line, or None, and count the pages; an incomplete line at the end is removed."""
        first, end = None, 0
        try:
            for text in file:
                if not text.endswith(b"\n") and text.startswith(_BEGIN[: len(text)]):
                    break
                line = _decode(text)
                what = line["what"]
                if first is None and what != "request":
                    raise KeyError(what)
                if what == "total":
                    raise self._refused("that deletion was completed")
                first, end = first or line, end + len(text)
                self._count(_SIGN.get(what, 0), line)
                self._unsure.append(text)
        except (msgspec.MsgspecError, KeyError) as exc:
            raise self._refused("it exists already, and is not a receipt") from exc
        file.seek(end)
        file.truncate()
        return first

    def _refused(self, why: str) -> InvalidArgument:
        return InvalidArgument(f"--receipt {self._name}: {why}; name a new file")

    def _count(self, sign: int, page: dict[str, Any]) -> None:
        before = self.before
        self.before = Deletions(
            before.pages + sign,
            before.versions + sign * (page.get("versions") or 0),
            before.bytes + sign * (page.get("size") or 0),
        )

    def _write(self, lines: Sequence[bytes]) -> None:
        if self._file is not None and lines:
            with naming_errors(Path(self._name)):
                self._file.write(b"".join(lines))
                self._file.flush()
                os.fsync(self._file.fileno())


def _line(what: str, fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"what": what, **fields}) + b"\n"


@contextmanager
def receipt_in(name: str | None) -> Iterator[DeletionReceipt]:
    """Yield the receipt in the file *name*, continued if it exists; without a name one that writes nothing."""
    if name is None:
        yield DeletionReceipt()
        return
    with open(name, "a+b", opener=private_opener) as file:
        file.seek(0)
        yield DeletionReceipt(file)

"""The path of a batch through the writer, traced: which functions hand it on, from `Writer.put` to the store.

A function is on the path where it is at work in the package of the writer while one of these is called: the store, for
the pages; `decide`, which says what becomes of a capture; what makes cells; and what comes after the pages. Run it to
see the path: `python tests/repository/batch_path.py`.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import webtable
from webtable import Page, WebTable
from webtable.repository.page_storage import decisions
from webtable.repository.page_storage.codec import PageCodec
from webtable.repository.upkeep.updates import BatchUpdate
from webtable.store.sqlite.store import SQLiteStore

WRITING = Path(webtable.__file__).parent / "repository" / "writing"
LANDMARKS = {
    function.__code__
    for function in (
        SQLiteStore.read,
        decisions.decide,
        PageCodec.metadata_cells,
        SQLiteStore.write,
        BatchUpdate.after_pages,
    )
}
THREADS = ("MainThread", "webtable-prepare", "webtable-store")


class Trace(NamedTuple):
    """The functions of a path in the order in which they come to the batch, each with its module."""

    functions: Sequence[tuple[str, str]]

    @property
    def modules(self) -> set[str]:
        """The modules of the path."""
        return {module for module, _ in self.functions}

    @property
    def returns(self) -> int:
        """How often the path comes back to a module that it had left."""
        modules = [module for module, _ in self.functions]
        return sum(module != modules[at] and module in modules[:at] for at, module in enumerate(modules[1:]))


def traced(table: WebTable, pages: Sequence[Page]) -> Trace:
    """Put *pages* into a new writer of *table* as one batch, and return the path that it took."""
    found: dict[str, dict[CodeType, None]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = found.setdefault(threading.current_thread().name, {})
        if event == "call" and frame.f_code.co_name in ("put", "_send", "send") and _is_writing(frame.f_code):
            path.setdefault(frame.f_code)
        if event == "call" and frame.f_code in LANDMARKS:
            for code in reversed(list(_stack(frame))):
                path.setdefault(code)

    with table.writer(buffer_pages=len(pages)) as writer:
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            for page in pages:
                writer.put(page)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        writer.flush()
    codes = [code for name in THREADS for thread, path in found.items() if thread.startswith(name) for code in path]
    return Trace([(Path(code.co_filename).stem, code.co_qualname) for code in dict.fromkeys(codes)])


def _stack(frame: FrameType | None) -> list[CodeType]:
    """Return the named functions of the package of the writer that wait for *frame*, the nearest first."""
    codes = []
    while frame is not None:
        if _is_writing(frame.f_code) and not frame.f_code.co_name.startswith("<"):
            codes.append(frame.f_code)
        frame = frame.f_back
    return codes


def _is_writing(code: CodeType) -> bool:
    return Path(code.co_filename).parent == WRITING


def batches(number: int = 5) -> tuple[list[Page], list[Page]]:
    """Return new pages, and captures that repeat them."""
    began = datetime.now(UTC) - timedelta(days=2)
    urls = [f"https://example.com/{index}" for index in range(number)]
    new, again = (
        [Page(url=url, body=url.encode(), fetched_at=began + timedelta(days=day)) for url in urls] for day in (0, 1)
    )
    return new, again


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.db"
        webtable.create(path)
        with webtable.open(path) as table:
            for kind, pages in zip(("new pages", "repeated pages"), batches(), strict=True):
                trace = traced(table, pages)
                print(
                    f"{kind}: {len(trace.functions)} functions in {len(trace.modules)} modules, {trace.returns} returns"
                )
                for module, function in trace.functions:
                    print(f"    {module:16} {function}")

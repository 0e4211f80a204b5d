"""The bodies of a made-up crawl: words, or those of real pages. Two pages of one digest have the same."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from webtable import Page

_WORDS = [f"{first}{second}" for first in ("ta", "re", "mo", "li", "cu") for second in ("ble", "ad", "re", "st", "t")]


def with_body(page: Page, body: Callable[[str], bytes]) -> Page:
    """Return *page* with the *body* of its digest."""
    return replace(page, body=body(page.digest or ""), size=None, digest=None)


def words(digest: str) -> bytes:
    """Return a body of 0.1 to 3 KB."""
    draw = Random(digest)
    return f"<p>{' '.join(draw.choices(_WORDS, k=int(10 ** draw.uniform(1.2, 2.7))))}".encode()


@contextmanager
def real_bodies(files: Iterable[Path]) -> Iterator[Callable[[str], bytes]]:
    """Lend what gives the bodies of the responses in WARC *files*, each with a comment that makes it one of its own.

    They are read from a file: in memory they would be counted as that of webtable.
    """
    with tempfile.TemporaryFile() as stored:
        starts = [0]
        for path in files:
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream):
                    if record.rec_type == "response":
                        stored.write(record.content_stream().read())
                        starts.append(stored.tell())
        if len(starts) == 1:
            raise ValueError("there is no response in these files")
        stored.flush()

        def body(digest: str) -> bytes:
            place = Random(digest).randrange(len(starts) - 1)
            start, end = starts[place : place + 2]
            return os.pread(stored.fileno(), end - start, start) + f"<!-- {digest} -->".encode()

        yield body

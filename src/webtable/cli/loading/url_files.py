"""The URLs in files, one by one: in lists of URLs, WARC, WACZ and JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from webtable._clock import clock
from webtable.display.text import plural
from webtable.formats import ReadReport, lines_of, read_pages
from webtable.ingest.files import holds_pages


@dataclass
class UrlFiles:
    """The URLs in files, in their order, and the progress of reading them.

    A file is a list with one URL per line (blank lines and those that begin with # are skipped), or it holds pages:
    WARC, WACZ or JSON Lines. Any of them may be compressed with gzip, zstd or LZ4. `-` is standard input, a list.
    """

    files: Sequence[str]
    report: ReadReport = field(default_factory=ReadReport)
    count: int = 0
    is_read: bool = False
    _started: float = field(default_factory=lambda: clock.monotonic())

    def __iter__(self) -> Iterator[str]:
        """Yield the URLs as they are written, including invalid ones; raises `FormatError` for a damaged file."""
        for file in self.files:
            for url in self._urls(file):
                self.count += 1
                yield url
        self.is_read = True

    def progress(self) -> tuple[int, str]:
        """Return the number of bytes read, and a text for the progress bar."""
        rate = self.count / max(clock.monotonic() - self._started, 1e-6)
        now = "measuring" if self.is_read else f"{rate:,.0f} keys/s"
        return self.report.bytes_read, f"{plural(self.count, 'key')}  {now}"

    def _urls(self, file: str) -> Iterator[str]:
        # A pipe can be read only once, so its beginning is not checked.
        if file != "-" and Path(file).is_file() and holds_pages(file):
            # Titles and links are of no use here, and take most of the time.
            yield from (page.url for page in read_pages(file, report=self.report, extract=False))
        else:
            yield from self._listed(file)

    def _listed(self, file: str) -> Iterator[str]:
        before = self.report.bytes_read

        def read(size: int) -> None:
            self.report.bytes_read = before + size

        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as opened:
            for line in lines_of(opened, file, on_read=read):
                # A byte that is not UTF-8 becomes a lone surrogate, which no URL may contain.
                text = line.decode("utf-8", "surrogateescape").strip()
                if text and not text.startswith("#"):
                    yield text

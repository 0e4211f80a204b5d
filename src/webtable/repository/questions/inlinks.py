"""Who links to a page, and who did once: the inlinks in its row, each checked against the page that it names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from webtable._page import Page
from webtable.errors import DamagedRow
from webtable.repository.arrow.kinds import INLINKS
from webtable.repository.hints.inlinks import CURRENT_SOURCES, PAST, PAST_SOURCES, link_of
from webtable.repository.hints.targets import Targets
from webtable.repository.indexes.web import LINK
from webtable.repository.moments import moment_of
from webtable.repository.questions.scope import places_of
from webtable.repository.results import Explanation, Results, Slice
from webtable.rowkey import KeyRange, canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.damage import Damage
    from webtable.repository.frame import Frame
    from webtable.store import Cell

SOURCES_AT_ONCE = 64
"""How many linking pages are checked at once."""


@dataclass(frozen=True, slots=True)
class Inlink:
    """A link from the page `source`: its anchor text and `rel` as the page has them now (or had them last).

    `at` is the capture that brought it (or that no longer had it); `page` is the linking page without its body, None
    where that is not stored any more.
    """

    source: str
    anchor: str
    rel: str
    at: datetime
    is_current: bool
    page: Page | None


def linking_to(frame: Frame, url: str, *, past: bool, domain: str | None, part: Slice) -> Results[Inlink]:
    """Return what `WebTable.linking_to` does."""
    part.check("source")
    target = canonical_url(url)
    inside = None if domain is None else places_of(domain)
    question = f"{'past ' if past else ''}links to {target}" + (f" from {domain}" if domain else "")

    def run(source: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Inlink]:
        frame.indexes.ready(LINK.name, question)
        found = InlinkReader(frame, damage).of(target, source, past=past, inside=inside, expected=at_most)
        return islice(found, at_most)

    def explain() -> Explanation:
        row, family = frame.key.encode(target), frame.codec.columns.inlinks
        calls = (
            f"read_cells: up to {SOURCES_AT_ONCE} inlinks of the row {row!r}",
            f"read: the links of {SOURCES_AT_ONCE} linking pages",
        )
        return Explanation(question, part.order, (f"{family}:",), (KeyRange(row, row + b"\x00"),), calls)

    return part.of(question, run, lambda inlink: inlink.source.encode(), explain, frame.damage, INLINKS)


class InlinkReader:
    """Reads the inlinks of one web table, and tells *damage* what cannot be read."""

    def __init__(self, frame: Frame, damage: Damage) -> None:
        self._frame = frame
        self._family = frame.codec.columns.inlinks.encode()
        self._damage = damage

    def of(
        self,
        target: str,
        after: bytes | None = None,
        *,
        past: bool = False,
        inside: KeyRange | None = None,
        sources: KeyRange | None = None,
        expected: int | None = None,
    ) -> Iterator[Inlink]:
        """Yield the inlinks of *target* behind the page *after*; only from pages *inside*, or named in *sources*."""
        row = self._frame.key.encode(target)
        prefix = PAST if past else b""
        rest = sources or (PAST_SOURCES if past else CURRENT_SOURCES)
        rest = rest if after is None else rest.after(prefix + after)
        size = min(expected or SOURCES_AT_ONCE, SOURCES_AT_ONCE)
        while True:
            (cells,) = self._frame.store.read_cells(self._frame.table, [row], self._family, rest, limit=size)
            named = [(column[len(self._family) + 1 + len(prefix) :], cell) for column, cell in cells]
            yield from self._checked(target, named, past=past, inside=inside)
            if len(cells) < size:
                return
            rest, size = rest.after(cells[-1][0][len(self._family) + 1 :]), SOURCES_AT_ONCE

    def first(self, rows: Sequence[bytes], limit: int) -> list[list[bytes]]:
        """Return, for each of *rows*, the URLs of the first *limit* pages that are said to link to it."""
        found = self._frame.store.read_cells(
            self._frame.table, rows, self._family, CURRENT_SOURCES, limit=limit, keys_only=True
        )
        return [[column[len(self._family) + 1 :] for column, _ in cells] for cells in found]

    def source(self, target: bytes, source: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return the row and the URL of the page that an inlink of *target* names, or the error where it names none."""
        try:
            url = source.decode()
            return self._frame.key.encode(url), url
        except ValueError as exc:
            return self._frame.codec.damaged(target, self._family, f"no page links here: {exc}")

    def _checked(
        self, target: str, cells: Sequence[tuple[bytes, Cell]], *, past: bool, inside: KeyRange | None
    ) -> Iterator[Inlink]:
        frame, damage = self._frame, self._damage
        row = frame.key.encode(target)
        named = damage.sift(self._named(row, source, cell) for source, cell in cells)
        wanted = [one for one in named if inside is None or frame.key.unsalted(one.row) in inside]
        pages = frame.counted.read_each([one.row for one in wanted], ("outlinks",)) if wanted else []
        for one, page in zip(wanted, pages, strict=True):
            frame.counts("inlinks.read")
            if isinstance(page, DamagedRow):
                damage.add(page)
                continue
            link = None if page is None else Targets(page.outlinks or ()).link_to(target)
            if (link is None) != past:
                frame.counts("inlinks.dropped")
                continue
            shown = link or link_of(target, one.value)
            yield Inlink(one.source, shown.anchor, shown.rel, one.at, not past, page)

    def _named(self, target: bytes, source: bytes, cell: Cell) -> _Named | DamagedRow:
        """Return the inlink of the row *target* that *cell* is, or the error where it is none."""
        found = self.source(target, source)
        if isinstance(found, DamagedRow):
            return found
        try:
            return _Named(*found, moment_of(cell.timestamp), cell.value)
        except OverflowError as exc:
            return self._frame.codec.damaged(target, self._family, exc)


class _Named(NamedTuple):
    """An inlink: the row and the URL of the page that links, since when, and the value."""

    row: bytes
    source: str
    at: datetime
    value: bytes

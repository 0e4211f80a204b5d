"""The question for the neighbours of a page: who links to it, and where it links to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from webtable.errors import DamagedRow
from webtable.repository.answers.columns import Columns, column, declared
from webtable.repository.answers.results import Slice
from webtable.repository.answers.tabular import Tabular
from webtable.repository.arguments import check_numbers
from webtable.repository.questions.inlinks import linking_to
from webtable.repository.scanning.scope import Scope
from webtable.rowkey import canonical_url
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from webtable._page.page import Page
    from webtable._page.parts import Link
    from webtable.repository.frame import Frame


class Neighbour(NamedTuple):
    """A page that links to another (`direction` "from"), or that one links to ("to"), and the link.

    `status` is that of its last capture, None if it is not stored.
    """

    direction: Literal["from", "to"]
    url: str
    anchor: str
    rel: str
    status: int | None


NEIGHBOURS = declared(
    Neighbour,
    "neighbour",
    column("direction"),
    column("url", "url"),
    column("anchor", share=2),
    column("rel", width=9),
    column("status", "status", heading="status"),
)


@dataclass(frozen=True, slots=True)
class Neighbours(Tabular[Neighbour]):
    """The pages around `url`, which need not be stored itself: those that link to it, and those that it links to.

    As a table it has a row for each. `more_linking` is whether more pages link here, `more_linked` how many
    more it links to.
    """

    url: str
    linking: tuple[Neighbour, ...]
    linked: tuple[Neighbour, ...]
    more_linking: bool = False
    more_linked: int = 0

    @property
    def _columns(self) -> Columns:
        return NEIGHBOURS

    def _title(self) -> str:
        return f"links from and to {self.url}"

    def __iter__(self) -> Iterator[Neighbour]:
        yield from self.linking
        yield from self.linked

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the pages that link here on the left, those that it links to on the right, and return the axes.

        *ax* are axes of matplotlib to draw on; without them a figure is made. Raises `MissingExtra` without
        matplotlib.
        """
        from webtable.repository.pictures.page import draw_neighbours

        return draw_neighbours(self, ax)


def neighbours(frame: Frame, url: str, limit: int) -> Neighbours:
    """Return what `TableLinks.neighbours` does."""
    check_numbers(limit=limit)
    centre = canonical_url(url)
    # One more for the page itself, and one to see whether there are more.
    asked = linking_to(frame, centre, past=False, scope=Scope(), part=Slice("source", limit + 2))
    inlinks = [one for one in asked if one.source != centre]
    linking = [Neighbour("from", one.source, one.anchor, one.rel, _status(one.page)) for one in inlinks[:limit]]
    links = [link for link in _links(frame, centre) if link.url != centre]
    linked = tuple(_with_status(frame, links[:limit]))
    return Neighbours(centre, tuple(linking), linked, len(inlinks) > limit, max(0, len(links) - limit))


def _links(frame: Frame, url: str) -> Sequence[Link]:
    """Return the links of *url*, the first to each page; none if it is not stored.

    A link that leads to no page, such as an erased one (`about:blank`), is left out.
    """
    (page,) = frame.counted.read([frame.key.encode(url)], ("outlinks",))
    links: dict[str, Link] = {}
    for link in (page and page.outlinks) or ():
        if canonical_or_none(link.url) is not None:
            links.setdefault(link.url, link)
    return tuple(links.values())


def _with_status(frame: Frame, links: Sequence[Link]) -> Iterator[Neighbour]:
    rows = [frame.key.encode(link.url) for link in links]
    for link, page in zip(links, frame.counted.read_each(rows, ()) if rows else (), strict=True):
        if isinstance(page, DamagedRow):
            frame.damage().add(page)
            page = None
        yield Neighbour("to", link.url, link.anchor, link.rel, _status(page))


def _status(page: Page | None) -> int | None:
    return None if page is None else page.status

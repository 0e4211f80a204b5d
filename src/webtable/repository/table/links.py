"""The links between pages: `table.links`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from webtable.repository import links
from webtable.repository.answers.results import Window
from webtable.repository.partitions.questions import repeatable
from webtable.repository.reading.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.page.parts import Link
    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.arguments import Progress
    from webtable.repository.context import Frame
    from webtable.repository.indexes.answer import PageOptions
    from webtable.repository.links.inlinks import Inlink
    from webtable.repository.links.links import BrokenLink, Freshness
    from webtable.repository.reading.site import Site
    from webtable.repository.upkeep.recounts import Recount


class TableLinks:
    """The links between the pages of a `WebTable`: questions about them, and the counts of them.

    Where a *site* narrows a question about links, it is the site of the linking page.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    @repeatable(order=None, by_source=True)
    def to(
        self,
        url: str,
        site: Site | None = None,
        *,
        past: bool = False,
        limit: int | None = None,
        after: str | None = None,
        order: str = "source",
    ) -> Results[Inlink]:
        """Return the links that lead to *url* now, by the URL of the linking page; with *past*, those that once did.

        Each is checked against the linking page. *url* need not be stored.
        """
        window = Window(order, limit, after)
        return links.inlinks.InlinksQuestion(self._frame, url, Scope.of(site), window, past=past).answer()

    def of(self, url: str, *, limit: int | None = None, after: str | None = None, order: str = "page") -> Results[Link]:
        """Return the links of *url*, in the order in which the page has them; empty if it is not stored.

        Raises `DamagedRow` when the answer is read, if its row cannot be.
        """
        return links.links.LinksQuestion(self._frame, url, Window(order, limit, after)).answer()

    @repeatable()
    def most_linked(self, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages by how many others link to them, the `most` first or the `fewest`; at least one does.

        The counts (`Page.link_counts`) are those that `refresh` has made, and each says when; `freshness` reports what
        waits to be counted.
        """
        return links.links.most_linked(self._frame, {"site": site, **options})

    @repeatable()
    def dead_ends(self, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages that have no links to other pages, by `url`; a page that links only to itself is one."""
        return links.links.dead_ends(self._frame, {"site": site, **options})

    @repeatable(order=None)
    def broken(
        self,
        site: Site | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "status",
    ) -> Results[BrokenLink]:
        """Return the links that lead to an error page, by its status, its URL and the URL of the linking page.

        Raises `IndexNeeded` when the answer is read, on a table without the status or the link index.
        """
        window = Window(order, limit, after)
        return links.links.BrokenLinksQuestion(self._frame, Scope.of(site), window).answer()

    @repeatable()
    def orphans(
        self,
        site: Site | None = None,
        *,
        within_host: bool = False,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Pages:
        """Return the pages of *site* that no other stored page links to; a link to itself does not count.

        With *within_host*, return those that no other page of their own host links to, whoever else does. The answer
        holds as of now, whenever links were counted last: all rows are read with the first of their inlinks, and of the
        linking pages one is looked for that still links. *columns* and *order* are as in `WebTable.pages`. Raises
        `IndexNeeded` when the answer is read, on a table without the link index.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return links.unlinked.OrphansQuestion(self._frame, scope, window, columns, within_host=within_host).answer()

    @repeatable()
    def discovered(
        self,
        site: Site | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[str]:
        """Return the URLs of *site* that pages link to and that are not stored yet: what to crawl next.

        They are found by their rows, all of which are read, without values; of the linking pages one is looked for that
        still links. Raises `IndexNeeded` when the answer is read, on a table without the link index.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return links.unlinked.DiscoveredQuestion(self._frame, scope, window).answer()

    def refresh(self, *, on_progress: Progress | None = None, also_unfinished: bool = False) -> Recount:
        """Count the links to the pages that were linked or unlinked since the last run, and the pages of their hosts.

        It is safe to run at any time, by several processes at once, and again after a crash. The pages of a writer that
        was not closed are counted once they are ten minutes old; with *also_unfinished* they are counted now, and
        once more then. *on_progress* is called with the number of pages looked at so far. There is no dry run, because
        nothing is lost; `freshness` says what waits.
        """
        return links.links.refresh_links(self._frame, on_progress, also_unfinished=also_unfinished)

    def freshness(self) -> Freshness:
        """Return what waits for `refresh`: how fresh the counts of links are."""
        return links.links.links_freshness(self._frame)

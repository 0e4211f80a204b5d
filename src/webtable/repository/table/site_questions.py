"""Questions about the pages of a site, which are answered by reading their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository import links, questions
from webtable.repository.answers.results import Window
from webtable.repository.arguments import GAP, GROUPINGS, LIKE, MAX_TITLE, moments
from webtable.repository.partitions.questions import repeatable
from webtable.repository.reading.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import timedelta
    from os import PathLike

    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.arguments import Grouping, Moment, Progress
    from webtable.repository.context import Frame
    from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
    from webtable.repository.duplicates.near import NearDuplicateGroup
    from webtable.repository.hosts.hosts import Hosts
    from webtable.repository.links.links import Edge
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.questions.crawls import Crawl
    from webtable.repository.questions.growth import Growth
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.stats import Stats
    from webtable.repository.questions.titles import TitleProblem
    from webtable.repository.questions.unresolved import Unresolved
    from webtable.repository.reading.site import Site
    from webtable.repository.text.matching import Hit, SearchIn


class SiteQuestions:
    """The questions that a `WebTable` answers by reading the rows of a site.

    From `duplicate_groups` on, every row of the site is read, without bodies, for any part of the answer, and what is
    found is sorted on disk. That takes some 50 MB of memory for any number of pages, and 1 to 4 GB of the directory for
    temporary files for 10 million of them; `OSError` is raised if that directory is full.
    """

    _frame: Frame

    @repeatable()
    def pages(
        self,
        site: Site | None = None,
        *,
        status: int | Collection[int] | None = None,
        content_type: str | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Pages:
        """Return the pages of *site*, lazily; without their bodies unless *columns* names them.

        *status*, *content_type*, *min_size* and *max_size* (in bytes, both included) choose among the pages; all rows
        of the site are read for that. *columns* names those of its tables and frames; `body` (also for `text`),
        `outlinks` and `link_counts` are read only if they are named, and the other fields of pages always are. Pages
        come in the order of their URL keys (host reversed, then path, query, scheme), or with `order="storage"` as they
        are stored, which is faster where many salts take part.
        """
        condition = questions.pages.Condition(status, content_type, min_size, max_size)
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.pages.PagesQuestion(self._frame, scope, window, condition, columns).answer()

    @repeatable(order=None, by_source=True)
    def unresolved(
        self,
        site: Site | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Unresolved]:
        """Return the open revisits of *site*: captures whose content is that of another one, which is not stored.

        They get it when that is stored. They come in the order of their URLs, those of one page by their dates.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.unresolved.UnresolvedQuestion(self._frame, scope, window).answer()

    @repeatable(order=None)
    def hosts(
        self,
        site: Site | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Hosts:
        """Return the hosts of *site*, or of the whole table, that have pages, with their numbers of pages and bytes.

        The numbers are those that `links.refresh` has counted, and each says when; `stats` counts now. Hosts come in
        the order of their pages. Raises `IndexNeeded` when the answer is read.
        """
        return questions.hosts.HostsQuestion(self._frame, Scope.of(site), Window(order, limit, after)).answer()

    @repeatable()
    def edges(
        self,
        site: Site | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Edge]:
        """Return the link graph of *site*, lazily: an edge for each link of each page, with the status of its target.

        Edges come by the URL of the linking page (or in the `storage` order of these), then by that of the target,
        which may be on any site; each target once for a page. Links that lead to no page, such as `mailto:`, are left
        out. The links of all pages of the site are read, and the metadata of the targets of up to 1,000 links at once;
        a status is looked up again after 10,000 other targets.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return links.link_graph.EdgesQuestion(self._frame, scope, window).answer()

    @repeatable(undivided="relevance")
    def search(
        self,
        text: str,
        site: Site | None = None,
        *,
        in_: SearchIn = "all",
        substring: bool = False,
        status: int | None = None,
        content_type: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Hit]:
        """Return the pages with all the words of *text* in their title, their body, or the two together, lazily.

        A word is a run of letters and digits, in either case and any canonical form of Unicode: `cat` is not found in
        `application`, `appl*` is, and `don't` is the phrase "don t". *text* may have phrases in double quotes, which go
        over the end of a sentence, `-without`, `title:word` and `lang:de`, the language of the page. With *substring*
        its parts are characters, which are also found inside words, and nothing but the quotes has a meaning.

        A body that is neither HTML nor text has no words. All bodies of the site are read; with `in_="title"` no body
        is, and where the table has a plain `title` column the store skips most pages that do not match. *status*,
        *content_type*, *since* and *until* are those of the last capture. The other arguments are those of `pages`; the
        page of a hit has its body only if *columns* names `body` or `text`.

        With `order="relevance"` the best matches come first, as full text ranks them (`search_index`), and each page is
        compared with *text* before it is returned, so none is wrong. The same words find the same pages, but for what
        was indexed: by default the main text, to which `in_="all"` adds the links to a page and the words of its URL.
        `in_="page"` leaves these out; `search_index.create(text="all")` indexes all text.

        Raises `InvalidArgument` also for a quote before a word that is not closed, and `IndexNeeded` for this order if
        the table has no full text, or none that is complete.
        """
        from webtable.repository.text.matching import Phrase  # it imports what only a search needs

        times = moments(since=since, until=until)
        phrase = Phrase(text, in_, substring, status, content_type, times["since"], times["until"])
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.search.search(self._frame, scope, window, phrase, columns).answer()

    def stats(
        self,
        site: Site | None = None,
        *,
        by: Grouping | Sequence[Grouping] = GROUPINGS,
        bytes: bool = True,  # noqa: A002, as `Stats` calls them
        on_progress: Progress | None = None,
        now: Moment | None = None,
        resume: str | PathLike[str] | None = None,
        workers: int = 1,
    ) -> Stats:
        """Return how many pages *site* has and how many bytes their bodies have, in all and in groups, counted now.

        *by* names the groupings. By default these are `host`, `status`, `type` (the media type), `language` (without
        its region: `pt` for `pt-br`), `age` (of the last capture, at *now*) and `region`; there are also `size` (in
        classes), `day` and `month` (of the last capture, in UTC). No bodies are read; without *bytes*, and by host and
        region alone, only row keys are. *on_progress* is called with the number of pages counted so far, after every
        1,000 of them and at the end. Rows that cannot be read are counted separately. *resume* names the journal from
        which a count that was cut short continues, as in `maintenance.verify`; `OSError` is raised if it cannot be
        written. With more than one of *workers*, as many processes count parts of the table.
        """
        asked = questions.stats.StatsQuestion(Scope.of(site), by, bytes, now, workers)
        return questions.stats.stats(self._frame, asked, on_progress, resume)

    @repeatable(until_now=True)
    def changes(
        self,
        site: Site | None = None,
        *,
        since: Moment,
        until: Moment | None = None,
        kind: ChangeKind | Collection[ChangeKind] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Change]:
        """Return what became of the pages of *site* between the moments *since* and *until* (now by default), lazily.

        - `new`: its first stored capture is later than *since*.
        - `gone`: it had a status below 400 at *since*, and has one of 400 or above at *until*.
        - `changed`: its digest, status or redirect differs, and it is not gone; also a page whose version at *since* is
          not kept any more, which has `before=None`.
        - `unchanged`: it is as it was, whatever it was in between. These come only if *kind* names them.

        *kind* is one of these or several; by default the first three. Pages without a capture up to *until* and deleted
        pages are left out. Captures at exactly *since* or *until* count. All rows of the site are read, and the list of
        versions of those with other content since then. The other arguments are those of `pages`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.changes.ChangesQuestion(self._frame, scope, window, since, until, kind).answer()

    def duplicate_groups(
        self,
        site: Site | None = None,
        *,
        by: Sameness = "content",
        limit: int | None = None,
        after: str | None = None,
        order: str = "pages",
    ) -> Results[DuplicateGroup]:
        """Return the groups of two or more pages with the same content (digest), or *by* the same "title".

        Pages of every status count; pages without a body, or without a title, are in no group. The groups with the most
        `pages` come first, or those with the most `bytes`; each has its first ten URLs.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.duplicate_groups.DuplicateGroupsQuestion(self._frame, scope, window, by).answer()

    def near_duplicate_groups(
        self,
        site: Site | None = None,
        *,
        at_least: float = LIKE,
        limit: int | None = None,
        after: str | None = None,
        order: str = "pages",
    ) -> Results[NearDuplicateGroup]:
        """Return the groups of two or more pages of *site* whose main texts are nearly the same.

        Pages of *at_least* that `similarity` (`near_duplicates`) are joined, and what is joined to one page is a group.
        Compared are the texts of pages with a band in common: up to 16 of these each with each; of more, each with the
        first 16, and the first of 16 other groups. The order is as in `duplicate_groups`. Raises `MissingExtra`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        question = questions.near_duplicate_groups.NearDuplicateGroupsQuestion(self._frame, scope, window, at_least)
        return question.answer()

    def titles(
        self,
        site: Site | None = None,
        *,
        max_length: int = MAX_TITLE,
        limit: int | None = None,
        after: str | None = None,
        order: str = "problem",
    ) -> Results[TitleProblem]:
        """Return what is wrong with titles: missing ones, then duplicates, then those longer than *max_length*.

        Only HTML pages with status 200 count. Duplicates come by title, the others by URL; a page may come both as a
        duplicate and as too long. *max_length* is in characters.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.titles.TitlesQuestion(self._frame, scope, window, max_length).answer()

    def redirect_chains(
        self,
        site: Site | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[RedirectChain]:
        """Return the chains of redirects, by the URL where each begins: one to which no other page of *site* redirects.

        A loop that nothing leads into begins at its first URL. A chain continues through stored pages of other sites,
        for 20 redirects at most, as in `resolve`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.redirect_chains.RedirectChainsQuestion(self._frame, scope, window).answer()

    def crawls(
        self,
        site: Site | None = None,
        *,
        gap: timedelta | str = GAP,
        limit: int | None = None,
        after: str | None = None,
        order: str = "newest",
    ) -> Results[Crawl]:
        """Return when *site* was crawled, the `newest` crawl first or the `oldest`: runs of captures between pauses.

        A pause longer than *gap*, a `timedelta` or a text such as "6h", ends a crawl. Counted are the stored captures:
        the newest one of each page, and each one that began a kept version (another body, status or redirect) or wrote
        its content again for its TTL. A capture that only repeats content counts until the next capture of its page.
        Versions are read without bodies. `webtable.reports.compare` takes two rows of the answer.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.crawls.CrawlsQuestion(self._frame, scope, window, gap).answer()

    def largest_growth(
        self,
        site: Site | None = None,
        *,
        since: Moment,
        until: Moment | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "most",
    ) -> Results[Growth]:
        """Return the pages whose size has changed `most` between the moments *since* and *until* (now by default).

        Sizes are those of the bodies, in bytes. The order `grown` gives only the pages that are larger, `shrunk` those
        that are smaller; equal growth comes by URL. A page is left out if it did not exist at one of the moments, had
        no body then, or its version then is not kept any more. Pages are read as in `changes`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.growth.GrowthQuestion(self._frame, scope, window, since, until).answer()

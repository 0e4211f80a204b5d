"""The groups of methods of a table: its links, indexes and full text, and its maintenance."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Unpack

from webtable.repository import full_text, links, maintenance
from webtable.repository.answers.results import Pages, Results, Window
from webtable.repository.arguments import SETTLE_SECONDS, Moment, Progress
from webtable.repository.maintenance.create import Alteration, AlterOptions, options_of
from webtable.repository.partitions.questions import repeatable
from webtable.repository.reading.scope import Scope, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from webtable.page.parts import Link
    from webtable.repository.context import TableContext
    from webtable.repository.copying import Copied, CopyCheck
    from webtable.repository.full_text.upkeep import TextIndexState, TextRefresh
    from webtable.repository.indexes.pages import PageOptions
    from webtable.repository.links.inlinks import Inlink
    from webtable.repository.links.kinds import LinkKinds
    from webtable.repository.links.links import BrokenLink, Freshness
    from webtable.repository.maintenance.verify import Verification
    from webtable.repository.upkeep.recounts import Recount
    from webtable.repository.upkeep.repair import Drift, Maintenance
    from webtable.schema import IndexState, LayoutPlan
    from webtable.url_filter import URLFilter


# --- table.links ------------------------------------------------------------------------------------------------------


class TableLinks:
    """The links between the pages of a `WebTable`: questions about them, and the counts of them.

    Where a *site* narrows a question about links, it is the site of the linking page.
    """

    def __init__(self, context: TableContext) -> None:
        self._context = context

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
        return links.inlinks.InlinksQuestion(self._context, url, Scope.of(site), window, past=past).answer()

    def of(
        self,
        url: str,
        *,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "page",
    ) -> Results[Link]:
        """Return the links of *url*, in the order in which the page has them; empty if it is not stored.

        Raises `DamagedRow` when the answer is read, if its row cannot be.
        """
        return links.links.LinksQuestion(self._context, url, Window(order, limit, after, urls)).answer()

    @repeatable()
    def most_linked(self, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages by how many others link to them, the `most` first or the `fewest`; at least one does.

        The counts (`Page.link_counts`) are those that `refresh` has made, and each says when; `freshness` reports what
        waits to be counted.
        """
        return links.links.most_linked(self._context, {"site": site, **options})

    @repeatable()
    def dead_ends(self, site: Site | None = None, *, kinds: LinkKinds = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages that have no links to other pages, by `url`; a page that links only to itself is one.

        Links of other *kinds* than those that lead to pages do not count; see `orphans`. With *kinds* the links of all
        pages are read. What has no known links, as an image or a PDF, is no dead end.
        """
        return links.links.dead_ends(self._context, kinds, {"site": site, **options})

    @repeatable(order=None)
    def broken(
        self,
        site: Site | None = None,
        *,
        kinds: LinkKinds = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "status",
    ) -> Results[BrokenLink]:
        """Return the links that lead to an error page, by its status, its URL and the URL of the linking page.

        They are those that lead to pages, redirects among them, or those of *kinds*, as in `orphans`.
        Raises `IndexNeeded` when the answer is read, on a table without the status or the link index.
        """
        window = Window(order, limit, after)
        return links.links.BrokenLinksQuestion(self._context, Scope.of(site), window, kinds).answer()

    @repeatable()
    def orphans(
        self,
        site: Site | None = None,
        *,
        within_host: bool = False,
        kinds: LinkKinds = None,
        columns: Sequence[str] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Pages:
        """Return the pages of *site* that no other stored page links to; a link to itself does not count.

        Links of the *kinds* `a`, `frame`, `iframe`, `refresh` and `redirect` count unless others are given. Robots.txt
        and sitemaps are no orphans, and images, scripts, styles, media and fonts only if *kinds* has theirs.
        With *within_host*, return those that no other page of their own host links to, whoever else does. The answer
        holds as of now, whenever links were counted last: all rows are read with the first of their inlinks, and of the
        linking pages one is looked for that still links. *columns* and *order* are as in `WebTable.pages`. Raises
        `IndexNeeded` when the answer is read, on a table without the link index.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return links.unlinked.OrphansQuestion(
            self._context, scope, window, columns, within_host=within_host, kinds=kinds
        ).answer()

    @repeatable()
    def discovered(
        self,
        site: Site | None = None,
        *,
        kinds: LinkKinds = None,
        max_depth: int | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[str]:
        """Return the URLs of *site* that pages link to and that are not stored yet: what to crawl next.

        Links that lead to pages count, or those of *kinds*, as in `orphans`; with *max_depth* those of pages with a
        `depth` below that. In the *order* `depth` those come first that the fewest links lead to from where the crawl
        began, in the order `priority` those whose linking pages have the highest; those of pages that do not say it
        come last. Then all links to them are read, and they are sorted on disk. URLs whose last fetch failed are left
        out until they are due again (`WebTable.put_failed`).
        Of *urls* each comes as it is to be fetched (`URLFilter.clean`), unless that is stored; so it may come again.
        They are found by their rows, all of which are read, without values; of the linking pages one is looked for that
        still links. Raises `IndexNeeded` when the answer is read, on a table without the link index.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return links.unlinked.DiscoveredQuestion(self._context, scope, window, kinds, max_depth).answer()

    def refresh(self, *, on_progress: Progress | None = None, also_unfinished: bool = False) -> Recount:
        """Count the links to the pages that were linked or unlinked since the last run, and the pages of their hosts.

        It is safe to run at any time, by several processes at once, and again after a crash. The pages of a writer that
        was not closed are counted once they are ten minutes old; with *also_unfinished* they are counted now, and
        once more then. *on_progress* is called with the number of pages looked at so far. There is no dry run, because
        nothing is lost; `freshness` says what waits.
        """
        return links.links.refresh_links(self._context, on_progress, also_unfinished=also_unfinished)

    def freshness(self) -> Freshness:
        """Return what waits for `refresh`: how fresh the counts of links are."""
        return links.links.links_freshness(self._context)


# --- table.indexes ----------------------------------------------------------------------------------------------------


class TableIndexes:
    """The indexes of a `WebTable`, which may be in use while its indexes are changed, compared and repaired."""

    def __init__(self, context: TableContext) -> None:
        self._context = context

    @property
    def _maintenance(self) -> Maintenance:
        # Reading starts faster without what repairs and copies import (30 and 90 of 174 ms).
        from webtable.repository.upkeep.repair import Maintenance
        from webtable.repository.writing.batch import mend_pages

        return Maintenance(self._context, partial(mend_pages, self._context))

    def states(self) -> dict[str, IndexState]:
        """Return the indexes of the table by name, and the phase that each is in."""
        return {name: index.state for name, index in sorted(self._context.indexes.read().items())}

    def add(self, index: str, *, dry_run: bool = False, on_progress: Progress | None = None, workers: int = 1) -> int:
        """Add one of webtable's own indexes by name, or yours by its importable name (`package.module:attribute`).

        Its entries are written at once, and questions use it from then on. Returns the number of pages. If it is
        interrupted, `rebuild` continues. *workers* is as there. With *dry_run* the pages are counted and nothing is
        added. Raises `UnknownIndex`, and `InvalidArgument` if the table has it already.
        """
        return self._maintenance.add(index, on_progress, dry_run=dry_run, workers=workers)

    def drop(self, index: str, *, dry_run: bool = False) -> IndexState:
        """Drop the *index* with its entries, unless it is a *dry_run*, and return the state that it was in.

        It takes some seconds, so that every reader and writer notices before the entries go. Raises `UnknownIndex`.
        """
        return self._maintenance.drop(index, dry_run=dry_run)

    def rebuild(
        self, index: str, *, dry_run: bool = False, on_progress: Progress | None = None, workers: int = 1
    ) -> int:
        """Write the entries of every page again, and return the number of pages; entries that are there stay.

        It may run beside writers and readers, and be repeated. If it was interrupted while the index was new, it
        continues from there. Entries that no longer hold are removed by `repair`. Rows that cannot be read are left out
        and counted in `metrics`. With more than one of *workers*, as many processes write the entries of parts of the
        pages. With *dry_run* the pages are counted and nothing is written. Raises `UnknownIndex`, `InvalidArgument` for
        an index that is being dropped, and `IndexNotNamed`.
        """
        return self._maintenance.rebuild(index, on_progress, dry_run=dry_run, workers=workers)

    def verify(
        self,
        index: str,
        *,
        as_of: Moment | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
        resume: str | PathLike[str] | None = None,
        workers: int = 1,
    ) -> Drift:
        """Return how *index* differs from the pages, in both directions, without changing anything.

        Captures later than *as_of* (now by default) are left out, so that running writers do not look like drift; for
        the same reason a difference must last for *settle* seconds. The link index is also compared with the inlinks of
        all pages, and with it (or with any index, if there is none) the newest capture of each page with its history.
        *on_progress* is called with the number of pages and entries looked at. *resume* names the journal from which a
        comparison that was cut short continues, as in `maintenance.verify`; that of the inlinks starts again. With
        more than one of *workers*, as many processes compare parts of the pages and of the entries, and this one the
        inlinks. Raises `UnknownIndex`, `InvalidArgument` if the file is something else,
        and `OSError` if it cannot be written.
        """
        return self._maintenance.repair(
            index, apply=False, as_of=as_of, on_progress=on_progress, settle=settle, resume=resume, workers=workers
        )

    def repair(
        self,
        index: str,
        *,
        dry_run: bool = False,
        as_of: Moment | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
        resume: str | PathLike[str] | None = None,
    ) -> Drift:
        """Write the entries that are missing, remove those that are stale, and return how *index* differed.

        Pages whose newest capture disagrees with their history are mended as well. With *dry_run* nothing is changed:
        it is `verify`, whose other arguments it has. Raises `IndexNotNamed`, and as `verify` does.
        """
        return self._maintenance.repair(
            index, apply=not dry_run, as_of=as_of, on_progress=on_progress, settle=settle, resume=resume
        )


# --- table.search_index -----------------------------------------------------------------------------------------------


class TableSearchIndex:
    """The full text of a `WebTable`, by which `search` ranks pages. A table has none until it is created."""

    def __init__(self, context: TableContext) -> None:
        self._context = context

    def create(
        self,
        *,
        text: Literal["main", "all"] = "main",
        stemming: str | None = None,
        max_text: int = 65_536,
        on_progress: Progress | None = None,
    ) -> TextRefresh:
        """Create the full text, from all stored pages, in place of one that the table may have.

        What is indexed of a page is its `main` text or `all` of it, up to *max_text* characters, its title, its first
        heading, the anchor texts of links to it, and the words of its URL. With *stemming*, a language of Snowball
        (`"english"`, with the extra `search`), words are found by their stems. The table may be in use. A call that was
        interrupted is continued by `refresh`. *on_progress* is called with the number of pages so far.

        An SQLite file has it inside, other stores in a directory of this machine: below the one that the variable
        WEBTABLE_SEARCH names, else among the data of the user's programs. That needs the extra `search`, and `refresh`.

        Raises `InvalidArgument`, `MissingExtra`, and `CapabilityError` for a table in memory.
        """
        settings = full_text.index.TextSettings(text, stemming, max_text)
        return full_text.upkeep.create(self._context, settings, on_progress)

    def refresh(self, *, every: bool = False, on_progress: Progress | None = None) -> TextRefresh:
        """Bring the full text to the state of the stored pages, or go on with a `create` that was interrupted.

        In a file whoever writes or deletes pages keeps it so, and only expired pages go here. In a directory, as of a
        table of HBase, the pages that were fetched since the last refresh are added, by the time index: those that are
        stored an hour after they were fetched or later, and deleted ones, are found with *every*, which compares all
        pages, as it is done without that index. Raises `IndexNeeded` if the table has none, and `StoreUnavailable` if
        another process is writing to the directory.
        """
        return full_text.upkeep.refresh(self._context, on_progress, every=every)

    def state(self) -> TextIndexState | None:
        """Return what is indexed, whether it is complete, and its size; None if the table has no full text."""
        return full_text.upkeep.state(self._context)

    def drop(self) -> bool:
        """Remove the full text; returns whether there was any."""
        return full_text.upkeep.drop(self._context)


# --- table.maintenance ------------------------------------------------------------------------------------------------


class CopyTarget(Protocol):
    """The table that a copy is written into: a `WebTable`."""

    @property
    def _context(self) -> TableContext: ...


class TableMaintenance:
    """What operators do with a `WebTable`: alter, verify, copy, back up and compact it."""

    def __init__(self, context: TableContext) -> None:
        self._context = context

    def alter(self, *, dry_run: bool = False, **options: Unpack[AlterOptions]) -> LayoutPlan:
        """Alter what can be altered while the table is in use, and return what was done; nothing with *dry_run*.

        The *options* are those of `webtable.maintenance.AlterOptions`. The stored layout and the families of all its
        tables then agree; other processes follow within two seconds. `ttl` and `versions` are those of the content:
        links are kept twice as long. `losses` of the plan lists what is no longer kept; that cannot be undone. A call
        that was cut short is completed by the same call. Raises `NotAlterable` for what never changes, such as the
        salt, `InvalidArgument`, and `CapabilityError`, with the statements for the HBase shell, if the gateway cannot
        do it.
        """
        context = self._context
        steps = Alteration(context.store, context.table, context.indexes.read(), options_of(options))
        if dry_run:
            return steps.planned()
        done = steps.done()
        context.layouts.read()
        return done

    def verify(
        self,
        site: Site | None = None,
        *,
        on_progress: Progress | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Verification:
        """Return what is damaged of the pages of *site*, or of the whole table.

        All versions are read with their bodies and links, and compared with their checksums, digests and sizes. Then
        the pages of each host are counted, and compared with what `links.refresh` has counted, unless something of the
        host has changed since: rows that a damaged file has lost are `missing`. If the counts of a host are not exact,
        because two processes with different clocks made them at once, `indexes.rebuild("host")` counts all pages again.
        *on_progress* is called with the number of pages read so far, after every 1,000 of them and at the end.

        With *resume*, the name of a journal, what was found is saved there every 10 seconds: after an interrupt or a
        crash the same call continues from it. At the end the file is removed. Raises `InvalidArgument` if the file is
        something else, and `OSError` if it cannot be written.
        """
        return maintenance.verify.verify(self._context, Scope.of(site), on_progress, resume)

    def copy(
        self,
        target: CopyTarget,
        *,
        dry_run: bool = False,
        resume: str | PathLike[str] | None = None,
        rate: float | None = None,
        on_copied: Callable[[Copied], object] | None = None,
        workers: int = 1,
    ) -> Copied:
        """Copy every page into *target*, with all its versions, dates, links and counts of changes, and every delete.

        The tables may have different layouts and be in different stores; `webtable.maintenance.copy_target` opens or
        creates one. What is there already stays as it is, so a copy may be repeated, run several times at once, and
        beside writers of either table: what is written meanwhile is copied by the next call. If *target* has its own
        captures of a page, each takes its place beside them. The links are counted by its `links.refresh`.

        With *dry_run* nothing is written into *target*, and the report is that of the copy as it would be made now;
        only its `inlinks` may differ, as copied pages and deletes change some of them.

        *resume* names a journal, a file that keeps the progress: after an interruption a call with the same journal
        continues from there, and `resumed` is True in its result. *on_copied* is called from time to time with the
        progress; an exception that it raises ends the copy. At most *rate* pages are compared per second. With more
        than one of *workers*, as many processes copy parts of the table. Damaged pages are skipped and counted. Raises
        `ExpiredCapture`, before anything is written, if *target* would drop content because of its time to live,
        `InvalidArgument` if both are the same table or the journal is that of another target or in use, `OSError` if it
        cannot be written, and `StoreUnavailable`.
        """
        from webtable.repository.copying import copy

        return copy(self._context, target._context, resume, rate, on_copied, dry_run=dry_run, workers=workers)

    def check_copy(self, target: CopyTarget, *, full: bool = False, on_progress: Progress | None = None) -> CopyCheck:
        """Return how *target* differs from this table, which was copied into it, without changing anything.

        Pages and their versions are compared by metadata, dates and digests, and with *full* also all bodies and links,
        outgoing and, if both tables keep them, incoming. What is written meanwhile looks like a difference.
        """
        from webtable.repository.copying import check_copy

        return check_copy(self._context, target._context, on_progress, full=full)

    def backup(self, path: str | PathLike[str], *, on_progress: Progress | None = None) -> int:
        """Write the store of the table, with everything in it, into the new file *path*, and return its bytes.

        It is the file as it is at one moment; others may read and write meanwhile, and wait for nothing. The file
        appears when it is complete and checked, and it is a store: open it, or put it in the place of a lost one.
        *on_progress* is called with the number of bytes written so far. Raises `InvalidArgument` if something is at
        *path*, and `CapabilityError`, which says what to do instead, on HBase and for a store in memory.
        """
        return self._context.store.backup(Path(path), on_progress)

    def compact(self, *, dry_run: bool = False) -> int:
        """Free the space of what nobody can see any more, and return how many bytes that was.

        Writers wait while the file of an embedded store is written again, which needs as much space again meanwhile.
        The deletes are forgotten, as by `forget_deletes`. With *dry_run*, return how many bytes are free already and
        do nothing; what deletes and expired content would add is not known before. Raises `CapabilityError` on HBase,
        with the lines for its shell.
        """
        from webtable.repository.maintenance.delete import compact

        return compact(self._context, dry_run=dry_run)

    def forget_deletes(self, *, dry_run: bool = False) -> int:
        """Accept captures again that are older than the delete of their page, and return of how many pages.

        Only for when the store itself has forgotten the deletes, otherwise it hides what is put: `compact` does both;
        on HBase, call it after a major compaction of all tables. All rows of the table are looked at. With *dry_run*
        the pages are only counted.
        """
        from webtable.repository.maintenance.delete import forget_deletes

        return forget_deletes(self._context, dry_run=dry_run)

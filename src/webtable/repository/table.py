"""WebTable: what crawlers and notebooks hold. Pages in, pages out."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, Unpack

from webtable._shown import Shown, ShowsItself
from webtable.repository import questions
from webtable.repository.answers.results import Slice
from webtable.repository.arguments import GAP, GROUPINGS, IN_FLIGHT, MAX_TITLE, MOST_NEIGHBOURS, SETTLE_SECONDS
from webtable.repository.frame import Frame
from webtable.repository.scanning.scope import Scope
from webtable.repository.writing.open_writers import Writers
from webtable.store.observed import observed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta
    from os import PathLike
    from types import TracebackType

    from webtable._page.page import Page
    from webtable._page.parts import Link
    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.arguments import Grouping, Moment, Progress
    from webtable.repository.copying.check import CopyCheck
    from webtable.repository.copying.counts import Copied
    from webtable.repository.creation.alteration import AlterOptions
    from webtable.repository.derived.drift import Drift
    from webtable.repository.derived.maintenance import Maintenance
    from webtable.repository.derived.refresh import Recount
    from webtable.repository.metrics import Metrics
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.questions.crawls import Crawl
    from webtable.repository.questions.duplicate_groups import DuplicateGroup, Sameness
    from webtable.repository.questions.growth import Growth
    from webtable.repository.questions.handles import Resolution
    from webtable.repository.questions.hosts import Hosts
    from webtable.repository.questions.index_answer import Asking
    from webtable.repository.questions.indexed import SizeClass
    from webtable.repository.questions.inlinks import Inlink
    from webtable.repository.questions.links import BrokenLink, Freshness
    from webtable.repository.questions.neighbours import Neighbours
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.stats import Stats
    from webtable.repository.questions.titles import TitleProblem
    from webtable.repository.questions.verification import Verification
    from webtable.repository.questions.versions import History
    from webtable.repository.removing.deletion import DeletedPage, Deletions
    from webtable.repository.text.difference import Difference
    from webtable.repository.text.matching import Hit, SearchIn
    from webtable.repository.writing.outcomes import OutcomeCallback
    from webtable.repository.writing.writer import Writer
    from webtable.schema import IndexState, Layout, LayoutPlan
    from webtable.store import Store


class WebTable(ShowsItself):
    """A table of web pages; `webtable.open` makes one.

    May be used by many threads at once. `name` tells the store and the table, `layout` how its keys are made, `metrics`
    what it has done; `damaged` in these counts rows that cannot be read, which answers leave out, unless the table is
    *strict*.

    What many questions take: *domain* is a host, with all hosts below it unless *host_only* is said; *path* names a
    directory of that host; *full_scan* allows a question that reads all pages. At most *limit* answers come, behind the
    place of the token *after*, in the order that *order* names. *columns* names what pages come with. *on_progress* is
    called with how many were looked at so far. *asking* stands for what questions to an index take, by name: the fields
    of `webtable.Asking`. `webtable.Moment` tells how moments are given.

    What questions raise for what they are given: `InvalidURL` for a URL or a *domain* that is none, `InvalidToken` for
    an *after* of another question, `UnknownColumn` for *columns* that pages do not have, `InvalidArgument` for a
    *limit* or an *order* that cannot be; and `FullScanNeeded` where only all pages tell, and nobody has allowed that. A
    question by an index raises `IndexNeeded`, when its answer is read, on a table that lacks the index.
    """

    def __init__(self, store: Store, table: str, layout: Layout, *, strict: bool = False) -> None:
        self.store: Final = observed(store)
        self._frame = Frame.of(self.store, table, layout, strict=strict)
        self.table = table
        self.key: Final = self._frame.key
        self.strict = strict
        """Whether a question raises the first `DamagedRow` that it meets, in place of leaving such rows out."""
        self.indexes: Final = self._frame.indexes
        self._writers = Writers(self._frame)

    def __repr__(self) -> str:
        return f"<WebTable {self.name} salt={self.layout.salt}>"

    def _shown(self) -> Shown:
        """Return where it is, how its keys are made, its indexes, what hosts were counted, and what waits for that."""
        layout, freshness = self.layout, self.links_freshness()
        counted = f"{freshness.waiting:,} batches wait, since {freshness.since}" if freshness.waiting else "all"
        rows = [
            ("salt", str(layout.salt)),
            ("kept", layout.limits),
            ("indexes", ", ".join(f"{name} ({state.phase})" for name, state in self.index_states().items()) or "none"),
            ("links counted", counted),
            *questions.hosts.counted_rows(questions.hosts.known_totals(self._frame, questions.hosts.MOST_HOSTS)),
        ]
        return Shown(self.name, ("what", "as it is now"), rows)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._frame.name

    @property
    def _maintenance(self) -> Maintenance:
        from webtable.repository.derived.maintenance import Maintenance
        from webtable.repository.writing.batch import mend_pages

        return Maintenance(self._frame, partial(mend_pages, self._frame))

    @property
    def layout(self) -> Layout:
        """How keys, columns and bodies are made, and what is kept for how long, as it was known last."""
        return self._frame.layout

    @property
    def metrics(self) -> Metrics:
        """What the table has done until now, what its writers hold and how its store is, as a value of this moment."""
        from webtable.repository.metrics import metrics_of

        frame = self._frame
        return metrics_of(self.store, frame.counts.snapshot(), frame.events.snapshot(), self._writers.metrics())

    def writer(
        self,
        *,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        max_body: int | None = None,
        in_flight: int = IN_FLIGHT,
        deadline: float | None = None,
        spool: str | PathLike[str] | None = None,
        on_outcome: OutcomeCallback | None = None,
    ) -> Writer:
        """Return a writer, to be used in a `with` block.

        A batch is sent at *buffer_bytes* of bodies, at *buffer_pages* pages, or after *max_age* seconds. Bodies over
        *max_body* bytes are cut and marked `truncated`. At most *in_flight* batches, 1 to 8, are on their way at once;
        what the writer holds takes up to (*in_flight* + 1) times *buffer_bytes*.

        What fails because the store is not reached is tried again until *deadline* seconds after its batch was sent; by
        default the store's own `timeout` is all. Pages that could not be sent are written to *spool*, a new file that
        ends with `.jsonl.zst`, which `webtable ingest` takes; without one they come with the error. *on_outcome* gets a
        `PageOutcome` for every page, in place of the `WriteFailed` that `flush` and the end of the block raise for
        those that were not stored.
        """
        from webtable.repository.writing.batch import BatchWriter
        from webtable.repository.writing.writer import Writer

        writer = Writer(
            BatchWriter(self._frame, max_body),
            timeout=self.store.timeout,
            buffer_bytes=buffer_bytes,
            buffer_pages=buffer_pages,
            max_age=max_age,
            in_flight=in_flight,
            deadline=deadline,
            spool=spool,
            on_outcome=on_outcome,
        )
        self._writers.add(writer)
        return writer

    def put(self, page: Page) -> None:
        """Store one page and return when it is stored; many are stored far faster through a `writer`.

        Raises as `Writer.put` and `Writer.flush` do.
        """
        self._writers.put(page, partial(self.writer, max_age=3_600))

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Store that the server of *url* said "not modified" (status 304) at *fetched_at*, now by default.

        The page keeps its content and its links, which are written anew once half of their time to live is over;
        *headers* are those of the answer. Many are stored faster through `Writer.put_not_modified`. Raises
        `InvalidCapture` where the URL is not stored, and as `Writer.put` and `Writer.flush` do.
        """
        self._writers.put_not_modified(url, fetched_at, headers, partial(self.writer, max_age=3_600))

    def delete(self, url: str) -> bool:
        """Remove the page *url* with all its versions, and return whether there was one.

        Its links go with it; those of other pages that lead to it stay, as theirs. What was fetched up to this moment
        stays removed: a capture of it that is put again is refused with `HiddenByDelete`. Raises `InvalidURL`.
        """
        from webtable.repository.removing.deletion import Deletion
        from webtable.store.deadline import Deadline, until

        row = self.key.encode(url)
        with closing(Deletion(self._frame)) as deletion, until(Deadline(self.store.timeout)):
            return deletion.of(row)

    def delete_pages(
        self,
        domain: str | None = None,
        *,
        host_only: bool = False,
        path: str | None = None,
        status: int | Collection[int] | None = None,
        fetched_before: Moment | None = None,
        full_scan: bool = False,
        and_links: bool = False,
        dry_run: bool = False,
        on_page: Callable[[DeletedPage], None] | None = None,
        before_delete: Callable[[Sequence[DeletedPage]], None] | None = None,
    ) -> Deletions:
        """Remove all pages of *domain* that have a *status*, and whose newest capture was *fetched_before* a moment.

        Each goes as by `delete`, a hundred at a time. *before_delete* is called with those of each hundred before they
        go, *on_page* with each that is gone; one that is fetched again in between stays. It is done again where it was
        cut short: what is gone is not met again. With *dry_run* nothing is removed, and what would be is counted.

        With *and_links*, which goes with a domain alone, nothing of its pages is left with others: links that lead
        there lead to `about:blank` then, without their texts. The whole table is read for it, all queued counts are
        made, and what deletes leave behind goes when `compact` forgets them. Bodies, titles and redirects of other
        pages stay as they were fetched. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`.
        """
        from webtable.repository.arguments import given_moment
        from webtable.repository.removing.deletion import Chosen, Retention

        chosen = Chosen(status, given_moment("fetched_before", fetched_before))
        retention = Retention(self._frame, Scope(domain, host_only, path, full_scan), chosen)
        return retention.run(and_links=and_links, dry_run=dry_run, on_page=on_page, before_delete=before_delete)

    def alter(self, *, dry_run: bool = False, **options: Unpack[AlterOptions]) -> LayoutPlan:
        """Alter what can be altered while the table is in use, and return what was to be done.

        The *options* are those of `webtable.AlterOptions`; with *dry_run* it is not done.
        The stored layout and the families of all its tables agree then; other processes go by it two seconds later at
        the latest. `ttl` and `versions` are those of the content: links are kept twice as long. What is not kept any
        more is in `losses` of the plan; it goes for good. One that was cut short is completed by the same call.
        Raises `NotAlterable` for what a table keeps, `InvalidArgument`, and `CapabilityError`, with the statements for
        the HBase shell, where the gateway cannot do it.
        """
        from webtable.repository.creation.alteration import Alteration, options_of

        steps = Alteration(self.store, self.table, self.indexes.read(), options_of(options))
        if dry_run:
            return steps.planned()
        done = steps.done()
        self._frame.layouts.read()
        return done

    # What is asked of one page.

    def get(
        self, url: str, *, as_of: Moment | None = None, columns: Sequence[str] | None = None, verify: bool = False
    ) -> Page | None:
        """Return the newest capture of *url*, with its body and links, or None where it is not stored.

        With *as_of* the page as it was at that moment: the newest capture up to it, or of a page that was fetched again
        since then the content that it had (its title, status, type, headers, body and links), as far as it is kept.
        *columns* names what is wanted instead; `body` and `outlinks` are read only where they are named.
        With *verify* its body is compared with its digest and its size as well: without that, a body that was stored
        before bodies had checksums may be another one. Raises `InvalidURL`, `UnknownColumn`, `InvalidArgument`, and
        `DamagedRow` for a page that cannot be read.
        """
        return questions.versions.get(self._frame, url, as_of, columns, verify=verify)

    def get_many(self, urls: Iterable[str], *, columns: Sequence[str] | None = None) -> Iterator[Page | None]:
        """Return an iterator that gives for each of *urls*, in their order, what `get` returns; in batches, lazily.

        At a page that cannot be read it raises `DamagedRow`; asked on, it gives those behind it.
        """
        return questions.versions.get_many(self._frame, urls, columns)

    def history(self, url: str, *, columns: Sequence[str] | None = None) -> History:
        """Return the stored versions of *url*, newest first: one for each content, dated when it was first seen.

        Bodies and links are read where *columns* names `body` or `outlinks`. A version has its links as long as its
        body; in a table that keeps links in two versions, as all did once, those before the two newest may have none.
        Empty where the URL is not stored. A version that cannot be read is left out, and counted in `metrics`. Raises
        `InvalidURL` and `UnknownColumn`.
        """
        return questions.versions.history(self._frame, url, columns)

    def diff(self, url: str, old: Moment | None = None, new: Moment | None = None) -> Difference | None:
        """Return what changed between two versions of *url*: in its title, status, headers, text and links.

        They are those at the moments *old* and *new*; by default the newest one and the one before it. None where one
        of them is not stored. Raises `InvalidURL`, `InvalidArgument`, and `DamagedRow` where one cannot be read.
        """
        return questions.versions.diff(self._frame, url, old, new)

    def validators(self, url: str) -> dict[str, str]:
        """Return the headers that ask the server of *url* to answer only if it has other content than what is stored.

        `If-None-Match` and `If-Modified-Since`, as far as the server gave an ETag and a date. Empty where the answer
        "not modified" would be of no use: the URL is not stored, its last capture is an error or a redirect, or its
        body is not there (any more). Raises `InvalidURL`.
        """
        return questions.versions.validators(self._frame, url)

    # What is asked of the pages of a domain, or of all: by ranges of rows.

    def pages(
        self,
        domain: str | None = None,
        *,
        host_only: bool = False,
        path: str | None = None,
        status: int | Collection[int] | None = None,
        content_type: str | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Pages:
        """Return the pages of *domain* and of all hosts below it, lazily; without their bodies unless asked.

        *host_only* leaves out the hosts below, and so does *path*, which names a directory of the host (`/docs/`).
        *status*, *content_type*, *min_size* and *max_size* (in bytes, both included) choose among them; all rows are
        read for that. Without a *domain* all pages of the table come, which takes *full_scan*, else `FullScanNeeded` is
        raised. *columns* may name `body`, `outlinks` and `link_counts`; the other columns always come. At most *limit*
        pages come, behind the place of the token *after*. They come in the order of their URL keys (host reversed, then
        path, query, scheme), or with `order="storage"` in the store's, which is the faster where many salts take part.

        Raises `InvalidURL` for what is no host, `UnknownColumn`, `InvalidToken`, `InvalidArgument`.
        """
        scope, condition = (
            Scope(domain, host_only, path, full_scan),
            questions.pages.Condition(status, content_type, min_size, max_size),
        )
        return questions.pages.pages(self._frame, scope, condition, columns, Slice(order, limit, after))

    def hosts(
        self, domain: str | None = None, *, limit: int | None = None, after: str | None = None, order: str = "url"
    ) -> Hosts:
        """Return the hosts that have pages, of *domain* or of the whole table, with how many pages and bytes they have.

        The counts are those of `refresh_links`, and each says when it was made; `stats` counts now. Hosts come in the
        order of their pages. Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`; `IndexNeeded` when it is asked.
        """
        return questions.hosts.hosts(self._frame, domain, Slice(order, limit, after))

    def search(
        self,
        text: str,
        *,
        in_: SearchIn = "all",
        substring: bool = False,
        domain: str | None = None,
        host_only: bool = False,
        path: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Results[Hit]:
        """Return the pages with all the words of *text* in their title, their body, or the two together, lazily.

        A phrase in double quotes counts as a word. Case does not matter. Words are what Unicode's rules part (UAX #29):
        `cat` is not found in `application`, `appl*` is, and with *substring* so is `cat`. A body that is neither HTML
        nor text has no words. All bodies in question are read for that; with `in_="title"` none is, and where the table
        has a plain `title` column the store leaves out most pages that do not match. The other arguments are those of
        `pages`; a hit's page has its body only where *columns* names `body`.

        Raises `FullScanNeeded`, `InvalidURL`, `UnknownColumn`, `InvalidToken`, `InvalidArgument`; that too for a quote
        in front of a word that is not closed.
        """
        phrase, scope = questions.search.Phrase(text, in_, substring), Scope(domain, host_only, path, full_scan)
        return questions.search.search(self._frame, phrase, scope, columns, Slice(order, limit, after))

    def stats(
        self,
        domain: str | None = None,
        *,
        host_only: bool = False,
        path: str | None = None,
        by: Grouping | Sequence[Grouping] = GROUPINGS,
        bytes: bool = True,  # noqa: A002, what `Stats` calls them
        full_scan: bool = False,
        on_progress: Progress | None = None,
        now: Moment | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Stats:
        """Return how many pages there are and how many bytes their bodies have, in all and in groups, counted now.

        The pages are those of *domain*, *host_only* and *path* as in `pages`, or with *full_scan* of the whole table.
        *by* names the groupings: `host`, `status`, `type` (the media type), `age` (of the last capture, at *now*) and
        `region`, which are counted unless told otherwise; `size` (classes that double) and `day` (of the last capture,
        in UTC). No bodies are read; without *bytes* and by host and region alone nothing but row keys is.
        *on_progress* is told how many pages were counted so far, every 1,000 of them and at the end. Rows that cannot
        be read are counted apart. *resume* names a file from which it goes on after an interrupt, as in `verify`.

        Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, and `OSError` where that file cannot be written.
        """
        asked = questions.stats.StatsQuestion(Scope(domain, host_only, path, full_scan), by, bytes, now)
        return questions.stats.stats(self._frame, asked, on_progress, resume)

    def changes(
        self,
        domain: str | None = None,
        *,
        since: Moment,
        until: Moment | None = None,
        kind: ChangeKind | Collection[ChangeKind] | None = None,
        host_only: bool = False,
        path: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Results[Change]:
        """Return what became of the pages of *domain* between the moments *since* and *until*, now by default, lazily.

        - `new`: the first capture that was stored of it is later than *since*.
        - `gone`: it had a status below 400 at *since*, and has one of 400 or above at *until*.
        - `changed`: it has another digest, status or redirect than it had, and is not gone. Also a page whose version
          at *since* is not kept any more, which has `before=None`.
        - `unchanged`: it has what it had, whatever it was in between. These come only where *kind* names them.

        *kind* is one of these or several; by default the first three. Pages without a capture up to *until*, and those
        that were deleted, are left out. The captures of both moments count in. All rows are read, and of those with
        other content since then the list of versions. The other arguments are those of `pages`.

        Raises `FullScanNeeded`, `InvalidURL`, `InvalidToken`, `InvalidArgument`.
        """
        scope = Scope(domain, host_only, path, full_scan)
        return questions.changes.changes(self._frame, scope, since, until, kind, Slice(order, limit, after))

    # What is asked of all pages of a scope together. They are read once, without their bodies, for any part of the
    # answer, and what is found is sorted on disk: in some 50 MB of memory, however many pages there are, and for 10
    # million of them in 1 to 4 GB of the directory for temporary files. They raise what `pages` does, and `OSError`
    # where that is full.

    def duplicate_groups(
        self,
        domain: str | None = None,
        *,
        by: Sameness = "content",
        host_only: bool = False,
        path: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "pages",
        full_scan: bool = False,
    ) -> Results[DuplicateGroup]:
        """Return the groups of pages with the same content (the digest), or *by* the same "title", whatever the status.

        Groups of one page are none, and pages without a body, or a title, are in none. Those of the most `pages` come
        first, or of the most `bytes`; each with its first ten URLs. The pages are chosen as in `pages`.
        """
        scope = Scope(domain, host_only, path, full_scan)
        return questions.duplicate_groups.duplicate_groups(self._frame, scope, by, Slice(order, limit, after))

    def titles(
        self,
        domain: str | None = None,
        *,
        max_length: int = MAX_TITLE,
        host_only: bool = False,
        path: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "problem",
        full_scan: bool = False,
    ) -> Results[TitleProblem]:
        """Return what is wrong with titles: those that are missing, then duplicates, then those over *max_length*.

        Only pages count that are HTML and have status 200. Duplicates come by their title, the others by URL; a page
        may come as a duplicate and as too long. *max_length* is in characters. The pages are chosen as in `pages`.
        """
        scope = Scope(domain, host_only, path, full_scan)
        return questions.titles.titles(self._frame, scope, max_length, Slice(order, limit, after))

    def redirect_chains(
        self,
        domain: str | None = None,
        *,
        host_only: bool = False,
        path: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Results[RedirectChain]:
        """Return all chains of redirects, by the URL where each begins: at one to which no other of these redirects.

        A loop that nothing leads into begins at its first URL. The pages are chosen as in `pages`, and a chain goes on
        by what is stored of others too, for 20 redirects at most, as in `resolve`.
        """
        scope = Scope(domain, host_only, path, full_scan)
        return questions.redirect_chains.redirect_chains(self._frame, scope, Slice(order, limit, after))

    def crawls(
        self,
        domain: str | None = None,
        *,
        gap: timedelta | str = GAP,
        host_only: bool = False,
        path: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "newest",
        full_scan: bool = False,
    ) -> Results[Crawl]:
        """Return when was crawled, the newest crawl first or the `oldest`: bursts of captures, parted by pauses.

        A pause over *gap*, a `timedelta` or a text as in "6h", ends a crawl; by default six hours. What counts are the
        captures that are stored: of each page the newest one, and each that began a version that is kept (another body,
        status or redirect) or wrote its content again for its TTL. One that only repeats content counts until the next
        capture of its page. The pages are chosen as in `pages`, all of them with *full_scan*; their versions are read
        without bodies, and sorted. `webtable.reports.compare` takes two of its rows.
        """
        scope = Scope(domain, host_only, path, full_scan)
        return questions.crawls.crawls(self._frame, scope, gap, Slice(order, limit, after))

    def largest_growth(
        self,
        domain: str | None = None,
        *,
        since: Moment,
        until: Moment | None = None,
        host_only: bool = False,
        path: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "most",
        full_scan: bool = False,
    ) -> Results[Growth]:
        """Return the pages whose size has changed `most` between the moments *since* and *until*, now by default.

        Sizes are those of the bodies, in bytes. With the order `grown` only those come that are larger, with `shrunk`
        those that are smaller; of the same growth by URL. A page that was not there at both moments, or had no body at
        one, is left out, and so is one whose version then is not kept any more. The pages are chosen and read as in
        `changes`, all of them for any part of the answer, and sorted on disk. Raises as that does.
        """
        scope = Scope(domain, host_only, path, full_scan)
        return questions.growth.largest_growth(self._frame, scope, since, until, Slice(order, limit, after))

    # What is asked of an index. All take the same options (`Asking`); besides its own orders each has "storage", which
    # is the fastest.

    def fetched(
        self,
        since: Moment | None = None,
        until: Moment | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that were fetched from *since* on and before *until*, the newest or the `oldest` first."""
        return questions.indexed.by_time(self._frame, "fetched", since, until, asking, questions.indexed.FETCHED)

    def modified(
        self,
        since: Moment | None = None,
        until: Moment | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that were modified from *since* on and before *until*, the newest or the `oldest` first.

        Moments may be told as on the command line: `since="7d"` is a week ago. Where a token is to go on with the
        question, give them as datetimes: a week ago is another moment each time.

        A page was modified when its server says so (`last_modified`), else when a capture first brought its content
        (`changed_at`).
        """
        return questions.indexed.by_time(self._frame, "modified", since, until, asking, questions.indexed.MODIFIED)

    def outdated(
        self,
        *,
        not_fetched_since: Moment | None = None,
        not_modified_since: Moment | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that were not fetched, or not modified, since a moment: what to fetch again, by when.

        One of the two moments must be given: *not_fetched_since*, *not_modified_since*.
        """
        return questions.indexed.outdated(self._frame, not_fetched_since, not_modified_since, asking)

    def largest(
        self,
        *,
        size_class: SizeClass | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages by the size of their bodies, the largest first (or the `smallest`).

        *min_size* and *max_size* are in bytes and included; a *size_class* is a name for both: small (below 1,000),
        medium (below 10,000), large (below 100,000) or huge.
        """
        return questions.indexed.largest(self._frame, size_class, min_size, max_size, asking)

    def with_status(
        self,
        status: int,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages whose last capture has this *status* code, in the order of their URLs."""
        return questions.indexed.with_status(self._frame, status, asking)

    def errors(
        self,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages whose last capture has a status of 400 or above, by the status and then by URL."""
        return questions.indexed.errors(self._frame, asking)

    def redirects(
        self,
        *,
        to: str | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that redirect: with a status of 300 to 399 but 304, by the status and then by URL.

        With *to* only those that lead to that URL directly, whatever their status, by URL (by the url index).

        """
        return questions.indexed.redirects(self._frame, to, asking)

    def duplicates(
        self,
        url: str,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the other pages that have the very content (the digest) of *url*, in the order of their URLs.

        None come where *url* is not stored, or has no body. Raises `DamagedRow` where its own row cannot be read.
        """
        return questions.duplicate_groups.duplicates(self._frame, url, asking)

    def indexed(
        self,
        index: str,
        term: str | tuple[str, ...] | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that the index named *index*, one of the table's own, has for *term*, or for all terms.

        They come in the order of their terms, by code points and part by part, then of their URLs ("de" before "de-AT"
        before "deu"), or in the order "reverse"; one with several terms comes once, by the first of them. Raises
        `UnknownIndex`.
        """
        return questions.indexed.indexed(self._frame, index, term, asking)

    def by_handle(self, handle: str, *, columns: Sequence[str] | None = None) -> Page | None:
        """Return the page whose URL has this *handle* (`webtable.handle_of`), or None where none is stored.

        A URL that redirects has a handle of its own, and is found with its `redirect_to`; see `resolve`. Raises
        `InvalidArgument` for what is no handle, `UnknownColumn`, `IndexNeeded`, `DamagedRow`.
        """
        return questions.handles.by_handle(self._frame, handle, columns)

    def resolve(self, url: str) -> Resolution:
        """Return where *url* leads, by the redirects that are stored; *url* may be a handle too.

        A page that does not redirect is its own end. Raises `InvalidURL`, `DamagedRow`.
        """
        return questions.handles.resolve(self._frame, url)

    # What is asked of links.

    def linking_to(
        self,
        url: str,
        *,
        past: bool = False,
        domain: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "source",
    ) -> Results[Inlink]:
        """Return the links that lead to *url* now, by the URL of the linking page; with *past* those that did once.

        Each is checked against the linking page. *domain* leaves out the pages of other domains. None where nobody
        links there; *url* need not be stored. Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`.
        """
        return questions.inlinks.linking_to(self._frame, url, past=past, domain=domain, part=Slice(order, limit, after))

    def links_of(
        self, url: str, *, limit: int | None = None, after: str | None = None, order: str = "page"
    ) -> Results[Link]:
        """Return the links of *url*, in the order in which the page has them; none where it is not stored.

        Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`, and when it is asked `DamagedRow`.
        """
        return questions.links.links_of(self._frame, url, Slice(order, limit, after))

    def neighbours(self, url: str, *, limit: int = MOST_NEIGHBOURS) -> Neighbours:
        """Return the pages that link to *url*, and those that it links to, at most *limit* of each, with their status.

        Each page comes once on a side, and *url* itself never; pages that link here come by their URL, the others in
        the order of the page. Raises `InvalidURL`, `InvalidArgument`, `IndexNeeded`, `DamagedRow`.
        """
        return questions.neighbours.neighbours(self._frame, url, limit)

    def most_linked(self, **asking: Unpack[Asking]) -> Pages:
        """Return the pages by how many others link to them, the `most` first or the `fewest`; none without a link.

        The counts (`Page.link_counts`) are those of `refresh_links`, and each says when it was made; `links_freshness`
        tells what waits.
        """
        return questions.links.most_linked(self._frame, asking)

    def dead_ends(self, **asking: Unpack[Asking]) -> Pages:
        """Return the pages that have no links to others, in the order of their URLs.

        One whose links all lead to itself is one of them.
        """
        return questions.links.dead_ends(self._frame, asking)

    def broken_links(
        self,
        *,
        domain: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "status",
    ) -> Results[BrokenLink]:
        """Return the links that lead to an error page, by its status, its URL and the URL of the linking page.

        *domain* leaves out the links on pages of other domains. Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`,
        and when it is asked `IndexNeeded` on a table without the status or the link index.
        """
        return questions.links.broken_links(self._frame, domain, Slice(order, limit, after))

    def orphans(
        self,
        domain: str | None = None,
        *,
        within_host: bool = False,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Pages:
        """Return the pages of *domain* (and below) that no other stored page links to; a link to itself is none.

        With *within_host* those that no other page of their own host links to, whoever else does. It holds as of now,
        whenever links were counted last: all rows are read, with the first of their inlinks, and of the pages that
        link to each one is looked for that does so now. *columns*, *order* and *full_scan* are as in `pages`. Raises as
        that does, and when it is asked `IndexNeeded` on a table without the link index.
        """
        scope, part = Scope(domain, full_scan=full_scan), Slice(order, limit, after)
        return questions.unlinked.orphans(self._frame, scope, columns, part, within_host=within_host)

    def discovered(
        self,
        domain: str | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Results[str]:
        """Return the URLs of *domain* (and below) that pages link to and that are no pages yet: what to crawl next.

        They are found by their rows, all of which are read, without values; of the pages that link to each one is
        looked for that does so now. *full_scan* as in `pages`. Raises as `pages` does.
        """
        return questions.unlinked.discovered(
            self._frame, Scope(domain, full_scan=full_scan), Slice(order, limit, after)
        )

    def refresh_links(self, *, on_progress: Progress | None = None, also_unfinished: bool = False) -> Recount:
        """Count the inbound links of the pages that were linked or unlinked since the last run, and their hosts' pages.

        Safe to be run at any time, by several at once, and again after a crash. The pages of a writer that did not come
        to its end are counted when they are ten minutes old; with *also_unfinished* they are counted now as well, and
        again then. *on_progress* is told how many pages were looked at so far, for their links or for their hosts.
        """
        return questions.links.refresh_links(self._frame, on_progress, also_unfinished=also_unfinished)

    def links_freshness(self) -> Freshness:
        """Return what waits for `refresh_links`: how fresh the counts of links are."""
        return questions.links.links_freshness(self._frame)

    # Whether what is stored is what was stored.

    def verify(
        self,
        domain: str | None = None,
        *,
        full_scan: bool = False,
        on_progress: Progress | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Verification:
        """Return what is damaged of the pages of *domain*, or with *full_scan* of the whole table.

        All versions are read with their bodies and links, and compared with their checksums, digests and sizes. Then
        the pages of each host are counted, and compared with what `refresh_links` has counted, where nothing of the
        host has changed since: rows that a damaged file has lost are `missing`. Of a host whose counts are not exact,
        as two counted it at once by clocks that differ, `rebuild_index("host")` counts all pages anew.
        *on_progress* is told how many pages were read so far, every 1,000 of them and at the end.

        With *resume*, the name of a file, what was found is kept there every 10 seconds: after an interrupt or a crash
        the same call goes on from it. At the end the file is removed. Raises `FullScanNeeded`, `InvalidURL`,
        `InvalidArgument` for a file of something else, and `OSError` where it cannot be written.
        """
        return questions.verification.verify(self._frame, Scope(domain, full_scan=full_scan), on_progress, resume)

    # What is stored, in another table.

    def copy_to(
        self,
        target: WebTable,
        *,
        resume: str | PathLike[str] | None = None,
        rate: float | None = None,
        on_copied: Callable[[Copied], object] | None = None,
    ) -> Copied:
        """Copy every page into *target*, with all its versions, dates, links and counts of changes, and every delete.

        The tables may have different layouts and be in different stores; `webtable.copy_target` opens or creates one.
        Pages that *target* has already are skipped, so a copy may be repeated, concurrently too, and while others write
        to either table: pages written meanwhile are copied by the next call. If *target* has other captures of a page,
        it keeps them. Its links are counted by `refresh_links`.

        *resume* names a journal, a file that keeps the progress: after an interruption a call with the same journal
        goes on from there, and `resumed` is True in its result. *on_copied* is called from time to time with the
        progress; an exception that it raises ends the copy. At most *rate* pages are compared per second. Damaged pages
        are skipped and counted.
        Raises `ExpiredCapture`, before anything is written, if *target* would drop content because of its time to live,
        `InvalidArgument` if both are the same table or the journal is that of another target or in use, `OSError` if
        it cannot be written, and `StoreUnavailable`.
        """
        from webtable.repository.copying.copy import copy

        return copy(self._frame, target._frame, resume, rate, on_copied)

    def check_copy(self, target: WebTable, *, full: bool = False, on_progress: Progress | None = None) -> CopyCheck:
        """Return how *target* differs from this table, which was copied into it, without changing anything.

        Pages and their versions are compared by their metadata, dates and digests, and with *full* all bodies and links
        as well, those of pages and, where both tables keep these, those that lead to them. What is written meanwhile
        looks like a difference.
        """
        from webtable.repository.copying.check import check_copy

        return check_copy(self._frame, target._frame, on_progress, full=full)

    # The indexes themselves.

    def index_states(self) -> dict[str, IndexState]:
        """Return the indexes of the table by name, and the phase that each is in."""
        return {name: found.state for name, found in sorted(self.indexes.read().items())}

    def add_index(self, index: str, *, on_progress: Progress | None = None) -> int:
        """Add one of webtable's own indexes by its name, or one by its importable name (`package.module:attribute`).

        Its entries are made at once; questions use it from then on. Returns how many pages there were. Where it was
        interrupted `rebuild_index` goes on. Raises `UnknownIndex`, and `InvalidArgument` where the table has it.
        """
        return self._maintenance.add(index, on_progress)

    def drop_index(self, index: str) -> None:
        """Take the index away, with its entries.

        Writers are told first, and readers a few seconds before that: it takes a moment. Raises `UnknownIndex`.
        """
        self._maintenance.drop(index)

    def rebuild_index(self, index: str, *, on_progress: Progress | None = None) -> int:
        """Write the entries of every page, and return how many pages there are; entries that are there stay.

        It may run beside writers and readers, again and again. One that was interrupted while the index was new goes on
        where it was. What no longer holds is removed by `repair_index`. Rows that cannot be read are left out and
        counted in `metrics`. Raises `UnknownIndex`, `InvalidArgument` for an index that is being dropped, and
        `IndexNotNamed`.
        """
        return self._maintenance.rebuild(index, on_progress)

    def verify_index(
        self,
        index: str,
        *,
        as_of: Moment | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
        resume: str | PathLike[str] | None = None,
    ) -> Drift:
        """Return how *index* differs from the pages, both ways, without changing anything.

        Captures later than *as_of* (now by default) are left out, so that running writers do not look like drift; for
        the same reason a difference must stay for *settle* seconds. The link index is compared with the inlinks of all
        pages too, and with it (with any where there is none) the newest capture of each page with the page's history.
        *on_progress* is told how many pages and entries were looked at. *resume* names a file from which the comparison
        goes on after an interrupt, as in `verify`; that of the inlinks begins anew. Raises `UnknownIndex`,
        `InvalidArgument` for a file of something else, and `OSError` where it cannot be written.
        """
        return self.repair_index(index, as_of=as_of, on_progress=on_progress, settle=settle, resume=resume)

    def repair_index(
        self,
        index: str,
        *,
        apply: bool = False,
        as_of: Moment | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
        resume: str | PathLike[str] | None = None,
    ) -> Drift:
        """Return what `verify_index` does, and with *apply* write what is missing and remove what is stale.

        Pages whose newest capture disagrees with their history are mended as well.
        *as_of*, *settle* in seconds, and *resume* are as there. Raises `UnknownIndex`, `IndexNotNamed`,
        `InvalidArgument` and `OSError`.
        """
        return self._maintenance.repair(
            index, apply=apply, as_of=as_of, on_progress=on_progress, settle=settle, resume=resume
        )

    def compact(self) -> int:
        """Give back the space of what nobody sees any more of this table, and return how many bytes that was.

        Writers wait while the file of an embedded store is written anew; it takes as much space again meanwhile. The
        deletes are forgotten, as by `forget_deletes`. Raises `CapabilityError` on HBase, with the lines for its shell.
        """
        from webtable.repository.removing.deletion import compact

        return compact(self._frame)

    def backup(self, path: str | PathLike[str], *, on_progress: Progress | None = None) -> int:
        """Write the store of the table, with all that is in it, into the new file *path*, and return its bytes.

        It is the file as it is at one moment; others may read and write meanwhile, and wait for nothing. It is there
        when it is whole and was checked, and it is a store: open it, or put it in the place of a lost one.
        *on_progress* is told how many bytes are written so far. Raises `InvalidArgument` where something is at *path*,
        and `CapabilityError`, which says what there is instead, on HBase and for a store in memory.
        """
        return self.store.backup(Path(path), on_progress)

    def forget_deletes(self) -> int:
        """Take captures again that are older than the delete of their page, and return of how many pages.

        Only for when the store has forgotten the deletes itself, or it will hide what is put: `compact` does both; on
        HBase it is behind a major compaction of all tables. All rows of the table are looked at for it.
        """
        from webtable.repository.removing.deletion import forget_deletes

        return forget_deletes(self._frame)

    def close(self) -> None:
        """Flush and close all writers, then the store; raises what they raise, when all of them are closed.

        Pages that were not stored are raised as one `WriteFailed`, and several errors as an `ExceptionGroup`.
        """
        self._writers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

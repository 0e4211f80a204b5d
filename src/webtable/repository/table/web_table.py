"""The web table: pages go in through a writer, and come out as answers to questions."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Final, Self, Unpack
from weakref import WeakSet

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._process_hooks import renew_after_fork
from webtable.display import Shown, ShowsItself
from webtable.display.markup import tag
from webtable.errors import InvalidCapture, WriteFailed, failed_together
from webtable.page.headers import DEFAULT_TYPES
from webtable.page.methods import DEFAULT_METHODS
from webtable.repository import duplicates, full_text, hosts, indexes, links, questions
from webtable.repository.answers.results import Pages, Results, Window
from webtable.repository.arguments import (
    GAP,
    GROUPINGS,
    IN_FLIGHT,
    LIKE,
    MAX_TITLE,
    MOST_FINDINGS,
    Grouping,
    Moment,
    Progress,
    given_moment,
    moments,
)
from webtable.repository.context import TableContext
from webtable.repository.partitions.questions import repeatable
from webtable.repository.reading.scope import Scope, Site
from webtable.repository.table.groups import TableIndexes, TableLinks, TableMaintenance, TableSearchIndex
from webtable.store.deadline import Deadline, until
from webtable.store.observed import observed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta
    from os import PathLike
    from types import TracebackType

    from webtable.ingest.report import IngestReport
    from webtable.page.elements import (
        AltState,
        DataProblem,
        Heading,
        Image,
        InsecureContent,
        InsecureProblem,
        StructuredData,
    )
    from webtable.page.page import Page
    from webtable.page.parts import IndexStatus
    from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
    from webtable.repository.duplicates.near import NearDuplicate, NearDuplicateGroup
    from webtable.repository.failed_fetches import Backoff, FailedFetch
    from webtable.repository.full_text.matching import Hit, SearchIn
    from webtable.repository.hosts.hosts import Hosts
    from webtable.repository.indexes.pages import PageOptions
    from webtable.repository.indexes.questions import SizeClass
    from webtable.repository.links.depths import Depth
    from webtable.repository.links.links import Edge
    from webtable.repository.maintenance.delete import DeletedPage, Deletions
    from webtable.repository.metrics import Metrics
    from webtable.repository.questions.canonicals import Canonical, CanonicalProblem
    from webtable.repository.questions.captures import Crawl, Unresolved
    from webtable.repository.questions.changes import Change, ChangedField, ChangeKind, IgnoredContent
    from webtable.repository.questions.difference import Difference
    from webtable.repository.questions.findings import Finding
    from webtable.repository.questions.hreflang import Hreflang, HreflangProblem
    from webtable.repository.questions.indexability import Indexability, RobotsTxt
    from webtable.repository.questions.page import History, Resolution
    from webtable.repository.questions.pagination import PaginatedPage, PaginationProblem
    from webtable.repository.questions.redirect_chains import ChainProblem, RedirectChain
    from webtable.repository.questions.sitemaps import SitemapProblem, SitemapURL
    from webtable.repository.questions.soft_404s import Soft404, Soft404Reason
    from webtable.repository.questions.stats import Stats
    from webtable.repository.questions.titles import TitleProblem, TitleProblemKind
    from webtable.repository.reports import Audit
    from webtable.repository.writing.outcomes import OutcomeCallback, RetryCallback
    from webtable.repository.writing.writer import Writer
    from webtable.schema import Layout
    from webtable.store import Store
    from webtable.url_filter import URLFilter


class WebTable(ShowsItself):
    """A table of web pages; `webtable.open` returns one.

    May be used by many threads at once. `name` is the store's URL and the table's name, `layout` how its keys are made,
    `metrics` what it has done; `damaged` of these counts rows that cannot be read. Answers leave such rows out, unless
    the table is *strict*. `links`, `indexes`, `search_index` and `maintenance` have the methods for these.

    Arguments that many questions take:

    - *site*: which pages. `"example.com"` is a domain with all hosts below it, `"https://example.com/docs/"` a
      directory of one host, `"localhost:3000"` one port; `webtable.HostOnly("example.com")` is one host alone,
      `webtable.ALL` every page. Without a site a question is about all pages. If it has to read every row for that, and
      the table is not a small embedded one, it also needs a *limit* or `webtable.ALL`, else `FullScanNeeded` is raised.
    - *limit*: return at most so many results; *after*: continue after the place of this page token; *order*: one of the
      orders that the question names, the first by default.
    - *urls*: a `webtable.URLFilter`; results with other URLs are left out, after they were read.
    - *columns*: what is read, and what tables and frames have (docs/frames.md). *on_progress*: called with the number
      of pages looked at so far.

    Moments are given as `webtable.answers.Moment` says: a datetime, a date, or a text such as "7d" (ago).

    Errors that all questions raise for their arguments: `InvalidURL` for a URL or a *site* that is not one,
    `InvalidToken` for an *after* of another question, `UnknownColumn` for *columns* that pages do not have, and
    `InvalidArgument` for a *limit* or an *order* that is not allowed. A question to an index raises `IndexNeeded`, when
    its answer is read, if the table lacks the index.

    Questions about a site as a whole (`duplicate_groups`, `near_duplicate_groups`, `titles`, `redirect_chains`,
    `sitemaps`, `crawls`) read every row of the site, without bodies, for any part of the answer, and sort on disk. That
    takes some 50 MB of memory for any number of pages, and 1 to 4 GB of the directory for temporary files for 10
    million of them; `OSError` is raised if that directory is full.

    Questions that an index answers take the options of `webtable.answers.PageOptions`, and have the order "storage",
    which is the fastest, besides the orders that they name; all but `near_duplicates`, which names its own.
    """

    def __init__(self, store: Store, table: str, layout: Layout, *, strict: bool = False) -> None:
        # One wrapper measures all calls, and ends what a cancelled request still reads.
        self.store: Final = observed(store)
        self._context: TableContext = TableContext.of(self.store, table, layout, strict=strict)
        self.table = table
        self.key: Final = self._context.key
        self.strict = strict
        """Whether a question raises the first `DamagedRow` that it meets, instead of leaving such rows out."""
        self.links: Final = TableLinks(self._context)
        """The links between pages."""
        self.indexes: Final = TableIndexes(self._context)
        """The indexes."""
        self.search_index: Final = TableSearchIndex(self._context)
        """The full text."""
        self.maintenance: Final = TableMaintenance(self._context)
        """Altering, verifying, copying, backing up and compacting the table."""
        self._writers = _OpenWriters()

    def __repr__(self) -> str:
        return f"<WebTable {self.name} salt={self.layout.salt}>"

    def _shown(self) -> Shown:
        """Return its place, the salt, the indexes, the counts of hosts, and what waits to be counted."""
        layout, freshness, entries = self.layout, self.links.freshness(), hosts.entries
        counted = f"{freshness.waiting:,} batches wait, since {freshness.since}" if freshness.waiting else "all"
        rows = [
            ("salt", str(layout.salt)),
            ("kept", layout.limits),
            (
                "indexes",
                ", ".join(f"{name} ({state.phase})" for name, state in self.indexes.states().items()) or "none",
            ),
            ("links counted", counted),
            *entries.counted_rows(entries.known_totals(self._context, entries.MOST_HOSTS)),
        ]
        return Shown(self.name, ("what", "as it is now"), rows)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._context.name

    @property
    def layout(self) -> Layout:
        """How keys, columns and bodies are made and for how long content is kept, as last read from the store."""
        return self._context.layout

    def audit(self, site: Site, *, most: int = MOST_FINDINGS, on_progress: Progress | None = None) -> Audit:
        """Return a report on what is wrong on *site*, with the first *most* findings of each kind.

        It shows its counts in a notebook; `html()` is a page to send, `to_dict()` has everything. A finding whose index
        the table lacks is left out and says so. *on_progress* is called with the number of pages counted.
        """
        from webtable.repository.reports import audit

        return audit(self, site, most=most, on_progress=on_progress)

    def ingest(
        self,
        files: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        workers: int = 1,
        resume: str | PathLike[str] | None = None,
        types: Collection[str] | None = DEFAULT_TYPES,
        methods: Collection[str] | None = DEFAULT_METHODS,
        urls: URLFilter | None = None,
        limits: ReadLimits = DEFAULT_LIMITS,
        max_body: int | None = None,
        batch: int = 500,
        wait: float = 600.0,
        detect_language: bool = False,
        verify_digests: bool = False,
        date_fallback: datetime | None = None,
        refresh: bool = True,
        dry_run: bool = False,
        on_progress: Progress | None = None,
    ) -> IngestReport:
        """Store the pages of WARC, WACZ, ARC, HAR, JSON Lines, Parquet, CSV and Excel files, and return a report.

        *files* are paths, directories, whose archives are read, patterns (`"crawls/**/*.warc.gz"`), or `"-"` for
        standard input. They are read by this process, or by so many *workers* in any order, and in parts if they are
        large; on HBase workers store pages themselves. A worker that dies is replaced, and what it had not stored is
        read again. *types*, *methods*, *urls*, *limits*, *detect_language*, *verify_digests* and *date_fallback* are
        those of `formats.read_pages`; *max_body* and *batch* (the most pages to store at once) those of `writer`. A
        store that does not answer is waited for up to *wait* seconds. At the end the links are counted, if *refresh*.
        With *dry_run* nothing is stored. *on_progress* is called with the number of pages stored so far.

        Storing a capture again changes nothing, so a call may be repeated. *resume* is the path of a journal, with
        which it continues where an earlier call ended, however that was; it is kept after the end too.

        What is damaged, over a limit or refused is in the report, and raises nothing. Ctrl-C stores what was read and
        raises `ingest.IngestInterrupted`, a `KeyboardInterrupt` with the `report`; a second one ends it at once. The
        error of a store that is gone, or does not let the links be counted, is raised with the report as its `report`.
        Raises `InvalidArgument` before anything is read.
        """
        # The engine is made of what everybody may use, as the explorer is.
        report: IngestReport = import_module("webtable.ingest.engine").ingest(
            self,
            files,
            workers=workers,
            resume=resume,
            types=types,
            methods=methods,
            urls=urls,
            limits=limits,
            max_body=max_body,
            batch=batch,
            wait=wait,
            detect_language=detect_language,
            verify_digests=verify_digests,
            date_fallback=date_fallback,
            refresh=refresh,
            dry_run=dry_run,
            on_progress=on_progress,
        )
        return report

    def explore(self, *, port: int = 0) -> RunningExplorer:
        """Serve the explorer of the table in a thread, on any free port of this machine or on *port*, and return it.

        A notebook shows it as a link; `stop()` ends it. Raises `MissingExtra` without `hbase-webtable[web]`, and
        `InvalidArgument` for a port that is in use.
        """
        # The explorer is made of what everybody may use, so nothing below it imports it: it is loaded by its name.
        running: RunningExplorer = import_module("webtable.explorer").explore(self, port=port)
        return running

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the metrics: what the table has done, what its writers hold, and the health of its store."""
        from webtable.repository.metrics import metrics_of

        counts, events = self._context.counts.snapshot(), self._context.events.snapshot()
        return metrics_of(self.store, counts, events, [writer.metrics for writer in self._writers])

    def writer(
        self,
        *,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        max_body: int | None = None,
        detect_language: bool = False,
        in_flight: int = IN_FLIGHT,
        deadline: float | None = None,
        spool: str | PathLike[str] | None = None,
        on_outcome: OutcomeCallback | None = None,
        on_retry: RetryCallback | None = None,
    ) -> Writer:
        """Return a writer, to be used in a `with` block.

        A batch is sent at *buffer_bytes* of bodies, at *buffer_pages* pages, or after *max_age* seconds. Bodies of more
        than *max_body* bytes are cut and marked `truncated`. With *detect_language* a page that does not say its
        language gets that of its text, if it is clear, and is marked `language_detected`; this takes some 3 ms a page.
        At most *in_flight* batches, 1 to 8, are sent at once; the writer holds up to (*in_flight* + 1) times
        *buffer_bytes*.

        A batch that fails because the store is not reached is retried until *deadline* seconds after it was first sent;
        by default, only within the store's own `timeout`. Before each retry *on_retry* is called, in a thread of the
        writer, with a `Retry`, which says why. Pages that could not be sent are written to *spool*, a new
        file that ends with `.jsonl.zst`, which `webtable ingest` reads; without one they come with the error.
        *on_outcome* is called with a `PageOutcome` for every page, instead of the `WriteFailed` that `flush` and the
        end of the block raise for pages that were not stored.
        """
        from webtable.repository.writing.batch import BatchWriter
        from webtable.repository.writing.writer import Writer

        writer = Writer(
            BatchWriter(self._context, max_body, detect_language=detect_language),
            timeout=self.store.timeout,
            buffer_bytes=buffer_bytes,
            buffer_pages=buffer_pages,
            max_age=max_age,
            in_flight=in_flight,
            deadline=deadline,
            spool=spool,
            on_outcome=on_outcome,
            on_retry=on_retry,
        )
        self._writers.add(writer)
        return writer

    def put(self, page: Page) -> None:
        """Store one page, and return when it is stored; a `writer` stores many far faster.

        Raises as `Writer.put` and `Writer.flush` do.
        """
        with until(Deadline(self.store.timeout)), self.writer(max_age=3_600) as writer:
            writer.put(page)

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Store that the server of *url* answered "not modified" (status 304) at *fetched_at*, now by default.

        The page keeps its content and its links, which are written again once half of their time to live has passed;
        *headers* are those of the answer. Many are stored faster through `Writer.put_not_modified`. Raises
        `InvalidCapture` if the URL is not stored, and as `Writer.put` and `Writer.flush` do.
        """
        with until(Deadline(self.store.timeout)):
            if self.get(url, columns=()) is None:
                raise InvalidCapture(f"{url[:200]} is not stored, so it cannot be not modified: fetch the whole page")
            with self.writer(max_age=3_600) as writer:
                writer.put_not_modified(url, fetched_at, headers)

    def put_failed(
        self,
        url: str,
        reason: str,
        *,
        at: datetime | None = None,
        detail: str | None = None,
        backoff: Backoff | None = None,
    ) -> FailedFetch | None:
        """Store that fetching *url* failed *at* a moment, now by default, and return that with the time of the next.

        *reason* is one word, as in "timeout" (`webtable.answers.FailedFetch` has those of webtable's crawlers), and
        *detail* the message of the error, of which 1,000 letters are kept. A stored page keeps its content, validators
        and history. `failed` lists the URL, and `links.discovered` and `outdated` leave it out until its next time,
        unless a newer capture is stored. That time comes *backoff* (attempts) after *at*: by default an hour after the
        first of several failures, twice as long each time, 30 days at most. Of two callers that fail at once on HBase
        one may not be counted as an attempt.

        Returns None, and stores nothing, if a capture or a failure of the URL is stored that is as new or newer, so
        that a call can be repeated with the same *at*. Raises `InvalidURL`, `InvalidArgument` for a reason that is no
        word, and `InvalidCapture` or `FutureCapture` for *at*.
        """
        from webtable.repository.failed_fetches import put_failed

        with until(Deadline(self.store.timeout)):
            return put_failed(self._context, url, reason, at, detail, backoff)

    def delete(self, url: str, *, dry_run: bool = False) -> bool:
        """Delete the page *url* with all its versions, and return whether there was one; with *dry_run* delete nothing.

        Its links go with it; links of other pages to it stay, as they are part of those pages. What was fetched up to
        now stays deleted: a capture of it that is put again is refused with `HiddenByDelete`. Raises `InvalidURL`.
        """
        return self.delete_many([url], dry_run=dry_run)[0]

    def delete_many(self, urls: Sequence[str], *, dry_run: bool = False) -> list[bool]:
        """Delete the pages *urls* as `delete` does, in batches of 200, and return for each whether there was one.

        With *dry_run* nothing is deleted. An invalid URL raises `InvalidURL` before anything is deleted.
        """
        from webtable.repository.maintenance.delete import delete_many

        return delete_many(self._context, [self.key.encode(url) for url in urls], dry_run=dry_run)

    def delete_pages(
        self,
        site: Site,
        *,
        status: int | Collection[int] | None = None,
        fetched_before: Moment | None = None,
        and_links: bool = False,
        dry_run: bool = False,
        on_page: Callable[[DeletedPage], None] | None = None,
    ) -> Deletions:
        """Delete all pages of *site* that have a *status*, and whose newest capture was *fetched_before* a moment.

        Each is deleted as by `delete`, in batches of 200, and *on_page* is called with each page that was deleted; a
        page that is fetched again meanwhile stays. Repeat the call if it was cut short: it continues with what is left.
        With *dry_run* nothing is deleted, and the report counts what would be. The whole table must be named
        (`webtable.ALL`), and needs a *status* or *fetched_before*.

        With *and_links*, for a site without other conditions, nothing of its pages remains in others: links to it lead
        to `about:blank` then, without their texts. The whole table is read for that, all queued counts are made, and
        what deletes leave in the table goes when `maintenance.compact` forgets them. Bodies, titles and redirects of
        other pages stay as they were fetched. Raises `InvalidURL`, `InvalidArgument`.
        """
        from webtable.repository.maintenance.delete import Chosen, Retention

        chosen = Chosen(status, given_moment("fetched_before", fetched_before))
        retention = Retention(self._context, Scope.of(site), chosen)
        return retention.run(and_links=and_links, dry_run=dry_run, on_page=on_page)

    def close(self) -> None:
        """Flush and close all writers, then the store; raises what they raise, when all of them are closed.

        Pages that were not stored are raised as one `WriteFailed`, and several errors as an `ExceptionGroup`.
        """
        errors: list[Exception] = []
        for closable in (*self._writers, self.store):
            try:
                closable.close()
            except Exception as exc:  # noqa: BLE001 - the other writers have pages too
                errors += exc.exceptions if isinstance(exc, ExceptionGroup) else [exc]
        if failed := [exc for exc in errors if isinstance(exc, WriteFailed)]:
            from webtable.repository.writing.spool import joined

            errors = [joined(failed), *(exc for exc in errors if not isinstance(exc, WriteFailed))]
        if errors:
            raise failed_together(self.name, errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- Questions about one page -------------------------------------------------------------------------------------

    def get(
        self, url: str, *, as_of: Moment | None = None, columns: Sequence[str] | None = None, verify: bool = False
    ) -> Page | None:
        """Return the newest capture of *url*, with its body and links, or None if it is not stored.

        With *as_of*, return the page as it was at that moment: the newest capture up to it, or, of a page that was
        fetched again since, the content that it had then (title, status, type, headers, body and links), as far as it
        is kept. *columns* names what is read instead; `body` and `outlinks` are read only if they are named. With
        *verify*, the body is also compared with its digest and its size. Raises `InvalidURL`, `UnknownColumn`,
        `InvalidArgument`, and `DamagedRow` for a page that cannot be read.
        """
        return questions.page.get(self._context, url, as_of, columns, verify=verify)

    def get_many(self, urls: Iterable[str], *, columns: Sequence[str] | None = None) -> Iterator[Page | None]:
        """Return an iterator that gives, for each of *urls* in their order, what `get` returns; it reads in batches.

        It raises `DamagedRow` at a page that cannot be read; the next call continues after that page.
        """
        return questions.page.get_many(self._context, urls, columns)

    def history(self, url: str, *, columns: Sequence[str] | None = None) -> History:
        """Return the stored versions of *url*, newest first: one for each content, dated when it was first seen.

        Bodies and links are read if *columns* names `body` or `outlinks`. The history is empty if the URL is not
        stored. A version that cannot be read is left out and counted in `metrics`. Raises `InvalidURL` and
        `UnknownColumn`.
        """
        return questions.page.history(self._context, url, columns)

    def history_many(self, urls: Iterable[str]) -> Iterator[History]:
        """Return an iterator that gives, for each of *urls* in their order, what `history` returns, without bodies.

        It reads the versions of up to 64 pages in a call of the store, of fewer where they have over 8 MiB of metadata.
        """
        return questions.page.history_many(self._context, urls)

    def diff(self, url: str, old: Moment | None = None, new: Moment | None = None) -> Difference | None:
        """Return what changed between two versions of *url*: in its title, status, headers, text and links.

        The versions are those at the moments *old* and *new*; by default the newest one and the one before it. Returns
        None if one of them is not stored. Raises `InvalidURL`, `InvalidArgument`, and `DamagedRow` for a version that
        cannot be read.
        """
        return questions.page.diff(self._context, url, old, new)

    def validators(self, url: str) -> dict[str, str]:
        """Return the request headers that ask the server of *url* to answer only if its content has changed.

        These are `If-None-Match` and `If-Modified-Since`, as far as the server gave an ETag and a date. The dictionary
        is empty where the answer "not modified" would be of no use: the URL is not stored, its last capture is an error
        or a redirect, or its body is not stored any more. Raises `InvalidURL`.
        """
        return questions.page.validators(self._context, url)

    def robots_txt(self, url: str, *, bot: str = "googlebot", as_of: Moment | None = None) -> RobotsTxt | None:
        """Return the robots.txt of the origin (scheme, host and port) of *url* for a *bot*, as it is stored.

        It is the newest one, or that *as_of* a moment, after redirects; None if none is stored of that moment. Raises
        `InvalidURL`, `InvalidArgument`, and `DamagedRow` if it cannot be read.
        """
        return questions.indexability.robots_txt(self._context, url, bot, as_of)

    def by_id(self, id: str, *, columns: Sequence[str] | None = None) -> Page | None:
        """Return the page whose URL has this *id* (`webtable.indexes.page_id`), or None if none is stored.

        A URL that redirects has its own id, and its page has `redirect_to`; `resolve` follows it. Raises
        `InvalidArgument` for a text that is not an id, `UnknownColumn`, `IndexNeeded`, `DamagedRow`.
        """
        return questions.page.by_id(self._context, id, columns)

    def resolve(self, url: str) -> Resolution:
        """Return where *url*, or the URL with the id *url*, leads by the redirects that are stored.

        A page that does not redirect leads to itself. Raises `InvalidURL`, `DamagedRow`.
        """
        return questions.page.resolve(self._context, url)

    # --- Questions about the pages of a site, which are answered by reading their rows --------------------------------

    @repeatable()
    def pages(
        self,
        site: Site | None = None,
        *,
        status: int | Collection[int] | None = None,
        content_type: str | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        finding: Finding | None = None,
        not_language: str | None = None,
        columns: Sequence[str] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Pages:
        """Return the pages of *site*, lazily; without their bodies unless *columns* names them.

        *status*, *content_type*, *min_size* and *max_size* (in bytes, both included) choose among the pages, *finding*
        those of a section of `audit` ("no-description", "no-h1", "not-judged", "canonical-elsewhere",
        "canonical-conflict", "noindex", "no-location", "not-indexable"), *not_language* those in a known language other
        than that one,
        as in "de"; all rows of the site are read for that. *columns* names those of its tables and frames; `body` (also
        for `text`), `outlinks` and `link_counts` are read only if they are named, and the other fields of pages always
        are. Pages come in the order of their URL keys (host reversed, then path, query, scheme), or with
        `order="storage"` as they are stored, which is faster where many salts take part.
        """
        condition = questions.pages.Condition(status, content_type, min_size, max_size, finding, not_language)
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.pages.PagesQuestion(self._context, scope, window, condition, columns).answer()

    @repeatable(order=None, by_source=True)
    def unresolved(
        self,
        site: Site | None = None,
        *,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Unresolved]:
        """Return the open revisits of *site*: captures whose content is that of another one, which is not stored.

        They get it when that is stored. They come in the order of their URLs, those of one page by their dates.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.captures.UnresolvedQuestion(self._context, scope, window).answer()

    @repeatable(order=None, by_source=True)
    def failed(
        self,
        site: Site | None = None,
        *,
        reason: str | None = None,
        due: bool = False,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[FailedFetch]:
        """Return the URLs of *site* whose last fetch failed (`put_failed`), whether pages of them are stored or not.

        With a *reason* only those are returned that failed for it, and those that are *due* may be fetched again now.
        """
        from webtable.repository.failed_fetches import FailedQuestion

        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return FailedQuestion(self._context, scope, window, reason, due=due).answer()

    @repeatable(order=None)
    def hosts(
        self, site: Site | None = None, *, limit: int | None = None, after: str | None = None, order: str = "url"
    ) -> Hosts:
        """Return the hosts of *site*, or of the whole table, that have pages, with their numbers of pages and bytes.

        The numbers are those that `links.refresh` has counted, and each says when; `stats` counts now. Hosts come in
        the order of their pages. Raises `IndexNeeded` when the answer is read.
        """
        return hosts.hosts.HostsQuestion(self._context, Scope.of(site), Window(order, limit, after)).answer()

    @repeatable()
    def edges(
        self, site: Site | None = None, *, limit: int | None = None, after: str | None = None, order: str = "url"
    ) -> Results[Edge]:
        """Return the link graph of *site*, lazily: an edge for each link of each page, with the status of its target.

        Edges come by the URL of the linking page (or in the `storage` order of these), then by that of the target,
        which may be on any site; each target once for a page. Links that lead to no page, such as `mailto:`, are left
        out. The links of all pages of the site are read, and the metadata of the targets of up to 1,000 links at once;
        a status is looked up again after 10,000 other targets.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return links.links.EdgesQuestion(self._context, scope, window).answer()

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
        urls: URLFilter | None = None,
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
        from webtable.repository.full_text.matching import Phrase  # it imports what only a search needs

        times = moments(since=since, until=until)
        phrase = Phrase(text, in_, substring, status, content_type, times["since"], times["until"])
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return full_text.search.search(self._context, scope, window, phrase, columns).answer()

    def stats(
        self,
        site: Site | None = None,
        *,
        by: Grouping | Sequence[Grouping] = GROUPINGS,
        bytes: bool = True,  # noqa: A002
        on_progress: Progress | None = None,
        now: Moment | None = None,
        resume: str | PathLike[str] | None = None,
        workers: int = 1,
    ) -> Stats:
        """Return how many pages *site* has and how many bytes their bodies have, in all and in groups, counted now.

        *by* names the groupings. By default these are `host`, `status`, `type` (the media type), `language` (without
        its region: `pt` for `pt-br`), `age` (of the last capture, at *now*) and `region`; there are also `size` (in
        classes), `day` and `month` (of the last capture, in UTC), `directory` (the URL up to its last slash), and the
        columns `canonical`, `charset`, `description`, `h1`, `index_status`, `redirect_to`, `registered_domain`,
        `robots`, `scheme`, `title` and `truncated`. No bodies are read; without *bytes*, and by host and
        region alone, only row keys are. *on_progress* is called with the number of pages counted so far, after every
        1,000 of them and at the end. Rows that cannot be read are counted separately. *resume* names the journal from
        which a count that was cut short continues, as in `maintenance.verify`; `OSError` is raised if it cannot be
        written. With more than one of *workers*, as many processes count parts of the table.
        """
        question = questions.stats.StatsQuestion(Scope.of(site), by, bytes, now, workers)
        return questions.stats.stats(self._context, question, on_progress, resume)

    @repeatable(until_now=True)
    def changes(
        self,
        site: Site | None = None,
        *,
        since: Moment,
        until: Moment | None = None,
        met_since: Moment | None = None,
        kind: ChangeKind | Collection[ChangeKind] | None = None,
        fields: ChangedField | Collection[ChangedField] | None = None,
        ignore: IgnoredContent | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Change]:
        """Return what became of the pages of *site* between the moments *since* and *until* (now by default), lazily.

        - `new`: its first stored capture is later than *since*.
        - `gone`: it had a status below 400 at *since*, and has 404 or 410 at *until*.
        - `moved`: it did not redirect at *since*, and does at *until*.
        - `missing`: it was stored at *since* and not fetched again from *met_since* on, when a later crawl began; by
          default after *since*. Of a page that was fetched after *until* only what changed is known: it is none.
        - `changed`: its digest, status, redirect, or what it says of itself (title, robots, canonical URL, …) differs
          otherwise, `Change.changed` has what; also a page whose version at *since* is not kept any more, which has
          `before=None`.
        - `unchanged`: it was fetched again and is as it was, whatever it was in between.

        *kind* is one of these or several; by default all but `missing` and `unchanged`. *fields* chooses the pages of
        which one of these has changed, as in `fields=["robots", "canonical"]`. With *ignore* "boilerplate" a page is
        `unchanged` of which nothing but the body differs, and whose main text is the same: markup, comments, tokens,
        navigation. The two bodies of such pages are read and parsed. Pages without a capture up to
        *until* and deleted pages are left out. Captures at exactly *since* or *until* count. All rows of the site are
        read, and the list of versions of those with other content since then. The other arguments are those of `pages`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        arguments = since, until, met_since, kind, fields, ignore
        return questions.changes.ChangesQuestion(self._context, scope, window, *arguments).answer()

    def duplicate_groups(
        self,
        site: Site | None = None,
        *,
        by: Sameness = "content",
        facets: bool = False,
        limit: int | None = None,
        after: str | None = None,
        order: str = "pages",
    ) -> Results[DuplicateGroup]:
        """Return the groups of two or more pages with the same content (digest), or *by* the same "title".

        Errors and redirects, which have no content of their own, are in no group, nor are pages without a body, or
        without a title. With *facets* only pages that are `indexable` by their `Page.index_status` count, and those of
        a group have one path and differ in their query, as the views of a filter do. The groups with the most `pages`
        come first, or those with the most `bytes`; each has its first ten URLs.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return duplicates.exact.DuplicateGroupsQuestion(self._context, scope, window, by, facets=facets).answer()

    def near_duplicate_groups(
        self,
        site: Site | None = None,
        *,
        at_least: float = LIKE,
        facets: bool = False,
        limit: int | None = None,
        after: str | None = None,
        order: str = "pages",
    ) -> Results[NearDuplicateGroup]:
        """Return the groups of two or more pages of *site* whose main texts are nearly the same.

        Pages of *at_least* that `similarity` (`near_duplicates`) are joined, and what is joined to one page is a group.
        Compared are the texts of pages with a band in common: up to 16 of these each with each; of more, each with the
        first 16, and the first of 16 other groups. *facets* and the order are as in `duplicate_groups`. Raises
        `MissingExtra`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        question = duplicates.near.NearDuplicateGroupsQuestion(self._context, scope, window, at_least, facets=facets)
        return question.answer()

    def titles(
        self,
        site: Site | None = None,
        *,
        max_length: int = MAX_TITLE,
        problem: TitleProblemKind | Collection[TitleProblemKind] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "problem",
    ) -> Results[TitleProblem]:
        """Return what is wrong with titles: missing ones, then duplicates, then those longer than *max_length*.

        Only HTML pages with status 200 count; one that is stored without its body is not known to lack a title.
        *problem* chooses "missing", "duplicate" or "too long", or several of them. Duplicates come by title, the others
        by URL; a page may come both as a duplicate and as too long. *max_length* is in characters.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.titles.TitlesQuestion(self._context, scope, window, max_length, problem).answer()

    @repeatable()
    def indexability(
        self,
        site: Site | None = None,
        *,
        bot: str = "googlebot",
        verdict: IndexStatus | Collection[IndexStatus] | None = None,
        columns: Sequence[str] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Indexability]:
        """Return for each page of *site* whether a *bot* may index it, and the reason, lazily.

        The `verdict` is "blocked" where the robots.txt that held when the page was fetched forbids it, else the
        `Page.index_status` by the rules for that bot; *verdict* chooses one or several. robots.txt is that of the
        scheme, host and port of the page, as it was captured last before the page, after up to five redirects: with a
        status of 400 to 499 everything is allowed, with one of 500 or above nothing (RFC 9309). Where none is stored
        nothing is blocked. *bot* has the rules for its name, else those for the name before its last hyphen, else those
        for all. Of each origin the versions of robots.txt are read, and those that held. The other arguments are those
        of `pages`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        question = questions.indexability.IndexabilityQuestion(self._context, scope, window, bot, verdict, columns)
        return question.answer()

    def redirect_chains(
        self,
        site: Site | None = None,
        *,
        problem: ChainProblem | Collection[ChainProblem] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[RedirectChain]:
        """Return the chains of redirects, by the URL where each begins: one to which no other page of *site* redirects.

        A loop that nothing leads into begins at its first URL. A chain continues through stored pages of other sites,
        for 20 redirects at most, as in `resolve`. *problem* chooses those that are "long" (two redirects or more) or a
        "loop", whose end is an "error" (a status of 400 or above) or "missing" (not stored), or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.redirect_chains.RedirectChainsQuestion(self._context, scope, window, problem).answer()

    @repeatable()
    def canonicals(
        self,
        site: Site | None = None,
        *,
        problem: CanonicalProblem | Collection[CanonicalProblem] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Canonical]:
        """Return the pages of *site* that name another URL as the one for their content, and where that leads.

        From the URL that a page names its way goes on by redirects, and by the canonical URLs of the pages there, also
        on stored pages of other sites, for 20 steps at most. *problem* chooses "chain" (a page on the way names another
        URL itself), "loop", "redirect" (one on the way redirects), "error", "noindex" or "not-html" (the end, by its
        `Page.index_status`), "missing" (the end is not stored), "other-host" (the page names one), "conflict" (it names
        two that disagree, of which search engines obey neither), or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.canonicals.CanonicalsQuestion(self._context, scope, window, problem).answer()

    def hreflang(
        self,
        site: Site | None = None,
        *,
        sitemap: str | Collection[str] | None = None,
        problem: HreflangProblem | Collection[HreflangProblem] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Hreflang]:
        """Return the versions in other languages that the pages of *site* name by `hreflang`, by URL and language.

        They are named by a `<link>` in the head, in the header Link, or in a sitemap; sitemaps are those of `sitemaps`.
        The bodies of all pages are read, and those of pages elsewhere that are named. *problem* chooses, of the target,
        "no-return" (it does not name the page), "inconsistent" (it does, for another language than the page itself),
        "missing" (not stored), "redirect", "error", "noindex" or "canonicalised" (its `Page.index_status`); of the page
        "no-self" (it does not name itself), "several" (other URLs for this language too), "not-canonical" (it names
        another URL for its content); and "code" (no language of ISO 639-1, with a script of ISO 15924 and a region of
        ISO 3166-1, nor x-default); or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.hreflang.HreflangQuestion(self._context, scope, window, sitemap, problem).answer()

    def pagination(
        self,
        site: Site | None = None,
        *,
        problem: PaginationProblem | Collection[PaginationProblem] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[PaginatedPage]:
        """Return the pages of lists that several pages of *site* have, by URL, and what is wrong with each.

        A list is made by `rel=next` and `rel=prev`, of a `<link>` in the head, an `<a>` or the header Link, or by the
        numbers in URLs (`?page=2`, `/page/2`). The bodies and links of all pages are read. *problem* chooses "sequence"
        (the next page does not name this one as the previous one, or the other way round; or the number before is not
        stored), "several" (more than one next or previous page), "missing", "redirect" or "error" (of these pages),
        "noindex", "canonicalised" (to the first page of the list), "not-linked" (by no `<a>`: of URLs with a number on
        any page, of others on those that name it), or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.pagination.PaginationQuestion(self._context, scope, window, problem).answer()

    def soft_404s(
        self,
        site: Site | None = None,
        *,
        at_least: float = LIKE,
        reason: Soft404Reason | Collection[Soft404Reason] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Soft404]:
        """Return the HTML pages of *site* with status 200 that say that there is nothing, as an error page should.

        *reason* chooses those whose "title" or first "heading" says "not found" or the like, in one of 17 languages, or
        whose main "text" is *at_least* that `similarity` (`near_duplicates`) to that of a page of its host with status
        404 or 410, of which eight different ones are compared; or several of these. Where the site has such error
        pages, the bodies of all its pages are read, and `MissingExtra` is raised without the extra `similarity`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.soft_404s.Soft404sQuestion(self._context, scope, window, at_least, reason).answer()

    def depths(
        self,
        site: Site | None = None,
        *,
        start: str | Collection[str] | None = None,
        columns: Sequence[str] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Depth]:
        """Return for each page of *site* how many clicks lead to it at least from *start*, one page or several.

        By default that is from the root of any host of the site. A click is a link (`a`); redirects, refreshes and
        frames lead on without one. Ways stay within the site (of a directory within its host). Not followed are links
        with `nofollow`, those of pages whose rules for all or for Google say `nofollow`, and those of error pages.
        `clicks` is None where no way leads. The links of every page that is reached are read, and what is reached is
        kept on disk. *columns* and *order* are as in `pages`.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return links.depths.DepthsQuestion(self._context, scope, window, start, columns).answer()

    def sitemaps(
        self,
        site: Site | None = None,
        *,
        sitemap: str | Collection[str] | None = None,
        problem: SitemapProblem | Collection[SitemapProblem] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[SitemapURL]:
        """Return the URLs that the sitemaps of *site* name, and its indexable pages that none names, by URL.

        Sitemaps are read from captures: those that a robots.txt or an index names (indexes in indexes too, up to five),
        those that look like one, and those named as *sitemap*; of a directory those of its host. They may be XML, RSS,
        Atom or a list, with gzip, as sitemaps.org has them: 50,000 URLs and 50 MB each.

        *problem* chooses "missing" (not stored), "noindex", "redirect", "error", "canonicalised" (to another URL),
        "foreign" (of another host or scheme, whose robots.txt does not name the sitemap), "relative" (no whole URL),
        "lastmod" (no date, later than the capture of the sitemap, since when the page did not change, or before its
        last change), "unlisted" (indexable, and in none; if there is a sitemap), "unreadable" (a sitemap that is not
        read to its end), or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.sitemaps.SitemapsQuestion(self._context, scope, window, sitemap, problem).answer()

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
        the newest one of each page, and each one that began a kept version (another body, status, redirect or fact) or
        wrote its content again for its TTL. A capture that only repeats content counts until the next capture of its
        page. Versions are read without bodies. `webtable.reports.compare` takes two rows of the answer.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after)
        return questions.captures.CrawlsQuestion(self._context, scope, window, gap).answer()

    # --- Questions about what is on the pages of a site: their bodies are read and parsed ----------------------------

    @repeatable()
    def headings(
        self,
        site: Site | None = None,
        *,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Heading]:
        """Return the headings of the pages of *site*, `<h1>` to `<h6>`, in the order of the document.

        As for `images`, `structured_data` and `insecure_content`, the bodies of all pages of the site are read, and
        those of HTML pages with status 200 parsed; `Page.elements` has the same of one page. A page over the limits of
        the parser has none.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.elements.HeadingsQuestion(self._context, scope, window).answer()

    @repeatable()
    def images(
        self,
        site: Site | None = None,
        *,
        alt: AltState | Collection[AltState] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[Image]:
        """Return the images of the pages of *site*, in the order of the document.

        *alt* chooses those whose alternative text is "missing", "empty" or a "text", or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.elements.ImagesQuestion(self._context, scope, window, alt).answer()

    @repeatable()
    def structured_data(
        self,
        site: Site | None = None,
        *,
        problem: DataProblem | Collection[DataProblem] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[StructuredData]:
        """Return the structured data of the pages of *site*: JSON-LD, then microdata, Open Graph, and Twitter's.

        *problem* chooses what is "empty", "broken" or "too large", or several of these.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.elements.StructuredDataQuestion(self._context, scope, window, problem).answer()

    @repeatable()
    def insecure_content(
        self,
        site: Site | None = None,
        *,
        problem: InsecureProblem | Collection[InsecureProblem] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
    ) -> Results[InsecureContent]:
        """Return what the pages of *site* load or send without encryption, in the order of the document.

        *problem* chooses "mixed content" (what an https page loads by http), "form to http", or "form on http" (on a
        page that itself came by http), or several of these. What styles and scripts load is not looked at.
        """
        scope, window = Scope.of(site, limit=limit), Window(order, limit, after, urls)
        return questions.elements.InsecureContentQuestion(self._context, scope, window, problem).answer()

    # --- Questions that an index answers ------------------------------------------------------------------------------

    @repeatable()
    def fetched(
        self,
        site: Site | None = None,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that were fetched from *since* on and before *until*, the `newest` or the `oldest` first.

        A page token belongs to one pair of moments: give datetimes where you want to continue, as "7d" is another
        moment in each call.
        """
        question = indexes.questions
        return question.by_time(self._context, "fetched", since, until, {"site": site, **options}, question.FETCHED)

    @repeatable()
    def modified(
        self,
        site: Site | None = None,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that were modified from *since* on and before *until*, the `newest` or the `oldest` first.

        A page was modified when its server says so (`last_modified`), else when a capture first brought its content
        (`changed_at`).
        """
        question = indexes.questions
        return question.by_time(self._context, "modified", since, until, {"site": site, **options}, question.MODIFIED)

    @repeatable()
    def outdated(
        self,
        site: Site | None = None,
        *,
        not_fetched_since: Moment | None = None,
        not_modified_since: Moment | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that were not fetched, or not modified, since a moment: those to fetch again.

        Exactly one of *not_fetched_since* and *not_modified_since* must be given. The `oldest` come first, or the
        `newest`. Pages whose last fetch failed are left out until they are due again (`put_failed`).
        """
        return indexes.questions.outdated(
            self._context, not_fetched_since, not_modified_since, {"site": site, **options}
        )

    @repeatable()
    def largest(
        self,
        site: Site | None = None,
        *,
        size_class: SizeClass | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages by the size of their bodies, the `largest` first (or the `smallest`).

        *min_size* and *max_size* are in bytes, both included; a *size_class* is a name for both: small (below 1,000),
        medium (below 10,000), large (below 100,000) or huge.
        """
        return indexes.questions.largest(self._context, size_class, min_size, max_size, {"site": site, **options})

    @repeatable()
    def with_status(self, status: int, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages whose last capture has this *status* code, by `url`."""
        return indexes.questions.with_status(self._context, status, {"site": site, **options})

    @repeatable()
    def errors(self, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages whose last capture has a status of 400 or above, by `status` and URL."""
        return indexes.questions.errors(self._context, {"site": site, **options})

    @repeatable()
    def redirects(self, site: Site | None = None, *, to: str | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages that redirect, with a status of 300 to 399 other than 304, by `status` and URL.

        With *to*, return only those that lead directly to that URL, whatever their status, by `url` (from the index
        "url").
        """
        return indexes.questions.redirects(self._context, to, {"site": site, **options})

    @repeatable()
    def duplicates(self, url: str, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the other pages that have exactly the content (the digest) of *url*, by `url`.

        There are none if *url* is not stored or has no body. Raises `DamagedRow` if its own row cannot be read.
        """
        return duplicates.exact.duplicates(self._context, url, {"site": site, **options})

    def near_duplicates(
        self,
        url: str,
        site: Site | None = None,
        *,
        at_least: float = LIKE,
        columns: Sequence[str] | None = None,
        urls: URLFilter | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "similarity",
    ) -> Results[NearDuplicate]:
        """Return the other pages whose main text is nearly that of *url*, the most similar first, or by `url`.

        Their `similarity` is *at_least* that share of all sequences of five words in either text, which both have: it
        is counted in the stored texts. The index `similarity` finds 99.9 in 100 of the pages with a similarity of 0.9,
        92 of those with 0.8, and 57 of those with 0.7. There are none if *url* is not stored, or its text has fewer
        than five words. By `url` they are found as the answer is read, else all of them first. Raises `MissingExtra`
        without numpy, and `DamagedRow` if the row of *url* cannot be read.
        """
        scope, window = Scope.of(site), Window(order, limit, after, urls)
        question = duplicates.near.NearDuplicatesQuestion(self._context, scope, window, url, at_least, columns)
        return question.answer()

    @repeatable()
    def indexed(
        self,
        index: str,
        term: str | tuple[str, ...] | None = None,
        *,
        site: Site | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that the *index* of this name, also one of your own, has for *term*, or for all terms.

        They come by `term`, compared by code points and part by part, then by URL ("de" before "de-AT" before "deu"),
        or in `reverse`. A page with several terms comes once, at the first of them. Raises `UnknownIndex`.
        """
        return indexes.questions.indexed(self._context, index, term, {"site": site, **options})


class _OpenWriters:
    """The open writers of one table, as far as somebody holds them. Thread-safe."""

    def __init__(self) -> None:
        self._writers: WeakSet[Writer] = WeakSet()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        # Of the parent's, a thread that the child lacks may hold the lock. The writers know themselves whose they are.
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Writer]:
        with self._lock:
            return iter(list(self._writers))

    def add(self, writer: Writer) -> None:
        with self._lock:
            self._writers.add(writer)


class RunningExplorer:
    """An explorer that a thread serves on this machine: open its `url`; `stop()`, or the end of the process, ends it.

    In a notebook it is shown as a link.
    """

    def __init__(self, url: str, stop: Callable[[], object]) -> None:
        self.url: Final[str] = url
        self._stop = stop

    def stop(self) -> None:
        """End the server; the table stays open."""
        self._stop()

    def __repr__(self) -> str:
        return f"<explorer at {self.url}>"

    def _repr_html_(self) -> str:
        text = "Open the explorer in the browser"
        return tag("a", text, href=self.url, target="_blank", rel="noopener noreferrer")

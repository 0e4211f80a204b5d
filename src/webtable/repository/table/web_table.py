"""The web table: pages go in through a writer, and come out as answers to questions."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, Self

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.display import Shown, ShowsItself
from webtable.page.headers import DEFAULT_TYPES
from webtable.page.methods import DEFAULT_METHODS
from webtable.repository import questions
from webtable.repository.arguments import IN_FLIGHT, MOST_FINDINGS
from webtable.repository.context import Frame
from webtable.repository.reading.scope import Scope
from webtable.repository.table.full_text import TableSearchIndex
from webtable.repository.table.index_questions import IndexQuestions
from webtable.repository.table.indexes import TableIndexes
from webtable.repository.table.links import TableLinks
from webtable.repository.table.maintenance import TableMaintenance
from webtable.repository.table.page_questions import PageQuestions
from webtable.repository.table.site_questions import SiteQuestions
from webtable.repository.writing.open_writers import Writers
from webtable.store.observed import observed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from os import PathLike
    from types import TracebackType

    from webtable.ingest.report import IngestReport
    from webtable.page.page import Page
    from webtable.repository.arguments import Moment, Progress
    from webtable.repository.metrics import Metrics
    from webtable.repository.reading.site import Site
    from webtable.repository.removing.retention import DeletedPage, Deletions
    from webtable.repository.reports.audit import Audit
    from webtable.repository.table.running import RunningExplorer
    from webtable.repository.writing.outcomes import OutcomeCallback, RetryCallback
    from webtable.repository.writing.writer import Writer
    from webtable.schema import Layout
    from webtable.store import Store


class WebTable(PageQuestions, SiteQuestions, IndexQuestions, ShowsItself):
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
    - *columns*: what is read, and what tables and frames have (docs/frames.md). *on_progress*: called with the number
      of pages looked at so far.

    Moments are given as `webtable.answers.Moment` says: a datetime, a date, or a text such as "7d" (ago).

    Errors that all questions raise for their arguments: `InvalidURL` for a URL or a *site* that is not one,
    `InvalidToken` for an *after* of another question, `UnknownColumn` for *columns* that pages do not have, and
    `InvalidArgument` for a *limit* or an *order* that is not allowed. A question to an index raises `IndexNeeded`, when
    its answer is read, if the table lacks the index.
    """

    def __init__(self, store: Store, table: str, layout: Layout, *, strict: bool = False) -> None:
        self.store: Final = observed(store)
        self._frame: Frame = Frame.of(self.store, table, layout, strict=strict)
        self.table = table
        self.key: Final = self._frame.key
        self.strict = strict
        """Whether a question raises the first `DamagedRow` that it meets, instead of leaving such rows out."""
        self.links: Final = TableLinks(self._frame)
        """The links between pages."""
        self.indexes: Final = TableIndexes(self._frame)
        """The indexes."""
        self.search_index: Final = TableSearchIndex(self._frame)
        """The full text."""
        self.maintenance: Final = TableMaintenance(self._frame)
        """Altering, verifying, copying, backing up and compacting the table."""
        self._writers = Writers(self._frame)

    def __repr__(self) -> str:
        return f"<WebTable {self.name} salt={self.layout.salt}>"

    def _shown(self) -> Shown:
        """Return its place, the salt, the indexes, the counts of hosts, and what waits to be counted."""
        layout, freshness, hosts = self.layout, self.links.freshness(), questions.host_entries
        counted = f"{freshness.waiting:,} batches wait, since {freshness.since}" if freshness.waiting else "all"
        rows = [
            ("salt", str(layout.salt)),
            ("kept", layout.limits),
            (
                "indexes",
                ", ".join(f"{name} ({state.phase})" for name, state in self.indexes.states().items()) or "none",
            ),
            ("links counted", counted),
            *hosts.counted_rows(hosts.known_totals(self._frame, hosts.MOST_HOSTS)),
        ]
        return Shown(self.name, ("what", "as it is now"), rows)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._frame.name

    @property
    def layout(self) -> Layout:
        """How keys, columns and bodies are made and for how long content is kept, as last read from the store."""
        return self._frame.layout

    def audit(self, site: Site, *, most: int = MOST_FINDINGS, on_progress: Progress | None = None) -> Audit:
        """Return a report on what is wrong on *site*, with the first *most* findings of each kind.

        It shows its counts in a notebook; `html()` is a page to send, `to_dict()` has everything. A finding whose index
        the table lacks is left out and says so. *on_progress* is called with the number of pages counted.
        """
        from webtable.repository.reports.audit import audit

        return audit(self, site, most=most, on_progress=on_progress)

    def ingest(
        self,
        files: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        workers: int = 1,
        resume: str | PathLike[str] | None = None,
        types: Collection[str] | None = DEFAULT_TYPES,
        methods: Collection[str] | None = DEFAULT_METHODS,
        limits: ReadLimits = DEFAULT_LIMITS,
        max_body: int | None = None,
        batch: int = 500,
        wait: float = 600.0,
        detect_language: bool = False,
        refresh: bool = True,
        dry_run: bool = False,
        on_progress: Progress | None = None,
    ) -> IngestReport:
        """Store the pages of WARC, WACZ, JSON Lines and Parquet files, and return a report.

        *files* are paths, directories, whose archives are read, patterns (`"crawls/**/*.warc.gz"`), or `"-"` for
        standard input. They are read by this process, or by so many *workers* in any order, and in parts if they are
        large; on HBase workers store pages themselves. A worker that dies is replaced, and what it had not stored is
        read again. *types*, *methods*, *limits* and *detect_language* are those of `formats.read_pages`; *max_body*
        and *batch* (the most pages to store at once) those of `writer`. A store that does not answer is waited for up
        to *wait* seconds. At the end the links are counted, if *refresh*. With *dry_run* nothing is stored.
        *on_progress* is called with the number of pages stored so far.

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
            limits=limits,
            max_body=max_body,
            batch=batch,
            wait=wait,
            detect_language=detect_language,
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

        frame = self._frame
        return metrics_of(self.store, frame.counts.snapshot(), frame.events.snapshot(), self._writers.metrics())

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
            BatchWriter(self._frame, max_body, detect_language=detect_language),
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
        self._writers.put(page, partial(self.writer, max_age=3_600))

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Store that the server of *url* answered "not modified" (status 304) at *fetched_at*, now by default.

        The page keeps its content and its links, which are written again once half of their time to live has passed;
        *headers* are those of the answer. Many are stored faster through `Writer.put_not_modified`. Raises
        `InvalidCapture` if the URL is not stored, and as `Writer.put` and `Writer.flush` do.
        """
        self._writers.put_not_modified(url, fetched_at, headers, partial(self.writer, max_age=3_600))

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
        from webtable.repository.removing.deletion import delete_many

        return delete_many(self._frame, [self.key.encode(url) for url in urls], dry_run=dry_run)

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
        from webtable.repository.arguments import given_moment
        from webtable.repository.removing.retention import Chosen, Retention

        chosen = Chosen(status, given_moment("fetched_before", fetched_before))
        retention = Retention(self._frame, Scope.of(site), chosen)
        return retention.run(and_links=and_links, dry_run=dry_run, on_page=on_page)

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

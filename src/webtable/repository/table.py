"""WebTable: what crawlers and notebooks hold. Pages in, pages out."""

from __future__ import annotations

import weakref
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, Unpack

from webtable.errors import InvalidCapture, WriteFailed, failed_together
from webtable.page import Page
from webtable.repository.altering import Alteration, AlterOptions, options_of
from webtable.repository.batch import BatchWriter
from webtable.repository.deletion import Deletion, forget_deletes
from webtable.repository.frame import Frame
from webtable.repository.hints.drift import SETTLE_SECONDS, Drift
from webtable.repository.hints.maintenance import Maintenance
from webtable.repository.outcomes import OutcomeCallback, failed
from webtable.repository.questions.discovering import DiscoveryQuestions
from webtable.repository.questions.indexed import IndexQuestions
from webtable.repository.questions.orphaned import OrphanQuestions
from webtable.repository.questions.searching import SearchQuestions
from webtable.repository.questions.stats import StatsQuestions
from webtable.repository.questions.verifying import VerificationQuestions
from webtable.repository.writer import Writer
from webtable.schema import meta_table, queue_table
from webtable.store.deadline import Deadline, until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from webtable.repository.arguments import Progress
    from webtable.schema import IndexState, Layout, LayoutPlan
    from webtable.store import Store


class WebTable(
    VerificationQuestions,
    IndexQuestions,
    DiscoveryQuestions,
    OrphanQuestions,
    SearchQuestions,
    StatsQuestions,
):
    """A table of web pages; `webtable.open` makes one.

    May be used by many threads at once. `name` tells the store and the table, `layout` how its keys are made, `metrics`
    how many index entries were read, and how many of them dropped because their pages are others now; `damaged` in it
    counts rows that cannot be read, which answers leave out, unless the table is *strict*.
    """

    def __init__(self, store: Store, table: str, layout: Layout, *, strict: bool = False) -> None:
        super().__init__(Frame.of(store, table, layout, strict=strict))
        self._writers: weakref.WeakSet[Writer] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<WebTable {self.name} salt={self.layout.salt}>"

    def writer(
        self,
        *,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        max_body: int | None = None,
        on_outcome: OutcomeCallback | None = None,
    ) -> Writer:
        """Return a writer, to be used in a `with` block.

        A batch is sent at *buffer_bytes* of bodies, at *buffer_pages* pages, or after *max_age* seconds. Bodies over
        *max_body* bytes are cut and marked `truncated`. *on_outcome* gets a `PageOutcome` for every page, in place of
        the `WriteFailed` that `flush` and the end of the block raise for those that were not stored.
        """
        writer = Writer(
            BatchWriter(self._frame, max_body),
            timeout=self.store.timeout,
            buffer_bytes=buffer_bytes,
            buffer_pages=buffer_pages,
            max_age=max_age,
            on_outcome=on_outcome,
        )
        self._writers.add(writer)
        return writer

    def put(self, page: Page) -> None:
        """Store one page and return when it is stored; many are stored far faster through a `writer`.

        Raises as `Writer.put` and `Writer.flush` do.
        """
        with until(Deadline(self.store.timeout)), self.writer(max_age=3_600) as writer:
            writer.put(page)

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Store that the server of *url* said "not modified" (status 304) at *fetched_at*, now by default.

        The page keeps its content and its links, which are written anew before half of their time is over; *headers*
        are those of the answer. Many are stored faster through a `writer`: as `Page(url=url, status_code=304,
        same_as=url)`. Raises `InvalidCapture` where the URL is not stored, and as `Writer.put` and `Writer.flush` do.
        """
        with until(Deadline(self.store.timeout)):
            if self.get(url, columns=()) is None:
                raise InvalidCapture(f"{url[:200]} is not stored, so nothing of it can be unmodified: fetch it whole")
            moment = datetime.now(UTC) if fetched_at is None else fetched_at
            self.put(Page(url=url, status_code=304, same_as=url, fetched_at=moment, headers=headers or {}))

    def delete(self, url: str) -> bool:
        """Remove the page *url* with all its versions, and return whether there was one.

        Its links go with it; those of other pages that lead to it stay, as theirs. What was fetched up to this moment
        stays removed: a capture of it that is put again is refused with `HiddenByDelete`. Raises `InvalidURL`.
        """
        row = self.key.encode(url)
        with until(Deadline(self.store.timeout)):
            return Deletion(self._frame).of(row)

    def alter(self, *, dry_run: bool = False, **options: Unpack[AlterOptions]) -> LayoutPlan:
        """Alter what can be altered while the table is in use, and return what was to be done.

        With *dry_run* it is not done.
        The stored layout and the families of all its tables agree then; other processes go by it two seconds later at
        the latest. `ttl` and `versions` are those of the content: links are kept twice as long. What is not kept any
        more is in `losses` of the plan; it goes for good. One that was cut short is completed by the same call.
        Raises `NotAlterable` for what a table keeps, `InvalidArgument`, and `CapabilityError`, with the statements for
        the HBase shell, where the gateway cannot do it.
        """
        steps = Alteration(self.store, self.table, self.indexes.read(), options_of(options))
        if dry_run:
            return steps.planned()
        done = steps.done()
        self._frame.layouts.read()
        return done

    def index_states(self) -> dict[str, IndexState]:
        """Return the indexes of the table by name, and the phase that each is in."""
        return {name: found.state for name, found in sorted(self.indexes.read().items())}

    def add_index(self, index: str, *, on_progress: Progress | None = None) -> int:
        """Add one of webtable's own indexes by its name, or one by its importable name (`package.module:attribute`).

        Its entries are made at once; questions use it from then on. Returns how many pages there were. Where it was
        interrupted `rebuild_index` goes on. Raises `UnknownIndex`, and `InvalidArgument` where the table has it.
        """
        return Maintenance(self._frame).add(index, on_progress)

    def drop_index(self, index: str) -> None:
        """Take the index away, with its entries.

        Writers are told first, and readers a few seconds before that: it takes a moment. Raises `UnknownIndex`.
        """
        Maintenance(self._frame).drop(index)

    def rebuild_index(self, index: str, *, on_progress: Progress | None = None) -> int:
        """Write the entries of every page, and return how many pages there are; entries that are there stay.

        It may run beside writers and readers, again and again. One that was interrupted while the index was new goes on
        where it was. What no longer holds is removed by `repair_index`. Rows that cannot be read are left out and
        counted in `metrics`. Raises `UnknownIndex`, `InvalidArgument` for an index that is being dropped, and
        `IndexNotNamed`.
        """
        return Maintenance(self._frame).rebuild(index, on_progress)

    def verify_index(
        self,
        index: str,
        *,
        as_of: datetime | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
    ) -> Drift:
        """Return how *index* differs from the pages, both ways, without changing anything.

        Captures later than *as_of* (now by default) are left out, so that running writers do not look like drift; for
        the same reason a difference must stay for *settle* seconds. The link index is compared with the inlinks of all
        pages too. *on_progress* is told how many pages and entries were looked at. Raises `UnknownIndex`.
        """
        return self.repair_index(index, apply=False, as_of=as_of, on_progress=on_progress, settle=settle)

    def repair_index(
        self,
        index: str,
        *,
        apply: bool = False,
        as_of: datetime | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
    ) -> Drift:
        """Return what `verify_index` does, and with *apply* write what is missing and remove what is stale."""
        maintenance = Maintenance(self._frame)
        return maintenance.repair(index, apply=apply, as_of=as_of, on_progress=on_progress, settle=settle)

    def compact(self) -> int:
        """Give back the space of what nobody sees any more of this table, and return how many bytes that was.

        Writers wait while the file of an embedded store is written anew; it takes as much space again meanwhile. The
        deletes are forgotten, as by `forget_deletes`. Raises `CapabilityError` on HBase, with the lines for its shell.
        """
        indexes = [index.table for _, index in sorted(self.indexes.read().items())]
        freed = self.store.compact([self.table, meta_table(self.table).name, queue_table(self.table).name, *indexes])
        # Not before: captures that a delete still hides must be refused.
        self.forget_deletes()
        return freed

    def forget_deletes(self) -> int:
        """Take captures again that are older than the delete of their page, and return of how many pages.

        Only for when the store has forgotten the deletes itself, or it will hide what is put: `compact` does both; on
        HBase it is behind a major compaction of all tables. All rows of the table are looked at for it.
        """
        return forget_deletes(self._frame)

    def close(self) -> None:
        """Flush and close all writers, then the store; raises what they raise, when all of them are closed.

        Pages that were not stored are raised as one `WriteFailed`, and several errors as an `ExceptionGroup`.
        """
        errors: list[Exception] = []
        for writer in list(self._writers):
            try:
                writer.close()
            except Exception as exc:  # noqa: BLE001 - the other writers have pages too
                errors += exc.exceptions if isinstance(exc, ExceptionGroup) else [exc]
        try:
            self.store.close()
        except Exception as exc:  # noqa: BLE001
            errors.append(exc)
        failures = [one for exc in errors if isinstance(exc, WriteFailed) for one in exc.failures]
        others = [exc for exc in errors if not isinstance(exc, WriteFailed)]
        if failures or others:
            raise failed_together(self.name, [*([failed(failures)] if failures else []), *others])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

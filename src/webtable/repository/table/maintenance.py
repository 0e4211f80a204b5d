"""The maintenance of a table: `table.maintenance`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from webtable.repository import questions
from webtable.repository.reading.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from webtable.repository.arguments import Progress
    from webtable.repository.context import CopyTarget, Frame
    from webtable.repository.copying.check import CopyCheck
    from webtable.repository.copying.counts import Copied
    from webtable.repository.maintenance.alter import AlterOptions
    from webtable.repository.questions.verification import Verification
    from webtable.repository.reading.site import Site
    from webtable.schema import LayoutPlan


class TableMaintenance:
    """What operators do with a `WebTable`: alter, verify, copy, back up and compact it."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def alter(self, *, dry_run: bool = False, **options: Unpack[AlterOptions]) -> LayoutPlan:
        """Alter what can be altered while the table is in use, and return what was done; nothing with *dry_run*.

        The *options* are those of `webtable.maintenance.AlterOptions`. The stored layout and the families of all its
        tables then agree; other processes follow within two seconds. `ttl` and `versions` are those of the content:
        links are kept twice as long. `losses` of the plan lists what is no longer kept; that cannot be undone. A call
        that was cut short is completed by the same call. Raises `NotAlterable` for what never changes, such as the
        salt, `InvalidArgument`, and `CapabilityError`, with the statements for the HBase shell, if the gateway cannot
        do it.
        """
        from webtable.repository.maintenance.alter import Alteration, options_of

        frame = self._frame
        steps = Alteration(frame.store, frame.table, frame.indexes.read(), options_of(options))
        if dry_run:
            return steps.planned()
        done = steps.done()
        frame.layouts.read()
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
        return questions.verification.verify(self._frame, Scope.of(site), on_progress, resume)

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
        from webtable.repository.copying.copy import copy

        return copy(self._frame, target._frame, resume, rate, on_copied, dry_run=dry_run, workers=workers)

    def check_copy(self, target: CopyTarget, *, full: bool = False, on_progress: Progress | None = None) -> CopyCheck:
        """Return how *target* differs from this table, which was copied into it, without changing anything.

        Pages and their versions are compared by metadata, dates and digests, and with *full* also all bodies and links,
        outgoing and, if both tables keep them, incoming. What is written meanwhile looks like a difference.
        """
        from webtable.repository.copying.check import check_copy

        return check_copy(self._frame, target._frame, on_progress, full=full)

    def backup(self, path: str | PathLike[str], *, on_progress: Progress | None = None) -> int:
        """Write the store of the table, with everything in it, into the new file *path*, and return its bytes.

        It is the file as it is at one moment; others may read and write meanwhile, and wait for nothing. The file
        appears when it is complete and checked, and it is a store: open it, or put it in the place of a lost one.
        *on_progress* is called with the number of bytes written so far. Raises `InvalidArgument` if something is at
        *path*, and `CapabilityError`, which says what to do instead, on HBase and for a store in memory.
        """
        return self._frame.store.backup(Path(path), on_progress)

    def compact(self, *, dry_run: bool = False) -> int:
        """Free the space of what nobody can see any more, and return how many bytes that was.

        Writers wait while the file of an embedded store is written again, which needs as much space again meanwhile.
        The deletes are forgotten, as by `forget_deletes`. With *dry_run*, return how many bytes are free already and
        do nothing; what deletes and expired content would add is not known before. Raises `CapabilityError` on HBase,
        with the lines for its shell.
        """
        from webtable.repository.removing.compaction import compact

        return compact(self._frame, dry_run=dry_run)

    def forget_deletes(self, *, dry_run: bool = False) -> int:
        """Accept captures again that are older than the delete of their page, and return of how many pages.

        Only for when the store itself has forgotten the deletes, otherwise it hides what is put: `compact` does both;
        on HBase, call it after a major compaction of all tables. All rows of the table are looked at. With *dry_run*
        the pages are only counted.
        """
        from webtable.repository.removing.compaction import forget_deletes

        return forget_deletes(self._frame, dry_run=dry_run)

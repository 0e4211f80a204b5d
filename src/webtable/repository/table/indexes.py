"""The indexes of a table: `table.indexes`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from webtable.repository.arguments import SETTLE_SECONDS

if TYPE_CHECKING:
    from os import PathLike

    from webtable.repository.arguments import Moment, Progress
    from webtable.repository.context import Frame
    from webtable.repository.upkeep.drift import Drift
    from webtable.repository.upkeep.repair import Maintenance
    from webtable.schema import IndexState


class TableIndexes:
    """The indexes of a `WebTable`, which may be in use while its indexes are changed, compared and repaired."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    @property
    def _maintenance(self) -> Maintenance:
        from webtable.repository.upkeep.repair import Maintenance
        from webtable.repository.writing.batch import mend_pages

        return Maintenance(self._frame, partial(mend_pages, self._frame))

    def states(self) -> dict[str, IndexState]:
        """Return the indexes of the table by name, and the phase that each is in."""
        return {name: found.state for name, found in sorted(self._frame.indexes.read().items())}

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
            index,
            apply=False,
            as_of=as_of,
            on_progress=on_progress,
            settle=settle,
            resume=resume,
            workers=workers,
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

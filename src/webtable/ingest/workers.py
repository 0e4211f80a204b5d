"""What a worker of a load does: it reads parts of files, and stores their pages or sends them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.ingest.batches import BatchStorer, batches_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable._processes import Tasks
    from webtable.ingest.batches import IngestOptions, PageBatch
    from webtable.ingest.splitting import UnreadPart


class Waiting(NamedTuple):
    """The message of a worker whose store does not answer, with the `error`; None when it does again."""

    error: str | None


def read_parts(options: IngestOptions, tasks: Tasks[UnreadPart]) -> None:
    """Read the parts that come as *tasks*, and report their batches, stored if *options* say how to open the table.

    At the end the counts of pages are reported that are in no batch. Raises the error for which the store is gone.
    """

    def report(batch: PageBatch) -> None:
        tasks.report(batch.number, batch, batch.left)

    if options.open_table is None:
        _read_all(options, tasks, report, lambda: False)
        return
    with options.open_table() as table:
        storer = BatchStorer(table, options, report, lambda error: tasks.report(None, Waiting(error)))
        _read_all(options, tasks, storer.put, lambda: storer.lost is not None)
        tasks.report(None, storer.close())
        if storer.lost is not None:
            raise storer.lost


def _read_all(
    options: IngestOptions,
    tasks: Tasks[UnreadPart],
    hand_on: Callable[[PageBatch], None],
    is_lost: Callable[[], bool],
) -> None:
    def is_ending() -> bool:
        return tasks.are_ending or is_lost()

    for number, unread in tasks:
        for batch in batches_of(number, unread, options, is_ending=is_ending):
            hand_on(batch)
        if is_lost():
            return

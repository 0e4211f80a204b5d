"""Writes: mutations in batches of a few megabytes, in the order that each row needs, with an outcome for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from webtable.errors import CapabilityError, StoreError, StoreRefused
from webtable.store.rows import MAX_CELL, MAX_ROW_KEY, Delete, Mutation, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from webtable.store.hbase.shared.sockets import Workers

# The size of a call. As measured 1 and 2 MB are equal, 4 and 8 MB no faster, and a gateway holds several.
_BATCH_BYTES: Final = 2 * 1024 * 1024
_BATCH_MUTATIONS: Final = 2000
_CELL_OVERHEAD: Final = 24  # in HBase: lengths, timestamp and type besides row, family, qualifier and value
_MAX_TIMESTAMP: Final = 2**63 - 2  # the next one is HBase's "now"


class Write:
    """One call of `write`, to the table that *subject* names in errors.

    *families* returns the table's families, read again if it is called with True; None where HBase itself names one
    that is missing. *deletes_exactly* is whether single versions can be deleted.
    """

    def __init__(
        self, subject: str, families: Callable[[bool], Collection[bytes]] | None, *, deletes_exactly: bool
    ) -> None:
        self._subject = subject
        self._families = families
        self._deletes_exactly = deletes_exactly
        self._existing: Collection[bytes] = () if families is None else families(False)
        self._refreshed = False
        self._valid: set[bytes] = set()  # columns that were checked: many rows have the same

    def outcomes(
        self,
        mutations: Sequence[Mutation],
        apply: Callable[[Sequence[Mutation]], list[StoreError | None]],
        workers: Workers,
    ) -> list[StoreError | None]:
        """Pass *mutations* to *apply* in batches, all puts or all deletes; the outcome of each."""
        outcomes: list[StoreError | None] = [None] * len(mutations)
        sizes = [0] * len(mutations)
        for place, mutation in enumerate(mutations):
            try:
                sizes[place] = self._checked_size(mutation)
            except StoreError as error:
                outcomes[place] = error

        def send(batch: list[int]) -> None:
            for place, outcome in zip(batch, apply([mutations[place] for place in batch]), strict=True):
                outcomes[place] = outcome

        for stage in stages(mutations, [place for place, size in enumerate(sizes) if size]):
            workers.each(partial(send, batch) for batch in _batches(stage, sizes))
        return outcomes

    def _checked_size(self, mutation: Mutation) -> int:
        """About how many bytes the mutation takes on the wire; 0 if it does nothing.

        Raises `StoreRefused` for mutations that HBase would refuse without a reason, or retry in vain for minutes.
        """
        row = mutation.row
        if not 0 < len(row) <= MAX_ROW_KEY:
            raise self._refusal(row, f"a row key has 1 to {MAX_ROW_KEY} bytes, not {len(row)}")
        if isinstance(mutation, Delete):
            self._check_time(row, mutation.timestamp)
            if mutation.exact:
                self._check_exact(row, mutation.columns)
            if mutation.columns is None:
                return len(row) + 50
            for column in mutation.columns:
                self._check_family(row, column)
            size = sum(len(column) + 50 for column in mutation.columns)
            return size and size + len(row)
        size, overhead, valid = 0, len(row) - 1 + _CELL_OVERHEAD, self._valid  # a loop over all cells of a batch
        for column, timestamp, value in mutation.cells:
            if not 0 <= timestamp <= _MAX_TIMESTAMP:
                self._check_time(row, timestamp)
            if column not in valid:
                self._check_family(row, column)
            length = overhead + len(column) + len(value)
            if length > MAX_CELL:
                raise self._refusal(
                    row, f"the cell {short(column)} has {length:,} bytes with its key; HBase takes {MAX_CELL:,}"
                )
            size += length + 30
        return size

    def _check_exact(self, row: bytes, columns: Sequence[bytes] | None) -> None:
        if columns is None or not all(column.partition(b":")[2] for column in columns):
            raise self._refusal(row, "an exact delete names columns with their qualifiers")
        if not self._deletes_exactly:
            raise CapabilityError(
                f"{self._subject}, row {short(row)}: a gateway cannot delete a cell and leave those below it; "
                "HBase's own protocol can (hbase+native://)"
            )

    def _check_time(self, row: bytes, timestamp: int) -> None:
        if not 0 <= timestamp <= _MAX_TIMESTAMP:
            raise self._refusal(row, f"a timestamp of {timestamp} is not from 0 to {_MAX_TIMESTAMP}")

    def _check_family(self, row: bytes, column: bytes) -> None:
        family, colon, _ = column.partition(b":")
        if not colon:
            raise self._refusal(row, f"a column is family:qualifier, not {short(column)}")
        if self._families is not None:
            if family not in self._existing and not self._refreshed:  # it may have been added in the meantime
                self._existing, self._refreshed = self._families(True), True
            if family not in self._existing:
                raise self._refusal(row, f"there is no family {family.decode(errors='replace')!r}")
        self._valid.add(column)

    def _refusal(self, row: bytes, why: str) -> StoreRefused:
        return StoreRefused(f"{self._subject}, row {short(row)}: {why}")


def _batches(stage: list[int], sizes: list[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    total = 0
    for place in stage:
        if batch and (total + sizes[place] > _BATCH_BYTES or len(batch) == _BATCH_MUTATIONS):
            yield batch
            batch, total = [], 0
        batch.append(place)
        total += sizes[place]
    if batch:
        yield batch


def stages(mutations: Sequence[Mutation], places: Sequence[int]) -> list[list[int]]:
    """The places in groups of puts, deletes, puts, … to be applied one after another.

    The order of a row's mutations is kept, also if two puts write the same cell. Rows do not wait for each other, so a
    thousand rows with a put and a delete each are two groups.
    """
    result: list[list[int]] = []
    last: dict[bytes, int] = {}
    # Most rows have a single put, so its cells are only looked at when another put of the row comes.
    first_put: dict[tuple[bytes, int], Put] = {}
    written: dict[tuple[bytes, int], set[tuple[bytes, int]]] = {}
    for place in places:
        mutation = mutations[place]
        row = mutation.row
        before = last.get(row)
        kind = 0 if isinstance(mutation, Put) else 1  # groups of puts have even numbers, those of deletes odd ones
        stage = kind if before is None else before if before % 2 == kind else before + 1
        if isinstance(mutation, Put):
            if before == stage:
                earlier = written.get((row, stage))
                if earlier is None:
                    earlier = written[row, stage] = _cells(first_put[row, stage])
                cells = _cells(mutation)
                if earlier.isdisjoint(cells):
                    earlier |= cells
                else:
                    stage += 2
            first_put.setdefault((row, stage), mutation)
        last[row] = stage
        while len(result) <= stage:
            result.append([])
        result[stage].append(place)
    return result


def _cells(put: Put) -> set[tuple[bytes, int]]:
    return {(cell.column, cell.timestamp) for cell in put.cells}


def short(value: bytes) -> str:
    """*value* for messages."""
    return repr(value) if len(value) <= 100 else f"{value[:100]!r}…"

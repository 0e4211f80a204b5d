"""Scans: which records one has, lazily, and its parts, each of which another process reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from msgspec.structs import replace

from webtable import errors
from webtable.repository.answers.results import Explanation, Partition, Question, Results, Window
from webtable.repository.keyed_table.columns import RecordColumns
from webtable.repository.keyed_table.records import Record, RecordReader, check_family, named
from webtable.repository.maintenance.create import stored_layout
from webtable.repository.partitions.processes import address_of
from webtable.repository.reading.samples import all_keys, check_number, cut_at, mean_bytes, spaced
from webtable.repository.reading.scan import ScanSpec
from webtable.rowkey import KeyRange, RowKey
from webtable.rowkey.ranges import clipped
from webtable.schema import TypedColumn
from webtable.store import open_store
from webtable.store.observed import observed
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.repository.answers.columns import Columns
    from webtable.repository.reading.read_ahead import Damage


class RequestedScan(NamedTuple):
    """A scan as it was asked for: conditions on fields, the columns as they are stored, and conditions on columns."""

    fields: Mapping[str, Any]
    columns: Sequence[bytes] | None = None
    where: Mapping[str, Any] = {}

    @property
    def title(self) -> str:
        """The question in words."""
        fields = f"records with {named(self.fields)}" if self.fields else "all records"
        return f"{fields} where {named(self.where)}" if self.where else fields

    def read(self, reader: RecordReader) -> Sequence[bytes] | None:
        """The columns that are read: those of conditions too."""
        if self.columns is None:
            return None
        return [*self.columns, *(reader.columns[name].cell for name in self.where)]

    def spec(self, reader: RecordReader) -> ScanSpec:
        """The scan of the rows in the table of *reader*; raises `NoRange`, `FieldError` and `UnknownField`."""
        ranges = reader.key.ranges(**self.fields) if self.fields else [KeyRange()]
        return ScanSpec(reader.table, ranges, Wanted(self.read(reader)))

    def is_filtered(self, key: RowKey) -> bool:
        """Whether the ranges can have rows that do not meet the conditions, so that the store cannot count."""
        return bool(self.where) or key.are_wide(self.fields)

    def meeting(self, key: RowKey, records: Iterator[Record]) -> Iterator[Record]:
        """Yield those of *records* that meet the conditions."""
        if not self.is_filtered(key):
            return records
        is_wide, meet = key.are_wide(self.fields), RecordColumns.meet
        return (
            record
            for record in records
            if meet(record.cells, self.where) and (not is_wide or key.meets(record.values, self.fields))
        )


class ScanQuestion(Question[Record]):
    """Which records a scan has, in the order of their keys, or those of one *part* in the order of the store."""

    def __init__(
        self, reader: RecordReader, scan: RequestedScan, *, part: KeyRange | None = None, reverse: bool = False
    ) -> None:
        self.title: str = scan.title
        self.columns: Columns = reader.columns.in_frames(scan.read(reader))
        self.window: Window = Window("storage" if part is not None else "reverse key" if reverse else "key")
        self._reader, self._scan, self._is_part = reader, scan, part is not None
        whole = replace(scan.spec(reader), reverse=reverse)
        self._spec = whole if part is None else replace(whole, ranges=clipped(whole.ranges, part))

    def damage(self, rows: list[errors.DamagedRow]) -> Damage:
        return self._reader.damage(rows)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Record]:
        reader, key = self._reader, self._reader.key
        for name in self._scan.columns or ():
            check_family(name.decode(errors="replace"), reader.families)
        if self._is_part:
            return self._scan.meeting(key, reader.stored(self._spec, after, damage))
        limit = None if self._scan.is_filtered(key) else expected
        return self._scan.meeting(key, reader.scan(replace(self._spec, limit=limit), after, damage))

    def place(self, result: Record) -> bytes:
        return result.key

    def explain(self) -> Explanation:
        columns = tuple(column.decode(errors="replace") for column in self._scan.read(self._reader) or ())
        return Explanation(self.title, self.window.order, columns, tuple(self._spec.ranges))


class KeyedFingerprint(NamedTuple):
    """What a part of a scan expects of its table: key, stored layout, columns, and whether damage is an error."""

    key: RowKey
    layout: bytes | None
    columns: tuple[TypedColumn, ...]
    is_strict: bool

    @classmethod
    def of(cls, reader: RecordReader) -> Self:
        """The fingerprint of the table of *reader*."""
        return cls(reader.key, stored_layout(reader.store, reader.table), reader.columns.typed, reader.strict)


@dataclass(frozen=True, slots=True)
class DividedScan:
    """How the *scan* of the rows of *reader* is divided."""

    reader: RecordReader
    scan: RequestedScan
    reverse: bool

    @property
    def takes_columns(self) -> bool:
        """No: what was not read is no column of the answer."""
        return False

    def again(self, **options: Any) -> Results[Record]:
        """Never called, as it takes no columns."""
        raise NotImplementedError(options)

    def partitions(self, n: int) -> list[Partition[Record]]:
        """Return the scan in *n* parts; raises `InvalidArgument` in reverse."""
        check_number(n)
        if self.reverse:
            raise errors.InvalidArgument("partitions: a scan with reverse= cannot be divided: ask without it")
        reader, store, spec = self.reader, self.reader.store, self.scan.spec(self.reader)
        keys = replace(spec, wanted=replace(spec.wanted, keys_only=True))
        sample = all_keys(store, keys) or spaced(store, keys, n)
        address, expected = address_of(store, reader.name), KeyedFingerprint.of(reader)
        row_bytes = mean_bytes(store.read(reader.table, sample.spread(), spec.wanted)) if sample.rows else 0
        return [
            Partition(
                question=self.scan.title,
                store=address,
                table=reader.table,
                keys=part.keys,
                rows=part.rows,
                bytes=part.bytes,
                ask=_records,
                arguments=(self.scan,),
                options={},
                fingerprint=expected,
                opened=_opened,
            )
            for part in cut_at(sample, n, row_bytes)
        ]


@contextmanager
def _opened(part: Partition[Record]) -> Iterator[Results[Record]]:
    # Another process: the declaration tells whether the table is still the one that was divided.
    key, layout, columns, is_strict = cast("KeyedFingerprint", part.fingerprint)
    store, table = open_store(part.store)
    with store:
        reader = RecordReader(observed(store), table, key, columns, strict=is_strict)
        stored = stored_layout(store, table)
        if stored is None and layout is not None:
            raise errors.TableNotFound(f"{reader.name} is no keyed table any more: ask for partitions again")
        if stored != layout:
            raise errors.LayoutMismatch(f"{reader.name} was created anew, with other keys: ask for partitions again")
        yield part.ask(reader, part, *part.arguments)


def _records(reader: RecordReader, part: Partition[Record], scan: RequestedScan) -> Results[Record]:
    return ScanQuestion(reader, scan, part=part.keys).answer()

"""Scans of records in parts, each of which another process reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from msgspec.structs import replace

from webtable.errors import InvalidArgument, LayoutMismatch, TableNotFound
from webtable.repository.answers.address import address_of
from webtable.repository.answers.results import Explanation, Partition, Question, Results, Window
from webtable.repository.maintenance.create import stored_layout
from webtable.repository.reading.samples import all_keys, check_number, cut_at, mean_bytes, spaced
from webtable.repository.reading.scan import ScanSpec
from webtable.repository.records.record import RECORDS, Record, RecordReader, named
from webtable.rowkey import KeyRange, RowKey
from webtable.rowkey.ranges import clipped
from webtable.store import open_store
from webtable.store.observed import observed
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.errors import DamagedRow
    from webtable.repository.reading.damage import Damage


class AskedScan(NamedTuple):
    """A scan as it was asked for: the values and conditions of fields, and the columns as they are stored."""

    fields: Mapping[str, Any]
    columns: Sequence[bytes] | None

    def spec(self, reader: RecordReader) -> ScanSpec:
        """Return what is read of the table of *reader*; raises `NoRange`, `FieldError` and `UnknownField`."""
        ranges = reader.key.ranges(**self.fields) if self.fields else [KeyRange()]
        return ScanSpec(reader.table, ranges, Wanted(self.columns))

    def meeting(self, key: RowKey, records: Iterator[Record]) -> Iterator[Record]:
        """Yield those of *records* that meet the conditions: the ranges may have others."""
        return (one for one in records if key.meets(one.values, self.fields)) if key.are_wide(self.fields) else records


class KeyedFingerprint(NamedTuple):
    """What a part of a scan expects of its table: its key, the stored layout, and whether a damaged row is an error."""

    key: RowKey
    layout: bytes | None
    is_strict: bool

    @classmethod
    def of(cls, reader: RecordReader) -> Self:
        """Return that of the table of *reader*."""
        return cls(reader.key, stored_layout(reader.store, reader.table), reader.strict)


def divided(reader: RecordReader, asked: AskedScan, n: int, *, is_whole: bool) -> list[Partition[Record]]:
    """Return the *asked* scan in *n* parts; raises `InvalidArgument` unless it *is_whole*, as `Records` says."""
    check_number(n)
    if not is_whole:
        raise InvalidArgument("partitions: a scan with limit=, after= or reverse= cannot be divided: ask without them")
    store, spec = reader.store, asked.spec(reader)
    keys = replace(spec, wanted=replace(spec.wanted, keys_only=True))
    sample = all_keys(store, keys) or spaced(store, keys, n)
    address, expected = address_of(store, reader.name), KeyedFingerprint.of(reader)
    row_bytes = mean_bytes(store.read(reader.table, sample.spread(), spec.wanted)) if sample.rows else 0
    return [
        Partition(
            question=f"records with {named(asked.fields)}" if asked.fields else "all records",
            store=address,
            table=reader.table,
            keys=part.keys,
            rows=part.rows,
            bytes=part.bytes,
            ask=_records,
            arguments=(asked,),
            options={},
            fingerprint=expected,
            opened=_opened,
        )
        for part in cut_at(sample, n, row_bytes)
    ]


@contextmanager
def _opened(part: Partition[Record]) -> Iterator[Results[Record]]:
    key, layout, is_strict = cast("KeyedFingerprint", part.fingerprint)
    store, table = open_store(part.store)
    with store:
        reader = RecordReader(observed(store), table, key, strict=is_strict)
        stored = stored_layout(store, table)
        if stored is None and layout is not None:
            raise TableNotFound(f"{reader.name} is no keyed table any more: ask for partitions again")
        if stored != layout:
            raise LayoutMismatch(f"{reader.name} was created anew, with other keys: ask for partitions again")
        yield part.ask(reader, part, *part.arguments)


class _PartQuestion(Question[Record]):
    """Which records are in a part of a scan."""

    columns = RECORDS
    window = Window("storage")

    def __init__(self, reader: RecordReader, part: Partition[Record], scan: AskedScan) -> None:
        self.title = part.question
        self._reader, self._scan = reader, scan
        whole = scan.spec(reader)
        self._spec = replace(whole, ranges=clipped(whole.ranges, part.keys))

    def damage(self, rows: list[DamagedRow]) -> Damage:
        return self._reader.damage(rows)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Record]:
        return self._scan.meeting(self._reader.key, self._reader.stored(self._spec, after, damage))

    def place(self, result: Record) -> bytes:
        return result.key

    def explain(self) -> Explanation:
        columns = tuple(column.decode(errors="replace") for column in self._scan.columns or ())
        return Explanation(self.title, self.window.order, columns, tuple(self._spec.ranges))


def _records(reader: RecordReader, part: Partition[Record], scan: AskedScan) -> Results[Record]:
    return _PartQuestion(reader, part, scan).answer()

"""Tables of records under a row key of your own."""

from webtable.repository.keyed_table.records import Record, RecordVersion
from webtable.repository.keyed_table.table import KeyedTable, compact, layout_of
from webtable.repository.keyed_table.writer import NewRow, RecordOutcome, RecordOutcomeCallback, RecordWriter
from webtable.schema import TypedColumn

__all__ = [
    "KeyedTable",
    "NewRow",
    "Record",
    "RecordOutcome",
    "RecordOutcomeCallback",
    "RecordVersion",
    "RecordWriter",
    "TypedColumn",
    "compact",
    "layout_of",
]

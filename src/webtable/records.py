"""Tables of records under a row key of your own."""

from webtable.repository.keyed_table import (
    KeyedTable,
    NewRow,
    Record,
    RecordOutcome,
    RecordOutcomeCallback,
    RecordVersion,
    RecordWriter,
    compact,
    layout_of,
)
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
